#include <array>
#include <atomic>
#include <fmt/core.h>
#include <numeric>
#include <sys/mman.h>
#include <sys/resource.h>

#include "shared/base/spans.hpp"
#include "tests/bench/federation/benches.hpp"
#include "tests/bench/federation/parts.hpp"

namespace undertone::bench {
namespace {

/// What one side of the wire has done.
struct Side {
  SpanTotals spans;
  std::atomic<std::uint64_t> allocations{0};
};
/// Where all processes count; they are forked from this one.
struct Counted {
  Side coordinator;
  Side silos;
};
std::atomic<std::atomic<std::uint64_t>*> allocations_counted_in{nullptr};

void count_in(Side& side) {
  count_spans_in(&side.spans);
  allocations_counted_in.store(&side.allocations);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// What one side has done so far: the activities, then what no span counts.
struct Spent {
  std::array<double, kActivities> times{};
  std::array<double, kActivities> us{};
  double user_us = 0.0;
  double system_us = 0.0;
  double allocations = 0.0;

  static Spent of(const Side& side, int who) {
    Spent out;
    for (std::size_t i = 0; i < kActivities; ++i) {
      out.times[i] = static_cast<double>(side.spans.of[i].times.load());
      out.us[i] = 1e-3 * static_cast<double>(side.spans.of[i].nanoseconds.load());
    }
    rusage usage{};
    ::getrusage(who, &usage);
    out.user_us = 1e6 * seconds(usage.ru_utime);
    out.system_us = 1e6 * seconds(usage.ru_stime);
    out.allocations = static_cast<double>(side.allocations.load());
    return out;
  }
  /// What was added since `before`, an answer.
  [[nodiscard]] Spent since(const Spent& before, double answers) const {
    Spent out;
    for (std::size_t i = 0; i < kActivities; ++i) {
      out.times[i] = (times[i] - before.times[i]) / answers;
      out.us[i] = (us[i] - before.us[i]) / answers;
    }
    out.user_us = (user_us - before.user_us) / answers;
    out.system_us = (system_us - before.system_us) / answers;
    out.allocations = (allocations - before.allocations) / answers;
    return out;
  }
};

}  // namespace

void bench_budget(int silos, int rounds) {
  void* memory = ::mmap(nullptr, sizeof(Counted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  must(memory != MAP_FAILED, "mmap");
  Counted& counted = *new (memory) Counted();
  tests::Certificates certificates("bench");
  for (int i = 0; i < silos; ++i) (void)certificates.silo(silo_id(i).name());
  (void)certificates.hub();
  std::array<Spent, 3> coordinator;
  std::array<Spent, 3> silo;
  const auto look = [&](std::size_t at) {
    coordinator[at] = Spent::of(counted.coordinator, RUSAGE_SELF);
    silo[at] = Spent::of(counted.silos, RUSAGE_CHILDREN);
  };
  double latency = 0.0;
  // One run of so many rounds and one of twice as many: what both begin with cancels.
  for (std::size_t run = 0; run < 2; ++run) {
    const tests::TemporaryFolder folder;
    const Work work = make_work(silos, rounds * static_cast<int>(run + 1), 50);
    look(run);
    count_in(counted.silos);
    const std::vector<double> latencies =
        run_federation(certificates, work, 1, folder.path(), [&](std::uint16_t) -> std::optional<pid_t> {
          count_in(counted.coordinator);
          return std::nullopt;
        });
    latency = mean(latencies);
    if (run == 1) look(2);
  }
  count_spans_in(nullptr);
  allocations_counted_in.store(nullptr);
  const double answers = static_cast<double>(silos) * rounds;
  const auto of_one = [&](const std::array<Spent, 3>& side) {
    return side[2].since(side[1], answers).since(side[1].since(side[0], answers), 1.0);
  };
  const Spent at_silo = of_one(silo);
  const Spent at_coordinator = of_one(coordinator);
  fmt::print("budget: {} silos, d = 51, {:.2f} ms a round; of an answer:\n", silos, 1e3 * latency);
  fmt::print("  {:<16}{:>16}{:>10}{:>22}{:>10}\n", "", "at its silo, us", "times", "at the coordinator, us", "times");
  for (std::size_t i = 0; i < kActivities; ++i) {
    fmt::print("  {:<16}{:>16.1f}{:>10.1f}{:>22.1f}{:>10.1f}\n", name_of(static_cast<Activity>(i)), at_silo.us[i],
               at_silo.times[i], at_coordinator.us[i], at_coordinator.times[i]);
  }
  fmt::print("  {:<16}{:>16.1f}{:>10}{:>22.1f}\n", "processor, user", at_silo.user_us, "", at_coordinator.user_us);
  fmt::print("  {:<16}{:>16.1f}{:>10}{:>22.1f}\n", "and the kernel", at_silo.system_us, "", at_coordinator.system_us);
  fmt::print("  {:<16}{:>16.1f}{:>10}{:>22.1f}\n", "allocations", at_silo.allocations, "", at_coordinator.allocations);
  ::munmap(memory, sizeof(Counted));
}

}  // namespace undertone::bench

extern "C" {
// glibc's own, whose place ours takes, so that what libraries allocate is counted, too.
void* __libc_malloc(std::size_t bytes);  // NOLINT(bugprone-reserved-identifier)

void* malloc(std::size_t bytes) {
  if (std::atomic<std::uint64_t>* count = undertone::bench::allocations_counted_in.load(std::memory_order_relaxed))
    count->fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
}
