#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <typeinfo>

#include "shared/algorithms/frank_wolfe/constrained_frank_wolfe.hpp"
#include "shared/algorithms/mirror/constrained_mirror_descent.hpp"
#include "shared/algorithms/proximal/prox_svrg.hpp"
#include "shared/algorithms/proximal/proximal_sgd.hpp"
#include "shared/algorithms/proximal/spider.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/algorithms/sgd/local_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/base/random_source.hpp"

/// Every algorithm of federated-core 3.1 to 3.5 and 3.8 against a textbook form of it, written here from the spec, on a
/// quadratic whose gradients the test computes: no noise, full batches, so the two agree step by step.
namespace undertone::algorithms {
namespace {

using Gradient = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

/// F(w) = 1/2 w^T A w - b^T w.
struct Quadratic {
  Eigen::MatrixXd a;
  Eigen::VectorXd b;
  static Quadratic in(Eigen::Index d) {
    RandomSource random(static_cast<std::uint64_t>(d));
    Quadratic out{Eigen::MatrixXd::Zero(d, d), Eigen::VectorXd(d)};
    for (Eigen::Index i = 0; i < d; ++i) {
      out.a(i, i) = 0.5 + 1.5 * random.unit();
      out.b[i] = 2.0 * random.unit() - 1.0;
      if (i > 0) out.a(i, i - 1) = out.a(i - 1, i) = 0.2 * random.unit();
    }
    return out;
  }
  Eigen::VectorXd gradient(const Eigen::VectorXd& w) const { return a * w - b; }
  double value(const Eigen::VectorXd& w) const { return 0.5 * w.dot(a * w) - b.dot(w); }
  Eigen::VectorXd minimiser() const { return a.ldlt().solve(b); }
};

Eigen::VectorXd answer(const queries::Query& query, const Gradient& gradient) {
  const Eigen::VectorXd& points = queries::point_of(query.question);
  if (std::holds_alternative<queries::GradientQuestion>(query.question)) return gradient(points);
  // Where a silo's own descent ends: any function of where it begins will do.
  if (std::holds_alternative<queries::LocalRunQuestion>(query.question)) return points - 0.2 * gradient(points);
  const Eigen::Index d = points.size() / 2;
  return gradient(points.head(d)) - gradient(points.tail(d));
}

/// @param restart at which rounds the state is saved and another object goes on
Eigen::VectorXd run(const Method& settings, const Gradient& gradient, std::uint64_t restart = UINT64_MAX) {
  auto algorithm = settings->make().value();
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    if (query->round.value == restart) {
      ByteWriter saved;
      algorithm->save(saved);
      algorithm = settings->make().value();
      ByteReader reader(saved.bytes());
      EXPECT_TRUE(algorithm->restore(reader));
      EXPECT_TRUE(reader.end());
      step = algorithm->start();
      restart = UINT64_MAX;
      continue;
    }
    step = algorithm->advance({query->round, 3, folds::Mean{answer(*query, gradient)}}).value();
  }
  return std::get<Finished>(step).outcome.vectors.at("weights");
}

Problem in_ball(Eigen::Index d, double radius = 1.0) {
  Problem problem;
  problem.dimension = d;
  problem.domain = geometry::Domain::l2_ball(radius).value();
  return problem;
}

/// One of each, with everything that makes a difference switched on.
std::vector<std::pair<std::string, Method>> every_algorithm(Eigen::Index d) {
  Problem smooth = in_ball(d);
  smooth.regulariser = geometry::Regulariser::squared_l2(0.1, d - 1).value();
  Problem composite = in_ball(d);
  composite.regulariser = geometry::Regulariser::l1(0.05, d - 1).value();
  Problem free;
  free.dimension = d;
  const AcceleratedPhase first{0.5, 0.5, 0.7, {{4, 8.0}, {3, 9.0}}};
  const AcceleratedPhase second{2.0, 2.0, 0.2, {{5, 10.0}}};
  return {{"minibatch", MinibatchSgdSettings{smooth, 9, 0.3, {Averaging::Kind::Geometric, 0.9}}},
          {"minibatch, momentum", MinibatchSgdSettings{smooth,
                                                       9,
                                                       0.2,
                                                       {Averaging::Kind::Tail, 1.0, 0.5},
                                                       {StepSchedule::Kind::Cosine},
                                                       {ServerOptimiser::Kind::Momentum, 0.5}}},
          {"minibatch, adam", MinibatchSgdSettings{smooth,
                                                   9,
                                                   0.2,
                                                   {Averaging::Kind::Last},
                                                   {StepSchedule::Kind::InverseSqrt},
                                                   {ServerOptimiser::Kind::Adam, 0.9, 0.99, 1e-3}}},
          {"accelerated", AcceleratedSgdSettings{smooth, {{0.3, 0.3, {}, {{9, 6.0}}}}, RecordUse::OnePass}},
          {"localized", AcceleratedSgdSettings{smooth, {first, second}, RecordUse::Phased}},
          {"proximal", ProximalSgdSettings{composite, 8, 0.25}},
          {"svrg", ProxSvrgSettings{composite, 1, 3, 4, 0.2, 2.5, 7}},
          {"pl-svrg", ProxSvrgSettings{composite, 3, 2, 3, 0.2, {}, 8}},
          {"spider", SpiderSettings{composite, 10, 4, 0.2, 2.5, 9}},
          {"spider, one period", SpiderSettings{composite, 5, 50, 0.2, {}, 10}},
          {"alternate", SpiderAlternateSettings{free, 4, 0.2, {}, 11}},
          {"local", LocalSgdSettings{in_ball(d), 6, 5, 0.2}},
          {"constrained Frank-Wolfe",
           ConstrainedFrankWolfeSettings{smooth, geometry::LinearOracle::create(smooth.domain, d).value(), 9}},
          {"constrained mirror",
           ConstrainedMirrorDescentSettings{
               smooth, geometry::matched_potential(smooth.domain, d, smooth.start()).value(), 9, 0.3}}};
}

TEST(AlgorithmsTest, AskWhatTheirSchedulesSay) {
  const GradientShape shape{releases::L2Bound{releases::ClipNorm::create(1.0).value()}, 0.5};
  const Quadratic problem = Quadratic::in(4);
  for (const auto& [name, settings] : every_algorithm(4)) {
    SCOPED_TRACE(name);
    std::vector<releases::QuestionKind> planned;
    std::vector<releases::Ask> asks;
    for (const planning::ScheduledRounds& part : settings->schedule(shape)) {
      planned.insert(planned.end(), part.rounds, part.ask.kind());
      asks.insert(asks.end(), part.rounds, part.ask);
      EXPECT_EQ(part.ask.dimension, 4);
      const bool difference = part.ask.kind() == releases::QuestionKind::GradientDifference;
      EXPECT_EQ(part.ask.clip().value(), difference ? 2.0 : 1.0);
    }
    const auto algorithm = settings->make().value();
    std::vector<releases::QuestionKind> asked;
    Step step = algorithm->start();
    while (const auto* query = std::get_if<queries::Query>(&step)) {
      ASSERT_EQ(query->round.value, asked.size());
      asked.push_back(queries::kind_of(query->question));
      EXPECT_EQ(queries::point_of(query->question).size(), asks[asked.size() - 1].point_size(4));
      const auto gradient = [&](const Eigen::VectorXd& w) { return problem.gradient(w); };
      step = algorithm->advance({query->round, 1, folds::Mean{answer(*query, gradient)}}).value();
    }
    EXPECT_EQ(asked, planned);
  }
}

TEST(AlgorithmsTest, ARunThatStartsAtAnothersLastIterateGoesOnToTheBit) {
  const Quadratic quadratic = Quadratic::in(6);
  const auto gradient = [&](const Eigen::VectorXd& w) { return quadratic.gradient(w); };
  for (const queries::PointType type : {queries::PointType::F64, queries::PointType::F32}) {
    for (const double radius : {0.2, 10.0}) {  // iterates on the boundary, where a second projection would move them
      SCOPED_TRACE(radius);
      Problem problem = in_ball(6, radius);
      problem.point_type = type;
      const auto last = [&](const Problem& of, std::uint64_t rounds) {
        return run(MinibatchSgdSettings{of, rounds, 0.3, {Averaging::Kind::Last, 0.0}}, gradient);
      };
      const Eigen::VectorXd half = last(problem, 5);
      Problem warm = problem;
      ASSERT_TRUE(warm.start_at(half));
      EXPECT_EQ(warm.start(), half);
      EXPECT_EQ(last(warm, 5), last(problem, 10));
      EXPECT_NE(last(problem, 5), last(problem, 10));
    }
  }
}

TEST(AlgorithmsTest, AStartIsFiniteOfItsSizeAndInTheDomain) {
  Problem problem = in_ball(2, 1.0);
  const auto says = [&](const Eigen::VectorXd& point, const std::string& what) {
    const Status starts = problem.start_at(point);
    ASSERT_FALSE(starts);
    EXPECT_NE(starts.error().message.find(what), std::string::npos) << starts.error().message;
    EXPECT_EQ(problem.start(), Eigen::Vector2d::Zero());  // as it was
  };
  says(Eigen::Vector3d(0, 0, 0), "expected 2 numbers, one for each of the model, got 3");
  says(Eigen::VectorXd(), "got 0");
  says(Eigen::Vector2d(0.0, std::nan("")), "finite");
  says(Eigen::Vector2d(std::numeric_limits<double>::infinity(), 0.0), "finite");
  says(Eigen::Vector2d(3.0, 4.0),
       "expected a point of the l2 ball, up to rounding by 1.19e-06, got one at a distance of 4");
  ASSERT_TRUE(problem.start_at(Eigen::Vector2d(0.6, -0.7)));
  EXPECT_EQ(problem.start(), Eigen::Vector2d(0.6, -0.7));
  problem.start_near(Eigen::Vector2d(3.0, 4.0));
  EXPECT_LE((problem.start() - Eigen::Vector2d(0.6, 0.8)).norm(), 1e-15);
  // A bound on the risk counts on any start in the ball: 1/(eta R) D^2/2 with D = 1 + |w_0| = 2 instead of 1.
  const auto bound = [&](const Problem& of) {
    const MinibatchSgdSettings settings{of, 10, 0.5, {}};
    return *MinibatchSgd::predicted_excess_risk(settings, *releases::ClipNorm::create(1.0), 0.0);
  };
  EXPECT_NEAR(bound(problem) - bound(in_ball(2, 1.0)), (4.0 - 1.0) / (0.5 * 10.0) / 2.0, 1e-12);
}

TEST(AlgorithmsTest, TheirExtentIsThatOfTheirSchedule) {
  const GradientShape shape{releases::L2Bound{releases::ClipNorm::create(1.0).value()}, 1.0};
  for (const auto& [name, settings] : every_algorithm(3)) {
    SCOPED_TRACE(name);
    const planning::Schedule schedule = settings->schedule(shape);
    std::uint64_t rounds = 0;
    for (const planning::ScheduledRounds& part : schedule) rounds += part.rounds;
    EXPECT_EQ(settings->extent().rounds, rounds);
    EXPECT_GE(settings->extent().entries, schedule.size());
  }
  Problem free;
  free.dimension = 1;
  EXPECT_EQ((ProxSvrgSettings{free, UINT64_MAX, 2, UINT64_MAX, 0.1, {}, 1}.extent().rounds), UINT64_MAX);
}

TEST(AlgorithmsTest, RestoredAtAnyRoundTheyEndBitForBitTheSame) {
  const Quadratic problem = Quadratic::in(5);
  const auto gradient = [&](const Eigen::VectorXd& w) { return problem.gradient(w); };
  for (const auto& [name, settings] : every_algorithm(5)) {
    SCOPED_TRACE(name);
    const Eigen::VectorXd straight = run(settings, gradient);
    for (std::uint64_t round = 0; round < 24; ++round) EXPECT_EQ(run(settings, gradient, round), straight) << round;
  }
}

TEST(AlgorithmsTest, RefuseASavedStateOfAnotherShape) {
  for (const auto& [name, settings] : every_algorithm(3)) {
    SCOPED_TRACE(name);
    const std::unique_ptr<FederatedAlgorithm> own = settings->make().value();
    const FederatedAlgorithm& algorithm = *own;
    ByteWriter saved;
    algorithm.save(saved);
    const std::string bytes = saved.bytes();
    for (std::size_t cut = 0; cut < bytes.size(); cut += 5) {
      ByteReader reader(std::string_view(bytes).substr(0, cut));
      EXPECT_FALSE(settings->make().value()->restore(reader)) << cut;
    }
    for (const auto& [other_name, other] : every_algorithm(4)) {
      const std::unique_ptr<FederatedAlgorithm> made = other->make().value();
      FederatedAlgorithm& wider = *made;
      if (typeid(wider) != typeid(algorithm)) continue;
      ByteReader reader(bytes);
      EXPECT_FALSE(wider.restore(reader));
    }
  }
}

TEST(AlgorithmsTest, RefuseAFoldOfAnotherRoundOrDimension) {
  for (const auto& [name, settings] : every_algorithm(3)) {
    SCOPED_TRACE(name);
    const auto algorithm = settings->make().value();
    (void)algorithm->start();
    EXPECT_FALSE(algorithm->advance({RoundIndex{1}, 1, folds::Mean{Eigen::VectorXd::Zero(3)}}));
    EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::VectorXd::Zero(6)}}));
    EXPECT_TRUE(algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::VectorXd::Zero(3)}}));
  }
}

