#include "shared/mechanisms/objective_perturbation/objective_perturbation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <variant>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/bisection.hpp"

namespace undertone::mechanisms {
namespace {

constexpr double kRoundoff = 0x1p-53;
constexpr double kUp = 1.0 + 0x1p-40;         // more than a formula's own rounding
constexpr double kTailLog2 = 80.0;            // b is longer than it is cut to with probability below 2^-80
constexpr double kLogitScale = 32.0;          // a minimiser farther away than this over r is not planned for
constexpr double kOutputNoiseShare = 0.0625;  // of the least deviation that b can give the minimiser
constexpr double kTailsMax = 60.0;            // beyond, erfc is 0
constexpr int kEpsilonParts = 64;             // of which one number goes to the determinants

/// A split of epsilon, and what follows from it.
struct EpsilonSplit {
  double jacobian = 0.0;  // eps_J
  double zeta = 0.0;
  double noise_shift = 0.0;  // mu
  double stddev = 0.0;       // s
};

EpsilonSplit split_epsilon(const ObjectivePerturbationFacts& facts, double epsilon, double failure, double share) {
  const auto n = static_cast<double>(facts.records);
  EpsilonSplit out;
  out.jacobian = share * epsilon;
  out.zeta = kUp * 0.25 * facts.record_norm * facts.record_norm / (n * std::expm1(out.jacobian));
  const double left = (epsilon - out.jacobian) * (1.0 - 0x1p-40);  // eps_b
  // mu t_0 + mu^2/2 = eps_b, solved so that nothing cancels.
  const auto shift_at = [&](double t0) { return 2.0 * left / (t0 + std::sqrt(t0 * t0 + 2.0 * left)); };
  const auto meets = [&](double t0) {
    const double mu = shift_at(t0);
    const double tail = 0.5 * std::erfc((t0 + mu) / std::numbers::sqrt2);
    return mu * std::exp(left) * std::sqrt(2.0 * std::numbers::pi) * tail <= failure * (1.0 - 0x1p-40);
  };
  const double t0 = meets(0.0) ? 0.0 : bisect_reals({0.0, kTailsMax}, meets, 60).high;
  out.noise_shift = shift_at(t0);
  out.stddev = kUp * 2.0 * facts.record_norm / (n * out.noise_shift);
  return out;
}

EpsilonSplit best_split(const ObjectivePerturbationFacts& facts, double epsilon, double failure) {
  const double distance =
      std::min(facts.domain.diameter(facts.dimension).value_or(HUGE_VAL), kLogitScale / facts.record_norm);
  const auto pull = [&](const EpsilonSplit& split) {
    return static_cast<double>(facts.dimension) * split.stddev * split.stddev + std::pow(split.zeta * distance, 2);
  };
  EpsilonSplit best = split_epsilon(facts, epsilon, failure, 1.0 / kEpsilonParts);
  for (int k = 2; k < kEpsilonParts; ++k) {
    const EpsilonSplit split = split_epsilon(facts, epsilon, failure, static_cast<double>(k) / kEpsilonParts);
    if (pull(split) < pull(best)) best = split;
  }
  return best;
}

Status check_facts(const ObjectivePerturbationFacts& facts) {
  if (!(facts.record_norm >= 0x1p-20 && facts.record_norm <= 0x1p20)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("objective perturbation: a record's norm is at least 2^-20 and at most 2^20, got {}",
                             facts.record_norm)};
  }
  if (facts.records < 1 || facts.records > ObjectivePerturbation::kRecordsMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("objective perturbation: 1 to {} records, got {}",
                                                         ObjectivePerturbation::kRecordsMax, facts.records)};
  }
  if (facts.dimension < 1 || facts.dimension > ObjectivePerturbation::kDimensionMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("objective perturbation: 1 to {} weights, got {}",
                                                         ObjectivePerturbation::kDimensionMax, facts.dimension)};
  }
  if (!(facts.start_norm >= 0.0 && facts.start_norm <= 0x1p40)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("objective perturbation: the start's norm is at least 0 and at most 2^40, got {}",
                             facts.start_norm)};
  }
  const geometry::Domain::Set& set = facts.domain.set();
  if (std::holds_alternative<geometry::GroupBall>(set) || std::holds_alternative<geometry::MixedBall>(set) ||
      std::holds_alternative<geometry::NuclearBall>(set)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("objective perturbation is for the whole space, an l2 ball, a box, an l1 ball or a "
                             "simplex, got {}",
                             facts.domain.name())};
  }
  return {};
}

