#include "simulation/resumable_lines.hpp"

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "shared/base/files.hpp"

namespace undertone::simulation {
namespace {

constexpr std::size_t kThreadsMax = 1024;

/// What of the file is kept.
Result<std::string> kept_of(const std::filesystem::path& file, const std::string& header) {
  if (!std::filesystem::exists(file)) return header;
  Result<std::string> text = read_file(file, ResumableLines::kBytesMax);
  if (!text) return text;
  if (text->compare(0, header.size(), header) != 0) {
    if (header.compare(0, text->size(), *text) == 0) return header;
    return Error{
        ErrorCode::InvalidData,
        fmt::format("{}: of something else, or what it is of has changed: choose another folder", file.string())};
  }
  text->resize(text->rfind('\n') + 1);
  return text;
}

}  // namespace

Result<std::unique_ptr<ResumableLines>> ResumableLines::open(const std::filesystem::path& file,
                                                             const std::string& header, std::size_t total) {
  UNDERTONE_TRY(const std::string kept, kept_of(file, header));
  if (Status written = write_file_atomically(file, kept); !written) return written.error();
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) return Error{ErrorCode::StorageFailed, fmt::format("{}: cannot be written", file.string())};
  const auto lines = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), '\n'));
  return std::unique_ptr<ResumableLines>(new ResumableLines(descriptor, lines - 1, total));
}

ResumableLines::~ResumableLines() { (void)::close(file_); }

void ResumableLines::add(std::size_t run, std::string line) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace(run, std::move(line));
  std::string ready;
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_; first = waiting_.begin()) {
    ready += first->second;
    waiting_.erase(first);
    ++next_;
  }
  const char* data = ready.data();
  for (std::size_t left = ready.size(); left > 0;) {
    const ssize_t wrote = ::write(file_, data, left);
    if (wrote <= 0) {
      failed_ = true;
      return;
    }
    data += wrote;
    left -= static_cast<std::size_t>(wrote);
  }
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{} of {} runs", next_, total_);
}

bool ResumableLines::failed() {
  const std::lock_guard lock(mutex_);
  return failed_;
}

Status ResumableLines::make(std::size_t threads, const std::function<std::string(std::size_t run)>& line) {
  std::atomic<std::size_t> next{kept_};
  const auto work = [&] {
    for (std::size_t run = next++; run < total_ && !failed(); run = next++) add(run, line(run) + "\n");
  };
  if (threads == 0) threads = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min(threads, kThreadsMax); ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\n");
  if (failed()) return Error{ErrorCode::StorageFailed, "the lines of runs cannot be written"};
  return {};
}

}  // namespace undertone::simulation
