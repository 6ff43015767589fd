#include "silo/owner/exit_code.hpp"

#include <spdlog/spdlog.h>

#include "shared/base/plain_text.hpp"
#include "shared/base/process_protection.hpp"
#include "shared/service/program.hpp"

namespace undertone::silo {

int fail(const Error& error, service::ServiceExit::Code code) { return service::kSilo.fail(error, code); }

void protect_process() {
  if (const Status done = undertone::protect_process(); !done)
    spdlog::warn("process_not_protected reason={}", quoted_text(done.error().message));
}

}  // namespace undertone::silo
