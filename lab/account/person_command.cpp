#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "lab/account/account_command.hpp"
#include "shared/accounting/group_privacy.hpp"
#include "shared/base/ids.hpp"
#include "shared/service/exit_code.hpp"
#include "shared/store/sqlite.hpp"
#include "verifier/ledger_texts.hpp"

/// What a run that protected records promises to somebody who has several of them.
namespace undertone::lab {
namespace {

using accounting::GroupRelease;
using Json = nlohmann::ordered_json;

constexpr double kEpsilonShown = 30.0;        // beyond it is as good as none
constexpr double kUnit = 0x1p-40;             // of amounts of epsilon and of shifts squared
constexpr std::int64_t kRecordsMax = 10'000;  // of one person

double number(verifier::UInt128 value) { return static_cast<double>(value); }

/// The charged releases of one block of a run, as far as they are of a kind that is known for groups.
struct BlockReleases {
  std::string block;
  std::vector<GroupRelease> gaussian;
  double pure = 0.0;                   // epsilon of one record, of bounded losses: k records lose k times it
  std::int64_t records = kRecordsMax;  // of the block, or as many as anybody can have where that is not said
  bool drawn = false;                  // some release draws whom it reads
  bool secretly = false;               // without replacement, so that places could show where they were not hidden
  std::string unknown;                 // why nothing is known, if so

