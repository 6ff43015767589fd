#include "shared/accounting/pass_terms.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace undertone::accounting {
namespace {

/// P[N(0,1) < x], with a small relative error.
double lower_tail(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

/// E(l_mu - strike)+ for strike > 0.
double call_of_gaussian(double strike, double mu) {
  const double place = std::log(strike) / mu;
  return lower_tail(0.5 * mu - place) - strike * lower_tail(-0.5 * mu - place);
}

}  // namespace

PassTerm::PassTerm(PartAssignment assignment, double shift, double epsilon)
    : assignment_(assignment),
      half_shift_(0.5 * shift),
      kappa_(std::exp(epsilon)),
      growth_(std::exp(0.5 * half_shift_ * half_shift_)) {}

double PassTerm::place(double c) const {
  // y = e^(m z) solves y^2 - c e^(m^2/2) y - kappa = 0; each sign of c has the form that does not cancel.
  const double b = c * growth_;
  const double root = std::sqrt(b * b + 4.0 * kappa_);
  return std::log(b >= 0.0 ? 0.5 * (b + root) : 2.0 * kappa_ / (root - b)) / half_shift_;
}

double PassTerm::above(double c) const {
  const double mu = 2.0 * half_shift_;
  if (assignment_ == PartAssignment::FixedWithUnreadSlot) {
    if (c >= 0.0) return call_of_gaussian(kappa_ + c, mu);
    const double at = std::log((1.0 - c) / kappa_) / mu;  // E(1 - c - kappa l)+
    return (1.0 - c) * lower_tail(at + half_shift_) - kappa_ * lower_tail(at - half_shift_);
  }
  const double z = place(c);
  return lower_tail(half_shift_ - z) - kappa_ * lower_tail(-half_shift_ - z) - c * lower_tail(-z);
}

double PassTerm::below(double c) const {
  if (assignment_ == PartAssignment::FixedWithUnreadSlot)
    return kappa_ * call_of_gaussian((1.0 - c) / kappa_, 2.0 * half_shift_);
  const double z = place(c);
  return kappa_ * lower_tail(z + half_shift_) - lower_tail(z - half_shift_) + c * lower_tail(z);
}

double PassTerm::middle() const {
  if (assignment_ == PartAssignment::FixedWithUnreadSlot)
    return std::min(0.0, 1.0 - kappa_ * std::exp(-2.0 * half_shift_ * half_shift_));
  return (1.0 - kappa_) / growth_;
}

}  // namespace undertone::accounting
