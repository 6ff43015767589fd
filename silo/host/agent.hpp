#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "shared/base/ids.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

using MakeRandomness = std::function<std::unique_ptr<ReleaseRandomness>(const SiloId&)>;

/// Opens data and ledger and serves until SIGINT or SIGTERM. @return an exit code
[[nodiscard]] int run_agent(const std::filesystem::path& config_file, const MakeRandomness& make_randomness);

}  // namespace undertone::silo
