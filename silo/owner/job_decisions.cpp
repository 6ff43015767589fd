#include "silo/owner/job_decisions.hpp"

#include <array>
#include <cmath>
#include <pwd.h>
#include <unistd.h>

#include "shared/base/plain_text.hpp"
#include "shared/service/clock.hpp"
#include "shared/wire/codec.hpp"
#include "silo/agent/job_summary.hpp"
#include "silo/agent/shuffled_reply.hpp"
#include "silo/ledger/ledger_entry.hpp"
#include "silo/owner/job_prospects.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;

/// What the owner reads of a job that they refused themselves.
Status note_refused(const Files& files, const KnownRun& run, const std::string& reason) {
  return files.desk.desk->past().note(
      {run.run, run.dataset, run.name, PastOffer::Outcome::Refused, to_string(ObjectionKind::Owner),
       reason.empty() ? "you refused it" : "you refused it: " + reason, run.epsilon, run.delta, service::wall_clock()});
}

/// Of the user that this process is of.
std::string user_name() {
  std::array<char, 4096> space{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, space.data(), space.size(), &found) == 0 && found != nullptr)
    return plain_text(found->pw_name);
  return fmt::format("user {}", getuid());
}

nlohmann::json parsed_body(const LedgerEntry& entry) { return nlohmann::json::parse(entry.body, nullptr, false); }

std::string text_in(const nlohmann::json& body, const char* key) {
  return body.is_object() && body.contains(key) && body[key].is_string() ? body[key].get<std::string>() : "";
}

}  // namespace

Result<planning::Plan> plan_of(const Files& files, const KnownRun& run) {
  if (!run.job) return Error{ErrorCode::UnknownRun, "the job of this run is not kept any more"};
  const jobs::CohortMember* member = run.job->member(files.config.id);
  if (member == nullptr) return Error{ErrorCode::PolicyRefused, "the job's cohort does not name this silo"};
  return jobs::plan_of(*run.job, *member);
}

Result<std::string> summary_of(const Files& files, const KnownRun& run) {
  UNDERTONE_TRY(planning::Plan plan, plan_of(files, run));
  if (run.account != nullptr) {  // what was accepted is described, or nothing
    UNDERTONE_TRY(files.ledgers.at(run.dataset).ledger->check_reserved(run.run, plan));
  }
  std::string out =
      describe_job(run.run, {*run.job, std::move(plan)}, files.config.id, run.dataset, reserved_of(files, run.dataset),
                   files.config.policy.total, filter_of(files, run.dataset));
  const DatasetConfig* dataset = config_of(files.config, run.dataset);
  if (dataset != nullptr && dataset->permit)
    out += fmt::format("  The data set may be used by the permit {}.\n", plain_text(describe(*dataset->permit)));
  return out;
}

std::string refused_now(const Files& files, const KnownRun& run, crypto::NoiseKind noise) {
  const DatasetConfig* dataset = config_of(files.config, run.dataset);
  if (dataset == nullptr) return fmt::format("the configuration has no data set \"{}\" any more", run.dataset);
  const jobs::CohortMember* member = run.job ? run.job->member(files.config.id) : nullptr;
  if (member == nullptr) return "the job's cohort does not name this silo";
  return every_reason(
      {{dataset->name, objections_now(files, *dataset, facts_as_offered(*dataset, *member), *run.job, noise)}});
}

std::vector<std::string> candidates_of(Decision decision) {
  if (decision == Decision::Withdrawn) return {"open", "approved", "waiting"};
  return {"waiting"};
}

Status check_decision(const Files& files, const KnownRun& run, Decision decision, crypto::NoiseKind noise) {
  if (decision != Decision::Approved) return {};
  const std::string refused = refused_now(files, run, noise);
  if (refused.empty()) return {};
  return Error{ErrorCode::PolicyRefused, fmt::format("run {}: this would be refused, because {}; it still waits",
                                                     short_name(run.run), plain_text(refused))};
}

Status decide(const Files& files, const KnownRun& run, Decision decision, const char* by, const std::string& reason) {
  const std::string said = plain_text(reason.substr(0, kOwnersReasonMax));
  const OwnersWord word{fmt::format("{}, by {}", user_name(), by), said, service::wall_clock()};
  const bool about_an_offer = decision == Decision::Approved || decision == Decision::Refused;
  const std::optional<std::string> shown = about_an_offer ? std::optional(run.dataset) : std::nullopt;
  UNDERTONE_TRY(const bool made, files.desk.desk->decide(run.run, decision, word, shown));
  if (!made)
    return Error{ErrorCode::InvalidArgument,
                 "this was decided meanwhile, or is offered on another data set now: look at it again"};
  return decision == Decision::Refused ? note_refused(files, run, said) : Status();
}

