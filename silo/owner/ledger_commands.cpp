#include <cmath>
#include <cstdio>
#include <fmt/ranges.h>

#include "shared/base/files.hpp"
#include "shared/wire/codec.hpp"
#include "silo/agent/shuffled_reply.hpp"
#include "silo/ledger/ledger_entry.hpp"
#include "silo/owner/owner_files.hpp"

/// What has left and what it has cost.
namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;

nlohmann::json body_of(const LedgerEntry& entry) { return nlohmann::json::parse(entry.body, nullptr, false); }

std::string text_of(const nlohmann::json& body, const char* key) {
  return body.is_object() && body.contains(key) && body[key].is_string() ? body[key].get<std::string>() : "";
}

}  // namespace

int list_releases(const OwnerOptions& options, bool values) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  const Result<const KnownRun*> run =
      find_run(*files, options.job, {"open", "ended", "returned", "withdrawn", "waiting", "approved"});
  if (!run) return fail(run.error(), kNo);
  const auto view = files->ledgers.find((*run)->dataset);
  if ((*run)->account == nullptr || view == files->ledgers.end()) {
    fmt::print("Nothing has left for this run.\n");
    return kDone;
  }
  store::Database& database = *view->second.database;
  Json out = Json::array();
  const Status read = each_entry(database, [&](const LedgerEntry& entry) -> Status {
    const nlohmann::json body = body_of(entry);
    if (text_of(body, "kind") != "released" || text_of(body, "run") != (*run)->run.hex()) return {};
    Result<store::Statement> row = database.prepare("SELECT bytes FROM replies WHERE run = ? AND round = ?");
    const Result<releases::UInt128> round = releases::parse_decimal(text_of(body, "round"));
    if (!row || !round) return Error{ErrorCode::LedgerCorrupt, "a reply cannot be read"};
    row->bind_blob(1, (*run)->run.bytes()).bind(2, static_cast<std::int64_t>(*round));
    const Result<bool> found = row->step();
    const std::string bytes = found && *found ? row->bytes(0) : "";
    Json line = {
        {"entry", entry.sequence},         {"at", text_of(body, "at")}, {"round", static_cast<std::uint64_t>(*round)},
        {"block", text_of(body, "block")}, {"bytes", bytes.size()},     {"sha256", text_of(body, "reply")}};
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
    line["cost"] = text_of(body, "cost");
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
  if (!read) return fail(read.error());
  if (options.json) {
    fmt::print("{}\n", Json{{"run", (*run)->run.hex()}, {"releases", std::move(out)}}.dump(2));
    return kDone;
  }
  for (const Json& line : out) {
    const std::string what =
        line.contains("sealed_for")  ? fmt::format("noised counts sealed for {}",
                                                   fmt::join(line["sealed_for"].get<std::vector<std::string>>(), ", "))
        : line.contains("selection") ? std::string("one candidate, chosen at random by its score")
        : line.contains("reports")   ? fmt::format("{} reports, each of a record by itself, in a secret order",
                                                   line["numbers"].get<std::size_t>())
        : line.contains("beside_public")
            ? fmt::format("{0} numbers with noise, and beside them {0} of the public records, exactly",
                          line["beside_public"].get<std::size_t>())
            : fmt::format("{} numbers{}", line["numbers"].get<std::size_t>(),
                          line["noised"].get<bool>() ? " with noise" : " exactly (public records)");
    fmt::print("{}  round {:>5}  {:8}  {}, {} bytes, SHA-256 {}\n", line["at"].get<std::string>(),
               line["round"].get<std::uint64_t>(), line["block"].get<std::string>(), what,
               line["bytes"].get<std::size_t>(), line["sha256"].get<std::string>().substr(0, 16));
    if (!values || !line.contains("values")) continue;
    std::string numbers;
    for (const Json& value : line["values"]) numbers += fmt::format(" {:.6g}", value.get<double>());
    fmt::print("   {}\n", numbers);
  }
  fmt::print("{} answers left for the run {}.\n", out.size(), short_name((*run)->run));
  return kDone;
}

int show_ledger(const OwnerOptions& options) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  Json out = Json::array();
  for (const auto& entry_of_map : files->ledgers) {
    const std::string& dataset = entry_of_map.first;
    const LedgerView& view = entry_of_map.second;
    const wire::Receipt& head = view.ledger->head();
    if (!options.json) fmt::print("data set \"{}\", ledger {}\n", dataset, to_hex(head.ledger));
    const Status read = each_entry(*view.database, [&](const LedgerEntry& entry) -> Status {
      const nlohmann::json body = body_of(entry);
      if (options.json) {
        out.push_back(
            {{"dataset", dataset}, {"sequence", entry.sequence}, {"hash", to_hex(entry.hash)}, {"body", body}});
        return {};
      }
      const std::string run = text_of(body, "run");
      std::string line = fmt::format("{:>7}  {:20}  {:9}", entry.sequence, text_of(body, "at"), text_of(body, "kind"));
      if (!run.empty()) line += "  run " + run.substr(64, 12);
      if (const std::string round = text_of(body, "round"); !round.empty()) line += "  round " + round;
      if (const std::string cost = text_of(body, "cost"); !cost.empty()) line += "  cost " + cost;
      if (const std::string format = text_of(body, "format"); !format.empty()) line += "  format " + format;
      fmt::print("{}\n", line);
      return {};
    });
    if (!read) return fail(read.error());
  }
  if (options.json) fmt::print("{}\n", out.dump(2));
  if (files->ledgers.empty()) fmt::print("There is no ledger yet.\n");
  return kDone;
}

