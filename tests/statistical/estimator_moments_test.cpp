#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "shared/algorithms/proximal/prox_svrg.hpp"
#include "shared/algorithms/proximal/spider.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/base/digest.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "simulation/direct_cohort.hpp"
#include "tests/support/small_federation.hpp"

/// The exact means and variances of federated-core 7, at points fixed before the draw: of what the product's silos
/// answer, over many rounds, and by full enumeration of cases small enough.
namespace undertone {
namespace {

constexpr int kStepLog2 = -40;
constexpr Eigen::Index kFeatures = 3;

/// A silo's records for least squares without intercept.
/// @param lean of its targets, reach of its features: what silos differ in
models::Records records_of(std::uint64_t seed, Eigen::Index count, double lean, double reach) {
  RandomSource random(seed);
  models::Records out{Eigen::MatrixXd(kFeatures, count), Eigen::VectorXd(count)};
  for (Eigen::Index j = 0; j < count; ++j) {
    for (Eigen::Index f = 0; f < kFeatures; ++f) out.features(f, j) = reach * (2.0 * random.unit() - 1.0);
    out.targets[j] = out.features(0, j) + lean * out.features(2, j);
  }
  return out;
}

Eigen::VectorXd gradient(const models::Records& records, Eigen::Index j, const Eigen::VectorXd& w) {
  return (records.features.col(j).dot(w) - records.targets[j]) * records.features.col(j);
}

/// Mean and spread, (1/n) sum ||v_j - mean||^2, of a vector for each record.
struct Population {
  Eigen::VectorXd mean;
  double spread = 0.0;
};

Population population(Eigen::Index count, const std::function<Eigen::VectorXd(Eigen::Index)>& vector) {
  Population out{Eigen::VectorXd::Zero(vector(0).size())};
  const auto n = static_cast<double>(count);
  for (Eigen::Index j = 0; j < count; ++j) out.mean += vector(j) / n;
  for (Eigen::Index j = 0; j < count; ++j) out.spread += (vector(j) - out.mean).squaredNorm() / n;
  return out;
}

Population gradients(const models::Records& records, const Eigen::VectorXd& w) {
  return population(records.count(), [&](Eigen::Index j) { return gradient(records, j, w); });
}

/// What an estimator should be over all rounds.
struct Expected {
  Eigen::VectorXd mean;
  double variance = 0.0;  // E ||estimate - mean||^2
  double rounding = 0.0;  // at most, of a coordinate of the mean: records are cut to whole steps of the plan's lattice
};

/// Looks at `rounds` independent estimates. A mean of so many is 6.5 of its estimated standard errors from its
/// expectation with probability 8e-11, and at most three times that where the summands are as skew as a chi-square of
/// one degree: false alarm 1e-9 with room, for every coordinate and for the variance.
/// @param resolution what 6.5 standard errors of the variance may be of it, at most: a defect of a larger share is seen
void expect_moments(const Expected& expected, std::uint64_t rounds, double resolution,
                    const std::function<Eigen::VectorXd(std::uint64_t)>& estimate) {
  constexpr double kErrors = 6.5;
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(expected.mean.size());
  Eigen::VectorXd squares = sum;
  double spread = 0.0;
  double fourth = 0.0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Eigen::VectorXd off = estimate(round) - expected.mean;
    sum += off;
    squares += off.cwiseAbs2();
    spread += off.squaredNorm();
    fourth += off.squaredNorm() * off.squaredNorm();
  }
  const auto n = static_cast<double>(rounds);
  for (Eigen::Index j = 0; j < sum.size(); ++j)
    EXPECT_LE(std::abs(sum[j]) / n, kErrors * std::sqrt(squares[j]) / n + expected.rounding) << j;
  spread /= n;
  const double error = std::sqrt((fourth / n - spread * spread) / n);
  // Off by a step at most, a coordinate's standard deviation is too, and the variance by twice the product.
  const double rounding = 2.0 * expected.rounding * std::sqrt(static_cast<double>(sum.size()) * expected.variance);
  EXPECT_NEAR(spread, expected.variance, kErrors * error + rounding);
  EXPECT_LE(kErrors * error + rounding, resolution * expected.variance);
}

/// Silos that answer as the product's do, each release as a plan says.
class Answers {
 public:
  Answers(const planning::Schedule& schedule, std::size_t silos, Eigen::Index records, double epsilon)
      : sums_(silo::make_record_sums(models::LinearModel(models::Loss::LeastSquares, kFeatures, false))) {
    for (std::size_t i = 0; i < silos; ++i) {
      ids_.push_back(SiloId::create(fmt::format("silo-{}", i)).value());
      datasets_.push_back({records_of(40 + i, records, static_cast<double>(i) - 1.0, 0.8), {}});
    }
    const releases::SiloFacts facts{
        ids_.front(), records, 0, true,
        releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(1e-3).value()}};
    plan_.emplace(planning::make_plan(schedule, facts).value());
  }
  const models::Records& records(std::size_t silo) const { return datasets_[silo].training; }
  std::size_t silos() const { return ids_.size(); }
  const planning::Release& release(std::uint64_t planned) const { return *plan_->release({planned}); }
  /// Of a coordinate of one silo's mean, at the release's own scale.
  double stddev(std::uint64_t planned) const {
    const planning::Release& one = release(planned);
    return std::get<mechanisms::GaussianLattice>(one.mechanism).noise_stddev() / static_cast<double>(one.records_drawn);
  }
  /// The mean answer of all silos. @param planned which release of the plan @param round whose randomness
  Eigen::VectorXd mean(std::uint64_t planned, std::uint64_t round, const queries::Question& question) const {
    folds::LatticeFold fold(kFeatures, kStepLog2, queries::ReplyType::I64);
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const auto stream = silo::TestRandomness(7, ids_[i]).stream(RunId{}, {round});
      fold.add(queries::values_of(silo::draw_and_sum({{round}, question}, release(planned), {datasets_[i], {}},
                                                     sums_.get(), {queries::ReplyType::I64, kStepLog2}, *stream)),
               1);
    }
    return fold.mean();
  }

 private:
  std::unique_ptr<silo::RecordSums> sums_;
  std::vector<SiloId> ids_;
  std::vector<data::Dataset> datasets_;
  std::optional<planning::Plan> plan_;
};

