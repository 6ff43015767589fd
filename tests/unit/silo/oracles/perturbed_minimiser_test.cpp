#include "silo/oracles/perturbed_minimiser.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/crypto/test_bits.hpp"
#include "shared/noise/rounded_gaussian.hpp"

namespace undertone::silo {
namespace {

using geometry::Domain;
using mechanisms::ObjectivePerturbation;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ObjectivePerturbation mechanism_of(const mechanisms::ObjectivePerturbationFacts& facts, double epsilon = 1.0) {
  return ObjectivePerturbation::create(facts, releases::Epsilon::create(epsilon).value(),
                                       releases::Delta::create(1e-6).value(),
                                       releases::GaussianShift::create(0.05).value())
      .value();
}

/// Of two features, with labels that a line tells apart but for some.
models::Records random_records(Eigen::Index count, std::uint64_t seed) {
  RandomSource random(seed);
  models::Records out{Eigen::MatrixXd(2, count), Eigen::VectorXd(count)};
  for (Eigen::Index i = 0; i < count; ++i) {
    out.features.col(i) << 2.0 * random.unit() - 1.0, 2.0 * random.unit() - 1.0;
    const bool positive = out.features(0, i) + 0.5 * out.features(1, i) > 0.2;
    out.targets[i] = positive != random.chance(0.1) ? 1.0 : -1.0;
  }
  return out;
}

std::vector<std::int64_t> drawn_noise(Eigen::Index dimension, std::uint64_t seed) {
  crypto::TestBits bits(seed, "objective perturbation", crypto::InsecureForTestsOnly{});
  std::vector<std::int64_t> out(static_cast<std::size_t>(dimension));
  noise::fill_rounded_gaussian(bits, ObjectivePerturbation::kNoiseLog2Stddev, out);
  return out;
}

/// The objective's gradient and Hessian by the textbook, in no particular arithmetic.
struct Objective {
  Eigen::MatrixXd records;
  Eigen::VectorXd start;
  Eigen::VectorXd b;
  double zeta;

  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::VectorXd& theta) const {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(theta.size());
    for (Eigen::Index i = 0; i < records.cols(); ++i)
      sum -= records.col(i) / (1.0 + std::exp(records.col(i).dot(theta)));
    return sum / static_cast<double>(records.cols()) + zeta * (theta - start) + b;
  }
  [[nodiscard]] Eigen::MatrixXd hessian(const Eigen::VectorXd& theta) const {
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(theta.size(), theta.size());
    for (Eigen::Index i = 0; i < records.cols(); ++i) {
      const double margin = records.col(i).dot(theta);
      sum += records.col(i) * records.col(i).transpose() / (2.0 + std::exp(margin) + std::exp(-margin));
    }
    return sum / static_cast<double>(records.cols()) + zeta * Eigen::MatrixXd::Identity(theta.size(), theta.size());
  }
};

Objective objective_of(const models::Records& block, const ObjectivePerturbation& mechanism,
                       const Eigen::VectorXd& start, const std::vector<std::int64_t>& noise) {
  return {signed_clipped_records(block, mechanism.facts().record_norm, mechanism.facts().dimension), start,
          mechanism.noise_vector(noise), mechanism.regularisation()};
}

/// Newton's method over a set: of each quadratic model the minimiser, by plain projected gradient steps without
/// records.
Eigen::VectorXd newton_minimiser(const Objective& objective, const Domain& domain) {
  Eigen::VectorXd theta = objective.start;
  for (int newton = 0; newton < 40; ++newton) {
    const Eigen::VectorXd gradient = objective.gradient(theta);
    const Eigen::MatrixXd hessian = objective.hessian(theta);
    const double step_size = 1.0 / hessian.trace();
    Eigen::VectorXd next = theta;
    for (int i = 0; i < 20'000; ++i) {
      next -= step_size * (gradient + hessian * (next - theta));
      domain.project(next);
    }
    theta = next;
  }
  return theta;
}

struct NamedDomain {
  std::string name;
  Domain domain;
};

std::vector<NamedDomain> domains() {
  return {{"whole space", Domain::whole_space()},    {"large l2 ball", Domain::l2_ball(20.0).value()},
          {"l2 ball", Domain::l2_ball(0.7).value()}, {"box", Domain::box(-0.4, 0.5).value()},
          {"l1 ball", Domain::l1_ball(0.8).value()}, {"simplex", Domain::simplex(1.5).value()}};
}

TEST(PerturbedMinimiserTest, RecordsAreSignedAndNoLongerThanTheBound) {
  models::Records block{Eigen::MatrixXd(2, 7), Eigen::VectorXd(7)};
  block.features << 0.5, 3.0, kNan, 1.0, 1e308, 0.0, kInfinity,  //
      -0.25, -4.0, 1.0, 1.0, -1e308, 0.0, 0.0;
  block.targets << 1.0, -1.0, 1.0, kNan, 1.0, 0.0, -1.0;
  const Eigen::MatrixXd signed_records = signed_clipped_records(block, 1.5, 3);
  EXPECT_EQ(Eigen::Vector3d(signed_records.col(0)), Eigen::Vector3d(0.5, -0.25, 1.0));  // norm 1.146
  // (3, -4, 1) has norm sqrt(26); the label turns it round, with its constant.
  EXPECT_NEAR((signed_records.col(1) + 1.5 / std::sqrt(26.0) * Eigen::Vector3d(3.0, -4.0, 1.0)).norm(), 0.0, 2e-9);
  EXPECT_TRUE(signed_records.col(2).isZero(0.0));
  EXPECT_TRUE(signed_records.col(3).isZero(0.0));
  EXPECT_TRUE(signed_records.col(4).allFinite());
  EXPECT_EQ(Eigen::Vector3d(signed_records.col(5)), Eigen::Vector3d(0.0, 0.0, -1.0));  // 0 is not positive
  EXPECT_TRUE(signed_records.col(6).isZero(0.0));
  // Without a constant.
  EXPECT_EQ(Eigen::Vector2d(signed_clipped_records(block, 1.5, 2).col(0)), Eigen::Vector2d(0.5, -0.25));
}

TEST(PerturbedMinimiserTest, NormsAreBoundedAsRealNumbers) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    models::Records block{Eigen::MatrixXd(40, 20), Eigen::VectorXd::Ones(20)};
    for (double& number : block.features.reshaped())
      number = std::ldexp(random.unit() - 0.5, static_cast<int>(seed) - 25);
    const double norm_max = 0.1 + random.unit();
    const Eigen::MatrixXd records = signed_clipped_records(block, norm_max, 41);
    for (Eigen::Index i = 0; i < records.cols(); ++i) {
      long double squares = 0.0L;
      for (const double number : records.col(i)) squares += static_cast<long double>(number) * number;
      EXPECT_LE(std::sqrt(squares), static_cast<long double>(norm_max));
    }
  }
}

