#pragma once

#include <algorithm>
#include <benchmark/benchmark.h>
#include <ctime>
#include <vector>

/// This times two ways to do one thing in turns, so that what else the machine does falls on both.
namespace undertone::bench {

/// Counts this thread's time alone, and no other work on the machine.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Operation>
double seconds_of(const Operation& operation) {
  const double begun = thread_seconds();
  operation();
  return thread_seconds() - begun;
}

inline double median_of(std::vector<double> seconds) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

/// Times ours; "ratio" is its median time over the other's, the two taken in turns, either first in every second turn.
template <class Ours, class Other>
void compare(benchmark::State& state, const Ours& ours, const Other& other) {
  ours();
  other();
  std::vector<double> ours_seconds;
  std::vector<double> other_seconds;
  for (auto _ : state) {
    const bool first = ours_seconds.size() % 2 == 0;
    if (!first) other_seconds.push_back(seconds_of(other));
    ours_seconds.push_back(seconds_of(ours));
    if (first) other_seconds.push_back(seconds_of(other));
    state.SetIterationTime(ours_seconds.back());
  }
  state.counters["ratio"] = median_of(ours_seconds) / median_of(other_seconds);
}

}  // namespace undertone::bench
