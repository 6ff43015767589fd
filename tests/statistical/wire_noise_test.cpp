#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "silo/agent/silo_machine.hpp"
#include "silo/oracles/secure_randomness.hpp"
#include "silo/oracles/sum_oracle.hpp"
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
    const config::Job parsed = config::parse_job(job, "job").value();
    const lab::SimulatedSilo spec = federation.cohort().at(silo);
    const privacy::Plan plan = config::plan_of(parsed, *parsed.member(spec.id)).value();
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
    const auto boot = [&] {
      machine.reset();
      ledger.emplace(
          silo::Ledger::open(database, head, key, {"data", {}, {}}, spec.policy.total, randomness.kind(), clock)
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

    const Eigen::VectorXd point = Eigen::VectorXd::Constant(parsed.model.dimension(), 0.05);
    const privacy::Release& release = *plan.release({0});
    std::vector<std::int64_t> everybody(static_cast<std::size_t>(spec.dataset.training.count()));
    std::iota(everybody.begin(), everybody.end(), std::int64_t{0});
    const std::vector<std::int64_t> sum =
        silo::exact_sum(queries::GradientQuestion{point}, release, spec.dataset.training, everybody,
                        *silo::make_record_sums(parsed.model));
    const double records = static_cast<double>(release.records_drawn);
    const double claimed = std::get<privacy::GaussianLattice>(release.mechanism).noise_stddev() / records;
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
    dimension = static_cast<std::size_t>(parsed.model.dimension());
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

}  // namespace
}  // namespace undertone
