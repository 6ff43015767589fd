#include <algorithm>
#include <fmt/core.h>

#include "coordinator/runs/run_store.hpp"
#include "shared/base/large_memory.hpp"
#include "tests/bench/federation/benches.hpp"
#include "tests/bench/federation/parts.hpp"

namespace undertone::bench {

void bench_rounds(int silos, int rounds, int per_process, const char* name) {
  const tests::TemporaryFolder folder;
  tests::Certificates certificates("bench");
  const Work work = make_work(silos, rounds, 50);
  // The same bytes as a round's query and reply of 51 numbers on the wire.
  BareLoad load{silos, rounds, 530, 580, 1};
  const double bare = bare_seconds(certificates, load, per_process, folder.path()) / rounds;
  load.commits = 2;  // as many as a ledger and its head take
  const double committed = bare_seconds(certificates, load, per_process, folder.path()) / rounds;
  std::int64_t before = 0;  // anybody connects
  const std::vector<double> latencies =
      run_federation(certificates, work, per_process, folder.path(), [&](std::uint16_t) -> std::optional<pid_t> {
        give_back_freed_memory();
        forget_most_resident();
        before = resident_bytes();
        return std::nullopt;
      });
  fmt::print("{}: {} silos, {} to a process, d = 51, every commit synced\n", name, silos, per_process);
  fmt::print("  bare fan-out   {:8.2f} ms a round, one synced write for an answer\n", 1e3 * bare);
  fmt::print("  the same       {:8.2f} ms a round, two\n", 1e3 * committed);
  fmt::print("  federation     {:8.2f} ms a round (median {:.2f})\n", 1e3 * mean(latencies), 1e3 * median(latencies));
  fmt::print("  ratio of rates {:.2f}, {:.2f}\n", bare / mean(latencies), committed / mean(latencies));
  const std::int64_t grew = most_resident_bytes() - before;
  fmt::print("  coordinator's peak {:.0f} MB, with the silos' records that it made; it grew by {:.1f} KiB a silo\n",
             static_cast<double>(peak_bytes()) / 1e6, static_cast<double>(grew) / 1024.0 / silos);
}

void bench_restarts(int silos, int restarts) {
  const tests::TemporaryFolder folder;
  tests::Certificates certificates("bench");
  const int rounds = 40 * restarts + 40;
  const Work work = make_work(silos, rounds, 50, 0.5);  // a sampled job: its plans take their time
  for (const simulation::SimulatedSilo& silo : work.silos) (void)certificates.silo(silo.id.name());
  (void)certificates.hub();
  const Pipe told;
  const auto hear = [&told] { return told.read<std::uint64_t>(); };
  pid_t coordinator = coordinator_in_child(certificates, &work.job, 0, folder.path(), told);
  const auto port = static_cast<std::uint16_t>(hear());
  const Pipe ready;
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < work.silos.size(); ++i) {
    children.push_back(agents_in_child(certificates, work, i, 1, ready, folder.path()));
    ready.write(port);
  }
  std::vector<double> gaps;
  std::vector<double> silo_gaps;
  std::vector<double> latencies;
  std::uint64_t round = hear();
  const auto go_on = [&](int to) {
    while (round < std::uint64_t{20} * static_cast<std::uint64_t>(to)) {
      const auto since = Clock::now();
      round = hear();
      latencies.push_back(seconds_since(since));
    }
  };
  for (int restart = 1; restart <= restarts; ++restart) {
    go_on(restart);
    const auto killed = Clock::now();
    kill_all({coordinator});
    coordinator = coordinator_in_child(certificates, nullptr, port, folder.path(), told);
    while (hear() != port) {  // rounds that the first one closed before it died
    }
    round = hear();
    gaps.push_back(seconds_since(killed));
  }
  // Every round waits for every silo. The first that closes may have had the silo's answer before it died.
  for (int restart = restarts + 1; restart <= 2 * restarts; ++restart) {
    go_on(restart);
    const auto killed = Clock::now();
    kill_all({children.front()});
    while (told.holds()) (void)hear();
    children.front() = agents_in_child(certificates, work, 0, 1, ready, folder.path());
    ready.write(port);
    (void)hear();
    round = hear();
    silo_gaps.push_back(seconds_since(killed));
  }
  children.push_back(coordinator);
  kill_all(children);
  fmt::print("restarts: {} silos, d = 51, half of the records drawn, every commit synced, {} kills\n", silos, restarts);
  fmt::print("  a round                        {:8.2f} ms (median)\n", 1e3 * median(latencies));
  fmt::print("  from a kill to the next round  {:8.2f} ms (median), {:.2f} at most\n", 1e3 * median(gaps),
             1e3 * *std::max_element(gaps.begin(), gaps.end()));
  fmt::print("  from a silo's to the next but one {:5.2f} ms (median), {:.2f} at most; its records are not loaded\n",
             1e3 * median(silo_gaps), 1e3 * *std::max_element(silo_gaps.begin(), silo_gaps.end()));
}

void bench_start(int runs, int silos) {
  const tests::TemporaryFolder folder;
  tests::Certificates certificates("bench");
  (void)certificates.hub();
  const Work work = make_work(silos, 1, 50);
  {
    store::Database database =
        store::Database::open(folder.path() / "store.sqlite", store::Database::Sync::Normal).value();
    coordinator::RunStore store = coordinator::RunStore::open(database).value();
    std::vector<SiloId> cohort;
    for (const simulation::SimulatedSilo& silo : work.silos) cohort.push_back(silo.id);
    for (int i = 0; i < runs; ++i) {
      const std::string job = work.job + std::string(static_cast<std::size_t>(i), ' ');  // each its own digest
      const RunId run{sha256(job), {static_cast<std::uint8_t>(i)}};
      must(store.begin(run, "bench", work.job, cohort, "", 1).has_value(), "begin");
      must(store.set_joining(run).has_value(), "joining");
      for (const SiloId& silo : cohort)
        must(store.record_answer(run, silo, std::nullopt, {}, {}).has_value(), "answer");
      must(store.fail(run, coordinator::RunState::Failed, "for the bench").has_value(), "fail");
      must(store.set_ended_at(run, 2).has_value(), "ended");
    }
  }
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    const Pipe told;
    const auto since = Clock::now();
    const pid_t coordinator = coordinator_in_child(certificates, nullptr, 0, folder.path(), told);
    (void)told.read<std::uint64_t>();
    seconds.push_back(seconds_since(since));
    kill_all({coordinator});
  }
  fmt::print("start: {} ended runs of {} silos in the store\n  until the ports are open {:.0f} ms (median of {})\n",
             runs, silos, 1e3 * median(seconds), seconds.size());
}

}  // namespace undertone::bench
