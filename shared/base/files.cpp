#include "shared/base/files.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace undertone {
namespace {

Error failure(const std::filesystem::path& path, const char* what) {
  return {ErrorCode::StorageFailed, fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno))};
}

/// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  [[nodiscard]] int get() const noexcept { return value_; }

 private:
  int value_;
};

bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Status sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) return failure(folder, "cannot be synced");
  return {};
}

/// A name that nobody can have put a file or a link at beforehand, and that no earlier crash left behind.
Result<std::string> unpredictable_name_beside(const std::filesystem::path& path) {
  std::array<std::uint32_t, 2> random{};
  if (::getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    return failure(path, "no randomness for a new file's name");
  return fmt::format("{}.{:08x}{:08x}.new", path.string(), random[0], random[1]);
}

/// A new file with the content, synced, under a name of its own in the same folder. @return the name
Result<std::string> write_beside(const std::filesystem::path& path, std::string_view content) {
  Result<std::string> name = unpredictable_name_beside(path);
  if (!name) return name.error();
  const Descriptor file(::open(name->c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600));
  if (file.get() < 0) return failure(*name, "cannot be opened");
  const char* failed = !write_all(file.get(), content) ? "cannot be written"
                       : ::fsync(file.get()) != 0      ? "cannot be synced"
                                                       : nullptr;
  if (failed == nullptr) return name;
  const Error error = failure(*name, failed);
  ::unlink(name->c_str());
  return error;
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0)
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno))};
  struct stat facts {};
  const bool known = ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode);
  const auto size = known ? static_cast<std::size_t>(facts.st_size) : 0;
  constexpr std::size_t kDeviceBytesMax = std::size_t{64} << 20U;  // which may have no end
  if (!known && S_ISCHR(facts.st_mode)) bytes_max = std::min(bytes_max, kDeviceBytesMax);
  const auto too_large = [&](std::size_t bytes) {
    return Error{ErrorCode::LimitExceeded, fmt::format("{}: {} bytes{}, at most {} are read", path.string(), bytes,
                                                       bytes > size ? " and more" : "", bytes_max)};
  };
  if (size > bytes_max) return too_large(size);
  std::string text;
  text.reserve(size);
  // A device, a pipe and a file that grows do not say how long they are.
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Error{ErrorCode::InvalidConfig,
                   fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno))};
    if (got == 0) return text;
    if (static_cast<std::size_t>(got) > bytes_max - text.size()) return too_large(bytes_max);
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

Status make_folder_for(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  std::error_code error;
  if (!std::filesystem::create_directories(folder, error) || error) {
    if (!error) return {};  // it was there
    return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", folder.string(), error.message())};
  }
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (error) return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", folder.string(), error.message())};
  return {};
}

Status make_private_file(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  const bool made = descriptor >= 0 && ::fchmod(descriptor, S_IRUSR | S_IWUSR) == 0;
  const int why = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (made) return {};
  return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", file.string(), std::generic_category().message(why))};
}

Status check_private_file(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  constexpr auto kOthers = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  if (!error && (status.permissions() & kOthers) == std::filesystem::perms::none) return {};
  return Error{ErrorCode::InvalidConfig,
               fmt::format("{}: expected a file that its owner alone may read (chmod 600)", file.string())};
}

Status write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  UNDERTONE_TRY(std::string temporary, write_beside(path, content));
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error failed = failure(path, "cannot be replaced");
    ::unlink(temporary.c_str());
    return failed;
  }
  return sync_folder_of(path);
}

Status sync_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || ::fsync(file.get()) != 0) return failure(path, "cannot be synced");
  return sync_folder_of(path);
}

}  // namespace undertone
