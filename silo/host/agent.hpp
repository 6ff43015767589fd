#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "shared/base/ids.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

using MakeRandomness = std::function<std::unique_ptr<ReleaseRandomness>(const SiloId&)>;

/// Opens data and ledger and serves until SIGINT or SIGTERM.
/// @param profile whether the log says at the end what the time went into
/// @return an exit code
[[nodiscard]] int run_agent(const std::filesystem::path& config_file, const MakeRandomness& make_randomness,
                            bool profile);

}  // namespace undertone::silo
