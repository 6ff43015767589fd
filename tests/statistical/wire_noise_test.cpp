#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "shared/crypto/secure_bits.hpp"
#include "silo/agent/silo_machine.hpp"
#include "silo/oracles/bits_stream.hpp"
#include "silo/oracles/local_run.hpp"
#include "silo/oracles/secure_randomness.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/support/memory_head.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone {
namespace {

constexpr std::uint64_t kRounds = 2000;

/// Noise as a listener sees it: replies at a fixed point minus the exact mean, divided by the standard deviation that
/// the plan claims. Secure bits, through ledger, oracle and wire; the process restarts half-way if asked.
struct Listener {
  explicit Listener(std::size_t silo, bool restart = false, std::uint8_t nonce = 1) {
    tests::SmallFederation federation;
    federation.rounds = static_cast<int>(kRounds);
    federation.evaluation_every = 0;
    federation.noise = "secure";
    const std::string job = federation.job();
    const jobs::Job parsed = jobs::parse_job(job, "job").value();
    const simulation::SimulatedSilo spec = federation.cohort().at(silo);
    const planning::Plan plan = jobs::plan_of(parsed, *parsed.member(spec.id)).value();
    const RunId run{sha256(job), {nonce}};
    const SigningKey key = SigningKey::from_seed(std::string(32, 'n')).value();
    store::Database database = store::Database::in_memory().value();
    tests::MemoryHead head;
    silo::SecureRandomness randomness;
    store::Database desk_database = store::Database::in_memory().value();
    silo::Desk desk = silo::Desk::open(desk_database).value();
    const auto clock = [] { return std::int64_t{0}; };
    std::optional<silo::Ledger> ledger;
    std::optional<silo::SiloMachine> machine;
    const Digest holdout = spec.facts.holdout_public ? sha256("holdout") : Digest{};
    const auto boot = [&] {
      machine.reset();
      ledger.emplace(
          silo::Ledger::open(database, head, key, {"data", {}, holdout}, spec.policy.total, randomness.kind(), clock)
              .value());
      machine.emplace(silo::SiloMachine::Setup{spec.id,
                                               spec.policy,
                                               spec.facts,
                                               spec.dataset,
                                               *ledger,
                                               randomness,
                                               wire::Limits{},
                                               {},
                                               desk,
                                               "data",
                                               clock});
    };
    boot();
    (void)machine->on_message(wire::JobOffer{run, job});

    const Eigen::VectorXd point = Eigen::VectorXd::Constant(parsed.model->dimension(), 0.05);
    const planning::Release& release = *plan.release({0});
    std::vector<std::int64_t> everybody(static_cast<std::size_t>(spec.dataset.training.count()));
    std::iota(everybody.begin(), everybody.end(), std::int64_t{0});
    const std::vector<std::int64_t> sum =
        silo::exact_sum(queries::GradientQuestion{point}, release, spec.dataset.training, everybody,
                        silo::make_record_sums(*parsed.model).get());
    const double records = static_cast<double>(release.records_drawn);
    const double claimed = std::get<mechanisms::GaussianLattice>(release.mechanism).noise_stddev() / records;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      if (restart && round == kRounds / 2) boot();
      const auto actions = machine->on_message(
          wire::QueryMessage{run, queries::PointType::F64, {{round}, queries::GradientQuestion{point}}});
      wire::Decoder decoder{wire::Limits{}};
      const auto messages = decoder.feed(std::get<silo::Send>(actions.at(0)).bytes).value();
      const auto& values = queries::values_of(std::get<wire::ReplyMessage>(messages.at(0)).reply.answer);
      for (std::size_t j = 0; j < values.size(); ++j) {
        const double mean = static_cast<double>(sum[j]) * release.lattice().step / records;
        noise.push_back((std::ldexp(static_cast<double>(values[j]), parsed.reply_lattice.step_log2) - mean) / claimed);
      }
    }
    dimension = static_cast<std::size_t>(parsed.model->dimension());
  }
  std::vector<double> noise;  // round by round
  std::size_t dimension = 0;
};

double correlation(const std::vector<double>& a, const std::vector<double>& b, std::size_t lag = 0) {
  double sum = 0.0;
  for (std::size_t i = 0; i + lag < b.size(); ++i) sum += a[i] * b[i + lag];
  return sum / static_cast<double>(b.size() - lag);
}

TEST(WireNoiseTest, HasTheVarianceThePlanClaims) {
  for (const std::size_t silo : {0U, 1U, 4U}) {
    const Listener listener(silo);
    const auto n = static_cast<double>(listener.noise.size());
    // Standard error of a variance is sqrt(2/n) = 0.014; six of them: false alarm 2e-9. Half the noise, or sigma from
    // L/n instead of 2L/n, is off by 0.75.
    EXPECT_NEAR(correlation(listener.noise, listener.noise), 1.0, 6.0 * std::sqrt(2.0 / n));
    EXPECT_NEAR(std::accumulate(listener.noise.begin(), listener.noise.end(), 0.0) / n, 0.0, 6.0 / std::sqrt(n));
  }
}

TEST(WireNoiseTest, IsGaussian) {
  Listener listener(0);
  std::sort(listener.noise.begin(), listener.noise.end());
  const auto n = static_cast<double>(listener.noise.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < listener.noise.size(); ++i) {
    const double phi = 0.5 * std::erfc(-listener.noise[i] / std::sqrt(2.0));
    distance = std::max(
        {distance, std::abs(phi - static_cast<double>(i) / n), std::abs(phi - static_cast<double>(i + 1) / n)});
  }
  // Kolmogorov: P[sqrt(n) D > 3.3] < 2 exp(-2 * 3.3^2) = 7e-10.
  EXPECT_LT(distance, 3.3 / std::sqrt(n));
}