nlohmann::ordered_json to_json(const KnownRun& run) {
  return {{"run", run.run.hex()},
          {"id", short_name(run.run)},
          {"name", run.name},
          {"dataset", run.dataset},
          {"state", run.state},
          {"at", run.at},
          {"kind", run.kind},
          {"reason", plain_text(run.reason)},
          {"releases", run.account == nullptr ? 0 : run.account->releases},
          {"epsilon", run.epsilon},
          {"delta", run.delta}};
}

Json budget_json(const Files& files, const DatasetConfig& dataset) {
  const Budget& total = files.config.policy.total;
  const Budget reserved = reserved_of(files, dataset.name);
  Json out = {{"dataset", dataset.name},
              {"total", amounts(total.epsilon, total.delta)},
              {"reserved", amounts(reserved.epsilon, reserved.delta)},
              {"left", amounts(left_of(total.epsilon, reserved.epsilon), left_of(total.delta, reserved.delta))}};
  if (const GaussianFilter* filter = filter_of(files, dataset.name); filter != nullptr) {
    out["filter"] = amounts(filter->terms().epsilon, filter->terms().delta);
    out["filter"]["rho"] = filter->terms().shift_squared.value_rounded_down() / 2.0;
    out["filter"]["rho_left_training"] = filter->left(releases::Block::Training).value_rounded_down() / 2.0;
    out["filter"]["draws_left"] = filter->draws_left();
    out["filter"]["rho_left_holdout"] = filter->left(releases::Block::Holdout).value_rounded_down() / 2.0;
  }
  return out;
}

Status releases_json(const Files& files, const KnownRun& run, bool values, Json& out) {
  out = Json::array();
  const auto view = files.ledgers.find(run.dataset);
  if (run.account == nullptr || view == files.ledgers.end()) return {};
  store::Database& database = *view->second.database;
  return each_entry(database, [&](const LedgerEntry& entry) -> Status {
    const nlohmann::json body = parsed_body(entry);
    if (text_in(body, "kind") != "released" || text_in(body, "run") != run.run.hex()) return {};
    Result<store::Statement> row = database.prepare("SELECT bytes FROM replies WHERE run = ? AND round = ?");
    const Result<releases::UInt128> round = releases::parse_decimal(text_in(body, "round"));
    if (!row || !round) return Error{ErrorCode::LedgerCorrupt, "a reply cannot be read"};
    row->bind_blob(1, run.run.bytes()).bind(2, static_cast<std::int64_t>(*round));
    const Result<bool> found = row->step();
    const std::string bytes = found && *found ? row->bytes(0) : "";
    Json line = {
        {"entry", entry.sequence},         {"at", text_in(body, "at")}, {"round", static_cast<std::uint64_t>(*round)},
        {"block", text_in(body, "block")}, {"bytes", bytes.size()},     {"sha256", text_in(body, "reply")}};
    if (is_shuffled(bytes)) {  // sealed: not even this silo can open it again
      UNDERTONE_TRY(const ShuffledReply parts, unpack(bytes));
      line["noised"] = true;
      for (const auto& [shuffler, frames] : parts) line["sealed_for"].push_back(shuffler);
      out.push_back(std::move(line));
      return {};
    }
    wire::Decoder decoder{wire::Limits{}};
    const Result<std::vector<wire::Message>> messages = decoder.feed(bytes);
    const auto* reply =
        messages && messages->size() == 1 ? std::get_if<wire::ReplyMessage>(&messages->front()) : nullptr;
    if (reply == nullptr)
      return Error{ErrorCode::LedgerCorrupt, fmt::format("the reply of entry {} cannot be read", entry.sequence)};
    const std::vector<std::int64_t>& sent = queries::values_of(reply->reply.answer);
    line["numbers"] = sent.size();
    // Of two blocks the second leaves exactly, and nothing else does.
    if (std::holds_alternative<queries::SumsBesidePublic>(reply->reply.answer)) line["beside_public"] = sent.size() / 2;
    line["noised"] = !std::holds_alternative<queries::PublicSums>(reply->reply.answer);
    line["cost"] = text_in(body, "cost");
    if (std::holds_alternative<queries::Selected>(reply->reply.answer)) line["selection"] = true;
    if (std::holds_alternative<queries::Reports>(reply->reply.answer)) line["reports"] = true;
    if (values) {
      line["values"] = Json::array();
      for (const std::int64_t value : sent)
        line["values"].push_back(std::ldexp(static_cast<double>(value), reply->reply.step_log2));
    }
    out.push_back(std::move(line));
    return {};
  });
}

}  // namespace undertone::silo
