#include "shared/accounting/shuffling.hpp"

#include <algorithm>
#include <cmath>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/log_choose.hpp"
#include "shared/accounting/loss_law.hpp"
#include "shared/base/bisection.hpp"

namespace undertone::accounting {
namespace {

constexpr std::uint64_t kMessagesMax = 100'000'000;

Status check(std::uint64_t messages, double epsilon) {
  if (messages < 1 || messages > kMessagesMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("messages must be in 1 .. {}, got {}", kMessagesMax, messages)};
  }
  if (!(epsilon <= 50.0))
    return Error{ErrorCode::InvalidArgument, fmt::format("a local epsilon must be at most 50, got {}", epsilon)};
  return {};
}

/// P[Bin(c, 1/2) = a] and P[Bin(c, 1/2) > a], whose errors are one common factor.
struct FairTail {
  double at = 0.0;
  double above = 0.0;
};
FairTail fair_tail(double c, double a) {
  if (a > c) return {};
  if (a < 0.0) return {0.0, 1.0};
  FairTail out;
  out.at = static_cast<double>(expl(log_choose(c, a) - c * logl(2.0L)));
  double ratio = 1.0;
  double sum = 0.0;
  for (double k = a; k < c; ++k) {
    ratio *= (c - k) / (k + 1.0);
    sum += ratio;
    if (ratio < 1e-18 * sum) break;
  }
  out.above = std::min(out.at * sum, 1.0);
  return out;
}

/// The smallest epsilon in [0, most] at which a decreasing delta is at most `delta`; `most` where none is.
template <class Function>
double smallest_epsilon(const Function& delta_at, double delta, double most) {
  if (delta_at(most) > delta) return most;
  const auto enough = [&](double epsilon) { return delta_at(epsilon) <= delta; };
  if (enough(0.0)) return 0.0;
  return bisect_reals({0.0, most}, enough, 60, 1e-9).high;
}

}  // namespace

Result<double> shuffled_epsilon_closed(std::uint64_t messages, releases::Epsilon local, releases::Delta delta) {
  if (Status checked = check(messages, local.value()); !checked) return checked.error();
  const auto n = static_cast<double>(messages);
  const double most = std::log(n / (16.0 * std::log(2.0 / delta.value())));
  if (!(local.value() <= most)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the closed form needs a local epsilon of at most ln(N / (16 ln(2/delta))) = {:.4g}, got "
                             "{}: use the numeric bound",
                             most, local.value())};
  }
  const double power = std::exp(local.value());
  return std::log1p(std::tanh(0.5 * local.value()) *
                    (8.0 * std::sqrt(power * std::log(4.0 / delta.value())) / std::sqrt(n) + 8.0 * power / n));
}

double clone_delta(std::uint64_t others, double record_epsilon, double silo_epsilon, double epsilon) {
  const auto n = static_cast<double>(others);
  const double clone = std::exp(-silo_epsilon);
  const double w = 1.0 / (1.0 + std::exp(-record_epsilon));
  const double v = 1.0 - w;
  const double power = std::exp(epsilon);
  // Given C = c the worst set is a > theta (c + 1).
  const double theta = (power * w - v) / ((2.0 * w - 1.0) * (1.0 + power));
  const double mean = n * clone;
  const double variance = mean * (1.0 - clone);
  const double reach = 11.0 * std::sqrt(variance) + 40.0;
  const double first = std::max(0.0, std::floor(mean - reach));
  const double last = std::min(n, std::ceil(mean + reach));
  double sum = 0.0;
  for (double c = first; c <= last; ++c) {
    const long double log_weight =
        clone >= 1.0 ? (c == n ? 0.0L : -INFINITY)
                     : log_choose(n, c) + c * logl(clone) + (n - c) * log1pl(-static_cast<long double>(clone));
    const auto weight = static_cast<double>(expl(log_weight));
    if (!(weight > 0.0)) continue;
    const double a = std::floor(theta * (c + 1.0)) + 1.0;
    const FairTail tail = fair_tail(c, a - 1.0);
    const double before = tail.at + tail.above;
    const double kept = w * before + v * tail.above - power * (v * before + w * tail.above);
    sum += weight * std::max(0.0, kept);
  }
  // Bernstein for the counts that were left out; the rest is the error of the probabilities.
  const double omitted = 2.0 * std::exp(-0.5 * reach * reach / (variance + reach / 3.0));
  return std::min(1.0, sum * (1.0 + 1e-8) + omitted);
}

Result<double> shuffled_silos_epsilon(std::uint64_t silos, releases::Epsilon record, releases::Epsilon silo,
                                      releases::Delta delta) {
  if (Status checked = check(silos, silo.value()); !checked) return checked.error();
  const auto delta_at = [&](double epsilon) { return clone_delta(silos - 1, record.value(), silo.value(), epsilon); };
  return smallest_epsilon(delta_at, delta.value(), record.value());
}

Result<double> shuffled_epsilon(std::uint64_t messages, releases::Epsilon local, releases::Delta delta) {
  return shuffled_silos_epsilon(messages, local, local, delta);
}

