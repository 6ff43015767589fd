#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numbers>
#include <vector>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/random_source.hpp"
#include "shared/crypto/test_bits.hpp"
#include "shared/noise/discrete_samplers.hpp"
#include "shared/statistics/comparisons.hpp"
#include "shared/statistics/counts.hpp"
#include "shared/statistics/cut_means.hpp"
#include "shared/statistics/means.hpp"
#include "shared/statistics/quantiles.hpp"
#include "shared/statistics/regression.hpp"
#include "shared/statistics/variances.hpp"
#include "tests/support/repetitions.hpp"

/// How often intervals cover, on the statistics specification's own distributions and sizes: unconditionally, with the
/// noise that leaves a silo. A coverage of `kRuns` runs whose true value is 0.94 has standard deviation 0.0024; below
/// 0.94 - 6 of them a true 0.94 is found with probability 1e-9. What the specification measured is within 0.012 of what
/// is found here, both being estimates.
namespace undertone::statistics {
namespace {

constexpr int kRuns = 10'000;
const Confidence k95 = Confidence::create(0.95).value();

double coverage_min(int runs) { return 0.94 - 6.0 * std::sqrt(0.94 * 0.06 / runs); }

double shift(double epsilon) {
  return accounting::gaussian_shift_for(releases::Epsilon::create(epsilon).value(),
                                        releases::Delta::create(1e-6).value())
      .value();
}

/// What is drawn: data by public randomness, noise by the samplers that silos have.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : data_(seed), noise_(seed, "coverage", {}) {}
  double uniform() { return data_.unit(); }
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  /// Discrete Laplace of scale b steps.
  double laplace(const LaplaceNoise& noise) {
    const auto scale = static_cast<std::uint64_t>(std::llrint(noise.scale * 1024.0));
    return noise.step * static_cast<double>(noise::sample_discrete_laplace({scale, 1024}, noise_));
  }
  double of(const CoordinateNoise& noise) {
    if (const auto* pure = std::get_if<LaplaceNoise>(&noise)) return laplace(*pure);
    const auto& gauss = std::get<GaussianNoise>(noise);
    return gauss.stddev * normal();
  }

 private:
  RandomSource data_;
  crypto::TestBits noise_;
};

struct Found {
  int covered = 0;
  double widths = 0.0;
  int runs = 0;
  void add(Interval interval, double truth) {
    covered += interval.holds(truth) ? 1 : 0;
    widths += interval.half_width();
    ++runs;
  }
  [[nodiscard]] double coverage() const { return static_cast<double>(covered) / runs; }
  [[nodiscard]] double half_width() const { return widths / runs; }
};

// Data in u, in [-1, 1], with its mean and variance.
struct Law {
  std::function<double(Draws&)> draw;
  double mean = 0.0;
  double variance = 0.0;
};
Law law_of(std::function<double(Draws&)> draw, double mean, double square) {
  return {std::move(draw), mean, square - mean * mean};
}
double below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

/// N(0, 1/4 of a half-range); lognormal(0, 1) cut at 20; +-1 with P[1] = 0.01; 0, 1, 5, 10; N(0, 1) on [-4, 1].
Law normal_law() {
  return law_of([](Draws& d) { return std::clamp(0.25 * d.normal(), -1.0, 1.0); }, 0.0, 0.0625);
}
Law lognormal_law() {
  // X = min(e^N, 20): E X = e^(1/2) Phi(a - 1) + 20 Phi(-a), E X^2 = e^2 Phi(a - 2) + 400 Phi(-a), a = ln 20.
  const double a = std::log(20.0);
  const double first = std::exp(0.5) * below(a - 1.0) + 20.0 * below(-a);
  const double second = std::exp(2.0) * below(a - 2.0) + 400.0 * below(-a);
  return law_of([](Draws& d) { return std::min(std::exp(d.normal()), 20.0) / 10.0 - 1.0; }, first / 10.0 - 1.0,
                second / 100.0 - 2.0 * first / 10.0 + 1.0);
}
Law rare_law() {
  return law_of([](Draws& d) { return d.uniform() < 0.01 ? 1.0 : -1.0; }, -0.98, 1.0);
}
Law tied_law() {
  return law_of(
      [](Draws& d) {
        const double u = d.uniform();
        return (u < 0.8 ? 0.0 : u < 0.92 ? 1.0 : u < 0.98 ? 5.0 : 10.0) / 5.0 - 1.0;
      },
      0.62 / 5.0 - 1.0, (0.12 + 1.5 + 2.0) / 25.0 - 2.0 * 0.62 / 5.0 + 1.0);
}
Law cut_law() {
  // E = -4 Phi(-4) + Phi(-1) + phi(-4) - phi(1); E X^2 = 16 Phi(-4) + Phi(-1) + [Phi(x) - x phi(x)] from -4 to 1.
  const auto density = [](double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi); };
  const double first = -4.0 * below(-4.0) + below(-1.0) + density(4.0) - density(1.0);
  const double second = 16.0 * below(-4.0) + below(-1.0) + below(1.0) - below(-4.0) - density(1.0) - 4.0 * density(4.0);
  return law_of([](Draws& d) { return (std::clamp(d.normal(), -4.0, 1.0) + 1.5) / 2.5; }, (first + 1.5) / 2.5,
                (second + 3.0 * first + 2.25) / 6.25);
}

