#include "shared/base/process_protection.hpp"

#include <cerrno>
#include <cstring>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace undertone {

Status protect_process() {
  ::umask(077);
  return forbid_dumps();
}

Status forbid_dumps() {
  const rlimit no_core{0, 0};
  // The limit alone would not do: the kernel pipes a core to a program that collects them whatever the limit is.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0 || ::setrlimit(RLIMIT_CORE, &no_core) != 0) {
    return Error{ErrorCode::Internal,
                 fmt::format("this process cannot be kept from dumping its memory: {}", std::strerror(errno))};
  }
  return {};
}

Status allow_open_files(std::size_t wanted, const std::string& what_for) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0)
    return Error{ErrorCode::Internal, fmt::format("the limit of open files: {}", std::strerror(errno))};
  if (files.rlim_cur >= wanted) return {};
  if (files.rlim_max < wanted) {
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{} needs {} open files, this process may have {} (ulimit -Hn, LimitNOFILE)", what_for,
                             wanted, files.rlim_max)};
  }
  files.rlim_cur = wanted;
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0)
    return Error{ErrorCode::Internal, fmt::format("the limit of open files: {}", std::strerror(errno))};
  return {};
}

}  // namespace undertone
