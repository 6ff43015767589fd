#include "silo/ledger/head_store.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/files.hpp"
#include "shared/base/spans.hpp"

namespace undertone::silo {
namespace {

constexpr std::size_t kFileBytes = std::size_t{64} << 10U;
constexpr std::size_t kReadBytesMax = std::size_t{8} << 20U;

}  // namespace

Result<std::optional<std::string>> FileHeadStore::read() {
  if (!std::filesystem::exists(path_)) return std::optional<std::string>();
  UNDERTONE_TRY(const std::string text, read_file(path_, kReadBytesMax));
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t before = rest.rfind('\n');
    const std::string_view line = before == std::string_view::npos ? rest : rest.substr(before + 1);
    if (line.size() >= 2 && line.front() == '{' && line.back() == '}') return std::optional(std::string(line));
    rest = rest.substr(0, before == std::string_view::npos ? 0 : before);
  }
  return Error{ErrorCode::LedgerCorrupt, fmt::format("{}: holds no whole line", path_.string())};
}

Status FileHeadStore::write(std::string_view head) {
  const Span span(Activity::WritingHead);
  const std::string line = std::string(head) + "\n";
  // Opened by its name each time: a file that was moved away is not written to any more.
  const int descriptor =
      end_ > 0 && end_ + line.size() <= kFileBytes ? ::open(path_.c_str(), O_WRONLY | O_CLOEXEC) : -1;
  struct stat facts {};
  const bool in_place =
      descriptor >= 0 && ::fstat(descriptor, &facts) == 0 && facts.st_size == static_cast<off_t>(kFileBytes);
  if (!in_place) {
    if (descriptor >= 0) ::close(descriptor);
    std::string content = line;
    content.resize(std::max(content.size(), kFileBytes), '\n');
    Status replaced = write_file_atomically(path_, content);
    end_ = replaced && content.size() == kFileBytes ? line.size() : 0;
    return replaced;
  }
  const bool written =
      ::pwrite(descriptor, line.data(), line.size(), static_cast<off_t>(end_)) == static_cast<ssize_t>(line.size()) &&
      ::fdatasync(descriptor) == 0;
  const int reason = errno;
  ::close(descriptor);
  end_ = written ? end_ + line.size() : 0;
  if (written) return {};
  return Error{ErrorCode::StorageFailed,
               fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(reason))};
}

}  // namespace undertone::silo
