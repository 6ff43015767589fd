#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone {

/// Remembers what the last searches found, so that the next search for the same key takes no time, on any thread. A
/// thread that asks for what another one is searching waits for it, and searches itself where that search fails or is
/// stopped: all that waited do so then, at once. A remembered search charges the work that the first one took. So what
/// a WorkMeter refuses does not depend on what was searched before, nor by whom.
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
    UNDERTONE_TRY(Turn turn, remembered_or_begun(key));
    if (turn.remembered) {
      WorkMeter::charge(turn.remembered->work);
      if (WorkMeter::stopped()) return stopped();
      return std::move(turn.remembered->found);
    }
    const Ending ending(*this, *turn.mine);
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
  /// A search that some thread makes.
  struct UnderWay {
    Key key;
    bool ended = false;
  };
  /// This says what a thread that asks is to do: it takes what is remembered, or it searches.
  struct Turn {
    std::optional<Remembered> remembered;
    std::shared_ptr<UnderWay> mine;
  };
  /// The search of this thread is over when this goes, whatever came of it.
  class Ending {
   public:
    Ending(RememberedSearches& all, UnderWay& mine) : all_(all), mine_(mine) {}
    ~Ending() {
      {
        const std::scoped_lock lock(all_.mutex_);
        mine_.ended = true;
        std::erase_if(all_.under_way_, [&](const auto& one) { return one.get() == &mine_; });
      }
      all_.ended_.notify_all();
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

   private:
    RememberedSearches& all_;
    UnderWay& mine_;
  };

  /// @return an error where a meter stopped the thread while it waited
  [[nodiscard]] Result<Turn> remembered_or_begun(const Key& key) {
    constexpr std::chrono::milliseconds kLook{20};  // how often a thread that waits asks whether it is to stop
    const auto is_for_key = [&key](const auto& one) { return one.key == key; };
    std::unique_lock lock(mutex_);
    const auto found = [&] { return std::find_if(known_.begin(), known_.end(), is_for_key); };
    const auto other =
        std::find_if(under_way_.begin(), under_way_.end(), [&](const auto& one) { return is_for_key(*one); });
    if (found() == known_.end() && other != under_way_.end()) {
      const std::shared_ptr<UnderWay> awaited = *other;
      while (!awaited->ended) {
        if (WorkMeter::stopped()) return stopped();
        ended_.wait_for(lock, kLook);
      }
    }
    if (const auto one = found(); one != known_.end()) return Turn{*one, nullptr};
    auto mine = std::make_shared<UnderWay>(UnderWay{key});
    under_way_.push_back(mine);
    return Turn{std::nullopt, std::move(mine)};
  }

  void remember(Remembered one) {
    const std::scoped_lock lock(mutex_);
    if (std::any_of(known_.begin(), known_.end(), [&](const auto& other) { return other.key == one.key; })) return;
    if (known_.size() == most_) known_.erase(known_.begin());
    known_.push_back(std::move(one));
  }

  [[nodiscard]] static Error stopped() { return {ErrorCode::LimitExceeded, "the search was stopped"}; }

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Remembered> known_;
  std::vector<std::shared_ptr<UnderWay>> under_way_;
};

}  // namespace undertone
