#include <cmath>
#include <gtest/gtest.h>

#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/mechanisms/binomial_sum/binomial_report.hpp"
#include "simulation/direct_cohort.hpp"
#include "tests/support/fitted_slope.hpp"

/// What a shuffler is worth end to end, by the product's own plans, clipping, coins and noise: all of a problem the
/// same, only that silos either add noise enough for themselves or coins enough for all of them together.
///
/// The problem: a record is (e_k, y), its loss (w_k - y)^2 / 2, equally many records of every coordinate k of
/// every silo. F(w) = ||w - w*||^2 / (2 d) + const, w*_k the mean of the targets of k; curvature mu = beta = 1/d. With
/// targets of at most 0.3 and iterates within 0.7, over four standard deviations of the loudest, no gradient is longer
/// than the clip norm L = 1, so the mean of what silos answer is unbiased. With variance s^2 of a coordinate of it and
/// q = 1 - eta/d,
///   w_R - w* = q^R (w_0 - w*) - eta sum_r q^(R-1-r) z_r
///   E F(w_R) - F* = (q^(2R) ||w*||^2 + d eta^2 s^2 (1 - q^(2R)) / (1 - q^2)) / (2 d),
/// of which q^(2R) is below 1e-7: the risk is in proportion to s^2, the noise for privacy.
///   Local (ISRL): each of N silos adds N(0, sigma^2) with sigma = 2 L sqrt(R) / (n mu_G), so s^2 = sigma^2 / N.
///   Shuffled (SDP): the coins of all N n records together do that once, on a sum of N n records with the same
///   sensitivity 2 L, so s^2 = (2 L sqrt(R) / (N n mu_G))^2 and what the grid and the certificate cost, some percent.
/// Theorem 39 has eps n N where Theorem 34 has eps n sqrt(N): its strongly convex term is (L sqrt(d) / (eps n N))^2 /
/// mu up to logarithms, hence slopes in N of -2 and -1, and a risk that is N times smaller. The convex term is the
/// first power of the same noise: of any noise, convergence_rates_test shows it. Source: federated-core 3.1, 3.2, 3.7.
namespace undertone::tests {
namespace {

constexpr Eigen::Index kDimension = 8;
constexpr std::int64_t kRecords = 160;  // n, of a silo
constexpr std::uint64_t kRounds = 25;
constexpr double kStep = 0.3 * kDimension;  // q = 0.7: far from the optimum nothing is left after 25 rounds
constexpr double kClip = 1.0;
constexpr double kEpsilon = 4.0;
constexpr double kDelta = 1e-6;
constexpr std::int64_t kCoinsMax = 1 << 16;

enum class Mode { Local, Shuffled };

double centred(RandomSource& random) { return 2.0 * random.unit() - 1.0; }

/// Silos of different targets, and where their common optimum is.
struct Silos {
  std::vector<data::Dataset> datasets;
  Eigen::VectorXd minimiser = Eigen::VectorXd::Zero(kDimension);

