#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <tuple>

#include "shared/base/random_source.hpp"
#include "shared/planning/plan.hpp"
#include "shared/statistics/quantiles.hpp"
#include "silo/oracles/sum_oracle.hpp"

/// Selections of a feature map's totals: the exact law of what leaves, over data sets and all their neighbours.
namespace undertone::silo {
namespace {

using planning::Release;
using statistics::BinnedCells;
using statistics::CellsMap;
using statistics::LossesMap;
using statistics::ScalarLoss;

releases::SiloFacts facts_of(std::int64_t records, double epsilon) {
  return {SiloId::create("a").value(), records, 0, false, releases::PureDp{releases::Epsilon::create(epsilon).value()}};
}

Release release_of(const releases::FeaturesMap& map, const releases::SelectionForm& form, std::int64_t records,
                   double epsilon) {
  const releases::Ask ask{map, {}, releases::RangeBound{0.0, 1.0}, statistics::dimension(map.features), form};
  return planning::make_plan({{ask, 1}}, facts_of(records, epsilon), std::nullopt)->segments().front().release;
}

std::vector<long double> law_of(const Release& release, const models::Records& records) {
  std::vector<std::int64_t> everybody(static_cast<std::size_t>(records.count()));
  std::iota(everybody.begin(), everybody.end(), std::int64_t{0});
  const auto& selection = std::get<mechanisms::Selection>(release.mechanism);
  const std::vector<std::int64_t> sum = exact_sum(queries::StatisticQuestion{}, release, records, everybody, nullptr);
  return selection.draw.law(candidate_scores(release, selection, sum));
}

/// ln of the largest quotient of two laws' chances of one candidate.
long double apart(const std::vector<long double>& a, const std::vector<long double>& b) {
  long double worst = 0.0L;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(std::log(a[i] / b[i])));
  return worst;
}

models::Records numbers(const std::vector<double>& values) {
  models::Records out{Eigen::MatrixXd(1, static_cast<Eigen::Index>(values.size())),
                      Eigen::VectorXd::Zero(static_cast<Eigen::Index>(values.size()))};
  for (std::size_t i = 0; i < values.size(); ++i) out.features(0, static_cast<Eigen::Index>(i)) = values[i];
  return out;
}

const releases::FeaturesMap kThirds{CellsMap{{BinnedCells{0, {-1.0, -0.3, 0.3, 1.0}}}}};

TEST(StatisticSelectionTest, OfNoTwoNeighboursACellIsLikelierByMoreThanEpsilon) {
  for (const releases::QuantileCell& cell :
       {releases::QuantileCell{1, 2}, releases::QuantileCell{1, 4}, releases::QuantileCell{900'000, 1 << 20}}) {
    SCOPED_TRACE(cell.numerator);
    const Release release = release_of(kThirds, {cell}, 3, 1.0);
    ASSERT_EQ(release.ask.candidate_count(), 3);
    const std::vector<double> places{-0.9, 0.0, 0.9};
    long double worst = 0.0L;
    for (const double a : places)
      for (const double b : places)
        for (const double c : places)
          for (const double other : places)
            worst =
                std::max(worst, apart(law_of(release, numbers({a, b, c})), law_of(release, numbers({a, b, other}))));
    EXPECT_LE(worst, 1.0L + 1e-9L);
    EXPECT_GE(worst, 0.4L);  // the quotient's other half is what the normaliser moves by
  }
}

TEST(StatisticSelectionTest, TheCellIsLikeliestThatHoldsTheRank) {
  // Ten records: four in the first cell, three in each other. The rank of 7 tenths is the end of the second, so that it
  // and the third are 0 away.
  const std::vector<double> values{-0.9, -0.8, -0.7, -0.6, 0.0, 0.0, 0.1, 0.8, 0.9, 1.0};
  const auto best = [&](const releases::QuantileCell& cell) {
    const std::vector<long double> law = law_of(release_of(kThirds, {cell}, 10, 20.0), numbers(values));
    return std::max_element(law.begin(), law.end()) - law.begin();
  };
  EXPECT_EQ(best({3, 10}), 0);
  EXPECT_EQ(best({5, 10}), 1);
  EXPECT_EQ(best({1, 1000}), 0);
  EXPECT_EQ(best({999, 1000}), 2);
  // exp(-epsilon max(0, F_below - p n, p n - F_through) / 2): at 7/10 the first cell is three records off, so that it
  // is e^-30 times as likely.
  const std::vector<long double> law =
      law_of(release_of(kThirds, {releases::QuantileCell{7, 10}}, 10, 20.0), numbers(values));
  EXPECT_NEAR(static_cast<double>(std::log(law[0] / law[1])), -30.0, 1e-6);
  EXPECT_NEAR(static_cast<double>(law[1] / law[2]), 1.0, 1e-12);
}

/// Cells of a tenth each: a rank inside one is far from every edge. The chance that an interval misses the quantile
/// that the records are drawn from, exact over the draws of the mechanism and a mean over samples.
TEST(StatisticSelectionTest, TwoEndsCoverTheQuantileWhereCellsHoldManyRecords) {
  constexpr std::int64_t kRecords = 5000;
  constexpr int kSamples = 60;
  const statistics::Confidence confidence = statistics::Confidence::create(0.95).value();
  for (const int cell_count : {10, 2, 64}) {
    BinnedCells cells{0, {}};
    for (int j = 0; j <= cell_count; ++j) cells.edges.push_back(2.0 * j / cell_count - 1.0);
    const releases::FeaturesMap map{CellsMap{{cells}}};
    for (const double p : {0.53, 0.5, 0.9}) {
      SCOPED_TRACE(testing::Message() << p << " of " << cell_count);
      const statistics::SelectedRanks ranks =
          statistics::selection_ranks(p, kRecords, static_cast<std::size_t>(cell_count), 1.0, confidence).value();
      const auto missed = [&](double rank, bool low, const models::Records& records) {
        constexpr std::int64_t kDenominator = statistics::kProbabilityDenominatorMax;
        const auto numerator = static_cast<std::int64_t>(std::round(rank * static_cast<double>(kDenominator)));
        const std::vector<long double> law =
            law_of(release_of(map, {releases::QuantileCell{numerator, kDenominator}}, kRecords, 0.5), records);
        long double all = 0.0L;
        long double outside = 0.0L;
        for (std::size_t j = 0; j < law.size(); ++j) {
          const double quantile = 2.0 * p - 1.0;
          const bool misses = low ? cells.edges[j] > quantile : cells.edges[j + 1] < quantile;
          if (misses) outside += law[j];
          all += law[j];
        }
        return static_cast<double>(outside / all);
      };
      std::mt19937_64 random(7);
      std::uniform_real_distribution<double> uniform(-1.0, 1.0);
      double misses = 0.0;
      for (int sample = 0; sample < kSamples; ++sample) {
        std::vector<double> values(kRecords);
        for (double& value : values) value = uniform(random);
        const models::Records records = numbers(values);
        misses += (missed(ranks.low, true, records) + missed(ranks.high, false, records)) / kSamples;
      }
      EXPECT_LE(misses, 0.05);
    }
  }
}

TEST(StatisticSelectionTest, OfNoTwoNeighboursAPointIsLikelierByMoreThanEpsilon) {
  for (const ScalarLoss loss : {ScalarLoss::Logistic, ScalarLoss::Squared, ScalarLoss::Hinge, ScalarLoss::Absolute}) {
    SCOPED_TRACE(statistics::to_string(loss));
    // Also around a point, where numbers are differences of losses.
    for (const auto& [centre, ridge, least] :
         {std::tuple(std::vector<double>{}, 0.0, 0.4L), std::tuple(std::vector<double>{0.5, -2.0}, 0.0, 0.2L),
          std::tuple(std::vector<double>{0.0, 0.0}, 0.7, 0.05L)}) {
      const releases::FeaturesMap map{LossesMap{loss, {0}, 1, true, 3.0, 3, centre, ridge}};
      const Release release = release_of(map, {releases::LeastTotal{}}, 2, 1.5);
      ASSERT_EQ(release.ask.candidate_count(), 16);
      const auto pair_of = [](double x, double y, double x2, double y2) {
        models::Records out = numbers({x, x2});
        out.targets << y, y2;
        return out;
      };
      long double worst = 0.0L;
      const std::vector<double> ends{-1.0, 0.0, 1.0, 1e300, std::nan("")};
      for (const double x : ends)
        for (const double y : ends)
          for (const double other : ends)
            for (const double label : ends)
              worst = std::max(worst, apart(law_of(release, pair_of(0.3, 1.0, x, y)),
                                            law_of(release, pair_of(0.3, 1.0, other, label))));
      EXPECT_LE(worst, 1.5L + 1e-9L);
      EXPECT_GE(worst, least);
    }
  }
}

// Spec public-data 4: of a strongly convex loss half of the budget buys a point by output perturbation, and the other
// half a choice in a small ball around it. Where the loss has a kink at its minimum, both together are better than
// either alone at the whole budget. Of a smooth loss the bought point alone is: its error is squared.
TEST(StatisticSelectionTest, WhereLossesHaveAKinkASmallGridAroundABoughtPointIsBetterThanEitherAlone) {
  constexpr std::int64_t kRecords = 400;
  constexpr double kEpsilon = 1.0;
  constexpr double kRidge = 0.5;
  constexpr double kBox = 1.0;
  models::Records records{Eigen::MatrixXd::Ones(1, kRecords), Eigen::VectorXd(kRecords)};
  for (Eigen::Index j = 0; j < kRecords; ++j) records.targets[j] = j < 280 ? 0.2 : j < 340 ? -1.0 : 1.0;
  const auto risk = [&](double w) {
    return (280.0 * std::abs(w - 0.2) + 60.0 * std::abs(w + 1.0) + 60.0 * std::abs(w - 1.0)) / kRecords +
           0.5 * kRidge * w * w;
  };
  constexpr double kBest = 0.2;
  const auto excess_of = [&](double centre, double half_width, double epsilon) {
    const LossesMap map{ScalarLoss::Absolute, {0}, 1, false, half_width, 100, {centre}, kRidge};
    const Release release = release_of({map}, {releases::LeastTotal{}}, kRecords, epsilon);
    const std::vector<long double> law = law_of(release, records);
    double mean = 0.0;
    for (std::size_t place = 0; place < law.size(); ++place)
      mean += static_cast<double>(law[place]) * (risk(statistics::grid_point(map, place)[0]) - risk(kBest));
    return mean;
  };
  // Output perturbation: replacing a record moves the minimiser by at most 2 L / (mu n), L = 1 and mu the ridge.
  const auto scale = [&](double epsilon) { return 2.0 / (kRidge * kRecords) / epsilon; };
  RandomSource random(11);
  double both = 0.0;
  double point = 0.0;
  constexpr int kDraws = 100;
  for (int draw = 0; draw < kDraws; ++draw) {
    const double u = random.unit() - 0.5;
    const double noise = (u < 0.0 ? 1.0 : -1.0) * std::log(1.0 - 2.0 * std::abs(u));  // Laplace's, of scale 1
    const double bought = std::clamp(kBest + noise * scale(0.5 * kEpsilon), -kBox, kBox);
    both += excess_of(bought, 4.0 * scale(0.5 * kEpsilon), 0.5 * kEpsilon) / kDraws;
    point += (risk(std::clamp(kBest + noise * scale(kEpsilon), -kBox, kBox)) - risk(kBest)) / kDraws;
  }
  EXPECT_LT(both, 0.5 * point);
  EXPECT_LT(both, 0.5 * excess_of(0.0, kBox, kEpsilon));
}

/// What a job's parser sees to is refused by the plan, too: a bound, a map or a form that no score is known of.
TEST(StatisticSelectionTest, WhatNoScoreIsKnownOfIsNotPlanned) {
  const auto planned = [](const releases::Ask& ask) {
    return planning::make_plan({{ask, 1}}, facts_of(100, 1.0), std::nullopt).has_value();
  };
  const releases::SelectionForm cell{releases::QuantileCell{1, 2}};
  const releases::SelectionForm least{releases::LeastTotal{}};
  const releases::FeaturesMap losses{LossesMap{ScalarLoss::Logistic, {0}, 1, false, 1.0, 3}};
  EXPECT_TRUE(planned({kThirds, {}, releases::RangeBound{0.0, 1.0}, 3, cell}));
  EXPECT_TRUE(planned({losses, {}, releases::RangeBound{0.0, 1.0}, 4, least}));
  EXPECT_FALSE(planned({losses, {}, releases::RangeBound{0.0, 1.0}, 4, cell}));
  EXPECT_FALSE(planned({kThirds, {}, releases::RangeBound{0.0, 1.0}, 3, least}));
  EXPECT_FALSE(planned({kThirds, {}, releases::RangeBound{0.0, 0.5}, 3, cell}));
  EXPECT_FALSE(planned({kThirds, {}, releases::RangeBound{0.0, 1.0}, 2, cell}));
  EXPECT_FALSE(planned({kThirds, {}, releases::PairBound{}, 3, cell}));
  for (const releases::QuantileCell& wrong : {releases::QuantileCell{0, 2}, releases::QuantileCell{2, 2},
                                              releases::QuantileCell{-1, 2}, releases::QuantileCell{1, 1 << 21}})
    EXPECT_FALSE(planned({kThirds, {}, releases::RangeBound{0.0, 1.0}, 3, releases::SelectionForm{wrong}}));
  releases::Ask drawn{kThirds, {}, releases::RangeBound{0.0, 1.0}, 3, cell};
  drawn.records.draw_fraction = 0.5;
  EXPECT_FALSE(planned(drawn));
}

}  // namespace
}  // namespace undertone::silo
