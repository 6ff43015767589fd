#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/jobs/planner.hpp"
#include "silo/oracles/record_sums.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/support/small_federation.hpp"

/// Reads answers with a block of public records beside the noised one.
namespace undertone::silo {
namespace {

const queries::WireLattice kWire{queries::ReplyType::I64, -40};
const RecordPlaces kNoPlaces;

struct World {
  tests::SmallFederation federation;
  jobs::Job job;
  std::vector<simulation::SimulatedSilo> silos;

  explicit World(const tests::SmallFederation& of)
      : federation(of), job(jobs::parse_job(of.job(), "job").value()), silos(of.cohort()) {}

  [[nodiscard]] planning::Release release(std::size_t silo, std::uint64_t round = 0) const {
    return *jobs::plan_of(job, job.cohort.at(silo)).value().release({round});
  }
  [[nodiscard]] std::vector<std::int64_t> answer(std::size_t silo, const data::Dataset& dataset,
                                                 const planning::Release& release,
                                                 const queries::Question& question) const {
    const auto sums = make_record_sums(*job.model);
    const auto stream = TestRandomness(7, silos.at(silo).id).stream({}, {3});
    return queries::values_of(draw_and_sum({{3}, question}, release, {dataset, kNoPlaces}, sums.get(), kWire, *stream));
  }
};

tests::SmallFederation of_gradients(double draw_fraction = 1.0) {
  tests::SmallFederation federation;
  federation.public_records = 6;
  federation.draw_fraction = draw_fraction;
  federation.open_records = R"({"silos":true,"weight":0.5})";
  return federation;
}

queries::Question at_a_point() { return queries::GradientQuestion{Eigen::VectorXd::LinSpaced(5, -0.3, 0.4)}; }

std::vector<std::int64_t> first(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2)};
}
std::vector<std::int64_t> second(const std::vector<std::int64_t>& values) {
  return {values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end()};
}

TEST(BesidePublicTest, TheNoisedBlockIsToTheBitWhatItIsAlone) {
  for (const double fraction : {1.0, 0.5}) {
    const World with(of_gradients(fraction));
    tests::SmallFederation plain = with.federation;
    plain.open_records.clear();
    const World without(plain);
    for (std::size_t i = 0; i < 5; ++i) {
      const planning::Release release = with.release(i);
      EXPECT_EQ(release.cost().to_string(), without.release(i).cost().to_string());
      const auto both = with.answer(i, with.silos[i].dataset, release, at_a_point());
      EXPECT_EQ(first(both), without.answer(i, with.silos[i].dataset, without.release(i), at_a_point()));
    }
  }
}

