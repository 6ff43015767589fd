#include "shared/base/process_protection.hpp"

#include <cerrno>
#include <cstring>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace undertone {

Status protect_process() {
  ::umask(077);
  const rlimit no_core{0, 0};
  // The limit alone would not do: the kernel pipes a core to a program that collects them whatever the limit is.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0 || ::setrlimit(RLIMIT_CORE, &no_core) != 0) {
    return Error{ErrorCode::Internal,
                 fmt::format("this process cannot be kept from dumping its memory: {}", std::strerror(errno))};
  }
  return {};
}

}  // namespace undertone
