#include "shared/algorithms/mirror/stochastic_mirror_descent.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/base/random_source.hpp"
#include "shared/config/json_section.hpp"

namespace undertone::algorithms {
namespace {

using geometry::Domain;
using geometry::EntropyMap;
using geometry::MirrorMap;

Problem over_simplex(Eigen::Index dimension = 3) {
  Problem problem;
  problem.dimension = dimension;
  problem.domain = Domain::simplex(1.0).value();
  return problem;
}

StochasticMirrorDescentSettings epochs_of(std::uint64_t epochs, std::uint64_t parts, double step_size,
                                          Eigen::Index dimension = 3) {
  return {over_simplex(dimension), MirrorMap(EntropyMap::create(1.0, dimension).value()), epochs, parts, step_size};
}

std::string epochs_refusal_of(const StochasticMirrorDescentSettings& settings) {
  const auto made = Method(settings)->make();
  return made ? "accepted" : made.error().message;
}

/// @param gradient of a round's point and number
template <class Gradient>
Eigen::VectorXd run_epochs(const StochasticMirrorDescentSettings& settings, const Gradient& gradient,
                           std::uint64_t restart = UINT64_MAX) {
  auto algorithm = Method(settings)->make().value();
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    if (query->round.value == restart) {
      ByteWriter saved;
      algorithm->save(saved);
      const std::string bytes = std::move(saved).bytes();
      algorithm = Method(settings)->make().value();
      ByteReader reader(bytes);
      EXPECT_TRUE(algorithm->restore(reader));
      EXPECT_TRUE(reader.end());
      step = algorithm->start();
      query = std::get_if<queries::Query>(&step);
    }
    const Eigen::VectorXd at = queries::point_of(query->question);
    EXPECT_NEAR(at.sum(), 1.0, 1e-6);
    step = algorithm->advance({query->round, 1, folds::Mean{Eigen::VectorXd(gradient(at, query->round.value))}, 10})
               .value();
  }
  return std::get<Finished>(step).outcome.vectors.at("weights");
}

TEST(StochasticMirrorDescentTest, StepsAndAveragesAsTheSourceDoes) {
  // eta = ln 2, g = (1, 0) twice, from (1/2, 1/2): the first weight halves against the second in each step. x_1 = (1/3,
  // 2/3), x_2 = (1/5, 4/5), and the mean of x_1, x_2 is (4/15, 11/15).
  const Eigen::VectorXd out = run_epochs(epochs_of(1, 2, std::log(2.0), 2), [](const Eigen::VectorXd&, std::uint64_t) {
    return Eigen::Vector2d(1.0, 0.0);
  });
  EXPECT_NEAR(out[0], 4.0 / 15.0, 1e-15);
  EXPECT_NEAR(out[1], 11.0 / 15.0, 1e-15);
}

TEST(StochasticMirrorDescentTest, WithoutNoiseItComesToTheOptimum) {
  // <c, x> over the simplex has its minimum -1 at e_2. The points before each step lose ln 3/(eta T) + eta/2 on average
  // at most; those after it no more, since <c, x_k> falls.
  const Eigen::Vector3d c(1.0, -1.0, 0.5);
  const Eigen::VectorXd out =
      run_epochs(epochs_of(20, 50, 0.05), [&](const Eigen::VectorXd&, std::uint64_t) -> Eigen::VectorXd { return c; });
  EXPECT_GE(c.dot(out) + 1.0, -1e-12);
  EXPECT_LE(c.dot(out) + 1.0, std::log(3.0) / (0.05 * 1000.0) + 0.5 * 0.05);
}

TEST(StochasticMirrorDescentTest, EveryEpochPassesTheSameParts) {
  const auto bound =
      releases::DualBound::create(*releases::ClipNorm::create(2.0), std::numeric_limits<double>::infinity(), 3).value();
  const Method method = epochs_of(3, 4, 0.5);
  const planning::Schedule schedule = method->schedule({bound, 1.0});
  ASSERT_EQ(schedule.size(), 12U);
  EXPECT_EQ(method->extent().rounds, 12U);
  EXPECT_EQ(method->extent().entries, 12U);
  for (std::size_t k = 0; k < 12; ++k) {
    EXPECT_EQ(schedule[k].rounds, 1U);
    const auto positions = schedule[k].ask.records.slice->positions(41);
    EXPECT_EQ(positions.from, static_cast<std::int64_t>(10 * (k % 4)));
    EXPECT_EQ(positions.to - positions.from, 10);
  }
  // Bins count on through the epochs: each draws its own.
  GradientShape shape{bound, 1.0};
  shape.parts = releases::Slice::Assignment::Bins;
  EXPECT_EQ(method->schedule(shape)[11].ask.records.slice->pass(), 2U);
}

TEST(StochasticMirrorDescentTest, IsForSimulationsAlone) {
  const MethodTraits traits = Method(epochs_of(3, 4, 0.5))->traits();
  EXPECT_TRUE(traits.simulated_only);
  EXPECT_TRUE(std::isinf(traits.clip_exponent));
  EXPECT_TRUE(traits.linear_models);
  EXPECT_FALSE(Method(epochs_of(3, 4, 0.5))->theorem_noise({100.0, 100.0, 1.0, 1e-6}));
}

// Lemma A.1 (spec non-euclidean C6): mirror descent is no contraction.
TEST(StochasticMirrorDescentTest, AStepCanMoveTwoPointsApart) {
  const EntropyMap map = EntropyMap::create(1.0, 3).value();
  for (const auto& [eta, about] : {std::pair(0.1, 1.10), {0.5, 1.62}, {1.0, 2.64}}) {
    const double k = std::ceil(100.0 * std::expm1(eta) / eta);
    Eigen::VectorXd x = Eigen::Vector3d(1.0 - 3.0 / k, 1.0 / k, 2.0 / k).array().log().matrix();
    Eigen::VectorXd y = Eigen::Vector3d(1.0 - 3.0 / k, 2.0 / k, 1.0 / k).array().log().matrix();
    const auto apart = [](const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
      return (a.array().exp() - b.array().exp()).matrix().lpNorm<1>();
    };
    const double before = apart(x, y);
    const double divergence = map.divergence(x, y);
    EXPECT_NEAR(before, 2.0 / k, 1e-14);
    EXPECT_NEAR(divergence, std::log(2.0) / k, 1e-14);
    const Eigen::Vector3d gradient(0.0, -1.0, -1.0);
    map.step(gradient, {eta, 1.0}, x);
    map.step(gradient, {eta, 1.0}, y);
    EXPECT_GE(apart(x, y) / before, 1.0 + eta / 4.0);
    EXPECT_GE(map.divergence(x, y) / divergence, 1.0 + eta / 4.0);
    EXPECT_NEAR(apart(x, y) / before, about, 0.01) << eta;
  }
}

/// n records' gradients of linear losses, no coordinate above 1.
Eigen::MatrixXd linear_losses(RandomSource& random) {
  Eigen::MatrixXd out(20, 50);
  for (Eigen::Index i = 0; i < out.cols(); ++i)
    for (Eigen::Index j = 0; j < out.rows(); ++j) out(j, i) = 2.0 * random.unit() - 1.0;
  return out;
}

/// ln x_T over the entropy, of parts of `part` records each, in one order for every epoch or in another for each.
Eigen::VectorXd last_of(const Eigen::MatrixXd& records, const std::vector<std::vector<std::size_t>>& orders,
                        Eigen::Index part, double eta) {
  const EntropyMap map = EntropyMap::create(1.0, records.rows()).value();
  Eigen::VectorXd state = map.start();
  for (const std::vector<std::size_t>& order : orders) {
    for (Eigen::Index k = 0; k < records.cols() / part; ++k) {
      Eigen::VectorXd gradient = Eigen::VectorXd::Zero(records.rows());
      for (Eigen::Index i = 0; i < part; ++i)
        gradient += records.col(static_cast<Eigen::Index>(order[static_cast<std::size_t>(k * part + i)]));
      gradient /= static_cast<double>(part);
      map.step(gradient, {eta, 1.0}, state);
    }
  }
  return state;
}

// Lemma A.2 (spec non-euclidean C7): and yet one record in n moves the end by 2 eta L E/b at most.
TEST(StochasticMirrorDescentTest, OneRecordMovesTheEndLittle) {
  const double eta = 0.05;
  const EntropyMap map = EntropyMap::create(1.0, 20).value();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const Eigen::MatrixXd records = linear_losses(random);
    Eigen::MatrixXd neighbour = records;
    const auto changed = static_cast<Eigen::Index>(random.below(50));
    // As far as losses go: the other end of every coordinate.
    for (Eigen::Index j = 0; j < 20; ++j) neighbour(j, changed) = records(j, changed) > 0.0 ? -1.0 : 1.0;
    for (const std::size_t epochs : {1U, 3U}) {
      for (const bool fresh : {false, true}) {
        for (const Eigen::Index part : {1, 5}) {
          std::vector<std::vector<std::size_t>> orders(epochs, random.permutation(50));
          if (fresh)
            for (auto& order : orders) order = random.permutation(50);
          const Eigen::VectorXd x = last_of(records, orders, part, eta);
          const Eigen::VectorXd y = last_of(neighbour, orders, part, eta);
          const double apart = (x.array().exp() - y.array().exp()).matrix().lpNorm<1>();
          const double both = map.divergence(x, y) + map.divergence(y, x);
          const double bound = 2.0 * eta * static_cast<double>(epochs) / static_cast<double>(part);
          EXPECT_LE(apart * apart, both * (1.0 + 1e-9));
          EXPECT_LE(both, bound * bound);
          EXPECT_GT(both, 0.0);
        }
      }
    }
  }
}

