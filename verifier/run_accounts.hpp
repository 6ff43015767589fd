#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verifier/ledger_body.hpp"
#include "verifier/ledger_texts.hpp"
#include "verifier/problems.hpp"
#include "verifier/verification.hpp"

namespace undertone::verifier {

/// A row that an entry promises in `jobs` or `replies`.
struct Promise {
  std::int64_t sequence = 0;
  Bytes digest;
  Bytes query;
  bool kept = false;
};

/// Rules 1 to 4 and 6 to 13; the promises are for rule 5.
class RunAccounts {
 public:
  /// @param problems outlives this
  explicit RunAccounts(Problems& problems) : problems_(problems) {}

  /// By run, of those that were not returned.
  std::map<Bytes, Promise> jobs;
  /// By run and round.
  std::map<std::pair<Bytes, std::int64_t>, Promise> replies;

  /// Entries are told in their order.
  /// @param fields well-formed
  void add(std::int64_t sequence, const Fields& fields);

  /// Of the reservation that comes next.
  [[nodiscard]] Format format() const { return format_; }

  /// Adds the runs and what they sum up to.
  void report(LedgerFindings& findings) const;

 private:
  /// Releases that are equal, and how many of them are left.
  struct Listed {
    Cost each;
    UInt128 left = 0;
    UInt128 steps = 1;  // draws of noise that each is made of
  };
  struct Block {
    Cost reserved;
    Cost spent;
    std::vector<Listed> listed;  // empty where nothing is charged, or in the first format nothing is sampled
    std::size_t next = 0;
    bool with_replacement = false;  // of some release of the list
    UInt128 failure = 0;            // that the costs of all its releases do not hold, of 2^-80
    long double overflow = 0;       // a total variation: of bins that more records drew than they have rows for
  };
  /// Crosses off the next release of the list that has this cost. @return how many draws of noise it is made of, 1
  /// without a list; nothing if no release may have it
  static std::optional<UInt128> cross_off(Block& block, const Cost& cost);

  struct Run {
    std::string name;
    UInt128 epsilon = 0;
    UInt128 delta = 0;
    UInt128 mechanism_delta = 0;
    Block training;
    Block holdout;
    std::int64_t round_last = -1;
    std::uint64_t releases = 0;
    std::string state = "open";
    bool filtered = false;
    Format format = Format::One;
  };
  /// What the releases of accepted runs are charged to.
  struct Filter {
    UInt128 limit = 0;
    UInt128 training = 0;  // with what was spent before the last change of content
    UInt128 holdout = 0;
    UInt128 draws = 0;
  };

  void upgrade(std::int64_t sequence, const Fields& fields);
  void amend(std::int64_t sequence);
  void start_filter(std::int64_t sequence, const Fields& fields);
  void charge_filter(std::int64_t sequence, const std::string& block, const Cost& cost, const Run& run, UInt128 draws);
  void reserve(std::int64_t sequence, const Fields& fields);
  void check_guarantee(std::int64_t sequence, Run& run, const Fields& fields);
  /// Whether delta leaves what the draws of noise may be off their law. The lists have been read.
  void check_implementation(std::int64_t sequence, const Run& run, const std::optional<ShuffledRun>& shuffled);
  /// @param whose begins the sentence of a problem
  void check_plain(std::int64_t sequence, const std::string& whose, const Run& run, UInt128 shift_squared);
  /// @param releases the block's, as the entry says it
  void check_listed(std::int64_t sequence, const Run& run, Block& block, const std::string& releases,
                    const std::optional<ShuffledRun>& shuffled);
  /// @param groups of a block that names bins
  void check_binned(std::int64_t sequence, const Run& run, Block& block, const std::vector<ReleaseGroup>& groups,
                    const std::string& releases, bool shuffled);
  void promise_reply(std::int64_t sequence, const Fields& fields);
  void release(std::int64_t sequence, const Fields& fields, Run& run);
  void close(std::int64_t sequence, const std::string& kind, Run& run);

  /// Smallest epsilon of what was spent of a block, at most what was reserved, which it is wherever nothing less is
  /// known.
  static long double epsilon_spent(const Run& run, const Block& block);

  Problems& problems_;
  Format format_ = Format::One;
  bool holdout_is_public_ = false;   // as the last entry that tells says
  bool has_public_records_ = false;  // that were declared public when the data set was added
  std::vector<Run> runs_;
  std::map<std::string, std::size_t> index_;
  std::set<std::string> open_;
  std::optional<Filter> filter_;
  UInt128 filters_epsilon_ = 0;  // of all filters, the present one and those before
  UInt128 filters_delta_ = 0;
};

}  // namespace undertone::verifier
