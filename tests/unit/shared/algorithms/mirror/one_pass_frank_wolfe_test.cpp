#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/algorithms/mirror/one_pass_bounds.hpp"
#include "shared/algorithms/mirror/poly_frank_wolfe.hpp"
#include "shared/algorithms/mirror/tree_frank_wolfe.hpp"
#include "shared/config/json_section.hpp"

/// The one-pass Frank-Wolfe methods beside `noisy_frank_wolfe`: on trees, and with recursive momentum.
namespace undertone::algorithms {
namespace {

using geometry::Domain;
using geometry::FrankWolfeSet;

Problem in_ball() {
  Problem problem;
  problem.dimension = 3;
  problem.domain = Domain::l1_ball(2.0).value();
  return problem;
}
FrankWolfeSet ball_set() { return FrankWolfeSet::create(geometry::L1Ball{2.0}, 1.0, 3).value(); }

TreeFrankWolfeSettings tree_of(std::uint64_t depth) { return {in_ball(), ball_set(), depth, 0.5}; }
PolyFrankWolfeSettings recursive_of(std::uint64_t rounds, double step) {
  return {in_ball(), ball_set(), rounds, step, 0.5};
}

std::string said_of(const Method& method) {
  const auto made = method->make();
  return made ? "accepted" : made.error().message;
}

/// Something that is no noise and looks like it: another vector for every round.
Eigen::Vector3d disturbance(std::uint64_t round, double size) {
  const auto k = static_cast<double>(round + 1);
  return size * Eigen::Vector3d(std::sin(3.0 * k), std::cos(5.0 * k), std::sin(7.0 * k + 1.0));
}

/// F(x) = ||x - c||^2/2, disturbed: its gradient where one is asked for, its difference where that is.
folds::Gathered disturbed_answer(const queries::Query& query, double size) {
  const Eigen::Vector3d c(1.5, -1.0, 0.2);
  const std::vector<queries::NamedPoint> points = queries::named_points(query.question);
  Eigen::VectorXd mean = points[0].value;
  mean -= points.size() == 2 ? Eigen::VectorXd(points[1].value) : Eigen::VectorXd(c);
  mean += disturbance(query.round.value, size);
  return {query.round, 1, folds::Mean{mean}, 10};
}
/// Over the ball: c less a soft threshold of 0.25.
double excess_of(const Eigen::VectorXd& x) {
  const Eigen::Vector3d c(1.5, -1.0, 0.2);
  return 0.5 * (x - c).squaredNorm() - 0.5 * (Eigen::Vector3d(1.25, -0.75, 0.0) - c).squaredNorm();
}

Eigen::VectorXd end_of(const Method& method, double size, std::uint64_t restart = UINT64_MAX) {
  auto algorithm = method->make().value();
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    if (query->round.value == restart) {
      ByteWriter saved;
      algorithm->save(saved);
      const std::string bytes = std::move(saved).bytes();
      algorithm = method->make().value();
      ByteReader reader(bytes);
      EXPECT_TRUE(algorithm->restore(reader));
      EXPECT_TRUE(reader.end());
      step = algorithm->start();
      query = std::get_if<queries::Query>(&step);
    }
    step = algorithm->advance(disturbed_answer(*query, size)).value();
  }
  return std::get<Finished>(step).outcome.vectors.at("weights");
}

/// The source's own words: every tree walked depth first, a left child a copy of its parent, a right child its parent's
/// estimate and a fresh difference, a leaf a step.
struct DepthFirstTrees {
  double size;
  Eigen::VectorXd x = Eigen::Vector3d::Zero();
  std::uint64_t messages = 0;
  std::uint64_t steps = 0;
  std::vector<std::uint64_t> uses = {};  // by message, of how many leaves' estimates it is a part
  double farthest = 0.0;                 // 2^j ||x - X_parent||_1 / D of right children, at most