TEST(StochasticMirrorDescentTest, IsWhatTheEntropyStepsSay) {
  // The same through the algorithm, its output the mean of the points: of one order for every epoch.
  RandomSource random(7);
  const Eigen::MatrixXd records = linear_losses(random);
  const EntropyMap map = EntropyMap::create(1.0, 20).value();
  Eigen::VectorXd state = map.start();
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(20);
  for (int k = 0; k < 150; ++k) {
    map.step(records.col(k % 50), {0.05, 1.0}, state);
    sum += state.array().exp().matrix();
  }
  const Eigen::VectorXd out =
      run_epochs(epochs_of(3, 50, 0.05, 20), [&](const Eigen::VectorXd&, std::uint64_t round) -> Eigen::VectorXd {
        return records.col(static_cast<Eigen::Index>(round % 50));
      });
  EXPECT_LE((out - sum / 150.0).norm(), 1e-13);
}

TEST(StochasticMirrorDescentTest, RestoredAtAnyRoundItEndsTheSameToTheBit) {
  for (const queries::PointType type : {queries::PointType::F64, queries::PointType::F32}) {
    StochasticMirrorDescentSettings settings = epochs_of(2, 4, 0.4);
    settings.problem.point_type = type;
    const auto gradient = [](const Eigen::VectorXd& x, std::uint64_t) -> Eigen::VectorXd {
      return x - Eigen::Vector3d(1.5, -2.5, 0.25);
    };
    const Eigen::VectorXd whole = run_epochs(settings, gradient);
    for (std::uint64_t round = 0; round < 8; ++round) EXPECT_EQ(run_epochs(settings, gradient, round), whole) << round;
  }
}

