#pragma once

#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "tests/support/memory_head.hpp"

namespace undertone::tests {

/// A ledger's head that a test can hold: whoever commits then waits until it is let go, as if its work took so long.
class HeldHead final : public silo::HeadStore {
 public:
  /// What a commit comes to once it is let go.
  enum class Then { Writes, Fails, Throws };

  Result<std::optional<std::string>> read() override {
    const std::lock_guard lock(mutex_);
    return head_.read();
  }
  Status write(std::string_view head) override {
    std::unique_lock lock(mutex_);
    waits_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    waits_ = false;
    if (then_ == Then::Throws) throw std::runtime_error("this head breaks");
    if (then_ == Then::Fails) return Error{ErrorCode::StorageFailed, "this head takes nothing"};
    return head_.write(head);
  }

  /// From here on commits wait.
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  /// Waits until somebody commits. @pre `hold` was called
  void wait_for_commit() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waits_; });
  }
  void let_go(Then then = Then::Writes) {
    const std::lock_guard lock(mutex_);
    held_ = false;
    then_ = then;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  MemoryHead head_;
  bool held_ = false;
  bool waits_ = false;
  Then then_ = Then::Writes;
};

}  // namespace undertone::tests
