#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace undertone::service {

/// A command as somebody would type it, and what it is for.
struct Example {
  std::string command;
  std::string about;
};

/// A hidden command that prints, one a line, the words that may stand for a positional argument: `PROGRAM COMMAND
/// WORD`, where WORD is what was typed of it. What it prints is a word of letters, digits, '.', '_' and '-' each
/// (`is_completable`), since a shell expands it.
struct CompletedArgument {
  std::string positional;  // its name in every command that has one
  std::string command;
};

/// Whether a text can be completed in a shell: 1 to 128 letters, digits, '.', '_' and '-', the first no '-'. Nothing in
/// it is expanded, and it is no option.
[[nodiscard]] bool is_completable(std::string_view text);

/// The manual page (roff) of a program, from the very texts that --help prints. Hidden commands are not in it.
/// @param build the program's name and version
[[nodiscard]] std::string man_page(const CLI::App& app, const std::string& program, const std::string& build,
                                   const std::vector<Example>& examples);

/// A script that completes the program's commands, options and named arguments in bash.
[[nodiscard]] std::string bash_completion(const CLI::App& app, const std::string& program,
                                          const std::vector<CompletedArgument>& arguments);

/// Adds `manual` and `completions`, which print them. @return after parsing: whether one of them was asked for
class HelpCommands {
 public:
  /// @param build the program's name and version
  HelpCommands(CLI::App& app, std::string program, std::string build, std::vector<Example> examples,
               std::vector<CompletedArgument> arguments = {});
  /// Prints what was asked for. @return whether anything was
  [[nodiscard]] bool print() const;

 private:
  CLI::App* app_;
  std::string program_;
  std::string build_;
  std::vector<Example> examples_;
  std::vector<CompletedArgument> arguments_;
  CLI::App* manual_;
  CLI::App* completions_;
};

}  // namespace undertone::service
