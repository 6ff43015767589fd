#include "shared/releases/unit.hpp"

namespace undertone::releases {

std::string_view to_string(Unit unit) noexcept {
  switch (unit) {
    case Unit::Person:
      return "person";
    case Unit::Record:
      return "record";
    case Unit::SensitiveAttribute:
      return "sensitive_attribute";
  }
  return "";
}

std::string_view noun_of(Unit unit) noexcept {
  return unit == Unit::SensitiveAttribute ? "sensitive attribute" : to_string(unit);
}

std::string_view plural_of(Unit unit) noexcept {
  switch (unit) {
    case Unit::Person:
      return "persons";
    case Unit::Record:
      return "records";
    case Unit::SensitiveAttribute:
      return "sensitive attributes";
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
    case PersonContribution::Form::Any:
      return "any";
    case PersonContribution::Form::Total:
      return "total";
    case PersonContribution::Form::Number:
      return "number";
  }
  return "";
}

std::string counted_by(const PersonContribution& person) {
  const std::string few = person.records_max == 1 ? std::string("one of her records")
                                                  : fmt::format("{} of her records at most", person.records_max);
  switch (person.form) {
    case PersonContribution::Form::Any:
      return fmt::format("each once in every cell that any of {} is in", few);
    case PersonContribution::Form::Total:
      return fmt::format("each by {}, all of which count", few);
    case PersonContribution::Form::Number:
      return fmt::format("each by how many records she has, where more than {0} count as {0}", person.records_max);
    default:
      break;
  }
  return person.records_max == 1 ? "each by " + few : "each by the mean over " + few;
}

Result<Unit> parse_unit(std::string_view text) {
  for (const Unit unit : {Unit::Record, Unit::Person, Unit::SensitiveAttribute})
    if (text == to_string(unit)) return unit;
  return Error{ErrorCode::InvalidArgument,
               fmt::format("expected \"{}\", \"{}\" or \"{}\", got \"{}\"", to_string(Unit::Record),
                           to_string(Unit::Person), to_string(Unit::SensitiveAttribute), text)};
}

}  // namespace undertone::releases
