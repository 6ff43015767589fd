#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/base/digest.hpp"
#include "shared/base/ids.hpp"
#include "shared/releases/records.hpp"

namespace undertone::silo {

/// An entry of a release. Nearly every entry of a ledger is one, so it is written and read without a tree of JSON
/// values.
struct ReleasedEntry {
  RunId run{};
  RoundIndex round;
  releases::Block block = releases::Block::Training;
  std::string cost;  // as the run's format spells it
  Digest query{};
  Digest reply{};  // SHA-256 of what was sent
  std::string at;  // the time of the entry; none in ledgers that version 0.1 began
  bool secret_order = true;

  /// The entry's body: JSON with its keys in order and nothing between them, as all entries are written.
  [[nodiscard]] std::string body() const;
  /// Reads what `body` writes, and no other spelling.
  /// @return nothing where it is another entry, or the same in another spelling, which is then for the JSON parser
  [[nodiscard]] static std::optional<ReleasedEntry> read(std::string_view body);
};

/// The block of this name. @return nothing where there is none
[[nodiscard]] std::optional<releases::Block> block_named(std::string_view name);

}  // namespace undertone::silo
