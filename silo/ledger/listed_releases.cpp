#include "silo/ledger/listed_releases.hpp"

namespace undertone::silo {
namespace {

using releases::UInt128;

/// What stands behind the mark, which is taken off the text with it; nothing where there is no mark.
std::optional<std::string_view> take_after(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view after = text.substr(at + 1);
  text = text.substr(0, at);
  return after;
}

/// @return 0 where there is no such amount, or none that a count can be
std::uint64_t count_of(std::optional<std::string_view> text) {
  if (!text) return 0;
  const Result<UInt128> value = releases::parse_decimal(*text);
  return value && *value >> 62U == 0 ? static_cast<std::uint64_t>(*value) : 0;
}

bool is_part(std::string_view from) {
  const std::optional<std::string_view> to = take_after(from, ':');
  return to && releases::parse_decimal(from) && releases::parse_decimal(*to);
}

bool is_secret_part(std::string_view part) {
  const std::optional<std::string_view> positions = take_after(part, '/');
  return positions && is_part(part) && count_of(*positions) > 0;
}

bool is_bin(std::string_view part) {
  const std::optional<std::string_view> rows = take_after(part, '/');
  if (!rows) return false;
  std::string_view positions = *rows;
  std::optional<std::string_view> padded = take_after(positions, ':');
  if (!padded) return false;
  const std::optional<std::string_view> pass = take_after(*padded, '#');
  return is_part(part) && count_of(positions) > 0 && count_of(padded) > 0 && (!pass || count_of(pass) > 0);
}

/// Whether each is a part of all of whose records a release reads, at no more than this cost and under the same law.
bool are_other_parts(std::string_view text, const releases::Cost& most) {
  std::optional<std::string_view> rest = text;
  while (rest) {
    std::string_view cost_text = *rest;
    rest = take_after(cost_text, '&');
    const std::optional<std::string_view> part = take_after(cost_text, '+');
    std::optional<std::string_view> population = take_after(cost_text, '/');
    const std::optional<std::string_view> drawn = take_after(cost_text, '@');
    const Result<releases::Cost> cost = releases::Cost::parse(cost_text);
    if (!cost || cost->is_zero() || !cost->fits(most) || !part || !is_part(*part) || count_of(drawn) == 0 ||
        drawn != population)
      return false;
  }
  return true;
}

}  // namespace

Result<ListedReleases> ListedReleases::parse(std::string_view text, LedgerFormat format) {
  const Error malformed{ErrorCode::LedgerCorrupt, "a list of releases of the wrong form"};
  ListedReleases out;
  std::optional<std::string_view> rest = text;
  while (rest) {
    std::string_view cost_text = *rest;
    rest = take_after(cost_text, ',');
    const std::optional<std::string_view> others = take_after(cost_text, '&');
    const std::optional<std::string_view> failure = take_after(cost_text, '!');
    const std::optional<std::string_view> bin = take_after(cost_text, '~');
    const std::optional<std::string_view> secret = take_after(cost_text, '=');
    const std::optional<std::string_view> part = take_after(cost_text, '+');
    const std::optional<std::string_view> steps_text = take_after(cost_text, '^');
    std::optional<std::string_view> population = take_after(cost_text, '/');
    const std::optional<std::string_view> drawn = take_after(cost_text, '@');
    const std::uint64_t rounds = count_of(take_after(cost_text, '*'));
    const std::uint64_t steps = steps_text ? count_of(steps_text) : 1;
    const Result<releases::Cost> draw = parse_cost(cost_text, format);
    if (!draw || draw->is_zero()) return malformed;
    // Every record of a secret part is read, and a release reads one part, of one kind.
    if ((bin || secret) && (part || steps_text || drawn != population || !draw->is_gaussian() || (bin && secret) ||
                            format == LedgerFormat::One))
      return malformed;
    if (steps_text && draw->concentrated.units() != 0) return malformed;  // no local run draws such noise
    if ((bin && !is_bin(*bin)) || (secret && !is_secret_part(*secret))) return malformed;
    // Several draws of noise read a subset each; and of Gaussian releases alone it is known what a record costs that is
    // drawn twice.
    if (population && !steps_text && draw->is_gaussian() && population->ends_with('r')) population->remove_suffix(1);
    if (rounds == 0 || steps == 0 || count_of(drawn) == 0 || count_of(population) == 0 || (part && !is_part(*part)))
      return malformed;
    if (failure && (others || drawn != population || part || steps_text || bin || secret ||
                    format == LedgerFormat::One || draw->pure.units() == 0 || !releases::parse_decimal(*failure)))
      return malformed;
    if (others && (!part || steps_text || bin || secret || format == LedgerFormat::One || draw->ranged.units() == 0 ||
                   !are_other_parts(*others, *draw)))
      return malformed;
    out.reads_secret_parts_ = out.reads_secret_parts_ || bin || secret;
    const Result<releases::Cost> each = draw->times(steps);
    const Result<releases::Cost> all = each ? each->times(rounds) : each;
    const Result<releases::Cost> total = all ? out.total_.plus(*all) : all;
    if (!total) return malformed;
    out.total_ = *total;
    out.groups_.push_back({*each, rounds, steps});
  }
  return out;
}

std::size_t ListedReleases::find(const releases::Cost& cost) const {
  std::size_t at = next_;
  while (at < groups_.size() && (groups_[at].rounds == 0 || groups_[at].each != cost)) ++at;
  return at;
}

std::optional<std::uint64_t> ListedReleases::draws_of(const releases::Cost& cost) const {
  const std::size_t at = find(cost);
  return at < groups_.size() ? std::optional(groups_[at].draws) : std::nullopt;
}

std::optional<std::uint64_t> ListedReleases::take(const releases::Cost& cost) {
  const std::size_t at = find(cost);
  if (at == groups_.size()) return std::nullopt;
  next_ = at;
  --groups_[at].rounds;
  return groups_[at].draws;
}

}  // namespace undertone::silo
