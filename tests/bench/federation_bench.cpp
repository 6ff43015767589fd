#include <cstdio>
#include <spdlog/spdlog.h>
#include <string>

#include "shared/base/large_memory.hpp"
#include "shared/store/wiped_memory.hpp"
#include "tests/bench/federation/benches.hpp"

/// What a federation's transport costs beside the barest program that moves the same bytes: both halves in one run, so
/// that only their ratio counts.
///   federation_bench rounds [SILOS ROUNDS]      small rounds, full durability
///   federation_bench budget [SILOS ROUNDS]      what the time of such rounds goes into, by the programs' own spans
///   federation_bench vectors [SILOS DIMENSION [durable]]  large vectors: transfer and fold alone, or with each reply
///                                               committed at its silo before it leaves
///   federation_bench many [PROCESSES AGENTS ROUNDS]  many agents in few processes
///   federation_bench restarts [SILOS RESTARTS]  a coordinator that is killed and started again in mid-run
///   federation_bench start [RUNS SILOS]         a coordinator with many ended runs in its store opens its ports
///   federation_bench strangers [STRANGERS SILOS ROUNDS]  rounds while strangers hold, drip into and knock at the port
///   federation_bench members [MEBIBYTES SILOS]  what a certificate of each role costs others; fails where that is more
///                                               than docs/threat-model.md says
namespace undertone::bench {
namespace {

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int at, int fallback) { return argc > at ? std::stoi(argv[at]) : fallback; };
  if (what == "rounds") {
    bench_rounds(number(2, 25), number(3, 100), 1, "rounds");
  } else if (what == "budget") {
    bench_budget(number(2, 25), number(3, 200));
  } else if (what == "many") {
    bench_rounds(number(2, 4) * number(3, 50), number(4, 20), number(3, 50), "many");
  } else if (what == "restarts") {
    bench_restarts(number(2, 5), number(3, 10));
  } else if (what == "start") {
    bench_start(number(2, 10'000), number(3, 50));
  } else if (what == "strangers") {
    bench_strangers(number(2, 5000), number(3, 5), number(4, 400));
  } else if (what == "members") {
    return bench_members(static_cast<std::size_t>(number(2, 16)), number(3, 200)) ? 0 : 1;
  } else if (what == "vectors") {
    bench_vectors(number(2, 8), static_cast<std::size_t>(number(3, 10'000'000)),
                  argc > 4 && argv[4] == std::string("durable"));
  } else {
    std::fprintf(stderr,
                 "usage: federation_bench rounds|budget|vectors|many|restarts|start|strangers|members [NUMBERS]\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace undertone::bench

int main(int argc, char** argv) {
  spdlog::set_level(spdlog::level::warn);
  undertone::keep_large_blocks();
  undertone::store::wipe_freed_memory().value();  // as the programs do
  return undertone::bench::run(argc, argv);
}
