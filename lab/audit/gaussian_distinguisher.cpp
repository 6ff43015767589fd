#include "lab/audit/gaussian_distinguisher.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace undertone::lab {

GaussianDistinguisher::GaussianDistinguisher(const planning::Plan& plan, releases::Block block, Projection projection)
    : rounds_(rounds_of(plan, block)), projection_(std::move(projection)) {
  for (const auto& release : rounds_)
    UNDERTONE_CHECK(!release || std::holds_alternative<mechanisms::GaussianLattice>(release->mechanism));
}

Scores GaussianDistinguisher::score(const Transcript& transcript) const {
  UNDERTONE_CHECK(transcript.size() == rounds_.size());
  if (std::any_of(rounds_.begin(), rounds_.end(), [](const auto& round) { return round && round->hides_part(); }))
    return score_secret_parts(transcript);
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

Scores GaussianDistinguisher::score_secret_parts(const Transcript& transcript) const {
  double rows = 0.0;  // of a round on average
  double rounds = 0.0;
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (!rounds_[r]) continue;
    rows += transcript[r].rows;
    rounds += 1.0;
  }
  rows /= rounds;
  // By bin: a record is in one of them, in all of its reads.
  constexpr std::size_t kTerms = 4;  // of either value; of the first one against nothing, twice
  std::map<std::int64_t, std::array<double, kTerms>> log_ratios;
  std::map<std::int64_t, double> weights;
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (!rounds_[r]) continue;
    const planning::Release& release = *rounds_[r];
    const auto& gaussian = std::get<mechanisms::GaussianLattice>(release.mechanism);
    const double drawn = static_cast<double>(release.records_drawn);
    const double half = 0.5 * std::sqrt(release.cost().gaussian.value_rounded_up()) * projection_.reach;  // m
    // Others that lean the second way are as many as there are positions, on average; or as the length says.
    const double projected = transcript[r].values.dot(projection_.direction) * drawn / gaussian.noise_stddev();
    const double z = projected + half * projection_.others_lean * drawn;
    const double told = z + half * projection_.others_lean * (transcript[r].rows - rows);
    std::array<double, kTerms>& bin = log_ratios[release.positions.from];
    weights[release.positions.from] = drawn / static_cast<double>(release.block_records);
    bin[0] += half * z - 0.5 * half * half;
    bin[1] += -half * z - 0.5 * half * half;
    bin[2] += 2.0 * half * z - 2.0 * half * half;
    bin[3] += 2.0 * half * told - 2.0 * half * half;
  }
  std::array<double, kTerms> likelihoods{};
  double unread = 1.0;
  for (const auto& [from, bin] : log_ratios) {
    unread -= weights[from];
    for (std::size_t i = 0; i < bin.size(); ++i) likelihoods[i] += weights[from] * std::exp(bin[i]);
  }
  unread = std::max(0.0, unread);
  return {std::log(likelihoods[0] + unread) - std::log(likelihoods[1] + unread), std::log(likelihoods[2] + unread),
          std::log(likelihoods[3] + unread)};
}

}  // namespace undertone::lab
