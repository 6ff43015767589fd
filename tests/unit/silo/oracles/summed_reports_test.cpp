#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "shared/planning/plan.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"

/// Sums of reports: each record's gradient randomised by itself, and nothing else of it in an answer.
namespace undertone::silo::summed_reports {
namespace {

constexpr std::int64_t kRecords = 24;
constexpr Eigen::Index kDimension = 3;
constexpr double kClip = 0.5;
constexpr double kEpsilon = 2.0;

data::Dataset dataset_of(std::uint64_t seed) {
  RandomSource random(seed);
  data::Dataset out;
  out.training = {Eigen::MatrixXd(kDimension, kRecords), Eigen::VectorXd(kRecords)};
  for (double& number : out.training.features.reshaped()) number = 2.0 * random.unit() - 1.0;
  for (double& target : out.training.targets) target = 2.0 * random.unit() - 1.0;
  return out;
}

models::LinearModel model() { return models::LinearModel(models::Loss::LeastSquares, kDimension, false); }

releases::Ask ask_of(std::uint64_t part, std::uint64_t parts, releases::ReportsForm form) {
  releases::Ask ask{releases::GradientMap{},
                    {},
                    releases::L2Bound{*releases::ClipNorm::create(kClip)},
                    kDimension,
                    releases::SumForm{{}, form}};
  ask.records.slice = releases::Slice{releases::Slice::Cut::Equal, part, parts};
  return ask;
}

releases::SiloFacts facts_of(double epsilon = kEpsilon, double delta = 1e-5) {
  return {SiloId::create("one").value(), kRecords, 0, false,
          releases::ApproximateDp{*releases::Epsilon::create(epsilon), *releases::Delta::create(delta)}};
}

planning::Plan plan_of_parts(std::uint64_t parts, releases::ReportsForm form = {releases::Randomiser::Direction}) {
  planning::Schedule schedule;
  for (std::uint64_t part = 0; part < parts; ++part) schedule.push_back({ask_of(part, parts, form), 1});
  return planning::make_plan(schedule, facts_of()).value();
}

RecordPlaces in_order() {
  std::vector<std::int64_t> order(kRecords);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return RecordPlaces::permuted(std::move(order));
}

constexpr queries::WireLattice kWire{queries::ReplyType::I64, -40};

Eigen::VectorXd answer(const planning::Release& release, const data::Dataset& dataset, std::uint64_t seed,
                       const Eigen::VectorXd& point) {
  const RecordPlaces places = in_order();
  const std::unique_ptr<RecordSums> sums = make_record_sums(models::Model(model()));
  const std::unique_ptr<ReleaseStream> stream =
      TestRandomness(seed, SiloId::create("one").value()).stream(RunId{}, {0});
  const queries::Query query{{0}, queries::GradientQuestion{point}};
  const queries::Answer said = draw_and_sum(query, release, {dataset, places}, sums.get(), kWire, *stream);
  const std::vector<std::int64_t>& values = std::get<queries::NoisedSums>(said).values;
  Eigen::VectorXd out(kDimension);
  for (Eigen::Index j = 0; j < kDimension; ++j)
    out[j] = std::ldexp(static_cast<double>(values[static_cast<std::size_t>(j)]), kWire.step_log2);
  return out;
}

/// Of a record's gradient, clipped.
Eigen::VectorXd clipped(const data::Dataset& dataset, std::int64_t record, const Eigen::VectorXd& point) {
  const Eigen::VectorXd x = dataset.training.features.col(record);
  const Eigen::VectorXd gradient = (x.dot(point) - dataset.training.targets[record]) * x;
  return gradient * std::min(1.0, kClip / gradient.norm());
}

const Eigen::Vector3d kPoint(0.4, -1.5, 0.7);

TEST(SummedReportsTest, AnAnswerIsTheMeanOfClippedGradientsOnAverage) {
  const data::Dataset dataset = dataset_of(1);
  for (const auto randomiser : {releases::Randomiser::Direction, releases::Randomiser::GaussianDirection}) {
    for (const auto adapter : {releases::UnitAdapter::Round, releases::UnitAdapter::Lift}) {
      SCOPED_TRACE(fmt::format("{} {}", to_string(randomiser), to_string(adapter)));
      const planning::Release release = *plan_of_parts(3, {randomiser, 0, adapter}).release({1});
      Eigen::VectorXd expected = Eigen::VectorXd::Zero(kDimension);
      for (std::int64_t record = 8; record < 16; ++record) expected += clipped(dataset, record, kPoint) / 8.0;
      constexpr int kRuns = 4000;
      Eigen::VectorXd mean = Eigen::VectorXd::Zero(kDimension);
      Eigen::VectorXd square = Eigen::VectorXd::Zero(kDimension);
      for (int run = 0; run < kRuns; ++run) {
        const Eigen::VectorXd said = answer(release, dataset, static_cast<std::uint64_t>(run), kPoint);
        mean += said / kRuns;
        square += (said - expected).cwiseAbs2() / kRuns;
      }
      // Twelve numbers within 6.5 deviations: false alarm below 1e-9. The stated deviation is the largest there can be.
      const double stated = release.noise_stddev_of_mean();
      for (Eigen::Index j = 0; j < kDimension; ++j) {
        EXPECT_NEAR(mean[j], expected[j], 6.5 * stated / std::sqrt(kRuns));
        EXPECT_LE(std::sqrt(square[j]), 1.06 * stated);
        EXPECT_GE(std::sqrt(square[j]), 0.7 * stated);
      }
    }
  }
}

TEST(SummedReportsTest, WithoutNoiseAnAnswerIsTheMeanOfClippedGradients) {
  const data::Dataset dataset = dataset_of(7);
  for (const auto adapter : {releases::UnitAdapter::Round, releases::UnitAdapter::Normalise}) {
    const planning::Release release =
        *plan_of_parts(3, {releases::Randomiser::GaussianDirection, 0, adapter}).release({2});
    const RecordPlaces places = in_order();
    const std::unique_ptr<RecordSums> sums = make_record_sums(models::Model(model()));
    const auto stream = NoiselessRandomness(1, SiloId::create("one").value()).stream(RunId{}, {0});
    const queries::Query query{{0}, queries::GradientQuestion{kPoint}};
    const queries::Answer said = draw_and_sum(query, release, {dataset, places}, sums.get(), kWire, *stream);
    Eigen::VectorXd expected = Eigen::VectorXd::Zero(kDimension);
    for (std::int64_t record = 16; record < kRecords; ++record) {
      const Eigen::VectorXd own = clipped(dataset, record, kPoint);
      expected += (adapter == releases::UnitAdapter::Normalise ? Eigen::VectorXd(kClip * own.normalized()) : own) / 8.0;
    }
    const std::vector<std::int64_t>& values = std::get<queries::NoisedSums>(said).values;
    for (Eigen::Index j = 0; j < kDimension; ++j)
      EXPECT_NEAR(std::ldexp(static_cast<double>(values[static_cast<std::size_t>(j)]), kWire.step_log2), expected[j],
                  1e-6);
  }
}

TEST(SummedReportsTest, ReadsTheRecordsOfItsPartAndNoOther) {
  const planning::Release release = *plan_of_parts(3).release({1});
  const data::Dataset dataset = dataset_of(2);
  for (std::int64_t record = 0; record < kRecords; ++record) {
    data::Dataset other = dataset;
    other.training.features.col(record) = Eigen::Vector3d(-0.9, 0.8, 0.1);
    other.training.targets[record] = 1.0;
    // Another gradient may be reported alike by the same coins, but not by all of twenty.
    int alike = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      alike += answer(release, other, seed, kPoint) == answer(release, dataset, seed, kPoint) ? 1 : 0;
    EXPECT_EQ(alike == 20, record < 8 || record >= 16) << record;
  }
}

TEST(SummedReportsTest, OneRecordsReportHasTheSameLengthWhateverTheRecord) {
  // A part of one record: a rounded direction's length is C / m, of zero, of what is no number, of 1e300.
  const planning::Plan plan = plan_of_parts(static_cast<std::uint64_t>(kRecords));
  const planning::Release release = *plan.release({3});
  ASSERT_EQ(release.records_drawn, 1);
  const auto& sum = std::get<mechanisms::DirectionSum>(release.mechanism);
  const double length = kClip / sum.direction().scale();
  for (const double number : {0.0, 1e-300, 0.3, 1e150, 1e300, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    data::Dataset dataset = dataset_of(3);
    dataset.training.features.col(3).setConstant(number);
    EXPECT_NEAR(answer(release, dataset, 8, kPoint).norm(), length, 1e-5 * length) << number;
  }
}

TEST(SummedReportsTest, ARecordReportsOnceSoThatTheRunCostsOneReport) {
  for (const std::uint64_t parts : {1U, 3U, 24U}) {
    const planning::Plan plan = plan_of_parts(parts);
    for (std::uint64_t r = 0; r < parts; ++r) {
      const releases::Cost cost = plan.release({r})->cost_of_draw();
      EXPECT_EQ(cost.gaussian.value_rounded_up(), 0.0);
      EXPECT_LE(cost.pure.value_rounded_up(), kEpsilon);
      EXPECT_GT(cost.pure.value_rounded_up(), kEpsilon - 1e-6);
    }
  }
}

TEST(SummedReportsTest, WhatIsReadTwiceIsChargedTwice) {
  planning::Schedule schedule;
  for (int pass = 0; pass < 2; ++pass)
    for (std::uint64_t part = 0; part < 3; ++part)
      schedule.push_back({ask_of(part, 3, {releases::Randomiser::Direction}), 1});
  const planning::Plan plan = planning::make_plan(schedule, facts_of()).value();
  // Two reports of 1 together are 2; with a delta of 1e-5 a little more than 1 each is allowed.
  EXPECT_LT(plan.release({0})->cost_of_draw().pure.value_rounded_up(), 0.6 * kEpsilon);
}

TEST(SummedReportsTest, NoOtherAskHasSuchASum) {
  const auto refused = [](const auto& change, const std::string& why) {
    releases::Ask ask = ask_of(0, 3, {releases::Randomiser::Direction});
    change(ask);
    const auto plan = planning::make_plan({{ask, 1}}, facts_of());
    ASSERT_FALSE(plan) << why;
    EXPECT_NE(plan.error().message.find(why), std::string::npos) << plan.error().message;
  };
  refused([](auto& ask) { ask.map = releases::GradientDifferenceMap{}; }, "directions of clipped gradients");
  refused(
      [](auto& ask) { std::get<releases::SumForm>(ask.form).of_reports->randomiser = releases::Randomiser::Laplace; },
      "directions of clipped gradients");
  refused([](auto& ask) { std::get<releases::SumForm>(ask.form).of_reports->copies = 2; },
          "directions of clipped gradients");
  refused([](auto& ask) { std::get<releases::SumForm>(ask.form).noise_norm = 4.0; }, "directions of clipped gradients");
  refused(
      [](auto& ask) {
        ask.records.slice.reset();
        ask.records.draw_fraction = 0.5;
      },
      "a record reports once in a round");
  refused([](auto& ask) { ask.records.slice->assignment = releases::Slice::Assignment::Bins; },
          "a record reports once in a round");
  refused([](auto& ask) { ask.shift = *releases::GaussianShift::create(1.0); }, "none was to be chosen");
  refused([](auto& ask) { ask.epsilon = *releases::Epsilon::create(1.0); }, "none was to be chosen");
}

}  // namespace
}  // namespace undertone::silo::summed_reports
