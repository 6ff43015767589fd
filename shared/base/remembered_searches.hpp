#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone {

/// Remembers what the last searches found, so that the next search for the same key takes no time. A remembered search
/// charges the work that the first one took. So what a WorkMeter refuses does not depend on what its thread did before.
/// @tparam Key holds everything that a search depends on; keys are compared with ==
template <class Key, class Found>
class RememberedSearches {
 public:
  /// @param most searches that are remembered; the oldest one is forgotten first
  explicit RememberedSearches(std::size_t most) : most_(most) {}

  /// @param search returns a Result<Found>, as a pure function of the key
  /// @return what was found; an error where the search fails, or where a WorkMeter of the thread stopped it
  template <class Search>
  [[nodiscard]] Result<Found> find(const Key& key, Search&& search) {
    for (const Remembered& one : known_) {
      if (!(one.key == key)) continue;
      WorkMeter::charge(one.work);
      if (WorkMeter::stopped()) return stopped();
      return one.found;
    }
    const WorkMeter work(UINT64_MAX);
    Result<Found> found = search();
    // A search that was stopped may have passed over an accountant: what it found is not what there is.
    if (WorkMeter::stopped()) return stopped();
    if (!found) return found;
    if (known_.size() == most_) known_.erase(known_.begin());
    known_.push_back({key, *found, work.done()});
    return found;
  }

 private:
  struct Remembered {
    Key key;
    Found found;
    std::uint64_t work;
  };

  [[nodiscard]] static Error stopped() { return {ErrorCode::LimitExceeded, "the search was stopped"}; }

  std::size_t most_;
  std::vector<Remembered> known_;
};

}  // namespace undertone