TEST(AlgorithmsTest, StopWithASentenceWhenTheyDiverge) {
  Problem free;
  free.dimension = 1;
  for (const Method& settings :
       {Method(MinibatchSgdSettings{free, 9, 1e90, {}}), Method(ProximalSgdSettings{free, 9, 1e90}),
        Method(SpiderSettings{free, 9, 1, 1e90, {}, 1}), Method(SpiderAlternateSettings{free, 9, 1e90, {}, 1}),
        Method(ProxSvrgSettings{free, 1, 1, 9, 1e90, {}, 1})}) {
    const auto algorithm = settings->make().value();
    Step step = algorithm->start();
    std::string why;
    while (const auto* query = std::get_if<queries::Query>(&step)) {
      const Result<Step> next = algorithm->advance({query->round, 1, folds::Mean{Eigen::VectorXd::Constant(1, 1e300)}});
      if (!next) {
        why = next.error().message;
        break;
      }
      step = *next;
    }
    EXPECT_NE(why.find("diverged"), std::string::npos) << why;
  }
}

/// Algorithm 1 as printed, its argmin found by the closed form of federated-core 8 only in the plane; here by solving
/// the first-order condition of the unconstrained problem, then projecting, for a ball around zero that never binds.
TEST(AcceleratedSgdTest, IsTheTextbooksMethodStepByStep) {
  const Eigen::Index d = 4;
  const Quadratic problem = Quadratic::in(d);
  const double mu = 0.4;
  const double upsilon = 6.0;
  const auto gradient = [&](const Eigen::VectorXd& w) { return problem.gradient(w); };
  Eigen::VectorXd w = Eigen::VectorXd::Zero(d);
  Eigen::VectorXd ag = w;
  const Eigen::VectorXd centre = w;
  for (int r = 1; r <= 12; ++r) {
    const double alpha = 2.0 / (r + 1.0);
    const double eta = 4.0 * upsilon / (r * (r + 1.0));
    const Eigen::VectorXd md =
        ((1 - alpha) * (mu + eta) * ag + alpha * ((1 - alpha) * mu + eta) * w) / (eta + (1 - alpha * alpha) * mu);
    const Eigen::VectorXd g = gradient(md) + mu * (md - centre);
    // argmin alpha[<g,x> + mu/2 |md-x|^2] + [(1-alpha) mu/2 + eta/2] |w-x|^2
    w = (alpha * mu * md + ((1 - alpha) * mu + eta) * w - alpha * g) / (alpha * mu + (1 - alpha) * mu + eta);
    ag = alpha * w + (1 - alpha) * ag;
  }
  const AcceleratedSgdSettings settings{in_ball(d, 100.0), {{mu, mu, {}, {{12, upsilon}}}}, RecordUse::Shared};
  EXPECT_LE((run(settings, gradient) - ag).norm(), 1e-13);
}

