#include "shared/models/public_loss.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "shared/base/work_meter.hpp"

namespace undertone::models {
namespace {

constexpr int kStepsMax = 2000;                              // of the accelerated descent
constexpr std::uint64_t kWorkMax = std::uint64_t{1} << 31U;  // products of all of its passes over the records
constexpr double kSettled = 1e-10;                           // a step so short against the point is the last
constexpr double kConditionMax = 1e12;                       // of a least-squares problem

}  // namespace

Result<PublicLoss> PublicLoss::create(const LinearModel& model, Records records) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::InvalidArgument, std::move(why)}; };
  const Eigen::Index count = records.targets.size();
  if (count == 0) return refuse("there are no public records");
  if (records.features.rows() != model.features() || records.features.cols() != count)
    return refuse(
        fmt::format("public records of {} features, the model reads {}", records.features.rows(), model.features()));
  if (!records.features.allFinite() || !records.targets.allFinite())
    return refuse("a number of a public record is not finite");
  if (count * model.dimension() > kNumbersMax)
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{} public records of {} numbers are more than {} numbers, which "
                             "is the most: expected fewer records",
                             count, model.dimension(), kNumbersMax)};
  if (!model.linear_loss().is_smooth())
    return refuse(fmt::format("the loss \"{}\" has a kink: public records are for smooth losses, or smoothed ones",
                              to_string(model.loss())));
  return PublicLoss(model, std::move(records));
}

PublicLoss::PublicLoss(const LinearModel& model, Records records)
    : model_(model), records_(std::move(records)), norms_squared_(records_.features.colwise().squaredNorm()) {
  if (model_.intercept()) norms_squared_.array() += 1.0;
}

Eigen::VectorXd PublicLoss::factors(const Eigen::Ref<const Eigen::VectorXd>& weights) const {
  WorkMeter::charge(static_cast<std::uint64_t>(records() * dimension()));
  Eigen::VectorXd out = records_.features.transpose() * weights.head(model_.features());
  if (model_.intercept()) out.array() += weights[model_.features()];
  const auto size = static_cast<std::size_t>(out.size());
  model_.linear_loss().derivatives({out.data(), size}, {records_.targets.data(), size}, {norms_squared_.data(), size});
  return out;
}

void PublicLoss::treat(PublicGradients gradients, double length, Eigen::VectorXd& factors) const {
  for (Eigen::Index j = 0; j < factors.size(); ++j) {
    double& factor = factors[j];
    const double own = std::abs(factor) * std::sqrt(norms_squared_[j]);
    if (!std::isfinite(own)) {
      factor = 0.0;
    } else if (own > 0.0 &&
               (gradients == PublicGradients::Rescaled || (gradients == PublicGradients::Clipped && own > length))) {
      factor *= length / own;
    }
  }
}

Eigen::VectorXd PublicLoss::mean_of(const Eigen::VectorXd& factors) const {
  Eigen::VectorXd out(dimension());
  out.head(model_.features()).noalias() = records_.features * factors;
  if (model_.intercept()) out[model_.features()] = factors.sum();
  out /= static_cast<double>(records());
  return out;
}

double PublicLoss::value(const Eigen::Ref<const Eigen::VectorXd>& weights, double ridge) const {
  WorkMeter::charge(static_cast<std::uint64_t>(records() * dimension()));
  Eigen::VectorXd scores = records_.features.transpose() * weights.head(model_.features());
  if (model_.intercept()) scores.array() += weights[model_.features()];
  double sum = 0.0;
  for (Eigen::Index j = 0; j < scores.size(); ++j) sum += model_.linear_loss().value(scores[j], records_.targets[j]);
  return sum / static_cast<double>(records()) + ridge / 2.0 * weights.head(model_.features()).squaredNorm();
}

Eigen::VectorXd PublicLoss::mean_gradient(const Eigen::Ref<const Eigen::VectorXd>& weights, PublicGradients gradients,
                                          double length) const {
  Eigen::VectorXd all = factors(weights);
  treat(gradients, length, all);
  return mean_of(all);
}

