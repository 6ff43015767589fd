#include "lab/plots/process_files.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace undertone::lab {
namespace {

Error failure(const char* what) { return {ErrorCode::Internal, fmt::format("{}: {}", what, std::strerror(errno))}; }

}  // namespace

Result<MemoryFile> MemoryFile::with(std::string_view content) {
  MemoryFile file(memfd_create("undertone", MFD_CLOEXEC));
  if (file.descriptor_ < 0) return failure("a file in memory cannot be made");
  while (!content.empty()) {
    const ssize_t written = ::write(file.descriptor_, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failure("a file in memory cannot be written");
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::lseek(file.descriptor_, 0, SEEK_SET) != 0) return failure("a file in memory cannot be rewound");
  return file;
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> MemoryFile::content(std::size_t bytes_max) const {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) return failure("a file in memory cannot be read");
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size > bytes_max)
    return Error{ErrorCode::LimitExceeded, fmt::format("{} bytes, at most {} are read", size, bytes_max)};
  std::string out(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::pread(descriptor_, out.data() + have, size - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failure("a file in memory cannot be read");
    have += static_cast<std::size_t>(got);
  }
  return out;
}

}  // namespace undertone::lab
