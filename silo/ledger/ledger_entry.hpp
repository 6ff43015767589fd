#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "shared/base/digest.hpp"
#include "shared/base/ids.hpp"
#include "shared/crypto/noise_kind.hpp"
#include "shared/planning/plan.hpp"
#include "shared/store/sqlite.hpp"
#include "silo/ledger/ledger_format.hpp"

namespace undertone::silo {

/// A row of the ledger's table of entries. Format: docs/ledger-format.md.
struct LedgerEntry {
  std::uint64_t sequence = 0;
  Digest previous{};
  std::string body;
  Digest hash{};
  std::string signature;
};

/// Calls `each`, which may keep the entry, with every one in order as it stands on disk, nothing checked but the
/// lengths of the digests.
[[nodiscard]] Status each_entry(store::Database& database, const std::function<Status(LedgerEntry&)>& each);

[[nodiscard]] Digest entry_hash(std::uint64_t sequence, const Digest& previous, std::string_view body);
/// What is signed when an entry is the head.
[[nodiscard]] std::string head_message(const Digest& ledger, std::uint64_t sequence, const Digest& hash);
/// The head file holds this line while the entry is the newest. It is JSON with its keys in order.
[[nodiscard]] std::string head_text(const LedgerEntry& entry);
[[nodiscard]] const char* noise_name(crypto::NoiseKind noise);
[[nodiscard]] Error corrupt(std::uint64_t sequence, const std::string& what);

struct EntryFields {
  const nlohmann::json& body;
  bool good = true;

  std::string text(const char* key) {
    const auto found = body.find(key);
    if (found == body.end() || !found->is_string()) {
      good = false;
      return {};
    }
    return found->get<std::string>();
  }
  template <class T>
  T value(Result<T> parsed) {
    if (!parsed) {
      good = false;
      return T{};
    }
    return *parsed;
  }
  /// A round or a sequence: below 2^63.
  std::uint64_t index(const char* key) {
    const releases::UInt128 found = value(releases::parse_decimal(text(key)));
    if (found > INT64_MAX) good = false;
    return static_cast<std::uint64_t>(found);
  }
  RunId run() { return value(RunId::from_hex(text("run"))); }
  template <class Amount>
  Amount amount(const char* key) {
    return value(Amount::parse(text(key)));
  }
  releases::Cost cost(const char* key, LedgerFormat format) { return value(parse_cost(text(key), format)); }
};

}  // namespace undertone::silo
