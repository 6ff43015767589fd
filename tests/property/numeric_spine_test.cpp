#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/federation_trace.hpp"
#include "tests/support/repetitions.hpp"

namespace undertone {
namespace {

using tests::Trace;
using tests::trace_of;

/// The clipped mean gradient of everybody, weighted, written down from the textbook: no lattice, no library of ours.
Eigen::VectorXd textbook_gradient(const std::vector<simulation::SimulatedSilo>& silos, const jobs::Job& job,
                                  const Eigen::VectorXd& w) {
  Eigen::VectorXd total = Eigen::VectorXd::Zero(w.size());
  double weights = 0.0;
  for (const simulation::SimulatedSilo& silo : silos) {
    const models::Records& records = silo.dataset.training;
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(w.size());
    for (Eigen::Index i = 0; i < records.count(); ++i) {
      Eigen::VectorXd x(w.size());
      x << records.features.col(i), 1.0;
      const double z = x.dot(w);
      const double y = records.targets[i];
      const double slope = job.model->linear()->loss() == models::Loss::Logistic ? -y / (1.0 + std::exp(y * z)) : z - y;
      Eigen::VectorXd g = slope * x;
      if (g.norm() > job.clip().value()) g *= job.clip().value() / g.norm();
      sum += g;
    }
    const double weight = static_cast<double>(job.member(silo.id)->weight);
    total += weight * sum / static_cast<double>(records.count());
    weights += weight;
  }
  return total / weights;
}

TEST(NumericSpineTest, WithoutNoiseItIsTextbookGradientDescentStepByStep) {
  for (const models::Loss loss : {models::Loss::Logistic, models::Loss::LeastSquares}) {
    for (const double clip : {0.3, 1.0, 50.0}) {
      SCOPED_TRACE(fmt::format("{} clip {}", models::to_string(loss), clip));
      tests::SmallFederation federation;
      federation.loss = loss;
      federation.rounds = 40;
      federation.clip_norm = clip;
      federation.averaging = "last";
      federation.evaluation_every = 0;
      const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
      const std::vector<simulation::SimulatedSilo> silos = federation.cohort();
      const Trace trace = trace_of(federation, simulation::SimulatedNoise::None);
      ASSERT_EQ(trace.asked.size(), 41U);  // 40 gradients, one evaluation
      for (std::size_t r = 0; r + 1 < 40; ++r) {
        const Eigen::VectorXd& w = queries::point_of(trace.asked[r].question);
        Eigen::VectorXd expected = textbook_gradient(silos, job, w);
        expected.head(4) += 0.01 * w.head(4);
        expected = w - 0.5 * expected;
        if (expected.norm() > 5.0) expected *= 5.0 / expected.norm();
        const Eigen::VectorXd& next = queries::point_of(trace.asked[r + 1].question);
        // A coordinate of a record loses less than one lattice step, which is at most clip / (2^10 sqrt(5)), and at
        // most 2^-20 of the clip; the step size halves it.
        const double precision = 0.5 * clip * (1.0 / (1024.0 * std::sqrt(5.0)) + 2e-6) + 1e-12;
        ASSERT_LE((next - expected).cwiseAbs().maxCoeff(), precision) << "step " << r;
      }
    }
  }
}

TEST(NumericSpineTest, NoiseReachesTheModelAtTheScaleThePlansClaim) {
  // One step from zero: w_1 = -eta (g + noise), so the first iterate's spread over seeds is eta times the weighted
  // mean's standard deviation, sqrt(sum (p_i sigma_i)^2), with unequal n_i, epsilon_i, delta_i and weights.
  tests::SmallFederation federation;
  federation.rounds = 2;
  federation.evaluation_every = 0;
  const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
  double variance = 0.0;
  double weights = 0.0;
  for (const jobs::CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
  for (const jobs::CohortMember& member : job.cohort) {
    const planning::Plan plan = jobs::plan_of(job, member).value();
    const planning::Release& release = *plan.release({0});
    const double stddev = std::get<mechanisms::GaussianLattice>(release.mechanism).noise_stddev() /
                          static_cast<double>(release.records_drawn);
    variance += std::pow(static_cast<double>(member.weight) / weights * stddev, 2.0);
  }
  const Eigen::VectorXd quiet =
      queries::point_of(trace_of(federation, simulation::SimulatedNoise::None).asked.at(1).question);
  double squares = 0.0;
  const int seeds = tests::repetitions(150, 400);
  for (int seed = 1; seed <= seeds; ++seed) {
    const Eigen::VectorXd noisy =
        queries::point_of(trace_of(federation, simulation::SimulatedNoise::Seeded, static_cast<std::uint64_t>(seed))
                              .asked.at(1)
                              .question);
    squares += ((noisy - quiet) / 0.5).squaredNorm();
  }
  const double samples = seeds * 5.0;
  EXPECT_NEAR(squares / samples / variance, 1.0, 6.0 * std::sqrt(2.0 / samples));
}

TEST(NumericSpineTest, ARobustCentreOfHonestSilosTrainsAModelAsTheMeanDoes) {
  tests::SmallFederation federation;
  federation.rounds = 30;
  federation.averaging = "last";
  const auto outcome = [&](const char* aggregation) {
    federation.aggregation = aggregation;
    return trace_of(federation, simulation::SimulatedNoise::None).outcome.vectors.at("weights");
  };
  const Eigen::VectorXd mean = outcome("");
  EXPECT_EQ(outcome(R"({"kind":"trimmed_mean","trim":0})"), mean);
  for (const char* robust : {R"({"kind":"trimmed_mean","trim":0.2})", R"({"kind":"geometric_median"})"}) {
    const Eigen::VectorXd weights = outcome(robust);
    EXPECT_NE(weights, mean);  // five silos, of other records each
    EXPECT_LT((weights - mean).norm(), 0.5 * mean.norm()) << robust;
  }
}

TEST(NumericSpineTest, NarrowPointsAreRoundedBeforeTheyAreUsed) {
  tests::SmallFederation federation;
  federation.points = "f32";
  for (const queries::Query& query : trace_of(federation, simulation::SimulatedNoise::Seeded).asked) {
    const Eigen::VectorXd& point = queries::point_of(query.question);
    EXPECT_EQ(point, point.cast<float>().cast<double>());
  }
}

TEST(NumericSpineTest, ASubsampledRoundUsesFreshSubsetsOfTheRightSize) {
  tests::SmallFederation half;
  half.draw_fraction = 0.5;
  half.rounds = 2;
  half.evaluation_every = 0;
  // Without noise only the draw moves the first step: over seeds it varies, and its mean is the full batch's.
  const Eigen::VectorXd full = queries::point_of([&] {
    tests::SmallFederation whole = half;
    whole.draw_fraction = 1.0;
    return trace_of(whole, simulation::SimulatedNoise::None).asked.at(1).question;
  }());
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(5);
  Eigen::VectorXd squares = Eigen::VectorXd::Zero(5);
  const int seeds = tests::repetitions(120, 300);
  for (int seed = 1; seed <= seeds; ++seed) {
    const Eigen::VectorXd off =
        queries::point_of(
            trace_of(half, simulation::SimulatedNoise::None, static_cast<std::uint64_t>(seed)).asked.at(1).question) -
        full;
    sum += off;
    squares += off.cwiseAbs2();
  }
  for (Eigen::Index j = 0; j < 5; ++j) {
    const double stddev = std::sqrt(squares[j] / seeds);
    EXPECT_GT(stddev, 1e-3);
    // Lattice truncation differs between the two by at most a thousandth of the clip.
    EXPECT_NEAR(sum[j] / seeds, 0.0, 6.0 * stddev / std::sqrt(seeds) + 5e-4);
  }
}

}  // namespace
}  // namespace undertone
