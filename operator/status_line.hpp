#pragma once

#include <cstddef>
#include <string>

namespace undertone::operators {

/// The last line of a terminal, which is drawn again and again while other lines are printed above it. Where standard
/// output is none, nothing is drawn and lines are lines.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  [[nodiscard]] bool is_drawn() const noexcept { return terminal_; }
  /// Characters of a line of the terminal, as it is now, but one: a cursor behind the last would begin another line.
  [[nodiscard]] std::size_t columns() const;
  /// Replaces what is drawn; on a terminal alone. @param text of at most `columns()` characters
  void draw(const std::string& text);
  /// Prints a line that stays, above what is drawn.
  void print(const std::string& line);
  /// Takes away what is drawn.
  void clear();
  /// Leaves what is drawn where it is, as a line that stays.
  void keep();

 private:
  bool terminal_;
  std::string drawn_;
};

}  // namespace undertone::operators