algorithms::GradientShape shape_of(double clip, double draw_fraction) {
  return {releases::L2Bound{releases::ClipNorm::create(clip).value()}, draw_fraction};
}

algorithms::Problem free_problem() {
  algorithms::Problem problem;
  problem.dimension = kFeatures;
  return problem;
}

queries::Question difference(const Eigen::VectorXd& at, const Eigen::VectorXd& from) {
  Eigen::VectorXd points(at.size() + from.size());
  points << at, from;
  return queries::GradientDifferenceQuestion{std::move(points)};
}

const Eigen::VectorXd kPoint = Eigen::Vector3d(-0.4, 0.5, 0.3);

TEST(EstimatorMomentsTest, ADrawOfFixedSizeHasTheVarianceOfOneWithoutReplacement) {
  // (s^2 / K) (n-K)/(n-1) + d sigma^2. With replacement the first term would be 11/7 of it, with one draw for all
  // rounds 0; noise for L/n where 2L/n is due, or divided by n where K is due, would be a quarter of the second.
  const algorithms::MinibatchSgdSettings settings{free_problem(), 1, 0.1, {}};
  const Answers answers(algorithms::MinibatchSgd::schedule(settings, shape_of(2.0, 5.0 / 12.0)), 1, 12, 30.0);
  ASSERT_EQ(answers.release(0).records_drawn, 5);
  const Population all = gradients(answers.records(0), kPoint);
  const double drawn = all.spread / 5.0 * 7.0 / 11.0;
  const double noise = kFeatures * std::pow(answers.stddev(0), 2.0);
  EXPECT_GT(drawn, 0.2 * noise);  // so that both terms are seen
  EXPECT_GT(noise, 0.2 * drawn);
  expect_moments({all.mean, drawn + noise, answers.release(0).lattice().step}, 30'000, 0.07,
                 [&](std::uint64_t round) { return answers.mean(0, round, queries::GradientQuestion{kPoint}); });
}

