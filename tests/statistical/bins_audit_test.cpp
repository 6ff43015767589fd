#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>

#include "lab/audit/gaussian_distinguisher.hpp"
#include "lab/audit/transcript_audit.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/support/repetitions.hpp"

namespace undertone::lab {
namespace {

/// What can be wrong with secret parts.
enum class PartsFault {
  None,
  SizesInLength,  // a reply is as long, or takes as long, as its part has records
  Balanced,       // every part has as many records as the others
  ActualDivisor,  // a sum is divided by how many records it is of
  DrawnAnew,      // after half of the rounds every record draws again
  ReadTwice,      // every part is released twice, and charged as though it were once
  SameOrder,      // a secret permutation that is the same in every run, so that everybody knows it
};

/// A pass over secret parts by the product's own draws, sums and noise, without messages and ledger, with a fault.
class PartsSilo final : public AuditedSilo {
 public:
  PartsSilo(const jobs::Job& job, const planning::Plan& plan, PartsFault fault, std::uint64_t seed)
      : job_(&job), plan_(&plan), fault_(fault), seed_(seed), sums_(silo::make_record_sums(*job.model)) {}

  Result<Transcript> run(const data::Dataset& dataset, const NextPoint& next) override {
    silo::TestRandomness randomness((seed_ << 32U) + runs_++, job_->cohort.front().facts.silo);
    const auto places = [&](std::uint8_t draw) {
      const silo::PermutationName name{RunId{Digest{}, {draw}}, releases::Block::Training, {}};
      const std::int64_t records = dataset.training.count();
      if (job_->parts == releases::Slice::Assignment::SecretPermutation) {
        std::vector<std::int64_t> order(static_cast<std::size_t>(records));
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::rotate(order.begin(), order.begin() + records / 2, order.end());  // neither end is the unread position
        return silo::RecordPlaces::permuted(fault_ == PartsFault::SameOrder ? std::move(order)
                                                                            : randomness.permutation(name, records));
      }
      return silo::RecordPlaces::binned(fault_ == PartsFault::Balanced ? randomness.permutation(name, records)
                                                                       : randomness.bins(name, records));
    };
    const silo::RecordPlaces first = places(1);
    const silo::RecordPlaces anew = places(2);
    Transcript transcript;
    for (std::uint64_t round = 0; round < plan_->rounds(); ++round) {
      const planning::Release& release = *plan_->release({round});
      SeenRound seen;
      seen.point = next(transcript);
      const bool again = fault_ == PartsFault::DrawnAnew && 2 * round >= plan_->rounds();
      if (release.is_public()) {  // the evaluation at the end: nobody looks
        seen.values = Eigen::VectorXd::Zero(1);
      } else {
        seen = answered(release, dataset, again ? anew : first, seen.point, randomness, round);
      }
      transcript.push_back(std::move(seen));
    }
    return transcript;
  }

 private:
  SeenRound answered(const planning::Release& release, const data::Dataset& dataset, const silo::RecordPlaces& places,
                     const Eigen::VectorXd& point, const silo::TestRandomness& randomness, std::uint64_t round) {
    const queries::Query query{{round}, queries::GradientQuestion{point}};
    SeenRound seen{point, Eigen::VectorXd::Zero(point.size())};
    const int times = fault_ == PartsFault::ReadTwice ? 2 : 1;
    for (int i = 0; i < times; ++i) {
      const auto stream = randomness.stream({}, {round + 1000 * static_cast<std::uint64_t>(i)});
      const queries::Answer answer =
          silo::draw_and_sum(query, release, {dataset, places}, sums_.get(), job_->reply_lattice, *stream);
      const std::vector<std::int64_t>& values = queries::values_of(answer);
      for (Eigen::Index j = 0; j < seen.values.size(); ++j)
        seen.values[j] +=
            std::ldexp(static_cast<double>(values[static_cast<std::size_t>(j)]), job_->reply_lattice.step_log2) / times;
    }
    if (!release.reads_bins()) {
      seen.rows = static_cast<double>(release.records_drawn);
      return seen;
    }
    const silo::RecordPlaces::Rows rows = places.bin(release.positions, release.rows);
    const auto held = static_cast<double>(std::max<std::int64_t>(rows.counted, 1));
    seen.rows = fault_ == PartsFault::SizesInLength ? held : static_cast<double>(rows.records.size());
    if (fault_ == PartsFault::ActualDivisor) seen.values *= static_cast<double>(release.records_drawn) / held;
    return seen;
  }