Eigen::VectorXd PublicLoss::mean_difference(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                            const Eigen::Ref<const Eigen::VectorXd>& from, PublicGradients gradients,
                                            double length) const {
  Eigen::VectorXd all = factors(weights) - factors(from);
  treat(gradients == PublicGradients::Raw ? gradients : PublicGradients::Clipped, length, all);
  return mean_of(all);
}

Eigen::VectorXd PublicLoss::one_pass(const geometry::L2Ball& ball, double lipschitz, double ridge) const {
  WorkMeter::charge(static_cast<std::uint64_t>(4 * records() * dimension()));
  const Eigen::Index features = model_.features();
  const auto count = static_cast<double>(records());
  Eigen::VectorXd point = Eigen::VectorXd::Zero(dimension());
  Eigen::VectorXd mean = point;
  Eigen::VectorXd gradient(dimension());
  double weights = 0.0;
  for (Eigen::Index j = 0; j < records(); ++j) {
    const auto t = static_cast<double>(j + 1);
    const double weight = ridge > 0.0 ? t : 1.0;
    weights += weight;
    mean += weight / weights * (point - mean);
    model_.gradient(point, records_, j, gradient);
    if (!gradient.allFinite()) gradient.setZero();
    gradient.head(features) += ridge * point.head(features);
    if (const double length = gradient.norm(); length > lipschitz) gradient *= lipschitz / length;
    const double step = ridge > 0.0 ? 2.0 / (ridge * (t + 1.0)) : 2.0 * ball.radius() / (lipschitz * std::sqrt(count));
    point -= step * gradient;
    ball.project(point);
  }
  return mean;
}

double PublicLoss::gradient_variance(const Eigen::Ref<const Eigen::VectorXd>& weights, PublicGradients gradients,
                                     double length) const {
  Eigen::VectorXd all = factors(weights);
  treat(gradients, length, all);
  // sum |g_j|^2 - n |mean|^2, each |g_j|^2 = a_j^2 |(x_j, 1)|^2.
  const double squares = (all.array().square() * norms_squared_.array()).sum();
  const auto count = static_cast<double>(records());
  return std::max(squares - count * mean_of(all).squaredNorm(), 0.0) / (count - 1.0);
}

PublicLoss PublicLoss::fold(Eigen::Index fold, Eigen::Index folds, bool others) const {
  std::vector<Eigen::Index> chosen;
  for (Eigen::Index j = 0; j < records(); ++j)
    if ((j % folds == fold) != others) chosen.push_back(j);
  return {model_, Records{records_.features(Eigen::all, chosen), records_.targets(chosen)}};
}

Result<double> PublicLoss::cross_fitted_variance(PublicGradients gradients, double length, double ridge) const {
  constexpr Eigen::Index kFolds = 5;
  if (records() < 4)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} public records are too few to say how much gradients vary: expected four", records())};
  const Eigen::Index folds = records() < 2 * kFolds ? 2 : kFolds;
  double out = 0.0;
  for (Eigen::Index fold_index = 0; fold_index < folds; ++fold_index) {
    UNDERTONE_TRY(const Minimiser fitted, fold(fold_index, folds, true).minimiser(ridge));
    out += fold(fold_index, folds, false).gradient_variance(fitted.weights, gradients, length) /
           static_cast<double>(folds);
  }
  return out;
}

Eigen::MatrixXd PublicLoss::second_moments() const {
  UNDERTONE_CHECK(dimension() <= kExactMax);
  const Eigen::Index features = model_.features();
  WorkMeter::charge(static_cast<std::uint64_t>(records() * dimension() * dimension()));
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(dimension(), dimension());
  out.topLeftCorner(features, features).selfadjointView<Eigen::Lower>().rankUpdate(records_.features);
  if (model_.intercept()) {
    out.row(features).head(features) = records_.features.rowwise().sum().transpose();
    out(features, features) = static_cast<double>(records());
  }
  out /= static_cast<double>(records());
  return Eigen::MatrixXd(out.selfadjointView<Eigen::Lower>());
}

