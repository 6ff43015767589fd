#include <cstdio>
#include <exception>
#include <fmt/format.h>

#include "shared/service/program.hpp"
#include "shuffler/host/command_line.hpp"

int main(int argc, char** argv) {
  try {
    return undertone::service::kShuffler.finished(undertone::shuffler::shuffler_main(argc, argv));
  } catch (const std::exception& exception) {
    fmt::print(stderr, "undertone-shuffler: {}\n", exception.what());
    return 3;
  }
}
