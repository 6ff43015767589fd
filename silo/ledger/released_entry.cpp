#include "silo/ledger/released_entry.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "shared/releases/fixed_amount.hpp"

namespace undertone::silo {
namespace {

/// Takes an entry's text apart from its front.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  /// Whether the text goes on with this, which is then passed.
  bool passes(std::string_view expected) {
    const bool here = rest_.starts_with(expected);
    if (here) rest_.remove_prefix(expected.size());
    return here;
  }
  /// A JSON text that needs no escape, and the quotation mark after it.
  std::optional<std::string_view> text() {
    const std::size_t size = rest_.find('"');
    if (size == std::string_view::npos) return std::nullopt;
    const std::string_view out = rest_.substr(0, size);
    const bool plain = std::all_of(out.begin(), out.end(), [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
    rest_.remove_prefix(size + 1);
    return plain ? std::optional(out) : std::nullopt;
  }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::optional<releases::Block> block_named(std::string_view name) {
  for (const releases::Block block : {releases::Block::Training, releases::Block::Holdout, releases::Block::Public})
    if (name == releases::block_name(block)) return block;
  return std::nullopt;
}

std::string ReleasedEntry::body() const {
  return fmt::format(
      R"({{"at":"{}","block":"{}","cost":"{}","kind":"released",{}"query":"{}","reply":"{}","round":"{}","run":"{}"}})",
      at, releases::block_name(block), cost, secret_order ? R"("order":"secret",)" : "", to_hex(query), to_hex(reply),
      round.value, run.hex());
}

std::optional<ReleasedEntry> ReleasedEntry::read(std::string_view body) {
  Reader reader(body);
  ReleasedEntry out;
  out.secret_order = false;
  const auto value = [&](std::string_view key) {
    return reader.passes(key) ? reader.text() : std::optional<std::string_view>();
  };
  const auto time = value(R"({"at":")");
  const auto block = time ? value(R"(,"block":")") : std::nullopt;
  const auto cost = block ? value(R"(,"cost":")") : std::nullopt;
  if (!cost || !reader.passes(R"(,"kind":"released",)")) return std::nullopt;
  out.secret_order = reader.passes(R"("order":"secret",)");
  const auto query = value(R"("query":")");
  const auto reply = query ? value(R"(,"reply":")") : std::nullopt;
  const auto round = reply ? value(R"(,"round":")") : std::nullopt;
  const auto run = round ? value(R"(,"run":")") : std::nullopt;
  if (!run || !reader.passes("}") || !reader.at_end()) return std::nullopt;
  const std::optional<releases::Block> known = block_named(*block);
  const Result<Digest> query_digest = digest_from_hex(*query);
  const Result<Digest> reply_digest = digest_from_hex(*reply);
  const Result<releases::UInt128> number = releases::parse_decimal(*round);
  const Result<RunId> run_id = RunId::from_hex(*run);
  if (!known || !query_digest || !reply_digest || !number || *number > INT64_MAX || !run_id) return std::nullopt;
  out.run = *run_id;
  out.round = {static_cast<std::uint64_t>(*number)};
  out.block = *known;
  out.cost = *cost;
  out.query = *query_digest;
  out.reply = *reply_digest;
  out.at = *time;
  return out;
}

}  // namespace undertone::silo
