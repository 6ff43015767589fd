#pragma once

#include <cstdint>
#include <string_view>

#include "shared/base/digest.hpp"
#include "shared/base/ids.hpp"

namespace undertone::sealed {

/// A reply that lies on a shuffler's disk.
struct TakenReply {
  RunId run;
  RoundIndex round;
  std::uint32_t attempt = 0;
  SiloId silo;
  Digest terms{};  // terms_digest
};

/// The key of one shuffler's receipts. The coordinator draws a secret for a round and tells each shuffler its own key,
/// so that neither a silo nor another shuffler can make one up. The coordinator itself could: a receipt is what it
/// needs to believe a silo, and proves nothing to anybody else.
[[nodiscard]] Digest receipt_key(const Digest& secret, std::string_view shuffler);

/// What a shuffler gives the silo of a reply that it has taken, and the silo shows the coordinator. It says nothing of
/// the sealed bytes: the coordinator, which has the key, could else try which of the mixed units it is of.
[[nodiscard]] Digest receipt_of(const Digest& key, const TakenReply& taken);

/// Whether the shuffler with this key gave that receipt. In constant time.
[[nodiscard]] bool is_receipt_of(const Digest& key, const TakenReply& taken, const Digest& shown);

}  // namespace undertone::sealed
