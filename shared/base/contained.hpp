#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "shared/base/result.hpp"

namespace undertone {

/// An invariant of the program that was found broken within the work of one job.
class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// While one lives, a broken invariant on its thread is thrown as BrokenInvariant and does not stop the process.
class Containment {
 public:
  Containment() noexcept { ++depth_; }
  ~Containment() { --depth_; }
  Containment(const Containment&) = delete;
  Containment& operator=(const Containment&) = delete;
  [[nodiscard]] static bool holds() noexcept { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

/// Does work of one job that owns all that it changes, such as its algorithm's step or its plan. Whatever breaks there,
/// an invariant, a library's exception or a lack of memory, becomes an error of that job: no job ends a service.
/// After an error, the caller must not use the things that the work was changing. Work on something that several jobs
/// share, such as a store, must not be done this way.
/// @param what of the job, for the error
/// @param work returns a Result or a Status
template <class Work>
[[nodiscard]] auto contained(const char* what, Work&& work) -> decltype(work()) {
  const Containment containment;
  try {
    return work();
  } catch (const std::exception& failure) {
    return Error{ErrorCode::Internal, fmt::format("{} failed within the program: {}", what, failure.what())};
  }
}

}  // namespace undertone
