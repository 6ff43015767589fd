#include "verifier/ledger_texts.hpp"

#include <array>
#include <fmt/format.h>
#include <limits>

namespace undertone::verifier {
namespace {

/// The text before the mark, which is taken off with it; all of the text where there is none.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + 1);
  return taken;
}

constexpr std::array<std::pair<std::string_view, Law>, 4> kLaws = {{{"gaussian:", Law::Gaussian},
                                                                    {"pure:", Law::Pure},
                                                                    {"ranged:", Law::Ranged},
                                                                    {"concentrated:", Law::Concentrated}}};

/// Takes the name of a law off the text.
std::optional<Law> take_law(std::string_view& text) {
  for (const auto& [name, law] : kLaws) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    return law;
  }
  return std::nullopt;
}

std::optional<ReleaseGroup> parse_group(std::string_view text, Format format) {
  ReleaseGroup group;
  if (format == Format::Two) {
    const std::optional<Law> law = take_law(text);
    if (!law) return std::nullopt;
    group.law = *law;
    // Beside all records it may read a fresh subset of them: of other draws it is not known what they cost.
    if (group.law == Law::Concentrated && text.find_first_of("r^~=") != text.npos) return std::nullopt;
  }
  std::optional<UInt128> number;
  const auto read = [&number](std::string_view digits, UInt128& out) {
    number = parse_amount(digits);
    if (number) out = *number;
    return number.has_value();
  };
  const bool in_bin = format == Format::Two && text.find('~') != text.npos;
  const bool secret = format == Format::Two && !in_bin && text.find('=') != text.npos;
  const bool part = in_bin || secret || text.find('+') != text.npos;
  std::string_view counts = take_until(text, in_bin ? '~' : secret ? '=' : '+');
  const bool stepped = counts.find('^') != counts.npos;
  std::string_view draws = take_until(counts, '^');
  group.with_replacement = !stepped && draws.ends_with('r');
  if (group.with_replacement) draws.remove_suffix(1);
  if (!read(take_until(draws, '*'), group.units) || !read(take_until(draws, '@'), group.rounds) ||
      !read(take_until(draws, '/'), group.drawn) || !read(draws, group.population) ||
      (stepped && !read(counts, group.steps))) {
    return std::nullopt;
  }
  if (!part) return group;
  std::pair<UInt128, UInt128> positions;
  std::string_view slots = text;
  if (in_bin || secret) text = take_until(slots, '/');
  if (!read(take_until(text, ':'), positions.first) || !read(text, positions.second)) return std::nullopt;
  group.positions = positions;
  if (secret) {
    UInt128 all = 0;
    if (stepped || group.with_replacement || !read(slots, all)) return std::nullopt;
    group.secret_slots = all;
  }
  if (!in_bin) return group;
  ReleaseGroup::Bin bin;
  if (stepped || group.with_replacement || !read(take_until(slots, ':'), bin.slots)) return std::nullopt;
  const bool later = slots.find('#') != slots.npos;
  if (!read(take_until(slots, '#'), bin.rows)) return std::nullopt;
  if (later && (!read(slots, bin.pass) || bin.pass == 0)) return std::nullopt;
  group.bin = bin;
  return group;
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string shown(std::string_view bytes) {
  return to_hex(bytes.substr(0, kSignatureBytes)) + (bytes.size() > kSignatureBytes ? "..." : "");
}

std::optional<Bytes> from_hex(std::string_view text, std::size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.empty() || text.size() % 2 != 0 || (size != 0 && text.size() != 2 * size)) return std::nullopt;
  Bytes bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const std::size_t high = kDigits.find(text[at]);
    const std::size_t low = kDigits.find(text[at + 1]);
    if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

std::optional<UInt128> parse_amount(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  UInt128 value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    if (__builtin_mul_overflow(value, UInt128{10}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, static_cast<UInt128>(digit - '0'), &value)) return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> parse_index(std::string_view text) {
  const auto value = parse_amount(text);
  if (!value || *value > static_cast<UInt128>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

bool Cost::add(const Cost& other) {
  bool fits = true;
  for (UInt128 Cost::*const part : {&Cost::gaussian, &Cost::pure, &Cost::ranged, &Cost::concentrated}) {
    if (!__builtin_add_overflow(this->*part, other.*part, &(this->*part))) continue;
    this->*part = ~UInt128{0};
    fits = false;
  }
  return fits;
}

Cost cost_of(Law law, UInt128 units) {
  switch (law) {
    case Law::Gaussian:
      return {.gaussian = units};
    case Law::Pure:
      return {.pure = units};
    case Law::Ranged:
      return {.ranged = units};
    case Law::Concentrated:
      return {.concentrated = units};
  }
  return {};
}

std::optional<Cost> parse_cost(std::string_view text, Format format) {
  if (format == Format::One || text == "0") {
    const std::optional<UInt128> bare = parse_amount(text);
    return bare ? std::optional(cost_of(Law::Gaussian, *bare)) : std::nullopt;
  }
  Cost cost;
  std::optional<Law> last;
  bool more = true;
  while (more) {
    more = text.find('+') != text.npos;
    std::string_view part = take_until(text, '+');
    const std::optional<Law> law = take_law(part);
    const std::optional<UInt128> units = parse_amount(part);
    if (!law || (last && *law <= *last) || !units || *units == 0) return std::nullopt;
    last = law;
    (void)cost.add(cost_of(*law, *units));  // each law once: no overflow
  }
  return cost;
}

std::string to_text(const Cost& cost) {
  std::string text;
  for (const auto& [name, units] : {std::pair("gaussian", cost.gaussian), std::pair("pure", cost.pure),
                                    std::pair("ranged", cost.ranged), std::pair("concentrated", cost.concentrated)}) {
    if (units != 0) text += fmt::format("{}{}:{}", text.empty() ? "" : "+", name, fmt::to_string(units));
  }
  return text.empty() ? "0" : text;
}

std::optional<std::vector<ReleaseGroup>> parse_release_groups(std::string_view text, Format format) {
  std::vector<ReleaseGroup> groups;
  bool more = true;
  while (more) {
    more = text.find(',') != text.npos;
    std::string_view parts = take_until(text, ',');
    const bool several = parts.find('&') != parts.npos;
    std::string_view first = take_until(parts, '&');
    const bool fails = first.find('!') != first.npos;
    std::optional<ReleaseGroup> group = parse_group(take_until(first, '!'), format);
    if (!group) return std::nullopt;
    if (fails) {
      const std::optional<UInt128> failure = parse_amount(first);
      if (!failure || several || group->law != Law::Pure || group->positions || group->steps != 1 ||
          group->drawn != group->population)
        return std::nullopt;
      group->failure = *failure;
    }
    groups.push_back(*group);
    const auto plain = [](const ReleaseGroup& one) {
      return one.positions && !one.bin && !one.secret_slots && !one.with_replacement && one.steps == 1 &&
             one.drawn == one.population && one.law == Law::Ranged;
    };
    if (several && (format == Format::One || !plain(*group))) return std::nullopt;
    for (bool rest = several; rest;) {
      rest = parts.find('&') != parts.npos;
      const std::string_view part = take_until(parts, '&');
      // As often as the release itself, which is not said again.
      const std::size_t counts = part.find('@');
      if (counts == part.npos || part.find('*') != part.npos) return std::nullopt;
      std::optional<ReleaseGroup> other = parse_group(
          fmt::format("{}*{}{}", part.substr(0, counts), fmt::to_string(group->rounds), part.substr(counts)), format);
      if (!other || !plain(*other) || other->units > group->units) return std::nullopt;
      other->beside = true;
      groups.push_back(*other);
    }
  }
  return groups;
}

std::optional<ShuffledRun> parse_shuffled(std::string_view text) {
  ShuffledRun out;
  const std::string_view kind = take_until(text, ':');
  const std::optional<UInt128> honest = parse_amount(take_until(text, ':'));
  const bool mixed = kind == "reports" && text.find(':') != text.npos;
  const std::optional<UInt128> failure = parse_amount(mixed ? take_until(text, ':') : text);
  if ((kind != "binomial" && kind != "reports") || !honest || *honest == 0 || !failure) return std::nullopt;
  if (mixed) {
    const std::optional<UInt128> record = parse_amount(take_until(text, ':'));
    const std::optional<UInt128> silo = parse_amount(text);
    if (!record || !silo) return std::nullopt;
    out.mixed = ShuffledRun::Mixed{*record, *silo};
  }
  out.binomial = kind == "binomial";
  out.honest = *honest;
  out.failure = *failure;
  return out;
}

}  // namespace undertone::verifier