namespace {

/// The pairs of one round of reports.
struct ReportLaws {
  LossLawPtr record;  // between neighbouring data sets of a silo
  LossLawPtr silo;    // between any two

  [[nodiscard]] double total_variation(std::uint64_t silos, double record_epsilon, double silo_epsilon) const {
    return record->delta(record_epsilon) * (1.0 + 1e-12) / (1.0 + std::exp(record_epsilon)) +
           static_cast<double>(silos - 1) * silo->delta(silo_epsilon) * (1.0 + 1e-12) * std::exp(-silo_epsilon);
  }
};

Result<releases::GaussianShift> silo_shift_of(const DrawnReports& reports) {
  if (reports.drawn < 1) return Error{ErrorCode::InvalidArgument, "a report is of at least one record"};
  return releases::GaussianShift::create(reports.shift.value() * static_cast<double>(reports.drawn) * (1.0 + 0x1p-50));
}

Result<ReportLaws> laws_of(const DrawnReports& reports) {
  UNDERTONE_TRY(const releases::GaussianShift silo_shift, silo_shift_of(reports));
  UNDERTONE_TRY(LossLawPtr record, reports.rate == 1.0 ? Result<LossLawPtr>(gaussian_law(reports.shift))
                                                       : subset_gaussian_law(reports.rate, reports.shift));
  return ReportLaws{std::move(record), gaussian_law(silo_shift)};
}

/// The smallest epsilon at which a law's delta is at most `delta`.
double epsilon_of_law(const LossLaw& law, double delta) {
  double most = 1e-6;
  while (law.delta(most) > delta && most < 1e4) most *= 2.0;
  return smallest_epsilon([&](double epsilon) { return law.delta(epsilon); }, delta, most);
}

/// @param silo_scale epsilon of the silo's law at delta
ShuffledRound best_round(std::uint64_t silos, const ReportLaws& laws, double silo_scale, releases::Delta delta) {
  ShuffledRound out;
  const double record_scale = epsilon_of_law(*laws.record, delta.value());
  out.local_epsilon = record_scale;
  out.epsilon = out.local_epsilon;
  if (out.local_epsilon == 0.0) return out;
  const auto consider = [&](double record_epsilon, double silo_epsilon) {
    const double tau = laws.total_variation(silos, record_epsilon, silo_epsilon);
    const auto delta_at = [&](double epsilon) {
      const double noise = (1.0 + std::exp(epsilon)) * tau;
      return noise > delta.value() ? noise : noise + clone_delta(silos - 1, record_epsilon, silo_epsilon, epsilon);
    };
    if (delta_at(out.epsilon) > delta.value()) return;
    const double epsilon = smallest_epsilon(delta_at, delta.value(), out.epsilon);
    if (epsilon >= out.epsilon) return;
    out.epsilon = epsilon;
    out.record_epsilon = record_epsilon;
    out.silo_epsilon = silo_epsilon;
    out.total_variation = tau;
  };
  // A coarse grid around where each epsilon's own delta is near the target, then a finer one around the best.
  for (double r = 0.7; r <= 1.6; r += 0.1)
    for (double s = 0.7; s <= 2.2; s += 0.1) consider(r * record_scale, s * silo_scale);
  if (!out.gains()) return out;
  const double r = out.record_epsilon / record_scale;
  const double s = out.silo_epsilon / silo_scale;
  for (double dr = -0.08; dr <= 0.08; dr += 0.02)
    for (double ds = -0.08; ds <= 0.08; ds += 0.02) consider((r + dr) * record_scale, (s + ds) * silo_scale);
  return out;
}

}  // namespace

Result<ShuffledRound> shuffled_gaussians(std::uint64_t silos, releases::GaussianShift record_shift,
                                         releases::GaussianShift silo_shift, releases::Delta delta) {
  if (Status checked = check(silos, 1.0); !checked) return checked.error();
  if (silo_shift < record_shift) {
    return Error{ErrorCode::InvalidArgument, fmt::format("a silo's shift {} must be at least a record's {}",
                                                         silo_shift.value(), record_shift.value())};
  }
  return best_round(silos, {gaussian_law(record_shift), gaussian_law(silo_shift)},
                    epsilon_of_gaussian(silo_shift, delta), delta);
}

Result<ShuffledRound> shuffled_reports(std::uint64_t silos, const DrawnReports& reports, releases::Delta delta) {
  if (Status checked = check(silos, 1.0); !checked) return checked.error();
  UNDERTONE_TRY(const ReportLaws laws, laws_of(reports));
  return best_round(silos, laws, epsilon_of_law(*laws.silo, delta.value()), delta);
}

Result<double> clones_total_variation(std::uint64_t silos, const DrawnReports& reports, double record_epsilon,
                                      double silo_epsilon) {
  if (Status checked = check(silos, silo_epsilon); !checked) return checked.error();
  UNDERTONE_TRY(const ReportLaws laws, laws_of(reports));
  return laws.total_variation(silos, record_epsilon, silo_epsilon);
}

}  // namespace undertone::accounting