  [[nodiscard]] bool charges() const { return !gaussian.empty() || pure > 0.0 || !unknown.empty(); }
  void add(const GroupRelease& release) { gaussian.push_back(release); }
};

struct RunReleases {
  std::string run;
  double delta = 0.0;  // of the run
  double at = 0.0;     // what of it is left for the mechanisms, whatever epsilon up to `kEpsilonShown` is stated
  std::vector<BlockReleases> blocks;
};

/// @param text a list of releases
BlockReleases block_of(const std::string& name, const std::string& text, verifier::Format format) {
  BlockReleases out;
  out.block = name;
  const auto groups = verifier::parse_release_groups(text, format);
  if (!groups) {
    out.unknown = "its list of releases cannot be read";
    return out;
  }
  out.records = 0;
  for (const verifier::ReleaseGroup& group : *groups) {
    const bool parts = group.positions || group.bin || group.secret_slots || group.beside;
    out.records =
        std::max(out.records, static_cast<std::int64_t>(std::min<verifier::UInt128>(group.population, kRecordsMax)));
    if (parts || group.steps != 1 || group.failure != 0 || group.law == verifier::Law::Concentrated ||
        group.population > static_cast<verifier::UInt128>(INT64_MAX)) {
      out.unknown = "it reads parts, is of several steps, or has a law of which nothing is computed for groups";
      continue;
    }
    if (group.law != verifier::Law::Gaussian) {
      out.pure += number(group.units) * kUnit * number(group.rounds) * (1.0 + 1e-12);
      continue;
    }
    out.drawn = out.drawn || group.with_replacement || group.drawn < group.population;
    out.secretly = out.secretly || (!group.with_replacement && group.drawn < group.population);
    const auto shift = releases::GaussianShift::create(std::sqrt(number(group.units) * kUnit) * (1.0 + 1e-12));
    if (!shift) {
      out.unknown = shift.error().message;
      continue;
    }
    out.add({*shift, static_cast<std::int64_t>(group.drawn), static_cast<std::int64_t>(group.population),
             group.with_replacement, static_cast<std::uint64_t>(group.rounds)});
  }
  return out;
}

/// Of a block whose releases are not listed, as all of them read all records: by their cost.
/// @param text of the cost
BlockReleases block_of_cost(const std::string& name, const std::string& text, verifier::Format format) {
  BlockReleases out;
  out.block = name;
  const auto cost = verifier::parse_cost(text, format);
  if (!cost || cost->concentrated != 0) {
    out.unknown = "its cost cannot be read, or has a law of which nothing is computed for groups";
    return out;
  }
  out.pure = (number(cost->pure) + number(cost->ranged)) * kUnit * (1.0 + 1e-12);
  if (cost->gaussian == 0) return out;
  const auto shift = releases::GaussianShift::create(std::sqrt(number(cost->gaussian) * kUnit) * (1.0 + 1e-12));
  if (!shift) {
    out.unknown = shift.error().message;
  } else {
    out.add({*shift, kRecordsMax, kRecordsMax, false, 1});
  }
  return out;
}

/// The run that an entry reserves. @param text of a key of the entry; empty where it has none
template <class Text>
RunReleases reserved_run(const Text& text, verifier::Format format) {
  const auto amount = [&](const char* key) { return verifier::parse_amount(text(key)).value_or(0); };
  const verifier::UInt128 delta = amount("delta");
  const verifier::UInt128 mechanism = std::min(amount("mechanism_delta"), delta);
  RunReleases run{text("run"), std::ldexp(number(delta), -80), 0.0, {}};
  // Samplers may be off their laws by so much, which takes (1 + e^epsilon) times that of delta.
  const double off =
      std::ldexp(number(delta - mechanism), -80) / (1.0 + std::exp(number(amount("epsilon")) * kUnit)) * (1.0 + 1e-12);
  run.at = run.delta - (1.0 + std::exp(kEpsilonShown)) * off;
  for (const char* block : {"training", "holdout"}) {
    const std::string list = text(fmt::format("{}_releases", block).c_str());
    BlockReleases releases = list.empty() ? block_of_cost(block, text(block), format) : block_of(block, list, format);
    if (!text("shuffled").empty()) releases.unknown = "its replies are shuffled, and it rests on other silos, too";
    if (releases.charges()) run.blocks.push_back(std::move(releases));
  }
  return run;
}

Result<std::vector<RunReleases>> runs_of(const std::filesystem::path& ledger, const std::string& prefix) {
  UNDERTONE_TRY(store::Database database, store::Database::open_to_read(ledger));
  Result<store::Statement> prepared = database.prepare("SELECT body FROM entries ORDER BY sequence");
  if (!prepared)
    return Error{ErrorCode::Malformed,
                 fmt::format("{}: this is no ledger: {}", ledger.string(), prepared.error().message)};
  store::Statement& entries = *prepared;
  std::vector<RunReleases> out;
  verifier::Format format = verifier::Format::Two;
  while (true) {
    UNDERTONE_TRY(const bool found, entries.step());
    if (!found) return out;
    const Json body = Json::parse(entries.bytes(0), nullptr, false);
    if (!body.is_object())
      return Error{ErrorCode::Malformed, fmt::format("{}: an entry cannot be read", ledger.string())};
    const auto text = [&](const char* key) {
      return body.contains(key) && body[key].is_string() ? body[key].get<std::string>() : std::string();
    };
    const std::string kind = text("kind");
    if (kind == "opened" && body.contains("unit"))
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: this ledger protects persons: what it reserved is what a person is promised",
                               ledger.string())};
    if (kind == "opened" && text("format") == "1") format = verifier::Format::One;
    if (kind == "upgraded") format = verifier::Format::Two;
    if (kind == "released" && text("order").empty()) {
      // Advisory UA-2026-1: draws of an earlier version may have shown whom they took.
      for (RunReleases& run : out)
        for (BlockReleases& block : run.blocks)
          if (run.run == text("run") && block.block == text("block") && block.secretly)
            block.unknown = "some of its draws are of a version in which a place could show (UA-2026-1)";
    }
    if ((kind != "reserved" && kind != "accepted") || !text("run").starts_with(prefix)) continue;
    out.push_back(reserved_run(text, format));
  }
}