TEST(StochasticMirrorDescentTest, RefusesASavedStateOfAnotherRun) {
  const auto algorithm = Method(epochs_of(2, 2, 0.5))->make().value();
  const auto refused = [&](std::uint64_t round, const std::vector<double>& state) {
    ByteWriter writer;
    writer.u64(round);
    writer.doubles(state.data(), state.size());
    const std::vector<double> average(3, 0.0);
    writer.doubles(average.data(), average.size());
    const std::string bytes = std::move(writer).bytes();
    ByteReader reader(bytes);
    return !algorithm->restore(reader);
  };
  const double third = -std::log(3.0);
  EXPECT_FALSE(refused(2, {third, third, third}));
  EXPECT_TRUE(refused(5, {third, third, third}));
  EXPECT_TRUE(refused(2, {third, third}));
  EXPECT_TRUE(refused(2, {0.0, 0.0, 0.0}));  // weights that add up to 3
  EXPECT_TRUE(refused(2, {std::nan(""), third, third}));
}

TEST(StochasticMirrorDescentTest, RefusesWhatItCannotRun) {
  const auto finds = [](const StochasticMirrorDescentSettings& settings, const std::string& problem) {
    EXPECT_NE(epochs_refusal_of(settings).find(problem), std::string::npos) << epochs_refusal_of(settings);
  };
  finds(epochs_of(2, 3, 0.5), "accepted");
  finds(epochs_of(0, 3, 0.5), "0 epochs of 3 parts: expected 1 to 1000000 rounds in all");
  finds(epochs_of(2, 0, 0.5), "2 epochs of 0 parts");
  finds(epochs_of(1001, 1000, 0.5), "1001 epochs of 1000 parts");
  finds(epochs_of(UINT64_MAX, 2, 0.5), "expected 1 to 1000000 rounds in all");
  EXPECT_EQ(epochs_of(UINT64_MAX, 2, 0.5).extent().rounds, UINT64_MAX);
  for (const double step : {0.0, -1.0, std::nan(""), 1e101})
    finds(epochs_of(2, 3, step), "the step size of stochastic mirror descent");
  StochasticMirrorDescentSettings started = epochs_of(2, 3, 0.5);
  ASSERT_TRUE(started.problem.start_at(Eigen::Vector3d(1.0, 0.0, 0.0)));
  finds(started, "starts at the least point of its potential");
  StochasticMirrorDescentSettings kinked = epochs_of(2, 3, 0.5);
  kinked.problem.regulariser = geometry::Regulariser::l1(0.1, 3).value();
  finds(kinked, "is not smooth");
  StochasticMirrorDescentSettings wide = epochs_of(2, 3, 0.5);
  wide.problem.dimension = 4;
  finds(wide, "a potential of 3 numbers, and a model of 4");
}

