#include "shared/statistics/means.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>

#include "shared/base/overloaded.hpp"
#include "shared/statistics/moment_checks.hpp"

namespace undertone::statistics {
namespace {

constexpr double kOneSided95 = 1.645;
constexpr double kTwoSided95 = 1.96;
constexpr double kGateMax = 0.3;

/// The root of a function between an end where it is <= 0 and one where it is > 0: the end of the last bracket outside
/// of what is accepted. @param refused the end where it is <= 0
template <class Function>
double last_refused(const Function& function, double refused, double accepted, double at_refused, double at_accepted) {
  std::uintmax_t tries = 200;
  const bool rising = refused < accepted;
  const auto close = [](double low, double high) { return high - low <= 1e-13; };
  const auto [low, high] =
      rising ? boost::math::tools::toms748_solve(function, refused, accepted, at_refused, at_accepted, close, tries)
             : boost::math::tools::toms748_solve(function, accepted, refused, at_accepted, at_refused, close, tries);
  return rising ? low : high;
}

/// All t in [-1, 1] around `mean` that a test accepts. @param accepts > 0 where it does, at `mean` among others
template <class Function>
Interval accepted_around(double mean, const Function& accepts) {
  Interval out{-1.0, 1.0};
  const double at_mean = accepts(mean);
  const double at_low = accepts(-1.0);
  const double at_high = accepts(1.0);
  if (at_low <= 0.0) out.low = last_refused(accepts, -1.0, mean, at_low, at_mean);
  if (at_high <= 0.0) out.high = last_refused(accepts, 1.0, mean, at_high, at_mean);
  return out;
}

/// ln E e^(s Z) of one term, its weight taken; infinity where there is none.
double log_moment(const NoiseTerm& term, double s) {
  return std::visit(Overloaded{[&](const LaplaceNoise& noise) {
                                 const double exponent = std::abs(s * term.weight) * noise.step;
                                 const double rate = 1.0 / noise.scale;
                                 if (!(exponent < rate * (1.0 - 1e-9))) return std::numeric_limits<double>::infinity();
                                 return 2.0 * std::log(-std::expm1(-rate)) - std::log(-std::expm1(exponent - rate)) -
                                        std::log(-std::expm1(-exponent - rate));
                               },
                               [&](const GaussianNoise& noise) {
                                 const double shift = s * term.weight * noise.stddev;
                                 return 0.5 * shift * shift + 0.5 * std::abs(s * term.weight) * noise.step;
                               }},
                    term.noise);
}

/// Weighted over silos. @see statistics 4.3
struct SummedMoments {
  double mean = 0.0;            // m, in [-1, 1]
  double noise_variance = 0.0;  // v
  double per_record = 0.0;      // max c_i / n_i = 1 / n°
  double records = 0.0;
};

SummedMoments summed(const std::vector<SiloMoments>& silos) {
  SummedMoments out;
  for (const SiloMoments& silo : silos) {
    const auto n = static_cast<double>(silo.records);
    out.mean += silo.weight * silo.mean.value;
    out.noise_variance += silo.weight * silo.weight * silo.mean.noise.variance();
    out.per_record = std::max(out.per_record, silo.weight / n);
    out.records += n;
  }
  out.mean = std::clamp(out.mean, -1.0, 1.0);
  return out;
}

/// T, its noise's standard deviation, and upper limits of it.
struct SamplingVariance {
  double estimate = 0.0;      // T
  double noise_stddev = 0.0;  // s_T
  double spread = 0.0;        // A_1
  double cap = 0.0;
  [[nodiscard]] double raised(double sds) const {
    const double base = std::max(0.0, estimate);
    const double width = sds * sds * spread;
    const double noise = sds * noise_stddev;
    const double root = std::sqrt(width * width + 4.0 * (base * width + noise * noise));
    return std::min(cap, base + 0.5 * (width + root));
  }
};

SamplingVariance sampling_variance(const std::vector<SiloMoments>& silos, const SummedMoments& sums) {
  SamplingVariance out;
  double widest = 0.0;
  double noise_variance = 0.0;
  for (const SiloMoments& silo : silos) {
    const auto n = static_cast<double>(silo.records);
    const double a = silo.weight * silo.weight / n;
    const double m = silo.mean.value;
    const double held = std::clamp(m, -1.0, 1.0);
    const double v1 = silo.mean.noise.variance();
    out.estimate += a * (silo.square->value - m * m + v1) * n / (n - 1.0);
    // 4 m^2 v1 at a noised m is 4 m^2 v1 + 4 v1^2 on average, above the 4 m^2 v1 + 2 v1^2 of the square's noise.
    noise_variance += a * a * (silo.square->noise.variance() + 4.0 * held * held * v1);
    widest = std::max(widest, a / n);
  }
  const double far = 1.0 + std::abs(sums.mean);
  const double least_mean = std::max(std::abs(sums.mean) - kTwoSided95 * std::sqrt(sums.noise_variance), 0.0);
  out.noise_stddev = std::sqrt(noise_variance);
  out.spread = far * far * widest;
  out.cap = sums.per_record * (1.0 - least_mean * least_mean);
  return out;
}

double gate_of(const SamplingVariance& sampling, const SummedMoments& sums) {
  const double v = sums.noise_variance;
  const double high = sampling.raised(kOneSided95);
  const double low = std::min(std::max(sampling.estimate - kOneSided95 * sampling.noise_stddev, 0.0), high);
  const auto skewness = [&](double t) { return t == 0.0 ? 0.0 : 2.0 * sums.per_record * t / std::pow(t + v, 1.5); };
  return std::max({skewness(low), skewness(high), skewness(std::clamp(2.0 * v, low, high))});
}

Interval plug_in(const SummedMoments& sums, const NoiseLaw& noise, double raised, Confidence confidence) {
  double half = 0.0;
  if (noise.is_gaussian()) {
    const double whole = raised + sums.noise_variance;
    const double freedom = std::max(whole * whole * (sums.records - 1.0) / (raised * raised), sums.records - 1.0);
    const boost::math::students_t law(std::min(freedom, 1e15));
    half = boost::math::quantile(boost::math::complement(law, 0.5 * confidence.alpha())) * std::sqrt(whole);
  } else {
    half = noise.half_width_with_normal(raised, confidence.alpha());
  }
  return cut_to({sums.mean - half, sums.mean + half}, {-1.0, 1.0});
}

}  // namespace

MeanVariance mean_variance(const std::vector<SiloMoments>& silos) {
  const SummedMoments sums = summed(silos);
  const SamplingVariance sampling = sampling_variance(silos, sums);
  double weights = 0.0;
  for (const SiloMoments& silo : silos) weights += silo.weight * silo.weight / static_cast<double>(silo.records);
  return {sampling.estimate / weights, sampling.raised(1.0), gate_of(sampling, sums)};
}

Interval score_mean(double mean, double effective_records, const NoiseLaw& noise, Confidence confidence) {
  UNDERTONE_CHECK(std::isfinite(mean) && effective_records > 0.0);
  const double m = std::clamp(mean, -1.0, 1.0);
  if (noise.is_gaussian()) {
    const double square = confidence.z() * confidence.z();
    const double lead = 1.0 + square / effective_records;
    const double root =
        std::sqrt(std::max(m * m - lead * (m * m - square * (1.0 / effective_records + noise.variance())), 0.0));
    return cut_to({(m - root) / lead, (m + root) / lead}, {-1.0, 1.0});
  }
  return accepted_around(m, [&](double t) {
    const double variance = std::max(1.0 - t * t, 1e-12) / effective_records;
    return noise.outside_with_normal(variance, std::abs(m - t)) - confidence.alpha();
  });
}

Interval chernoff_mean(double mean, std::int64_t records, const NoiseLaw& noise, Confidence confidence) {
  UNDERTONE_CHECK(std::isfinite(mean) && records >= 1);
  const double m = std::clamp(mean, -1.0, 1.0);
  const auto n = static_cast<double>(records);
  const double level = std::log(0.5 * confidence.alpha());
  // ln of the bound on the p-value of "the mean is t", on the share scale p = (t + 1) / 2.
  const auto log_p_value = [&](double t) {
    const double p = 0.5 * (t + 1.0);
    const double sign = m < t ? -1.0 : 1.0;
    const auto exponent = [&](double log_lambda) {
      const double lambda = sign * std::exp(log_lambda);
      double sum = n * std::log1p(p * std::expm1(lambda)) - 0.5 * lambda * n * (m + 1.0);
      for (const NoiseTerm& term : noise.terms()) sum += log_moment(term, 0.5 * lambda * n);
      return std::isfinite(sum) ? sum : 1e300;
    };
    // Any lambda gives a bound, so that a coarse minimum is an honest one.
    return std::min(0.0, boost::math::tools::brent_find_minima(exponent, std::log(1e-6), std::log(60.0), 40).second);
  };
  return accepted_around(m, [&](double t) { return log_p_value(std::clamp(t, -1.0 + 1e-12, 1.0 - 1e-12)) - level; });
}

Result<Stated> state_mean(const std::vector<SiloMoments>& silos, Confidence confidence, Sampling sampling) {
  UNDERTONE_TRY(check_moments(silos, false));
  const SummedMoments sums = summed(silos);
  std::vector<std::pair<NoiseLaw, double>> laws;
  Stated out;
  out.value = 0.0;
  for (const SiloMoments& silo : silos) {
    laws.emplace_back(silo.mean.noise, silo.weight);
    *out.value += silo.weight * silo.mean.value;
  }
  UNDERTONE_TRY(const NoiseLaw noise, NoiseLaw::sum(laws));
  const double half = noise.half_width(confidence.alpha());
  out.noise_stddev = noise.stddev();
  out.noise = cut_to({sums.mean - half, sums.mean + half}, {-1.0, 1.0});
  if (sampling == Sampling::None) return out;
  if (sampling == Sampling::Chernoff) {
    for (const SiloMoments& silo : silos) {
      const double share = static_cast<double>(silo.records) / sums.records;
      if (std::abs(silo.weight - share) > 1e-9 * share) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("a mean by Chernoff's bound: expected a silo of {} records of {} to weigh {}, got {}",
                                 silo.records, sums.records, share, silo.weight)};
      }
    }
    out.population = chernoff_mean(sums.mean, static_cast<std::int64_t>(sums.records), noise, confidence);
    out.method = Method::Chernoff;
    return out;
  }
  const bool known = std::all_of(silos.begin(), silos.end(),
                                 [](const SiloMoments& silo) { return silo.square.has_value() && silo.records >= 2; });
  if (sampling == Sampling::Automatic && known) {
    const SamplingVariance variance = sampling_variance(silos, sums);
    out.gate = gate_of(variance, sums);
    if (*out.gate <= kGateMax) {
      out.population = plug_in(sums, noise, variance.raised(1.0), confidence);
      out.method = Method::PlugIn;
      return out;
    }
    out.note = fmt::format(
        "the shape is unknown at this size: skewness bound {:.2f} is above {}, so that the largest "
        "variance which the mean allows is assumed",
        *out.gate, kGateMax);
  }
  out.population = score_mean(sums.mean, 1.0 / sums.per_record, noise, confidence);
  out.method = Method::Score;
  return out;
}

}  // namespace undertone::statistics