TEST(PerturbedMinimiserTest, IsWithinTheAccuracyOfAnIndependentNewtonRun) {
  for (const NamedDomain& set : domains()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(fmt::format("{} {}", set.name, seed));
      const models::Records block = random_records(60, seed);
      const Eigen::VectorXd start = set.domain.a_point(3);
      const ObjectivePerturbation mechanism = mechanism_of({1.0, 60, 3, set.domain, start.norm()});
      const std::vector<std::int64_t> noise = drawn_noise(3, seed);
      const Eigen::VectorXd found = perturbed_minimiser(block, mechanism, start, noise);
      const Eigen::VectorXd wanted = newton_minimiser(objective_of(block, mechanism, start, noise), set.domain);
      EXPECT_TRUE(set.domain.contains(found, 1e-12));
      EXPECT_LE((found - wanted).norm(), mechanism.accuracy());
      // What the plan allows for is what the iterations' worst case and rounding take: it is met with room.
      EXPECT_LE((found - wanted).norm(), 0.1 * mechanism.accuracy());
    }
  }
}

TEST(PerturbedMinimiserTest, ItsOwnCertificateIsWithinTheAccuracy) {
  // With x' = P(x - grad J(x)/S) a step contracts by 1 - zeta/S, so that ||x - theta|| <= (S/zeta) ||x - x'||.
  for (const NamedDomain& set : domains()) {
    for (const double epsilon : {0.3, 3.0}) {
      SCOPED_TRACE(fmt::format("{} {}", set.name, epsilon));
      const models::Records block = random_records(2000, 5);
      const Eigen::VectorXd start = set.domain.a_point(3);
      const ObjectivePerturbation mechanism = mechanism_of({1.2, 2000, 3, set.domain, start.norm()}, epsilon);
      const std::vector<std::int64_t> noise = drawn_noise(3, 7);
      const Eigen::VectorXd found = perturbed_minimiser(block, mechanism, start, noise);
      const Objective objective = objective_of(block, mechanism, start, noise);
      Eigen::VectorXd stepped = found - objective.gradient(found) / mechanism.smoothness();
      set.domain.project(stepped);
      EXPECT_LE((found - stepped).norm() * mechanism.smoothness() / mechanism.regularisation(), mechanism.accuracy());
    }
  }
}