  struct Node {
    Eigen::VectorXd at;
    Eigen::VectorXd estimate;
    std::vector<std::uint64_t> parts;
  };
  void visit(const Node& node, std::uint64_t depth, std::uint64_t tree) {
    if (depth == tree) {
      ++steps;
      for (const std::uint64_t part : node.parts) ++uses[part];
      x += 2.0 / static_cast<double>(steps + 1) * (ball_set().minimiser(node.estimate) - x);
      return;
    }
    visit(node, depth + 1, tree);
    Node right = node;
    const double moved = (x - node.at).lpNorm<1>() / 4.0;
    farthest = std::max(farthest, std::ldexp(moved, static_cast<int>(depth) + 1));
    right.estimate += x - node.at + disturbance(messages, size);
    right.at = x;
    right.parts.push_back(messages++);
    uses.push_back(0);
    visit(right, depth + 1, tree);
  }
  Eigen::VectorXd run(std::uint64_t phases) {
    for (std::uint64_t t = 1; t <= phases; ++t) {
      const Eigen::Vector3d c(1.5, -1.0, 0.2);
      Node root{x, x - c + disturbance(messages, size), {messages}};
      ++messages;
      uses.push_back(0);
      visit(root, 0, t);
    }
    return x;
  }
};

TEST(TreeFrankWolfeTest, IsTheWalkOfItsTrees) {
  for (std::uint64_t depth = 1; depth <= 5; ++depth) {
    DepthFirstTrees trees{0.3};
    const Eigen::VectorXd walked = trees.run(depth);
    const Method method = tree_of(depth);
    EXPECT_EQ(trees.messages, method->extent().rounds);
    EXPECT_LE((end_of(method, 0.3) - walked).norm(), 1e-12) << depth;
    // A parent and its right child are apart by 2 D 2^-j at most. Source: spec non-euclidean 3.5.
    EXPECT_LE(trees.farthest, 2.0 * (1.0 + 1e-12));
    // A node of depth j is a part of 2^(t-j) leaves; the last tree's root of all of its.
    EXPECT_EQ(trees.uses[method->extent().rounds - (std::uint64_t{1} << depth)], std::uint64_t{1} << depth);
  }
}

TEST(TreeFrankWolfeTest, EveryNodeReadsRecordsOfItsOwn) {
  const auto bound =
      releases::DualBound::create(*releases::ClipNorm::create(2.0), std::numeric_limits<double>::infinity(), 3).value();
  for (std::uint64_t depth = 1; depth <= 5; ++depth) {
    const planning::Schedule schedule = Method(tree_of(depth))->schedule({bound, 1.0});
    ASSERT_EQ(schedule.size(), (std::size_t{2} << depth) - 2);
    // b (T + T(T+1)/4) records, b of a root. Source: spec non-euclidean A3 and 5.10.
    const auto root = std::int64_t{1} << depth;
    const auto all = static_cast<std::int64_t>(static_cast<double>(root) * static_cast<double>(depth) *
                                               (1.0 + static_cast<double>(depth + 1) / 4.0));
    std::int64_t next = 0;
    std::size_t entry = 0;
    for (std::uint64_t t = 1; t <= depth; ++t) {
      for (std::uint64_t leaf = 0; leaf < (std::uint64_t{1} << t); ++leaf, ++entry) {
        const releases::Ask& ask = schedule[entry].ask;
        EXPECT_EQ(ask.kind(),
                  leaf == 0 ? releases::QuestionKind::Gradient : releases::QuestionKind::GradientDifference);
        const auto positions = ask.records.slice->positions(3 * all + 1);
        EXPECT_EQ(positions.from, next);
        std::int64_t size = root;
        for (std::uint64_t half = std::uint64_t{1} << t; leaf % half != 0; half /= 2) size /= 2;
        EXPECT_EQ(positions.to - positions.from, 3 * size) << t << " " << leaf;
        next = positions.to;
      }
    }
    EXPECT_EQ(next, 3 * all);
  }
}

TEST(TreeFrankWolfeTest, WithoutNoiseItConvergesAsFrankWolfe) {
  // 2 beta D^2/(K + 1) after K = 2^(T+1) - 2 steps; beta 1 and D 4 in l_1.
  for (const std::uint64_t depth : {2U, 4U, 6U, 8U}) {
    const Eigen::VectorXd out = end_of(tree_of(depth), 0.0);
    const auto steps = static_cast<double>((2U << depth) - 2);
    EXPECT_GE(excess_of(out), -1e-12);
    EXPECT_LE(excess_of(out), 32.0 / (steps + 1.0)) << depth;
    EXPECT_LE(out.lpNorm<1>(), 2.0 * (1.0 + 1e-12));
  }
}

TEST(PolyFrankWolfeTest, ForgetsAShareOfWhatItLearntAndLearnsItAnew) {
  // By hand, eta 1/2, c = (1.5, -1, 0.2), x_0 = 0: d_0 = -c, so 2 e_1 and x_1 = e_1. D = x_1 - x_0 = e_1 exactly, G is
  // told as 0: d_1 = (1 - eta)(d_0 + D) = 1/2 (-0.5, 1, -0.2), so -2 e_2 and x_2 = (0.5, -1, 0).
  const auto algorithm = Method(recursive_of(1, 0.5))->make().value();
  Step step = algorithm->start();
  const auto told = [&](const Eigen::Vector3d& mean) {
    const RoundIndex round = std::get<queries::Query>(step).round;
    step = algorithm->advance({round, 1, folds::Mean{mean}, 10}).value();
  };
  told(Eigen::Vector3d(-1.5, 1.0, -0.2));
  Eigen::VectorXd pair(6);
  pair << 1, 0, 0, 0, 0, 0;
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(step).question), pair);
  told(Eigen::Vector3d(1.0, 0.0, 0.0));
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(step).question), Eigen::VectorXd(Eigen::Vector3d(1, 0, 0)));
  told(Eigen::Vector3d::Zero());
  ASSERT_TRUE(std::holds_alternative<Finished>(step));
  EXPECT_EQ(std::get<Finished>(step).outcome.vectors.at("weights"), Eigen::VectorXd(Eigen::Vector3d(0.5, -1, 0)));
}

