#include "shared/base/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace undertone {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const auto failed = [&path](const std::string& why) {
    return Error{ErrorCode::InvalidData, fmt::format("{}: cannot be read: {}", path.string(), why)};
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed(std::strerror(errno));
  struct stat facts {};
  const bool known = ::fstat(file, &facts) == 0;
  void* memory = MAP_FAILED;
  if (known && S_ISREG(facts.st_mode) && facts.st_size > 0)
    memory = ::mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  const int reason = errno;
  ::close(file);
  if (known && !S_ISREG(facts.st_mode)) return failed("it is no file");
  if (known && facts.st_size == 0) return failed("it is empty");
  if (memory == MAP_FAILED) return failed(std::strerror(reason));
  return MappedFile({static_cast<const char*>(memory), static_cast<std::size_t>(facts.st_size)});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedFile::give_back() const noexcept {
  if (!bytes_.empty()) ::madvise(const_cast<char*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace undertone
