#include "lab/audit/likelihood_distinguisher.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "shared/geometry/duality_map.hpp"
#include "silo/oracles/sum_oracle.hpp"

namespace undertone::lab {
namespace {

/// Of a reply along what tells the data sets apart, in scales of its noise, in a score. Of Laplace noise the ratio is
/// the same wherever a reply lies beyond both sums; so little orders such replies, and is below what else decides.
constexpr double kBeyondBoth = 1e-3;

Eigen::VectorXd to_vector(const std::vector<std::int64_t>& sum) {
  Eigen::VectorXd out(static_cast<Eigen::Index>(sum.size()));
  for (std::size_t j = 0; j < sum.size(); ++j) out[static_cast<Eigen::Index>(j)] = static_cast<double>(sum[j]);
  return out;
}

/// The changed record, and as many others as are drawn with it.
std::vector<std::int64_t> drawn_with(Eigen::Index changed, std::int64_t drawn) {
  std::vector<std::int64_t> out = {changed};
  for (std::int64_t j = 0; static_cast<std::int64_t>(out.size()) < drawn; ++j)
    if (j != changed) out.push_back(j);
  return out;
}

}  // namespace

LikelihoodDistinguisher::LikelihoodDistinguisher(const jobs::Job& job, const planning::Plan& plan,
                                                 const Neighbours& neighbours, Eigen::VectorXd point)
    : point_(std::move(point)) {
  const std::unique_ptr<silo::RecordSums> sums = job.model ? silo::make_record_sums(*job.model) : nullptr;
  std::map<const planning::Release*, std::shared_ptr<const Sums>> known;
  for (const auto& release : rounds_of(plan, neighbours.block)) {
    std::shared_ptr<const Sums>& entry = known[release.get()];
    if (release && !entry) {
      const bool statistic = release->ask.kind() == releases::QuestionKind::Statistic;
      const queries::Question question =
          queries::question_of(release->ask.kind(), statistic ? Eigen::VectorXd() : point_);
      const std::vector<std::int64_t> drawn = drawn_with(neighbours.changed, release->records_drawn);
      const auto sum_of = [&](const data::Dataset& dataset) {
        return to_vector(silo::exact_sum(question, *release, neighbours.records(dataset), drawn, sums.get()));
      };
      Sums made;
      made.first = sum_of(neighbours.first);
      made.second = sum_of(neighbours.second);
      const Eigen::VectorXd apart = made.first - made.second;
      double sensitivity = 0.0;
      if (const auto* laplace = std::get_if<mechanisms::LaplaceLattice>(&release->mechanism)) {
        const noise::Rational scale = laplace->noise.scale();
        made.scale = static_cast<double>(scale.numerator) / static_cast<double>(scale.denominator);
        sensitivity = static_cast<double>(laplace->noise.sensitivity().value());
      } else {
        const auto& generalised = std::get<mechanisms::GeneralisedGaussianLattice>(release->mechanism);
        made.scale = generalised.noise.scale();
        made.norm = generalised.noise.norm();
        sensitivity = generalised.sensitivity;
      }
      // A statistic's reply is the total, any other the mean.
      made.units = (statistic ? 1.0 : static_cast<double>(release->records_drawn)) / release->lattice().step;
      made.chance = chance_of_draw(*release);
      reach_ = std::max(reach_, geometry::lp_norm(apart, made.norm) / sensitivity);
      entry = std::make_shared<const Sums>(std::move(made));
    }
    rounds_.push_back(entry);
  }
}

double LikelihoodDistinguisher::density_exponent(const Eigen::VectorXd& scaled, double norm) {
  const double length = geometry::lp_norm(scaled, norm);
  return norm == 1.0 ? length : 0.5 * length * length;
}

Scores LikelihoodDistinguisher::score(const Transcript& transcript) const {
  UNDERTONE_CHECK(transcript.size() == rounds_.size());
  double sum = 0.0;
  double nearest = std::numeric_limits<double>::infinity();
  Eigen::VectorXd before;  // the last round's noise over its scale, were the records the first
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (!rounds_[r]) continue;
    const Sums& sums = *rounds_[r];
    const Eigen::VectorXd released = transcript[r].values * sums.units;
    const Eigen::VectorXd noise = (released - sums.first) / sums.scale;
    sum += log_ratio(
        density_exponent((released - sums.second) / sums.scale, sums.norm) - density_exponent(noise, sums.norm),
        sums.chance);
    sum += kBeyondBoth * noise.dot((sums.first - sums.second).normalized());
    if (before.size() == noise.size()) nearest = std::min(nearest, (noise - before).lpNorm<1>());
    before = noise;
  }
  return {sum, std::isfinite(nearest) ? -nearest : 0.0};
}

}  // namespace undertone::lab
