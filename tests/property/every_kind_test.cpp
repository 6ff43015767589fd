#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "shared/base/files.hpp"
#include "shared/planning/plan_digest.hpp"
#include "shared/preview/planned_releases.hpp"
#include "silo/agent/job_summary.hpp"
#include "silo/agent/privacy_statement.hpp"
#include "tests/support/every_job.hpp"
#include "tests/support/rounds_made.hpp"

namespace undertone {
namespace {

/// What the program says of one job to everybody who reads of it before and after it runs.
struct Words {
  std::string plan;       // `undertone plan`, a line a release
  std::string plan_json;  // the same for programs
  std::string approval;   // to the owner who decides
  std::string statement;  // to the owner afterwards, in words and for programs
  std::string digest;     // of the plan, as a ledger has it

  [[nodiscard]] std::string text() const {
    return fmt::format("plan\n{}\n{}\napproval\n{}\nstatement\n{}\ndigest {}\n", plan, plan_json, approval, statement,
                       digest);
  }
  [[nodiscard]] std::string line() const {
    const auto brief = [](const std::string& text) { return to_hex(sha256(text)).substr(0, 16); };
    return fmt::format("{} {} {} {} {}", brief(plan), brief(plan_json), brief(approval), brief(statement),
                       digest.substr(0, 16));
  }
};

/// As after every round, so that the odometer has the whole plan to look at.
silo::RunAccount finished(const planning::Plan& plan) {
  silo::RunAccount out;
  out.epsilon = plan.epsilon();
  out.delta = plan.delta();
  out.training_reserved = plan.cost(releases::Block::Training);
  out.holdout_reserved = plan.cost(releases::Block::Holdout);
  out.releases = plan.rounds();
  out.releases_in_secret_order = plan.rounds();
  out.rounds = rounds_made(0, plan.rounds());
  out.ended = true;
  return out;
}

Words words_of(const std::string& text) {
  const jobs::Job job = jobs::parse_job(text, "job.json").value();
  const jobs::CohortMember& member = job.cohort.front();
  const planning::Plan plan = jobs::plan_of(job, member).value();
  Words out;
  nlohmann::ordered_json releases = nlohmann::ordered_json::array();
  for (const preview::PlannedRelease& release : preview::releases_of(plan)) {
    out.plan += preview::describe(release) + "\n";
    releases.push_back(preview::to_json(release));
  }
  if (plan.parts_credit()) out.plan += preview::describe(preview::secret_parts_of(plan)) + "\n";
  out.plan_json = releases.dump(1);
  const silo::Budget none{*releases::EpsilonAmount::rounded_down(0.0), *releases::DeltaAmount::rounded_down(0.0)};
  const silo::Budget budget{*releases::EpsilonAmount::rounded_down(20.0), *releases::DeltaAmount::rounded_down(0.5)};
  out.approval = silo::describe_job(RunId{}, {job, plan}, member.facts.silo, "heart", none, budget, nullptr);
  const silo::PrivacyStatement statement =
      silo::make_statement(member.facts.silo, "heart", RunId{}, job, plan, member.facts, finished(plan),
                           std::chrono::milliseconds(0), crypto::NoiseKind::Secure);
  out.statement = statement.text + statement.json;
  out.digest = to_hex(planning::plan_digest(plan));
  return out;
}

std::filesystem::path kept_file() {
  return std::filesystem::path(UNDERTONE_SOURCE_DIR) / "tests/property/every_kind.txt";
}

/// A line a job: its name, a colon and what `Words::line` says.
std::map<std::string, std::string> kept_lines() {
  std::map<std::string, std::string> out;
  std::ifstream file(kept_file());
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.rfind(": ");
    if (colon != std::string::npos) out.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  return out;
}

// While code moves, nobody may read another word or digest than before. Who means to change one runs this with
// UNDERTONE_WORDS=FOLDER, which writes the texts there and the lines to the file, and looks at what differs.
TEST(EveryKindTest, IsSaidInTheVeryWordsAndDigestsOfBefore) {
  const char* folder = std::getenv("UNDERTONE_WORDS");
  const std::map<std::string, std::string> kept = kept_lines();
  std::ostringstream lines;
  std::size_t known = 0;
  for (const auto& [name, text] : tests::every_job()) {
    SCOPED_TRACE(name);
    const Words words = words_of(text);
    lines << name << ": " << words.line() << "\n";
    if (folder != nullptr) {
      std::ofstream(std::filesystem::path(folder) / (name + ".txt")) << words.text();
      continue;
    }
    const auto before = kept.find(name);
    if (before == kept.end()) {
      ADD_FAILURE() << "a new job: write its line";
      continue;
    }
    ++known;
    EXPECT_EQ(words.line(), before->second) << "plan, plan --json, approval, statement or digest changed";
  }
  if (folder != nullptr) {
    std::ofstream(kept_file()) << lines.str();
  } else {
    EXPECT_EQ(known, kept.size()) << "a job is gone";
  }
}

}  // namespace
}  // namespace undertone
