#include "shared/statistics/noise_law.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/overloaded.hpp"

namespace undertone::statistics {
namespace {

constexpr double kRemainderFailure = 1e-12;
/// A quotient of two doubles that is meant to be whole.
constexpr double kWholeTolerance = 1e-9;

bool positive(double value) { return std::isfinite(value) && value > 0.0; }

Status check_term(const NoiseTerm& term) {
  if (!std::isfinite(term.weight) || term.weight == 0.0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a noise's weight must be finite and not 0, got {}", term.weight)};
  }
  return std::visit(
      Overloaded{[](const LaplaceNoise& noise) -> Status {
                   if (positive(noise.scale) && positive(noise.step)) return {};
                   return Error{ErrorCode::InvalidArgument,
                                fmt::format("Laplace noise: expected a scale and a step that are finite and > 0, got "
                                            "{} and {}",
                                            noise.scale, noise.step)};
                 },
                 [](const GaussianNoise& noise) -> Status {
                   if (positive(noise.stddev) && std::isfinite(noise.step) && noise.step >= 0.0) return {};
                   return Error{ErrorCode::InvalidArgument,
                                fmt::format("Gaussian noise: expected a finite stddev > 0 and a finite step >= 0, got "
                                            "{} and {}",
                                            noise.stddev, noise.step)};
                 }},
      term.noise);
}

struct Cumulants {
  double second = 0.0;
  double fourth = 0.0;
};

Cumulants cumulants_of(const NoiseTerm& term) {
  return std::visit(
      Overloaded{[&](const LaplaceNoise& noise) {
                   const double q = std::exp(-1.0 / noise.scale);
                   const double short_of_one = -std::expm1(-1.0 / noise.scale);
                   const double unit = term.weight * noise.step / short_of_one;
                   const double square = unit * unit;
                   return Cumulants{2.0 * q * square, 2.0 * q * (1.0 + 4.0 * q + q * q) * square * square};
                 },
                 [&](const GaussianNoise& noise) {
                   return Cumulants{
                       term.weight * term.weight * (noise.stddev * noise.stddev + noise.step * noise.step / 12.0), 0.0};
                 }},
      term.noise);
}

double unit_of(const NoiseTerm& term) {
  return std::abs(term.weight) * std::visit([](const auto& noise) { return noise.step; }, term.noise);
}

/// The greatest whole number below; of what is a hair below one, that one.
std::int64_t whole_units(double units) {
  const double down = std::floor(units + kWholeTolerance * std::max(1.0, std::abs(units)));
  return static_cast<std::int64_t>(std::clamp(down, -0x1p60, 0x1p60));
}

}  // namespace

Result<NoiseLaw> NoiseLaw::create(std::vector<NoiseTerm> terms) {
  if (terms.empty() || terms.size() > kTermsMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a noise law has 1 to {} terms, got {}", kTermsMax, terms.size())};
  }
  for (const NoiseTerm& term : terms) UNDERTONE_TRY(check_term(term));
  NoiseLaw law;
  law.terms_ = std::move(terms);
  double fourth = 0.0;
  for (const NoiseTerm& term : law.terms_) {
    const Cumulants cumulants = cumulants_of(term);
    law.variance_ += cumulants.second;
    fourth += cumulants.fourth;
  }
  law.excess_kurtosis_ = fourth / (law.variance_ * law.variance_);
  if (!(positive(law.variance_) && std::isfinite(law.excess_kurtosis_)))
    return Error{ErrorCode::InvalidArgument, fmt::format("a noise law's variance is {}", law.variance_)};

  const double unit = unit_of(law.terms_.front());
  std::vector<double> scales;
  for (const NoiseTerm& term : law.terms_) {
    const auto* laplace = std::get_if<LaplaceNoise>(&term.noise);
    if (laplace != nullptr && std::abs(unit_of(term) - unit) <= 1e-12 * unit) scales.push_back(laplace->scale);
  }
  if (scales.size() == law.terms_.size()) law.lattice_ = LatticeLaw::create(scales);
  law.lattice_step_ = unit;
  if (law.lattice_) return law;

  double normal_variance = 0.0;
  double most = 0.0;  // of the remainders
  double squares = 0.0;
  std::vector<double> wider;
  for (const NoiseTerm& term : law.terms_) {
    most += 0.5 * unit_of(term);
    squares += unit_of(term) * unit_of(term);
    std::visit(Overloaded{[&](const LaplaceNoise& noise) {
                            wider.push_back(unit_of(term) * 0.5 / std::tanh(0.5 / noise.scale));
                          },
                          [&](const GaussianNoise& noise) {
                            normal_variance += term.weight * term.weight * noise.stddev * noise.stddev;
                          }},
               term.noise);
  }
  law.dominating_ = NormalLaplaceLaw(normal_variance, std::move(wider));
  const double likely = std::sqrt(0.5 * squares * std::log(2.0 / kRemainderFailure));
  law.slack_ = std::min(most, likely);
  law.slack_failure_ = likely < most ? kRemainderFailure : 0.0;
  return law;
}

Result<NoiseLaw> NoiseLaw::sum(const std::vector<std::pair<NoiseLaw, double>>& laws) {
  std::vector<NoiseTerm> terms;
  for (const auto& [law, weight] : laws) {
    for (NoiseTerm term : law.terms_) {
      term.weight *= weight;
      terms.push_back(term);
    }
  }
  return create(std::move(terms));
}

double NoiseLaw::stddev() const noexcept { return std::sqrt(variance_); }

bool NoiseLaw::is_gaussian() const noexcept {
  return std::all_of(terms_.begin(), terms_.end(),
                     [](const NoiseTerm& term) { return std::holds_alternative<GaussianNoise>(term.noise); });
}

std::optional<double> NoiseLaw::lattice_step() const noexcept {
  return lattice_ ? std::optional<double>(lattice_step_) : std::nullopt;
}

double NoiseLaw::half_width(double alpha) const {
  UNDERTONE_CHECK(alpha >= 1e-10 && alpha < 1.0);
  if (lattice_) return static_cast<double>(lattice_->half_width(alpha)) * lattice_step_;
  return dominating_.half_width(alpha - slack_failure_) + slack_;
}

double NoiseLaw::outside(double width) const {
  UNDERTONE_CHECK(width >= 0.0);
  if (!lattice_) return std::min(1.0, dominating_.outside(std::max(0.0, width - slack_)) + slack_failure_);
  return lattice_->outside(whole_units(width / lattice_step_));
}

double NoiseLaw::at_most(double x) const {
  if (!lattice_) {
    const double reached = x + slack_;
    const double half = 0.5 * dominating_.outside(std::abs(reached));
    return std::min(1.0, (reached < 0.0 ? half : 1.0 - half + 2e-12) + slack_failure_);
  }
  return lattice_->at_most(whole_units(x / lattice_step_));
}

NormalLaplaceLaw NoiseLaw::with_normal(double variance) const {
  std::vector<double> scales;
  for (const NoiseTerm& term : terms_) {
    std::visit(Overloaded{[&](const LaplaceNoise& noise) { scales.push_back(unit_of(term) * noise.scale); },
                          [&](const GaussianNoise& noise) {
                            variance += term.weight * term.weight * noise.stddev * noise.stddev;
                          }},
               term.noise);
  }
  return {variance, std::move(scales)};
}

double NoiseLaw::outside_with_normal(double normal_variance, double width) const {
  return with_normal(normal_variance).outside(width);
}

double NoiseLaw::half_width_with_normal(double normal_variance, double alpha) const {
  return with_normal(normal_variance).half_width(alpha);
}

}  // namespace undertone::statistics
