#include "shared/statistics/loss_surface.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/statistics/bernstein.hpp"

namespace undertone::statistics {
namespace {

/// The i-th of points that fill the cube [-1, 1]^d: every other one a corner.
class CubePoint {
 public:
  CubePoint(std::size_t index, std::size_t dimension)
      : index_(index), root_(std::pow(2.0, 1.0 / static_cast<double>(dimension + 1))) {}
  /// The next coordinate, by Kronecker's sequence.
  double next() {
    step_ *= root_;
    const double place = std::fmod(static_cast<double>(index_) * step_, 1.0);
    return index_ % 2 == 0 ? (place < 0.5 ? -1.0 : 1.0) : 2.0 * place - 1.0;
  }

 private:
  std::size_t index_;
  double root_;
  double step_ = 1.0;
};

}  // namespace

Eigen::VectorXd grid_weights(const LossesMap& map, std::size_t order, const Eigen::VectorXd& parameters) {
  Eigen::VectorXd out = Eigen::VectorXd::Ones(1);
  for (const double parameter : parameters) {
    const double x = std::clamp(0.5 * parameter / map.half_width + 0.5, 0.0, 1.0);
    const Eigen::VectorXd own = bernstein_weights(map.degree, order, x);
    Eigen::VectorXd next(out.size() * own.size());
    for (Eigen::Index v = 0; v < own.size(); ++v) next.segment(v * out.size(), out.size()) = own[v] * out;
    out = std::move(next);
  }
  return out;
}

double measured_error(const LossesMap& map, const Eigen::VectorXd& weights, const Eigen::VectorXd& parameters,
                      std::size_t records) {
  const std::size_t features = map.coordinates.size();
  // The map's own coordinates, whatever they are of a silo's records.
  LossesMap own = map;
  for (std::size_t j = 0; j < features; ++j) own.coordinates[j] = j;
  own.label = features;
  double most = 0.0;
  for (std::size_t i = 0; i < records; ++i) {
    CubePoint point(i, features + 1);
    std::vector<double> record(features);
    for (double& number : record) number = point.next();
    const EncodedRecord encoded{record, point.next()};
    double score = map.intercept ? parameters[parameters.size() - 1] : 0.0;
    for (std::size_t j = 0; j < features; ++j) score += parameters[static_cast<Eigen::Index>(j)] * record[j];
    double sum = 0.0;
    for (Eigen::Index v = 0; v < weights.size(); ++v)
      sum += weights[v] * loss_at(own, encoded, static_cast<std::size_t>(v));
    most = std::max(most, std::abs(sum * largest_of(map.loss, map.reach()) - value_of(map.loss, score, encoded.label)));
  }
  return most;
}

double expected_error(const LossesMap& map, std::size_t order, double noise_stddev, double deviations) {
  constexpr std::size_t kPoints = 8;
  double most = 0.0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    CubePoint point(2 * i + 1, map.parameters());  // at corners every polynomial is right
    Eigen::VectorXd parameters(static_cast<Eigen::Index>(map.parameters()));
    for (double& parameter : parameters) parameter = map.half_width * point.next();
    const Eigen::VectorXd weights = grid_weights(map, order, parameters);
    most = std::max(most, measured_error(map, weights, parameters, kPoints) / largest_of(map.loss, map.reach()) +
                              deviations * noise_stddev * weights.norm());
  }
  return most;
}

}  // namespace undertone::statistics
