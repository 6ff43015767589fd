#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "shared/base/random_source.hpp"
#include "shared/fairness/fair_objective.hpp"
#include "shared/planning/plan.hpp"
#include "silo/oracles/record_sums.hpp"

/// What silos answer to fair learning: how far one record moves it, whatever is asked, and that it is the gradient.
namespace undertone::silo {
namespace {

using fairness::FairBlocks;
using fairness::FairTerms;
using fairness::Grouping;
using fairness::Notion;

constexpr Notion kNotions[] = {Notion::DemographicParity, Notion::EqualisedOdds, Notion::EqualOpportunity};

std::vector<std::int64_t> all_positions(const models::Records& records) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(records.count()));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

/// A number that no schema would encode, or one that it would.
double any_fair_number(RandomSource& random) {
  constexpr std::array kSpecial = {
      std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL, 1e308, -1e308, 5e-324, 0.0, -0.0, 1.0, -1.0, 1e9};
  if (random.chance(0.1)) return kSpecial[static_cast<std::size_t>(random.below(kSpecial.size()))];
  return 6.0 * random.unit() - 3.0;
}

/// A record of any group, or of a group that is not known, or of one that there is none of.
void put_record(models::Records& records, Eigen::Index j, Eigen::Index groups, RandomSource& random) {
  for (double& number : records.features.col(j)) number = any_fair_number(random);
  records.targets[j] = random.chance(0.05) ? any_fair_number(random) : random.chance(0.5) ? 1.0 : -1.0;
  records.groups[static_cast<std::size_t>(j)] =
      static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(groups + 2))) - 1;
}

models::Records any_fair_records(Eigen::Index features, Eigen::Index count, Eigen::Index groups, RandomSource& random) {
  models::Records out{Eigen::MatrixXd(features, count), Eigen::VectorXd(count)};
  out.groups.resize(static_cast<std::size_t>(count));
  for (Eigen::Index j = 0; j < count; ++j) put_record(out, j, groups, random);
  return out;
}

/// What a coordinator may ask: W within its ball or far beyond, shares of nobody and of everybody, no numbers at all.
Eigen::VectorXd any_question(Eigen::Index d, const Grouping& grouping, RandomSource& random) {
  Eigen::VectorXd out(d + grouping.weights() + grouping.cells());
  const double size = std::pow(10.0, 8.0 * random.unit() - 2.0);
  for (double& number : out) number = size * (2.0 * random.unit() - 1.0);
  for (double& share : out.tail(grouping.cells())) share = random.chance(0.2) ? 0.0 : random.unit();
  if (random.chance(0.2))
    for (double& number : out)
      if (random.chance(0.2)) number = any_fair_number(random);
  return out;
}

FairTerms any_terms(const Grouping& grouping, RandomSource& random) {
  FairTerms terms;
  terms.grouping = grouping;
  terms.lambda = std::pow(10.0, 4.0 * random.unit() - 2.0);
  terms.clip = std::pow(10.0, 2.0 * random.unit() - 1.0);
  terms.model_share = 0.05 + 0.9 * random.unit();
  terms.share_floor = random.unit() / static_cast<double>(grouping.groups);
  return terms;
}

double distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  double squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(static_cast<double>(a[i] - b[i]), 2);
  return std::sqrt(squares);
}

/// The two lattices of a plan: of a shift that is loud, and of one that leaves few units.
const std::array kLattices = {mechanisms::Lattice{1 << 20, 0x1p-20}, mechanisms::Lattice{50, 0.02}};

TEST(FairOracleTest, NoRecordMovesAFairGradientByMoreThanTwiceTheClipWhateverIsAsked) {
  RandomSource random(43);
  double closest = 0.0;
  for (int i = 0; i < 40'000; ++i) {
    const Grouping grouping{kNotions[random.below(3)], 2 + static_cast<Eigen::Index>(random.below(4)), 2,
                            static_cast<Eigen::Index>(random.below(2))};
    const FairTerms terms = any_terms(grouping, random);
    const models::LinearModel model(models::Loss::Logistic, 3, random.chance(0.5));
    const auto sums = make_record_sums(model);
    const mechanisms::Lattice& lattice = kLattices[random.below(kLattices.size())];
    models::Records records = any_fair_records(3, 2, grouping.groups, random);
    const Eigen::VectorXd question = any_question(model.dimension(), grouping, random);
    const auto size = static_cast<std::size_t>(model.dimension() + grouping.weights());
    std::vector<std::int64_t> before(size);
    std::vector<std::int64_t> after(size);
    const std::vector<std::int64_t> all = all_positions(records);
    sums->fair_gradients(question, terms, lattice, {records, all}, before);
    put_record(records, 0, grouping.groups, random);
    sums->fair_gradients(question, terms, lattice, {records, all}, after);
    const double moved = distance(before, after) / (2.0 * static_cast<double>(lattice.clip));
    ASSERT_LE(moved, 1.0) << i;
    closest = std::max(closest, moved);
  }
  EXPECT_GT(closest, 0.9);  // records of opposite signs come near it, so that the bound is not idle
}