TEST(EstimatorMomentsTest, DrawsWithReplacementHaveTheVarianceOfIndependentRecords) {
  // s^2 / K + d sigma^2: a subset would have 7/11 of the first term, and twice K draws half of it.
  algorithms::GradientShape shape = shape_of(2.0, 5.0 / 12.0);
  shape.with_replacement = true;
  const algorithms::MinibatchSgdSettings settings{free_problem(), 1, 0.1, {}};
  const Answers answers(algorithms::MinibatchSgd::schedule(settings, shape), 1, 12, 30.0);
  ASSERT_EQ(answers.release(0).records_drawn, 5);
  const Population all = gradients(answers.records(0), kPoint);
  const double drawn = all.spread / 5.0;
  const double noise = kFeatures * std::pow(answers.stddev(0), 2.0);
  EXPECT_GT(drawn, 0.2 * noise);
  EXPECT_GT(noise, 0.2 * drawn);
  expect_moments({all.mean, drawn + noise, answers.release(0).lattice().step}, 30'000, 0.07,
                 [&](std::uint64_t round) { return answers.mean(0, round, queries::GradientQuestion{kPoint}); });
}

/// Var_j of the differences' mean over a draw of K of n without replacement, mean over silos.
double drawn_difference(const Answers& answers, std::int64_t drawn, const Eigen::VectorXd& at,
                        const Eigen::VectorXd& from) {
  double sum = 0.0;
  for (std::size_t i = 0; i < answers.silos(); ++i) {
    const models::Records& records = answers.records(i);
    const Population all = population(records.count(), [&](Eigen::Index j) -> Eigen::VectorXd {
      return gradient(records, j, at) - gradient(records, j, from);
    });
    const auto n = static_cast<double>(records.count());
    const auto k = static_cast<double>(drawn);
    sum += all.spread / k * (n - k) / (n - 1.0);
  }
  return sum / static_cast<double>(answers.silos());
}

Eigen::VectorXd mean_gradient(const Answers& answers, const Eigen::VectorXd& w) {
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(kFeatures);
  for (std::size_t i = 0; i < answers.silos(); ++i) sum += gradients(answers.records(i), w).mean;
  return sum / static_cast<double>(answers.silos());
}

/// ||x||^2 is at most 3 * 0.8^2.
constexpr double kSmoothness = 1.92;

TEST(EstimatorMomentsTest, AnchorsAndDifferencesAddUpToTheGradientAndTheirVarianceFallsWithTheDistance) {
  // v = mean_i (a_i + h_i): (mean_i D_i^2 / K (n-K)/(n-1) + d (sigma1^2 + sigma2^2)) / N, sigma2 in proportion to
  // min{2L, beta ||w - wb||}. Anchors that read a draw would add s^2 / K, noise that is not scaled to the distance
  // would be 20 times too large in variance at the nearer point; one that is left out of h, nothing at all.
  algorithms::ProxSvrgSettings settings{free_problem(), 1, 1, 1, 0.1, kSmoothness};
  constexpr double kClip = 3.0;
  const Answers answers(algorithms::ProxSvrg::schedule(settings, shape_of(kClip, 0.4)), 3, 20, 30.0);
  ASSERT_EQ(answers.release(0).records_drawn, 20);
  ASSERT_EQ(answers.release(1).records_drawn, 8);
  for (const double distance : {0.7, 2.5}) {
    SCOPED_TRACE(distance);
    const Eigen::VectorXd at = kPoint + distance * Eigen::Vector3d(0.6, 0.0, -0.8);
    const double scale = std::min(2.0 * kClip, kSmoothness * distance) / (2.0 * kClip);
    const double noise = kFeatures * (std::pow(answers.stddev(0), 2.0) + std::pow(scale * answers.stddev(1), 2.0));
    const double drawn = drawn_difference(answers, 8, at, kPoint);
    EXPECT_GT(distance < 1.0 ? 5.0 * drawn : drawn, 0.1 * noise);
    const double rounding = answers.release(0).lattice().step + answers.release(1).lattice().step;
    expect_moments({mean_gradient(answers, at), (drawn + noise) / 3.0, rounding}, 15'000, 0.09,
                   [&](std::uint64_t round) -> Eigen::VectorXd {
                     return answers.mean(0, 2 * round, queries::GradientQuestion{kPoint}) +
                            answers.mean(1, 2 * round + 1, difference(at, kPoint));
                   });
  }
}

