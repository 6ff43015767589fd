#include <cstdlib>
#include <string>

#include "silo/host/command_line.hpp"
#include "silo/oracles/test_randomness.hpp"

/// The test build of the agent: seeded noise from UNDERTONE_TEST_SEED. It takes part in jobs that ask for test noise
/// and in no others, keeps ledgers that say so, and every statement it writes is void.
int main(int argc, char** argv) {
  using namespace undertone;
  const char* text = std::getenv("UNDERTONE_TEST_SEED");
  const std::uint64_t seed = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  return silo::silo_main(argc, argv, "undertone-silo-test", crypto::NoiseKind::Test,
                         [seed](const SiloId& silo) { return std::make_unique<silo::TestRandomness>(seed, silo); });
}
