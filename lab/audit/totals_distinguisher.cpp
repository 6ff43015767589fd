#include "lab/audit/totals_distinguisher.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "silo/oracles/sum_oracle.hpp"

namespace undertone::lab {

TotalsDistinguisher::TotalsDistinguisher(const planning::Plan& plan, const Neighbours& neighbours) {
  for (const auto& release : rounds_of(plan, neighbours.block)) {
    if (!release) {
      rounds_.emplace_back();
      continue;
    }
    const auto* gaussian = std::get_if<mechanisms::GaussianLattice>(&release->mechanism);
    UNDERTONE_CHECK(gaussian != nullptr && std::holds_alternative<releases::FeaturesMap>(release->ask.map));
    std::vector<std::int64_t> everybody(static_cast<std::size_t>(release->records_drawn));
    std::iota(everybody.begin(), everybody.end(), std::int64_t{0});
    const auto totals_of = [&](const data::Dataset& dataset) {
      const std::vector<std::int64_t> sum =
          silo::exact_sum(queries::StatisticQuestion{}, *release, neighbours.records(dataset), everybody, nullptr);
      Eigen::VectorXd out(static_cast<Eigen::Index>(sum.size()));
      for (std::size_t j = 0; j < sum.size(); ++j)
        out[static_cast<Eigen::Index>(j)] = std::ldexp(static_cast<double>(sum[j]), -gaussian->log2_stddev);
      return out;
    };
    Totals made{totals_of(neighbours.first), totals_of(neighbours.second), gaussian->noise_stddev()};
    const double shift = std::sqrt(release->cost().gaussian.value_rounded_up());
    reach_ = std::max(reach_, (made.first - made.second).norm() / shift);
    rounds_.push_back(std::make_shared<const Totals>(std::move(made)));
  }
}

Scores TotalsDistinguisher::score(const Transcript& transcript) const {
  UNDERTONE_CHECK(transcript.size() == rounds_.size());
  double sum = 0.0;
  double nearest = std::numeric_limits<double>::infinity();
  Eigen::VectorXd before;  // the last round's noise, were the records the first
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (!rounds_[r]) continue;
    const Totals& totals = *rounds_[r];
    const Eigen::VectorXd told = transcript[r].values / totals.stddev;
    const Eigen::VectorXd noise = told - totals.first;
    sum += 0.5 * ((told - totals.second).squaredNorm() - noise.squaredNorm());
    if (before.size() == noise.size()) nearest = std::min(nearest, (noise - before).norm());
    before = noise;
  }
  return {sum, std::isfinite(nearest) ? -nearest : 0.0};
}

}  // namespace undertone::lab
