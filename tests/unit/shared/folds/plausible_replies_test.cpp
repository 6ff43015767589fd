#include "shared/folds/plausible_replies.hpp"

#include <gtest/gtest.h>
#include <random>

#include "shared/crypto/test_bits.hpp"
#include "shared/noise/rounded_gaussian.hpp"

namespace undertone::folds {
namespace {

using Asked = PlausibleReplies::Asked;

constexpr queries::WireLattice kReplyWire{queries::ReplyType::I64, -30};
std::normal_distribution<double> normal;

releases::SiloFacts facts(std::int64_t records) {
  return {SiloId::create("a").value(), records, 0, false,
          releases::ApproximateDp{releases::Epsilon::create(1.0).value(), releases::Delta::create(1e-5).value()}};
}

/// A plan and what it makes plausible.
struct Planned {
  explicit Planned(const planning::Schedule& schedule, std::int64_t records = 100)
      : shapes(schedule),
        plan(planning::make_plan(schedule, facts(records)).value()),
        plausible(PlausibleReplies::of(plan, shapes, kReplyWire)) {}
  Planned(releases::Ask shape, std::uint64_t rounds) : Planned(planning::Schedule{{std::move(shape), rounds}}) {}
  [[nodiscard]] Asked asked(queries::Question question, std::uint64_t round = 0) const {
    return {{{round}, std::move(question)}, shapes};
  }
  [[nodiscard]] Asked gradient(Eigen::Index dimension, std::uint64_t round = 0) const {
    return asked(queries::GradientQuestion{Eigen::VectorXd::Zero(dimension)}, round);
  }
  AskedShapes shapes;
  planning::Plan plan;
  PlausibleReplies plausible;
};

releases::Ask gradients(Eigen::Index dimension) {
  return {releases::GradientMap{},
          {releases::Block::Training, 1.0},
          releases::L2Bound{releases::ClipNorm::create(2.0).value()},
          dimension};
}

/// Of the length, in a direction drawn.
std::vector<std::int64_t> reply_of(double length, Eigen::Index dimension, std::mt19937_64& random) {
  Eigen::VectorXd direction(dimension);
  for (double& x : direction) x = normal(random);
  direction *= length / direction.norm();
  return queries::to_wire(direction, kReplyWire);
}

double norm(const std::vector<std::int64_t>& values) {
  double squares = 0.0;
  for (const std::int64_t value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::ldexp(std::sqrt(squares), -30);
}

TEST(PlausibleRepliesTest, KnowsTheNoiseThatThePlanHas) {
  const Planned planned(gradients(5), 3);
  const double stddev = planned.plan.segments().front().release.noise_stddev_of_mean();
  EXPECT_GT(stddev, 0.0);
  EXPECT_DOUBLE_EQ(planned.plausible.noise_stddev(planned.gradient(5)), stddev);
  EXPECT_EQ(planned.plausible.noise_stddev(planned.gradient(5, 99)), 0.0);  // no plan has the round
}

TEST(PlausibleRepliesTest, HonestRepliesAreAdmittedAndNotMuchMore) {
  for (const Eigen::Index d : {1, 3, 50, 2000}) {
    const Planned planned(gradients(d), 4);
    const PlausibleReplies& plausible = planned.plausible;
    const planning::Release& release = *planned.plan.release({0});
    const auto& gaussian = std::get<mechanisms::GaussianLattice>(release.mechanism);
    const Asked query = planned.gradient(d);
    crypto::TestBits bits(7, "noise", crypto::InsecureForTestsOnly{});
    std::mt19937_64 random(static_cast<std::uint64_t>(d));
    double longest = 0.0;
    for (int k = 0; k < 200; ++k) {
      // Every record at the clip, all in one direction: the longest sum that there is.
      Eigen::VectorXd record(d);
      for (double& x : record) x = normal(random);
      record *= 1e6 / record.norm();
      std::vector<std::int64_t> sum(static_cast<std::size_t>(d), 0);
      for (int i = 0; i < 100; ++i) {
        Eigen::VectorXd scratch = record;
        mechanisms::add_clipped(scratch, gaussian.lattice, sum);
      }
      std::vector<std::int64_t> noise(sum.size());
      noise::fill_rounded_gaussian(bits, gaussian.log2_stddev, noise);
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += noise[j];
      const std::vector<std::int64_t> reply = queries::to_wire(sum, release, kReplyWire);
      EXPECT_TRUE(plausible.admits(query, reply));
      longest = std::max(longest, norm(reply));
    }
    const double reach = plausible.reach(query);
    const double s = release.noise_stddev_of_mean();
    EXPECT_LE(reach, 2.001 + 1.051 * s * (std::sqrt(static_cast<double>(d)) + 10.54));
    EXPECT_GT(longest, d == 2000 ? 0.7 * reach : 0.0);
    EXPECT_TRUE(plausible.admits(query, reply_of(0.999 * reach, d, random)));
    EXPECT_FALSE(plausible.admits(query, reply_of(1.001 * reach, d, random)));
  }
}

TEST(PlausibleRepliesTest, NoRoundBeyondThePlanIsAdmitted) {
  const Planned planned(gradients(3), 4);
  EXPECT_TRUE(planned.plausible.admits(planned.gradient(3, 3), {0, 0, 0}));
  EXPECT_FALSE(planned.plausible.admits(planned.gradient(3, 4), {0, 0, 0}));
}

TEST(PlausibleRepliesTest, ADifferenceCountsByTheDistanceOfItsPoints) {
  releases::Ask shape = gradients(3);
  shape.map = releases::GradientDifferenceMap{};
  shape.bound = releases::L2Bound{shape.clip(), 0.5};
  const Planned planned(shape, 1);
  const PlausibleReplies& plausible = planned.plausible;
  const auto at = [&](double distance) {
    Eigen::VectorXd points = Eigen::VectorXd::Zero(6);
    points[0] = distance;
    return planned.asked(queries::GradientDifferenceQuestion{points});
  };
  const double whole = plausible.reach(at(4.0));  // 0.5 * 4 is the clip
  EXPECT_EQ(plausible.reach(at(400.0)), whole);
  EXPECT_NEAR(plausible.reach(at(1.0)), whole / 4.0, 1e-7);
  EXPECT_GT(plausible.reach(at(0.0)), 0.0);  // of noise that is never scaled to nothing
}

TEST(PlausibleRepliesTest, ALocalRunIsMeasuredFromWhereItBegan) {
  releases::Ask shape = gradients(3);

  shape.map = releases::LocalRunMap{releases::LocalSteps{5, 0.1}};
  const Planned planned(shape, 1);
  const PlausibleReplies& plausible = planned.plausible;
  Eigen::VectorXd start(3);
  start << 1e6, -2.0, 3.0;
  const Asked query = planned.asked(queries::LocalRunQuestion{start});
  const double reach = plausible.reach(query);
  const double s = planned.plan.release({0})->noise_stddev_of_mean();
  EXPECT_NEAR(reach,
              5 * 0.1 * 2.0 + 1.05 * 0.1 * s * std::sqrt(5.0) * (std::sqrt(3.0) + std::sqrt(160.0 * std::log(2.0))),
              1e-3 * reach);
  const auto ended = [&](double off) { return queries::to_wire(start + Eigen::Vector3d(0.0, off, 0.0), kReplyWire); };
  EXPECT_TRUE(plausible.admits(query, ended(0.999 * reach)));
  EXPECT_FALSE(plausible.admits(query, ended(1.001 * reach)));
  EXPECT_FALSE(plausible.admits(query, {0, 0, 0}));
  EXPECT_FALSE(plausible.admits(query, {0, 0}));
  // Beyond what the wire holds a reply is clamped, and so is the point it is measured from.
  start[0] = 1e30;
  EXPECT_TRUE(plausible.admits(planned.asked(queries::LocalRunQuestion{start}), ended(0.5 * reach)));
}

TEST(PlausibleRepliesTest, AreKeptAndReadAsTheyWereAndRoundsThatTakeTurnsCostNoMore) {
  planning::Schedule schedule;
  for (int i = 0; i < 40; ++i) {
    schedule.push_back({gradients(3), 4});
    schedule.push_back({gradients(3), i == 7 ? 0U : 2U});
    schedule.back().ask.bound = releases::L2Bound{releases::ClipNorm::create(0.5).value()};
  }
  const Planned planned(schedule);
  EXPECT_EQ(planned.shapes.count(), 2U);
  ByteWriter writer;
  planned.plausible.save(writer);
  EXPECT_EQ(writer.bytes().size(), 96U);  // six numbers of each
  ByteReader reader(writer.bytes());
  const PlausibleReplies read = PlausibleReplies::read(reader, 2, kReplyWire).value();
  EXPECT_TRUE(reader.end());
  for (std::uint64_t round = 0; round < 240; ++round) {
    const Asked asked = planned.gradient(3, round);
    EXPECT_EQ(read.reach(asked), planned.plausible.reach(asked));
    EXPECT_EQ(read.reach(asked) > 0.0, round < 238);
    const double first = read.reach(planned.gradient(3, round % 6));
    if (round < 40) {
      EXPECT_EQ(read.reach(asked), first);
    }
  }
  for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
    ByteReader half(std::string_view(writer.bytes()).substr(0, size));
    EXPECT_FALSE(PlausibleReplies::read(half, 2, kReplyWire));
  }
}

TEST(PlausibleRepliesTest, ShapesBeyondTheMostAreTakenForTheLastAndAdmitWhatAnyOfThemMay) {
  planning::Schedule schedule;
  for (int i = 1; i <= 300; ++i) {
    schedule.push_back({gradients(3), 1});
    schedule.back().ask.bound = releases::L2Bound{releases::ClipNorm::create(0.01 * i).value()};
  }
  const Planned planned(schedule);
  EXPECT_EQ(planned.shapes.count(), 256U);
  const double last = planned.plausible.reach(planned.gradient(3, 299));
  EXPECT_EQ(planned.plausible.reach(planned.gradient(3, 255)), last);
  EXPECT_LT(planned.plausible.reach(planned.gradient(3, 254)), last);
}

}  // namespace
}  // namespace undertone::folds