struct MeanRow {
  const char* name;
  Law law;
  std::int64_t records;
  double epsilon;
  bool pure;
  double coverage;    // AUTO's, as the specification has it
  double half_width;  // its mean
};

/// The noise on a mean of u and on one of u^2, from one release of (u, k u^2).
std::array<CoordinateNoise, 2> moment_noise(double epsilon, bool pure, std::int64_t records) {
  const auto n = static_cast<double>(records);
  if (!pure) {
    const double stddev = 2.0 / shift(epsilon) / n;
    return {GaussianNoise{stddev, 0.0}, GaussianNoise{stddev / std::numbers::sqrt2, 0.0}};
  }
  const double step = 0x1p-10 / n;
  return {LaplaceNoise{2.0 / epsilon * 1024.0, step}, LaplaceNoise{4.0 / epsilon * 1024.0, step}};
}

std::array<double, 2> drawn_moments(const Law& law, std::int64_t records, Draws& draws) {
  double first = 0.0;
  double second = 0.0;
  for (std::int64_t i = 0; i < records; ++i) {
    const double u = law.draw(draws);
    first += u;
    second += u * u;
  }
  return {first / static_cast<double>(records), second / static_cast<double>(records)};
}

NoiseLaw one(const CoordinateNoise& noise) { return NoiseLaw::create({{noise, 1.0}}).value(); }

