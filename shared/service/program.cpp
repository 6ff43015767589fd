#include "shared/service/program.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "shared/service/version.hpp"

namespace undertone::service {

std::string Program::build() const { return fmt::format("{} {}", name_, version()); }

int Program::fail(const Error& error, int code) const {
  fmt::print(stderr, "{}: {}\n", name_, error.message);
  return code;
}

int Program::finished(int code) const {
  constexpr int kNotWritten = 3;  // of commands and services alike: bad input, or files that cannot be read or written
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  fmt::print(stderr, "{}: the output could not be written: {}\n", name_, std::strerror(errno));
  return code == 0 ? kNotWritten : code;
}

}  // namespace undertone::service
