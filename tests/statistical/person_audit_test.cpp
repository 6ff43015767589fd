#include <gtest/gtest.h>
#include <numeric>

#include "lab/audit/person_pair.hpp"
#include "lab/audit/transcript_audit.hpp"
#include "silo/oracles/person_sums.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/support/of_persons.hpp"

/// Spec person-unit, PU8: an audit whose canary is a person with 1, 5 or 50 records.
namespace undertone::lab {
namespace {

/// What can be wrong with a silo of persons. The first one is sound.
enum class PersonFault { None, RecordsAddedUp, DivisorOfRecords, WeightOfRecords };

constexpr std::int64_t kCounts[] = {1, 5, 50};

struct AuditedPersons {
  explicit AuditedPersons(const char* contribution = "clipped_mean") {
    federation.silos = 1;
    federation.quorum = 1;
    federation.rounds = 3;
    federation.evaluation_every = 0;
    nlohmann::json text = tests::of_persons(federation);
    text["privacy"]["person"]["contribution"] = contribution;
    bytes = text.dump();
    job.emplace(jobs::parse_job(bytes, "job").value());
    plan.emplace(jobs::plan_of(*job, job->cohort.front()).value());
  }
  [[nodiscard]] WorstPair pair(PairShape shape, const RecordCounts& counts) const {
    return pair_of_persons(worst_pair(*job, job->cohort.front(), *plan, shape), counts);
  }
  [[nodiscard]] WorstPair pair(PairShape shape) const { return pair(shape, worst_counts(*job->person)); }
  tests::SmallFederation federation;
  std::string bytes;
  std::optional<jobs::Job> job;
  std::optional<planning::Plan> plan;
};

/// A silo's sums over persons and their noise, without messages and ledger, with a fault.
class LightPersonSilo final : public AuditedSilo {
 public:
  LightPersonSilo(const AuditedPersons& of, PersonFault fault) : of_(&of), fault_(fault) {}

  Result<Transcript> run(const data::Dataset& dataset, const NextPoint& next) override {
    ++runs_;
    RunId run{sha256("audited"), {}};
    for (std::size_t i = 0; i < sizeof runs_; ++i) run.nonce[i] = static_cast<std::uint8_t>(runs_ >> 8U * i);
    silo::TestRandomness randomness(5, of_->job->cohort.front().facts.silo);
    Transcript out;
    for (std::uint64_t round = 0; round < of_->plan->rounds(); ++round) {
      const planning::Release& release = *of_->plan->release({round});
      const auto stream = randomness.stream(run, {round});
      const Eigen::VectorXd point = next(out);
      out.push_back({point, answer(release, dataset, point, *stream)});
    }
    return out;
  }

 private:
  Eigen::VectorXd answer(const planning::Release& release, const data::Dataset& dataset, const Eigen::VectorXd& point,
                         silo::ReleaseStream& stream) const {
    const bool training = release.ask.kind() == releases::QuestionKind::Gradient;
    const models::Records& block = training ? dataset.training : dataset.holdout;
    std::vector<std::int64_t> sum(static_cast<std::size_t>(release.ask.dimension), 0);
    const auto* gaussian = std::get_if<mechanisms::GaussianLattice>(&release.mechanism);
    if (!training || gaussian == nullptr) return Eigen::VectorXd::Zero(release.ask.dimension);  // nobody looks
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(block.count()));
    std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
    double divisor = static_cast<double>(release.records_drawn);
    if (fault_ == PersonFault::RecordsAddedUp) {  // each record is clipped by itself, and a person is all of hers
      models::Records plain = block;
      plain.starts.clear();
      drawn.resize(static_cast<std::size_t>(plain.rows()));
      std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
      silo::make_record_sums(*of_->job->model)->gradients(point, release.lattice(), {plain, drawn}, sum);
    } else {
      if (fault_ == PersonFault::DivisorOfRecords) divisor = static_cast<double>(block.rows());
      if (fault_ == PersonFault::WeightOfRecords) drawn = weighed(block);
      const silo::PersonDraw draw(sha256("draw"), release.ask.records.persons->records_max);
      silo::make_person_sums(*of_->job->model, of_->job->person->form)
          ->gradients(point, release.lattice(), {block, drawn, std::nullopt, &draw}, sum);
    }
    std::vector<std::int64_t> noise(sum.size());
    stream.fill_gaussian(gaussian->log2_stddev, noise);
    Eigen::VectorXd mean(release.ask.dimension);
    for (std::size_t j = 0; j < sum.size(); ++j)
      mean[static_cast<Eigen::Index>(j)] = static_cast<double>(sum[j] + noise[j]) * gaussian->lattice.step / divisor;
    return mean;
  }
  /// Every person as often as she has records.
  static std::vector<std::int64_t> weighed(const models::Records& block) {
    std::vector<std::int64_t> out;
    for (std::int64_t person = 0; person < block.count(); ++person) {
      const auto at = static_cast<std::size_t>(person);
      out.insert(out.end(), static_cast<std::size_t>(block.starts[at + 1] - block.starts[at]), person);
    }
    return out;
  }

