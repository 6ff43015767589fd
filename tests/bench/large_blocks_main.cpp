#include <benchmark/benchmark.h>

#include "shared/base/large_memory.hpp"

/// The benches that are linked with this keep large blocks of memory, as the programs do.
int main(int argc, char** argv) {
  undertone::keep_large_blocks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
