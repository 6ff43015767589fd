#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>

#include "shared/algorithms/algorithm_driver.hpp"
#include "shared/algorithms/sgd/local_sgd.hpp"
#include "shared/algorithms/sgd/scaffold.hpp"
#include "shared/base/random_source.hpp"
#include "shared/planning/plan.hpp"
#include "tests/support/problems.hpp"

/// Local SGD's baselines on the table of problems with known optima, their silos stepping along exact gradients.
namespace undertone::algorithms {
namespace {

using tests::KnownProblem;

/// The problem as an algorithm is told it: without the regulariser, which local steps do not know.
Problem told(const KnownProblem& known) {
  Problem problem = known.problem;
  problem.silos = static_cast<std::uint32_t>(known.silos.size());
  return problem;
}

/// Silos that do what a local run asks with exact gradients of their own, written from the algorithms' papers.
class ExactSilos {
 public:
  ExactSilos(const KnownProblem& known, const releases::LocalSteps& steps, std::size_t answering)
      : known_(&known), steps_(steps), answering_(answering), variates_(known.silos.size()) {
    for (Eigen::VectorXd& one : variates_) one = Eigen::VectorXd::Zero(known.problem.dimension);
  }

  Eigen::VectorXd train(FederatedAlgorithm& algorithm) {
    return AlgorithmDriver(algorithm)
        .finish([this](const queries::Query& query) -> Result<folds::Gathered> { return ask(query); })
        .value()
        .vectors.at("weights");
  }

 private:
  folds::Gathered ask(const queries::Query& query) {
    const std::vector<queries::NamedPoint> points = queries::named_points(query.question);
    const Eigen::VectorXd start = points[0].value;
    const bool controlled = points.size() == 2;
    EXPECT_EQ(controlled, steps_.controlled);
    const Eigen::VectorXd control = controlled ? Eigen::VectorXd(points[1].value) : Eigen::VectorXd(0.0 * start);
    std::vector<std::size_t> asked = choice_.permutation(known_->silos.size());
    asked.resize(answering_);
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(start.size());
    for (const std::size_t i : asked) {
      Eigen::VectorXd y = start;
      for (std::uint64_t k = 0; k < steps_.steps; ++k) {
        Eigen::VectorXd direction = known_->silos[i].gradient(y) + steps_.proximal * (y - start);
        if (controlled) direction += control - variates_[i];
        y -= steps_.step_size * direction;
      }
      if (controlled) variates_[i] += (start - y) / (static_cast<double>(steps_.steps) * steps_.step_size) - control;
      mean += y / static_cast<double>(asked.size());
    }
    return {query.round, static_cast<Eigen::Index>(asked.size()), folds::Mean{std::move(mean)}};
  }

