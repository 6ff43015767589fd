#include "tests/support/process_image.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "shared/base/files.hpp"

namespace undertone::tests {
namespace {

constexpr std::size_t kPieceBytes = 16;
constexpr std::size_t kPieces = 16;

/// Until the kernel says that it is stopped: a signal is not delivered at once.
void wait_until_stopped(pid_t process) {
  while (true) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');
    if (!file || name_end == std::string::npos || line.compare(name_end, 3, ") T") == 0) return;
    std::this_thread::yield();
  }
}

}  // namespace

ProcessImage::ProcessImage(pid_t process, const std::filesystem::path& folder) {
  UNDERTONE_CHECK(::kill(process, SIGSTOP) == 0);
  wait_until_stopped(process);
  read_memory(process);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      parts_.push_back({entry.path().filename().string(), false, read_file(entry.path(), 64U << 20U).value()});
  }
  UNDERTONE_CHECK(::kill(process, SIGCONT) == 0);
}

void ProcessImage::read_memory(pid_t process) {
  const int memory = ::open(fmt::format("/proc/{}/mem", process).c_str(), O_RDONLY | O_CLOEXEC);
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  std::string line;
  while (memory >= 0 && std::getline(maps, line)) {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &from, &to) != 2) continue;
    std::istringstream words(line);
    std::string name;
    for (int word = 0; word < 6; ++word) {
      name.clear();
      words >> name;
    }
    Part part{name.empty() ? "anonymous memory" : name, true, {}};
    constexpr std::uint64_t kPage = 4096;
    std::string buffer(1U << 20U, '\0');
    for (std::uint64_t at = from; at < to;) {
      const std::uint64_t wanted = std::min<std::uint64_t>(buffer.size(), to - at);
      const ssize_t got = ::pread(memory, buffer.data(), wanted, static_cast<off_t>(at));
      if (got > 0) part.bytes.append(buffer, 0, static_cast<std::size_t>(got));
      at += got > 0 ? static_cast<std::uint64_t>(got) : kPage;  // a page that has nothing behind it
    }
    parts_.push_back(std::move(part));
  }
  if (memory >= 0) ::close(memory);
}

bool ProcessImage::Part::holds(std::string_view text) const {
  const std::size_t last = text.size() - kPieceBytes;
  for (std::size_t i = 0; i < kPieces; ++i) {
    const std::string_view piece = text.substr(last * i / (kPieces - 1), kPieceBytes);
    if (::memmem(bytes.data(), bytes.size(), piece.data(), piece.size()) != nullptr) return true;
    if (last == 0) break;
  }
  return false;
}

bool ProcessImage::holds(std::string_view text, bool memory) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Part& part) { return part.memory == memory && part.holds(text); });
}

std::vector<std::string> ProcessImage::places_of(std::string_view text) const {
  std::vector<std::string> out;
  for (const Part& part : parts_) {
    if (part.holds(text)) out.push_back(part.name);
  }
  return out;
}

std::size_t ProcessImage::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.memory ? part.bytes.size() : 0;
  return bytes;
}

}  // namespace undertone::tests
