#include "lab/reproduce/paired_finding.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace undertone::lab {
namespace {

struct Spread {
  double mean = 0.0;
  double standard_error = 0.0;  // of the mean: s / sqrt(S)
};

/// @return an error where a value, or what is computed of all, is not finite
Result<Spread> spread_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return Error{ErrorCode::InvalidArgument, fmt::format("value {} must be finite, got {}", i, values[i])};
    }
    sum += values[i];
  }
  const double mean = sum / count;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  if (!std::isfinite(mean) || !std::isfinite(squares)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the spread of {} values overflows", values.size())};
  }
  return Spread{mean, values.size() > 1 ? std::sqrt(squares / (count - 1.0) / count) : 0.0};
}

MeanInterval interval_of(const Spread& spread, std::size_t count, double level) {
  if (count == 1) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return {spread.mean, -kInfinity, kInfinity};
  }
  const boost::math::students_t law(static_cast<double>(count - 1));
  const double half = boost::math::quantile(boost::math::complement(law, 0.5 * (1.0 - level))) * spread.standard_error;
  return {spread.mean, spread.mean - half, spread.mean + half};
}

/// P[Student >= t] for the mean's excess over the margin. @param rounding below which a number is as good as 0
double student_p(const Spread& spread, std::size_t count, double margin, double rounding) {
  const double excess = spread.mean - margin;
  if (spread.standard_error <= rounding) {
    if (std::abs(excess) <= rounding) return 0.5;
    return excess > 0.0 ? 0.0 : 1.0;
  }
  const boost::math::students_t law(static_cast<double>(count - 1));
  return boost::math::cdf(boost::math::complement(law, excess / spread.standard_error));
}

double sign_flip_p(std::span<const double> excesses, double rounding, RandomSource& flips) {
  const double observed = std::accumulate(excesses.begin(), excesses.end(), 0.0);
  const double threshold = observed - static_cast<double>(excesses.size()) * rounding;  // equal sums are hits
  std::uint64_t hits = 0;
  if (excesses.size() <= kExactSplitsMax) {
    const std::uint64_t patterns = std::uint64_t{1} << excesses.size();
    for (std::uint64_t pattern = 0; pattern < patterns; ++pattern) {
      double sum = 0.0;
      for (std::size_t i = 0; i < excesses.size(); ++i) sum += (pattern >> i & 1U) != 0 ? -excesses[i] : excesses[i];
      hits += sum >= threshold ? 1U : 0U;
    }
    return static_cast<double>(hits) / static_cast<double>(patterns);
  }
  for (std::uint64_t draw = 0; draw < kFlipsDrawn; ++draw) {
    double sum = 0.0;
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < excesses.size(); ++i) {
      if (i % 64 == 0) word = flips.word();
      sum += (word >> (i % 64) & 1U) != 0 ? -excesses[i] : excesses[i];
    }
    hits += sum >= threshold ? 1U : 0U;
  }
  return static_cast<double>(1 + hits) / static_cast<double>(1 + kFlipsDrawn);
}

FindingVerdict verdict_of(double p_value) {
  if (p_value < kFindingSignificance) return FindingVerdict::Holds;
  if (p_value > 1.0 - kFindingSignificance) return FindingVerdict::Fails;
  return FindingVerdict::Undecided;
}

std::string explanation_of(const PairedFinding& finding, double margin) {
  if (!finding.p_value) {
    return fmt::format(
        "one split: a difference of {:.4g} against a margin of {:.4g}, and nothing is known of its spread",
        finding.difference.mean, margin);
  }
  return fmt::format(
      "{} splits: a mean difference of {:.4g} against a margin of {:.4g}, {:.0f} % interval [{:.4g}, {:.4g}], "
      "p {:.4g} by the paired t test and {:.4g} by sign flips",
      finding.splits, finding.difference.mean, margin, 100.0 * kFindingLevel, finding.difference.low,
      finding.difference.high, *finding.p_value, finding.permutation_p_value);
}

}  // namespace

Result<MeanInterval> mean_interval(std::span<const double> values, double level) {
  if (values.empty()) return Error{ErrorCode::InvalidArgument, "an interval needs at least one value, got none"};
  if (!(level > 0.0 && level < 1.0)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the level of an interval must be in (0, 1), got {}", level)};
  }
  UNDERTONE_TRY(const Spread spread, spread_of(values));
  return interval_of(spread, values.size(), level);
}

std::string_view to_string(FindingVerdict verdict) noexcept {
  switch (verdict) {
    case FindingVerdict::Holds:
      return "holds";
    case FindingVerdict::Fails:
      return "fails";
    case FindingVerdict::Undecided:
      return "undecided";
  }
  return "";
}

Result<PairedFinding> judge_paired(std::span<const double> errors_a, std::span<const double> errors_b, double margin,
                                   RandomSource& flips) {
  if (errors_a.size() != errors_b.size()) {
    return Error{ErrorCode::InvalidArgument, fmt::format("paired errors need one of each a split, got {} and {}",
                                                         errors_a.size(), errors_b.size())};
  }
  if (errors_a.empty()) return Error{ErrorCode::InvalidArgument, "a finding needs at least one split, got none"};
  if (!std::isfinite(margin)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the margin must be finite, got {}", margin)};
  }
  std::vector<double> differences(errors_a.size());
  double scale = std::abs(margin);
  for (std::size_t split = 0; split < errors_a.size(); ++split) {
    if (!std::isfinite(errors_a[split]) || !std::isfinite(errors_b[split])) {
      return Error{ErrorCode::InvalidArgument, fmt::format("split {}: errors must be finite, got {} and {}", split,
                                                           errors_a[split], errors_b[split])};
    }
    differences[split] = errors_b[split] - errors_a[split];
    scale = std::max({scale, std::abs(errors_a[split]), std::abs(errors_b[split])});
  }
  const double rounding = 1e-12 * scale;
  UNDERTONE_TRY(const Spread spread, spread_of(differences));
  PairedFinding finding;
  finding.splits = differences.size();
  finding.difference = interval_of(spread, differences.size(), kFindingLevel);
  if (differences.size() > 1) {
    finding.p_value = student_p(spread, differences.size(), margin, rounding);
    finding.verdict = verdict_of(*finding.p_value);
  }
  for (double& difference : differences) difference -= margin;
  finding.permutation_p_value = sign_flip_p(differences, rounding, flips);
  finding.explanation = explanation_of(finding, margin);
  return finding;
}

Result<std::vector<double>> holm(std::span<const double> p_values) {
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (!(p_values[i] >= 0.0 && p_values[i] <= 1.0)) {
      return Error{ErrorCode::InvalidArgument, fmt::format("p-value {} must be in [0, 1], got {}", i, p_values[i])};
    }
  }
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> corrected(p_values.size());
  double largest = 0.0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto hypotheses = static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, hypotheses * p_values[order[rank]]));
    corrected[order[rank]] = largest;
  }
  return corrected;
}

}  // namespace undertone::lab
