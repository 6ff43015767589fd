#include "shared/algorithms/mirror/constrained_mirror_descent.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/algorithms/number.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/config/json_section.hpp"
#include "tests/support/measured.hpp"
#include "tests/support/noisy_cohort.hpp"

namespace undertone::algorithms {
namespace {

using Eigen::VectorXd;
using geometry::Domain;
using tests::KnownProblem;
using tests::NoisyCohort;

Problem over(const Domain& domain, Eigen::Index dimension) {
  Problem problem;
  problem.dimension = dimension;
  problem.domain = domain;
  return problem;
}

ConstrainedMirrorDescentSettings matched(const Problem& problem, std::uint64_t rounds, double step_size) {
  return {problem, geometry::matched_potential(problem.domain, problem.dimension, problem.start()).value(), rounds,
          step_size};
}

std::string mirror_refusal_of(const ConstrainedMirrorDescentSettings& settings) {
  const auto made = Method(settings)->make();
  return made ? "accepted" : made.error().message;
}

std::string mirror_problems_of(const nlohmann::json& algorithm, const Problem& problem, bool strongly_convex = false) {
  config::Problems problems("job.json");
  config::Section section(algorithm, "/algorithm", problems);
  const ParsedMethod method = strongly_convex ? ConstrainedMirrorDescent::parse_strongly_convex(section, problem)
                                              : ConstrainedMirrorDescent::parse(section, problem);
  section.finish();
  if (!problems.none()) return problems.error().message;
  const auto made = method.method->make();
  return made ? std::string(method.method->source()) : made.error().message;
}

/// The weights after all rounds, each answered with this gradient of the point that is asked.
VectorXd trained(const ConstrainedMirrorDescentSettings& settings,
                 const std::function<VectorXd(const VectorXd&)>& gradient) {
  const auto algorithm = Method(settings)->make().value();
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    const folds::Gathered gathered{query->round, 1, folds::Mean{gradient(queries::point_of(query->question))}};
    step = algorithm->advance(gathered).value();
  }
  return std::get<Finished>(step).outcome.vectors.at("weights");
}

/// 1/2 ||w - c||^2 over a domain, its minimum by projection: one silo.
KnownProblem distance_to(const VectorXd& centre, const Domain& domain) {
  KnownProblem known;
  known.problem = over(domain, centre.size());
  known.silos = {{[centre](const VectorXd& w) { return 0.5 * (w - centre).squaredNorm(); },
                  [centre](const VectorXd& w) -> VectorXd { return w - centre; }}};
  known.minimiser = centre;
  domain.project(known.minimiser);
  known.minimum = 0.5 * (known.minimiser - centre).squaredNorm();
  known.gradient_bound = centre.norm() + domain.radius(centre.size()).value();
  known.smoothness = 1.0;
  known.strong_convexity = 1.0;
  return known;
}

std::vector<KnownProblem> matched_problems() {
  VectorXd centre(12);
  centre << 0.9, -0.4, 0.3, 0.2, 0.1, -0.1, 0.0, 0.05, 0.7, -0.6, 0.2, 0.1;
  std::vector<KnownProblem> out;
  for (const Domain& domain :
       {Domain::l2_ball(1.0).value(), Domain::box(-0.5, 0.5).value(), Domain::l1_ball(1.0).value(),
        Domain::simplex(1.0).value(), Domain::group_ball(1.0, 4).value(), Domain::mixed_ball(1.0, 0.5).value(),
        Domain::nuclear_ball(1.0, 3).value()}) {
    out.push_back(distance_to(centre, domain));
    out.back().name = domain.name();
  }
  return out;
}

TEST(ConstrainedMirrorDescentTest, WeighsTheSimplexAsComputedByHand) {
  // Weights 1/2, 1/2; after the gradient (ln 2, 0) they are as 1/4 to 1/2: 1/3, 2/3. The output is their mean.
  const VectorXd out = trained(matched(over(Domain::simplex(1.0).value(), 2), 2, 1.0),
                               [](const VectorXd&) -> VectorXd { return Eigen::Vector2d(std::log(2.0), 0.0); });
  EXPECT_LE((out - Eigen::Vector2d(5.0 / 12.0, 7.0 / 12.0)).norm(), 1e-15);
}

TEST(ConstrainedMirrorDescentTest, IsProjectedDescentOverTheBall) {
  const KnownProblem known = tests::boundary_quadratic();
  const VectorXd mirror = NoisyCohort(known, {}).train(*Method(matched(known.problem, 40, 0.1))->make().value());
  const VectorXd descent =
      NoisyCohort(known, {}).train(*Method(MinibatchSgdSettings{known.problem, 40, 0.1, {}})->make().value());
  EXPECT_LE((mirror - descent).norm(), 1e-13);
}

TEST(ConstrainedMirrorDescentTest, WithoutNoiseEveryPotentialReachesTheOptimumAsItsBoundSays) {
  for (const KnownProblem& known : matched_problems()) {
    SCOPED_TRACE(known.name);
    for (const std::uint64_t rounds : {20U, 300U}) {
      ConstrainedMirrorDescentSettings settings = matched(known.problem, rounds, 1.0);
      const geometry::MatchedPotential& potential = settings.potential;
      settings.step_size = std::sqrt(potential.range * potential.modulus /
                                     (number(rounds) * potential.dual_second_moment(known.gradient_bound, 0.0)));
      const VectorXd w = NoisyCohort(known, {}).train(*Method(settings)->make().value());
      EXPECT_TRUE(known.problem.domain.contains(w, 1e-9));
      EXPECT_LE(known.excess(w), mirror_risk(settings, known.gradient_bound, 0.0));
      EXPECT_GE(known.excess(w), -1e-12);
    }
  }
}

TEST(ConstrainedMirrorDescentTest, WithNoiseEveryPotentialKeepsItsBound) {
  for (const KnownProblem& known : matched_problems()) {
    SCOPED_TRACE(known.name);
    constexpr std::uint64_t kRounds = 100;
    constexpr double kStddev = 1.0;
    ConstrainedMirrorDescentSettings settings = matched(known.problem, kRounds, 1.0);
    const geometry::MatchedPotential& potential = settings.potential;
    const double moment = potential.dual_second_moment(known.gradient_bound, kStddev * kStddev);
    settings.step_size = std::sqrt(potential.range * potential.modulus / (number(kRounds) * moment));
    // 2 sqrt(W B / (mu T)).
    const double bound = 2.0 * std::sqrt(potential.range * moment / (potential.modulus * number(kRounds)));
    EXPECT_NEAR(mirror_risk(settings, known.gradient_bound, kStddev * kStddev), bound, 1e-12 * bound);
    const tests::Measured excess = tests::average(tests::kRuns, [&](std::uint64_t seed) {
      return known.excess(NoisyCohort(known, {{kStddev}, seed}).train(*Method(settings)->make().value()));
    });
    tests::expect_held(excess, bound, 0.005);
  }
}

TEST(ConstrainedMirrorDescentTest, TheStronglyConvexFormFallsWithTheRounds) {
  // Steps 1/t on 1/2 ||w - c||^2: B (1 + ln T)/T, B = L^2 + s^2 (E||g||^2 + 1).
  const KnownProblem known = matched_problems().front();
  double before = HUGE_VAL;
  for (const std::uint64_t rounds : {30U, 300U}) {
    ConstrainedMirrorDescentSettings settings = matched(known.problem, rounds, 0.0);
    settings.relative_convexity = 1.0;
    const double bound = settings.potential.dual_second_moment(known.gradient_bound, 1.0) *
                         (1.0 + std::log(number(rounds))) / number(rounds);
    EXPECT_NEAR(mirror_risk(settings, known.gradient_bound, 1.0), bound, 1e-12);
    const tests::Measured excess = tests::average(tests::kRuns, [&](std::uint64_t seed) {
      return known.excess(NoisyCohort(known, {{1.0}, seed}).train(*Method(settings)->make().value()));
    });
    tests::expect_held(excess, bound, 0.005);
    EXPECT_LE(excess.mean, 0.6 * before);
    before = excess.mean;
  }
}

/// The excess risk of -w_1/2 over a domain, whose least value is -1/2: 100 rounds of one silo of 1000 records at
/// epsilon 1, delta 1e-6, L = 1, with the step of the bound. Mean of 12 runs.
double linear_excess(const Domain& domain, Eigen::Index dimension) {
  KnownProblem known;
  known.problem = over(domain, dimension);
  const VectorXd slope = -0.5 * VectorXd::Unit(dimension, 0);
  known.silos = {{[slope](const VectorXd& w) { return slope.dot(w); }, [slope](const VectorXd&) { return slope; }}};
  known.minimum = -0.5;
  constexpr double kStddev = 2.0 * 10.0 / (1000.0 * 0.2367);  // 2 L sqrt(T)/(n mu)
  ConstrainedMirrorDescentSettings settings = matched(known.problem, 100, 1.0);
  const geometry::MatchedPotential& potential = settings.potential;
  settings.step_size =
      std::sqrt(potential.range * potential.modulus / (100.0 * potential.dual_second_moment(1.0, kStddev * kStddev)));
  const Method method = settings;
  return tests::average(12,
                        [&](std::uint64_t seed) {
                          return known.excess(NoisyCohort(known, {{kStddev}, seed}).train(*method->make().value()));
                        })
      .mean;
}

TEST(ConstrainedMirrorDescentTest, NoiseCostsTheWidthAndNotTheDimension) {
  // G7: over the ball like sqrt(d), 16 times from 16 to 4096; over the simplex, the l1 ball and groups like a
  // logarithm.
  const auto growth = [](const Result<Domain>& domain) {
    return linear_excess(domain.value(), 4096) / linear_excess(domain.value(), 16);
  };
  EXPECT_GE(growth(Domain::l2_ball(1.0)), 3.5);
  EXPECT_LE(growth(Domain::simplex(1.0)), 3.0);
  EXPECT_LE(growth(Domain::l1_ball(1.0)), 3.0);
  EXPECT_LE(growth(Domain::group_ball(1.0, 4)), 3.5);
}

TEST(ConstrainedMirrorDescentTest, RunsOnThePolytopesWeights) {
  // The triangle (0,0), (4,0), (0,2): the linear function x + 3y is least at the origin.
  Eigen::MatrixXd corners(2, 3);
  corners << 0.0, 4.0, 0.0, 0.0, 0.0, 2.0;
  const ConstrainedMirrorDescentSettings settings{
      over(Domain::whole_space(), 2), geometry::vertex_potential(geometry::Vertices::listed(corners).value()), 200,
      0.2};
  const VectorXd w = trained(settings, [](const VectorXd&) -> VectorXd { return Eigen::Vector2d(1.0, 3.0); });
  // ln 3/(eta T) of regret at most, for exact gradients whose spread the step squares: well below 0.1.
  EXPECT_LE(w[0] + 3.0 * w[1], 0.2);
  EXPECT_GE(w.minCoeff(), 0.0);
}

TEST(ConstrainedMirrorDescentTest, RestoredAtAnyRoundItEndsTheSameToTheBit) {
  for (const KnownProblem& known : matched_problems()) {
    SCOPED_TRACE(known.name);
    const ConstrainedMirrorDescentSettings settings = matched(known.problem, 6, 0.3);
    const auto run = [&](std::uint64_t restart) {
      auto algorithm = Method(settings)->make().value();
      Step step = algorithm->start();
      for (std::uint64_t round = 0; round < 6; ++round) {
        if (round == restart) {
          ByteWriter writer;
          algorithm->save(writer);
          const std::string saved = std::move(writer).bytes();
          algorithm = Method(settings)->make().value();
          ByteReader reader(saved);
          EXPECT_TRUE(algorithm->restore(reader));
          step = algorithm->start();
        }
        const VectorXd at = queries::point_of(std::get<queries::Query>(step).question);
        step = algorithm->advance({RoundIndex{round}, 1, folds::Mean{known.gradient(at)}}).value();
      }
      return std::get<Finished>(step).outcome.vectors.at("weights");
    };
    const VectorXd whole = run(99);
    for (std::uint64_t restart = 0; restart < 6; ++restart) EXPECT_EQ(run(restart), whole);
  }
}

TEST(ConstrainedMirrorDescentTest, PrintsTheTheoremsNoise) {
  // T = 100, epsilon 1, delta 1e-6: 2/(sqrt(3200) ln 1e8) = 2/(56.568542 18.420681); G5: 12.3 times what the accountant
  // takes, 0.2367/10.
  const Method method = matched(over(Domain::simplex(1.0).value(), 4), 100, 1.0);
  const double shift = method->theorem_noise({1000.0, 1000.0, 1.0, 1e-6}).value().gradients.front();
  EXPECT_NEAR(shift, 2.0 / (56.568542494923804 * 18.420680743952367), 1e-15);
  EXPECT_NEAR(0.02367 / shift, 12.3, 0.05);
  const auto drawn = method->theorem_noise({1000.0, 500.0, 1.0, 1e-6});
  ASSERT_FALSE(drawn);
  EXPECT_NE(drawn.error().message.find("500 of 1000 are drawn"), std::string::npos);
}

TEST(ConstrainedMirrorDescentTest, PredictsOnlyWhatIsProven) {
  const releases::ClipNorm clip = *releases::ClipNorm::create(2.0);
  const Problem ball = over(Domain::l2_ball(3.0).value(), 4);
  // W/(eta T) + eta B: W = 9/2, B = 4 + 0.25 (E||g||^2 + 1), E||g|| of dimension 4 is sqrt(2) Gamma(5/2)/Gamma(2).
  const double width = std::sqrt(2.0) * std::tgamma(2.5);
  EXPECT_NEAR(Method(matched(ball, 9, 0.5))->predicted_risk(clip, 0.25, false).value().bound,
              4.5 / 4.5 + 0.5 * (4.0 + 0.25 * (width * width + 1.0)), 1e-13);
  ConstrainedMirrorDescentSettings claimed = matched(ball, 9, 0.0);
  claimed.relative_convexity = 0.1;
  EXPECT_FALSE(Method(claimed)->predicted_risk(clip, 0.25, false));
  EXPECT_TRUE(Method(claimed)->predicted_risk(clip, 0.25, true));
  claimed.by_regulariser = true;
  EXPECT_TRUE(Method(claimed)->predicted_risk(clip, 0.25, false));
}

TEST(ConstrainedMirrorDescentTest, ReadsItsSection) {
  const Problem simplex = over(Domain::simplex(1.0).value(), 3);
  EXPECT_NE(mirror_problems_of({{"rounds", 5}, {"step_size", 0.1}, {"draw_fraction", 1}}, simplex).find("the entropy"),
            std::string::npos);
  EXPECT_NE(
      mirror_problems_of({{"rounds", 5}, {"step_size", 0.1}, {"draw_fraction", 1}, {"potential", "euclidean"}}, simplex)
          .find("the Euclidean"),
      std::string::npos);
  const nlohmann::json corners = {{"kind", "listed"}, {"points", {{1, 0, 0}, {0, 2, 0}}}};
  EXPECT_NE(mirror_problems_of({{"rounds", 5}, {"step_size", 0.1}, {"draw_fraction", 1}, {"vertices", corners}},
                               over(Domain::whole_space(), 3))
                .find("the vertices' weights"),
            std::string::npos);
  Problem regularised = over(Domain::l2_ball(1.0).value(), 3);
  regularised.regulariser = geometry::Regulariser::squared_l2(0.5, 3).value();
  EXPECT_NE(mirror_problems_of({{"rounds", 5}, {"draw_fraction", 1}}, regularised, true).find("Theorem A.1"),
            std::string::npos);
}

TEST(ConstrainedMirrorDescentTest, RefusesWhatItCannotRun) {
  const auto finds = [](const std::string& said, const std::string& part) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  const nlohmann::json plain = {{"rounds", 5}, {"step_size", 0.1}, {"draw_fraction", 1}};
  finds(mirror_problems_of(plain, over(Domain::whole_space(), 3)), "matched to a bounded set, got the whole space");
  nlohmann::json repeated = plain;
  repeated["vertices"] = {{"kind", "listed"}, {"points", {{1, 0, 0}, {1, 0, 0}}}};
  finds(mirror_problems_of(repeated, over(Domain::whole_space(), 3)), "vertex 1 repeats vertex 0");
  repeated["vertices"]["points"] = {{1, 0, 0}, {0, 1, 0}};
  finds(mirror_problems_of(repeated, over(Domain::l2_ball(1.0).value(), 3)), "expected the whole space");
  repeated["vertices"] = {{"kind", "simplex"}, {"scale", 1}};
  finds(mirror_problems_of(repeated, over(Domain::simplex(1.0).value(), 3)), "expected \"listed\"");
  finds(mirror_problems_of({{"rounds", 5}, {"draw_fraction", 1}}, over(Domain::l2_ball(1.0).value(), 3), true),
        "relative_convexity: missing");
  Problem started = over(Domain::simplex(1.0).value(), 3);
  ASSERT_TRUE(started.start_at(Eigen::Vector3d(1.0, 0.0, 0.0)));
  finds(mirror_refusal_of(matched(started, 5, 0.1)), "expected no initial");
  EXPECT_FALSE(started.start_at(Eigen::Vector3d(1.0, 1.0, 0.0)));  // outside the set
  Problem rough = over(Domain::l2_ball(1.0).value(), 3);
  rough.regulariser = geometry::Regulariser::l1(0.1, 3).value();
  finds(mirror_refusal_of(matched(rough, 5, 0.1)), "is not smooth");
  const Problem ball = over(Domain::l2_ball(1.0).value(), 3);
  finds(mirror_refusal_of(matched(ball, 0, 0.1)), "no rounds");
  finds(mirror_refusal_of(matched(ball, 5, 0.0)), "step size");
  ConstrainedMirrorDescentSettings wide = matched(ball, 5, 0.1);
  wide.problem.dimension = 4;
  finds(mirror_refusal_of(wide), "of dimension 3, and a model of 4 numbers");
}

}  // namespace
}  // namespace undertone::algorithms
