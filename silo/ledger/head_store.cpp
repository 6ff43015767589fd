#include "silo/ledger/head_store.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/files.hpp"

namespace undertone::silo {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{64} << 10U;  // longer ones are replaced by their last line
constexpr std::size_t kReadBytesMax = std::size_t{8} << 20U;

}  // namespace

Result<std::optional<std::string>> FileHeadStore::read() {
  if (!std::filesystem::exists(path_)) return std::optional<std::string>();
  Result<std::string> text = read_file(path_, kReadBytesMax);
  if (!text) return text.error();
  const std::size_t end = text->rfind('\n');
  if (end == std::string::npos) return std::optional<std::string>(*std::move(text));  // as version 0.1 wrote it
  const std::size_t before = end == 0 ? std::string::npos : text->rfind('\n', end - 1);
  const std::size_t start = before == std::string::npos ? 0 : before + 1;
  return std::optional<std::string>(text->substr(start, end - start));
}

Status FileHeadStore::write(std::string_view head) {
  const std::string line = std::string(head) + "\n";
  // Opened by its name each time: a file that was moved away is not written to any more.
  const int descriptor = whole_ ? ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
  struct stat facts {};
  const bool fits = descriptor >= 0 && ::fstat(descriptor, &facts) == 0 &&
                    static_cast<std::size_t>(facts.st_size) + line.size() <= kFileBytesMax;
  if (!fits) {
    if (descriptor >= 0) ::close(descriptor);
    Status replaced = write_file_atomically(path_, line);
    whole_ = replaced.has_value();
    return replaced;
  }
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  whole_ = rest.empty() && ::fdatasync(descriptor) == 0;
  const int reason = errno;
  ::close(descriptor);
  if (whole_) return {};
  return Error{ErrorCode::StorageFailed,
               fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(reason))};
}

}  // namespace undertone::silo
