#include "tests/support/fault_world.hpp"

#include <algorithm>

#include "shared/base/random_source.hpp"
#include "shared/jobs/public_records.hpp"
#include "shared/sealed/sealing_key.hpp"
#include "tests/support/long_advance.hpp"

namespace undertone::tests {
namespace {

using std::chrono::milliseconds;

std::string secret_of(const char* whose) { return std::string(as_bytes(sha256(std::string("key of ") + whose))); }

std::string public_key_hex(const std::string& secret) {
  return to_hex(sealed::SealingKey::from_secret(secret)->public_key().bytes());
}

}  // namespace

jobs::Planner KnownPlans::planner() {
  return [this](const jobs::Job& job, const jobs::CohortMember& member) -> Result<planning::Plan> {
    const std::pair key(job.name, member.facts.silo);
    const auto known = plans_.find(key);
    return known != plans_.end() ? known->second : plans_.emplace(key, jobs::plan_of(job, member)).first->second;
  };
}

std::string FaultWorlds::named(SmallFederation federation) {
  federation.name = to_hex(sha256(federation.job())).substr(0, 16);
  return federation.job();
}

std::vector<simulation::SimulatedFederation::Shuffler> FaultWorlds::shufflers() {
  return {{"mixer-a", secret_of("mixer-a")}, {"mixer-b", secret_of("mixer-b")}};
}

std::string FaultWorlds::sealing_secret() { return secret_of("coordinator"); }

std::string FaultWorlds::shuffle(const std::string& form) {
  std::string parties;
  for (const simulation::SimulatedFederation::Shuffler& one : shufflers()) {
    parties += fmt::format(R"({}{{"name":"{}","key":"{}"}})", parties.empty() ? "" : ",", one.name,
                           public_key_hex(one.secret));
    if (form != "shares") break;
  }
  if (form == "shares") return fmt::format(R"({{"form":"shares","shufflers":[{}],"honest_min":2}})", parties);
  if (form == "counts") return fmt::format(R"({{"form":"counts","shufflers":[{}],"honest_min":2}})", parties);
  const Digest key = sealed::SealingKey::from_secret(sealing_secret())->public_key().fingerprint();
  return fmt::format(R"({{"form":"{}","shufflers":[{{"name":"mixer-a"}}],"coordinator_key":"{}","honest_min":2}})",
                     form, to_hex(key));
}

FaultWorlds::FaultWorlds() {
  Family plain;
  plain.jobs.emplace_back();
  plain.jobs.emplace_back().draw_fraction = 0.5;
  plain.jobs.emplace_back().rounds = 2;
  plain.jobs.push_back(federation_of_reports());
  Family classes;
  for (const auto& [name, federation] : federations_of_every_algorithm()) {
    if (federation.noise_multiplier > 0.0) continue;
    (federation.model.empty() || federation.model.find("moments") != std::string::npos ? plain : classes)
        .jobs.push_back(federation);
  }
  Family squares;
  Family squares_beside;  // whose silos have public records
  for (const double fraction : {1.0, 0.5}) {
    SmallFederation one;
    one.loss = models::Loss::LeastSquares;
    one.draw_fraction = fraction;
    squares.jobs.push_back(one);
  }
  for (const char* use : {R"(,"weight":0.5)", R"(,"use":"mirror_map")"}) {
    SmallFederation one;
    one.loss = models::Loss::LeastSquares;
    one.open_records = open_records_in(open_.path(), one, 30, use);
    squares.jobs.push_back(one);
  }
  for (const bool file : {false, true}) {
    SmallFederation one;
    one.loss = models::Loss::LeastSquares;
    one.public_records = 5;
    one.open_records =
        file ? open_records_in(open_.path(), one, 30, R"(,"silos":true)") : R"({"silos":true,"weight":0.5})";
    squares_beside.jobs.push_back(one);
  }
  Family equal;
  for (const char* form : {"counts", "shares", "reports", ""}) {
    SmallFederation one;
    one.equal = true;
    one.rounds = 3;
    if (*form != '\0') one.shuffle = shuffle(form);
    equal.jobs.push_back(one);
  }
  families_ = {plain, classes, squares, equal, equal, squares_beside};
}

simulation::SimulatedFederation::Setup FaultWorlds::world(std::uint64_t seed) {
  using Federation = simulation::SimulatedFederation;
  RandomSource random(seed * 31 + 17);
  const Family& family = families_[random.below(families_.size())];
  const int silos = 3 + static_cast<int>(random.below(3));
  const bool impatient = random.chance(0.1);  // everybody must answer, quickly: some fail, and must say so
  Federation::Setup setup;
  setup.public_folder = open_.path();
  const std::size_t jobs = random.chance(0.7) ? 1 : 2 + random.below(2);
  for (std::size_t i = 0; i < jobs; ++i) {
    SmallFederation federation = family.jobs[random.below(family.jobs.size())];
    federation.silos = silos;
    if (impatient) {
      federation.quorum = silos;
      federation.round_deadline_ms = 700;
      federation.join_deadline_ms = 1500;
    }
    if (setup.silos.empty()) {
      setup.silos = federation.cohort();
      if (federation.equal) setup.shufflers = shufflers();
    }
    Federation::Job job{named(federation), "small"};
    for (const Federation::Job& other : setup.jobs) {
      if (other.text == job.text) job.text.clear();
    }
    if (job.text.empty()) continue;
    job.submitted = i == 0 ? milliseconds(0) : milliseconds(random.below(4000));
    // Half of them early: while the offer is on its way, or a silo thinks about it.
    if (random.chance(0.16))
      job.cancelled = job.submitted + milliseconds(random.below(random.chance(0.5) ? 1000 : 6000));
    setup.jobs.push_back(std::move(job));
  }
  if (!setup.shufflers.empty()) {
    silo::ShuffleTrust trust;
    for (const Federation::Shuffler& one : setup.shufflers) trust.shufflers.push_back({one.name, std::nullopt});
    trust.forms = {"counts", "shares", "reports"};
    trust.honest_min = 5;
    for (simulation::SimulatedSilo& silo : setup.silos) silo.policy.shuffle = trust;
    setup.sealing_secret = sealing_secret();
    // Apart, so that all else in a world is as without.
    RandomSource hostile(seed * 131 + 7);
    if (hostile.chance(0.2)) {
      using Hostility = simulation::SimulatedSilo::Hostility;
      setup.silos[hostile.below(setup.silos.size())].hostility =
          hostile.chance(0.5) ? Hostility::OtherTerms : Hostility::ClaimsHandOver;
    }
  }
  using What = Federation::OwnersAct::What;
  for (const simulation::SimulatedSilo& silo : setup.silos) {
    if (random.chance(0.1)) setup.joins.emplace(silo.id, milliseconds(random.below(6000)));
    if (random.chance(0.08)) {
      const milliseconds at(random.below(6000));
      setup.acts.push_back({at, silo.id, What::Pause, 0});
      setup.acts.push_back({at + milliseconds(500 + random.below(4000)), silo.id, What::Resume, 0});
    }
    if (random.chance(0.05)) {
      setup.acts.push_back({milliseconds(random.below(6000)), silo.id, What::Withdraw,
                            static_cast<std::size_t>(random.below(setup.jobs.size()))});
    }
    if (random.chance(0.04)) setup.acts.push_back({milliseconds(random.below(8000)), silo.id, What::Leave, 0});
  }
  setup.seed = seed;
  setup.faults = fault_rates(seed);
  // A round's answers and its deadline are those of one life of the coordinator. Where it dies too often and a silo has
  // left for good, every round waits for the deadline: in world 3002 it lives for 0.65 s on average, so that some one
  // life in five hundred lasts the 4 s that a round takes then, one in five minutes. That world ends after 33.
  const bool dies_all_the_time = setup.faults.crash_at_event + setup.faults.crash_at_commit > 0.05;
  // Rounds of a silo that keeps its replies wait for the deadline too, in one life of each shuffler.
  const bool waits_always =
      std::any_of(setup.silos.begin(), setup.silos.end(), [](const simulation::SimulatedSilo& silo) {
        return silo.hostility == simulation::SimulatedSilo::Hostility::ClaimsHandOver;
      });
  setup.time_max = std::chrono::minutes(dies_all_the_time || waits_always ? 100 : 20);
  setup.planner = planner();
  // Apart again. A round of such a world closes, and much may happen before it is known what follows from it.
  RandomSource working(seed * 53 + 11);
  if (working.chance(0.3)) {
    setup.make_algorithm = taking_long({}, jobs::algorithms_with(open_.path()));
    setup.faults.work_max = milliseconds(working.below(1500));
  }
  return setup;
}

simulation::FaultRates fault_rates(std::uint64_t seed) {
  RandomSource random(seed * 77 + 5);
  const auto sometimes = [&](double share, double most) { return random.chance(share) ? most * random.unit() : 0.0; };
  simulation::FaultRates rates;
  rates.loss = 0.15 * random.unit();
  rates.duplication = 0.2 * random.unit();
  rates.corruption = sometimes(0.3, 0.03);
  rates.disconnect = 0.05 * random.unit();
  rates.partition = sometimes(0.3, 0.03);
  rates.delay_max = milliseconds(random.below(400));
  rates.silence_max = milliseconds(random.below(2000));
  rates.partition_max = milliseconds(random.below(3000));
  rates.slow = sometimes(0.3, 0.5);
  rates.slow_max = milliseconds(random.below(1500));
  rates.clock_jump = sometimes(0.3, 0.1);
  rates.clock_jump_max = std::chrono::hours(24 * 100);  // what ended a year ago by the clock is forgotten
  rates.full_disk = sometimes(0.2, 0.02);
  rates.full_disk_max = milliseconds(random.below(2000));
  rates.crash_at_event = 0.03 * random.unit();
  rates.crash_at_commit = 0.04 * random.unit();
  rates.crash_at_write = sometimes(0.5, 0.01);
  rates.power_loss = sometimes(0.5, 1.0);
  rates.restart_max = milliseconds(50 + random.below(1500));
  return rates;
}

}  // namespace undertone::tests
