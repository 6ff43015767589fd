#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shared/base/digest.hpp"
#include "shared/wire/messages.hpp"
#include "shuffler/batch/batch.hpp"

namespace undertone::shuffler {

/// What a shuffler remembers of the jobs that it was offered, and which batches belong to one of them: a coordinator
/// collects nothing here but what the silos of a job approved together with that job. The newest `kJobsMax` jobs are
/// remembered; a batch of one that was forgotten is refused with UnknownJob, and the coordinator offers it again.
class BatchGate {
 public:
  static constexpr std::size_t kJobsMax = 64;

  /// @param name of this shuffler's certificate
  /// @param public_key of this shuffler, X25519: what shares are sealed to
  /// @param forward_bytes_max of the largest batch that the coordinator's session carries
  BatchGate(std::string name, const Digest& public_key, std::uint64_t forward_bytes_max)
      : name_(std::move(name)), public_key_(public_key), forward_bytes_max_(forward_bytes_max) {}

  /// @param job the exact bytes of the job's file
  /// @return an error, for the log, where the bytes are not the job that the run names; where they are no job; and
  /// where the job does not name this shuffler, by its key too where it adds. Batches of the last two are NotOfJob.
  [[nodiscard]] Status offer(const RunId& run, std::string_view job);

  /// What the machine is asked to open: of a job that names this shuffler, with that job's minimum, of its silos, in
  /// its form, within its round's deadline, and no larger than can be forwarded. Whether the silos are in order, the
  /// lengths go together and the numbers are within this shuffler's limits, the machine says.
  using Admission = std::variant<BatchSpec, wire::BatchRefusal>;
  [[nodiscard]] Admission admit(const wire::BatchOpen& open) const;

  [[nodiscard]] std::size_t jobs() const noexcept { return jobs_.size(); }

 private:
  /// What batches are held against.
  struct Known {
    bool names_this = false;
    bool adds = false;
    std::vector<SiloId> cohort;  // ascending
    std::size_t quorum = 0;
    std::chrono::milliseconds round_deadline{0};
  };
  [[nodiscard]] Result<Known> read(std::string_view job) const;
  void remember(const Digest& job, Known known);

  std::string name_;
  Digest public_key_;
  std::uint64_t forward_bytes_max_;
  std::map<Digest, Known> jobs_;
  std::deque<Digest> order_;  // of jobs_, the one that was offered longest ago first
};

}  // namespace undertone::shuffler