  const KnownProblem* known_;
  releases::LocalSteps steps_;
  std::size_t answering_;
  RandomSource choice_{5};
  std::vector<Eigen::VectorXd> variates_;
};

Eigen::VectorXd trained(const KnownProblem& known, const Method& method, std::size_t answering = 0) {
  const planning::Schedule schedule = method->schedule({releases::L2Bound{*releases::ClipNorm::create(1.0)}, 1.0});
  const auto algorithm = method->make().value();
  return ExactSilos(known, *schedule.front().ask.local(), answering == 0 ? known.silos.size() : answering)
      .train(*algorithm);
}

/// Smooth problems without a regulariser whose optimum lies inside the domain: where it lies on the boundary, the mean
/// gradient does not vanish, and local steps that know no domain leave it.
std::vector<KnownProblem> with_an_optimum_inside() {
  std::vector<KnownProblem> out;
  for (const KnownProblem& known : tests::known_problems())
    if (known.problem.regulariser.is_none() && known.gradient(known.minimiser).norm() < 1e-9) out.push_back(known);
  return out;
}

TEST(LocalBaselinesTest, ScaffoldEndsAtTheOptimumWhereItsSilosAreEachSomewhereElse) {
  int seen = 0;
  for (const KnownProblem& known : with_an_optimum_inside()) {
    SCOPED_TRACE(known.name);
    const Method scaffold = ScaffoldSettings{told(known), 3000, 10, 0.1 / known.smoothness};
    EXPECT_LE(known.stationarity(trained(known, scaffold), 1.0 / known.smoothness), 1e-16);
    ++seen;
  }
  EXPECT_EQ(seen, 3);  // least squares, the valley, and silos that are far apart
}

TEST(LocalBaselinesTest, ScaffoldDoesSoWithSilosMissing) {
  const KnownProblem known = tests::least_squares();
  const Method scaffold = ScaffoldSettings{told(known), 4000, 5, 0.1 / known.smoothness};
  EXPECT_LE(known.excess(trained(known, scaffold, 2)), 1e-12);
}

TEST(LocalBaselinesTest, LocalSgdEndsBesideItAndFedProxNearer) {
  // Silos whose curvatures differ: the fixed point of many local steps is no optimum. A proximal weight shortens the
  // way that each silo goes towards its own.
  const KnownProblem known = tests::least_squares();
  const double step = 0.2 / known.smoothness;
  const auto excess = [&](double proximal) {
    return known.excess(trained(known, LocalSgdSettings{told(known), 2000, 50, step, 1, proximal}));
  };
  const double local = excess(0.0);
  const double near = excess(known.smoothness);
  const double nearer = excess(4.0 * known.smoothness);
  EXPECT_GT(local, 1e-6);
  EXPECT_LT(near, 0.5 * local);
  EXPECT_LT(nearer, 0.5 * near);
  EXPECT_LE(known.excess(trained(known, ScaffoldSettings{told(known), 2000, 50, 0.05 * step})), 1e-10);
}

TEST(LocalBaselinesTest, ScaffoldByHand) {
  // Two silos of f_1 = x^2/2 and f_2 = (x - 4)^2, K = 2, eta = 1/4, x_0 = 0, all variates 0.
  // Round 0: y_1 stays 0; y_2: 0 - 1/4 * 2(0 - 4) = 2, then 2 - 1/4 * 2(2 - 4) = 3. x_1 = 3/2,
  //   c_1 = 0, c_2 = (0 - 3)/(1/2) = -6, c = -3.
  // Round 1 from 3/2, corrections c - c_1 = -3 and c - c_2 = 3: y_1 = 3/2 - 1/4(3/2 - 3) = 15/8, then 15/8 - 1/4(15/8 -
  // 3)
  //   = 69/32; y_2 = 3/2 - 1/4(-5 + 3) = 2, then 2 - 1/4(-4 + 3) = 9/4. x_2 = (69/32 + 72/32)/2 = 141/64.
  KnownProblem known{"by hand", {}, {}};
  known.problem.dimension = 1;
  known.silos = {
      {{}, [](const Eigen::VectorXd& w) -> Eigen::VectorXd { return w; }},
      {{}, [](const Eigen::VectorXd& w) -> Eigen::VectorXd { return 2.0 * (w - Eigen::VectorXd::Constant(1, 4.0)); }}};
  EXPECT_DOUBLE_EQ(trained(known, ScaffoldSettings{told(known), 1, 2, 0.25})[0], 1.5);
  EXPECT_DOUBLE_EQ(trained(known, ScaffoldSettings{told(known), 2, 2, 0.25})[0], 141.0 / 64.0);
  // c after a round in which only one silo of two answers moves half the way: asked of round 2's question.
  auto algorithm = Scaffold::create({told(known), 2, 2, 0.25}).value();
  (void)algorithm->start();
  const Step next = algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::VectorXd::Constant(1, 3.0)}}).value();
  const auto& query = std::get<queries::Query>(next);
  EXPECT_DOUBLE_EQ(queries::named_points(query.question)[1].value[0], -3.0);  // half of (0 - 3)/(1/2)
}

TEST(LocalBaselinesTest, ScaffoldGoesOnWhereItWasSaved) {
  const KnownProblem known = tests::least_squares();
  const ScaffoldSettings settings{told(known), 5, 3, 0.1};
  auto whole = Scaffold::create(settings).value();
  (void)whole->start();
  const auto told_of = [&](std::uint64_t round) {
    return folds::Gathered{
        RoundIndex{round}, 4,
        folds::Mean{Eigen::VectorXd::Constant(known.problem.dimension, 0.1 + 0.1 * static_cast<double>(round))}};
  };
  ASSERT_TRUE(whole->advance(told_of(0)));
  ByteWriter writer;
  whole->save(writer);
  const std::string saved = std::move(writer).bytes();
  auto again = Scaffold::create(settings).value();
  ByteReader reader(saved);
  ASSERT_TRUE(again->restore(reader));
  const Step one = whole->advance(told_of(1)).value();
  (void)again->start();
  const Step other = again->advance(told_of(1)).value();
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(one).question),
            queries::point_of(std::get<queries::Query>(other).question));
}

