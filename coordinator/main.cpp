#include <cstdio>
#include <exception>
#include <fmt/format.h>

#include "coordinator/host/command_line.hpp"
#include "shared/base/large_memory.hpp"
#include "shared/service/program.hpp"

int main(int argc, char** argv) {
  undertone::keep_large_blocks();
  try {
    return undertone::service::kCoordinator.finished(undertone::coordinator::coordinator_main(argc, argv));
  } catch (const std::exception& exception) {
    fmt::print(stderr, "undertone-coordinator: {}\n", exception.what());
    return 3;
  }
}