TEST(WireNoiseTest, IsIndependentAcrossRoundsCoordinatesSilosRunsAndRestarts) {
  const Listener one(0);
  const Listener other_silo(1);
  const Listener other_run(0, false, 2);
  const Listener restarted(0, true);
  const double bound = 6.0 / std::sqrt(static_cast<double>(one.noise.size()));  // six standard errors of a correlation
  for (const std::size_t lag : {std::size_t{1}, std::size_t{2}, one.dimension, 2 * one.dimension, 7 * one.dimension,
                                kRounds / 2 * one.dimension}) {
    EXPECT_LT(std::abs(correlation(one.noise, one.noise, lag)),
              6.0 / std::sqrt(static_cast<double>(one.noise.size() - lag)))
        << lag;
    EXPECT_LT(std::abs(correlation(restarted.noise, restarted.noise, lag)),
              6.0 / std::sqrt(static_cast<double>(one.noise.size() - lag)))
        << lag;
  }
  EXPECT_LT(std::abs(correlation(one.noise, other_silo.noise)), bound);
  EXPECT_LT(std::abs(correlation(one.noise, other_run.noise)), bound);
  EXPECT_LT(std::abs(correlation(one.noise, restarted.noise)), bound);
}

TEST(WireNoiseTest, ABatteryThatCouldNotFailWouldBeWorthless) {
  Listener listener(0);
  std::vector<double> weak = listener.noise;
  for (double& v : weak) v *= 0.9;
  EXPECT_GT(std::abs(correlation(weak, weak) - 1.0), 6.0 * std::sqrt(2.0 / static_cast<double>(weak.size())));
  std::vector<double> reused = listener.noise;
  std::copy(reused.begin(), reused.begin() + static_cast<std::ptrdiff_t>(reused.size() / 2),
            reused.begin() + static_cast<std::ptrdiff_t>(reused.size() / 2));
  EXPECT_GT(std::abs(correlation(reused, reused, kRounds / 2 * listener.dimension)), 0.5);
}

/// The last message of a descent of K steps over records without features: all of it is noise.
TEST(LocalRunNoiseTest, AMessageHasTheNoiseOfEveryStepAndReadsEveryRecordAlike) {
  constexpr std::uint64_t kSteps = 16;
  constexpr Eigen::Index kFeatures = 8;
  constexpr std::int64_t kRecords = 20;
  const releases::ClipNorm clip = releases::ClipNorm::create(1.0).value();
  const releases::Ask shape{releases::LocalRunMap{{kSteps, 0.25}}, {}, releases::L2Bound{clip}, kFeatures};
  const auto lattice =
      mechanisms::gaussian_lattice(clip, releases::GaussianShift::create(0.5).value(), kFeatures, 1).value();
  const planning::Release release{shape, 1, kRecords, lattice, kRecords, {0, kRecords}};
  models::Records records{Eigen::MatrixXd::Zero(kFeatures, kRecords), Eigen::VectorXd::Ones(kRecords)};
  const auto sums = silo::make_record_sums(models::LinearModel(models::Loss::LeastSquares, kFeatures, false));
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  silo::BitsStream<crypto::SecureBits> stream(bits);
  const queries::WireLattice wire{queries::ReplyType::I64, -40};
  // 2000 messages of 8 coordinates: z^2 adds up to a chi square of 16,000 degrees, standard deviation 179. Six of them
  // (1e-9, SecureBits) see a step without noise (variance off by 1/16, 1,000) and a step size that is off by 4 %.
  const double stddev = 0.25 * lattice.noise_stddev() * std::sqrt(static_cast<double>(kSteps));
  double squares = 0.0;
  for (int message = 0; message < 2000; ++message) {
    for (const std::int64_t value :
         silo::local_run({Eigen::VectorXd::Zero(kFeatures)}, release, records, nullptr, wire, *sums, stream)) {
      const double z = std::ldexp(static_cast<double>(value), -40) / stddev;
      squares += z * z;
    }
  }
  EXPECT_NEAR(squares, 16000.0, 6.1 * std::sqrt(2.0 * 16000.0));
  // Which record a step reads: record j alone has a feature, and a message of one step moves along it by the clip norm,
  // 0.25 of it after the step size, sixteen times the rounding and a fiftieth of the noise; so without noise.
  silo::NoiselessRandomness quiet(3, SiloId::create("silo-1").value());
  planning::Release single = release;
  single.ask.map = releases::LocalRunMap{{1, 1.0}};
  std::vector<int> read(kFeatures, 0);
  records.features.setZero();
  for (std::int64_t j = 0; j < kRecords; ++j) records.features(j % kFeatures, j) = 1.0;
  constexpr int kMessages = 8000;
  for (int message = 0; message < kMessages; ++message) {
    const auto draws = quiet.stream(RunId{}, {static_cast<std::uint64_t>(message)});
    const std::vector<std::int64_t> moved =
        silo::local_run({Eigen::VectorXd::Zero(kFeatures)}, single, records, nullptr, wire, *sums, *draws);
    for (std::size_t f = 0; f < read.size(); ++f) read[f] += moved[f] != 0 ? 1 : 0;
  }
  // Features 0 to 3 belong to three records each, 4 to 7 to two: 1200 and 800 messages, standard deviations 32 and 27.
  for (std::size_t f = 0; f < read.size(); ++f)
    EXPECT_NEAR(read[f], f < 4 ? 1200.0 : 800.0, 6.2 * (f < 4 ? 32.0 : 27.0)) << f;
}

}  // namespace
}  // namespace undertone