TEST(StatisticsCoverageTest, MeansCover) {
  const std::vector<MeanRow> rows{{"normal 30", normal_law(), 30, 1.0, false, 0.967, 0.599},
                                  {"normal 200", normal_law(), 200, 4.0, true, 1.0, 0.139},
                                  {"normal 2000", normal_law(), 2000, 1.0, true, 0.961, 0.012},
                                  {"lognormal 30", lognormal_law(), 30, 4.0, true, 1.0, 0.202},
                                  {"lognormal 200", lognormal_law(), 200, 4.0, true, 1.0, 0.076},
                                  {"lognormal 2000", lognormal_law(), 2000, 0.2, false, 0.956, 0.039},
                                  {"rare 30", rare_law(), 30, 4.0, true, 0.943, 0.085},
                                  {"rare 200", rare_law(), 200, 4.0, true, 0.955, 0.028},
                                  {"rare 2000", rare_law(), 2000, 4.0, true, 0.947, 0.009},
                                  {"tied 30", tied_law(), 30, 4.0, true, 0.985, 0.179},
                                  {"tied 200", tied_law(), 200, 4.0, false, 0.994, 0.072},
                                  {"cut 30", cut_law(), 30, 1.0, true, 0.985, 0.310},
                                  {"cut 2000", cut_law(), 2000, 1.0, false, 0.959, 0.018}};
  std::uint64_t seed = 1;
  for (const MeanRow& row : rows) {
    Draws draws(seed++);
    const auto noise = moment_noise(row.epsilon, row.pure, row.records);
    Found found;
    Found naive;  // the plug-in without its gate
    for (int run = 0; run < kRuns; ++run) {
      const auto moments = drawn_moments(row.law, row.records, draws);
      const double mean = moments[0] + draws.of(noise[0]);
      const double square = moments[1] + draws.of(noise[1]);
      const SiloMoments silo{row.records, 1.0, {mean, one(noise[0])}, NoisedMean{square, one(noise[1])}};
      found.add(*state_mean({silo}, k95, Sampling::Automatic)->population, row.law.mean);
      const double variance = std::max(0.0, mean_variance({silo}).sample_variance) / static_cast<double>(row.records);
      const double half = silo.mean.noise.half_width_with_normal(variance, 0.05);
      const double held = std::clamp(mean, -1.0, 1.0);
      naive.add({held - half, held + half}, row.law.mean);
    }
    std::printf("%-15s coverage %.3f (%.3f)  half-width %.4f (%.3f)  naive %.3f\n", row.name, found.coverage(),
                row.coverage, found.half_width(), row.half_width, naive.coverage());
    EXPECT_GE(found.coverage(), coverage_min(kRuns)) << row.name;
    // Of few records widths are not the specification's, some above and some below it: that they cover is what holds.
    if (row.records >= 2000) {
      EXPECT_NEAR(found.coverage(), row.coverage, 0.012) << row.name;
      EXPECT_NEAR(found.half_width(), row.half_width, 0.0006 + 0.02 * row.half_width) << row.name;
    }
    if (std::string_view(row.name) == "rare 200") {
      EXPECT_LE(naive.coverage(), 0.90);
    }  // the test sees a bad method
  }
}