  const jobs::Job* job_;
  const planning::Plan* plan_;
  PartsFault fault_;
  std::uint64_t seed_;
  std::uint64_t runs_ = 0;
  std::unique_ptr<silo::RecordSums> sums_;
};

/// A one-pass job of one silo, one round for each part.
std::string parts_job(int rounds, int records, double epsilon, const std::string& parts) {
  constexpr int kFeatures = 16;
  std::string columns;
  for (int f = 0; f < kFeatures; ++f)
    columns += fmt::format("{}{{\"column\":\"x{}\",\"min\":-1,\"max\":1}}", f == 0 ? "" : ",", f);
  return fmt::format(
      R"({{"format":"undertone.job/1","name":"audited","data":{{"label":{{"column":"y","negative":"n","positive":"p"}},"features":[{}]}},
"model":{{"kind":"logistic","intercept":true}},"domain":{{"kind":"l2_ball","radius":5}},"regulariser":{{"kind":"l2","strength":0.01}},
"algorithm":{{"kind":"proximal_sgd","parts":"{}","rounds":{},"step_size":0.5}},
"privacy":{{"mode":"isrl","unit":"record","noise":"test","clip_norm":1}},
"cohort":[{{"silo":"one","records":{},"holdout_records":1,"holdout_public":true,"epsilon":{},"delta":1e-5}}],
"participation":{{"quorum":1,"join_deadline_ms":1000,"round_deadline_ms":1000,"resend_ms":300}},
"evaluation":{{"every":0}},"wire":{{"points":"f64","replies":"i64","reply_step_log2":-40}}}})",
      columns, parts, rounds, records, epsilon);
}

struct AuditedBins {
  AuditedBins(int rounds, int records, double epsilon, PairShape shape, const std::string& parts = "bins")
      : bytes(parts_job(rounds, records, epsilon, parts)),
        job(jobs::parse_job(bytes, "job").value()),
        plan(jobs::plan_of(job, job.cohort.front()).value()),
        pair(worst_pair(job, job.cohort.front(), plan, shape)) {}
  [[nodiscard]] AuditFinding audit(PartsFault fault, std::uint64_t seed, std::int64_t trials) const {
    PartsSilo silo(job, plan, fault, seed);
    AuditSettings settings;
    settings.trials = trials;
    return audit_transcripts(silo, plan, pair, settings).value();
  }
  /// In how many standard errors the products of two rounds' projections lie above 0, where all other records add
  /// nothing: their mean is 0 where a record is in one bin, and above it where it may be in two.
  [[nodiscard]] double overlap(PartsFault fault, std::uint64_t seed, int runs) const {
    PartsSilo silo(job, plan, fault, seed);
    const Projection& projection = dynamic_cast<const GaussianDistinguisher&>(*pair.test).projection();
    double sum = 0.0;
    double square = 0.0;
    for (int i = 0; i < runs; ++i) {
      double whole = 0.0;
      double own = 0.0;
      for (const SeenRound& seen : silo.run(pair.first, pair.test->asker()).value()) {
        if (seen.values.size() != projection.direction.size()) continue;
        const double z = seen.values.dot(projection.direction);
        whole += z;
        own += z * z;
      }
      const double products = 0.5 * (whole * whole - own);
      sum += products;
      square += products * products;
    }
    return sum / std::sqrt(square);
  }
  /// In how many standard errors the mean projection of some round lies above that of all rounds, where all other
  /// records add nothing: parts that nobody knows are all moved as often.
  [[nodiscard]] double loudest(PartsFault fault, std::uint64_t seed, int runs) const {
    PartsSilo silo(job, plan, fault, seed);
    const Projection& projection = dynamic_cast<const GaussianDistinguisher&>(*pair.test).projection();
    std::vector<double> sums(plan.rounds(), 0.0);
    double square = 0.0;
    for (int i = 0; i < runs; ++i) {
      std::size_t round = 0;
      for (const SeenRound& seen : silo.run(pair.first, pair.test->asker()).value()) {
        const double z =
            seen.values.size() == projection.direction.size() ? seen.values.dot(projection.direction) : 0.0;
        sums[round++] += z;
        square += z * z;
      }
    }
    sums.pop_back();  // the evaluation at the end
    const auto rounds = static_cast<double>(sums.size());
    const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / rounds;
    return (*std::max_element(sums.begin(), sums.end()) - mean) / std::sqrt(square / rounds);
  }
  std::string bytes;
  jobs::Job job;
  planning::Plan plan;
  WorstPair pair;
};