TEST(PolyFrankWolfeTest, ReadsEveryRecordOnce) {
  const auto bound =
      releases::DualBound::create(*releases::ClipNorm::create(2.0), std::numeric_limits<double>::infinity(), 3).value();
  const planning::Schedule schedule = Method(recursive_of(3, 0.5))->schedule({bound, 1.0});
  ASSERT_EQ(schedule.size(), 7U);
  std::int64_t next = 0;
  for (std::size_t t = 0; t < schedule.size(); ++t) {
    const releases::Ask& ask = schedule[t].ask;
    const auto positions = ask.records.slice->positions(121);
    EXPECT_EQ(positions.from, next);
    EXPECT_EQ(positions.to - positions.from, t == 0 ? 60 : 10);
    next = positions.to;
    const bool difference = t % 2 == 1;
    EXPECT_EQ(ask.kind(), difference ? releases::QuestionKind::GradientDifference : releases::QuestionKind::Gradient);
    EXPECT_EQ(std::get<releases::DualBound>(ask.bound).clip().value(), difference ? 4.0 : 2.0);
  }
}

TEST(PolyFrankWolfeTest, WithoutNoiseItComesNearTheOptimum) {
  // As of steps of one size: within eta beta D^2 = 0.02 16, beta 1 and D 4 in l_1.
  const Eigen::VectorXd out = end_of(recursive_of(400, 0.02), 0.0);
  EXPECT_GE(excess_of(out), -1e-12);
  EXPECT_LE(excess_of(out), 0.02 * 16.0);
}

TEST(OnePassFrankWolfeTest, RestoredAtAnyRoundItEndsTheSameToTheBit) {
  for (const queries::PointType type : {queries::PointType::F64, queries::PointType::F32}) {
    TreeFrankWolfeSettings tree = tree_of(3);
    tree.problem.point_type = type;
    PolyFrankWolfeSettings recursive = recursive_of(4, 0.3);
    recursive.problem.point_type = type;
    for (const Method& method : {Method(tree), Method(recursive)}) {
      const Eigen::VectorXd whole = end_of(method, 0.2);
      for (std::uint64_t round = 0; round < method->extent().rounds; ++round)
        EXPECT_EQ(end_of(method, 0.2, round), whole) << method->name() << " " << round;
    }
  }
}

TEST(OnePassFrankWolfeTest, RefusesWhatItCannotRun) {
  const auto finds = [](const Method& method, const std::string& problem) {
    EXPECT_NE(said_of(method).find(problem), std::string::npos) << said_of(method);
  };
  EXPECT_EQ(said_of(tree_of(10)), "accepted");
  finds(tree_of(0), "a depth must be in 1 to 10, got 0");
  finds(tree_of(11), "a depth must be in 1 to 10, got 11");
  finds(recursive_of(0, 0.5), "no rounds");
  for (const double step : {0.0, 1.5, std::nan("")}) finds(recursive_of(3, step), "a step must be in (0, 1]");
  TreeFrankWolfeSettings tree = tree_of(2);
  tree.smoothness = 0.0;
  finds(tree, "the smoothness of tree Frank-Wolfe");
  PolyFrankWolfeSettings regularised = recursive_of(3, 0.5);
  regularised.problem.regulariser = geometry::Regulariser::squared_l2(0.1, 3).value();
  finds(regularised, "expected no regulariser");
  // What a job writes in 64 bits does not wrap around.
  EXPECT_EQ(Method(recursive_of(UINT64_MAX, 0.5))->extent().rounds, UINT64_MAX);
}