TEST(StatisticsCoverageTest, CountsCoverWithDiscreteNoise) {
  // The specification's are within 0.945 .. 0.990.
  const int runs = tests::repetitions(1'500, kRuns);
  std::uint64_t seed = 100;
  for (const std::int64_t n : {std::int64_t{30}, std::int64_t{200}, std::int64_t{2000}}) {
    for (const double epsilon : {0.2, 1.0, 4.0}) {
      for (const bool pure : {true, false}) {
        const CoordinateNoise noise = pure ? CoordinateNoise{LaplaceNoise{1.0 / epsilon, 1.0}}
                                           : CoordinateNoise{GaussianNoise{1.0 / shift(epsilon), 1.0 / 64.0}};
        const NoiseLaw law = one(noise);
        std::map<std::int64_t, Interval> known;  // by the release, in 1/64
        for (const double p : {0.01, 0.1, 0.5}) {
          Draws draws(seed++);
          Found found;
          Found sample;
          for (int run = 0; run < runs; ++run) {
            std::int64_t count = 0;
            for (std::int64_t i = 0; i < n; ++i) count += draws.uniform() < p ? 1 : 0;
            const double noised = std::nearbyint((static_cast<double>(count) + draws.of(noise)) * 64.0);
            const auto [at, is_new] = known.try_emplace(static_cast<std::int64_t>(noised));
            if (is_new) at->second = exact_share(noised / 64.0, n, law, 0.05);
            found.add(at->second, p);
            sample.add(state_count(noised / 64.0, n, law, k95, false)->noise, static_cast<double>(count));
          }
          SCOPED_TRACE(testing::Message() << "p " << p << " n " << n << " epsilon " << epsilon << " pure " << pure);
          EXPECT_GE(found.coverage(), coverage_min(runs));
          if (n > 30) {  // of 30 records a loud noise leaves the whole range
            EXPECT_LE(found.coverage(), 0.995);
          }
          EXPECT_GE(sample.coverage(), coverage_min(runs));
        }
      }
    }
  }
}

struct VarianceRow {
  const char* name;
  Law law;
  std::int64_t records;
  double coverage;
  double half_width;
};

/// A person of the law below: how many records she has goes with what they say.
struct PersonDrawn {
  double level = 0.0;
  int records = 1;
};
PersonDrawn person_of(Draws& draws) {
  PersonDrawn out{draws.normal(), 1};
  out.records += std::min(60, static_cast<int>(std::exp(0.5 * out.level + 0.8 * draws.normal() + 0.7)));
  return out;
}

/// Spec person-unit, PU12: shares of persons' records, of persons of one record and of sixty. What is covered is the
/// mean over the law's persons of each one's chance.
TEST(StatisticsCoverageTest, SharesOfPersonsRecordsCover) {
  constexpr int kPersonRuns = 3000;
  for (const double offset : {0.0, 3.0}) {
    const auto chance = [&](double level) { return 1.0 / (1.0 + std::exp(offset - level)); };
    double truth = 0.0;  // of the law: by a sum over a fine grid
    for (double z = -9.0; z < 9.0; z += 1e-3)
      truth += 1e-3 * chance(z) * std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    for (const std::int64_t persons : {40, 300}) {
      for (const bool laplace : {false, true}) {
        const CoordinateNoise noise = laplace ? CoordinateNoise(LaplaceNoise{1024.0 * 1024.0, 0x1p-20})
                                              : CoordinateNoise(GaussianNoise{1.0 / shift(1.0), 0x1p-20});
        const NoiseLaw law = NoiseLaw::create({{noise, 2.0 / static_cast<double>(persons)}}).value();
        Draws draws(static_cast<std::uint64_t>(persons) + (laplace ? 7 : 0));
        Found found;
        for (int run = 0; run < kPersonRuns; ++run) {
          double total = draws.of(noise);
          for (std::int64_t i = 0; i < persons; ++i) {
            const PersonDrawn person = person_of(draws);
            int hits = 0;
            for (int record = 0; record < person.records; ++record)
              hits += draws.uniform() < chance(person.level) ? 1 : 0;
            total += static_cast<double>(hits) / person.records;
          }
          const double mean = 2.0 * total / static_cast<double>(persons) - 1.0;
          const Stated stated = state_mean({{persons, 1.0, {mean, law}}}, k95, Sampling::Automatic).value();
          EXPECT_EQ(stated.method, Method::Score);
          found.add(*stated.population, 2.0 * truth - 1.0);
        }
        EXPECT_GE(found.coverage(), coverage_min(kPersonRuns)) << persons << " persons at " << truth;
      }
    }
  }
}

/// The mean over the records of persons of whom 8 count at most: whoever has more of them says more. What is covered is
/// the ratio of the law's two means.
TEST(StatisticsCoverageTest, MeansOfPersonsRecordsCover) {
  constexpr int kPersonRuns = 3000;
  static constexpr int kMost = 8;
  const auto add = [](Draws& draws, double& records, double& numbers) {
    const PersonDrawn person = person_of(draws);
    const int counted = std::min(kMost, person.records);
    for (int record = 0; record < counted; ++record)
      numbers += std::clamp(0.4 * person.level + 0.3 * draws.normal(), -1.0, 1.0) / kMost;
    records += static_cast<double>(counted) / kMost;
  };
  Draws many(99);
  double records = 0.0;
  double numbers = 0.0;
  for (int i = 0; i < 4'000'000; ++i) add(many, records, numbers);
  const double truth = numbers / records;
  for (const std::int64_t persons : {60, 400}) {
    for (const bool laplace : {false, true}) {
      const CoordinateNoise noise = laplace ? CoordinateNoise(LaplaceNoise{1024.0 * 1024.0, 0x1p-20})
                                            : CoordinateNoise(GaussianNoise{1.0 / shift(1.0), 0x1p-20});
      const NoiseLaw law = NoiseLaw::create({{noise, 1.0}}).value();
      Draws draws(static_cast<std::uint64_t>(persons) + (laplace ? 7 : 0));
      Found found;
      for (int run = 0; run < kPersonRuns; ++run) {
        double count = draws.of(noise);
        double sum = draws.of(noise);
        for (std::int64_t i = 0; i < persons; ++i) add(draws, count, sum);
        const Stated stated = state_group_mean({count, sum, std::nullopt, law, law, 0.0}, k95, true).value();
        found.add(*stated.population, truth);
      }
      EXPECT_GE(found.coverage(), coverage_min(kPersonRuns)) << persons << " persons at " << truth;
    }
  }
}

/// Means of a law with heavy tails, whose second moment is known, of numbers cut for the least interval: Student's t
/// with three degrees of freedom. What is covered is its mean, at 0.3 from the point that the moment is about.
TEST(StatisticsCoverageTest, MeansByAMomentCover) {
  constexpr int kMeanRuns = 3000;
  constexpr double kShift = 0.3;
  const MomentBound moment{2.0, std::sqrt(3.0 + kShift * kShift)};
  for (const std::int64_t n : {50, 1000}) {
    const double stddev = 2.0 / shift(1.0);
    const double noise = k95.z() * stddev / static_cast<double>(n);
    const double threshold = best_threshold(moment, noise);
    const double bias = cut_bias(moment, threshold);
    const NoiseLaw law = NoiseLaw::create({{GaussianNoise{stddev, 0.0}, 1.0 / static_cast<double>(n)}}).value();
    Draws draws(static_cast<std::uint64_t>(n));
    Found found;
    for (int run = 0; run < kMeanRuns; ++run) {
      double sum = stddev * draws.normal();
      for (std::int64_t i = 0; i < n; ++i) {
        const double normal = draws.normal();
        const double a = draws.normal();
        const double b = draws.normal();
        const double c = draws.normal();
        sum += std::clamp((kShift + normal / std::sqrt((a * a + b * b + c * c) / 3.0)) / threshold, -1.0, 1.0);
      }
      const Stated stated =
          state_mean({{n, 1.0, {sum / static_cast<double>(n), law}}}, k95, Sampling::Automatic).value();
      const Interval own = in_units(stated, 0.0, threshold).population.value();
      found.add({own.low - bias, own.high + bias}, kShift);
    }
    EXPECT_GE(found.coverage(), coverage_min(kMeanRuns)) << n << " records";
  }
}

/// Quantiles of the law of a random record of a random person, through cells that persons are in with shares.
TEST(StatisticsCoverageTest, QuantilesOfPersonsRecordsCover) {
  constexpr int kPersonRuns = 3000;
  constexpr std::int64_t kPersons = 200;
  constexpr double kSpread = 0.7;  // of a person's records about her level
  std::vector<double> edges;       // fine: an edge is where a quantile can be
  for (int i = 0; i <= 64; ++i) edges.push_back(-4.0 + i / 8.0);
  Draws draws(5);
  for (const double p : {0.5, 0.9}) {
    double truth = 0.0;
    for (double low = -9.0, high = 9.0; high - low > 1e-9;) {
      truth = 0.5 * (low + high);
      (below(truth / std::hypot(1.0, kSpread)) < p ? low : high) = truth;
    }
    const double stddev = std::numbers::sqrt2 / shift(1.0);
    int covered = 0;
    for (int run = 0; run < kPersonRuns; ++run) {
      Eigen::VectorXd cells = Eigen::VectorXd::Zero(64);
      for (std::int64_t i = 0; i < kPersons; ++i) {
        const PersonDrawn person = person_of(draws);
        for (int record = 0; record < person.records; ++record) {
          const double value = std::clamp(person.level + kSpread * draws.normal(), -3.99, 3.99);
          cells[static_cast<Eigen::Index>((value + 4.0) * 8.0)] += 1.0 / person.records;
        }
      }
      for (double& cell : cells) cell += stddev * draws.normal();
      const PrefixCounts prefixes = prefixes_of_cells(cells, kPersons, stddev * stddev).value();
      const StatedQuantile stated = state_quantile(prefixes, kPersons, p, k95, true, Counted::Shares).value();
      covered += edges[stated.population->low] <= truth && truth <= edges[stated.population->high] ? 1 : 0;
      EXPECT_LE(stated.population->low, stated.noise.low);
    }
    EXPECT_GE(static_cast<double>(covered) / kPersonRuns, coverage_min(kPersonRuns)) << p;
  }
}

TEST(StatisticsCoverageTest, VariancesCover) {
  const std::vector<VarianceRow> rows{{"normal 2000", normal_law(), 2000, 0.999, 0.0124},
                                      {"lognormal 200", lognormal_law(), 200, 0.958, 0.160},
                                      {"lognormal 2000", lognormal_law(), 2000, 0.988, 0.0222},
                                      {"tied 2000", tied_law(), 2000, 0.982, 0.0333},
                                      {"rare 200", rare_law(), 200, 0.949, 0.180},
                                      {"rare 2000", rare_law(), 2000, 0.948, 0.0244},
                                      {"box: normal 30", normal_law(), 30, 0.999, 0.0}};
  std::uint64_t seed = 200;
  for (const VarianceRow& row : rows) {
    Draws draws(seed++);
    const auto noise = moment_noise(1.0, false, row.records);
    Found found;
    const int runs = kRuns / 2;
    for (int run = 0; run < runs; ++run) {
      const auto moments = drawn_moments(row.law, row.records, draws);
      const SiloMoments silo{row.records,
                             1.0,
                             {moments[0] + draws.of(noise[0]), one(noise[0])},
                             NoisedMean{moments[1] + draws.of(noise[1]), one(noise[1])}};
      found.add(*state_variance({silo}, k95, true)->population, row.law.variance);
    }
    std::printf("%-15s coverage %.3f (%.3f)  half-width %.4f (%.4f)\n", row.name, found.coverage(), row.coverage,
                found.half_width(), row.half_width);
    EXPECT_GE(found.coverage(), coverage_min(runs)) << row.name;
    if (row.records >= 2000 && row.half_width > 0.0) {
      EXPECT_NEAR(found.coverage(), row.coverage, 0.012) << row.name;
      EXPECT_NEAR(found.half_width(), row.half_width, 0.03 * row.half_width) << row.name;
    }
  }
}

TEST(StatisticsCoverageTest, QuantilesCoverThroughFlatCellsAndTrees) {
  // 64 cells of [-1, 1], the median and two tails, atoms on edges among the laws.
  constexpr std::int64_t kCells = 64;
  const auto cell = [](double u) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil((u + 1.0) * kCells / 2.0)) - 1, 0, kCells - 1);
  };
  const double tree_stddev = std::sqrt(12.0) / shift(1.0);
  std::uint64_t seed = 300;
  for (const auto& [name, law] :
       std::vector<std::pair<const char*, Law>>{{"normal", normal_law()}, {"tied", tied_law()}}) {
    Draws draws(seed++);
    // The quantile's cell by the law's own distribution, of a million draws: its edge is where it passes p.
    std::vector<double> passed(kCells, 0.0);
    for (int i = 0; i < 1'000'000; ++i) passed[static_cast<std::size_t>(cell(law.draw(draws)))] += 1e-6;
    for (std::size_t j = 1; j < kCells; ++j) passed[j] += passed[j - 1];
    const int runs = 1000;
    for (const double p : {0.1, 0.5, 0.9}) {
      std::size_t truth = 0;
      while (passed[truth] < p) ++truth;  // in cell `truth`: between edges truth and truth + 1
      int flat = 0;
      int tree = 0;
      for (int run = 0; run < runs; ++run) {
        Eigen::VectorXd counts = Eigen::VectorXd::Zero(kCells);
        for (int i = 0; i < 500; ++i) counts[cell(law.draw(draws))] += 1.0;
        TreeCounts nodes{Eigen::VectorXd(2 * kCells - 2), tree_stddev * tree_stddev};
        for (Eigen::Index width = 2; width <= kCells; width *= 2)
          for (Eigen::Index i = 0; i < width; ++i)
            nodes.nodes[width - 2 + i] =
                counts.segment(i * (kCells / width), kCells / width).sum() + tree_stddev * draws.normal();
        const LaplaceNoise noise{2.0, 1.0};
        for (double& count : counts) count += draws.laplace(noise);
        const auto covers = [&](const PrefixCounts& prefixes) {
          const EdgeInterval edges = *state_quantile(prefixes, 500, p, k95, true)->population;
          return edges.low <= truth && truth + 1 <= edges.high;
        };
        flat += covers(prefixes_of_cells(counts, 500, one(noise).variance()).value()) ? 1 : 0;
        tree += covers(prefixes_of_tree(nodes, 500).value()) ? 1 : 0;
      }
      std::printf("quantile %.1f of %s: flat %.3f tree %.3f\n", p, name, static_cast<double>(flat) / runs,
                  static_cast<double>(tree) / runs);
      EXPECT_GE(static_cast<double>(flat) / runs, coverage_min(runs)) << name << " " << p;
      EXPECT_GE(static_cast<double>(tree) / runs, coverage_min(runs)) << name << " " << p;
    }
  }
}