/// How far a computed projection is from the exact one, at most. A norm of d numbers is off by (d/2 + 8) roundings of
/// itself at most, of which the l2 ball's scale is made and by which the l1 ball's test may err. The threshold of the
/// l1 ball and the simplex is found from differences that are no larger than their scale, and corrected once from what
/// it leaves: a coordinate is off by 4 roundings of the scale, and the vector by sqrt(d) as much. A box does not round.
double projection_error(const ObjectivePerturbationFacts& facts) {
  const geometry::Domain::Set& set = facts.domain.set();
  if (std::holds_alternative<geometry::WholeSpace>(set) || std::holds_alternative<geometry::Box>(set)) return 0.0;
  return (static_cast<double>(facts.dimension) + 16.0) * kRoundoff * facts.domain.radius(facts.dimension).value();
}

}  // namespace

double ObjectivePerturbation::momentum() const noexcept {
  const double q = std::sqrt(3.0 * smoothness_ / regularisation_);
  return (q - 1.0) / (q + 1.0);
}

Result<ObjectivePerturbation> ObjectivePerturbation::create(const ObjectivePerturbationFacts& facts,
                                                            releases::Epsilon epsilon, releases::Delta failure,
                                                            releases::GaussianShift output_shift) {
  if (const Status status = check_facts(facts); !status) return status.error();
  if (!(epsilon.value() >= 0x1p-20 && epsilon.value() <= kEpsilonMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("objective perturbation: epsilon is at least 2^-20 and at most {}, got {}", kEpsilonMax,
                             epsilon.value())};
  }
  if (!(failure.value() < 0.5)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("objective perturbation: the failure is below 1/2, got {}", failure.value())};
  }
  if (!(output_shift.value() <= 1.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("objective perturbation: the output's shift is at most 1, got {}", output_shift.value())};
  }
  ObjectivePerturbation out(facts);
  UNDERTONE_TRY(out.epsilon_, releases::EpsilonAmount::rounded_down(epsilon.value()));
  UNDERTONE_TRY(const releases::DeltaAmount bad, releases::DeltaAmount::rounded_up(failure.value()));
  UNDERTONE_TRY(out.failure_, bad.plus(releases::DeltaAmount::from_units(1)));
  const EpsilonSplit split = best_split(facts, out.epsilon_.value_rounded_down(), failure.value());
  out.jacobian_epsilon_ = split.jacobian;
  out.noise_shift_ = split.noise_shift;
  out.regularisation_ = split.zeta;
  out.noise_step_ = std::ldexp(split.stddev, -kNoiseLog2Stddev);

  const double r = facts.record_norm;
  const double zeta = split.zeta;
  const double s = split.stddev;
  const double smoothness = kUp * (0.25 * r * r + zeta);
  out.smoothness_ = smoothness;
  const auto d = static_cast<double>(facts.dimension);
  const double root = std::sqrt(d);
  // ||N(0, I)|| is sqrt(d)-concentrated: a 1-Lipschitz function of mean at most sqrt(d). The length holds for b on its
  // lattice too.
  const double tail = std::sqrt(2.0 * kTailLog2 * std::numbers::ln2);
  const double b = kUp * (s * (root + tail + split.noise_shift) + 0.5 * root * out.noise_step_);
  out.noise_norm_max_ = b;

  // A start that is within 2^-20 of the set, as a share of 1 + its norm, moves by so much when it is projected.
  const double start = facts.start_norm + 0x1p-20 * (1.0 + facts.start_norm);
  const double loss = std::numbers::ln2 + r * start;  // l_0
  // Phi_0, from the projection, which is not quite theta_0.
  const double moved = 0x1p-20 * (1.0 + facts.start_norm);
  const double potential = loss + b * b / zeta + b * moved + zeta * moved * moved;
  const double distance = b / zeta + std::sqrt(loss / zeta);
  // ||y|| <= ||x_0|| + ||x_0 - theta|| + ||theta - y||, with one R more for what rounding adds; or, y being x + (x -
  // x') times less than 1, three times as much as a point of the set.
  double reach = start + 4.0 * distance;
  if (const std::optional<double> radius = facts.domain.radius(facts.dimension)) reach = std::min(reach, 4.0 * *radius);

  // Roundings of a step, as an error of the gradient. (1) A margin <v, y> is off by d roundings of r ||y||, and the
  // loss's slope is 1/4-Lipschitz in it; the slope itself by 8 (of exp too), a compensated sum of n and its division by
  // 6: r (14 + 0.3 d r Y) for all of it. (2) zeta (y - theta_0) by 2 of itself, a coordinate of b by 1, the sum of the
  // three terms by 2 of each. (3) y less the step by 1 of ||y|| and 3 of the step's length. (4) y = x + beta (x - x')
  // by 17 of Y, and by 3 of what the projection is off. A y that is off by w is a gradient that is off by 5/2 S w.
  const double projection = projection_error(facts);
  const double pull = zeta * (reach + start) + b;
  const double rounding = kRoundoff * (r * (24.0 + 0.3 * d * r * reach) + 9.0 * pull + 63.0 * smoothness * reach) +
                          9.0 * smoothness * projection;
  const double q = std::sqrt(3.0 * smoothness / zeta);
  const double settled = rounding * std::sqrt(2.0 * q / zeta * (1.0 / zeta + 1.0 / smoothness));
  // Besides: b's lattice, the last projection, and dividing by the step of the output's lattice.
  const double others = settled + 0.5 * root * out.noise_step_ / zeta + projection + 2.0 * kRoundoff * reach;
  const double wanted = 0.5 * output_shift.value() * kOutputNoiseShare * s / smoothness;
  const double left = std::max(wanted - others, others);  // of the iterations
  out.accuracy_ = (left + others) * (1.0 + 0x1p-20);
  // The lattice's units do not depend on what they stand for: rho and sqrt(d)/2 units of rounding fill the clip.
  UNDERTONE_TRY(const releases::ClipNorm clip, releases::ClipNorm::create(out.accuracy_));
  UNDERTONE_TRY(out.output_, gaussian_lattice(clip, output_shift, facts.dimension, 1));
  out.output_.lattice.step = kUp * out.accuracy_ / (static_cast<double>(out.output_.lattice.clip) - 0.5 * root);
  if (!(settled <= 0.25 * distance && out.output_.noise_stddev() <= s / smoothness)) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("objective perturbation: in double precision a minimiser over {} of {} records is certain "
                             "to {:.2g}, which takes noise of {:.2g} at an output shift of {}; at most {:.2g} is of "
                             "use: fewer records, a smaller set, a smaller record norm or a larger shift have it",
                             facts.domain.name(), facts.records, out.accuracy_, out.output_.noise_stddev(),
                             output_shift.value(), s / smoothness)};
  }
  if (!(reach / out.output_.lattice.step < 0x1p60))
    return Error{ErrorCode::LimitExceeded, "objective perturbation: the output could leave 62 bits"};
  const double steps = std::ceil(q * std::log(2.0 * potential / (zeta * left * left)) * (1.0 + 0x1p-20)) + 1.0;
  if (!(steps <= static_cast<double>(kIterationsMax))) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("objective perturbation: {:.3g} passes over the records are needed, at most {} are made",
                             steps, kIterationsMax)};
  }
  out.iterations_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
  return out;
}

