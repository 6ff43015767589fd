#include "shared/releases/unit.hpp"

namespace undertone::releases {

std::string_view to_string(Unit unit) noexcept {
  switch (unit) {
    case Unit::Record:
      return "record";
  }
  return "";
}

Result<Unit> parse_unit(std::string_view text) {
  if (text == to_string(Unit::Record)) return Unit::Record;
  return Error{ErrorCode::InvalidArgument, fmt::format("expected \"{}\", got \"{}\"", to_string(Unit::Record), text)};
}

}  // namespace undertone::releases
