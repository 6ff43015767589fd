#include "silo/oracles/secure_randomness.hpp"
#include "silo/owner/command_line.hpp"

int main(int argc, char** argv) {
  using namespace undertone;
  return silo::silo_main(argc, argv, "undertone-silo", crypto::NoiseKind::Secure,
                         [](const SiloId&) { return std::make_unique<silo::SecureRandomness>(); });
}