TEST(StochasticMirrorDescentTest, RefusesAnswersOfAnotherRound) {
  const auto algorithm = Method(epochs_of(2, 2, 0.5))->make().value();
  EXPECT_FALSE(algorithm->advance({RoundIndex{1}, 1, folds::Mean{Eigen::VectorXd(Eigen::Vector3d::Zero())}, 9}));
  EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::VectorXd(Eigen::Vector2d::Zero())}, 9}));
}

TEST(StochasticMirrorDescentTest, ReadsItsKeys) {
  const auto problems_of = [](const nlohmann::json& written) {
    config::Problems problems("job.json");
    config::Section section(written, "/algorithm", problems);
    const ParsedMethod parsed = StochasticMirrorDescent::parse(section, over_simplex());
    section.finish();
    if (problems.none()) {
      const auto* settings = parsed.method.as<StochasticMirrorDescentSettings>();
      EXPECT_EQ(settings->epochs, 3U);
      EXPECT_EQ(settings->parts, 4U);
      EXPECT_EQ(settings->step_size, 0.5);
    }
    return problems.none() ? "accepted" : problems.error().message;
  };
  nlohmann::json written = {
      {"rounds", 12}, {"passes", 3}, {"step_size", 0.5}, {"geometry", {{"potential", "entropy"}}}};
  EXPECT_EQ(problems_of(written), "accepted");
  written["passes"] = 5;
  EXPECT_NE(problems_of(written).find("/algorithm/passes: expected a divisor of the 12 rounds, got 5"),
            std::string::npos);
  written["passes"] = 0;
  EXPECT_NE(problems_of(written).find("/algorithm/passes: expected"), std::string::npos);
  written.erase("passes");
  EXPECT_NE(problems_of(written).find("/algorithm/passes: missing"), std::string::npos);
}

}  // namespace
}  // namespace undertone::algorithms
