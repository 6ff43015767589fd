#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/federation/victim.hpp"

namespace undertone::bench {

/// How large the attacks are.
struct AttackSize {
  std::size_t mebibytes = 16;  // said by a member who may say as much as it likes
  int silos = 200;             // of jobs that are expensive to plan
  int tries = 8;               // of the search for the dearest job of a kind
  std::size_t of_kinds = 1;    // every so many-th kind of job alone
  std::chrono::milliseconds settle{1500};
};

/// What an attack may cost others at most. docs/threat-model.md, "What a member costs others", has the same.
struct Ceiling {
  std::uint64_t bytes = 0;   // that are taken before the connection ends; 0: it may stay
  double seconds = 0.0;      // of the protocol thread
  double longest = 0.0;      // of them at a stretch
  std::uint64_t memory = 0;  // bytes, at any time
  std::string from;          // the constants that it follows from
};

/// One attack by whoever has a certificate, on a program of its own.
struct Attacked {
  std::string attacker;
  std::string victim;
  std::string what;
  std::uint64_t said = 0;  // bytes
  Suffered suffered;
  Ceiling ceiling;
};

[[nodiscard]] std::vector<Attacked> silo_attacks_coordinator(tests::Certificates& certificates, const AttackSize& size);
[[nodiscard]] std::vector<Attacked> operator_attacks_coordinator(tests::Certificates& certificates,
                                                                 const AttackSize& size);
[[nodiscard]] std::vector<Attacked> shuffler_attacks(tests::Certificates& certificates, const AttackSize& size);
[[nodiscard]] std::vector<Attacked> silo_attacks_shuffler(tests::Certificates& certificates, const AttackSize& size);
[[nodiscard]] std::vector<Attacked> coordinator_attacks_shuffler(tests::Certificates& certificates,
                                                                 const AttackSize& size);
[[nodiscard]] std::vector<Attacked> coordinator_attacks_silo(tests::Certificates& certificates, const AttackSize& size);
/// The dearest legal job of every kind that a search finds: submitted by an operator, offered to a silo and a shuffler.
[[nodiscard]] std::vector<Attacked> jobs_of_every_kind(tests::Certificates& certificates, const AttackSize& size);

}  // namespace undertone::bench
