#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "lab/audit/gaussian_distinguisher.hpp"
#include "lab/audit/transcript_audit.hpp"
#include "shared/crypto/test_bits.hpp"
#include "shared/mechanisms/clipped_sum.hpp"
#include "shared/noise/rounded_gaussian.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/support/repetitions.hpp"

namespace undertone::lab {
namespace {

TEST(AuditStatisticsTest, ClopperPearsonAndTheTwoSampleBoundAreTheReferences) {
  // Reference table, row 97: 180 and 20 of 200, 97.5 % each.
  EXPECT_NEAR(clopper_pearson_lower(180, 200, 0.025), 0.849787212, 1e-9);
  EXPECT_NEAR(clopper_pearson_upper(20, 200, 0.025), 0.150212788, 1e-9);
  EXPECT_NEAR(epsilon_lower_bound({180, 200, 20, 200}, 1e-5, 0.1), 1.73292134, 1e-7);  // four bounds of 2.5 %
  EXPECT_EQ(clopper_pearson_lower(0, 10, 0.05), 0.0);
  EXPECT_EQ(clopper_pearson_upper(10, 10, 0.05), 1.0);
  EXPECT_EQ(epsilon_lower_bound({50, 100, 50, 100}, 1e-5, 0.05), 0.0);
}

TEST(AuditStatisticsTest, OneRunIsTheReference) {
  // Rows 94 to 96.
  EXPECT_NEAR(one_run_p_value(1000, 100, 80, 1.0, 0.0), 0.0715562468048, 1e-10);
  EXPECT_NEAR(one_run_p_value(1000, 100, 80, 1.0, 1e-5), 0.0730091159492, 1e-10);
  EXPECT_NEAR(one_run_epsilon(1000, 100, 80, 1e-5, 0.05), 0.955318535, 1e-8);
  EXPECT_EQ(one_run_epsilon(1000, 100, 50, 1e-5, 0.05), 0.0);
}

/// What can be wrong with a silo.
enum class Fault {
  None,
  NoiseHalved,
  HalfTheSensitivity,  // L/n where 2L/n is due: the clip norm twice what the noise was made for
  ClipForgotten,
  ClipAfterTheSum,
  BatchReused,
  NoiseRefreshedOnResend,
  ConstantSeed,
  DrawIsPublic,
  NoiseForgotten,
  HoldoutUnnoised
};

/// The silo's pipeline without messages and ledger, fast enough for thousands of runs, with a fault.
class LightSilo final : public AuditedSilo {
 public:
  LightSilo(const jobs::Job& job, const planning::Plan& plan, Fault fault, std::uint64_t seed)
      : job_(&job), plan_(&plan), fault_(fault), seed_(seed) {}

  Result<Transcript> run(const data::Dataset& dataset, const NextPoint& next) override {
    crypto::TestBits bits(seed_, fault_ == Fault::ConstantSeed ? "always" : fmt::format("run {}", runs_++),
                          crypto::InsecureForTestsOnly{});
    const models::Records& records = dataset.training;
    std::vector<std::int64_t> drawn;
    Transcript transcript;
    for (std::uint64_t round = 0; round < plan_->rounds(); ++round) {
      const planning::Release& release = *plan_->release({round});
      const Eigen::VectorXd point = next(transcript);
      if (release.ask.kind() == releases::QuestionKind::Metrics) {
        transcript.push_back({point, evaluated(release, dataset.holdout, point, bits)});
        continue;
      }
      if (round == 0 || fault_ != Fault::BatchReused) drawn = draw(release, bits);
      std::vector<std::int64_t> sum = sum_of(release, records, drawn, point);
      Eigen::VectorXd mean = noised(release, sum, bits);
      if (fault_ == Fault::NoiseRefreshedOnResend) {  // asked four times, answered four times
        for (int again = 0; again < 3; ++again) mean += noised(release, sum, bits);
        mean *= 0.25;
      }
      transcript.push_back({point, std::move(mean)});
    }
    return transcript;
  }