TEST(AcceleratedSgdTest, KeepsTheBoundOfItsTheoremWithoutNoise) {
  // F(w^ag_R) - F* <= 4 upsilon |w_0 - w*|^2 / (R (R+1)), upsilon = 2 beta (Prop. 172 with V = 0).
  const Quadratic problem = Quadratic::in(6);
  const auto gradient = [&](const Eigen::VectorXd& w) { return problem.gradient(w); };
  const double beta = problem.a.selfadjointView<Eigen::Lower>().eigenvalues().maxCoeff();
  const Eigen::VectorXd best = problem.minimiser();
  for (const std::uint64_t rounds : {1U, 2U, 5U, 20U, 80U}) {
    const AcceleratedSgdSettings settings{
        in_ball(6, 50.0), {{0.0, 0.0, {}, {{rounds, 2.0 * beta}}}}, RecordUse::Shared};
    const double r = static_cast<double>(rounds);
    const double gap = problem.value(run(settings, gradient)) - problem.value(best);
    EXPECT_LE(gap, 8.0 * beta * best.squaredNorm() / (r * (r + 1.0)));
  }
}

TEST(AcceleratedSgdTest, EachStageHalvesTheGapAsItsTheoremSays) {
  const Quadratic problem = Quadratic::in(5);
  const auto gradient = [&](const Eigen::VectorXd& w) { return problem.gradient(w); };
  const auto spectrum = problem.a.selfadjointView<Eigen::Lower>().eigenvalues();
  const double mu = spectrum.minCoeff();
  const double beta = spectrum.maxCoeff();
  const auto rounds = static_cast<std::uint64_t>(std::ceil(4.0 * std::sqrt(2.0 * beta / mu)));
  double before = problem.value(Eigen::VectorXd::Zero(5)) - problem.value(problem.minimiser());
  std::vector<AcceleratedStage> stages;
  for (int k = 0; k < 5; ++k) {
    stages.push_back({rounds, 2.0 * beta});
    const AcceleratedSgdSettings settings{in_ball(5, 50.0), {{0.0, mu, {}, stages}}, RecordUse::Shared};
    const double gap = problem.value(run(settings, gradient)) - problem.value(problem.minimiser());
    EXPECT_LE(gap, 0.5 * before);
    before = gap;
  }
}

