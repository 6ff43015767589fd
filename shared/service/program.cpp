#include "shared/service/program.hpp"

#include <cstdio>

#include "shared/service/version.hpp"

namespace undertone::service {

std::string Program::build() const { return fmt::format("{} {}", name_, version()); }

int Program::fail(const Error& error, int code) const {
  fmt::print(stderr, "{}: {}\n", name_, error.message);
  return code;
}

}  // namespace undertone::service