int verify_ledgers(const OwnerOptions& options) {
  const Result<Files> files = open_files(options);  // opening reads everything back and checks it
  if (!files) return fail(files.error(), exit_code_of(files.error()));
  for (const auto& [dataset, view] : files->ledgers)
    fmt::print("data set \"{}\": {} entries, sound\n", dataset, view.ledger->head().sequence);
  fmt::print("`undertone ledger verify` checks the same files with separately written code.\n");
  return kDone;
}

int export_ledger(const OwnerOptions& options, const std::filesystem::path& out) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  if (files->ledgers.size() != 1)
    return fail({ErrorCode::InvalidArgument, "--dataset: name one data set that has a ledger"}, kUsage);
  const LedgerView& view = files->ledgers.begin()->second;
  std::string lines;
  const Status read = each_entry(*view.database, [&](const LedgerEntry& entry) -> Status {
    lines +=
        Json{{"sequence", entry.sequence}, {"previous", to_hex(entry.previous)}, {"body_hex", to_hex(entry.body)},
             {"body", body_of(entry)},     {"hash", to_hex(entry.hash)},         {"signature", to_hex(entry.signature)}}
            .dump() +
        "\n";
    return {};
  });
  if (!read) return fail(read.error());
  if (out.empty() || out == "-") {
    fmt::print("{}", lines);
    return kDone;
  }
  const Status written = write_file_atomically(out, lines);
  return written ? static_cast<int>(kDone) : fail(written.error());
}

int show_budget(const OwnerOptions& options) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  const Budget& total = files->config.policy.total;
  Json out = Json::array();
  for (const DatasetConfig& dataset : files->config.datasets) {
    if (!options.dataset.empty() && options.dataset != dataset.name) continue;
    const Budget reserved = reserved_of(*files, dataset.name);
    const silo::GaussianFilter* filter = filter_of(*files, dataset.name);
    const auto left = [](auto granted, auto used) {
      using Amount = decltype(granted);
      return used > granted ? Amount() : Amount::from_units(granted.units() - used.units());
    };
    const releases::EpsilonAmount epsilon_left = left(total.epsilon, reserved.epsilon);
    const releases::DeltaAmount delta_left = left(total.delta, reserved.delta);
    if (options.json) {
      out.push_back({{"dataset", dataset.name},
                     {"total", amounts(total.epsilon, total.delta)},
                     {"reserved", amounts(reserved.epsilon, reserved.delta)},
                     {"left", amounts(epsilon_left, delta_left)}});
      if (filter != nullptr) {
        out.back()["filter"] = amounts(filter->terms().epsilon, filter->terms().delta);
        out.back()["filter"]["rho"] = filter->terms().shift_squared.value_rounded_down() / 2.0;
        out.back()["filter"]["rho_left_training"] = filter->left(releases::Block::Training).value_rounded_down() / 2.0;
        out.back()["filter"]["draws_left"] = filter->draws_left();
        out.back()["filter"]["rho_left_holdout"] = filter->left(releases::Block::Holdout).value_rounded_down() / 2.0;
      }
      continue;
    }
    fmt::print("data set \"{}\": epsilon {:.6g} of {:.6g} reserved, {:.6g} left; delta {:.3g} of {:.3g}, {:.3g} left\n",
               dataset.name, reserved.epsilon.value_rounded_up(), total.epsilon.value_rounded_up(),
               epsilon_left.value_rounded_up(), reserved.delta.value_rounded_up(), total.delta.value_rounded_up(),
               delta_left.value_rounded_up());
    if (filter != nullptr) {
      fmt::print(
          "  filter of epsilon {:.6g}, delta {:.3g}: rho {:.6g} in all, {:.6g} left of training, {:.6g} of "
          "holdout records, {} draws of noise\n",
          filter->terms().epsilon.value_rounded_up(), filter->terms().delta.value_rounded_up(),
          filter->terms().shift_squared.value_rounded_down() / 2.0,
          filter->left(releases::Block::Training).value_rounded_down() / 2.0,
          filter->left(releases::Block::Holdout).value_rounded_down() / 2.0, filter->draws_left());
    }
  }
  if (options.json) fmt::print("{}\n", out.dump(2));
  return kDone;
}

}  // namespace undertone::silo