TEST(AcceleratedSgdTest, LocalizedPhasesStayNearTheirCentres) {
  const Quadratic problem = Quadratic::in(3);
  const auto gradient = [&](const Eigen::VectorXd& w) { return Eigen::VectorXd(100.0 * problem.gradient(w)); };
  const AcceleratedSgdSettings settings{
      in_ball(3, 1.0), {{0.1, 0.1, 0.25, {{30, 500.0}}}, {0.1, 0.1, 0.01, {{30, 500.0}}}}, RecordUse::Phased};
  const AcceleratedSgdSettings first{in_ball(3, 1.0), {settings.phases.front()}, RecordUse::Phased};
  const Eigen::VectorXd after_first = run(first, gradient);
  EXPECT_LE(after_first.norm(), 0.25 * (1.0 + 1e-12));
  EXPECT_LE((run(settings, gradient) - after_first).norm(), 0.01 * (1.0 + 1e-12));
}

TEST(ProximalSgdTest, StepsAsComputedByHand) {
  // eta 1/2, l1 strength 1/2: from 0 with g = (-2, 0.2): z = (1, -0.1), soft threshold 1/4: (0.75, 0).
  // g = (1, -1): z = (0.25, 0.5): (0, 0.25).
  Problem problem;
  problem.dimension = 2;
  problem.regulariser = geometry::Regulariser::l1(0.5, 2).value();
  const auto algorithm = ProximalSgd::create({problem, 2, 0.5}).value();
  const Step middle = algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::Vector2d(-2.0, 0.2)}}).value();
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(middle).question), Eigen::Vector2d(0.75, 0.0));
  const Step last = algorithm->advance({RoundIndex{1}, 1, folds::Mean{Eigen::Vector2d(1.0, -1.0)}}).value();
  EXPECT_EQ(std::get<Finished>(last).outcome.vectors.at("weights"), Eigen::Vector2d(0.0, 0.25));
}