TEST(StatisticsCoverageTest, MeansOfGroupsOfUnknownSizeCover) {
  std::uint64_t seed = 400;
  for (const bool pure : {true, false}) {
    for (const bool squares : {true, false}) {
      Draws draws(seed++);
      const Law law = tied_law();
      // (1, u) has l1 4 and l2 2; with u^2 / sqrt 2, Gaussian noise alone: sqrt 5. epsilon is 1.
      if (pure && squares) continue;
      const double stddev = (squares ? std::sqrt(5.0) : 2.0) / shift(1.0);
      const CoordinateNoise noise =
          pure ? CoordinateNoise{LaplaceNoise{4.0 * 1024.0, 0x1p-10}} : CoordinateNoise{GaussianNoise{stddev, 0.0}};
      Found found;
      for (int run = 0; run < kRuns; ++run) {
        double count = 0.0;
        double sum = 0.0;
        double square = 0.0;
        for (int i = 0; i < 1000; ++i) {
          if (draws.uniform() >= 0.2) continue;
          const double u = law.draw(draws);
          count += 1.0;
          sum += u;
          square += u * u;
        }
        GroupTotals group{count + draws.of(noise), sum + draws.of(noise), std::nullopt, one(noise), one(noise), 0.0};
        if (squares) {
          group.square = square + std::numbers::sqrt2 * draws.of(noise);
          group.square_noise_variance = 2.0 * stddev * stddev;
        }
        found.add(*state_group_mean(group, k95, true)->population, law.mean);
      }
      std::printf("group mean pure %d squares %d: coverage %.3f half-width %.3f\n", pure, squares, found.coverage(),
                  found.half_width());
      EXPECT_GE(found.coverage(), coverage_min(kRuns));
    }
  }
}