Result<Minimiser> PublicLoss::minimiser(double ridge) const {
  if (!(ridge >= 0.0 && std::isfinite(ridge)))
    return Error{ErrorCode::InvalidArgument, fmt::format("a ridge must be finite and >= 0, got {}", ridge)};
  return least_squares() && dimension() <= kExactMax ? least_squares_minimiser(ridge)
                                                     : Result<Minimiser>(descended_minimiser(ridge));
}

Result<Minimiser> PublicLoss::least_squares_minimiser(double ridge) const {
  Eigen::MatrixXd moments = second_moments();
  moments.diagonal().head(model_.features()).array() += ridge;
  const Eigen::VectorXd products = mean_of(records_.targets);
  WorkMeter::charge(static_cast<std::uint64_t>(dimension() * dimension() * dimension()) / 3);
  const Eigen::LDLT<Eigen::MatrixXd> factor(moments);
  const double reciprocal = factor.rcond();
  if (factor.info() != Eigen::Success || !factor.isPositive() || !(reciprocal * kConditionMax >= 1.0))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} public records do not settle {} weights (the least-squares problem has a condition "
                             "number of {:.1e}): expected more records, or a ridge",
                             records(), dimension(), reciprocal > 0.0 ? 1.0 / reciprocal : INFINITY)};
  Eigen::VectorXd out = factor.solve(products);
  if (!out.allFinite()) return Error{ErrorCode::InvalidArgument, "the public records' least squares overflow"};
  return Minimiser{std::move(out)};
}

Minimiser PublicLoss::descended_minimiser(double ridge) const {
  // Source: Beck and Teboulle 2009, FISTA with backtracking; restarts of O'Donoghue and Candes 2015.
  const auto pass = static_cast<std::uint64_t>(records() * dimension());
  std::uint64_t work = 0;  // counted as it is done, since the file decides how often a step is tried again
  const auto value_at = [&](const Eigen::VectorXd& at) {
    work += pass;
    return value(at, ridge);
  };
  const auto gradient_at = [&](const Eigen::VectorXd& at) {
    work += 2 * pass;
    Eigen::VectorXd out = mean_gradient(at, PublicGradients::Raw, 0.0);
    out.head(model_.features()) += ridge * at.head(model_.features());
    return out;
  };
  Eigen::VectorXd point = Eigen::VectorXd::Zero(dimension());
  Eigen::VectorXd ahead = point;
  double momentum = 1.0;
  double smoothness = std::max(norms_squared_.maxCoeff() / 64.0 + ridge, 1e-12);
  for (int k = 0; k < kStepsMax && work < kWorkMax && !WorkMeter::stopped(); ++k) {
    const Eigen::VectorXd gradient = gradient_at(ahead);
    const double here = value_at(ahead);
    const double slope = gradient.squaredNorm();
    smoothness *= 0.9;
    Eigen::VectorXd next = ahead - gradient / smoothness;
    for (int doubled = 0; doubled < 60 && !(value_at(next) <= here - slope / (2.0 * smoothness)); ++doubled) {
      // The promised decrease is less than what rounding hides.
      if (slope / (2.0 * smoothness) <= 1e-15 * std::abs(here)) break;
      smoothness *= 2.0;
      next = ahead - gradient / smoothness;
    }
    const double moved = (next - point).norm();
    if (gradient.dot(next - point) > 0.0) momentum = 1.0;  // against the slope: momentum has run past
    const double later = (1.0 + std::sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0;
    ahead = next + (momentum - 1.0) / later * (next - point);
    momentum = later;
    point = std::move(next);
    if (moved <= kSettled * (1.0 + point.norm())) break;
  }
  return {std::move(point)};
}

}  // namespace undertone::models
