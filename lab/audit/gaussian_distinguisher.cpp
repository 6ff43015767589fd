#include "lab/audit/gaussian_distinguisher.hpp"

#include <cmath>
#include <utility>

namespace undertone::lab {

GaussianDistinguisher::GaussianDistinguisher(const planning::Plan& plan, releases::Block block, Projection projection)
    : rounds_(rounds_of(plan, block)), projection_(std::move(projection)) {
  for (const auto& release : rounds_)
    UNDERTONE_CHECK(!release || std::holds_alternative<mechanisms::GaussianLattice>(release->mechanism));
}

Scores GaussianDistinguisher::score(const Transcript& transcript) const {
  UNDERTONE_CHECK(transcript.size() == rounds_.size());
  Scores scores{};
  double sum = 0.0;     // of shift times projection, in units of the noise
  double square = 0.0;  // of shifts
  double chance = 1.0;
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (!rounds_[r]) continue;
    const planning::Release& release = *rounds_[r];
    const auto& gaussian = std::get<mechanisms::GaussianLattice>(release.mechanism);
    const double drawn = static_cast<double>(release.records_drawn);
    const double shift = std::sqrt(release.cost().gaussian.value_rounded_up()) * projection_.reach;
    // Zero in the second data set: where the records drawn all lean the same way, and where one does.
    const double lean = 0.5 * shift * (projection_.others_lean * (drawn - 1.0) + 1.0);
    const double z = transcript[r].values.dot(projection_.direction) * drawn / gaussian.noise_stddev() + lean;
    chance = chance_of_draw(release);
    scores[0] += log_ratio(shift * z - 0.5 * shift * shift, chance);
    sum += shift * z;
    square += shift * shift;
  }
  scores[1] = log_ratio(sum - 0.5 * square, chance);
  return scores;
}

}  // namespace undertone::lab