TEST(EstimatorMomentsTest, SpidersEstimateGathersTheNoiseOfItsPath) {
  // d sigma1^2 / N + (d/N) sum min{sigma2^2 ||w_t - w_{t-1}||^2, sigma2hat^2} at the end of a fixed path whose last
  // step is so long that the clip of 2L stands for the distance. Noise that is not capped there would be five times the
  // variance of that term; differences without noise would leave the anchor's alone.
  constexpr double kClip = 3.0;
  constexpr double kPublic = 4.0 * kSmoothness;  // a bound that the records do not use up, so that no difference is cut
  const algorithms::SpiderSettings settings{free_problem(), 4, 4, 0.1, kPublic};
  const Answers answers(algorithms::Spider::schedule(settings, shape_of(kClip, 1.0)), 3, 15, 20.0);
  const std::vector<Eigen::VectorXd> path{kPoint, kPoint + Eigen::Vector3d(0.2, 0.1, 0.0),
                                          kPoint + Eigen::Vector3d(0.1, -0.3, 0.2),
                                          kPoint + Eigen::Vector3d(1.2, -1.2, 1.0)};
  double variance = std::pow(answers.stddev(0), 2.0);
  double rounding = answers.release(0).lattice().step;
  for (std::size_t t = 1; t < path.size(); ++t) {
    const double reach = kPublic * (path[t] - path[t - 1]).norm();
    EXPECT_EQ(reach > 2.0 * kClip, t == 3);
    variance += std::pow(answers.stddev(t) * std::min(1.0, reach / (2.0 * kClip)), 2.0);
    rounding += answers.release(t).lattice().step;
  }
  const double silos = static_cast<double>(answers.silos());
  expect_moments({mean_gradient(answers, path.back()), kFeatures * variance / silos, rounding}, 15'000, 0.07,
                 [&](std::uint64_t round) {
                   Eigen::VectorXd estimate = answers.mean(0, 4 * round, queries::GradientQuestion{path[0]});
                   for (std::uint64_t t = 1; t < path.size(); ++t)
                     estimate += answers.mean(t, 4 * round + t, difference(path[t], path[t - 1]));
                   return estimate;
                 });
}

/// Five silos of which two answer a round, drawn afresh for each.
struct RandomSilos {
  static constexpr Eigen::Index kRecords = 1500;
  static constexpr double kClip = 4.0;  // longer than any gradient at kPoint
  static constexpr double kAnswering = 2.0;
  static constexpr double kSpread = (5.0 - kAnswering) / (4.0 * kAnswering);  // h = (N-M) / ((N-1) M)
  explicit RandomSilos(const std::string& algorithm) {
    std::string members;
    for (int i = 0; i < 5; ++i) {
      members += fmt::format(
          R"({}{{"silo":"silo-{}","records":{},"holdout_records":1,"holdout_public":true,"epsilon":30,"delta":1e-3,"weight":1}})",
          i == 0 ? "" : ",", i, kRecords);
    }
    bytes = fmt::format(
        R"({{"format":"undertone.job/1","name":"moments","data":{{"label":{{"column":"y","min":-2,"max":2}},
"features":[{{"column":"a","min":-1,"max":1}},{{"column":"b","min":-1,"max":1}},{{"column":"c","min":-1,"max":1}}]}},
"model":{{"kind":"least_squares","intercept":false}},"domain":{{"kind":"whole_space"}},"regulariser":{{"kind":"none"}},
"algorithm":{},"privacy":{{"mode":"isrl","unit":"record","noise":"test","clip_norm":{}}},"cohort":[{}],
"participation":{{"quorum":1,"join_deadline_ms":1000,"round_deadline_ms":1000,"resend_ms":300}},
"evaluation":{{"every":0}},"wire":{{"points":"f64","replies":"i64","reply_step_log2":{}}}}})",
        algorithm, kClip, members, kStepLog2);
    job.emplace(jobs::parse_job(bytes, "moments").value());
    for (const jobs::CohortMember& member : job->cohort) {
      const auto i = static_cast<double>(silos.size());
      data::Dataset dataset{records_of(60 + silos.size(), kRecords, 0.6 * (i - 2.0), 0.4 + 0.1 * i),
                            records_of(1, 1, 0.0, 0.8)};
      silos.push_back({member.facts.silo, tests::generous_policy(), {job->schema, kRecords, 1, true}, dataset});
    }
  }
  /// Mean and spread over the silos of a vector for each of them.
  Population over_silos(const std::function<Eigen::VectorXd(const models::Records&)>& vector) const {
    return population(5, [&](Eigen::Index i) { return vector(silos[static_cast<std::size_t>(i)].dataset.training); });
  }
  std::string bytes;
  std::optional<jobs::Job> job;
  std::vector<simulation::SimulatedSilo> silos;
};