TEST(BinsAuditTest, FindsWhatMakesThePartsNoSecret) {
  const int seeds = tests::repetitions(1, 2);
  const AuditedBins crowd(30, 1500, 4.0, PairShape::Crowd);
  const AuditedBins alone(3, 9, 4.0, PairShape::Alone);
  struct Case {
    const char* name;
    PartsFault fault;
    const AuditedBins* of;
    std::int64_t trials;
  };
  for (const Case& one : {Case{"sizes in the length", PartsFault::SizesInLength, &crowd, 4000},
                          Case{"balanced", PartsFault::Balanced, &crowd, 4000},
                          Case{"actual divisor", PartsFault::ActualDivisor, &crowd, 4000},
                          Case{"read twice", PartsFault::ReadTwice, &alone, 60'000}}) {
    SCOPED_TRACE(one.name);
    int found = 0;
    double weakest = 1e9;
    for (int seed = 0; seed < seeds; ++seed) {
      const AuditFinding finding = one.of->audit(one.fault, static_cast<std::uint64_t>(seed), one.trials);
      found += finding.flagged() ? 1 : 0;
      weakest = std::min(weakest, finding.lower / finding.claimed);
    }
    EXPECT_EQ(found, seeds) << weakest;
  }
}

// Drawing anew costs as much as Poisson samples, hardly more than bins: no test of epsilon tells. But a record is then
// in two bins.
TEST(BinsAuditTest, FindsBinsThatAreDrawnAnew) {
  constexpr double kOverlapMax = 5.0;  // standard errors: a sound silo is above with probability 3e-7
  const AuditedBins alone(4, 8, 8.0, PairShape::Alone);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_GT(alone.overlap(PartsFault::DrawnAnew, seed, 8000), kOverlapMax);
    EXPECT_LT(alone.overlap(PartsFault::None, seed, 8000), kOverlapMax);
  }
}

TEST(BinsAuditTest, NeverFlagsSoundBins) {
  // Each would with probability 1e-6 at most.
  for (const PairShape shape : {PairShape::Crowd, PairShape::Alone}) {
    const AuditedBins audited(6, 18, 4.0, shape);
    for (std::uint64_t seed = 0; seed < tests::repetitions(5U, 15U); ++seed) {
      const AuditFinding finding = audited.audit(PartsFault::None, seed, 1000);
      ASSERT_FALSE(finding.flagged()) << seed << ": " << finding.lower << " of " << finding.claimed;
    }
  }
}

TEST(BinsAuditTest, ComesCloseToTheTruthOfSoundBins) {
  const AuditedBins alone(3, 9, 4.0, PairShape::Alone);
  const AuditFinding finding = alone.audit(PartsFault::None, 7, 40'000);
  EXPECT_GT(finding.lower_told, 0.6 * finding.claimed);
  EXPECT_LE(finding.lower, finding.claimed);
}

// The test of an epsilon looks at all parts alike, and a record in a known one moves them as one in an unknown one
// does. But then it is always the same that moves.
TEST(SecretPermutationAuditTest, FindsAnOrderThatIsKnown) {
  constexpr double kLoudestMax = 5.5;  // standard errors: a sound silo is above with probability 2e-7
  const AuditedBins alone(6, 19, 4.0, PairShape::Alone, "secret_permutation");
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    EXPECT_GT(alone.loudest(PartsFault::SameOrder, seed, 2000), kLoudestMax);
    EXPECT_LT(alone.loudest(PartsFault::None, seed, 2000), kLoudestMax);
  }
}

TEST(SecretPermutationAuditTest, NeverFlagsASoundOne) {
  for (const PairShape shape : {PairShape::Crowd, PairShape::Alone}) {
    const AuditedBins audited(6, 19, 4.0, shape, "secret_permutation");
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const AuditFinding finding = audited.audit(PartsFault::None, seed, 1000);
      ASSERT_FALSE(finding.flagged()) << seed << ": " << finding.lower << " of " << finding.claimed;
    }
  }
  // All others at one end is the static pair, which the claim is not far above.
  const AuditedBins few(3, 10, 4.0, PairShape::Crowd, "secret_permutation");
  const AuditFinding finding = few.audit(PartsFault::None, 7, 20'000);
  EXPECT_GT(finding.lower_told, 0.5 * finding.claimed);
  EXPECT_LE(finding.lower, finding.claimed);
}

TEST(SecretPermutationAuditTest, TheProductKeepsItsPromise) {
  const AuditedBins crowd(6, 19, 4.0, PairShape::Crowd, "secret_permutation");
  const jobs::CohortMember& member = crowd.job.cohort.front();
  std::uint64_t runs = 0;
  const auto product = product_silo(crowd.job, crowd.bytes, member,
                                    [&] { return std::make_unique<silo::TestRandomness>(runs++, member.facts.silo); });
  EXPECT_FALSE(audit_transcripts(*product, crowd.plan, crowd.pair, {.trials = 400}).value().flagged());
}

/// Processor time of this thread. A machine's other work does not count.
double seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begun = now();
  work();
  return now() - begun;
}

