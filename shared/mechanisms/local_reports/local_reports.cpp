#include "shared/mechanisms/local_reports/local_reports.hpp"

#include <cmath>

#include "shared/base/exact_text.hpp"

namespace undertone::mechanisms {
namespace {

constexpr std::int64_t kLargestReport = std::int64_t{1} << 36U;
constexpr double kLaplaceScaleMax = 0x1p28;  // a report is cut with probability below e^-255

bool is_whole(double value) { return std::floor(value) == value; }

}  // namespace

ReportValues report_values(releases::Randomiser randomiser) noexcept {
  switch (randomiser) {
    case releases::Randomiser::Bit:
      return {0, 1};
    case releases::Randomiser::Laplace:
      return {-kLargestReport, kLargestReport};
    case releases::Randomiser::StringBit:
      return {0, 1};
    case releases::Randomiser::Index:
      return {0, StringIndex::kStrings - 1};
    case releases::Randomiser::Direction:
      return {-PrivUnit::kUnits, PrivUnit::kUnits};
    case releases::Randomiser::GaussianDirection: {
      constexpr auto kMost = static_cast<std::int64_t>(PrivUnit::kGaussianMax) * PrivUnit::kUnits;
      return {-kMost, kMost};
    }
    case releases::Randomiser::Gaussian:
      return {-VectorNoise::kLargest, VectorNoise::kLargest};
  }
  return {};
}

releases::Randomiser LocalReports::kind() const noexcept {
  return std::visit(Overloaded{[](const OneBit& /*bit*/) { return releases::Randomiser::Bit; },
                               [](const LaplaceSum& /*noise*/) { return releases::Randomiser::Laplace; },
                               [](const StringBit& /*bit*/) { return releases::Randomiser::StringBit; },
                               [](const StringIndex& /*index*/) { return releases::Randomiser::Index; },
                               [](const PrivUnit& direction) {
                                 return direction.law() == PrivUnit::Law::Sphere
                                            ? releases::Randomiser::Direction
                                            : releases::Randomiser::GaussianDirection;
                               },
                               [](const VectorNoise& /*noise*/) { return releases::Randomiser::Gaussian; }},
                    randomiser);
}

releases::Cost LocalReports::cost() const {
  return std::visit(Overloaded{[](const VectorNoise& noise) {
                                 return releases::Cost{noise.shift_squared(), {}, {}};
                               },
                               [](const auto& own) {
                                 return releases::Cost{{}, own.epsilon(), {}};
                               }},
                    randomiser);
}

double LocalReports::stddev_max(std::int64_t records) const {
  const double each = std::visit(
      Overloaded{
          // A number is estimated as low + (bit - (1 - c) / 2) (high - low) / c, and a bit's variance is at most 1/4.
          [&](const OneBit& bit) { return 0.5 * static_cast<double>(high - low) / bit.contrast(); },
          [](const LaplaceSum& noise) { return std::sqrt(noise.variance()); },
          [](const PrivUnit& direction) { return std::sqrt(direction.variance_max()) * PrivUnit::kUnits; },
          [](const VectorNoise& noise) { return std::ldexp(noise.stddev(), -kValueStepLog2); },
          [](const auto& strings) { return std::sqrt(strings.variance_max()); }},
      randomiser);
  return std::sqrt(static_cast<double>(records)) * each * lattice.step;
}

Result<LocalReports> local_reports(const releases::RangeBound& range, bool indicators,
                                   const releases::ReportsForm& form, releases::Epsilon epsilon, std::int64_t records) {
  constexpr double kMagnitudeMax = 2.0;
  const int step_log2 = indicators ? 0 : kValueStepLog2;
  const double low = std::ldexp(range.low, -step_log2);
  const double high = std::ldexp(range.high, -step_log2);
  if (!(low < high && std::max(std::abs(range.low), std::abs(range.high)) <= kMagnitudeMax && is_whole(low) &&
        is_whole(high)) ||
      (indicators && (range.low != 0.0 || range.high != 1.0))) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("reports are on numbers in a range with ends that are multiples of 2^{}, of magnitude at "
                             "most {}, or on indicators, got [{}, {}]",
                             kValueStepLog2, kMagnitudeMax, range.low, range.high)};
  }
  if (records < 1 || records > kReportsMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("1 to {} records report to a question, got {}", kReportsMax, records)};
  }
  const auto levels = static_cast<std::int64_t>(high - low);
  const Lattice lattice{static_cast<std::int64_t>(std::max(std::abs(low), std::abs(high))), std::ldexp(1.0, step_log2)};
  const auto made = [&](const auto& own) {
    return LocalReports{lattice, static_cast<std::int64_t>(low), static_cast<std::int64_t>(high), own};
  };
  switch (form.randomiser) {
    case releases::Randomiser::StringBit: {
      UNDERTONE_TRY(const StringBit bit, StringBit::create(epsilon, levels, form.seed));
      return made(bit);
    }
    case releases::Randomiser::Index: {
      UNDERTONE_TRY(const StringIndex index, StringIndex::create(epsilon, levels, form.seed));
      return made(index);
    }
    case releases::Randomiser::Bit: {
      UNDERTONE_TRY(const OneBit bit, OneBit::create(epsilon, levels));
      return made(bit);
    }
    case releases::Randomiser::Laplace: {
      UNDERTONE_TRY(const IntegerL1Sensitivity moved, IntegerL1Sensitivity::create(levels));
      UNDERTONE_TRY(const LaplaceSum noise, LaplaceSum::create(epsilon, moved));
      const double scale =
          static_cast<double>(noise.scale().numerator) / static_cast<double>(noise.scale().denominator);
      if (scale > kLaplaceScaleMax) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("Laplace noise on a record's number at epsilon {} has a scale above 2^28 units: a bit "
                                 "says more",
                                 epsilon.value())};
      }
      return made(noise);
    }
    case releases::Randomiser::Direction:
    case releases::Randomiser::GaussianDirection:
    case releases::Randomiser::Gaussian:
      break;
  }
  return Error{ErrorCode::Internal, "an unknown randomiser"};
}

