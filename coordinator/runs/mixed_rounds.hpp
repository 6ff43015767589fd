#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/jobs/job.hpp"
#include "shared/mechanisms/binomial_sum/binomial_sum.hpp"
#include "shared/planning/plan.hpp"
#include "shared/sealed/round_layout.hpp"

namespace undertone::coordinator {

/// It says how the messages of each round of a shuffled job are laid out. It is made once, with the plan that all silos
/// of the job have, and is kept with the run. So whoever goes on with the run needs no plan, which takes seconds.
class MixedRounds {
 public:
  /// Those of a job that is not shuffled, and of a run that takes no replies any more.
  MixedRounds() = default;
  /// @return an error where a private release of the plan has no layout
  [[nodiscard]] static Result<MixedRounds> of(const jobs::Job& job, const planning::Plan& plan);

  /// @param ask of that round in the job's schedule @return an error where the round is mixed by no shuffler
  [[nodiscard]] Result<sealed::RoundLayout> layout(const jobs::Job& job, const releases::Ask& ask,
                                                   RoundIndex round) const;

  [[nodiscard]] std::string save() const;
  /// @return an error where the bytes are damaged, or not of this job's rounds
  [[nodiscard]] static Result<MixedRounds> read(std::string_view bytes, const jobs::Job& job);

 private:
  /// Rounds in a row that are alike.
  struct Part {
    std::uint64_t rounds = 0;
    std::int64_t records_drawn = 0;  // 0 of public rounds, which silos answer directly
    std::optional<mechanisms::BinomialParameters> binomial;
  };
  std::vector<Part> parts_;
};

}  // namespace undertone::coordinator
