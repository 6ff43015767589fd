#pragma once

#include <cstdint>
#include <string>

#include "shared/base/digest.hpp"

namespace undertone::wire {

/// The head of a silo's ledger as the coordinator keeps it for the silo, which can so notice that its ledger was
/// restored from an old copy. Opaque to the coordinator.
struct Receipt {
  Digest ledger{};  // the hash of its first entry
  std::uint64_t sequence = 0;
  Digest hash{};
  std::string signature;  // by the silo's ledger key
  friend bool operator==(const Receipt&, const Receipt&) = default;
};

}  // namespace undertone::wire
