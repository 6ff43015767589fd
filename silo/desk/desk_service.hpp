#pragma once

#include <cstdint>

#include "silo/owner/owner_commands.hpp"

namespace undertone::silo {

/// Serves the owner's page on loopback until SIGINT or SIGTERM, and prints the one address that opens it. The address
/// is good for one browser. It reads and writes the files that the owner's commands do, beside the running agent.
/// @param port 0: any that is free @return the exit code
[[nodiscard]] int serve_desk(const OwnerOptions& options, std::uint16_t port);

}  // namespace undertone::silo
