#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace undertone::tests {

/// Everything that a process has in its memory, all mappings, and in the files of a folder, at one instant: what a
/// core dump and a copy of its disk would hold.
class ProcessImage {
 public:
  /// Stops the process for as long as this takes.
  ProcessImage(pid_t process, const std::filesystem::path& folder);

  /// Where some 16 bytes of the text lie, of those at a few places from its beginning to its end: allocators and
  /// databases may have written over the rest. Names of mappings and of files, each once.
  /// @pre 16 bytes or more
  [[nodiscard]] std::vector<std::string> places_of(std::string_view text) const;
  [[nodiscard]] bool in_memory(std::string_view text) const { return holds(text, true); }
  [[nodiscard]] bool on_disk(std::string_view text) const { return holds(text, false); }
  /// Bytes that were read of the memory; 0: this process may not.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Part {
    std::string name;
    bool memory = false;
    std::string bytes;
    [[nodiscard]] bool holds(std::string_view text) const;
  };
  [[nodiscard]] bool holds(std::string_view text, bool memory) const;
  void read_memory(pid_t process);
  std::vector<Part> parts_;
};

}  // namespace undertone::tests