/// y = 0.1 + 0.3 x_1 - 0.2 x_2 + N(0, 0.15^2), x_j = N(0, 0.3^2), cut to [-1, 1]; noise of `sigma` on the release.
VectorMoments noised_regression(Draws& draws, std::int64_t records, double sigma, bool fresh_noise_only) {
  static thread_local Eigen::VectorXd totals;
  const double radius = std::sqrt(3.0);
  if (!fresh_noise_only || totals.size() == 0) {
    totals = Eigen::VectorXd::Zero(9);
    for (std::int64_t i = 0; i < records; ++i) {
      Eigen::Vector3d x(0.3 * draws.normal(), 0.3 * draws.normal(), 0.0);
      x[2] = 0.1 + 0.3 * x[0] - 0.2 * x[1] + 0.15 * draws.normal();
      x = x.cwiseMax(-1.0).cwiseMin(1.0) / radius;
      totals.head(3) += x;
      Eigen::Index place = 3;
      for (Eigen::Index j = 0; j < 3; ++j)
        for (Eigen::Index k = j; k < 3; ++k) totals[place++] += x[j] * x[k] / (j == k ? std::numbers::sqrt2 : 1.0);
    }
  }
  Eigen::VectorXd noised = totals;
  for (double& total : noised) total += sigma * draws.normal();
  return unpack_moments(noised, records, sigma).value();
}