TEST(ProximalSgdTest, ConvergesLinearlyUnderProximalPl) {
  // Without noise F(w_R) - F* <= (1 - 1/(2 kappa))^R (F(w_0) - F*) (B.45 with no variance).
  const Quadratic problem = Quadratic::in(5);
  const auto gradient = [&](const Eigen::VectorXd& w) { return problem.gradient(w); };
  const auto spectrum = problem.a.selfadjointView<Eigen::Lower>().eigenvalues();
  const double kappa = spectrum.maxCoeff() / spectrum.minCoeff();
  Problem free;
  free.dimension = 5;
  const double start = problem.value(Eigen::VectorXd::Zero(5)) - problem.value(problem.minimiser());
  for (const std::uint64_t rounds : {1U, 4U, 16U}) {
    const double gap = problem.value(run(ProximalSgdSettings{free, rounds, 0.5 / spectrum.maxCoeff()}, gradient)) -
                       problem.value(problem.minimiser());
    EXPECT_LE(gap, std::pow(1.0 - 0.5 / kappa, static_cast<double>(rounds)) * start);
  }
}

TEST(ProxSvrgTest, IsTheTextbooksMethodStepByStep) {
  // With exact gradients an anchor plus a difference is the gradient itself: proximal gradient descent, whose iterates
  // are listed here; the output is the one that the seed chose.
  const Quadratic problem = Quadratic::in(4);
  const auto gradient = [&](const Eigen::VectorXd& w) { return problem.gradient(w); };
  Problem composite = in_ball(4);
  composite.regulariser = geometry::Regulariser::l1(0.1, 4).value();
  const auto proximal = geometry::ProximalStep::create(composite.domain, composite.regulariser, 4).value();
  std::vector<Eigen::VectorXd> iterates{Eigen::VectorXd::Zero(4)};
  for (int t = 1; t < 12; ++t) {
    Eigen::VectorXd next = iterates.back() - 0.2 * gradient(iterates.back());
    proximal.apply(0.2, next);
    iterates.push_back(next);
  }
  std::vector<bool> seen(12, false);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Eigen::VectorXd out = run(ProxSvrgSettings{composite, 1, 3, 4, 0.2, {}, seed}, gradient);
    bool found = false;
    for (std::size_t t = 0; t < 12; ++t) {
      if ((out - iterates[t]).norm() > 1e-13) continue;
      seen[t] = found = true;
    }
    EXPECT_TRUE(found) << seed;
  }
  for (std::size_t t = 0; t < 12; ++t) EXPECT_TRUE(seen[t]) << t;  // missed with probability 12 (11/12)^200 < 4e-7
}

TEST(ProxSvrgTest, TheNextRestartBeginsWhereTheLastOneEnded) {
  const Quadratic problem = Quadratic::in(3);
  std::vector<Eigen::VectorXd> anchors;
  const auto algorithm = ProxSvrg::create({in_ball(3), 4, 2, 3, 0.1, {}, 5}).value();
  Step step = algorithm->start();
  std::vector<Eigen::VectorXd> iterates;
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    const Eigen::VectorXd& points = queries::point_of(query->question);
    if (query->round.value % 8 == 0 && query->round.value > 0) {
      bool among = false;
      for (const Eigen::VectorXd& one : iterates) among = among || one == points;
      EXPECT_TRUE(among) << query->round.value;
      iterates.clear();
    }
    if (points.size() == 6) iterates.emplace_back(points.head(3));
    const auto gradient = [&](const Eigen::VectorXd& w) { return problem.gradient(w); };
    step = algorithm->advance({query->round, 1, folds::Mean{answer(*query, gradient)}}).value();
  }
}

TEST(SpiderTest, IsProximalGradientDescentWithoutNoise) {
  const Quadratic problem = Quadratic::in(4);
  const auto gradient = [&](const Eigen::VectorXd& w) { return problem.gradient(w); };
  Problem composite = in_ball(4);
  composite.regulariser = geometry::Regulariser::l1(0.1, 4).value();
  const auto proximal = geometry::ProximalStep::create(composite.domain, composite.regulariser, 4).value();
  std::vector<Eigen::VectorXd> iterates{Eigen::VectorXd::Zero(4)};
  for (int r = 1; r <= 10; ++r) {
    Eigen::VectorXd next = iterates.back() - 0.2 * gradient(iterates.back());
    proximal.apply(0.2, next);
    iterates.push_back(next);
  }
  std::vector<bool> seen(11, false);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Eigen::VectorXd out = run(SpiderSettings{composite, 10, 3, 0.2, {}, seed}, gradient);
    for (std::size_t r = 0; r <= 10; ++r)
      if ((out - iterates[r]).norm() < 1e-13) seen[r] = true;
  }
  EXPECT_FALSE(seen[0]);  // w_0 is no output
  for (std::size_t r = 1; r <= 10; ++r) EXPECT_TRUE(seen[r]) << r;
}