 private:
  Eigen::VectorXd evaluated(const planning::Release& release, const models::Records& holdout,
                            const Eigen::VectorXd& point, crypto::TestBits& bits) const {
    std::vector<std::int64_t> sum(static_cast<std::size_t>(release.ask.dimension), 0);
    Eigen::VectorXd metrics(release.ask.dimension);
    for (Eigen::Index j = 0; j < holdout.count(); ++j) {
      job_->model->linear()->centred_metrics(point, holdout, j, metrics);
      mechanisms::add_clipped(metrics, release.lattice(), sum);
    }
    if (std::holds_alternative<mechanisms::GaussianLattice>(release.mechanism)) return noised(release, sum, bits);
    return Eigen::VectorXd::Zero(release.ask.dimension);  // public: nobody looks
  }
  std::vector<std::int64_t> draw(const planning::Release& release, crypto::TestBits& bits) const {
    if (fault_ == Fault::DrawIsPublic) {  // whoever knows that the record is drawn sees the release unsampled
      std::vector<std::int64_t> first(static_cast<std::size_t>(release.records_drawn));
      std::iota(first.begin(), first.end(), std::int64_t{0});
      return first;
    }
    return noise::sample_without_replacement(bits, release.population, release.records_drawn);
  }
  std::vector<std::int64_t> sum_of(const planning::Release& release, const models::Records& records,
                                   const std::vector<std::int64_t>& drawn, const Eigen::VectorXd& point) const {
    mechanisms::Lattice lattice = release.lattice();
    if (fault_ == Fault::HalfTheSensitivity) lattice.clip *= 2;
    if (fault_ == Fault::ClipForgotten || fault_ == Fault::ClipAfterTheSum) {
      Eigen::VectorXd sum = Eigen::VectorXd::Zero(job_->model->dimension());
      Eigen::VectorXd one(sum.size());
      for (const std::int64_t j : drawn) {
        job_->model->linear()->gradient(point, records, j, one);
        sum += one;
      }
      const double bound = job_->clip().value() * static_cast<double>(drawn.size());
      if (fault_ == Fault::ClipAfterTheSum && sum.norm() > bound) sum *= bound / sum.norm();
      std::vector<std::int64_t> out(static_cast<std::size_t>(sum.size()));
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::int64_t>(sum[static_cast<Eigen::Index>(i)] / lattice.step);
      return out;
    }
    mechanisms::ClippedSum sum(lattice, release.ask.dimension);
    for (const std::int64_t j : drawn) {
      double factor = 0.0;
      double norm_squared = 0.0;
      job_->model->linear()->derivatives(point, records, {&j, 1}, {&factor, 1}, {&norm_squared, 1});
      sum.add({&factor, 1}, {&norm_squared, 1}, records.features, {&j, 1});
    }
    std::vector<std::int64_t> out(static_cast<std::size_t>(release.ask.dimension));
    sum.take(out);
    return out;
  }
  Eigen::VectorXd noised(const planning::Release& release, const std::vector<std::int64_t>& sum,
                         crypto::TestBits& bits) const {
    const auto& gaussian = std::get<mechanisms::GaussianLattice>(release.mechanism);
    std::vector<std::int64_t> noise(sum.size());
    const bool unnoised = fault_ == Fault::NoiseForgotten ||
                          (fault_ == Fault::HoldoutUnnoised && release.ask.records.block == releases::Block::Holdout);
    if (!unnoised)
      noise::fill_rounded_gaussian(bits, gaussian.log2_stddev - (fault_ == Fault::NoiseHalved ? 1 : 0), noise);
    Eigen::VectorXd mean(static_cast<Eigen::Index>(sum.size()));
    for (std::size_t i = 0; i < sum.size(); ++i)
      mean[static_cast<Eigen::Index>(i)] =
          static_cast<double>(sum[i] + noise[i]) * gaussian.lattice.step / static_cast<double>(release.records_drawn);
    return mean;
  }
  const jobs::Job* job_;
  const planning::Plan* plan_;
  Fault fault_;
  std::uint64_t seed_;
  std::uint64_t runs_ = 0;
};

/// A job of one silo whose largest gradients are longer than the clip norm: |x| / 2 at the zero model.
/// @param evaluated a private holdout is evaluated after every round
std::string audited_job(double draw_fraction, int features, int records, int rounds, bool evaluated = false) {
  std::string columns;
  for (int f = 0; f < features; ++f)
    columns += fmt::format("{}{{\"column\":\"x{}\",\"min\":-1,\"max\":1}}", f == 0 ? "" : ",", f);
  return fmt::format(
      R"({{"format":"undertone.job/1","name":"audited","data":{{"label":{{"column":"y","negative":"n","positive":"p"}},"features":[{}]}},
"model":{{"kind":"logistic","intercept":true}},"domain":{{"kind":"l2_ball","radius":5}},"regulariser":{{"kind":"l2","strength":0.01}},
"algorithm":{{"kind":"noisy_minibatch_sgd","rounds":{},"step_size":0.5,"averaging":"uniform","draw_fraction":{}}},
"privacy":{{"mode":"isrl","unit":"record","noise":"test","clip_norm":1}},
"cohort":[{{"silo":"one","records":{},"holdout_records":10,"holdout_public":{},"epsilon":4,"delta":1e-5}}],
"participation":{{"quorum":1,"join_deadline_ms":1000,"round_deadline_ms":1000,"resend_ms":300}},
"evaluation":{{"every":{}}},"wire":{{"points":"f64","replies":"i64","reply_step_log2":-40}}}})",
      columns, rounds, draw_fraction, records, evaluated ? "false" : "true", evaluated ? 1 : 0);
}