TEST(StatisticsCoverageTest, RegressionCoefficientsCover) {
  const double truth[] = {0.1, 0.3, -0.2};
  const std::int64_t n = 2000;
  for (const double epsilon : {1.0, 4.0}) {
    Draws draws(500 + static_cast<std::uint64_t>(epsilon));
    std::array<Found, 3> found;
    const int runs = 2000;
    for (int run = 0; run < runs; ++run) {
      const auto moments =
          regression_moments(noised_regression(draws, n, 2.0 / shift(epsilon), false), {0, 1}, 2).value();
      const auto stated = state_coefficients(regress(moments), 3, k95);
      for (std::size_t j = 0; j < 3; ++j)
        found[j].add(stated[j].value ? *stated[j].population : Interval{-1.0, 1.0}, truth[j]);
    }
    for (std::size_t j = 0; j < 3; ++j) {
      std::printf("regression epsilon %.0f coefficient %zu: coverage %.3f half-width %.3f\n", epsilon, j,
                  found[j].coverage(), found[j].half_width());
      EXPECT_GE(found[j].coverage(), coverage_min(runs)) << epsilon << " " << j;
    }
  }
}

TEST(StatisticsCoverageTest, TheNoiseCovarianceOfARegressionIsRight) {
  // 20,000 draws: a standard deviation is known to 0.5 %, six of which are 3 %; second order in the noise is below 2 %.
  Draws draws(600);
  const std::int64_t n = 20'000;
  const double sigma = 2.0 / shift(4.0);
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(3, 3);
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(3);
  Eigen::MatrixXd claimed = Eigen::MatrixXd::Zero(3, 3);
  const int runs = 20'000;
  static_cast<void>(noised_regression(draws, n, sigma, false));
  for (int run = 0; run < runs; ++run) {
    const Regression regression =
        regress(regression_moments(noised_regression(draws, n, sigma, true), {0, 1}, 2).value());
    ASSERT_NE(regression.carries, Carries::Nothing);
    mean += regression.coefficients / runs;
    sum += regression.coefficients * regression.coefficients.transpose() / runs;
    claimed += regression.noise_covariance / runs;
  }
  const Eigen::MatrixXd found = sum - mean * mean.transpose();
  for (Eigen::Index j = 0; j < 3; ++j) EXPECT_NEAR(std::sqrt(found(j, j) / claimed(j, j)), 1.0, 0.05) << j;
}

TEST(StatisticsCoverageTest, AVarianceIsUnbiased) {
  // n = 30, epsilon 4: without the noise's own variance added back it would be 0.0063 low; 100,000 draws know it to
  // 2.2e-4 * 6.
  Draws draws(700);
  const auto noise = moment_noise(4.0, false, 30);
  const Law law = normal_law();
  double sum = 0.0;
  double squares = 0.0;
  const int runs = 100'000;
  for (int run = 0; run < runs; ++run) {
    const auto moments = drawn_moments(law, 30, draws);
    const SiloMoments silo{30,
                           1.0,
                           {moments[0] + draws.of(noise[0]), one(noise[0])},
                           NoisedMean{moments[1] + draws.of(noise[1]), one(noise[1])}};
    const double variance = mean_variance({silo}).sample_variance;
    sum += variance;
    squares += variance * variance;
  }
  const double mean = sum / runs;
  const double error = std::sqrt((squares / runs - mean * mean) / runs);
  EXPECT_LE(error, 3e-4);
  EXPECT_NEAR(mean, law.variance, 6.0 * error);
}

}  // namespace
}  // namespace undertone::statistics
