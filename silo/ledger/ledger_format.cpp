#include "silo/ledger/ledger_format.hpp"

#include <fmt/format.h>

namespace undertone::silo {

const char* to_string(LedgerFormat format) {
  switch (format) {
    case LedgerFormat::One:
      return "1";
    case LedgerFormat::Two:
      return "2";
  }
  UNDERTONE_CHECK(false);
}

Result<LedgerFormat> parse_format(std::string_view text) {
  for (const LedgerFormat format : {LedgerFormat::One, LedgerFormat::Two})
    if (text == to_string(format)) return format;
  return Error{ErrorCode::LedgerCorrupt, "a format that this program does not know"};
}

std::string cost_text(const releases::Cost& cost, LedgerFormat format) {
  if (format == LedgerFormat::Two) return cost.to_string();
  UNDERTONE_CHECK(cost.is_gaussian());
  return cost.gaussian.to_string();
}

Result<releases::Cost> parse_cost(std::string_view text, LedgerFormat format) {
  Result<releases::Cost> cost = releases::Cost::parse(text);
  if (!cost) return cost;
  const bool sayable = format == LedgerFormat::Two || cost->is_gaussian();
  if (sayable && cost_text(*cost, format) == text) return cost;
  return Error{ErrorCode::LedgerCorrupt,
               fmt::format("a cost that format {} does not spell like this: {}", to_string(format), text)};
}

}  // namespace undertone::silo
