#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "lab/audit/audited_silo.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::lab {

/// Ways to look at a transcript: with draws that are fresh in every round, as the plan says, or one for all rounds; of
/// bins also with what lengths and times tell of their sizes.
inline constexpr std::size_t kLooks = 3;
using Scores = std::array<double, kLooks>;

/// Plays two data sets that differ in one record: where a run is asked, and how much what left speaks for the first.
/// No score is trusted. Whatever its law, a threshold on it tells the data sets apart no better than the silo lets it.
class Distinguisher {
 public:
  Distinguisher() = default;
  Distinguisher(const Distinguisher&) = delete;
  Distinguisher& operator=(const Distinguisher&) = delete;
  virtual ~Distinguisher() = default;
  /// Of one run.
  [[nodiscard]] virtual NextPoint asker() const = 0;
  /// @param transcript of all rounds of the plan
  [[nodiscard]] virtual Scores score(const Transcript& transcript) const = 0;
  /// How far the changed record moves what is released, over the most that the plan allows for: [0, 1]
  [[nodiscard]] virtual double reach() const = 0;
};

/// Asks every round about one point.
[[nodiscard]] NextPoint always_at(Eigen::VectorXd point);

/// What a plan releases of a block, by round: null where the round is another block's, or public.
using PlannedRounds = std::vector<std::shared_ptr<const planning::Release>>;
[[nodiscard]] PlannedRounds rounds_of(const planning::Plan& plan, releases::Block block);

/// The probability that a release reads a given record.
[[nodiscard]] double chance_of_draw(const planning::Release& release);
/// ln of the likelihoods' ratio of a release that reads the changed record with a probability only.
/// @param drawn the same where it does
[[nodiscard]] double log_ratio(double drawn, double chance);

}  // namespace undertone::lab
