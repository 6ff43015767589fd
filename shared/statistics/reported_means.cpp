#include "shared/statistics/reported_means.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "shared/base/overloaded.hpp"

namespace undertone::statistics {
namespace {

constexpr double kRangeSquaredEighth = 0.125;  // Hoeffding: of a number in [0, 1], t^2 / 8 bounds ln E e^(t (y - E y))
constexpr double kLogRounding = 1e-13;         // of a term's ln E e^(t Z), whose logarithms cancel
constexpr double kOutward = 1.0 + 1e-9;        // of widths
constexpr double kBetaRounding = 1e-12;        // of quantiles

std::int64_t reports_of(const ReportedTotal& silo) {
  return std::visit([](const auto& own) { return own.reports; }, silo);
}

Status check(const std::vector<ReportedTotal>& silos) {
  const auto refuse = [](const char* what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("reports: expected {}", what)};
  };
  if (silos.empty()) return refuse("those of a silo or more");
  for (const ReportedTotal& silo : silos) {
    if (reports_of(silo) < 1 || reports_of(silo) > (std::int64_t{1} << 40U)) return refuse("1 to 2^40 of a silo");
    const bool sound = std::visit(
        Overloaded{[](const ReportedBits& bits) {
                     return bits.ones >= 0 && bits.ones <= bits.reports && bits.contrast > 0.0 && bits.contrast < 1.0;
                   },
                   [](const ReportedNumbers& numbers) {
                     return std::isfinite(numbers.total) && numbers.noise.scale > 0.0 && numbers.noise.step > 0.0 &&
                            std::isfinite(numbers.noise.scale * numbers.noise.step);
                   }},
        silo);
    if (!sound) return refuse("a finite total, as many ones as bits at most, a contrast in (0, 1) and noise");
  }
  return {};
}

/// A silo's unbiased estimate of what its reports are of, added up over them.
double total_of(const ReportedTotal& silo) {
  return std::visit(Overloaded{[](const ReportedBits& bits) {
                                 const double chance = 0.5 * (1.0 - bits.contrast);
                                 return (static_cast<double>(bits.ones) - chance * static_cast<double>(bits.reports)) /
                                        bits.contrast;
                               },
                               [](const ReportedNumbers& numbers) { return numbers.total; }},
                    silo);
}

/// Of the error of one report, the largest that there can be.
double variance_of(const ReportedTotal& silo) {
  return std::visit(Overloaded{[](const ReportedBits& bits) { return 0.25 / bits.contrast / bits.contrast; },
                               [](const ReportedNumbers& numbers) {
                                 const double half = std::sinh(0.5 / numbers.noise.scale);
                                 const double step = numbers.noise.step;
                                 return 0.5 / half / half * step * step;
                               }},
                    silo);
}

/// Of one report's error ln E e^(t error), or a bound; infinity where there is none. @param t > 0 @param drawn whether
/// which records they are adds to it
double log_moment(const ReportedTotal& silo, double t, bool drawn) {
  return std::visit(
      Overloaded{// The bit's range, 1 / c, covers which records they are: a mixture of coins is a coin.
                 [&](const ReportedBits& bits) { return kRangeSquaredEighth * t * t / bits.contrast / bits.contrast; },
                 [&](const ReportedNumbers& numbers) {
                   const double exponent = t * numbers.noise.step;
                   const double rate = 1.0 / numbers.noise.scale;
                   if (!(exponent < rate * (1.0 - 1e-9))) return std::numeric_limits<double>::infinity();
                   const double own = 2.0 * std::log(-std::expm1(-rate)) - std::log(-std::expm1(exponent - rate)) -
                                      std::log(-std::expm1(-exponent - rate));
                   return own + kLogRounding + (drawn ? kRangeSquaredEighth * t * t : 0.0);
                 }},
      silo);
}

/// The least w of the form (ln E e^(t sum of errors) + ln(2 / alpha)) / t: the sum is beyond it, on either side, with
/// probability at most alpha. Every t proves its own.
double chernoff_width(const std::vector<ReportedTotal>& silos, double alpha, bool drawn) {
  const auto width = [&](double log_t) {
    const double t = std::exp(log_t);
    double sum = std::log(2.0 / alpha);
    for (const ReportedTotal& silo : silos) sum += static_cast<double>(reports_of(silo)) * log_moment(silo, t, drawn);
    return std::min(sum / t, std::numeric_limits<double>::max());
  };
  double variance = 0.0;
  double highest = std::numeric_limits<double>::infinity();  // beyond it some number's noise has no moment
  for (const ReportedTotal& silo : silos) {
    const bool numbers = std::holds_alternative<ReportedNumbers>(silo);
    variance += static_cast<double>(reports_of(silo)) *
                (variance_of(silo) + (drawn && numbers ? 2.0 * kRangeSquaredEighth : 0.0));
    if (const auto* own = std::get_if<ReportedNumbers>(&silo))
      highest = std::min(highest, (1.0 - 2e-9) / (own->noise.scale * own->noise.step));
  }
  // Of a normal sum the best t is sqrt(2 ln(2 / alpha) / variance), and log moments grow no slower than of one; they
  // are convex, so that what is searched has one valley.
  const double near = 0.5 * std::log(2.0 * std::log(2.0 / alpha) / variance);
  const double right = std::min(near + 2.0, std::log(highest));
  return boost::math::tools::brent_find_minima(width, std::min(near, right) - 8.0, right, 40).second * kOutward;
}

/// All p that so many ones of so many alike coins do not reject, with `slack` more or fewer of them.
Interval clopper_pearson(std::int64_t ones, std::int64_t coins, double alpha, std::int64_t slack) {
  const auto n = static_cast<double>(coins);
  const std::int64_t least = ones - slack;
  const std::int64_t most = ones + slack;
  Interval out{0.0, 1.0};
  if (least > 0) {
    const auto s = static_cast<double>(least);
    out.low = std::max(0.0, boost::math::ibeta_inv(s, n - s + 1.0, 0.5 * alpha) - kBetaRounding);
  }
  if (most < coins) {
    const auto s = static_cast<double>(most);
    out.high = std::min(1.0, boost::math::ibetac_inv(s + 1.0, n - s, 0.5 * alpha) + kBetaRounding);
  }
  return out;
}

/// All bits together, where all silos' are of one contrast.
std::optional<ReportedBits> pooled(const std::vector<ReportedTotal>& silos) {
  std::optional<ReportedBits> out;
  for (const ReportedTotal& silo : silos) {
    const auto* bits = std::get_if<ReportedBits>(&silo);
    if (bits == nullptr || (out && out->contrast != bits->contrast)) return std::nullopt;
    if (!out) out = ReportedBits{0, 0, bits->contrast};
    out->reports += bits->reports;
    out->ones += bits->ones;
  }
  return out;
}

/// From the mean of bits to the mean of what they are about.
Interval share_of(Interval chance, double contrast, double apart) {
  const auto share = [&](double p) { return (p - 0.5 * (1.0 - contrast)) / contrast; };
  return cut_to({share(chance.low) - apart, share(chance.high) + apart}, {0.0, 1.0});
}

}  // namespace

