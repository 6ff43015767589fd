#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::lab {

/// The runs of a sweep's file. Each is a function of the file, its job and the run's number alone: it may be made in
/// any order, on any thread or machine that can read the job's data, and its line is the same.
class SweepRuns {
 public:
  /// @return an error where the file, its job or the data are not good
  [[nodiscard]] static Result<SweepRuns> open(const std::filesystem::path& file);
  SweepRuns(SweepRuns&& other) noexcept;
  ~SweepRuns();

  /// The first line of sweep.jsonl, with its newline: it says what the others are of.
  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::size_t total() const;
  /// A run's line, without its newline. Several threads may ask at once. @pre run < total()
  [[nodiscard]] std::string line(std::size_t run) const;
  /// Writes what follows from a whole OUT/sweep.jsonl: sweep.csv, and means over splits or the selected run where the
  /// sweep has them. @return what to tell a person, a line each
  [[nodiscard]] Result<std::vector<std::string>> finish(const std::filesystem::path& out) const;
  /// What whoever shows these numbers has to say.
  [[nodiscard]] const char* warning() const;

 private:
  struct Everything;
  explicit SweepRuns(std::unique_ptr<Everything> everything);
  std::unique_ptr<Everything> everything_;
};

}  // namespace undertone::lab