TEST(LocalBaselinesTest, SettingsThatDoNotServeAreRefused) {
  const Problem problem = told(tests::least_squares());
  const auto refused = [](const Method& method, const char* what) {
    const auto made = method->make();
    ASSERT_FALSE(made) << what;
    EXPECT_NE(made.error().message.find(what), std::string::npos) << made.error().message;
  };
  refused(LocalSgdSettings{problem, 0, 5, 0.1}, "rounds and steps");
  refused(LocalSgdSettings{problem, 2, 5, 0.1, 0}, "a record or more");
  refused(LocalSgdSettings{problem, 2, 5, 0.1, 1, 10.5}, "1/step_size = 10");
  refused(LocalSgdSettings{problem, 2, 5, 0.1, 1, -1.0}, "got -1");
  refused(LocalSgdSettings{problem, 2, 5, 0.1, 1, NAN}, "got nan");
  refused(ScaffoldSettings{problem, 2, 0, 0.1}, "got 2, 0, 1 and 4");
  refused(ScaffoldSettings{problem, 2, 5, 0.0}, "step size of SCAFFOLD");
  Problem regularised = problem;
  regularised.regulariser = geometry::Regulariser::l1(0.1, problem.dimension).value();
  refused(ScaffoldSettings{regularised, 2, 5, 0.1}, "no regulariser");
  // The experiments' noise is of steps of one record.
  EXPECT_TRUE(Method(LocalSgdSettings{problem, 2, 5, 0.1})->experiment_noise({100.0, 1.0, 1.0, 1e-6}));
  EXPECT_FALSE(Method(LocalSgdSettings{problem, 2, 5, 0.1, 4})->experiment_noise({100.0, 1.0, 1.0, 1e-6}));
}

TEST(LocalBaselinesTest, ABatchIsDrawnAndChargedInEveryStep) {
  const releases::SiloFacts facts{
      *SiloId::create("silo-1"), 100, 0, false,
      releases::ApproximateDp{*releases::Epsilon::create(2.0), *releases::Delta::create(1e-5)}};
  const GradientShape shape{releases::L2Bound{*releases::ClipNorm::create(1.0)}, 1.0};
  const auto planned = [&](std::uint32_t records) {
    const Method method = LocalSgdSettings{told(tests::least_squares()), 3, 5, 0.1, records};
    return planning::make_plan(method->schedule(shape), facts);
  };
  const Result<planning::Plan> ten = planned(10);
  ASSERT_TRUE(ten) << ten.error().message;
  const planning::Release& release = ten->segments().front().release;
  EXPECT_EQ(release.records_drawn, 10);
  EXPECT_EQ(release.population, 100);
  EXPECT_EQ(ten->draws(), 15U);
  const std::string listed = ten->releases_text(releases::Block::Training);
  EXPECT_NE(listed.find("*3@10/100^5"), std::string::npos) << listed;
  EXPECT_LE(ten->epsilon().value_rounded_up(), 2.0);
  // Ten times the records lower the noise of their mean, though each is drawn ten times as often.
  EXPECT_LT(release.noise_stddev_of_mean(), planned(1)->segments().front().release.noise_stddev_of_mean());
  EXPECT_TRUE(planned(100));
  const Result<planning::Plan> more = planned(101);
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("101 of n = 100"), std::string::npos) << more.error().message;
}

TEST(LocalBaselinesTest, NamesSayWhatASettingIs) {
  const Problem problem = told(tests::least_squares());
  EXPECT_EQ(Method(LocalSgdSettings{problem, 2, 5, 0.1})->name(), "local_sgd");
  EXPECT_EQ(Method(LocalSgdSettings{problem, 2, 5, 0.1, 4})->name(), "local_minibatch_sgd");
  EXPECT_EQ(Method(LocalSgdSettings{problem, 2, 5, 0.1, 4, 0.5})->name(), "fedprox");
  EXPECT_TRUE(Method(ScaffoldSettings{problem, 2, 5, 0.1})->traits().simulated_only);
  EXPECT_FALSE(Method(LocalSgdSettings{problem, 2, 5, 0.1, 4, 0.5})->traits().simulated_only);
}

}  // namespace
}  // namespace undertone::algorithms
