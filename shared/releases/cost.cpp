#include "shared/releases/cost.hpp"

#include <array>
#include <fmt/format.h>
#include <utility>

namespace undertone::releases {
namespace {

Error malformed(std::string_view text) {
  return {ErrorCode::Malformed, fmt::format("expected costs like gaussian:123 or pure:5+ranged:7, got \"{}\"", text)};
}

}  // namespace

Result<Cost> Cost::plus(const Cost& other) const {
  const auto gaussian_sum = gaussian.plus(other.gaussian);
  const auto pure_sum = pure.plus(other.pure);
  const auto ranged_sum = ranged.plus(other.ranged);
  const auto concentrated_sum = concentrated.plus(other.concentrated);
  if (!gaussian_sum) return gaussian_sum.error();
  if (!pure_sum) return pure_sum.error();
  if (!ranged_sum) return ranged_sum.error();
  if (!concentrated_sum) return concentrated_sum.error();
  return Cost{*gaussian_sum, *pure_sum, *ranged_sum, *concentrated_sum};
}

Result<Cost> Cost::times(std::uint64_t count) const {
  const auto gaussian_product = gaussian.times(count);
  const auto pure_product = pure.times(count);
  const auto ranged_product = ranged.times(count);
  const auto concentrated_product = concentrated.times(count);
  if (!gaussian_product) return gaussian_product.error();
  if (!pure_product) return pure_product.error();
  if (!ranged_product) return ranged_product.error();
  if (!concentrated_product) return concentrated_product.error();
  return Cost{*gaussian_product, *pure_product, *ranged_product, *concentrated_product};
}

std::string Cost::to_string() const {
  std::string out;
  const auto add = [&out](std::string_view law, UInt128 units) {
    if (units == 0) return;
    out += fmt::format("{}{}:{}", out.empty() ? "" : "+", law, to_decimal(units));
  };
  add("gaussian", gaussian.units());
  add("pure", pure.units());
  add("ranged", ranged.units());
  add("concentrated", concentrated.units());
  return out.empty() ? "0" : out;
}

Result<Cost> Cost::parse(std::string_view text) {
  Cost out;
  if (text.empty()) return malformed(text);
  if (const Result<UInt128> bare = parse_decimal(text)) {
    out.gaussian = ShiftSquaredAmount::from_units(*bare);
    return out;
  }
  // In one order and none twice, so that a cost has one spelling.
  std::string_view rest = text;
  const auto take = [&rest](std::string_view law) -> Result<UInt128> {
    const std::string_view part = rest.substr(0, rest.find('+'));
    if (!part.starts_with(law) || part.size() <= law.size() || part[law.size()] != ':') return UInt128{0};
    Result<UInt128> units = parse_decimal(part.substr(law.size() + 1));
    if (!units) return units;
    if (*units == 0) return Error{ErrorCode::Malformed, "a cost of nothing"};
    rest.remove_prefix(part.size());
    if (rest.size() > 1) rest.remove_prefix(1);  // a plus sign at the end stays, and is refused below
    return units;
  };
  const Result<UInt128> gaussian = take("gaussian");
  if (!gaussian) return malformed(text);
  const Result<UInt128> pure = take("pure");
  if (!pure) return malformed(text);
  const Result<UInt128> ranged = take("ranged");
  if (!ranged) return malformed(text);
  const Result<UInt128> concentrated = take("concentrated");
  if (!concentrated || !rest.empty()) return malformed(text);
  return Cost{ShiftSquaredAmount::from_units(*gaussian), EpsilonAmount::from_units(*pure),
              EpsilonAmount::from_units(*ranged), RhoAmount::from_units(*concentrated)};
}

}  // namespace undertone::releases
