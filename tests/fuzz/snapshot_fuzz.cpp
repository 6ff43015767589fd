#include <algorithm>

#include "coordinator/runs/run_store.hpp"
#include "shared/base/byte_stream.hpp"
#include "shared/jobs/job.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::fuzz {
namespace {

using namespace coordinator;

/// A run of an algorithm, from the state that a checkpoint holds. A state that is let in is written back as it was, and
/// the run goes on from it.
void restore(const jobs::Job& job, std::string_view state) {
  const std::unique_ptr<algorithms::FederatedAlgorithm> algorithm = jobs::make_algorithm(job);
  ByteReader reader(state);
  if (!algorithm->restore(reader) || !reader.end()) return;
  ByteWriter again;
  algorithm->save(again);
  UNDERTONE_CHECK(again.bytes() == state);
  algorithms::Step step = algorithm->start();
  for (int i = 0; i < 3; ++i) {
    const auto* query = std::get_if<queries::Query>(&step);
    if (query == nullptr) return;
    const bool metrics = queries::kind_of(query->question) == releases::QuestionKind::Metrics;
    const auto dimension =
        metrics ? static_cast<Eigen::Index>(job.model->metric_names().size()) : job.model->dimension();
    auto next = algorithm->advance({query->round, 2, folds::Mean{Eigen::VectorXd::Constant(dimension, 0.125)}});
    if (!next) return;
    step = *std::move(next);
  }
}

/// A coordinator's store with one run, whose rows say what the input says.
void read_back(Input& input) {
  static store::Database database = store::Database::in_memory().value();
  static RunStore store = RunStore::open(database).value();
  static const RunId kRun{sha256("job"), {1}};
  const auto clear = [] {
    for (const char* table :
         {"runs", "answers", "checkpoints", "participation", "rounds", "shuffled_runs", "sealing_keys"})
      UNDERTONE_CHECK(database.execute(fmt::format("DELETE FROM {}", table)).has_value());
  };
  const auto put = [](const std::string& sql, const std::vector<std::string_view>& blobs) {
    store::Statement statement = database.prepare(sql).value();
    for (std::size_t i = 0; i < blobs.size(); ++i) statement.bind_blob(static_cast<int>(i) + 1, blobs[i]);
    UNDERTONE_CHECK(statement.run().has_value());
  };
  clear();
  UNDERTONE_CHECK(store.begin(kRun, "small", "{}", {}, "", 0).has_value());
  const std::string run = kRun.bytes();
  const std::string name(input.take_until('\n'));
  const std::int64_t refusal = std::int64_t{input.byte()} - 128;
  const std::string short_or_whole(input.byte() % 2 == 0 ? 32 : 31, 'd');
  put(fmt::format("INSERT INTO answers VALUES (?, CAST(? AS TEXT), {})", refusal), {run, name});
  put("INSERT INTO participation VALUES (?1, 0, CAST(?2 AS TEXT), ?3)", {run, name, short_or_whole});
  const std::string_view metrics = input.take(input.byte());
  put("INSERT INTO rounds VALUES (?, 0, 1, ?)", {run, metrics});
  const std::string_view expected = input.take(input.byte());
  const std::string_view closing = input.rest();
  put(fmt::format("INSERT INTO shuffled_runs VALUES (?1, ?2, 0, {}, ?3, ?4)", refusal % 4),
      {run, short_or_whole, expected, closing});
  const Digest fingerprint = sha256(name);
  UNDERTONE_CHECK(store.add_sealing_key(fingerprint, short_or_whole).has_value());
  UNDERTONE_CHECK(store.sealing_secret(fingerprint).value() == short_or_whole);
  UNDERTONE_CHECK(!store.sealing_secret(sha256(name + " ")).value());
  (void)store.find(kRun);
  (void)store.rounds(kRun);
  const auto state = store.shuffled_state(kRun);
  if (!state || !*state || !(*state)->committed) return;
  // Nobody is expected twice, and it writes back what it was.
  const ShuffledState known = **state;
  UNDERTONE_CHECK(known.committed->attempt < ShuffledRound::kAttemptsMax);
  UNDERTONE_CHECK(std::is_sorted(known.committed->expected.begin(), known.committed->expected.end()));
  UNDERTONE_CHECK(store.set_shuffled_state(kRun, known).has_value());
  const auto same = store.shuffled_state(kRun);
  UNDERTONE_CHECK(same && *same && (*same)->committed && (*same)->committed->expected == known.committed->expected &&
                  (*same)->committed->closing == known.committed->closing);
}

/// What a coordinator reads back after a crash. The first byte says what: the state of an algorithm, or the rows of a
/// run.
void snapshot(std::string_view bytes) {
  static const std::vector<jobs::Job> kJobs = [] {
    std::vector<jobs::Job> jobs;
    for (const auto& [name, federation] : tests::federations_of_every_algorithm())
      jobs.push_back(jobs::parse_job(federation.job(), name).value());
    return jobs;
  }();
  Input input(bytes);
  const std::size_t choice = input.below(static_cast<std::uint32_t>(kJobs.size()) + 1);
  if (choice < kJobs.size()) return restore(kJobs[choice], input.rest());
  read_back(input);
}

const Target kTarget("snapshot", snapshot);

}  // namespace
}  // namespace undertone::fuzz
