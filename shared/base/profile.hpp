#pragma once

#include <chrono>
#include <memory>

#include "shared/base/spans.hpp"

namespace undertone {

/// Counts what the process does with its time while this lives, and logs it at the end: one line an activity, and one
/// with the processor's time of the whole process. Times tell of records: the log stays with whoever owns them.
class Profile {
 public:
  /// @param wanted otherwise nothing is counted
  explicit Profile(bool wanted);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

 private:
  std::unique_ptr<SpanTotals> totals_;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace undertone
