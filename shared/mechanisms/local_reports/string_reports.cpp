#include "shared/mechanisms/local_reports/string_reports.hpp"

#include <cmath>

#include "shared/base/bisection.hpp"

namespace undertone::mechanisms {
namespace {

constexpr std::int64_t kLevelsMax = std::int64_t{1} << 22U;
// Of epsilon: far more than what chances in whole units may be off.
constexpr double kRoundingShare = 0x1p-24;

Status check_levels(std::int64_t levels) {
  if (levels >= 1 && levels <= kLevelsMax) return {};
  return Error{ErrorCode::InvalidArgument, fmt::format("a report is about 1 to {} levels, got {}", kLevelsMax, levels)};
}

}  // namespace

Result<StringBit> StringBit::create(releases::Epsilon epsilon, std::int64_t levels, std::uint64_t seed) {
  UNDERTONE_TRY(check_levels(levels));
  if (!(epsilon.value() <= kEpsilonMax && epsilon.value() >= 0x1p-20)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the epsilon of a bit against a string must be 2^-20 to {}, got {}", kEpsilonMax, epsilon.value())};
  }
  UNDERTONE_TRY(const releases::EpsilonAmount spent, releases::EpsilonAmount::rounded_down(epsilon.value()));
  const double usable = spent.value_rounded_down() * (1.0 - kRoundingShare) - 0x1p-32;
  // ln(2 - e^-epsilon) = log1p(1 - e^-epsilon).
  const double rate = std::log1p(-std::expm1(-usable)) * (1.0 - 0x1p-40);
  const StringChance chance(levels, rate);
  return StringBit(spent, chance, PublicStrings(seed));
}

double StringIndex::epsilon_at(double base) {
  constexpr auto kT = static_cast<double>(kStrings);
  const double least = 0.5 * std::exp(-base);
  const double empty = std::pow(1.0 - least, kT) * (1.0 + 0.5 * (kT - 1.0) * std::exp(base)) / (kT * least);
  return std::log(std::exp(2.0 * base) + empty);
}

Result<StringIndex> StringIndex::create(releases::Epsilon epsilon, std::int64_t levels, std::uint64_t seed) {
  UNDERTONE_TRY(check_levels(levels));
  if (!(epsilon.value() <= kEpsilonMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the epsilon of an index into {} strings must be at most {}, got {}", kStrings,
                             kEpsilonMax, epsilon.value())};
  }
  UNDERTONE_TRY(const releases::EpsilonAmount spent, releases::EpsilonAmount::rounded_down(epsilon.value()));
  const double usable = spent.value_rounded_down() * (1.0 - kRoundingShare) - 0x1p-32;
  if (!(epsilon_at(0x1p-20) < usable)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("an index into {} strings keeps no epsilon of {}: a bit does", kStrings, epsilon.value())};
  }
  constexpr double kRateMax = 0.6931;  // below ln 2, where the bound is above kEpsilonMax
  const SearchRange<double> found = bisect_reals(
      {0x1p-20, kRateMax}, [&](double base) { return epsilon_at(base) >= usable; }, 60);
  const StringChance chance(levels, found.low);
  return StringIndex(spent, chance, PublicStrings(seed));
}

}  // namespace undertone::mechanisms
