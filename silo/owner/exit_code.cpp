#include "silo/owner/exit_code.hpp"

#include <cstdio>
#include <spdlog/spdlog.h>

#include "shared/base/plain_text.hpp"
#include "shared/base/process_protection.hpp"

namespace undertone::silo {

int fail(const Error& error, ExitCode code) {
  fmt::print(stderr, "undertone-silo: {}\n", error.message);
  return code;
}

void protect_process() {
  if (const Status done = undertone::protect_process(); !done)
    spdlog::warn("process_not_protected reason={}", quoted_text(done.error().message));
}

}  // namespace undertone::silo
