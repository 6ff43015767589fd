#include "coordinator/rounds/round.hpp"

namespace undertone::coordinator {

std::string_view to_string(Round::Reception reception) noexcept {
  switch (reception) {
    case Round::Reception::Accepted:
      return "accepted";
    case Round::Reception::Duplicate:
      return "duplicate";
    case Round::Reception::Late:
      return "late";
    case Round::Reception::Foreign:
      return "foreign";
    case Round::Reception::Misshapen:
      return "misshapen";
    case Round::Reception::Implausible:
      return "implausible";
  }
  return "";
}

}  // namespace undertone::coordinator