  explicit Silos(std::size_t count) {
    RandomSource random(21);
    Eigen::VectorXd truth(kDimension);
    for (double& value : truth) value = 0.1 * centred(random);
    const auto records = static_cast<double>(count) * kRecords / kDimension;  // of a coordinate
    for (std::size_t i = 0; i < count; ++i) {
      models::Records training{Eigen::MatrixXd::Zero(kDimension, kRecords), Eigen::VectorXd(kRecords)};
      const double lean = 0.1 * centred(random);
      for (Eigen::Index j = 0; j < kRecords; ++j) {
        training.features(j % kDimension, j) = 1.0;
        training.targets[j] = truth[j % kDimension] + lean + 0.1 * centred(random);
        minimiser[j % kDimension] += training.targets[j] / records;
      }
      datasets.push_back({std::move(training), {}});
    }
  }
  double excess(const Eigen::VectorXd& w) const { return (w - minimiser).squaredNorm() / (2.0 * kDimension); }
};

algorithms::MinibatchSgdSettings settings() {
  algorithms::Problem problem;
  problem.dimension = kDimension;
  return {problem, kRounds, kStep, {algorithms::Averaging::Kind::Last}};
}

/// What every silo plans: all silos are honest.
planning::Release planned(std::size_t silos, Mode mode) {
  const releases::SiloFacts facts{
      SiloId::create("silo").value(), kRecords, 0, true,
      releases::ApproximateDp{releases::Epsilon::create(kEpsilon).value(), releases::Delta::create(kDelta).value()}};
  const planning::Schedule schedule =
      algorithms::MinibatchSgd::schedule(settings(), {releases::L2Bound{releases::ClipNorm::create(kClip).value()}});
  std::optional<planning::Shuffling> shuffling;
  if (mode == Mode::Shuffled) shuffling = planning::Shuffling{static_cast<std::int64_t>(silos), true, kCoinsMax};
  const planning::Plan plan = planning::make_plan(schedule, facts, shuffling).value();
  EXPECT_EQ(plan.segments().size(), 1U);
  EXPECT_EQ(plan.rounds(), kRounds);
  EXPECT_LE(plan.epsilon().value_rounded_up(), kEpsilon * (1.0 + 1e-6));
  const planning::Release release = plan.segments().front().release;
  EXPECT_EQ(std::holds_alternative<mechanisms::BinomialSum>(release.mechanism), mode == Mode::Shuffled);
  return release;
}

/// s, of a coordinate of the mean over all silos; of coins at most so much.
double stddev_of(const planning::Release& release, std::size_t silos) {
  return release.noise_stddev_of_mean() / std::sqrt(static_cast<double>(silos));
}

/// E F(w_R) - F*, as above.
double expected_risk(const Silos& silos, double stddev) {
  const double q = 1.0 - kStep / kDimension;
  const double left = std::pow(q, 2.0 * kRounds);
  return (left * silos.minimiser.squaredNorm() +
          kDimension * std::pow(kStep * stddev, 2.0) * (1.0 - left) / (1.0 - q * q)) /
         (2.0 * kDimension);
}

simulation::DirectCohort cohort_of(const Silos& silos, const planning::Release& release, std::uint64_t rounds,
                                   std::uint64_t seed,
                                   simulation::SimulatedNoise noise = simulation::SimulatedNoise::Seeded) {
  std::vector<simulation::DirectCohort::Member> members;
  for (std::size_t i = 0; i < silos.datasets.size(); ++i) {
    members.push_back(
        {SiloId::create(fmt::format("silo-{}", i)).value(), &silos.datasets[i], {{release, rounds}}, 1, 1});
  }
  return simulation::DirectCohort::create({models::LinearModel(models::Loss::LeastSquares, kDimension, false),
                                           {queries::ReplyType::I64, -40},
                                           {},
                                           seed,
                                           noise,
                                           0,
                                           1},
                                          std::move(members))
      .value();
}

double risk_of(const Silos& silos, simulation::DirectCohort cohort) {
  const auto algorithm = algorithms::MinibatchSgd::create(settings()).value();
  return silos.excess(cohort.train(*algorithm).value().vectors.at("weights"));
}

constexpr std::size_t kAxis[] = {4, 8, 16, 32, 64};
constexpr std::uint64_t kRuns = 150;

/// The risks of every run at every point of the axis, of which nothing is drawn twice.
struct Measured {
  std::vector<Point> local;
  std::vector<Point> shuffled;
};

const Measured& measured() {
  static const Measured all = [] {
    Measured out;
    for (const std::size_t count : kAxis) {
      const Silos silos(count);
      for (const Mode mode : {Mode::Local, Mode::Shuffled}) {
        const planning::Release release = planned(count, mode);
        Point point{static_cast<double>(count), {}, 0.0};
        for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
          // Other seeds, or silos of both modes would draw from the same stream.
          const std::uint64_t own = 1000 * count + 2 * seed + (mode == Mode::Shuffled ? 1 : 0);
          point.risks.push_back(risk_of(silos, cohort_of(silos, release, kRounds, own)));
        }
        const planning::Release local = planned(count, Mode::Local);
        point.noiseless = risk_of(silos, cohort_of(silos, local, kRounds, 0, simulation::SimulatedNoise::None));
        // A chi-square of d runs degrees: 5.5 standard errors, with probability 1e-6 in any of ten looks.
        const double expected = expected_risk(silos, stddev_of(release, count));
        EXPECT_NEAR(point.mean(), expected, 5.5 * expected * std::sqrt(2.0 / (kDimension * kRuns))) << count;
        EXPECT_LE(point.noiseless, 0.02 * point.mean()) << count;
        (mode == Mode::Local ? out.local : out.shuffled).push_back(std::move(point));
      }
    }
    return out;
  }();
  return all;
}

TEST(ShuffledRatesTest, SilosThatAreShuffledReachALowerRiskAtTheSameEpsilon) {
  // Sign test over pairs of runs: if neither mode were better, a run of one would be below one of the other in every
  // second pair, and in 105 or more of 150 with a probability below 1e-6. At N = 8, where the risks are 1 to 7, a pair
  // comes out right with probability 0.993, so that a sound product fails with less than 1e-12.
  constexpr std::size_t kNeeded = 105;
  for (std::size_t i = 1; i < std::size(kAxis); ++i) {
    SCOPED_TRACE(kAxis[i]);
    const Point& local = measured().local[i];
    const Point& shuffled = measured().shuffled[i];
    std::size_t better = 0;
    for (std::size_t run = 0; run < kRuns; ++run) better += shuffled.risks[run] < local.risks[run] ? 1 : 0;
    EXPECT_GE(better, kNeeded);
    EXPECT_LT(shuffled.mean(), local.mean());
  }
}

TEST(ShuffledRatesTest, TheRiskFallsWithTheSquareOfTheSilosAndNotWithTheirNumber) {
  // A fitted slope's standard error is sqrt(2 / (d runs)) over the root of the sum of squares of the five logarithms
  // about their mean, ln(2) sqrt(10): 0.019. The interval reaches 3.3 of them either way about an estimate that is up
  // to 3 of them off, which is 0.12; grids and certificates that cost 25 % at one end and nothing at the other would
  // add 0.06. The other mode's slope is 1 away.
  constexpr double kTolerance = 0.2;
  const Interval local = slope_interval(measured().local);
  const Interval shuffled = slope_interval(measured().shuffled);
  EXPECT_GE(local.low, -1.0 - kTolerance);
  EXPECT_LE(local.high, -1.0 + kTolerance);
  EXPECT_GE(shuffled.low, -2.0 - kTolerance);
  EXPECT_LE(shuffled.high, -2.0 + kTolerance);
  EXPECT_LT(shuffled.high, local.low);
  EXPECT_LT(shuffled.high, -1.0);
}

/// Asks for the gradient at one point in every round, whatever the answers, and keeps them.
class Listener final : public algorithms::FederatedAlgorithm {
 public:
  Listener(Eigen::VectorXd point, std::uint64_t rounds) : point_(std::move(point)), rounds_(rounds) {}
  algorithms::Step start() override { return current(); }
  Result<algorithms::Step> advance(const folds::Gathered& gathered) override {
    answers.push_back(gathered.mean());
    return current();
  }
  Eigen::VectorXd candidate() const override { return point_; }
  void save(ByteWriter&) const override {}
  Status restore(ByteReader&) override { return {}; }
  std::vector<Eigen::VectorXd> answers;