TEST(BinsAuditTest, ASumTakesAsLongWhateverItsPartHolds) {
  // Medians of 201 sums of which every row counts, and of as many of which none does.
  constexpr std::int64_t kRows = 500;
  const models::Records block{Eigen::MatrixXd::Random(100, kRows), Eigen::VectorXd::Ones(kRows)};
  const auto sums = silo::make_record_sums(models::Model(models::LinearModel(models::Loss::Logistic, 100, true)));
  std::vector<std::int64_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  std::vector<std::int64_t> sum(101);
  std::array<std::vector<double>, 2> times;
  for (int i = 0; i < 402; ++i) {
    const std::size_t counted = i % 2 == 0 ? rows.size() : 0;
    times.at(static_cast<std::size_t>(i % 2)).push_back(seconds_of([&] {
      sums->gradients(Eigen::VectorXd::Zero(101), {std::int64_t{1} << 30U, 0x1p-30}, {block, rows, counted}, sum);
    }));
  }
  for (std::vector<double>& one : times) std::sort(one.begin(), one.end());
  const double ratio = times[0][100] / times[1][100];
  EXPECT_GT(ratio, 0.8);
  EXPECT_LT(ratio, 1.25);
}

TEST(BinsAuditTest, TheProductsRepliesAreAllAsLongAndKeepTheirPromise) {
  const AuditedBins crowd(6, 18, 4.0, PairShape::Crowd);
  const jobs::CohortMember& member = crowd.job.cohort.front();
  std::uint64_t runs = 0;
  const auto product = product_silo(crowd.job, crowd.bytes, member,
                                    [&] { return std::make_unique<silo::TestRandomness>(runs++, member.facts.silo); });
  // Rounds differ by their numbers' own length, runs in nothing.
  std::vector<double> lengths;
  for (int i = 0; i < 200; ++i) {
    const Transcript seen = product->run(crowd.pair.first, crowd.pair.test->asker()).value();
    std::vector<double> own;
    for (const SeenRound& round : seen) own.push_back(round.rows);
    if (lengths.empty()) lengths = own;
    EXPECT_GT(own.front(), 0.0);
    EXPECT_EQ(own, lengths);
  }
  EXPECT_FALSE(audit_transcripts(*product, crowd.plan, crowd.pair, {.trials = 400}).value().flagged());
}

}  // namespace
}  // namespace undertone::lab
