#include "shared/algorithms/frank_wolfe/constrained_frank_wolfe.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/algorithms/number.hpp"
#include "shared/config/json_section.hpp"
#include "tests/support/measured.hpp"
#include "tests/support/noisy_cohort.hpp"

namespace undertone::algorithms {
namespace {

using Eigen::VectorXd;
using geometry::Domain;
using geometry::LinearOracle;
using tests::KnownProblem;
using tests::NoisyCohort;

/// 1/2 ||w - c||^2 over a domain, whose Gamma is its squared diameter.
struct OracleProblem {
  KnownProblem known;
  ConstrainedFrankWolfeSettings settings;
};

std::vector<OracleProblem> oracle_problems(std::uint64_t iterates) {
  VectorXd centre(12);
  centre << 0.9, -0.4, 0.3, 0.2, 0.1, -0.1, 0.0, 0.05, 0.7, -0.6, 0.2, 0.1;
  std::vector<OracleProblem> out;
  for (const Domain& domain :
       {Domain::l2_ball(1.0).value(), Domain::box(-0.5, 0.5).value(), Domain::l1_ball(1.0).value(),
        Domain::simplex(1.0).value(), Domain::group_ball(1.0, 4).value(), Domain::mixed_ball(1.0, 0.5).value(),
        Domain::nuclear_ball(1.0, 3).value()}) {
    KnownProblem known;
    known.name = domain.name();
    known.problem.dimension = centre.size();
    known.problem.domain = domain;
    known.silos = {{[centre](const VectorXd& w) { return 0.5 * (w - centre).squaredNorm(); },
                    [centre](const VectorXd& w) -> VectorXd { return w - centre; }}};
    known.minimiser = centre;
    domain.project(known.minimiser);
    known.minimum = 0.5 * (known.minimiser - centre).squaredNorm();
    const LinearOracle oracle = LinearOracle::create(domain, centre.size()).value();
    const double diameter = oracle.diameter();
    ConstrainedFrankWolfeSettings settings{known.problem, oracle, iterates, diameter * diameter};
    out.push_back({std::move(known), std::move(settings)});
  }
  return out;
}

std::string oracle_refusal_of(const nlohmann::json& algorithm, const Problem& problem) {
  config::Problems problems("job.json");
  config::Section section(algorithm, "/algorithm", problems);
  const ParsedMethod method = ConstrainedFrankWolfe::parse(section, problem);
  section.finish();
  if (!problems.none()) return problems.error().message;
  const auto made = method.method->make();
  return made ? "accepted" : made.error().message;
}

TEST(ConstrainedFrankWolfeTest, StepsAsComputedByHand) {
  // Over the l1 ball of radius 1 from 0: the gradients (1, 0), (0, -3) choose -e_1 with mu_1 = 1, then e_2 with mu_2 =
  // 2/3: (-1/3, 2/3).
  Problem problem;
  problem.dimension = 2;
  problem.domain = Domain::l1_ball(1.0).value();
  const auto algorithm =
      Method(ConstrainedFrankWolfeSettings{problem, LinearOracle::create(problem.domain, 2).value(), 3})
          ->make()
          .value();
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(algorithm->start()).question), Eigen::Vector2d::Zero());
  const Step second = algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::Vector2d(1.0, 0.0)}}).value();
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(second).question), Eigen::Vector2d(-1.0, 0.0));
  const Step last = algorithm->advance({RoundIndex{1}, 1, folds::Mean{Eigen::Vector2d(0.0, -3.0)}}).value();
  EXPECT_LE((std::get<Finished>(last).outcome.vectors.at("weights") - Eigen::Vector2d(-1.0 / 3.0, 2.0 / 3.0)).norm(),
            1e-15);
}

TEST(ConstrainedFrankWolfeTest, WithoutNoiseItIsTheTextbooksWithItsRate) {
  // Theorem 5.2: 2 Gamma/(T+1), over every set with an oracle.
  for (const std::uint64_t iterates : {2U, 10U, 200U}) {
    for (const OracleProblem& one : oracle_problems(iterates)) {
      SCOPED_TRACE(fmt::format("{} {}", one.known.name, iterates));
      const VectorXd w = NoisyCohort(one.known, {}).train(*Method(one.settings)->make().value());
      EXPECT_TRUE(one.known.problem.domain.contains(w, 1e-9));
      EXPECT_LE(one.known.excess(w), 2.0 * *one.settings.curvature / (number(iterates) + 1.0));
      EXPECT_GE(one.known.excess(w), -1e-12);
    }
  }
}

