#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "operator/deployment.hpp"
#include "shared/base/files.hpp"
#include "shared/base/random_source.hpp"
#include "shared/store/sqlite.hpp"
#include "simulation/simulate.hpp"
#include "tests/support/federation_audit.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone {
namespace {

using operators::Deployment;
using operators::Supervisor;
using std::filesystem::path;

constexpr const char* kNonce = "000102030405060708090a0b0c0d0e0f";
constexpr std::chrono::seconds kPatience{180};

std::string read(const path& file) { return read_file(file, 64U << 20U).value(); }

/// A worked job with its data named by an absolute path.
path write_job(const path& folder, bool test_noise, const std::string& name = "breast-cancer") {
  const path source = UNDERTONE_SOURCE_DIR;
  std::string job = read(source / "configs/jobs" / (name + ".json"));
  const auto replace = [&job](const std::string& from, const std::string& to) {
    ASSERT_NE(job.find(from), std::string::npos);
    job.replace(job.find(from), from.size(), to);
  };
  replace("../../datasets", (source / "datasets").string());
  if (test_noise) replace("\"noise\": \"secure\"", "\"noise\": \"test\"");
  std::ofstream(folder / "job.json") << job;
  return folder / "job.json";
}

operators::DeploymentOptions options(const path& folder, const path& job, const std::string& name) {
  return {job, folder / name, UNDERTONE_BINARY_DIR, "undertone-silo", ""};
}

/// Kills a process of the deployment with SIGKILL, if it runs right now.
bool kill_process(const Deployment& deployment, const std::string& name) {
  std::ifstream file(deployment.pids() / name);
  pid_t process = 0;
  return static_cast<bool>(file >> process) && process > 0 && ::kill(process, SIGKILL) == 0;
}

/// Waits until the coordinator has opened the given round.
void wait_for_round(const Deployment& deployment, std::uint64_t round) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (std::filesystem::exists(deployment.store())) {
      Result<store::Database> database = store::Database::open(deployment.store(), store::Database::Sync::Normal);
      Result<store::Statement> row = database ? database->prepare("SELECT max(round) FROM checkpoints")
                                              : Result<store::Statement>(database.error());
      if (row && row->step() && row->integer(0) >= static_cast<std::int64_t>(round)) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ADD_FAILURE() << "round " << round << " was not reached";
}

std::string model_of(const Deployment& deployment, const std::function<void()>& meanwhile) {
  Supervisor supervisor(deployment.pids());
  EXPECT_TRUE(deployment.start(supervisor));
  std::thread disturber(meanwhile);
  const Result<int> code = supervisor.supervise("coordinator", kPatience);
  disturber.join();
  supervisor.stop_all();
  EXPECT_TRUE(code) << code.error().message;
  EXPECT_EQ(code.value(), 0);
  return read(deployment.results() / "model.json");
}

/// The run succeeded, and its files agree.
void expect_sound(const Deployment& deployment) {
  const tests::FederationAudit found = tests::audit(deployment);
  for (const std::string& problem : found.problems) ADD_FAILURE() << problem;
  EXPECT_TRUE(found.succeeded) << found.failure;
  EXPECT_GT(found.replies, 0U);
}

TEST(ProcessesTest, SimulatorProcessesAndRestartedProcessesGiveTheSameModelToTheBit) {
  const tests::TemporaryFolder folder;
  const path job = write_job(folder.path(), true);
  ::setenv("UNDERTONE_TEST_SEED", "42", 1);

  simulation::SimulateOptions simulated;
  simulated.job = job;
  simulated.seed = 42;
  simulated.nonce.emplace();
  for (std::uint8_t i = 0; i < 16; ++i) (*simulated.nonce)[i] = i;
  ASSERT_TRUE(simulation::simulate(simulated, folder.path() / "simulated", nullptr));
  const std::string model = read(folder.path() / "simulated" / "model.json");

  operators::DeploymentOptions with = options(folder.path(), job, "calm");
  with.silo_program = "undertone-silo-test";
  with.nonce = kNonce;
  const Deployment calm = Deployment::prepare(with).value();
  EXPECT_EQ(model_of(calm, [] {}), model);

  with.folder = folder.path() / "restarted";
  const Deployment restarted = Deployment::prepare(with).value();
  const std::string model_over_restarts = model_of(restarted, [&restarted] {
    wait_for_round(restarted, 5);
    EXPECT_TRUE(kill_process(restarted, "coordinator"));
    wait_for_round(restarted, 12);
    EXPECT_TRUE(kill_process(restarted, "clinic-2"));
    wait_for_round(restarted, 20);
    EXPECT_TRUE(kill_process(restarted, "clinic-4"));
    EXPECT_TRUE(kill_process(restarted, "coordinator"));
  });
  EXPECT_EQ(model_over_restarts, model);
  expect_sound(restarted);
  ::unsetenv("UNDERTONE_TEST_SEED");
}

/// The same through shufflers.
void expect_shuffled_model(const path& folder, const path& job) {
  ::setenv("UNDERTONE_TEST_SEED", "42", 1);
  operators::DeploymentOptions with = options(folder, job, "calm");
  with.silo_program = "undertone-silo-test";
  with.nonce = kNonce;
  const Deployment calm = Deployment::prepare(with).value();
  simulation::SimulateOptions simulated;
  simulated.job = folder / "calm" / "job.json";  // with the keys that its parties made: the run depends on them
  simulated.seed = 42;
  simulated.nonce.emplace();
  for (std::uint8_t i = 0; i < 16; ++i) (*simulated.nonce)[i] = i;
  ASSERT_TRUE(simulation::simulate(simulated, folder / "simulated", nullptr));
  const std::string model = read(folder / "simulated" / "model.json");
  const std::string model_over_restarts = model_of(calm, [&calm] {
    for (const auto& [round, name] : std::vector<std::pair<std::uint64_t, std::string>>{{1, "mixer-a"},
                                                                                        {2, "coordinator"},
                                                                                        {3, "clinic-2"},
                                                                                        {4, "mixer-a"},
                                                                                        {4, "clinic-5"},
                                                                                        {5, "coordinator"}}) {
      wait_for_round(calm, round);
      EXPECT_TRUE(kill_process(calm, name)) << name;
    }
    if (calm.job().shuffle->shufflers.size() == 2) {
      EXPECT_TRUE(kill_process(calm, "mixer-b"));
    }
  });
  EXPECT_EQ(model_over_restarts, model);
  expect_sound(calm);
  ::unsetenv("UNDERTONE_TEST_SEED");
}

TEST(ProcessesTest, AProgramThatGivesUpAtOnceIsNotStartedForEver) {
  const tests::TemporaryFolder folder;
  Supervisor supervisor(folder.path() / "pids", std::chrono::milliseconds(10));
  ASSERT_TRUE(supervisor.start({"refuser", {"/bin/false"}, folder.path() / "refuser.log", false, {}}));
  const Result<int> code = supervisor.supervise("somebody else", kPatience);
  ASSERT_FALSE(code);
  EXPECT_NE(code.error().message.find("refuser ended 5 times in a row with exit code 1"), std::string::npos)
      << code.error().message;
}

TEST(ProcessesTest, SharesAddedByShufflersThatAreKilledGiveTheSimulatorsModelToTheBit) {
  const tests::TemporaryFolder folder;
  expect_shuffled_model(folder.path(), write_job(folder.path(), true, "breast-cancer-shuffle"));
}

/// The shuffled job in another form, and short. Of two features where every bit is a message of its own.
path write_small_form(const path& folder, const std::string& form, bool test_noise) {
  nlohmann::json job = nlohmann::json::parse(read(write_job(folder, test_noise, "breast-cancer-shuffle")));
  job["algorithm"]["rounds"] = 6;
  job["algorithm"]["draw_fraction"] = 0.1;
  nlohmann::json& shuffle = job["privacy"]["shuffle"];
  shuffle["form"] = form;
  shuffle["shufflers"].erase(1);
  if (form != "counts") {
    shuffle["shufflers"][0].erase("key");
    shuffle["coordinator_key"] = std::string(64, '0');
  }
  if (form == "bits") job["data"]["features"].erase(job["data"]["features"].begin() + 2, job["data"]["features"].end());
  for (nlohmann::json& member : job["cohort"]) member["epsilon"] = 4.0;
  std::ofstream(folder / "job.json") << job.dump();
  return folder / "job.json";
}

TEST(ProcessesTest, EveryOtherFormThroughOneShufflerThatIsKilledGivesTheSimulatorsModelToTheBit) {
  for (const std::string form : {"counts", "reports", "bits"}) {
    SCOPED_TRACE(form);
    const tests::TemporaryFolder folder;
    expect_shuffled_model(folder.path(), write_small_form(folder.path(), form, true));
  }
}

class KillsTest : public testing::TestWithParam<std::pair<const char*, int>> {};

INSTANTIATE_TEST_SUITE_P(Jobs, KillsTest,
                         testing::Values(std::pair("breast-cancer", 20), std::pair("breast-cancer-shuffle", 10)));

TEST_P(KillsTest, ManyKillsOfEveryProcessLoseNothingAndSpendNothingTwice) {
  const auto [name_of_job, kills_each] = GetParam();
  const int kills_wanted = kills_each;
  const tests::TemporaryFolder folder;
  const path job = write_job(folder.path(), false, name_of_job);
  RandomSource random(20);
  std::map<std::string, int> kills = {{"coordinator", 0}};
  for (int run = 0; run < 40; ++run) {
    const Deployment deployment = Deployment::prepare(options(folder.path(), job, fmt::format("run-{}", run))).value();
    for (const jobs::CohortMember& member : deployment.job().cohort) kills.try_emplace(member.facts.silo.name(), 0);
    if (deployment.job().shuffle) {
      for (const jobs::Shuffle::Party& party : deployment.job().shuffle->shufflers) kills.try_emplace(party.name, 0);
    }
    std::atomic<bool> over = false;
    Supervisor supervisor(deployment.pids());
    ASSERT_TRUE(deployment.start(supervisor));
    std::thread killer([&] {
      while (!over) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10 + random.below(120)));
        std::vector<std::string> due;
        for (const auto& [name, count] : kills) {
          if (count < kills_wanted) due.push_back(name);
        }
        if (due.empty()) return;
        const std::string& name = due[random.below(due.size())];
        if (!over && kill_process(deployment, name)) ++kills[name];
      }
    });
    const Result<int> code = supervisor.supervise("coordinator", kPatience);
    over = true;
    killer.join();
    supervisor.stop_all();
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_EQ(*code, 0);
    expect_sound(deployment);
    if (std::all_of(kills.begin(), kills.end(), [&](const auto& k) { return k.second >= kills_wanted; })) break;
  }
  for (const auto& [name, count] : kills) EXPECT_GE(count, kills_wanted) << name;
}

}  // namespace
}  // namespace undertone
