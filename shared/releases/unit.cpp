#include "shared/releases/unit.hpp"

namespace undertone::releases {

std::string_view to_string(Unit unit) noexcept {
  switch (unit) {
    case Unit::Person:
      return "person";
    case Unit::Record:
      return "record";
  }
  return "";
}

std::string_view plural_of(Unit unit) noexcept {
  switch (unit) {
    case Unit::Person:
      return "persons";
    case Unit::Record:
      return "records";
  }
  return "";
}

std::string_view to_string(PersonContribution::Form form) noexcept {
  switch (form) {
    case PersonContribution::Form::ClippedMean:
      return "clipped_mean";
    case PersonContribution::Form::MeanOfClipped:
      return "mean_of_clipped";
    case PersonContribution::Form::CappedSum:
      return "capped_sum";
    case PersonContribution::Form::Mean:
      return "mean";
  }
  return "";
}

Result<Unit> parse_unit(std::string_view text) {
  for (const Unit unit : {Unit::Record, Unit::Person})
    if (text == to_string(unit)) return unit;
  return Error{ErrorCode::InvalidArgument, fmt::format("expected \"{}\" or \"{}\", got \"{}\"", to_string(Unit::Record),
                                                       to_string(Unit::Person), text)};
}

}  // namespace undertone::releases