releases::Cost ObjectivePerturbation::cost() const {
  releases::Cost out;
  out.pure = epsilon_;
  out.gaussian = output_.shift_squared();
  return out;
}

Eigen::VectorXd ObjectivePerturbation::noise_vector(std::span<const std::int64_t> drawn) const {
  UNDERTONE_CHECK(drawn.size() == static_cast<std::size_t>(facts_.dimension));
  Eigen::VectorXd out(facts_.dimension);
  for (std::size_t j = 0; j < drawn.size(); ++j)
    out[static_cast<Eigen::Index>(j)] = noise_step_ * static_cast<double>(drawn[j]);
  const double norm = out.stableNorm();
  if (norm > noise_norm_max_) out *= noise_norm_max_ / norm;
  return out;
}

std::vector<std::int64_t> ObjectivePerturbation::output_units(const Eigen::Ref<const Eigen::VectorXd>& point) const {
  UNDERTONE_CHECK(point.size() == facts_.dimension);
  std::vector<std::int64_t> out(static_cast<std::size_t>(point.size()));
  for (std::size_t j = 0; j < out.size(); ++j) {
    const double units = point[static_cast<Eigen::Index>(j)] / output_.lattice.step;
    UNDERTONE_CHECK(std::abs(units) < 0x1p61);
    out[j] = std::llrint(units);
  }
  return out;
}

double printed_objective_stddev(releases::Epsilon epsilon, releases::Delta delta, double lipschitz,
                                std::int64_t records) {
  UNDERTONE_CHECK(lipschitz > 0.0 && records >= 1);
  return lipschitz * std::sqrt(-2.0 * std::log(delta.value())) / (static_cast<double>(records) * epsilon.value());
}

double corrected_objective_stddev(releases::Epsilon epsilon, releases::Delta delta, double lipschitz,
                                  std::int64_t records) {
  UNDERTONE_CHECK(lipschitz > 0.0 && records >= 1);
  return 2.0 * lipschitz * std::sqrt(8.0 * std::log(2.0 / delta.value()) + 4.0 * epsilon.value()) /
         (static_cast<double>(records) * epsilon.value());
}

double printed_objective_delta(releases::Epsilon epsilon, releases::Delta delta) {
  const double shift = std::numbers::sqrt2 * epsilon.value() / std::sqrt(-std::log(delta.value()));
  const Result<releases::GaussianShift> mu = releases::GaussianShift::create(shift);
  UNDERTONE_CHECK(mu.has_value());  // delta is in (0, 1)
  return std::exp(accounting::log_delta_of_gaussian(epsilon.value(), *mu));
}

}  // namespace undertone::mechanisms