/// Asks the same questions over and over, whatever the answers, and keeps them.
class Listener final : public algorithms::FederatedAlgorithm {
 public:
  Listener(std::vector<queries::Question> questions, std::uint64_t rounds)
      : questions_(std::move(questions)), rounds_(rounds) {}
  algorithms::Step start() override { return current(); }
  Result<algorithms::Step> advance(const folds::Gathered& gathered) override {
    answers.push_back(gathered.mean());
    return current();
  }
  Eigen::VectorXd candidate() const override { return {}; }
  void save(ByteWriter&) const override {}
  Status restore(ByteReader&) override { return {}; }
  std::vector<Eigen::VectorXd> answers;

 private:
  algorithms::Step current() const {
    if (answers.size() == rounds_) return algorithms::Finished{};
    return queries::Query{RoundIndex{answers.size()}, questions_[answers.size() % questions_.size()]};
  }
  std::vector<queries::Question> questions_;
  std::uint64_t rounds_;
};

std::vector<Eigen::VectorXd> listen(const RandomSilos& federation, std::vector<queries::Question> questions,
                                    std::uint64_t rounds, std::uint64_t seed) {
  Listener listener(std::move(questions), rounds);
  auto cohort = simulation::DirectCohort::create(
                    {*federation.job->model, federation.job->reply_lattice, RunId{}, seed,
                     simulation::SimulatedNoise::Seeded, static_cast<std::size_t>(RandomSilos::kAnswering), 1},
                    simulation::plan_cohort(*federation.job, federation.silos).value().members)
                    .value();
  EXPECT_TRUE(cohort.train(listener));
  return listener.answers;
}

/// What a planned release adds to a coordinate of a silo's mean, at its own scale.
struct Added {
  double stddev = 0.0;
  double step = 0.0;  // of the lattice
};
Added added_in(const RandomSilos& federation, std::uint64_t round) {
  const planning::Plan plan = jobs::plan_of(*federation.job, federation.job->cohort.front()).value();
  const planning::Release& release = *plan.release({round});
  const double stddev = std::get<mechanisms::GaussianLattice>(release.mechanism).noise_stddev();
  return {stddev / static_cast<double>(release.records_drawn), release.lattice().step};
}

TEST(EstimatorMomentsTest, AMeanOverSilosThatTheNetworkChoseHasTheVarianceOfACluster) {
  // d sigma^2 / M + h upsilon^2, h = (N-M)/((N-1)M). Silos drawn with replacement would have 4/3 of the second term,
  // the same silos in every round none, a sum divided by N instead of M 2/5 of the mean.
  constexpr std::uint64_t kRounds = 6000;
  const RandomSilos federation(fmt::format(
      R"({{"kind":"noisy_minibatch_sgd","rounds":{},"step_size":0.1,"averaging":"last","draw_fraction":1}})", kRounds));
  const Population silos =
      federation.over_silos([](const models::Records& records) { return gradients(records, kPoint).mean; });
  const Added added = added_in(federation, 0);
  const double noise = kFeatures * added.stddev * added.stddev / RandomSilos::kAnswering;
  const double apart = RandomSilos::kSpread * silos.spread;
  EXPECT_GT(apart, 0.5 * noise);
  EXPECT_GT(noise, 0.1 * apart);
  const auto answers = listen(federation, {queries::GradientQuestion{kPoint}}, kRounds, 11);
  expect_moments({silos.mean, noise + apart, added.step}, kRounds, 0.15,
                 [&](std::uint64_t round) { return answers.at(round); });
}

