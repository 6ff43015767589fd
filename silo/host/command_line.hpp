#pragma once

#include "silo/host/agent.hpp"

namespace undertone::silo {

/// The command line that the shipped agent and its test build share.
[[nodiscard]] int silo_main(int argc, char** argv, const char* program, crypto::NoiseKind noise,
                            const MakeRandomness& make_randomness);

}  // namespace undertone::silo