TEST(ConstrainedFrankWolfeTest, WithNoiseItKeepsItsBound) {
  constexpr double kStddev = 0.5;
  for (const OracleProblem& one : oracle_problems(40)) {
    SCOPED_TRACE(one.known.name);
    const double bound = 2.0 * *one.settings.curvature / 41.0 + kStddev * one.settings.oracle.width();
    EXPECT_NEAR(frank_wolfe_risk_over(one.settings, kStddev * kStddev), bound, 1e-12);
    const tests::Measured excess = tests::average(tests::kRuns, [&](std::uint64_t seed) {
      return one.known.excess(NoisyCohort(one.known, {{kStddev}, seed}).train(*Method(one.settings)->make().value()));
    });
    tests::expect_held(excess, bound, 0.02);
  }
}

TEST(ConstrainedFrankWolfeTest, RestoredAtAnyRoundItEndsTheSameToTheBit) {
  const OracleProblem one = oracle_problems(7).at(4);
  const auto run = [&](std::uint64_t restart) {
    auto algorithm = Method(one.settings)->make().value();
    Step step = algorithm->start();
    for (std::uint64_t round = 0; round < 6; ++round) {
      if (round == restart) {
        ByteWriter writer;
        algorithm->save(writer);
        const std::string saved = std::move(writer).bytes();
        algorithm = Method(one.settings)->make().value();
        ByteReader reader(saved);
        EXPECT_TRUE(algorithm->restore(reader));
        step = algorithm->start();
      }
      const VectorXd at = queries::point_of(std::get<queries::Query>(step).question);
      step = algorithm->advance({RoundIndex{round}, 1, folds::Mean{one.known.gradient(at)}}).value();
    }
    return std::get<Finished>(step).outcome.vectors.at("weights");
  };
  const VectorXd whole = run(99);
  for (std::uint64_t restart = 0; restart < 6; ++restart) EXPECT_EQ(run(restart), whole);
}

TEST(ConstrainedFrankWolfeTest, PrintsItsNoiseAndPredictsWithAKnownCurvatureAlone) {
  // T = 100, epsilon 2, delta 1e-6: 4/(sqrt(3200) ln 1e8).
  OracleProblem one = oracle_problems(100).front();
  EXPECT_NEAR(Method(one.settings)->theorem_noise({50.0, 50.0, 2.0, 1e-6}).value().gradients.front(),
              4.0 / (56.568542494923804 * 18.420680743952367), 1e-15);
  const releases::ClipNorm clip = *releases::ClipNorm::create(1.0);
  EXPECT_TRUE(Method(one.settings)->predicted_risk(clip, 0.1, false));
  one.settings.curvature.reset();
  EXPECT_FALSE(Method(one.settings)->predicted_risk(clip, 0.1, true));
}

TEST(ConstrainedFrankWolfeTest, ReadsItsSectionAndRefusesWhatItCannotRun) {
  const auto finds = [](const std::string& said, const std::string& part) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  Problem problem;
  problem.dimension = 3;
  problem.domain = Domain::group_ball(1.0, 2).value();
  EXPECT_EQ(oracle_refusal_of({{"iterates", 5}}, problem), "accepted");
  finds(oracle_refusal_of({{"iterates", 1}}, problem), "expected an integer from 2");
  const nlohmann::json corners = {{"kind", "listed"}, {"points", {{1, 0, 0}, {0, 2, 0}}}};
  finds(oracle_refusal_of({{"iterates", 5}, {"vertices", corners}}, problem), "expected the whole space");
  problem.domain = Domain::whole_space();
  EXPECT_EQ(oracle_refusal_of({{"iterates", 5}, {"vertices", corners}}, problem), "accepted");
  finds(oracle_refusal_of({{"iterates", 5}}, problem), "no minimum over the whole space: expected the l2 ball");
  problem.domain = Domain::l1_ball(1.0).value();
  problem.regulariser = geometry::Regulariser::l1(0.1, 3).value();
  finds(oracle_refusal_of({{"iterates", 5}}, problem), "expected a smooth regulariser");
}

}  // namespace
}  // namespace undertone::algorithms
