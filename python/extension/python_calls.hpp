#pragma once

#include <exception>
#include <functional>
#include <pybind11/pybind11.h>

#include "shared/base/contained.hpp"
#include "shared/base/result.hpp"

/// What stands between the interpreter and the program: errors become exceptions of undertone.errors, work is done
/// without the interpreter's lock, and an interrupt is heard where the work tells of its stages.
namespace undertone::python {

/// Raises the exception of undertone.errors that is for this code.
[[noreturn]] void raise(const Error& error);

/// Calls a function of Python's from work that goes on without the lock, and remembers what went wrong there: an
/// exception of the function, or an interrupt.
class Listener {
 public:
  explicit Listener(pybind11::object heard) : heard_(std::move(heard)) {}

  /// Called without the lock. @param arguments makes the function's arguments, with the lock
  void call(const std::function<pybind11::tuple()>& arguments);
  /// Whether an interrupt came, or the function failed: then the work is not wanted any longer.
  [[nodiscard]] bool stopped() const noexcept { return failure_ != nullptr; }
  /// With the lock: raises what went wrong, if anything did.
  void raise_if_stopped() const;

 private:
  pybind11::object heard_;  // None: nobody listens, but an interrupt is heard
  std::exception_ptr failure_;
};

/// Does work without the interpreter's lock. A broken invariant or another failure within is raised as
/// undertone.errors.InternalError, and stops no interpreter.
/// @param work returns a Result, whose error is raised
template <class Work>
[[nodiscard]] auto without_lock(Work&& work) {
  auto result = [&] {
    const pybind11::gil_scoped_release released;
    return contained("this call", std::forward<Work>(work));
  }();
  if (!result) raise(result.error());
  return *std::move(result);
}

}  // namespace undertone::python