TEST(SpiderTest, AsksForAnAnchorEveryPeriodAndDifferencesBetween) {
  const GradientShape shape{releases::L2Bound{releases::ClipNorm::create(1.0).value()}, 1.0};
  Problem free;
  free.dimension = 2;
  // ceil(10/4) = 3 anchors, 7 differences.
  std::uint64_t anchors = 0;
  std::uint64_t differences = 0;
  for (const planning::ScheduledRounds& part : Spider::schedule({free, 10, 4, 0.1, 2.0, 1}, shape))
    (part.ask.kind() == releases::QuestionKind::Gradient ? anchors : differences) += part.rounds;
  EXPECT_EQ(anchors, 3U);
  EXPECT_EQ(differences, 7U);
}

TEST(SpiderAlternateTest, StepsAsComputedByHand) {
  // F(w) = w^2/2 - w in one dimension, eta 1/2: gradient w - 1.
  // w2 = 0: v2 = -1; w1 = 0.5: v1 = -1 + (0.5 - 0) = -0.5; w2 = 0.75: v2 = -0.25; w1 = 0.875: v1 = -0.125; w2 = 0.9375.
  Problem free;
  free.dimension = 1;
  const auto algorithm = SpiderAlternate::create({free, 2, 0.5, {}, 1}).value();
  const std::vector<double> points = {0.0, 0.5, 0.75, 0.875, 0.9375};
  Step step = algorithm->start();
  for (const double at : points) {
    const auto& query = std::get<queries::Query>(step);
    EXPECT_EQ(queries::point_of(query.question)[0], at);
    const auto gradient = [](const Eigen::VectorXd& w) { return Eigen::VectorXd(w.array() - 1.0); };
    step = algorithm->advance({query.round, 1, folds::Mean{answer(query, gradient)}}).value();
  }
  const double out = std::get<Finished>(step).outcome.vectors.at("weights")[0];
  EXPECT_TRUE(std::find(points.begin() + 1, points.end(), out) != points.end()) << out;
}

/// In the plane, grad F(w) = (w_1, 2 w_2) - b, and nothing bounds w.
Problem plane() {
  Problem problem;
  problem.dimension = 2;
  return problem;
}
Eigen::VectorXd plane_gradient(const Eigen::VectorXd& w, const Eigen::Vector2d& b) {
  return Eigen::Vector2d(w[0], 2.0 * w[1]) - b;
}

/// What an algorithm asks about, each time and at the end, where every answer about differences is off by this much.
std::vector<Eigen::VectorXd> asked_of(const Method& settings, const Eigen::Vector2d& b,
                                      const Eigen::Vector2d& off = Eigen::Vector2d::Zero()) {
  const auto algorithm = settings->make().value();
  std::vector<Eigen::VectorXd> points;
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    const Eigen::VectorXd& at = queries::point_of(query->question);
    points.push_back(at);
    Eigen::VectorXd told = plane_gradient(at.head(2), b);
    if (at.size() == 4) told += off - plane_gradient(at.tail(2), b);
    step = algorithm->advance({query->round, 1, folds::Mean{told}}).value();
  }
  points.push_back(std::get<Finished>(step).outcome.vectors.at("weights"));
  return points;
}

void expect_points(const std::vector<Eigen::VectorXd>& points, const std::vector<std::vector<double>>& by_hand) {
  ASSERT_GE(points.size(), by_hand.size());
  for (std::size_t i = 0; i < by_hand.size(); ++i) {
    const auto expected = Eigen::Map<const Eigen::VectorXd>(by_hand[i].data(), points[i].size());
    ASSERT_EQ(static_cast<std::size_t>(points[i].size()), by_hand[i].size()) << i;
    EXPECT_LE((points[i] - expected).norm(), 1e-15) << i;
  }
}

TEST(ByHandTest, TwoRoundsOfAcceleratedSgd) {
  // b = (1, 2), upsilon 4. r = 1: alpha 1, eta 8; w = ag = -g/8 = (1/8, 1/4), g = (-1, -2).
  // r = 2: alpha 2/3, eta 8/3; md = (1/8, 1/4), g = (-7/8, -3/2), w = md - g/4 = (11/32, 5/8),
  // ag = (2/3) (11/32, 5/8) + (1/3) (1/8, 1/4) = (13/48, 1/2).
  const AcceleratedSgdSettings settings{plane(), {{0.0, 0.0, {}, {{2, 4.0}}}}, RecordUse::Shared};
  expect_points(asked_of(settings, {1.0, 2.0}), {{0.0, 0.0}, {0.125, 0.25}, {13.0 / 48.0, 0.5}});
}

TEST(ByHandTest, TwoPhasesOfLocalizedAcceleratedSgd) {
  // b = (3, 4). Phase 1: lambda = mu = 1, upsilon 6, radius 1/4 around 0: eta 12, w = -g/13 = (3/13, 4/13) of length
  // 5/13, so (3/20, 1/5). Phase 2 around it: lambda = mu = 2, upsilon 8: eta 16, g = (3/20 - 3, 2/5 - 4) =
  // (-57/20, -18/5), w = c - g/18 = (37/120, 2/5).
  const AcceleratedSgdSettings settings{
      plane(), {{1.0, 1.0, 0.25, {{1, 6.0}}}, {2.0, 2.0, {}, {{1, 8.0}}}}, RecordUse::Phased};
  expect_points(asked_of(settings, {3.0, 4.0}), {{0.0, 0.0}, {0.15, 0.2}, {37.0 / 120.0, 0.4}});
}

