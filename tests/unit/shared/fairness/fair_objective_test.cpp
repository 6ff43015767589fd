#include "shared/fairness/fair_objective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>

#include "shared/base/random_source.hpp"
#include "shared/fairness/ermi.hpp"

namespace undertone::fairness {
namespace {

/// Returns numbers in [-1, 1].
Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, RandomSource& source) {
  Eigen::MatrixXd out(rows, columns);
  for (Eigen::Index j = 0; j < columns; ++j)
    for (Eigen::Index i = 0; i < rows; ++i) out(i, j) = 2.0 * source.unit() - 1.0;
  return out;
}

/// Four classes and three groups, so that a transposed matrix does not fit.
GroupedRecords random_records(std::size_t count, std::uint64_t seed) {
  RandomSource source(seed);
  GroupedRecords out{random_matrix(5, static_cast<Eigen::Index>(count), source), {}, {}, 4, 3};
  for (std::size_t i = 0; i < count; ++i) {
    // The first twelve have every label in every group.
    out.labels.push_back(static_cast<Eigen::Index>(i < 12 ? i % 4 : source.below(4)));
    out.groups.push_back(static_cast<Eigen::Index>(i < 12 ? i % 3 : source.below(3)));
  }
  return out;
}

FairObjective::Point random_point(const FairObjective& objective, std::uint64_t seed) {
  RandomSource source(seed);
  FairObjective::Point out = objective.origin();
  out.model = random_matrix(out.model.rows(), out.model.cols(), source);
  for (Eigen::MatrixXd& weights : out.weights) weights = random_matrix(weights.rows(), weights.cols(), source);
  return out;
}

FairObjective make(const GroupedRecords& records, Notion notion, double lambda) {
  Result<FairObjective> out = FairObjective::create(records, notion, lambda);
  EXPECT_TRUE(out);
  return *std::move(out);
}

constexpr std::array kNotions = {Notion::DemographicParity, Notion::EqualisedOdds, Notion::EqualOpportunity};

TEST(Ermi, IsZeroOfAProductAndAsByHandOfATwoByTwoTable) {
  Eigen::VectorXd classes(3);
  classes << 0.2, 0.3, 0.5;
  Eigen::RowVectorXd groups(2);
  groups << 0.9, 0.1;
  EXPECT_NEAR(ermi(classes * groups), 0.0, 1e-15);
  // Both marginals are halves, each cell is .1 off a quarter: 4 * .01 / .25.
  Eigen::MatrixXd table(2, 2);
  table << 0.35, 0.15, 0.15, 0.35;
  EXPECT_NEAR(ermi(table), 0.16, 1e-15);
  Eigen::MatrixXd unused(3, 2);
  unused << 0.35, 0.15, 0.15, 0.35, 0.0, 0.0;
  EXPECT_NEAR(ermi(unused), 0.16, 1e-15) << "a class that nobody is given counts nothing";
}

TEST(Ermi, BoundsInformationAndDistances) {
  RandomSource source(3);
  for (int trial = 0; trial < 200; ++trial) {
    Eigen::MatrixXd joint = (random_matrix(4, 3, source).array() + 1.0).matrix();
    joint /= joint.sum();
    const Eigen::MatrixXd product = joint.rowwise().sum() * joint.colwise().sum();
    const double chi = ermi(joint);
    const double information = (joint.array() * (joint.array() / product.array()).log()).sum();
    EXPECT_LE(information, std::log1p(chi) + 1e-12);
    EXPECT_LE((joint - product).cwiseAbs().sum(), std::sqrt(chi) + 1e-12);
  }
}

TEST(Ermi, IsTheLargestValueOfTheMinMaxForm) {
  RandomSource source(5);
  for (int trial = 0; trial < 200; ++trial) {
    Eigen::MatrixXd joint = (random_matrix(4, 3, source).array() + 1.001).matrix();
    joint /= joint.sum();
    const Eigen::VectorXd shares = joint.colwise().sum();
    const Eigen::MatrixXd best = best_weights(joint, shares);
    EXPECT_NEAR(min_max_value(best, joint, shares), ermi(joint), 1e-12);
    EXPECT_LE(best.norm(), weights_radius(4, shares.minCoeff()) * (1 + 1e-12));
    EXPECT_LT(min_max_value(best + 0.1 * random_matrix(3, 4, source), joint, shares), ermi(joint));
  }
}

TEST(Ermi, OfSharesThatSomebodyToldIsLeastWhereThePredictionIsIndependent) {
  Eigen::VectorXd classes(4);
  classes << 0.1, 0.2, 0.3, 0.4;
  Eigen::RowVectorXd groups(3);
  groups << 0.5, 0.3, 0.2;
  Eigen::VectorXd told(3);
  told << 0.4, 0.25, 0.35;
  const Eigen::MatrixXd fair = classes * groups;
  const double least = min_max_value(best_weights(fair, told), fair, told);
  RandomSource source(7);
  for (int trial = 0; trial < 200; ++trial) {
    Eigen::MatrixXd rates = (random_matrix(4, 3, source).array() + 1.001).matrix();
    for (Eigen::Index r = 0; r < 3; ++r) rates.col(r) *= groups[r] / rates.col(r).sum();
    EXPECT_GT(min_max_value(best_weights(rates, told), rates, told), least);
  }
}

TEST(FairObjective, GradientsAreThoseOfTheValue) {
  GroupedRecords records = random_records(60, 11);
  records.groups[4] = records.groups[9] = GroupedRecords::kUnknownGroup;
  for (const Notion notion : kNotions) {
    const FairObjective objective = make(records, notion, 1.7);
    const FairObjective::Point at = random_point(objective, 13);
    const FairObjective::Gradient gradient = objective.gradient(at);
    constexpr double kStep = 1e-5;
    const auto slope = [&](const auto& entry) {
      FairObjective::Point more = at;
      FairObjective::Point less = at;
      entry(more) += kStep;
      entry(less) -= kStep;
      return (objective.value(more) - objective.value(less)) / (2 * kStep);
    };
    for (Eigen::Index i = 0; i < at.model.size(); ++i)
      EXPECT_NEAR(slope([&](FairObjective::Point& p) -> double& { return p.model.data()[i]; }),
                  gradient.model.data()[i], 1e-8);
    for (std::size_t b = 0; b < objective.buckets(); ++b)
      for (Eigen::Index i = 0; i < at.weights[b].size(); ++i)
        EXPECT_NEAR(slope([&](FairObjective::Point& p) -> double& { return p.weights[b].data()[i]; }),
                    1.7 * gradient.weights[b].data()[i], 1e-8);
  }
}

TEST(FairObjective, AtTheBestWeightsItsGradientIsThatOfLossAndErmi) {
  const GroupedRecords records = random_records(80, 17);
  const FairObjective objective = make(records, Notion::DemographicParity, 2.0);
  const FairObjective none = make(records, Notion::DemographicParity, 0.0);
  const auto best_at = [&](const Eigen::MatrixXd& model) {
    return FairObjective::Point{model, {best_weights(objective.joint(model, 0), objective.shares(0))}};
  };
  const Eigen::MatrixXd model = random_point(objective, 19).model;
  const auto regularised = [&](const Eigen::MatrixXd& m) {
    return none.value(best_at(m)) + 2.0 * ermi(objective.joint(m, 0));
  };
  EXPECT_NEAR(objective.value(best_at(model)), regularised(model), 1e-12);
  const Eigen::MatrixXd gradient = objective.gradient(best_at(model)).model;
  for (Eigen::Index i = 0; i < model.size(); ++i) {
    Eigen::MatrixXd more = model;
    Eigen::MatrixXd less = model;
    more.data()[i] += 1e-5;
    less.data()[i] -= 1e-5;
    EXPECT_NEAR((regularised(more) - regularised(less)) / 2e-5, gradient.data()[i], 1e-8);
  }
}

TEST(FairObjective, OddsWeighLabelsAsOftenAsTheyAre) {
  const GroupedRecords records = random_records(200, 23);
  const FairObjective odds = make(records, Notion::EqualisedOdds, 1.0);
  const FairObjective none = make(records, Notion::EqualisedOdds, 0.0);
  FairObjective::Point at = random_point(odds, 29);
  double expected = none.value(at);
  for (std::size_t y = 0; y < odds.buckets(); ++y) {
    const Eigen::MatrixXd joint = odds.joint(at.model, y);
    at.weights[y] = best_weights(joint, odds.shares(y));
    const auto of_label = static_cast<double>(std::count(records.labels.begin(), records.labels.end(), y));
    expected += of_label / 200.0 * ermi(joint);
  }
  EXPECT_NEAR(odds.value(at), expected, 1e-12);
}

TEST(FairObjective, WhereAllHaveTheAdvantagedLabelOpportunityIsParityBitForBit) {
  GroupedRecords records = random_records(90, 31);
  records.labels.assign(90, 1);
  const FairObjective parity = make(records, Notion::DemographicParity, 3.0);
  const FairObjective opportunity = make(records, Notion::EqualOpportunity, 3.0);
  const FairObjective::Point at = random_point(parity, 37);
  EXPECT_EQ(parity.gradient(at).model, opportunity.gradient(at).model);
  EXPECT_EQ(parity.gradient(at).weights[0], opportunity.gradient(at).weights[0]);
}

TEST(FairObjective, RecordsOfOtherLabelsLeaveTheWeightsOfOpportunityAlone) {
  GroupedRecords records = random_records(90, 41);
  const FairObjective::Point at = random_point(make(records, Notion::EqualOpportunity, 1.0), 43);
  const Eigen::MatrixXd before = make(records, Notion::EqualOpportunity, 1.0).gradient(at).weights[0];
  for (std::size_t i = 0; i < 90; ++i)
    if (records.labels[i] != 1) records.features.col(static_cast<Eigen::Index>(i)) *= -0.5;
  EXPECT_EQ(make(records, Notion::EqualOpportunity, 1.0).gradient(at).weights[0], before);
}

TEST(FairObjective, BatchesAreRightOnAverage) {
  const GroupedRecords records = random_records(30, 47);
  for (const Notion notion : kNotions) {
    const FairObjective objective = make(records, notion, 1.0);
    const FairObjective::Point at = random_point(objective, 53);
    Eigen::MatrixXd model = Eigen::MatrixXd::Zero(at.model.rows(), at.model.cols());
    Eigen::MatrixXd weights = Eigen::MatrixXd::Zero(3, 4);
    for (std::size_t i = 0; i < 30; ++i) {
      const std::array<std::size_t, 1> one = {i};
      const FairObjective::Gradient gradient = objective.gradient(at, one);
      model += gradient.model / 30.0;
      weights += gradient.weights[0] / 30.0;
    }
    EXPECT_LT((model - objective.gradient(at).model).norm(), 1e-12);
    EXPECT_LT((weights - objective.gradient(at).weights[0]).norm(), 1e-12);
  }
}

TEST(FairObjective, MissingGroupsAreMadeUpForOnAverage) {
  // Every mask that leaves 5 of 6 records of each of 3 groups in turn: shares stay the same, and the mean over the
  // masks is the gradient of all records.
  GroupedRecords records = random_records(18, 59);
  for (std::size_t i = 0; i < 18; ++i) records.groups[i] = static_cast<Eigen::Index>(i % 3);
  const FairObjective all = make(records, Notion::DemographicParity, 1.0);
  const FairObjective::Point at = random_point(all, 61);
  Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(at.model.rows(), at.model.cols());
  for (std::size_t mask = 0; mask < 6; ++mask) {
    GroupedRecords masked = records;
    for (std::size_t i = 0; i < 3; ++i) masked.groups[3 * mask + i] = GroupedRecords::kUnknownGroup;
    mean += make(masked, Notion::DemographicParity, 1.0).gradient(at).model / 6.0;
  }
  EXPECT_LT((mean - all.gradient(at).model).norm(), 1e-12);
}

TEST(FairObjective, RefusesWhatHasNoShareOrNoMeaning) {
  GroupedRecords records = random_records(30, 67);
  EXPECT_FALSE(FairObjective::create(records, Notion::DemographicParity, -1.0));
  EXPECT_FALSE(FairObjective::create(records, Notion::DemographicParity, std::nan("")));
  EXPECT_FALSE(FairObjective::create(records, Notion::EqualOpportunity, 1.0, 4));
  GroupedRecords empty_group = records;
  empty_group.group_count = 4;
  const Result<FairObjective> refused = FairObjective::create(empty_group, Notion::DemographicParity, 1.0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("merge groups"), std::string::npos);
  GroupedRecords foreign = records;
  foreign.groups[0] = 3;
  EXPECT_FALSE(FairObjective::create(foreign, Notion::DemographicParity, 1.0));
  GroupedRecords infinite = records;
  infinite.features(0, 0) = std::nan("");
  EXPECT_FALSE(FairObjective::create(infinite, Notion::DemographicParity, 1.0));
  GroupedRecords short_one = records;
  short_one.labels.pop_back();
  EXPECT_FALSE(FairObjective::create(short_one, Notion::DemographicParity, 1.0));
}

}  // namespace
}  // namespace undertone::fairness
