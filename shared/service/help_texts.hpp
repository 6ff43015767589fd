#pragma once

#include <string>

namespace CLI {
class App;
}

namespace undertone::service {

/// The manual page (roff) of a program, from the very texts that --help prints.
[[nodiscard]] std::string man_page(const CLI::App& app, const std::string& program);

/// A script that completes the program's commands and options in bash.
[[nodiscard]] std::string bash_completion(const CLI::App& app, const std::string& program);

/// Adds `manual` and `completions`, which print them. @return after parsing: whether one of them was asked for
class HelpCommands {
 public:
  HelpCommands(CLI::App& app, std::string program);
  /// Prints what was asked for. @return whether anything was
  [[nodiscard]] bool print() const;

 private:
  CLI::App* app_;
  std::string program_;
  CLI::App* manual_;
  CLI::App* completions_;
};

}  // namespace undertone::service