TEST(FairOracleTest, OfTheAttributeAloneNoGroupMovesAFairGradientByMoreThanTwiceTheClip) {
  RandomSource random(47);
  double closest = 0.0;
  for (int i = 0; i < 40'000; ++i) {
    const Grouping grouping{kNotions[random.below(3)], 2 + static_cast<Eigen::Index>(random.below(4)), 2,
                            static_cast<Eigen::Index>(random.below(2))};
    FairTerms terms = any_terms(grouping, random);
    terms.attribute_alone = true;
    terms.record_norm = std::pow(10.0, 2.0 * random.unit() - 1.0);  // also less than records are long
    const models::LinearModel model(models::Loss::Logistic, 3, random.chance(0.5));
    const auto sums = make_record_sums(model);
    const mechanisms::Lattice& lattice = kLattices[random.below(kLattices.size())];
    models::Records records = any_fair_records(3, 2, grouping.groups, random);
    const Eigen::VectorXd question = any_question(model.dimension(), grouping, random);
    const auto size = static_cast<std::size_t>(model.dimension() + grouping.weights());
    std::vector<std::int64_t> before(size);
    std::vector<std::int64_t> after(size);
    const std::vector<std::int64_t> all = all_positions(records);
    sums->fair_gradients(question, terms, lattice, {records, all}, before);
    records.groups[0] = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(grouping.groups + 2))) - 1;
    sums->fair_gradients(question, terms, lattice, {records, all}, after);
    const double moved = distance(before, after) / (2.0 * static_cast<double>(lattice.clip));
    ASSERT_LE(moved, 1.0) << i;
    closest = std::max(closest, moved);
    // No contribution is longer than what the plan and the wire make room for.
    double length = 0.0;
    for (const std::int64_t number : after) length = std::hypot(length, static_cast<double>(number) * lattice.step);
    ASSERT_LE(length, 2.0 * (1.0 + terms.base_reach()) * (1.0 + 1e-9)) << i;
  }
  EXPECT_GT(closest, 0.7);
}

TEST(FairOracleTest, NoRecordMovesTheSharesOfGroupsByMoreThanTwiceTheClip) {
  RandomSource random(44);
  for (int i = 0; i < 5'000; ++i) {
    const Grouping grouping{kNotions[random.below(3)], 2 + static_cast<Eigen::Index>(random.below(4)), 2, 1};
    const auto sums = make_record_sums(models::LinearModel(models::Loss::Logistic, 2, true));
    const double norm = std::sqrt(1.0 - 1.0 / static_cast<double>(grouping.cells()));
    const mechanisms::Lattice lattice{1 << 20, norm / (1 << 20)};
    models::Records records = any_fair_records(2, 3, grouping.groups, random);
    const std::vector<std::int64_t> all = all_positions(records);
    std::vector<std::int64_t> before(static_cast<std::size_t>(grouping.cells()));
    std::vector<std::int64_t> after(before.size());
    sums->group_shares(grouping, lattice, {records, all}, before);
    put_record(records, 1, grouping.groups, random);
    sums->group_shares(grouping, lattice, {records, all}, after);
    ASSERT_LE(distance(before, after), 2.0 * static_cast<double>(lattice.clip));
  }
}

/// Records whose every group has some of either label, as a silo and as the reference have them.
struct BothForms {
  models::Records records;
  fairness::GroupedRecords grouped;
};

BothForms both_forms(Eigen::Index count, Eigen::Index groups, bool some_unknown) {
  RandomSource random(45);
  BothForms out{{Eigen::MatrixXd(3, count), Eigen::VectorXd(count)}, {}};
  out.grouped.features = Eigen::MatrixXd::Ones(4, count);
  out.grouped.group_count = groups;
  for (Eigen::Index j = 0; j < count; ++j) {
    for (Eigen::Index f = 0; f < 3; ++f) out.records.features(f, j) = 2.0 * random.unit() - 1.0;
    out.grouped.features.col(j).head(3) = out.records.features.col(j);
    const Eigen::Index label = j % 2;
    const Eigen::Index group = some_unknown && j % 7 == 0 ? -1 : (j / 2) % groups;
    out.records.targets[j] = label == 1 ? 1.0 : -1.0;
    out.records.groups.push_back(static_cast<std::int32_t>(group));
    out.grouped.labels.push_back(label);
    out.grouped.groups.push_back(group);
  }
  return out;
}

