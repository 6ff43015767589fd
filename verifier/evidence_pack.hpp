#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "verifier/verification.hpp"

namespace undertone::verifier {

/// One ledger of an evidence pack.
struct PackedLedger {
  std::string dataset;
  LedgerFindings findings;
  bool is_signed = false;  // the manifest is signed by this ledger's key
};

/// What an evidence pack says (docs/evidence.md), and everything that is wrong with it.
struct PackFindings {
  /// One sentence each, safe to print; those of its ledgers among them. Empty if and only if the pack is whole.
  std::vector<std::string> problems;
  std::string silo;
  std::string made_at;
  std::size_t files = 0;
  std::vector<PackedLedger> ledgers;
};

/// Whether a file begins as a ZIP archive does.
[[nodiscard]] bool is_pack(const std::filesystem::path& file);

/// Checks an evidence pack: every file is there, is the manifest's and no other, the manifest is signed by the key of
/// each ledger in it, and each ledger keeps every rule. Signatures are checked with the keys that the ledgers
/// themselves name, so that a pack that was made anew under another key passes unless the key is known from elsewhere.
/// @param folder an empty one, for the ledgers while they are read
/// @param public_key of the silo's ledger, 64 hexadecimal digits, from elsewhere; empty: not known
[[nodiscard]] PackFindings verify_pack(const std::filesystem::path& file, const std::filesystem::path& folder,
                                       const std::string& public_key);

}  // namespace undertone::verifier
