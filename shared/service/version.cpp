#include "shared/service/version.hpp"

namespace undertone::service {

// Defined for this file alone, so that another version compiles nothing else anew.
std::string_view version() noexcept { return UNDERTONE_VERSION; }

}  // namespace undertone::service
