#pragma once

#include <filesystem>
#include <vector>

#include "shared/data/partition.hpp"
#include "shared/data/split.hpp"
#include "shared/jobs/job.hpp"
#include "simulation/record_table.hpp"

namespace undertone::simulation {

/// How a silo of a job divides its file into training and holdout. With a test file of the job's, the fraction is the
/// one that gives as many holdout records as the cohort says.
[[nodiscard]] data::SplitRule split_of(const jobs::Job& job, const jobs::CohortMember& member);

/// The data of a job's simulation section, dealt to its silos.
class DealtData {
 public:
  /// @return an error that names the job's file and field, or the data's file, with what was expected and found
  [[nodiscard]] static Result<DealtData> deal(const jobs::Job& job, const std::filesystem::path& job_file);

  /// The file of one silo. Records of a test file stand in it where split_of() looks for the holdout.
  /// @param silo its place in the cohort
  [[nodiscard]] data::CsvTable file_of(std::size_t silo) const;
  /// The records of a silo that are declared public: of those that it was dealt the last ones. No rows where there are
  /// none.
  [[nodiscard]] data::CsvTable public_file_of(std::size_t silo) const;
  [[nodiscard]] const std::string& name() const noexcept { return table_.name(); }

 private:
  DealtData(RecordTable table, std::optional<RecordTable> test) : table_(std::move(table)), test_(std::move(test)) {}

  RecordTable table_;
  std::optional<RecordTable> test_;
  data::Partition rows_;             // of the table, by silo
  std::vector<std::size_t> public_;  // of each silo's rows the last so many
  data::Partition test_rows_;        // of the test file, by silo
  std::uint64_t holdout_seed_ = 0;
};

}  // namespace undertone::simulation
