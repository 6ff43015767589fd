#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "shared/base/result.hpp"

namespace undertone::simulation {

/// A file of one line for each of many runs, in their order, that a killed process can go on with: whole lines are
/// kept, what was left of the next one is dropped. Runs may end in any order, in any thread.
class ResumableLines {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{4} << 30U;

  /// @param header the first line, which says what the others are of
  /// @param total how many runs there are, for the progress on a terminal
  /// @return an error where the file is of something else or cannot be written
  [[nodiscard]] static Result<std::unique_ptr<ResumableLines>> open(const std::filesystem::path& file,
                                                                    const std::string& header, std::size_t total);
  ~ResumableLines();
  ResumableLines(const ResumableLines&) = delete;
  ResumableLines& operator=(const ResumableLines&) = delete;

  /// Runs that the file held already: the first ones.
  [[nodiscard]] std::size_t kept() const noexcept { return kept_; }
  /// Makes the lines that are missing. @param threads 0: as many as there are processors
  /// @param line of a run, without its newline; called from several threads at once
  /// @return an error where the file cannot be written
  [[nodiscard]] Status make(std::size_t threads, const std::function<std::string(std::size_t run)>& line);

 private:
  ResumableLines(int file, std::size_t kept, std::size_t total)
      : file_(file), kept_(kept), next_(kept), total_(total) {}
  void add(std::size_t run, std::string line);
  [[nodiscard]] bool failed();
  std::mutex mutex_;
  int file_;
  std::size_t kept_;
  std::size_t next_;
  std::size_t total_;
  bool failed_ = false;
  std::map<std::size_t, std::string> waiting_;
};

}  // namespace undertone::simulation
