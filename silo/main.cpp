#include "silo/host/command_line.hpp"
#include "silo/oracles/secure_randomness.hpp"

int main(int argc, char** argv) {
  using namespace undertone;
  return silo::silo_main(argc, argv, "undertone-silo", crypto::NoiseKind::Secure,
                         [](const SiloId&) { return std::make_unique<silo::SecureRandomness>(); });
}