namespace {

Status check_numbers(Eigen::Index numbers, std::int64_t records) {
  if (records >= 1 && numbers >= 1 && records <= kReportsMax / numbers) return {};
  return Error{ErrorCode::LimitExceeded, fmt::format("{} records report {} numbers each: at most {} in all are sent",
                                                     records, numbers, kReportsMax)};
}

}  // namespace

Result<LocalReports> direction_reports(Eigen::Index dimension, const releases::ReportsForm& form,
                                       releases::Epsilon epsilon, std::int64_t records) {
  UNDERTONE_TRY(check_numbers(dimension, records));
  const auto law =
      form.randomiser == releases::Randomiser::GaussianDirection ? PrivUnit::Law::Gaussian : PrivUnit::Law::Sphere;
  UNDERTONE_TRY(const PrivUnit direction, PrivUnit::create(epsilon, dimension, form.adapter, law));
  const ReportValues values = report_values(form.randomiser);
  return LocalReports{{values.high, std::ldexp(1.0, kValueStepLog2)}, values.low, values.high, direction};
}

Result<LocalReports> gaussian_reports(Eigen::Index dimension, const releases::ReportsForm& form,
                                      releases::GaussianShift shift, std::int64_t records) {
  UNDERTONE_TRY(const VectorNoise noise, VectorNoise::create(shift, dimension, form.copies));
  UNDERTONE_TRY(check_numbers(dimension * static_cast<Eigen::Index>(form.copies), records));
  constexpr std::int64_t kUnits = std::int64_t{1} << -kValueStepLog2;
  return LocalReports{{kUnits, std::ldexp(1.0, kValueStepLog2)}, -kUnits, kUnits, noise};
}

std::string canonical_text(const LocalReports& reports) {
  const std::string law = std::visit(
      Overloaded{[](const OneBit& bit) { return fmt::format("bit:{}:{}", bit.levels(), bit.contrast_units()); },
                 [](const LaplaceSum& noise) {
                   return fmt::format("laplace:{}:{}/{}", noise.sensitivity().value(), noise.scale().numerator,
                                      noise.scale().denominator);
                 },
                 [&](const PrivUnit& direction) {
                   return fmt::format("{}:{}:{}:{}:{}", to_string(reports.kind()), direction.dimension(),
                                      to_string(direction.adapter()), exact_text(direction.threshold()),
                                      exact_text(direction.in_cap()));
                 },
                 [](const VectorNoise& noise) {
                   return fmt::format("gaussian:{}:{}:{}:{}", noise.dimension(), noise.copies(),
                                      noise.lattice().lattice.clip, noise.lattice().log2_stddev);
                 },
                 [&](const auto& strings) {
                   return fmt::format("{}:{}:{}", to_string(reports.kind()), strings.chance().levels(),
                                      exact_text(strings.chance().rate()));
                 }},
      reports.randomiser);
  return fmt::format(
      "reports:{}:{}:{}:{}:{}:{}", reports.lattice.clip, exact_text(reports.lattice.step), reports.low, reports.high,
      law,
      reports.kind() == releases::Randomiser::Gaussian ? reports.cost().to_string() : reports.cost().pure.to_string());
}

}  // namespace undertone::mechanisms
