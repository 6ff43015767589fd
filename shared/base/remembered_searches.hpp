#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone {

/// Remembers what the last searches found, so that the next search for the same key takes no time, on any thread. A
/// thread that asks for what another one is searching waits for it, and searches itself where that search fails or is
/// stopped. A remembered search charges the work that the first one took. So what a WorkMeter refuses does not depend
/// on what was searched before, nor by whom.
/// @tparam Key holds everything that a search depends on; keys are compared with ==
/// @tparam Found may be used by several threads at once
template <class Key, class Found>
class RememberedSearches {
 public:
  /// @param most searches that are remembered; the oldest one is forgotten first
  explicit RememberedSearches(std::size_t most) : most_(most) {}

  /// @param search returns a Result<Found>, as a pure function of the key; it does not ask for the same key again
  /// @return what was found; an error where the search fails, or where a WorkMeter of the thread stopped it
  template <class Search>
  [[nodiscard]] Result<Found> find(const Key& key, Search&& search) {
    UNDERTONE_TRY(std::optional<Remembered> one, remembered_or_begun(key));
    if (one) {
      WorkMeter::charge(one->work);
      if (WorkMeter::stopped()) return stopped();
      return std::move(one->found);
    }
    const UnderWay mine(*this, key);
    const WorkMeter work(UINT64_MAX);
    Result<Found> found = search();
    // A search that was stopped may have passed over an accountant: what it found is not what there is.
    if (WorkMeter::stopped()) return stopped();
    if (found) remember({key, *found, work.done()});
    return found;
  }

 private:
  struct Remembered {
    Key key;
    Found found;
    std::uint64_t work;
  };
  /// A search that this thread makes: it is over when this goes, whatever came of it.
  class UnderWay {
   public:
    UnderWay(RememberedSearches& all, const Key& key) : all_(all), key_(key) {}
    ~UnderWay() {
      {
        const std::scoped_lock lock(all_.mutex_);
        std::erase(all_.under_way_, key_);
      }
      all_.ended_.notify_all();
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

   private:
    RememberedSearches& all_;
    const Key& key_;
  };

  /// Nothing where this thread is to search: the key is then under way. @return an error where a meter stopped the
  /// thread while it waited
  [[nodiscard]] Result<std::optional<Remembered>> remembered_or_begun(const Key& key) {
    constexpr std::chrono::milliseconds kLook{20};  // how often a thread that waits asks whether it is to stop
    std::unique_lock lock(mutex_);
    while (true) {
      const auto found = std::find_if(known_.begin(), known_.end(), [&](const auto& one) { return one.key == key; });
      if (found != known_.end()) return std::optional(*found);
      if (std::find(under_way_.begin(), under_way_.end(), key) == under_way_.end()) break;
      if (WorkMeter::stopped()) return stopped();
      ended_.wait_for(lock, kLook);
    }
    under_way_.push_back(key);
    return std::optional<Remembered>();
  }

  void remember(Remembered one) {
    const std::scoped_lock lock(mutex_);
    if (known_.size() == most_) known_.erase(known_.begin());
    known_.push_back(std::move(one));
  }

  [[nodiscard]] static Error stopped() { return {ErrorCode::LimitExceeded, "the search was stopped"}; }

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Remembered> known_;
  std::vector<Key> under_way_;
};

}  // namespace undertone
