#include "silo/oracles/perturbed_minimiser.hpp"

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "shared/base/column_products.hpp"

namespace undertone::silo {
namespace {

/// The mean over records of the gradient -v / (1 + exp(<v, theta>)).
class LogisticSlopes {
 public:
  explicit LogisticSlopes(Eigen::MatrixXd records)
      : records_(std::move(records)), sum_(records_.rows()), lost_(records_.rows()) {}

  /// @param point [d] @param mean [d] out
  void mean(const Eigen::VectorXd& point, Eigen::VectorXd& mean) {
    const Eigen::Index d = records_.rows();
    const std::span<const double> weights(point.data(), static_cast<std::size_t>(d));
    sum_.setZero();
    lost_.setZero();
    for (Eigen::Index i = 0; i < records_.cols(); ++i) {
      const double* v = records_.col(i).data();
      const double margin = inner_product({v, static_cast<std::size_t>(d)}, weights);
      const double slope = -1.0 / (1.0 + std::exp(margin));  // of an infinite exp it is 0, as it should be
      for (Eigen::Index j = 0; j < d; ++j) {
        const double term = slope * v[j] - lost_[j];
        const double next = sum_[j] + term;
        lost_[j] = (next - sum_[j]) - term;  // Kahan's: what the addition lost
        sum_[j] = next;
      }
    }
    mean = sum_ / static_cast<double>(records_.cols());
  }

 private:
  Eigen::MatrixXd records_;  // [d, n]
  Eigen::VectorXd sum_;
  Eigen::VectorXd lost_;
};

}  // namespace

Eigen::MatrixXd signed_clipped_records(const data::BlockReader& block, double record_norm, Eigen::Index dimension) {
  const Eigen::Index features = block.features();
  UNDERTONE_CHECK(block.rows() == block.count() && (features == dimension || features + 1 == dimension));
  // A computed norm, and scaling by a quotient, are off by fewer than d + 12 roundings: less than 2^-31 for d <= 2^16.
  const double norm_max = record_norm * (1.0 - 0x1p-30);
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(dimension, block.count());
  Eigen::VectorXd vector = Eigen::VectorXd::Ones(dimension);
  std::vector<std::int64_t> everybody(static_cast<std::size_t>(block.count()));
  std::iota(everybody.begin(), everybody.end(), std::int64_t{0});
  block.read(everybody, [&](const data::BlockReader::Part& part) {
    for (std::size_t i = 0; i < part.positions.size(); ++i) {
      const auto record = static_cast<Eigen::Index>(part.positions[i]);
      const double target = part.records.targets[record];
      vector.head(features) = part.records.features.col(record);
      if (!vector.allFinite() || !std::isfinite(target)) continue;
      const double norm = vector.stableNorm();
      const double scale = norm > norm_max ? norm_max / norm : 1.0;  // 0 where the norm leaves a double's range
      out.col(static_cast<Eigen::Index>(part.from + i)) = (target > 0.0 ? scale : -scale) * vector;
    }
  });
  return out;
}

Eigen::VectorXd perturbed_minimiser(const data::BlockReader& block, const mechanisms::ObjectivePerturbation& mechanism,
                                    const Eigen::Ref<const Eigen::VectorXd>& start,
                                    std::span<const std::int64_t> noise) {
  const mechanisms::ObjectivePerturbationFacts& facts = mechanism.facts();
  UNDERTONE_CHECK(block.count() == facts.records && start.size() == facts.dimension);
  UNDERTONE_CHECK(start.norm() <= facts.start_norm * (1.0 + 0x1p-30) &&
                  facts.domain.contains(start, 0x1p-21 * (1.0 + facts.start_norm)));
  const Eigen::VectorXd b = mechanism.noise_vector(noise);
  LogisticSlopes slopes(signed_clipped_records(block, facts.record_norm, facts.dimension));
  const double zeta = mechanism.regularisation();
  const double step_size = mechanism.step_size();
  const double momentum = mechanism.momentum();
  Eigen::VectorXd iterate = start;
  facts.domain.project(iterate);
  Eigen::VectorXd extrapolated = iterate;  // y
  Eigen::VectorXd next(iterate.size());
  for (std::int64_t k = 0; k < mechanism.iterations(); ++k) {
    slopes.mean(extrapolated, next);
    next += zeta * (extrapolated - start);
    next += b;
    next = extrapolated - step_size * next;
    facts.domain.project(next);
    extrapolated = next + momentum * (next - iterate);
    iterate.swap(next);
  }
  return iterate;
}

std::vector<std::int64_t> noised_minimiser(const Eigen::VectorXd& start,
                                           const mechanisms::PerturbedObjective& objective,
                                           const data::BlockReader& block, const queries::WireLattice& wire,
                                           ReleaseStream& stream) {
  const mechanisms::ObjectivePerturbation& ideal = objective.ideal;
  const auto dimension = static_cast<std::size_t>(start.size());
  std::vector<std::int64_t> linear(dimension);
  std::vector<std::int64_t> output(dimension);
  stream.fill_gaussian(mechanisms::ObjectivePerturbation::kNoiseLog2Stddev, linear);
  stream.fill_gaussian(ideal.output().log2_stddev, output);
  const std::vector<std::int64_t> units = ideal.output_units(perturbed_minimiser(block, ideal, start, linear));
  Eigen::VectorXd point(start.size());
  for (std::size_t j = 0; j < dimension; ++j)
    point[static_cast<Eigen::Index>(j)] = static_cast<double>(units[j] + output[j]) * ideal.output().lattice.step;
  return queries::to_wire(point, wire);
}

}  // namespace undertone::silo
