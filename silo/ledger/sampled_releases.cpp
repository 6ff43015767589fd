#include "silo/ledger/sampled_releases.hpp"

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

}  // namespace

Result<SampledReleases> SampledReleases::parse(std::string_view text) {
  const Error malformed{ErrorCode::LedgerCorrupt, "a list of sampled releases of the wrong form"};
  SampledReleases out;
  std::optional<std::string_view> rest = text;
  while (rest) {
    std::string_view draw_text = *rest;
    rest = take_after(draw_text, ',');
    const std::optional<std::string_view> part = take_after(draw_text, '+');
    const std::optional<std::string_view> steps_text = take_after(draw_text, '^');
    std::optional<std::string_view> population = take_after(draw_text, '/');
    const std::optional<std::string_view> drawn = take_after(draw_text, '@');
    const std::uint64_t rounds = count_of(take_after(draw_text, '*'));
    const std::uint64_t steps = steps_text ? count_of(steps_text) : 1;
    // Several draws of noise read a subset each.
    if (population && !steps_text && population->ends_with('r')) population->remove_suffix(1);
    const Result<UInt128> draw = releases::parse_decimal(draw_text);
    if (!draw || *draw == 0 || rounds == 0 || steps == 0 || count_of(drawn) == 0 || count_of(population) == 0 ||
        (part && !is_part(*part))) {
      return malformed;
    }
    const Result<releases::ShiftSquaredAmount> each = releases::ShiftSquaredAmount::from_units(*draw).times(steps);
    if (!each) return malformed;
    out.groups_.push_back({*each, rounds, steps});
  }
  return out;
}

std::optional<std::uint64_t> SampledReleases::take(releases::ShiftSquaredAmount cost) {
  for (; next_ < groups_.size(); ++next_) {
    Group& group = groups_[next_];
    if (group.each != cost || group.rounds == 0) continue;
    --group.rounds;
    return group.draws;
  }
  return std::nullopt;
}

}  // namespace undertone::silo
