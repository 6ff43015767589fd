#include <cstdio>
#include <fmt/ranges.h>

#include "shared/base/files.hpp"
#include "silo/ledger/ledger_entry.hpp"
#include "silo/owner/job_decisions.hpp"

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
  Json out;
  if (const Status read = releases_json(*files, **run, values, out); !read) return fail(read.error());
  if (options.json) {
    fmt::print("{}\n", Json{{"run", (*run)->run.hex()}, {"releases", out}}.dump(2));
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
    if (options.json) {
      out.push_back(budget_json(*files, dataset));
      continue;
    }
    const Budget reserved = reserved_of(*files, dataset.name);
    const silo::GaussianFilter* filter = filter_of(*files, dataset.name);
    const releases::EpsilonAmount epsilon_left = left_of(total.epsilon, reserved.epsilon);
    const releases::DeltaAmount delta_left = left_of(total.delta, reserved.delta);
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
