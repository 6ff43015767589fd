#include "shared/service/help_texts.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fmt/format.h>
#include <set>

namespace undertone::service {
namespace {

/// Text as roff takes it literally.
std::string roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\n') {
      out += "\n.br\n";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

void describe_options(const CLI::App& app, std::string& out) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() == "--help") continue;
    const std::string value = option->get_items_expected_max() == 0 ? "" : " " + option->get_type_name();
    out += fmt::format(".TP\n.B {}{}\n{}{}\n", roff(option->get_name(option->get_positional(), true)), roff(value),
                       roff(option->get_description()), option->get_required() ? " (required)" : "");
  }
}

bool is_hidden(const CLI::App& command) { return command.get_group().empty(); }

void describe_commands(const CLI::App& app, const std::string& path, std::string& out) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (is_hidden(*command)) continue;
    const std::string name = path + " " + command->get_name();
    out += fmt::format(".SS {}\n{}\n", roff(name), roff(command->get_description()));
    describe_options(*command, out);
    describe_commands(*command, name, out);
  }
}

std::string spaced(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

/// What may follow a command: commands under it, and its options.
std::string words_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!is_hidden(*command)) words.push_back(command->get_name());
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return spaced(words);
}

/// The hidden command that knows what a command's positional argument may be; empty where none does.
std::string helper_of(const CLI::App& app, const std::vector<CompletedArgument>& arguments) {
  for (const CLI::Option* option : app.get_options()) {
    for (const CompletedArgument& argument : arguments) {
      if (option->get_positional() && option->get_name(true) == argument.positional) return argument.command;
    }
  }
  return "";
}

void add_cases(const CLI::App& app, const std::string& path, const std::vector<CompletedArgument>& arguments,
               std::string& out) {
  const std::string helper = helper_of(app, arguments);
  out +=
      fmt::format("      \"{}\") words=\"{}\"{} ;;\n", path, words_of(app), helper.empty() ? "" : " helper=" + helper);
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!is_hidden(*command))
      add_cases(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), arguments, out);
  }
}

/// Options that take a value, which is a file's name as far as the shell can know.
void add_valued(const CLI::App& app, std::set<std::string>& out) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    for (const std::string& name : option->get_lnames()) out.insert("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands({})) add_valued(*command, out);
}

}  // namespace

bool is_completable(std::string_view text) {
  constexpr std::size_t kCompletableMax = 128;
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= kCompletableMax && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), plain);
}

std::string man_page(const CLI::App& app, const std::string& program, const std::string& build,
                     const std::vector<Example>& examples) {
  std::string title = program;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const std::string description = app.get_description();
  const std::string first = description.substr(0, description.find('\n'));
  std::string out = fmt::format(
      ".TH {} 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n[OPTIONS] COMMAND ...\n",
      title, build, roff(program), roff(first), roff(program));
  out += ".SH DESCRIPTION\n" + roff(description) + "\n.SH OPTIONS\n";
  describe_options(app, out);
  out += ".SH COMMANDS\n";
  describe_commands(app, program, out);
  out += ".SH EXAMPLES\n";
  for (const Example& example : examples)
    out += fmt::format(".TP\n.B {}\n{}\n", roff(example.command), roff(example.about));
  std::string others;
  for (const char* other : {"undertone", "undertone-coordinator", "undertone-shuffler", "undertone-silo"}) {
    if (program != other) others += fmt::format("{}.BR {} (1)", others.empty() ? "" : ",\n", roff(other));
  }
  return out + ".SH SEE ALSO\n" + others + "\n";
}

std::string bash_completion(const CLI::App& app, const std::string& program,
                            const std::vector<CompletedArgument>& arguments) {
  std::string function = "_" + program;
  for (char& c : function) {
    if (c == '-') c = '_';
  }
  std::string cases;
  add_cases(app, "", arguments, cases);
  std::set<std::string> valued;
  add_valued(app, valued);
  std::string patterns;
  for (const std::string& option : valued) patterns += (patterns.empty() ? "" : "|") + option;
  // Words are taken for commands as long as they lead to one; the last that does chooses what may follow. An option's
  // value is a file. What a helper prints is plain words: they are expanded once more.
  return fmt::format(
      "# bash completion for {0}: {0} completions > /etc/bash_completion.d/{0}\n"
      "{1}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} path= next= words= helper= config=() i\n"
      "  words_of() {{\n"
      "    words= helper=\n"
      "    case \"$1\" in\n{2}      *) return 1 ;;\n"
      "    esac\n"
      "  }}\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    next=\"${{path:+$path }}${{COMP_WORDS[i]}}\"\n"
      "    words_of \"$next\" && path=$next\n"
      "    [ \"${{COMP_WORDS[i]}}\" != --config ] || config=(--config \"${{COMP_WORDS[i + 1]}}\")\n"
      "  done\n"
      "  words_of \"$path\"\n"
      "  unset -f words_of\n"
      "  COMPREPLY=()\n"
      "  case \"${{COMP_WORDS[COMP_CWORD - 1]}}\" in {3}) words= helper= ;; esac\n"
      "  case \"$word\" in -*) helper= ;; esac\n"
      "  [ -z \"$helper\" ] || words+=\" $(\"${{COMP_WORDS[0]}}\" \"$helper\" \"${{config[@]}}\" -- \"$word\" "
      "2>/dev/null)\"\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "}}\n"
      "complete -o filenames -F {1} {0}\n",
      program, function, cases, patterns.empty() ? "--none" : patterns);
}

HelpCommands::HelpCommands(CLI::App& app, std::string program, std::string build, std::vector<Example> examples,
                           std::vector<CompletedArgument> arguments)
    : app_(&app),
      program_(std::move(program)),
      build_(std::move(build)),
      examples_(std::move(examples)),
      arguments_(std::move(arguments)),
      manual_(app.add_subcommand("manual", "Print the manual page: manual | man -l -")),
      completions_(app.add_subcommand("completions", "Print the completion script for bash")) {}

bool HelpCommands::print() const {
  if (manual_->parsed()) fmt::print("{}", man_page(*app_, program_, build_, examples_));
  if (completions_->parsed()) fmt::print("{}", bash_completion(*app_, program_, arguments_));
  return manual_->parsed() || completions_->parsed();
}

}  // namespace undertone::service