TEST(PerturbedMinimiserTest, StartsAndRegularisesWhereItIsTold) {
  const models::Records block = random_records(60, 4);
  const Eigen::Vector3d start(3.0, -2.0, 1.0);
  const ObjectivePerturbation mechanism = mechanism_of({1.0, 60, 3, Domain::whole_space(), start.norm()});
  const std::vector<std::int64_t> noise = drawn_noise(3, 4);
  const Eigen::VectorXd found = perturbed_minimiser(block, mechanism, start, noise);
  const Eigen::VectorXd wanted = newton_minimiser(objective_of(block, mechanism, start, noise), Domain::whole_space());
  EXPECT_LE((found - wanted).norm(), mechanism.accuracy());
  const Eigen::VectorXd elsewhere = perturbed_minimiser(block, mechanism, Eigen::Vector3d::Zero(), noise);
  EXPECT_GT((found - elsewhere).norm(), 100.0 * mechanism.accuracy());
}

TEST(PerturbedMinimiserTest, MeetsTheAccuracyOnTheHardestRecords) {
  // All alike and misclassified as far as the noise pulls: the loss is flat there, and zeta alone bends it. Noise of
  // 30 deviations is cut first.
  const std::int64_t one = std::int64_t{1} << ObjectivePerturbation::kNoiseLog2Stddev;
  for (const std::int64_t pull : {-30 * one, -one, std::int64_t{0}, one, 30 * one}) {
    SCOPED_TRACE(pull);
    models::Records block{Eigen::MatrixXd::Ones(1, 50), Eigen::VectorXd::Ones(50)};
    const ObjectivePerturbation mechanism = mechanism_of({1.0, 50, 1, Domain::whole_space(), 0.0});
    const std::vector<std::int64_t> noise = {pull};
    const Eigen::VectorXd found = perturbed_minimiser(block, mechanism, Eigen::VectorXd::Zero(1), noise);
    // The root of -1/(1 + e^t) + zeta t + b, by halving.
    const double v = signed_clipped_records(block, 1.0, 1)(0, 0);
    const double b = mechanism.noise_vector(noise)[0];
    double low = -(1.0 + std::abs(b)) / mechanism.regularisation();
    double high = -low;
    for (int i = 0; i < 200; ++i) {
      const double middle = 0.5 * (low + high);
      (-v / (1.0 + std::exp(v * middle)) + mechanism.regularisation() * middle + b > 0.0 ? high : low) = middle;
    }
    EXPECT_NEAR(found[0], low, mechanism.accuracy());
  }
}

TEST(PerturbedMinimiserTest, GivenTheIdealReleaseNeighboursAreWithinTwiceTheAccuracy) {
  // What the output's noise hides. One data set's b makes M = theta + nu; the other's is the b' that makes the same M.
  for (const NamedDomain& set : domains()) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(fmt::format("{} {}", set.name, seed));
      const models::Records block = random_records(60, seed);
      models::Records neighbour = block;
      neighbour.features.col(17) << -40.0, 3.0;
      neighbour.targets[17] = -block.targets[17];
      const Eigen::VectorXd start = set.domain.a_point(3);
      const ObjectivePerturbation mechanism = mechanism_of({1.0, 60, 3, set.domain, start.norm()});
      const std::vector<std::int64_t> noise = drawn_noise(3, seed);
      const Objective one = objective_of(block, mechanism, start, noise);
      const Objective other = objective_of(neighbour, mechanism, start, noise);
      const Eigen::VectorXd theta = newton_minimiser(one, set.domain);
      const Eigen::VectorXd difference = one.gradient(theta) - other.gradient(theta);  // b' - b
      EXPECT_LE(difference.norm(), 2.0 / 60.0);
      std::vector<std::int64_t> noise_of_other = noise;
      const double unit = std::ldexp(mechanism.noise_stddev(), -ObjectivePerturbation::kNoiseLog2Stddev);
      for (std::size_t j = 0; j < noise.size(); ++j)
        noise_of_other[j] += std::llrint(difference[static_cast<Eigen::Index>(j)] / unit);
      const Eigen::VectorXd first = perturbed_minimiser(block, mechanism, start, noise);
      const Eigen::VectorXd second = perturbed_minimiser(neighbour, mechanism, start, noise_of_other);
      EXPECT_LE((first - second).norm(), 2.0 * mechanism.accuracy());
      // In units of the output's lattice too, by twice its clip.
      const std::vector<std::int64_t> a = mechanism.output_units(first);
      const std::vector<std::int64_t> b = mechanism.output_units(second);
      double squares = 0.0;
      for (std::size_t j = 0; j < a.size(); ++j) squares += std::pow(static_cast<double>(a[j] - b[j]), 2);
      EXPECT_LE(std::sqrt(squares), 2.0 * static_cast<double>(mechanism.output().lattice.clip));
    }
  }
}

