#include "shared/base/in_parallel.hpp"

#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "shared/base/contained.hpp"

namespace undertone {

void in_parallel(std::size_t workers, const std::function<void(std::size_t worker)>& work) {
  const bool contained_here = Containment::holds();
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&](std::size_t worker) {
    std::optional<Containment> containment;
    if (contained_here) containment.emplace();
    try {
      work(worker);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::size_t started = 1;
  {
    std::vector<std::jthread> threads;
    threads.reserve(workers);
    try {
      for (; started < workers; ++started) threads.emplace_back(guarded, started);
    } catch (const std::system_error& /*no more threads*/) {
    }
    guarded(0);
    for (std::size_t worker = started; worker < workers; ++worker) guarded(worker);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace undertone