/// The shares of all records, bucket by bucket, as a question tells them.
Eigen::VectorXd shares_of(const fairness::GroupedRecords& grouped, const Grouping& grouping) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(grouping.cells());
  for (std::size_t i = 0; i < grouped.labels.size(); ++i) {
    const auto bucket = grouping.bucket_of(grouped.labels[i]);
    if (bucket && grouped.groups[i] >= 0) out[*bucket * grouping.groups + grouped.groups[i]] += 1.0;
  }
  return out / static_cast<double>(grouped.labels.size());
}

TEST(FairOracleTest, TheAnswerIsTheGradientOfTheObjectiveWhereNothingIsClipped) {
  for (const Notion notion : kNotions) {
    for (const auto& [some_unknown, alone] : {std::pair(false, false), {true, false}, {false, true}}) {
      SCOPED_TRACE(fmt::format("{}, {}, {}", fairness::to_string(notion), some_unknown, alone));
      const Grouping grouping{notion, 3, 2, 1};
      const BothForms data = both_forms(210, 3, some_unknown);
      const models::LinearModel model(models::Loss::Logistic, 3, true);
      const FairTerms terms{grouping, 1.7, 60.0, 0.4, 0.01, alone, 2.0};
      RandomSource random(46);
      Eigen::VectorXd question(4 + grouping.weights() + grouping.cells());
      for (double& number : question) number = random.unit() - 0.5;
      question.tail(grouping.cells()) = shares_of(data.grouped, grouping);

      fairness::FairObjective::Point at{Eigen::MatrixXd::Zero(2, 4), {}};
      at.model.row(1) = question.head(4);
      for (Eigen::Index b = 0; b < grouping.buckets(); ++b) {
        const Eigen::VectorXd own = question.segment(4 + b * 6, 6);
        at.weights.emplace_back(Eigen::Map<const Eigen::MatrixXd>(own.data(), 3, 2));
      }
      const auto objective = fairness::FairObjective::create(data.grouped, notion, terms.lambda).value();
      const fairness::FairObjective::Gradient wanted = objective.gradient(at);

      const mechanisms::Lattice lattice{std::int64_t{1} << 40, 0x1p-40};
      std::vector<std::int64_t> sum(static_cast<std::size_t>(4 + grouping.weights()));
      make_record_sums(model)->fair_gradients(question, terms, lattice, {data.records, all_positions(data.records)},
                                              sum);
      const FairBlocks blocks(terms, question.tail(question.size() - 4));
      for (Eigen::Index j = 0; j < static_cast<Eigen::Index>(sum.size()); ++j) {
        const double mean = static_cast<double>(sum[static_cast<std::size_t>(j)]) * lattice.step / 210.0;
        if (j < 4) {
          EXPECT_NEAR(blocks.model_scale() * mean, wanted.model(1, j), 1e-8) << j;
          continue;
        }
        const Eigen::Index place = j - 4;
        const double got = blocks.adversary_scale() * mean + blocks.centre()[place];
        const Eigen::MatrixXd& own = wanted.weights[static_cast<std::size_t>(place / 6)];
        EXPECT_NEAR(got, own(place % 6 % 3, place % 6 / 3), 1e-8) << j;
      }
    }
  }
}

TEST(FairOracleTest, SharesAreThoseOfAllRecords) {
  for (const Notion notion : kNotions) {
    const Grouping grouping{notion, 3, 2, 1};
    const BothForms data = both_forms(140, 3, true);
    const Eigen::VectorXd wanted = shares_of(data.grouped, grouping);
    const mechanisms::Lattice lattice{std::int64_t{1} << 40, 0x1p-40};
    std::vector<std::int64_t> sum(static_cast<std::size_t>(grouping.cells()));
    make_record_sums(models::LinearModel(models::Loss::Logistic, 3, true))
        ->group_shares(grouping, lattice, {data.records, all_positions(data.records)}, sum);
    for (Eigen::Index j = 0; j < grouping.cells(); ++j) {
      const double mean = static_cast<double>(sum[static_cast<std::size_t>(j)]) * lattice.step / 140.0;
      EXPECT_NEAR(mean + 1.0 / static_cast<double>(grouping.cells()), wanted[j], 1e-10);
    }
  }
}

}  // namespace
}  // namespace undertone::silo