TEST(EstimatorMomentsTest, AnchorsAndDifferencesOfSilosDrawnApartAddTheirSpreads) {
  // Who answers is drawn for every round, so an anchor's silos and a difference's are independent:
  // h (upsilon^2(wb) + upsilon^2 of the differences) + d (sigma1^2 + sigma2^2) / M. One silo set for an epoch would
  // have h upsilon^2(w) in the first place, which here is another number.
  constexpr std::uint64_t kEpochs = 990;  // of a run: its plan has two entries for each
  constexpr std::uint64_t kRuns = 5;
  const RandomSilos federation(fmt::format(
      R"({{"kind":"prox_svrg","restarts":1,"epochs":{},"inner":1,"step_size":0.1,"smoothness":{},"draw_fraction":1,"seed":3}})",
      kEpochs, kSmoothness));
  const Eigen::VectorXd at = kPoint + Eigen::Vector3d(1.2, 0.5, 0.9);
  const auto gradient_at = [](const Eigen::VectorXd& w) {
    return [w](const models::Records& records) { return gradients(records, w).mean; };
  };
  const Population here = federation.over_silos(gradient_at(at));
  const Population anchored = federation.over_silos(gradient_at(kPoint));
  const Population moved = federation.over_silos([&](const models::Records& records) -> Eigen::VectorXd {
    return gradients(records, at).mean - gradients(records, kPoint).mean;
  });
  const double scale = std::min(1.0, kSmoothness * (at - kPoint).norm() / (2.0 * RandomSilos::kClip));
  const Added anchor = added_in(federation, 0);
  const Added other = added_in(federation, 1);
  const double noise =
      kFeatures * (anchor.stddev * anchor.stddev + std::pow(scale * other.stddev, 2.0)) / RandomSilos::kAnswering;
  const double apart = RandomSilos::kSpread * (anchored.spread + moved.spread);
  EXPECT_GT(std::abs(apart - RandomSilos::kSpread * here.spread), 0.25 * (noise + apart));
  std::vector<Eigen::VectorXd> answers;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    const auto heard =
        listen(federation, {queries::GradientQuestion{kPoint}, difference(at, kPoint)}, 2 * kEpochs, 1000 + 77 * run);
    answers.insert(answers.end(), heard.begin(), heard.end());
  }
  expect_moments(
      {here.mean, noise + apart, anchor.step + scale * other.step}, kRuns * kEpochs, 0.2,
      [&](std::uint64_t epoch) -> Eigen::VectorXd { return answers.at(2 * epoch) + answers.at(2 * epoch + 1); });
}

/// Three silos of three records: gradients at two points, as numbers.
struct Tiny {
  static constexpr int kSilos = 3;
  static constexpr int kRecords = 3;
  static constexpr int kDrawn = 2;
  double here[kSilos][kRecords] = {{0.3, -1.1, 2.0}, {1.7, 0.4, -0.6}, {-2.2, 0.9, 1.3}};
  double anchor[kSilos][kRecords] = {{0.1, -0.7, 1.2}, {1.9, 0.2, -0.1}, {-1.2, 1.0, 0.3}};
};

double mean_of(const double (&values)[Tiny::kRecords]) { return (values[0] + values[1] + values[2]) / 3.0; }
double spread_of(const double (&values)[Tiny::kRecords]) {
  double sum = 0.0;
  for (const double value : values) sum += std::pow(value - mean_of(values), 2.0) / 3.0;
  return sum;
}

/// All answers of a silo with their probabilities.
using Law = std::vector<std::pair<double, double>>;

