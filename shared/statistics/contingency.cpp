#include "shared/statistics/contingency.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "shared/base/overloaded.hpp"
#include "shared/base/random_source.hpp"

namespace undertone::statistics {
namespace {

/// G and how far it lies from 0, at a ratio.
struct RatioTerms {
  double distance = 0.0;
  double variance = 0.0;
  double fourth = 0.0;
};

RatioTerms terms_of(const NoisedTable& table, Ratio ratio, double psi, bool sampling) {
  const double a = table.cells[0];
  const double b = table.cells[1];
  const double c = table.cells[2];
  const double d = table.cells[3];
  RatioTerms out;
  Eigen::VectorXd gradient(4);
  double both = 0.0;  // what products of two noises have, over s^4
  if (ratio == Ratio::Odds) {
    out.distance = a * d - psi * b * c;
    gradient << d, -psi * c, -psi * b, a;
    both = 1.0 + psi * psi;
  } else {
    out.distance = a * (c + d) - psi * c * (a + b);
    gradient << c + d - psi * c, -psi * c, a - psi * (a + b), a;
    both = (1.0 - psi) * (1.0 - psi) + 1.0 + psi * psi;
  }
  const Spread spread = spread_of(table, gradient, SizeOf::Table);
  out.variance = (sampling ? spread.sampling : 0.0) + spread.noise + both * table.noise_variance * table.noise_variance;
  out.fourth = spread.fourth;
  return out;
}

/// Over strata, each over its records.
RatioTerms terms_at(std::span<const NoisedTable> strata, Ratio ratio, double psi, bool sampling) {
  RatioTerms out;
  for (const NoisedTable& table : strata) {
    const RatioTerms one = terms_of(table, ratio, psi, sampling);
    const double weight = 1.0 / std::max(table.records, 1.0);
    out.distance += weight * one.distance;
    out.variance += weight * weight * one.variance;
    out.fourth += std::pow(weight, 4) * one.fourth;
  }
  return out;
}

/// The ratio at which G is 0: the quotient of its parts without psi and with it.
double root_of(std::span<const NoisedTable> strata, Ratio ratio) {
  double up = 0.0;
  double down = 0.0;
  for (const NoisedTable& table : strata) {
    const double a = table.cells[0];
    const double b = table.cells[1];
    const double c = table.cells[2];
    const double d = table.cells[3];
    up += (ratio == Ratio::Odds ? a * d : a * (c + d)) / std::max(table.records, 1.0);
    down += (ratio == Ratio::Odds ? b * c : c * (a + b)) / std::max(table.records, 1.0);
  }
  return up > 0.0 && down > 0.0 ? up / down : std::numeric_limits<double>::quiet_NaN();
}

/// All ratios that are not rejected, by a scan of their logarithms and bisection at the ends.
Interval accepted(std::span<const NoisedTable> strata, Ratio ratio, Confidence confidence, bool sampling) {
  constexpr double kReach = 12.0;
  constexpr int kSteps = 4800;
  const auto excess = [&](double log) {
    const RatioTerms at = terms_at(strata, ratio, std::exp(log), sampling);
    const double q = corrected_quantile(confidence.z(), at.fourth, at.variance);
    return at.distance * at.distance - q * q * at.variance;
  };
  const auto log_at = [](int step) { return -kReach + 2.0 * kReach * step / kSteps; };
  int first = -1;
  int last = -1;
  for (int step = 0; step <= kSteps; ++step) {
    if (excess(log_at(step)) > 0.0) continue;
    if (first < 0) first = step;
    last = step;
  }
  // Of many records the accepted ones may all lie between two steps, around the ratio at which G is 0.
  const double centre = std::log(root_of(strata, ratio));
  const bool is_centred = std::isfinite(centre) && std::abs(centre) < kReach && excess(centre) <= 0.0;
  if (first < 0 && !is_centred) return {0.0, std::numeric_limits<double>::infinity()};  // nothing is said
  const auto edge = [&](double out, double in) {
    for (int step = 0; step < 60; ++step) {
      const double middle = 0.5 * (out + in);
      (excess(middle) > 0.0 ? out : in) = middle;
    }
    return std::exp(out);
  };
  const auto step_of = [](double log) { return (log + kReach) * kSteps / (2.0 * kReach); };
  double lowest = first < 0 ? centre : log_at(first);
  double highest = first < 0 ? centre : log_at(last);
  if (is_centred) {
    lowest = std::min(lowest, centre);
    highest = std::max(highest, centre);
  }
  const int below = static_cast<int>(std::ceil(step_of(lowest) - 1e-9)) - 1;
  const int above = static_cast<int>(std::floor(step_of(highest) + 1e-9)) + 1;
  return {below < 0 ? 0.0 : edge(log_at(below), lowest),
          above > kSteps ? std::numeric_limits<double>::infinity() : edge(log_at(above), highest)};
}

double normal(RandomSource& random) {
  const double radius = std::sqrt(-2.0 * std::log1p(-random.unit()));
  return radius * std::cos(2.0 * std::numbers::pi * random.unit());
}

double noise_of_cell(const NoiseLaw& law, RandomSource& random) {
  const auto geometric = [&](double scale) { return std::floor(-std::log1p(-random.unit()) * scale); };
  constexpr std::size_t kTermsDrawn = 16;  // a sum of more is nearly normal
  if (law.terms().size() > kTermsDrawn) return law.stddev() * normal(random);
  double out = 0.0;
  for (const NoiseTerm& term : law.terms())
    out += term.weight * std::visit(Overloaded{[&](const LaplaceNoise& own) {
                                                 return own.step * (geometric(own.scale) - geometric(own.scale));
                                               },
                                               [&](const GaussianNoise& own) { return own.stddev * normal(random); }},
                                    term.noise);
  return out;
}

/// How many of `count` coins fall, each with that chance. Where many of either side are expected, a rounded normal one
/// stands for it: its distribution function is off by less than .01 then.
double binomial(double count, double chance, RandomSource& random) {
  constexpr double kManyExpected = 40.0;
  if (chance > 0.5) return count - binomial(count, 1.0 - chance, random);
  if (count * chance > kManyExpected) {
    const double drawn = count * chance + std::sqrt(count * chance * (1.0 - chance)) * normal(random);
    return std::clamp(std::round(drawn), 0.0, count);
  }
  if (!(chance > 0.0)) return 0.0;
  // Coins between two that fall are geometric in number.
  double fallen = 0.0;
  double at = 0.0;
  while (true) {
    at += std::floor(std::log1p(-random.unit()) / std::log1p(-chance)) + 1.0;
    if (at > count) return fallen;
    fallen += 1.0;
  }
}

struct Fitted {
  double statistic = 0.0;
  double least = 0.0;        // the smallest expected cell
  Eigen::VectorXd expected;  // [rows x columns], of sum n
};
Fitted fit(Eigen::VectorXd cells, double records, double variance, std::int64_t rows, std::int64_t columns) {
  constexpr double kMarginMin = 0.5;
  cells.array() -= (cells.sum() - records) / static_cast<double>(cells.size());
  const Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> table(cells.data(),
                                                                                                       rows, columns);
  const Eigen::VectorXd of_rows = table.rowwise().sum().cwiseMax(kMarginMin);
  const Eigen::RowVectorXd of_columns = table.colwise().sum().cwiseMax(kMarginMin);
  const Eigen::MatrixXd expected = of_rows * of_columns / records;
  Fitted out;
  out.statistic = ((table - expected).array().square() / (expected.array() + variance)).sum();
  out.least = expected.minCoeff();
  out.expected.resize(rows * columns);
  for (Eigen::Index i = 0; i < rows; ++i)
    for (Eigen::Index j = 0; j < columns; ++j) out.expected[i * columns + j] = expected(i, j);
  return out;
}

/// A multinomial table, cell by cell of the records that are left.
Eigen::VectorXd drawn_table(const Eigen::VectorXd& expected, double records, RandomSource& random) {
  Eigen::VectorXd out(expected.size());
  double left = expected.sum();
  for (Eigen::Index cell = 0; cell < out.size(); ++cell) {
    const double share = cell + 1 == out.size() ? 1.0 : std::min(expected[cell] / left, 1.0);
    out[cell] = binomial(records, share, random);
    records -= out[cell];
    left -= expected[cell];
  }
  return out;
}

}  // namespace

Stated state_ratio(std::span<const NoisedTable> strata, Ratio ratio, Confidence confidence, bool sampling) {
  constexpr double kDeviations = 4.0;
  UNDERTONE_CHECK(!strata.empty());
  Stated out;
  out.noise = accepted(strata, ratio, confidence, false);
  if (sampling) {
    out.population = accepted(strata, ratio, confidence, true);
    out.method = Method::Fieller;
  }
  Eigen::Vector4d cells = Eigen::Vector4d::Zero();
  double variance = 0.0;
  for (const NoisedTable& table : strata) {
    UNDERTONE_CHECK(table.cells.size() == 4 && !table.balanced);
    cells += table.cells;
    variance += table.noise_variance;
  }
  const double root = root_of(strata, ratio);
  if (std::isfinite(root) && cells.minCoeff() > kDeviations * std::sqrt(variance)) {
    out.value = root;
  } else {
    out.note = "no estimate: a cell is within four deviations of its noise; the interval holds all the same";
  }
  return out;
}

Result<TestOutcome> independence_test(std::span<const Stratum> strata, std::int64_t rows, std::int64_t columns,
                                      std::uint64_t seed, int draws) {
  UNDERTONE_CHECK(!strata.empty() && rows >= 2 && columns >= 2 && draws >= 99);
  TestOutcome out;
  out.degrees = strata.size() * static_cast<std::size_t>((rows - 1) * (columns - 1));
  std::vector<Fitted> fitted;
  for (const Stratum& stratum : strata) {
    const NoisedTable& table = stratum.table;
    UNDERTONE_CHECK(table.cells.size() == rows * columns);
    fitted.push_back(fit(table.cells, table.records, table.noise_variance, rows, columns));
    if (fitted.back().least < std::sqrt(table.noise_variance))
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("the smallest expected cell{}, {:.2g}, is below one deviation of the noise: fewer "
                               "values, more records or a larger epsilon would carry a test",
                               strata.size() == 1 ? "" : " of a silo", fitted.back().least)};
    out.statistic += fitted.back().statistic;
  }
  RandomSource random(seed);
  int as_large = 0;
  for (int draw = 0; draw < draws; ++draw) {
    double statistic = 0.0;
    for (std::size_t i = 0; i < strata.size(); ++i) {
      const NoisedTable& table = strata[i].table;
      Eigen::VectorXd cells = drawn_table(fitted[i].expected, table.records, random);
      for (double& cell : cells) cell += noise_of_cell(strata[i].law, random);
      statistic += fit(std::move(cells), table.records, table.noise_variance, rows, columns).statistic;
    }
    as_large += statistic >= out.statistic ? 1 : 0;
  }
  out.p_value = (1.0 + as_large) / (1.0 + draws);
  return out;
}

}  // namespace undertone::statistics