TEST(ByHandTest, AnEpochOfProxSvrgAndTheNextAnchor) {
  // b = (1, 2), eta 1/4, l1 strength 1/4: threshold 1/16. Differences are told (1/8, 0) too long.
  // Anchor at 0: a = (-1, -2). t = 0: h = (1/8, 0), v = (-7/8, -2), z = (7/32, 1/2), w = (5/32, 7/16).
  // t = 1: h = (5/32 + 1/8, 7/8) = (9/32, 7/8), v = (-23/32, -9/8), z = (5/32 + 23/128, 7/16 + 9/32) =
  // (43/128, 23/32), w = (35/128, 21/32): the next anchor.
  Problem problem = plane();
  problem.regulariser = geometry::Regulariser::l1(0.25, 2).value();
  const ProxSvrgSettings settings{problem, 1, 2, 2, 0.25, {}, 1};
  expect_points(asked_of(settings, {1.0, 2.0}, {0.125, 0.0}),
                {{0.0, 0.0}, {0.0, 0.0, 0.0, 0.0}, {5.0 / 32.0, 7.0 / 16.0, 0.0, 0.0}, {35.0 / 128.0, 21.0 / 32.0}});
}

TEST(ByHandTest, FourRoundsOfSpider) {
  // b = (1, 2), eta 1/4, an anchor every second round, differences told (1/8, 0) too long.
  // r = 0: h = (-1, -2), w_1 = (1/4, 1/2). r = 1: h = (-1 + 1/4 + 1/8, -2 + 1) = (-5/8, -1), w_2 = (13/32, 3/4).
  // r = 2, an anchor, so that what was told too long is gone: h = (-19/32, -1/2), w_3 = (71/128, 7/8).
  const SpiderSettings settings{plane(), 4, 2, 0.25, {}, 1};
  expect_points(asked_of(settings, {1.0, 2.0}, {0.125, 0.0}),
                {{0.0, 0.0}, {0.25, 0.5, 0.0, 0.0}, {13.0 / 32.0, 0.75}, {71.0 / 128.0, 0.875, 13.0 / 32.0, 0.75}});
}

TEST(ByHandTest, LocalSgdTakesTheMeanOfTheEndsWithinTheDomain) {
  Problem problem = plane();
  problem.domain = geometry::Domain::l2_ball(1.0).value();
  const auto algorithm = LocalSgd::create({problem, 2, 5, 0.1}).value();
  const Step middle = algorithm->advance({RoundIndex{0}, 3, folds::Mean{Eigen::Vector2d(3.0, 4.0)}}).value();
  EXPECT_LE((queries::point_of(std::get<queries::Query>(middle).question) - Eigen::Vector2d(0.6, 0.8)).norm(), 1e-15);
  const Step last = algorithm->advance({RoundIndex{1}, 2, folds::Mean{Eigen::Vector2d(0.25, -0.5)}}).value();
  EXPECT_EQ(std::get<Finished>(last).outcome.vectors.at("weights"), Eigen::Vector2d(0.25, -0.5));
}

TEST(AlgorithmsTest, RefuseSettingsThatDoNotServe) {
  Problem composite = in_ball(3);
  composite.regulariser = geometry::Regulariser::l1(0.1, 3).value();
  Problem grouped = in_ball(4);
  grouped.domain = geometry::Domain::box(-1.0, 1.0).value();
  grouped.regulariser = geometry::Regulariser::group_lasso(0.1, 2, 4).value();
  const Problem plain = in_ball(3);
  const auto refused = [](const Method& settings) {
    const auto made = settings->make();
    return made ? std::string("accepted") : made.error().message;
  };
  const auto says = [&](const Method& settings, const std::string& what) {
    const std::string why = refused(settings);
    EXPECT_NE(why.find(what), std::string::npos) << why;
  };
  says(MinibatchSgdSettings{Problem{}, 5, 0.1, {}}, "no numbers");
  says(MinibatchSgdSettings{composite, 5, 0.1, {}}, "not smooth");
  says(MinibatchSgdSettings{plain, 0, 0.1, {}}, "no rounds");
  says(MinibatchSgdSettings{plain, 5, std::nan(""), {}}, "step size");
  says(AcceleratedSgdSettings{composite, {{0, 0, {}, {{1, 1.0}}}}, RecordUse::Shared}, "not smooth");
  says(AcceleratedSgdSettings{plain, {}, RecordUse::Shared}, "no phase");
  says(AcceleratedSgdSettings{plain, {{0, 0, {}, {}}}, RecordUse::Shared}, "without a stage");
  says(AcceleratedSgdSettings{plain, {{0, 0, {}, {{1, 0.0}}}}, RecordUse::Shared}, "upsilon 0");
  says(AcceleratedSgdSettings{plain, {{-1.0, 0, {}, {{1, 1.0}}}}, RecordUse::Shared}, "proximity -1");
  says(ProximalSgdSettings{grouped, 5, 0.1}, "group lasso");
  says(ProximalSgdSettings{plain, 5, 0.0}, "step size");
  says(ProxSvrgSettings{plain, 1, 0, 3, 0.1, {}, 1}, "0 epochs");
  says(ProxSvrgSettings{plain, 1000, 1000, 1000, 0.1, {}, 1}, "at most");
  says(SpiderSettings{plain, 5, 0, 0.1, {}, 1}, "period");
  says(SpiderAlternateSettings{plain, 5, 0.1, {}, 1}, "neither a domain");
  std::vector<AcceleratedStage> many(64, {1'000'000, 1.0});
  says(AcceleratedSgdSettings{plain, {{0, 0, {}, many}}, RecordUse::OnePass}, "rounds in all");
}

