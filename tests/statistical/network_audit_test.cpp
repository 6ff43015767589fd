#include <gtest/gtest.h>
#include <map>

#include "lab/audit/transcript_audit.hpp"
#include "shared/crypto/test_bits.hpp"
#include "shared/jobs/planner.hpp"
#include "silo/oracles/bits_stream.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/support/placed_sums.hpp"

namespace undertone::lab {
namespace {

/// A job of one silo that draws 13 of 50 records for one gradient of a small network.
std::string network_job() {
  return R"({"format":"undertone.job/1","name":"audited","data":{"label":{"column":"y","classes":["a","b"]},
"features":[{"column":"x0","min":-1,"max":1},{"column":"x1","min":-1,"max":1},{"column":"x2","min":-1,"max":1}]},
"model":{"kind":"network","hidden":[{"kind":"dense","width":2,"activation":"tanh"},{"kind":"dense","width":4,"activation":"tanh"}],"seed":1},
"domain":{"kind":"l2_ball","radius":5},"regulariser":{"kind":"none"},
"algorithm":{"kind":"noisy_minibatch_sgd","rounds":1,"step_size":0.5,"averaging":"uniform","draw_fraction":0.26},
"privacy":{"mode":"isrl","unit":"record","noise":"test","clip_norm":0.5},
"cohort":[{"silo":"one","records":50,"holdout_records":10,"holdout_public":true,"epsilon":2,"delta":1e-4}],
"participation":{"quorum":1,"join_deadline_ms":1000,"round_deadline_ms":1000,"resend_ms":300},
"evaluation":{"every":1},"wire":{"points":"f64","replies":"i64","reply_step_log2":-40}})";
}

/// The product's draw, sum and noise without messages and ledger. What is added up of a draw depends on which of the
/// two records that differ from the rest are in it, and where: it is computed once for each.
class LightSilo final : public AuditedSilo {
 public:
  /// @param ascending records are added up in ascending order
  /// @param placed a record's arithmetic depends on its place, as it did before records' arithmetic was their own
  LightSilo(const jobs::Job& job, const planning::Plan& plan, bool ascending, bool placed, std::uint64_t seed)
      : job_(&job), release_(*plan.release({0})), ascending_(ascending), placed_(placed), bits_(seed, "", {}) {}

  Result<Transcript> run(const data::Dataset& dataset, const NextPoint& next) override {
    const Eigen::VectorXd point = next({});
    silo::BitsStream<crypto::TestBits> stream(bits_);
    std::vector<std::int64_t> drawn = stream.subset(release_.population, release_.records_drawn);
    if (!ascending_) {
      const std::vector<std::int64_t> order = stream.order(release_.records_drawn);
      std::vector<std::int64_t> placed;
      for (const std::int64_t place : order) placed.push_back(drawn[static_cast<std::size_t>(place)]);
      drawn = placed;
    }
    std::vector<std::int64_t> sum = sum_of(dataset, point, drawn);
    std::vector<std::int64_t> noise(sum.size());
    const auto& gaussian = std::get<mechanisms::GaussianLattice>(release_.mechanism);
    stream.fill_gaussian(gaussian.log2_stddev, noise);
    Eigen::VectorXd mean(static_cast<Eigen::Index>(sum.size()));
    for (std::size_t i = 0; i < sum.size(); ++i)
      mean[static_cast<Eigen::Index>(i)] =
          static_cast<double>(sum[i] + noise[i]) * gaussian.lattice.step / static_cast<double>(release_.records_drawn);
    return Transcript{{point, std::move(mean)}, {point, Eigen::VectorXd::Zero(2)}};  // the public evaluation after it
  }

 private:
  const std::vector<std::int64_t>& sum_of(const data::Dataset& dataset, const Eigen::VectorXd& point,
                                          const std::vector<std::int64_t>& drawn) {
    std::vector<std::int64_t> key = {dataset.training.targets[release_.population - 1] > 0.0 ? 1 : 0};
    for (const std::int64_t special : {release_.population - 1, release_.population - 2})
      key.push_back(std::find(drawn.begin(), drawn.end(), special) - drawn.begin());
    const auto known = sums_.find(key);
    if (known != sums_.end()) return known->second;
    const std::unique_ptr<silo::RecordSums> sums =
        placed_ ? std::make_unique<PlacedSums>(*job_->model->network(), dataset.training)
                : silo::make_record_sums(*job_->model);
    return sums_[key] =
               silo::exact_sum(queries::GradientQuestion{point}, release_, dataset.training, drawn, sums.get());
  }

  const jobs::Job* job_;
  planning::Release release_;
  bool ascending_;
  bool placed_;
  crypto::TestBits bits_;
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> sums_;
};

struct Audited {
  std::string bytes = network_job();
  jobs::Job job = jobs::parse_job(bytes, "job").value();
  planning::Plan plan = jobs::plan_of(job, job.cohort.front()).value();

  AuditFinding audit(PairShape shape, bool ascending, bool placed, std::int64_t trials) const {
    LightSilo silo(job, plan, ascending, placed, 11);
    AuditSettings settings;
    settings.trials = trials;
    return audit_transcripts(silo, plan, worst_pair(job, job.cohort.front(), plan, shape), settings).value();
  }
};

constexpr std::int64_t kTrials = 800'000;

TEST(NetworkAuditTest, APlaceThatShowsIsFlaggedWhereRecordsAreAddedUpInAscendingOrder) {
  const AuditFinding finding = Audited().audit(PairShape::Cancelling, true, true, kTrials);
  EXPECT_TRUE(finding.flagged()) << finding.lower << " of " << finding.claimed;
}

TEST(NetworkAuditTest, ASecretOrderHidesIt) {
  const AuditFinding finding = Audited().audit(PairShape::Cancelling, false, true, kTrials);
  EXPECT_FALSE(finding.flagged()) << finding.lower << " of " << finding.claimed;
}

TEST(NetworkAuditTest, AndWhereARecordsArithmeticIsItsOwnThereIsNothingToHide) {
  const AuditFinding finding = Audited().audit(PairShape::Cancelling, true, false, kTrials);
  EXPECT_FALSE(finding.flagged()) << finding.lower << " of " << finding.claimed;
}

TEST(NetworkAuditTest, ACrowdComesCloseToTheClaimAndNotAbove) {
  const Audited audited;
  EXPECT_NEAR(worst_pair(audited.job, audited.job.cohort.front(), audited.plan, PairShape::Crowd).test->reach(), 1.0,
              1e-3);
  const AuditFinding finding = audited.audit(PairShape::Crowd, false, false, 100'000);
  EXPECT_FALSE(finding.flagged()) << finding.lower << " of " << finding.claimed;
  EXPECT_GT(finding.lower_told, 0.6 * finding.claimed);
}

TEST(NetworkAuditTest, TheProductIsPlayedWithEveryShapeThatThereIs) {
  const Audited audited;
  const jobs::CohortMember& member = audited.job.cohort.front();
  std::uint64_t runs = 0;
  const auto product = product_silo(audited.job, audited.bytes, member,
                                    [&] { return std::make_unique<silo::TestRandomness>(runs++, member.facts.silo); });
  const std::vector<PairShape> shapes = shapes_for(audited.job, audited.plan);
  EXPECT_EQ(shapes, (std::vector{PairShape::Crowd, PairShape::Cancelling}));
  for (const PairShape shape : shapes) {
    const AuditFinding finding =
        audit_transcripts(*product, audited.plan, worst_pair(audited.job, member, audited.plan, shape), {.trials = 200})
            .value();
    EXPECT_FALSE(finding.flagged());
  }
}

}  // namespace
}  // namespace undertone::lab
