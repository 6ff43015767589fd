#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace undertone::verifier {

/// What a ledger says of one run, whether or not it keeps the rules.
struct RunFindings {
  /// 96 lower-case hexadecimal digits.
  std::string run;
  /// The whole job's cost, dimensionless. It counts unless `state` is "returned" or the data set had a filter.
  double epsilon_reserved = 0;
  double delta_reserved = 0;
  /// The odometer: smallest epsilon whose Gaussian profile is at most the run's `mechanism_delta`, at mu^2 = the larger
  /// of what the releases of either block add up to, at most what was reserved. 0 if that is nothing; all that was
  /// reserved if it is something and the run may draw a record several times, or its releases are of several laws or
  /// known by their rho alone. Where all are epsilon-DP it is the sum of their epsilons.
  double epsilon_spent = 0;
  std::uint64_t releases = 0;
  /// "open", "ended" or "returned".
  std::string state;
};

/// What a ledger says, and everything that is wrong with it.
struct LedgerFindings {
  /// One sentence each, safe to print; at most 100. Empty if and only if every rule holds. When the list is full the
  /// ledger is not read further, and the other members describe the part before.
  std::vector<std::string> problems;
  /// As in the opening entry, unescaped; empty without a readable one.
  std::string dataset;
  /// "secure" or "test"; empty without a readable opening entry.
  std::string noise;
  /// "record" or "person": whom each charge protects; empty without a readable opening entry.
  std::string unit;
  /// 64 lower-case hexadecimal digits; empty without a readable opening entry.
  std::string public_key;
  /// By which a ledger is known elsewhere: the hash of entry 1 as stored, 64 lower-case hexadecimal digits. Empty if
  /// unreadable.
  std::string ledger;
  /// Entries found, which is the last one's sequence when none is missing.
  std::uint64_t entries = 0;
  /// 64 lower-case hexadecimal digits as stored in the last entry; empty if there is none.
  std::string head_hash;
  /// What the data set has been charged, decimal, in units of 2^-40 and 2^-80; 2^128 - 1 if the sum is more. Empty, not
  /// zero, where the tables could not be read.
  std::string epsilon_units;
  std::string delta_units;
  /// The same totals, dimensionless, rounded to nearest.
  double epsilon = 0;
  double delta = 0;
  /// In the order of their reservations.
  std::vector<RunFindings> runs;
};

/// What the caller knows from elsewhere. Signatures are checked with the key that the ledger itself names, so without
/// `public_key` or a head kept out of reach, a ledger that was rewritten whole under another key passes.
struct LedgerExpectations {
  /// The head file. A path without a file is a problem once the ledger has more than one entry.
  std::optional<std::filesystem::path> head;
  std::optional<std::string> dataset;
  /// 64 hexadecimal digits of either case.
  std::optional<std::string> public_key;
};

/// Checks a ledger against every rule of docs/ledger-format.md, in code shared with nothing that writes one. Whatever
/// the file holds, failing is a line in `problems`; no exception leaves.
///
/// The file is opened read-only and read as one snapshot, its write-ahead log included, so a silo may go on writing
/// (SQLite needs to create the log's index beside a database in that mode, so such a copy cannot lie in a read-only
/// directory). The head file is read first: a commit in between leaves it one entry behind, as the rules allow.
[[nodiscard]] LedgerFindings verify_ledger(const std::filesystem::path& ledger, const LedgerExpectations& expectations);

}  // namespace undertone::verifier