/// F(w) = w^2/2 - w in one dimension: its gradient is w - 1, and w_0 = 0.
double trained(MinibatchSgdSettings settings) {
  settings.problem.dimension = 1;
  return run(settings, [](const Eigen::VectorXd& w) { return Eigen::VectorXd((w.array() - 1.0).matrix()); })[0];
}

TEST(ServerStepTest, SchedulesShortenTheStepsAsTheySay) {
  // 1 - w_R = product of 1 - eta_r over three rounds, eta = 1/2.
  const auto left = [](StepSchedule::Kind kind) {
    return 1.0 - trained({Problem{}, 3, 0.5, {Averaging::Kind::Last}, {kind}});
  };
  EXPECT_NEAR(left(StepSchedule::Kind::Constant), 0.125, 1e-15);
  EXPECT_NEAR(left(StepSchedule::Kind::InverseTime), 0.5 * 0.75 * (5.0 / 6.0), 1e-15);
  EXPECT_NEAR(left(StepSchedule::Kind::InverseSqrt), 0.5 * (1 - 0.5 / std::sqrt(2.0)) * (1 - 0.5 / std::sqrt(3.0)),
              1e-15);
  EXPECT_NEAR(left(StepSchedule::Kind::Cosine), 0.5 * (1.0 - 0.375) * (1.0 - 0.125), 1e-15);  // 1, 3/4, 1/4
}

TEST(ServerStepTest, ATailAveragesTheLastIteratesAlone) {
  // w_0 .. w_3 are 0, 1/2, 3/4, 7/8. A share of 0.3 of four rounds is two of them.
  const auto averaged = [](double tail) { return trained({Problem{}, 4, 0.5, {Averaging::Kind::Tail, 1.0, tail}}); };
  EXPECT_NEAR(averaged(0.3), (0.75 + 0.875) / 2.0, 1e-15);
  EXPECT_NEAR(averaged(0.25), 0.875, 1e-15);
  EXPECT_EQ(averaged(1.0), trained({Problem{}, 4, 0.5, {Averaging::Kind::Uniform}}));
}

TEST(ServerStepTest, MomentumAndAdamStepAsTheirSourcesSay) {
  // g = -1, then w_1 = 1/2 and g = -1/2: m = -1/2 - 1/4, so w_2 = 1/2 + 3/8.
  EXPECT_NEAR(trained({Problem{}, 2, 0.5, {Averaging::Kind::Last}, {}, {ServerOptimiser::Kind::Momentum, 0.25}}),
              0.5 + 0.5 * 0.75, 1e-15);
  // The first step of adam is eta g/(|g| + epsilon) whatever the betas. Then m^ = (b1 + 1 - w_1)/(1 + b1) in magnitude.
  const double epsilon = 0.25;
  const ServerOptimiser adam{ServerOptimiser::Kind::Adam, 0.5, 0.5, epsilon};
  const double first = 0.5 / (1.0 + epsilon);
  EXPECT_NEAR(trained({Problem{}, 1, 0.5, {Averaging::Kind::Last}, {}, adam}), first, 1e-15);
  const double g = 1.0 - first;
  const double m = (0.25 + 0.5 * g) / 0.75;
  const double v = (0.25 + 0.5 * g * g) / 0.75;
  EXPECT_NEAR(trained({Problem{}, 2, 0.5, {Averaging::Kind::Last}, {}, adam}),
              first + 0.5 * m / (std::sqrt(v) + epsilon), 1e-15);
}

TEST(ServerStepTest, RefusesWhatIsOutOfRange) {
  Problem problem;
  problem.dimension = 1;
  const auto made = [&](Averaging averaging, ServerOptimiser server) {
    return MinibatchSgd::create({problem, 3, 0.5, averaging, {}, server}).has_value();
  };
  const Averaging last{Averaging::Kind::Last};
  EXPECT_TRUE(made(last, {ServerOptimiser::Kind::Momentum, 0.9}));
  for (const double beta : {-0.1, 1.0, std::nan("")}) EXPECT_FALSE(made(last, {ServerOptimiser::Kind::Momentum, beta}));
  for (const double epsilon : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_FALSE(made(last, {ServerOptimiser::Kind::Adam, 0.9, 0.9, epsilon}));
  for (const double tail : {0.0, 1.1, std::nan("")}) EXPECT_FALSE(made({Averaging::Kind::Tail, 1.0, tail}, {}));
  EXPECT_FALSE(made({Averaging::Kind::Geometric, 0.9}, {ServerOptimiser::Kind::Momentum, 0.9}));
}

}  // namespace
}  // namespace undertone::algorithms