  const AuditedPersons* of_;
  PersonFault fault_;
  std::uint64_t runs_ = 0;
};

AuditFinding audited(const AuditedPersons& of, PersonFault fault, PairShape shape, const RecordCounts& counts) {
  LightPersonSilo silo(of, fault);
  AuditSettings settings;
  settings.trials = 4000;
  return audit_transcripts(silo, *of.plan, of.pair(shape, counts), settings).value();
}

TEST(PersonAuditTest, ASoundSiloIsNotFlaggedHoweverManyRecordsAPersonHas) {
  const AuditedPersons of;
  for (const PairShape shape : {PairShape::Crowd, PairShape::Alone}) {
    for (const std::int64_t first : kCounts) {
      for (const std::int64_t second : kCounts) {
        const AuditFinding finding = audited(of, PersonFault::None, shape, {first, second});
        EXPECT_FALSE(finding.flagged()) << first << " " << second << ": " << finding.lower << " of " << finding.claimed;
        EXPECT_GT(finding.lower_told, 0.3 * finding.claimed) << first << " " << second;  // it sees what there is
      }
    }
  }
}

TEST(PersonAuditTest, FindsASiloThatCountsRecords) {
  for (const char* contribution : {"clipped_mean", "capped_sum"}) {
    const AuditedPersons of(contribution);
    const RecordCounts counts = worst_counts(*of.job->person);
    for (const PersonFault fault :
         {PersonFault::RecordsAddedUp, PersonFault::DivisorOfRecords, PersonFault::WeightOfRecords}) {
      const AuditFinding finding = audited(of, fault, PairShape::Crowd, counts);
      EXPECT_TRUE(finding.flagged()) << contribution << " " << static_cast<int>(fault) << ": " << finding.lower
                                     << " of " << finding.claimed;
    }
  }
}

/// With fewer records than may count a person moves a capped sum less: the audit would look where there is less to see.
TEST(PersonAuditTest, InACappedSumEverybodyHasAsManyRecordsAsMayCount) {
  const AuditedPersons of("capped_sum");
  const RecordCounts counts = worst_counts(*of.job->person);
  EXPECT_EQ(counts.others, tests::kOfPersonsMax);
  EXPECT_GE(std::min(counts.first, counts.second), tests::kOfPersonsMax);
  for (const PairShape shape : {PairShape::Crowd, PairShape::Alone}) {
    const AuditFinding finding = audited(of, PersonFault::None, shape, counts);
    EXPECT_FALSE(finding.flagged()) << finding.lower << " of " << finding.claimed;
    EXPECT_GT(finding.lower_told, 0.3 * finding.claimed);
    const AuditFinding few = audited(of, PersonFault::None, shape, {1, 1});
    EXPECT_LT(few.lower_told, 0.3 * few.claimed);
  }
}

class AuditedProduct : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(PersonAuditTest, AuditedProduct, testing::Values("clipped_mean", "capped_sum"));

TEST_P(AuditedProduct, IsNotFlagged) {
  const AuditedPersons of(GetParam());
  const jobs::CohortMember& member = of.job->cohort.front();
  std::uint64_t runs = 0;
  const auto product = product_silo(*of.job, of.bytes, member,
                                    [&] { return std::make_unique<silo::TestRandomness>(runs++, member.facts.silo); });
  for (const PairShape shape : shapes_for(*of.job, *of.plan)) {
    const AuditFinding finding = audit_transcripts(*product, *of.plan, of.pair(shape), {.trials = 300}).value();
    EXPECT_FALSE(finding.flagged()) << static_cast<int>(shape);
    EXPECT_GT(finding.counts.true_positives, finding.counts.false_positives);
  }
}

TEST(PersonAuditTest, APersonsRecordsAreAllInTheChangedBlock) {
  const AuditedPersons of;
  for (const PairShape shape : shapes_for(*of.job, *of.plan)) {
    const WorstPair pair = of.pair(shape, {50, 5});
    const jobs::CohortMember& member = of.job->cohort.front();
    for (const auto& [dataset, held] : {std::pair(&pair.first, 50), std::pair(&pair.second, 5)}) {
      EXPECT_EQ(dataset->training.count(), member.facts.records);
      EXPECT_EQ(dataset->holdout.count(), member.facts.holdout_records);
      const models::Records& changed = pair.records(*dataset);
      EXPECT_EQ(changed.rows(), changed.count() - 1 + held);
      const auto at = static_cast<std::size_t>(pair.changed);
      EXPECT_EQ(changed.starts[at + 1] - changed.starts[at], held);
    }
  }
}

}  // namespace
}  // namespace undertone::lab
