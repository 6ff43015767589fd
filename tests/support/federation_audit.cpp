#include "tests/support/federation_audit.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "coordinator/runs/run_store.hpp"
#include "shared/algorithms/algorithm_driver.hpp"
#include "shared/base/files.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/wire/codec.hpp"
#include "silo/agent/shuffled_reply.hpp"
#include "verifier/verification.hpp"

namespace undertone::tests {
namespace {

using coordinator::RoundRecord;
using coordinator::RunRecord;
using coordinator::RunState;
using coordinator::RunStore;

constexpr std::size_t kFileBytesMax = std::size_t{64} << 20U;

/// What a silo's ledger holds, read beside the verifier.
struct LedgerRows {
  std::map<std::uint64_t, std::string> replies;  // of the run, by round: the bytes as sent
  std::map<std::uint64_t, std::string> hashes;   // of the entries, by sequence
};

Result<LedgerRows> read_ledger(const std::filesystem::path& file, const RunId& run) {
  LedgerRows out;
  Result<store::Database> ledger = store::Database::open_to_read(file);
  if (!ledger) return ledger.error();
  const auto read = [&ledger](const char* sql, std::map<std::uint64_t, std::string>& rows,
                              const std::optional<std::string>& of_run) -> Status {
    Result<store::Statement> row = ledger->prepare(sql);
    if (!row) return row.error();
    if (of_run) row->bind_blob(1, *of_run);
    while (true) {
      const Result<bool> found = row->step();
      if (!found) return found.error();
      if (!*found) return {};
      rows.emplace(static_cast<std::uint64_t>(row->integer(0)), row->bytes(1));
    }
  };
  if (Status done = read("SELECT round, bytes FROM replies WHERE run = ?", out.replies, run.bytes()); !done)
    return done.error();
  if (Status done = read("SELECT sequence, hash FROM entries", out.hashes, std::nullopt); !done) return done.error();
  return out;
}

/// Whether the disk let the silo make its ledger at all. One that has not begun holds nothing, and the replies that it
/// would have to hold are missed in it.
bool has_begun(const std::filesystem::path& file) {
  Result<store::Database> ledger = store::Database::open_to_read(file);
  if (!ledger) return false;
  Result<store::Statement> row = ledger->prepare("SELECT 1 FROM sqlite_master");
  if (!row) return true;
  const Result<bool> found = row->step();
  return !found || *found;  // one that cannot be read is for the verifier
}

/// The one frame of a reply that went to the coordinator itself.
Result<wire::ReplyMessage> decode(const std::string& bytes) {
  wire::Decoder decoder{wire::Limits{}};
  Result<std::vector<wire::Message>> messages = decoder.feed(bytes);
  if (!messages) return messages.error();
  if (messages->size() != 1 || !std::holds_alternative<wire::ReplyMessage>(messages->front()))
    return Error{ErrorCode::Malformed, "stored bytes are not one reply"};
  return std::get<wire::ReplyMessage>(std::move(messages->front()));
}

/// One deployment's files, held against each other.
class Auditor {
 public:
  explicit Auditor(const operators::Deployment& deployment) : deployment_(deployment) {}

  Status run() {
    Result<store::Database> database = store::Database::open(deployment_.store(), store::Database::Sync::Normal);
    if (!database) return database.error();
    Result<RunStore> store = RunStore::open(*database);
    if (!store) return store.error();
    const Result<std::string> job = read_file(deployment_.folder() / "job.json", jobs::kJobBytesMax);
    if (!job) return job.error();
    const Result<std::optional<RunRecord>> record = store->newest_run(sha256(*job));
    if (!record) return record.error();
    if (!*record) return Error{ErrorCode::StorageFailed, "the coordinator's store has no run of the job"};
    const RunRecord& run = **record;
    const Result<std::vector<RoundRecord>> rounds = store->rounds(run.run);
    if (!rounds) return rounds.error();
    if (!is_end(run.state)) add("the run has not ended: {}", to_string(run.state));
    out_.succeeded = run.state == RunState::Succeeded;
    out_.failure = run.failure;
    out_.everybody_answered =
        out_.succeeded && std::all_of(rounds->begin(), rounds->end(), [&](const RoundRecord& round) {
          return round.accepted.size() == deployment_.job().cohort.size();
        });
    std::map<SiloId, LedgerRows> ledgers;
    for (const jobs::CohortMember& member : deployment_.job().cohort) {
      const SiloId& silo = member.facts.silo;
      check_account(member, run);
      if (!has_begun(deployment_.ledger(silo))) continue;
      Result<LedgerRows> rows = read_ledger(deployment_.ledger(silo), run.run);
      if (!rows) return rows.error();
      if (Status checked = check_receipts(silo, *rows, *store); !checked) return checked;
      ledgers.emplace(silo, *std::move(rows));
    }
    for (const RoundRecord& round : *rounds) check_round(run.run, round, ledgers);
    if (out_.succeeded && !deployment_.job().shuffle && out_.problems.empty()) return check_model(*rounds, ledgers);
    return {};
  }

  template <class... Values>
  void add(fmt::format_string<Values...> text, Values&&... values) {
    out_.problems.push_back(fmt::format(text, std::forward<Values>(values)...));
  }
  [[nodiscard]] FederationAudit take() { return std::move(out_); }

