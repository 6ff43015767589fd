#include "silo/ledger/sampled_releases.hpp"

namespace undertone::silo {

Result<SampledReleases> SampledReleases::parse(std::string_view text) {
  const Error malformed{ErrorCode::LedgerCorrupt, "a list of sampled releases of the wrong form"};
  SampledReleases out;
  while (!text.empty()) {
    const std::string_view group = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), group.size() + 1));
    const std::size_t star = group.find('*');
    const std::size_t at = group.find('@');
    if (star == std::string_view::npos || at == std::string_view::npos || at < star) return malformed;
    const std::size_t hat = group.find('^');
    const std::string_view steps_text =
        hat == std::string_view::npos ? std::string_view("1") : group.substr(hat + 1, group.find('+', hat) - hat - 1);
    const Result<privacy::UInt128> draw = privacy::parse_decimal(group.substr(0, star));
    const Result<privacy::UInt128> rounds = privacy::parse_decimal(group.substr(star + 1, at - star - 1));
    const Result<privacy::UInt128> steps = privacy::parse_decimal(steps_text);
    if (!draw || !rounds || !steps || *draw == 0 || *rounds == 0 || *rounds >> 62U != 0 || *steps == 0 ||
        *steps >> 62U != 0) {
      return malformed;
    }
    const Result<privacy::ShiftSquaredAmount> each =
        privacy::ShiftSquaredAmount::from_units(*draw).times(static_cast<std::uint64_t>(*steps));
    if (!each) return malformed;
    out.groups_.push_back({*each, static_cast<std::uint64_t>(*rounds), static_cast<std::uint64_t>(*steps)});
  }
  if (out.groups_.empty()) return malformed;
  return out;
}

std::optional<std::uint64_t> SampledReleases::take(privacy::ShiftSquaredAmount cost) {
  for (; next_ < groups_.size(); ++next_) {
    Group& group = groups_[next_];
    if (group.each != cost || group.rounds == 0) continue;
    --group.rounds;
    return group.draws;
  }
  return std::nullopt;
}

}  // namespace undertone::silo
