#include "silo/policy/permit.hpp"

#include "shared/data/dates.hpp"

namespace undertone::silo {

Result<std::int64_t> permit_end(const std::string& until) {
  constexpr std::int64_t kDay = 86'400;
  const std::optional<double> day = data::parse_date(until, data::DateFormat::YearMonthDay);
  if (!day) return Error{ErrorCode::InvalidConfig, "expected a date as YYYY-MM-DD"};
  return (static_cast<std::int64_t>(*day) + 1) * kDay;
}

std::string describe(const Permit& permit) {
  return fmt::format("{}, for {}, until {}", permit.id, permit.purpose, permit.until);
}

std::optional<Objection> permit_objection(const std::optional<Permit>& permit, std::int64_t now) {
  if (!permit) return std::nullopt;
  const Result<std::int64_t> end = permit_end(permit->until);
  if (end && now < *end) return std::nullopt;
  return Objection{
      ObjectionKind::Policy,
      fmt::format("the data set's permit, {}, ended with {}: nothing is answered without one that is valid", permit->id,
                  permit->until)};
}

}  // namespace undertone::silo
