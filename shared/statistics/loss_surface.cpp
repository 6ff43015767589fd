#include "shared/statistics/loss_surface.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "shared/base/work_meter.hpp"
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

/// How far the polynomial of a record's losses is from its loss. Of the features and the label, in [-1, 1].
class PolynomialError {
 public:
  PolynomialError(const LossesMap& map, const Eigen::VectorXd& weights, const Eigen::VectorXd& parameters)
      : map_(map), weights_(weights), parameters_(parameters), largest_(largest_of(map.loss, map.reach())) {
    // The map's own coordinates, whatever they are of a silo's records.
    std::iota(map_.coordinates.begin(), map_.coordinates.end(), std::size_t{0});
    map_.label = features();
  }
  [[nodiscard]] std::size_t features() const noexcept { return map_.coordinates.size(); }
  [[nodiscard]] double operator()(const std::vector<double>& record) const {
    const EncodedRecord encoded{std::span(record).first(features()), record.back()};
    double score = map_.intercept ? parameters_[parameters_.size() - 1] : 0.0;
    for (std::size_t j = 0; j < features(); ++j) score += parameters_[static_cast<Eigen::Index>(j)] * record[j];
    double sum = 0.0;
    for (Eigen::Index v = 0; v < weights_.size(); ++v)
      sum += weights_[v] * loss_at(map_, encoded, static_cast<std::size_t>(v));
    return std::abs(sum * largest_ - value_of(map_.loss, score, encoded.label));
  }

 private:
  LossesMap map_;
  const Eigen::VectorXd& weights_;
  const Eigen::VectorXd& parameters_;
  double largest_;
};

struct Worst {
  std::vector<double> record;
  double error = 0.0;
};
Worst worst_of(const PolynomialError& error, std::size_t records) {
  Worst out{std::vector<double>(error.features() + 1, 0.0), 0.0};
  for (std::size_t i = 0; i < records; ++i) {
    CubePoint point(i, error.features() + 1);
    std::vector<double> record(error.features() + 1);
    for (double& number : record) number = point.next();
    if (const double found = error(record); found > out.error) out = {std::move(record), found};
  }
  return out;
}

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
  constexpr double kNearest = 1e-3;
  const PolynomialError error(map, weights, parameters);
  Worst worst = worst_of(error, records);
  const auto inputs = static_cast<double>(worst.record.size());
  for (double step = 2.0 / std::pow(static_cast<double>(records), 1.0 / inputs); step > kNearest; step *= 0.5) {
    for (std::size_t j = 0; j < worst.record.size(); ++j) {
      for (const double by : {-step, step}) {
        std::vector<double> record = worst.record;
        record[j] = std::clamp(record[j] + by, -1.0, 1.0);
        if (const double found = error(record); found > worst.error) worst = {std::move(record), found};
      }
    }
  }
  return worst.error;
}

double expected_error(const LossesMap& map, std::size_t order, double noise_stddev, double deviations) {
  constexpr std::size_t kPoints = 8;
  // Weights of a grid at each point, and a polynomial of them at some more around it.
  WorkMeter::charge(100 * kPoints * grid_count(map.parameters(), map.degree));
  double most = 0.0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    CubePoint point(2 * i + 1, map.parameters());  // at corners every polynomial is right
    Eigen::VectorXd parameters(static_cast<Eigen::Index>(map.parameters()));
    for (double& parameter : parameters) parameter = map.half_width * point.next();
    const Eigen::VectorXd weights = grid_weights(map, order, parameters);
    most = std::max(
        most, worst_of(PolynomialError(map, weights, parameters), kPoints).error / largest_of(map.loss, map.reach()) +
                  deviations * noise_stddev * weights.norm());
  }
  return most;
}

}  // namespace undertone::statistics
