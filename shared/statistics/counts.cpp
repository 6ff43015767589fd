#include "shared/statistics/counts.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "shared/statistics/binomial_weights.hpp"

namespace undertone::statistics {
namespace {

constexpr std::int64_t kCountedMax = std::int64_t{1} << 40U;

Status check_count(double total, std::int64_t records) {
  if (!std::isfinite(total)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("a count: expected a finite total, got {}", total)};
  }
  if (records < 1 || records > kCountedMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a count: expected 1 to {} records, got {}", kCountedMax, records)};
  }
  return {};
}

/// A root of a continuous function that is <= 0 at one end of [0, 1] and > 0 at the other; the end of the last bracket
/// where it is > 0, so that what is accepted stays accepted.
template <class Function>
double crossing(const Function& function, double at_zero, double at_one) {
  std::uintmax_t tries = 200;
  const auto close = [](double low, double high) { return high - low <= 1e-13; };
  const auto [low, high] = boost::math::tools::toms748_solve(function, 0.0, 1.0, at_zero, at_one, close, tries);
  return at_zero > 0.0 ? low : high;
}

}  // namespace

Interval exact_share(double total, std::int64_t records, const NoiseLaw& noise, double alpha) {
  UNDERTONE_CHECK(std::isfinite(total) && records >= 1 && records <= kCountedMax && alpha > 0.0 && alpha < 1.0);
  const double held = std::clamp(total, 0.0, static_cast<double>(records));
  // P[S + Z >= held] and P[S + Z <= held]; each grows or falls with p.
  const auto tail = [&](double p, double sign) {
    const BinomialWeights law = binomial_weights(records, p);
    double sum = law.left_out;
    for (std::size_t i = 0; i < law.weights.size(); ++i) {
      const double short_of = held - static_cast<double>(law.first + static_cast<std::int64_t>(i));
      sum += law.weights[i] * noise.at_most(sign * short_of);
    }
    return sum - 0.5 * alpha;
  };
  const auto reaches = [&](double p) { return tail(p, -1.0); };
  const auto stays = [&](double p) { return tail(p, 1.0); };
  Interval out{0.0, 1.0};
  const double low_end = reaches(0.0);
  const double high_end = stays(1.0);
  // The bracket's accepted end would be inside: one step of 1e-13 outward makes both ends safe.
  if (low_end <= 0.0) out.low = std::max(0.0, crossing(reaches, low_end, reaches(1.0)) - 1e-13);
  if (high_end <= 0.0) out.high = std::min(1.0, crossing(stays, stays(0.0), high_end) + 1e-13);
  return out;
}

Interval wilson_share(double share, double records, double noise_variance, double z) {
  UNDERTONE_CHECK(std::isfinite(share) && records > 0.0 && noise_variance >= 0.0 && z > 0.0);
  const double lead = 1.0 + z * z / records;
  const double middle = share + z * z / (2.0 * records);
  const double root = std::sqrt(std::max(middle * middle - lead * (share * share - z * z * noise_variance), 0.0));
  return {std::clamp((middle - root) / lead, 0.0, 1.0), std::clamp((middle + root) / lead, 0.0, 1.0)};
}

Result<Stated> state_count(double total, std::int64_t records, const NoiseLaw& noise, Confidence confidence,
                           bool sampling) {
  UNDERTONE_TRY(check_count(total, records));
  const auto n = static_cast<double>(records);
  Stated out;
  out.value = total;
  out.noise_stddev = noise.stddev();
  const double held = std::clamp(total, 0.0, n);
  const double half = noise.half_width(confidence.alpha());
  out.noise = cut_to({held - half, held + half}, {0.0, n});
  if (sampling) {
    const Interval share = exact_share(total, records, noise, confidence.alpha());
    out.population = Interval{n * share.low, n * share.high};
    out.method = Method::Exact;
  }
  return out;
}

Result<Stated> state_share(double total, std::int64_t records, const NoiseLaw& noise, Confidence confidence,
                           bool sampling) {
  Result<Stated> count = state_count(total, records, noise, confidence, sampling);
  if (!count) return count;
  return in_units(*std::move(count), 0.0, 1.0 / static_cast<double>(records));
}

Result<std::vector<Stated>> state_cells(const std::vector<double>& cells, std::int64_t records, const NoiseLaw& noise,
                                        Confidence confidence, bool sampling, bool simultaneous) {
  if (cells.empty()) return Error{ErrorCode::InvalidArgument, "a histogram needs at least one cell"};
  const Confidence each = simultaneous ? confidence.shared_by(static_cast<std::int64_t>(cells.size())) : confidence;
  std::vector<Stated> out;
  out.reserve(cells.size());
  for (const double cell : cells) {
    UNDERTONE_TRY(Stated stated, state_count(cell, records, noise, each, sampling));
    out.push_back(std::move(stated));
  }
  return out;
}

}  // namespace undertone::statistics