 private:
  void check_account(const jobs::CohortMember& member, const RunRecord& run) {
    const SiloId& silo = member.facts.silo;
    verifier::LedgerFindings findings;
    if (has_begun(deployment_.ledger(silo)))
      findings = verifier::verify_ledger(deployment_.ledger(silo),
                                         {deployment_.head(silo), deployment_.dataset(silo), std::nullopt});
    for (const std::string& problem : findings.problems) add("{}: {}", silo.name(), problem);
    if (findings.runs.size() > 1) add("{}: {} reservations for one run", silo.name(), findings.runs.size());
    if (findings.epsilon > member.facts.epsilon().value() * (1 + 1e-9))
      add("{}: charged {} where the job costs {}", silo.name(), findings.epsilon, member.facts.epsilon().value());
    const auto answer = run.answers.find(silo);
    if (answer != run.answers.end() && !answer->second && findings.runs.empty())
      add("{}: the coordinator has an acceptance that the ledger knows nothing of", silo.name());
  }

  Status check_receipts(const SiloId& silo, const LedgerRows& rows, RunStore& store) {
    const Result<std::vector<wire::Receipt>> receipts = store.receipts(silo);
    if (!receipts) return receipts.error();
    for (const wire::Receipt& receipt : *receipts) {
      const auto entry = rows.hashes.find(receipt.sequence);
      const auto first = rows.hashes.find(1);
      if (entry == rows.hashes.end() || entry->second != as_bytes(receipt.hash) || first == rows.hashes.end() ||
          first->second != as_bytes(receipt.ledger))
        add("{}: the coordinator knows an entry {} that the ledger does not hold", silo.name(), receipt.sequence);
    }
    return {};
  }

  void check_round(const RunId& run, const RoundRecord& round, const std::map<SiloId, LedgerRows>& ledgers) {
    for (const auto& [silo, digest] : round.accepted) {
      ++out_.replies;
      const auto ledger = ledgers.find(silo);
      const std::string* bytes = nullptr;
      if (ledger != ledgers.end()) {
        const auto row = ledger->second.replies.find(round.round.value);
        if (row != ledger->second.replies.end()) bytes = &row->second;
      }
      if (bytes == nullptr) {
        add("{}: its reply to round {} was folded in, and its ledger holds none", silo.name(), round.round.value);
        continue;
      }
      if (silo::is_shuffled(*bytes)) continue;  // nobody knows whose reply is whose
      const Result<wire::ReplyMessage> reply = decode(*bytes);
      if (!reply) {
        add("{}: round {}: {}", silo.name(), round.round.value, reply.error().message);
      } else if (queries::reply_digest(run, reply->query, reply->type, reply->reply) != digest) {
        add("{}: its ledger holds another reply to round {} than was folded in", silo.name(), round.round.value);
      }
    }
  }

  /// What the replies that the ledgers hold fold into.
  static Result<folds::Gathered> fold(const jobs::Job& job, const queries::Query& query, const RoundRecord& round,
                                      const std::map<SiloId, LedgerRows>& ledgers) {
    const planning::Schedule schedule = jobs::schedule_of(job);
    const releases::Ask* ask = planning::ask_of(schedule, query.round);
    if (ask == nullptr) return Error{ErrorCode::StorageFailed, "the store has a round beyond the job's schedule"};
    const jobs::RoundSpec spec = jobs::round_spec(job, *ask);
    folds::RoundFold out = spec.fold();
    std::int64_t records = 0;
    std::map<SiloId, std::vector<std::int64_t>> each;
    for (const auto& [silo, digest] : round.accepted) {
      const Result<wire::ReplyMessage> reply = decode(ledgers.at(silo).replies.at(round.round.value));
      if (!reply) return reply.error();
      const std::vector<std::int64_t>& values = queries::values_of(reply->reply.answer);
      records += spec.records(*job.member(silo));
      if (!spec.admits(reply->reply.answer, *job.member(silo)))
        return Error{ErrorCode::StorageFailed, "a ledger holds a reply that is not of its query's shape"};
      out.add(values, spec.weight(*job.member(silo)));
      if (spec.statistic) each.emplace(silo, spec.kept(values));
    }
    if (out.replies() == 0) return Error{ErrorCode::StorageFailed, "the store has a round that nobody answered"};
    return folds::Gathered{round.round, out.replies(), out.value(), records, std::move(each)};
  }

  /// The algorithm again, over the replies that the ledgers hold.
  Status check_model(const std::vector<RoundRecord>& rounds, const std::map<SiloId, LedgerRows>& ledgers) {
    const jobs::Job& job = deployment_.job();
    const std::unique_ptr<algorithms::FederatedAlgorithm> algorithm = jobs::make_algorithm(job);
    algorithms::AlgorithmDriver driver(*algorithm);
    for (const RoundRecord& round : rounds) {
      const queries::Query* query = driver.query();
      if (query == nullptr || query->round != round.round) {
        add("the store's round {} is not the algorithm's next", round.round.value);
        return {};
      }
      const auto answers = [&](const queries::Query& asked) { return fold(job, asked, round, ledgers); };
      if (Status done = driver.advance(answers); !done) return done;
    }
    if (driver.query() != nullptr) {
      add("the run succeeded before its algorithm had finished");
      return {};
    }
    const Result<std::string> file = read_file(deployment_.results() / "model.json", kFileBytesMax);
    if (!file) return file.error();
    const auto model = nlohmann::json::parse(*file, nullptr, false);
    std::vector<double> written;
    for (const auto& weight : model.at("weights")) written.push_back(weight.at("weight").get<double>());
    if (job.model->linear()->intercept()) written.push_back(model.at("intercept").get<double>());
    const Eigen::VectorXd& weights = driver.outcome().vectors.at("weights");
    if (!std::equal(weights.begin(), weights.end(), written.begin(), written.end()))
      add("the model is not what its algorithm makes of the replies in the ledgers");
    return {};
  }

  const operators::Deployment& deployment_;
  FederationAudit out_;
};

}  // namespace

FederationAudit audit(const operators::Deployment& deployment) {
  Auditor auditor(deployment);
  if (Status done = auditor.run(); !done) auditor.add("{}", done.error().message);
  return auditor.take();
}

}  // namespace undertone::tests