 private:
  algorithms::Step current() const {
    if (answers.size() == rounds_) return algorithms::Finished{};
    return queries::Query{RoundIndex{answers.size()}, queries::GradientQuestion{point_}};
  }
  Eigen::VectorXd point_;
  std::uint64_t rounds_;
};

TEST(ShuffledRatesTest, TheNoiseOfTheMeanIsThatWhichThePlanPredicts) {
  // Of coins the prediction has the largest variance of a silo's rounding, 1/4; between none and that lies the truth.
  // A standard deviation measured on m values whose kurtosis is at most 3 has the standard error 1 / sqrt(2 m) of it.
  constexpr std::uint64_t kAsked = 1500;
  const double error = 1.0 / std::sqrt(2.0 * kDimension * static_cast<double>(kAsked));
  for (const std::size_t count : {std::size_t{4}, std::size_t{16}, std::size_t{64}}) {
    const Silos silos(count);
    const Eigen::VectorXd point = Eigen::VectorXd::LinSpaced(kDimension, -0.4, 0.4);
    const Eigen::VectorXd truth = (point - silos.minimiser) / kDimension;
    for (const Mode mode : {Mode::Local, Mode::Shuffled}) {
      SCOPED_TRACE(fmt::format("{} silos, {}", count, mode == Mode::Local ? "local" : "shuffled"));
      const planning::Release release = planned(count, mode);
      Listener listener(point, kAsked);
      ASSERT_TRUE(cohort_of(silos, release, kAsked, 7).train(listener));
      double squares = 0.0;
      for (const Eigen::VectorXd& answer : listener.answers) squares += (answer - truth).squaredNorm();
      const double found = std::sqrt(squares / (kDimension * static_cast<double>(kAsked)));
      const double most = stddev_of(release, count);
      double least = most;
      if (const auto* binomial = std::get_if<mechanisms::BinomialSum>(&release.mechanism)) {
        const double all = static_cast<double>(count) * kRecords;
        least = std::sqrt(mechanisms::binomial_sum_variance(binomial->parameters, release.ask.clip(),
                                                            static_cast<std::int64_t>(all), 0.0)) /
                all;
        EXPECT_GE(least, 0.99 * most);
      }
      EXPECT_GE(found, least * (1.0 - 5.0 * error));
      EXPECT_LE(found, most * (1.0 + 5.0 * error));
    }
  }
}

}  // namespace
}  // namespace undertone::tests