// Over every protected record and some replacements: the exact block does not move.
TEST(BesidePublicTest, NoProtectedRecordIsInTheExactBlock) {
  const World world(of_gradients());
  const planning::Release release = world.release(3);
  const data::Dataset& dataset = world.silos[3].dataset;
  const auto before = second(world.answer(3, dataset, release, at_a_point()));
  for (Eigen::Index j = 0; j < dataset.training.count(); ++j) {
    for (const double extreme : {1.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
      data::Dataset neighbour = dataset;
      neighbour.training.features.col(j).setConstant(extreme);
      neighbour.training.targets[j] *= -1.0;
      EXPECT_EQ(second(world.answer(3, neighbour, release, at_a_point())), before);
    }
  }
  data::Dataset other = dataset;
  other.holdout.features.setConstant(1.0);
  EXPECT_EQ(second(world.answer(3, other, release, at_a_point())), before);
}

TEST(BesidePublicTest, NoPublicRecordIsInTheNoisedBlock) {
  const World world(of_gradients());
  const planning::Release release = world.release(3);
  const auto before = first(world.answer(3, world.silos[3].dataset, release, at_a_point()));
  for (const double extreme : {1.0, 1e300, std::numeric_limits<double>::infinity()}) {
    data::Dataset other = world.silos[3].dataset;
    other.public_records.features.setConstant(extreme);
    const auto after = world.answer(3, other, release, at_a_point());
    EXPECT_EQ(first(after), before);
    // What is not finite counts as 0, and is still clipped.
    double squares = 0.0;
    for (const std::int64_t value : second(after)) squares += std::pow(std::ldexp(static_cast<double>(value), -40), 2);
    EXPECT_LE(std::sqrt(squares), 1.0 + 1e-6);
  }
}

TEST(BesidePublicTest, TheExactBlockIsTheMeanOfClippedGradientsOfPublicRecords) {
  const World world(of_gradients());
  const models::Records& open = world.silos[1].dataset.public_records;
  ASSERT_EQ(open.count(), 7);
  const Eigen::VectorXd point = queries::point_of(at_a_point());
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(5);
  for (Eigen::Index j = 0; j < open.count(); ++j) {
    Eigen::VectorXd gradient(5);
    world.job.model->linear()->gradient(point, open, j, gradient);
    mean += gradient * std::min(1.0, 1.0 / gradient.norm()) / 7.0;
  }
  const auto said = second(world.answer(1, world.silos[1].dataset, world.release(1), at_a_point()));
  // ClippedSum clips to 2^-20 less than the clip norm, so that rounding never passes it.
  for (Eigen::Index j = 0; j < 5; ++j)
    EXPECT_NEAR(std::ldexp(static_cast<double>(said[static_cast<std::size_t>(j)]), -40), mean[j], 0x1p-20);
}

TEST(BesidePublicTest, ASiloWithoutPublicRecordsSaysZeros) {
  const World world(of_gradients());
  planning::Release release = world.release(0);
  releases::SiloFacts facts = world.job.cohort[0].facts;
  facts.public_records = 0;
  const planning::Plan plan = planning::make_plan(jobs::schedule_of(world.job), facts).value();
  release = *plan.release({0});
  EXPECT_FALSE(release.beside);
  const auto said = world.answer(0, world.silos[0].dataset, release, at_a_point());
  ASSERT_EQ(said.size(), 10U);
  EXPECT_EQ(second(said), std::vector<std::int64_t>(5, 0));
}

TEST(BesidePublicTest, DifferencesHaveBothBlocksAtTheirOwnScale) {
  tests::SmallFederation federation = of_gradients();
  federation.algorithm =
      R"({"kind":"prox_svrg","restarts":1,"epochs":1,"inner":2,"step_size":0.4,"smoothness":1.5,"draw_fraction":1,"seed":3})";
  const World world(federation);
  const planning::Release release = world.release(2, 1);
  ASSERT_EQ(release.ask.kind(), releases::QuestionKind::GradientDifference);
  ASSERT_TRUE(release.beside);
  Eigen::VectorXd points(10);
  points << 0.2, -0.1, 0.3, 0.0, 0.1, 0.19, -0.11, 0.31, 0.01, 0.09;
  const queries::Question question = queries::GradientDifferenceQuestion{points};
  const auto said = second(world.answer(2, world.silos[2].dataset, release, question));
  const models::Records& open = world.silos[2].dataset.public_records;
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(5);
  for (Eigen::Index j = 0; j < open.count(); ++j) {
    Eigen::VectorXd here(5);
    Eigen::VectorXd there(5);
    world.job.model->linear()->gradient(points.head(5), open, j, here);
    world.job.model->linear()->gradient(points.tail(5), open, j, there);
    mean += (here - there) / static_cast<double>(open.count());
  }
  for (Eigen::Index j = 0; j < 5; ++j)
    EXPECT_NEAR(std::ldexp(static_cast<double>(said[static_cast<std::size_t>(j)]), -40), mean[j], 1e-8);
}

TEST(BesidePublicTest, ALongPublicBlockIsImplausible) {
  const World world(of_gradients());
  const auto cohort = jobs::PlausibleCohort::of(world.job, "job").value();
  const folds::PlausibleReplies::Asked asked = cohort.asked({{0}, at_a_point()});
  for (std::size_t i = 0; i < 5; ++i) {
    const folds::PlausibleReplies& plausible = cohort.of_silo(world.silos[i].id);
    const std::vector<std::int64_t> honest = world.answer(i, world.silos[i].dataset, world.release(i), at_a_point());
    EXPECT_TRUE(plausible.admits(asked, honest));
    std::vector<std::int64_t> longest(10, 0);
    longest[5] = std::int64_t{1} << 40;  // the clip itself
    EXPECT_TRUE(plausible.admits(asked, longest));
    longest[5] += std::int64_t{1} << 30;
    EXPECT_FALSE(plausible.admits(asked, longest));
  }
  // A silo that has no public records sends nothing but zeros.
  releases::SiloFacts facts = world.job.cohort[0].facts;
  facts.public_records = 0;
  const planning::Schedule schedule = jobs::schedule_of(world.job);
  const folds::AskedShapes shapes(schedule);
  const auto none = folds::PlausibleReplies::of(planning::make_plan(schedule, facts).value(), shapes, kWire);
  const folds::PlausibleReplies::Asked here({{0}, at_a_point()}, shapes);
  std::vector<std::int64_t> said(10, 0);
  EXPECT_TRUE(none.admits(here, said));
  said[7] = 1;
  EXPECT_FALSE(none.admits(here, said));
}

TEST(BesidePublicTest, AreRefusedWhereTheyCannotStand) {
  const auto said = [](auto change) {
    tests::SmallFederation federation = of_gradients();
    change(federation);
    const auto job = jobs::parse_job(federation.job(), "job");
    return job ? std::string("accepted") : job.error().message;
  };
  EXPECT_EQ(said([](auto& /*of*/) {}), "accepted");
  EXPECT_NE(said([](auto& of) { of.public_records = 0; }).find("no silo of the cohort has public_records"),
            std::string::npos);
  EXPECT_NE(said([](auto& of) { of.open_records = R"({"silos":true})"; }).find("/public/weight: missing"),
            std::string::npos);
  EXPECT_NE(said([](auto& of) { of.open_records = R"({"silos":false})"; }).find("/public/file: missing"),
            std::string::npos);
  EXPECT_NE(said([](auto& of) {
              of.open_records = R"({"silos":true,"weight":0.5,"gradients":"raw"})";
            }).find("/public/gradients: expected \"clipped\""),
            std::string::npos);
  EXPECT_NE(said([](auto& of) { of.aggregation = R"({"kind":"geometric_median"})"; }).find("/public/silos"),
            std::string::npos);
}

}  // namespace
}  // namespace undertone::silo