double mean_of_reports(const ReportedTotal& silo) { return total_of(silo) / static_cast<double>(reports_of(silo)); }

double variance_of_reports(const ReportedTotal& silo) {
  // Of bits the whole is a coin's; beside a number's noise it is the number's own, which is in [0, 1].
  const double drawn = std::holds_alternative<ReportedNumbers>(silo) ? 0.25 : 0.0;
  return (variance_of(silo) + drawn) / static_cast<double>(reports_of(silo));
}

Result<Stated> state_reported_mean(const std::vector<ReportedTotal>& silos, Reporting reporting, Confidence confidence,
                                   bool sampling) {
  if (Status sound = check(silos); !sound) return sound.error();
  double reports = 0.0;
  double total = 0.0;
  double variance = 0.0;
  bool bounded = false;  // whether the standard deviation is the largest, and depends on the records
  for (const ReportedTotal& silo : silos) {
    const auto own = static_cast<double>(reports_of(silo));
    reports += own;
    total += total_of(silo);
    variance += own * variance_of(silo);
    bounded = bounded || std::holds_alternative<ReportedBits>(silo);
  }
  Stated out;
  out.value = total / reports;
  out.noise_stddev = std::sqrt(variance) / reports;
  if (bounded) out.note = "noise_stddev is the largest that there can be: of bits it depends on the records";
  const double alpha = confidence.alpha();
  const double apart = reporting.weights_apart;
  if (const std::optional<ReportedBits> bits = pooled(silos)) {
    const auto among = [&](std::int64_t slack) {
      return share_of(clopper_pearson(bits->ones, bits->reports, alpha, slack), bits->contrast, apart);
    };
    out.noise = among(1);
    if (sampling) {
      out.population = among(silos.size() == 1 ? 0 : 1);
      out.method = Method::Exact;
    }
    return out;
  }
  const auto around = [&](double width) {
    const double held = std::clamp(*out.value, 0.0, 1.0);
    return cut_to({held - width / reports - apart, held + width / reports + apart}, {0.0, 1.0});
  };
  out.noise = around(chernoff_width(silos, alpha, reporting.drawn));
  if (sampling) {
    out.population = around(chernoff_width(silos, alpha, true));
    out.method = Method::Chernoff;
  }
  return out;
}

}  // namespace undertone::statistics