Law with_replacement(const double (&values)[Tiny::kRecords]) {
  Law out;
  for (const double first : values)
    for (const double second : values) out.emplace_back(0.5 * (first + second), 1.0 / 9.0);
  return out;
}
Law without_replacement(const double (&values)[Tiny::kRecords]) {
  Law out;
  for (const double left_out : values)
    out.emplace_back(0.5 * (values[0] + values[1] + values[2] - left_out), 1.0 / 3.0);
  return out;
}
/// Every record with probability K/n of its own, the sum divided by K.
Law poisson(const double (&values)[Tiny::kRecords]) {
  Law out;
  for (unsigned subset = 0; subset < 8; ++subset) {
    double sum = 0.0;
    double probability = 1.0;
    for (unsigned j = 0; j < 3; ++j) {
      const bool in = ((subset >> j) & 1U) != 0;
      sum += in ? values[j] : 0.0;
      probability *= in ? 2.0 / 3.0 : 1.0 / 3.0;
    }
    out.emplace_back(sum / 2.0, probability);
  }
  return out;
}

std::pair<double, double> moments(const Law& law) {
  double mean = 0.0;
  double square = 0.0;
  for (const auto& [value, probability] : law) {
    mean += probability * value;
    square += probability * value * value;
  }
  return {mean, square - mean * mean};
}

/// The mean of the answers of two silos out of three, every pair alike.
Law two_of_three(const std::vector<Law>& silos) {
  Law out;
  for (const auto& [one, other] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)})
    for (const auto& [left, p] : silos[static_cast<std::size_t>(one)])
      for (const auto& [right, q] : silos[static_cast<std::size_t>(other)])
        out.emplace_back(0.5 * (left + right), p * q / 3.0);
  return out;
}

double spread_over_silos(const double (&values)[Tiny::kSilos][Tiny::kRecords]) {
  const double means[3] = {mean_of(values[0]), mean_of(values[1]), mean_of(values[2])};
  return spread_of(means);
}

TEST(EstimatorEnumerationTest, ASilosAnswerHasTheVarianceOfItsSampling) {
  const Tiny tiny;
  for (const auto& values : tiny.here) {
    const double second_moment = spread_of(values) + mean_of(values) * mean_of(values);
    for (const auto& [law, variance] :
         {std::pair(with_replacement(values), spread_of(values) / 2.0),
          std::pair(without_replacement(values), spread_of(values) / 2.0 * (3.0 - 2.0) / (3.0 - 1.0)),
          std::pair(poisson(values), (1.0 - 2.0 / 3.0) / 2.0 * second_moment)}) {
      EXPECT_NEAR(moments(law).first, mean_of(values), 1e-14);
      EXPECT_NEAR(moments(law).second, variance, 1e-14);
    }
  }
}

TEST(EstimatorEnumerationTest, AMeanOverRandomSilosAddsTheirSpread) {
  const Tiny tiny;
  constexpr double kSpread = (3.0 - 2.0) / ((3.0 - 1.0) * 2.0);  // h
  std::vector<Law> laws;
  double within = 0.0;
  double mean = 0.0;
  for (const auto& values : tiny.here) {
    laws.push_back(without_replacement(values));
    within += moments(laws.back()).second / 3.0;
    mean += mean_of(values) / 3.0;
  }
  const auto [enumerated_mean, variance] = moments(two_of_three(laws));
  EXPECT_NEAR(enumerated_mean, mean, 1e-14);
  EXPECT_NEAR(variance, within / 2.0 + kSpread * spread_over_silos(tiny.here), 1e-14);
}

TEST(EstimatorEnumerationTest, AnchorsOfTheSameSilosLeaveTheSpreadOfTheGradientsAlone) {
  // D^2 / (M K) + h upsilon^2(w), whatever the anchors' own spread.
  const Tiny tiny;
  constexpr double kSpread = (3.0 - 2.0) / ((3.0 - 1.0) * 2.0);
  std::vector<Law> laws;
  double within = 0.0;
  for (int i = 0; i < Tiny::kSilos; ++i) {
    double differences[Tiny::kRecords];
    for (int j = 0; j < Tiny::kRecords; ++j) differences[j] = tiny.here[i][j] - tiny.anchor[i][j];
    Law law = with_replacement(differences);
    for (auto& [value, probability] : law) value += mean_of(tiny.anchor[i]);
    within += spread_of(differences) / 3.0;
    laws.push_back(std::move(law));
  }
  const double variance = moments(two_of_three(laws)).second;
  EXPECT_NEAR(variance, within / (2.0 * Tiny::kDrawn) + kSpread * spread_over_silos(tiny.here), 1e-14);
}

}  // namespace
}  // namespace undertone