TEST(OnePassFrankWolfeTest, ReadsItsKeys) {
  const auto problems_of = [](const nlohmann::json& written, auto parse) {
    config::Problems problems("job.json");
    config::Section section(written, "/algorithm", problems);
    (void)parse(section, in_ball());
    section.finish();
    return problems.none() ? "accepted" : problems.error().message;
  };
  EXPECT_EQ(problems_of({{"depth", 3}, {"smoothness", 1}, {"set", {{"norm", 1}}}}, TreeFrankWolfe::parse), "accepted");
  EXPECT_NE(problems_of({{"depth", 11}, {"smoothness", 1}, {"set", {{"norm", 1}}}}, TreeFrankWolfe::parse)
                .find("/algorithm/depth: expected an integer from 1 to 10, got 11"),
            std::string::npos);
  EXPECT_EQ(problems_of({{"rounds", 3}, {"step_size", 0.5}, {"smoothness", 1}, {"set", {{"norm", 1}}}},
                        PolyFrankWolfe::parse),
            "accepted");
  EXPECT_NE(problems_of({{"rounds", 3}, {"step_size", 0.5}, {"set", {{"norm", 1}}}}, PolyFrankWolfe::parse)
                .find("/algorithm/smoothness: missing"),
            std::string::npos);
}

// D = 4, beta = 1/2, L = 2, v = 0.01, b = 100 records, d = 3.
constexpr OnePassFacts kFacts{2.0, 0.01, 100.0};

TEST(OnePassBoundsTest, OfATreeIsTheFormula) {
  // r_1 = min(4, 2) = 2, so P = 0.01 (1 + 4) + 0.04 (1 + 2) = 0.17; 2 beta D^2/4 = 4.
  EXPECT_NEAR(one_pass_risk(tree_of(1), kFacts)->bound, 4.0 + 4.0 * std::sqrt(2.0 * std::log(6.0) * 0.17), 1e-12);
  // r_2 = 2 too: P = 0.01 * 9 + 0.04 (1 + 2 + 1) = 0.25; 2 beta D^2/8 = 2.
  EXPECT_NEAR(one_pass_risk(tree_of(2), kFacts)->bound, 2.0 + 4.0 * std::sqrt(2.0 * std::log(6.0) * 0.25), 1e-12);
  // Of L = 1/4 differences are cut: r_1 = min(4, 16) = 4; P = 0.01 * 17 + 0.000625 (1 + 8).
  EXPECT_NEAR(one_pass_risk(tree_of(1), {0.25, 0.01, 100.0})->bound,
              4.0 + 4.0 * std::sqrt(2.0 * std::log(6.0) * 0.175625), 1e-12);
}

TEST(OnePassBoundsTest, OfTheRecursionIsTheFormula) {
  // c = 1/2, Q = 0.04 + 0.08, P_0 = 0.05, P_1 = (0.05 + 0.03)/4 + 0.03 = 0.05.
  const double error = std::sqrt(2.0 * std::log(6.0) * 0.05);
  EXPECT_NEAR(one_pass_risk(recursive_of(1, 0.5), kFacts)->bound, 8.0 / 4.0 + 1.5 * (2.0 * error + 1.0), 1e-12);
}

TEST(OnePassBoundsTest, AreOfL1AndOfTheseMethodsAlone) {
  EXPECT_DOUBLE_EQ(one_pass_risk(Method(tree_of(1)), kFacts)->bound, one_pass_risk(tree_of(1), kFacts)->bound);
  EXPECT_DOUBLE_EQ(one_pass_risk(Method(recursive_of(4, 0.2)), kFacts)->bound,
                   one_pass_risk(recursive_of(4, 0.2), kFacts)->bound);
  TreeFrankWolfeSettings euclidean = tree_of(1);
  euclidean.set = FrankWolfeSet::create(geometry::LpBall{2.0, 1.0}, 2.0, 3).value();
  EXPECT_FALSE(one_pass_risk(Method(euclidean), kFacts));
}

}  // namespace
}  // namespace undertone::algorithms