TEST(PerturbedMinimiserTest, IsOneFunctionOfItsArguments) {
  const models::Records block = random_records(60, 9);
  const ObjectivePerturbation mechanism = mechanism_of({1.0, 60, 3, Domain::l2_ball(2.0).value(), 0.0});
  const std::vector<std::int64_t> noise = drawn_noise(3, 9);
  const Eigen::VectorXd start = Eigen::VectorXd::Zero(3);
  EXPECT_EQ(perturbed_minimiser(block, mechanism, start, noise), perturbed_minimiser(block, mechanism, start, noise));
  // In another order it is another rounding of the same sums.
  models::Records reversed = block;
  reversed.features = block.features.rowwise().reverse();
  reversed.targets = block.targets.reverse();
  EXPECT_LE(
      (perturbed_minimiser(block, mechanism, start, noise) - perturbed_minimiser(reversed, mechanism, start, noise))
          .norm(),
      1e-12);
}

TEST(PerturbedMinimiserTest, ABrokenRecordPullsAtNothing) {
  models::Records broken = random_records(60, 10);
  broken.features(1, 30) = kNan;
  const ObjectivePerturbation mechanism = mechanism_of({1.0, 60, 3, Domain::whole_space(), 0.0});
  const std::vector<std::int64_t> noise = drawn_noise(3, 10);
  const Eigen::VectorXd start = Eigen::VectorXd::Zero(3);
  const Eigen::VectorXd found = perturbed_minimiser(broken, mechanism, start, noise);
  // Of the other 59 records, whose mean is still over 60.
  Objective others = objective_of(broken, mechanism, start, noise);
  EXPECT_TRUE(others.records.col(30).isZero(0.0));
  EXPECT_LE((found - newton_minimiser(others, Domain::whole_space())).norm(), mechanism.accuracy());
  broken.targets[30] = kInfinity;  // broken in another way: nothing else of it is looked at
  broken.features.col(30) << 5.0, 5.0;
  EXPECT_EQ(found, perturbed_minimiser(broken, mechanism, start, noise));
}

TEST(PerturbedMinimiserTest, ErrsLessWithMoreRecords) {
  // Spec constraint-geometry G6, in short: the un-noised distance to a minimiser without privacy falls like 1/n.
  double last = kInfinity;
  for (const Eigen::Index count : {500, 2000, 8000}) {
    SCOPED_TRACE(count);
    const Domain ball = Domain::l2_ball(1.0).value();
    double sum = 0.0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const models::Records block = random_records(count, 100 + seed);
      const ObjectivePerturbation mechanism = mechanism_of({1.0, count, 3, ball, 0.0});
      const Eigen::VectorXd start = Eigen::VectorXd::Zero(3);
      Objective plain = objective_of(block, mechanism, start, {0, 0, 0});
      plain.zeta = 1e-6;
      const Eigen::VectorXd found = perturbed_minimiser(block, mechanism, start, drawn_noise(3, seed));
      sum += (found - newton_minimiser(plain, ball)).norm();
    }
    EXPECT_LT(sum, 0.5 * last);
    last = sum;
  }
}

}  // namespace
}  // namespace undertone::silo