/// Epsilon of somebody with so many records; nothing where none is known, or one beyond 30. Where she may be in both
/// blocks and it matters how her records are split, she counts as if all of them were in each.
std::optional<double> epsilon_of(const RunReleases& run, std::int64_t records) {
  bool one_block = true;  // the dearest split has all of them in one
  for (const BlockReleases& block : run.blocks) {
    if (!block.unknown.empty()) return std::nullopt;
    one_block = one_block && !block.drawn && records <= block.records;
  }
  one_block = one_block || run.blocks.size() < 2;
  double pure = 0.0;
  double gaussian = 0.0;
  std::vector<GroupRelease> together;
  const auto composed = [&](const std::vector<GroupRelease>& releases) -> std::optional<double> {
    const Result<releases::Delta> at = releases::Delta::create(run.at);
    if (!at) return std::nullopt;
    const Result<accounting::Bracket> epsilon = accounting::group_epsilon(releases, records, *at);
    return epsilon ? std::optional(epsilon->upper) : std::nullopt;
  };
  for (const BlockReleases& block : run.blocks) {
    const double own = block.pure * static_cast<double>(std::min(records, block.records));
    pure = one_block ? std::max(pure, own) : pure + own;
    together.insert(together.end(), block.gaussian.begin(), block.gaussian.end());
    if (!one_block || block.gaussian.empty()) continue;
    const std::optional<double> epsilon = composed(block.gaussian);
    if (!epsilon) return std::nullopt;
    gaussian = std::max(gaussian, *epsilon);
  }
  if (!one_block && !together.empty()) {
    const std::optional<double> epsilon = composed(together);
    if (!epsilon) return std::nullopt;
    gaussian = *epsilon;
  }
  return pure + gaussian <= kEpsilonShown ? std::optional(pure + gaussian) : std::nullopt;
}

void print(const RunReleases& run, const std::vector<std::int64_t>& persons) {
  fmt::print("run {}, delta {:.3g}\n", run.run.size() > 64 ? run.run.substr(64) : run.run, run.delta);
  for (const BlockReleases& block : run.blocks)
    if (!block.unknown.empty()) fmt::print("  {} records: {}\n", block.block, block.unknown);
  for (const std::int64_t records : persons) {
    const std::optional<double> epsilon = epsilon_of(run, records);
    fmt::print("  a person of {:3} records: {}\n", records,
               epsilon ? fmt::format("epsilon {:.4g}", *epsilon) : std::string("as good as none"));
  }
}

Result<std::vector<RunReleases>> runs_asked(const AccountRequest& request) {
  UNDERTONE_TRY(std::vector<RunReleases> runs, runs_of(request.ledger, request.run));
  if (!runs.empty()) return runs;
  return Error{ErrorCode::InvalidArgument, fmt::format("{}: no run is reserved in it{}", request.ledger.string(),
                                                       request.run.empty() ? "" : " under that id")};
}

}  // namespace

Result<std::string> person_account(const AccountRequest& request) {
  UNDERTONE_TRY(const std::vector<RunReleases> runs, runs_asked(request));
  Json out = Json::array();
  for (const RunReleases& run : runs) {
    Json persons = Json::array();
    for (const std::int64_t records : request.of_person) {
      const std::optional<double> epsilon = epsilon_of(run, records);
      persons.push_back({{"records", records}, {"epsilon", epsilon ? Json(*epsilon) : Json(nullptr)}});
    }
    out.push_back({{"run", run.run}, {"delta", run.delta}, {"persons", std::move(persons)}});
  }
  return out.dump(2);
}

int run_person(const AccountRequest& request) {
  const Result<std::vector<RunReleases>> runs = runs_asked(request);
  if (!runs) return service::fail(runs.error());
  for (const RunReleases& run : *runs) print(run, request.of_person);
  fmt::print(
      "These are what the run promised a record, seen by somebody with several. They are no promise to persons: the\n"
      "number of records was public in it. A data set of persons (`undertone-silo dataset add --person`) makes "
      "one.\n");
  return service::kDone;
}

}  // namespace undertone::lab