struct Audited {
  explicit Audited(double draw_fraction, int features = 16, int records = 10, int rounds = 4)
      : bytes(audited_job(draw_fraction, features, records, rounds)),
        job(jobs::parse_job(bytes, "job").value()),
        plan(jobs::plan_of(job, job.cohort.front()).value()),
        pair(worst_pair(job, job.cohort.front(), plan, PairShape::Crowd)) {}
  /// A job that evaluates a private holdout, and the pair that differs there.
  static Audited evaluated() {
    Audited out(1.0);
    out.bytes = audited_job(1.0, 16, 10, 4, true);
    out.job = jobs::parse_job(out.bytes, "job").value();
    out.plan = jobs::plan_of(out.job, out.job.cohort.front()).value();
    out.pair = worst_pair(out.job, out.job.cohort.front(), out.plan, PairShape::Holdout);
    return out;
  }
  AuditFinding audit(Fault fault, std::uint64_t seed, std::int64_t trials) const {
    LightSilo silo(job, plan, fault, seed);
    AuditSettings settings;
    settings.trials = trials;
    return audit_transcripts(silo, plan, pair, settings).value();
  }
  std::string bytes;
  jobs::Job job;
  planning::Plan plan;
  WorstPair pair;
};

TEST(TranscriptAuditTest, FindsEachFault) {
  const Audited whole(1.0);
  Audited alone(1.0);
  alone.pair = worst_pair(alone.job, alone.job.cohort.front(), alone.plan, PairShape::Alone);
  const Audited sampled(0.2, 16, 10, 12);
  const Audited holdout = Audited::evaluated();
  struct Case {
    const char* name;
    Fault fault;
    const Audited* of;
    std::int64_t trials = 6000;
  };
  for (const Case& one :
       {Case{"noise halved", Fault::NoiseHalved, &whole},
        Case{"half the sensitivity", Fault::HalfTheSensitivity, &whole},
        Case{"clip forgotten", Fault::ClipForgotten, &whole},
        Case{"clip after the sum", Fault::ClipAfterTheSum, &alone},
        Case{"batch reused", Fault::BatchReused, &sampled, 20'000},
        Case{"noise refreshed on re-send", Fault::NoiseRefreshedOnResend, &whole},
        Case{"constant seed", Fault::ConstantSeed, &whole}, Case{"draw is public", Fault::DrawIsPublic, &sampled},
        Case{"holdout evaluated unnoised", Fault::HoldoutUnnoised, &holdout}}) {
    SCOPED_TRACE(one.name);
    int found = 0;
    double weakest = 1e9;
    const int seeds = tests::repetitions(4, 20);
    for (int seed = 0; seed < seeds; ++seed) {
      const AuditFinding finding = one.of->audit(one.fault, static_cast<std::uint64_t>(seed), one.trials);
      found += finding.flagged() ? 1 : 0;
      weakest = std::min(weakest, finding.lower / finding.claimed);
    }
    EXPECT_GE(found, seeds - seeds / 20) << weakest;
  }
}

TEST(TranscriptAuditTest, NeverFlagsASoundSilo) {
  for (const double draw_fraction : {1.0, 0.2}) {
    const Audited audited(draw_fraction);
    for (std::uint64_t seed = 0; seed < tests::repetitions(100U, 500U); ++seed) {
      const AuditFinding finding = audited.audit(Fault::None, seed, 1000);
      ASSERT_FALSE(finding.flagged()) << seed << ": " << finding.lower << " of " << finding.claimed;
    }
  }
  const Audited holdout = Audited::evaluated();
  for (std::uint64_t seed = 0; seed < tests::repetitions(20U, 100U); ++seed)
    ASSERT_FALSE(holdout.audit(Fault::None, seed, 1000).flagged()) << seed;
}

TEST(TranscriptAuditTest, TheProductsEvaluationIsAudited) {
  const Audited audited = Audited::evaluated();
  const jobs::CohortMember& member = audited.job.cohort.front();
  std::uint64_t runs = 0;
  const auto product = product_silo(audited.job, audited.bytes, member,
                                    [&] { return std::make_unique<silo::TestRandomness>(runs++, member.facts.silo); });
  const AuditFinding finding = audit_transcripts(*product, audited.plan, audited.pair, {.trials = 400}).value();
  EXPECT_FALSE(finding.flagged());
  EXPECT_GT(finding.counts.true_positives, finding.counts.false_positives);  // the pair is looked at where it differs
  // Two of three metrics change by their whole range.
  EXPECT_NEAR(audited.pair.test->reach(), std::sqrt(2.0 / 3.0), 1e-12);
}

TEST(TranscriptAuditTest, ComesCloseToTheTruthOfASoundSilo) {
  // The Gaussian's own bound is reached as trials grow: at 20,000 judged trials and 95 % at least 0.6 of the claim.
  const Audited audited(1.0);
  const AuditFinding finding = audited.audit(Fault::None, 7, 40'000);
  EXPECT_GT(finding.lower_told, 0.6 * finding.claimed);
  EXPECT_LE(finding.lower, finding.claimed);
}

TEST(TranscriptAuditTest, TheProductAnswersTheAuditAsItsPlanSays) {
  // Over 300 runs on each data set, the projections' means differ by 2 clip reach / K (6 standard errors).
  const Audited audited(1.0);
  const jobs::CohortMember& member = audited.job.cohort.front();
  std::uint64_t runs = 0;
  const auto product = product_silo(audited.job, audited.bytes, member,
                                    [&] { return std::make_unique<silo::TestRandomness>(runs++, member.facts.silo); });
  const Eigen::VectorXd& direction =
      dynamic_cast<const GaussianDistinguisher&>(*audited.pair.test).projection().direction;
  constexpr int kRuns = 300;
  double difference = 0.0;
  std::size_t replies = 0;
  for (int i = 0; i < kRuns; ++i) {
    for (const auto& [dataset, sign] : {std::pair(&audited.pair.first, 1.0), std::pair(&audited.pair.second, -1.0)}) {
      for (const SeenRound& seen : product->run(*dataset, audited.pair.test->asker()).value()) {
        if (seen.values.size() != direction.size()) continue;  // the evaluation at the end
        difference += sign * seen.values.dot(direction);
        ++replies;
      }
    }
  }
  ASSERT_EQ(replies, 2U * 4U * kRuns);
  const planning::Release& release = *audited.plan.release({0});
  const double drawn = static_cast<double>(release.records_drawn);
  const double noise = std::get<mechanisms::GaussianLattice>(release.mechanism).noise_stddev() / drawn;
  const double expected = 2.0 * audited.pair.test->reach() / static_cast<double>(release.population);
  const double count = 4.0 * kRuns;
  EXPECT_NEAR(difference / count, expected, 6.0 * noise * std::sqrt(2.0 / count));
  EXPECT_GT(expected, 6.0 * noise * std::sqrt(2.0 / count));
  EXPECT_FALSE(audit_transcripts(*product, audited.plan, audited.pair, {.trials = 100}).value().flagged());
}

TEST(CanaryAuditTest, SoundSilosAreNotContradicted) {
  const Audited audited(1.0, 48, 50);
  const jobs::CohortMember& member = audited.job.cohort.front();
  int contradicted = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    LightSilo silo(audited.job, audited.plan, Fault::None, seed);
    const CanaryFinding finding = audit_canaries(silo, audited.job, member, 1e-5, seed).value();
    contradicted += finding.epsilon_lower > audited.plan.epsilon().value_rounded_up() ? 1 : 0;
  }
  EXPECT_LE(contradicted, 24);  // at most 5 % of 200 in expectation; Poisson(10) exceeds 24 with probability 5e-5
}

TEST(CanaryAuditTest, ForgottenNoiseIsSeenInOneRun) {
  const Audited audited(1.0, 96, 100);
  const jobs::CohortMember& member = audited.job.cohort.front();
  LightSilo broken(audited.job, audited.plan, Fault::NoiseForgotten, 1);
  const CanaryFinding seen = audit_canaries(broken, audited.job, member, 1e-5, 3).value();
  EXPECT_EQ(seen.guesses, 32);
  EXPECT_EQ(seen.correct, 32);
  EXPECT_GT(seen.epsilon_lower, 2.2);  // (1 / (1 + e^-2.2))^32 = 0.037
}

}  // namespace
}  // namespace undertone::lab
