#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/runs/mixed_rounds.hpp"
#include "shared/jobs/planner.hpp"

namespace undertone::coordinator {

/// A job as a coordinator runs it: settled, and with what the plans of its cohort make plausible. Making one takes
/// seconds, so that it is made once, where nobody waits, and kept with the run.
struct PreparedJob {
  jobs::Job job;
  jobs::PlausibleCohort plausible;
  MixedRounds mixed;

  /// Settles and plans. @param file the job's name, for errors
  /// @param public_folder where the records of a job with public ones are
  /// @return an error, too, where a release of a shuffled job has no layout, and where public records are not there
  [[nodiscard]] static Result<PreparedJob> make(jobs::ReadJob read, const std::string& file,
                                                const jobs::Planner& planner,
                                                const std::optional<std::filesystem::path>& public_folder = {});

  /// Settles alone: of a run that takes no replies any more, of which nothing is kept.
  [[nodiscard]] static Result<PreparedJob> unplanned(jobs::ReadJob read);

  /// Writes the prepared job as the bytes that are stored with its run. @see read
  [[nodiscard]] std::string save() const;
  /// Shortens these bytes for a run that takes no more replies: nothing is plausible for such a run.
  [[nodiscard]] static std::string of_ended(std::string_view kept);
  /// @param kept of this job, as `save` or `of_ended` wrote it @param ended whether the run takes no replies any more
  /// @return an error where the bytes are damaged or an earlier version's
  [[nodiscard]] static Result<PreparedJob> read(jobs::ReadJob read, std::string_view kept, bool ended);
};

}  // namespace undertone::coordinator
