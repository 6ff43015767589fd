#include "shared/service/help_texts.hpp"

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>
#include <fmt/format.h>

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

void describe_commands(const CLI::App& app, const std::string& path, std::string& out) {
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string name = path + " " + command->get_name();
    out += fmt::format(".SS {}\n{}\n", roff(name), roff(command->get_description()));
    describe_options(*command, out);
    describe_commands(*command, name, out);
  }
}

std::string words_of(const CLI::App& app) {
  std::string words;
  for (const CLI::App* command : app.get_subcommands({})) words += command->get_name() + " ";
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  if (!words.empty()) words.pop_back();
  return words;
}

void add_cases(const CLI::App& app, const std::string& path, std::string& out) {
  out += fmt::format("    \"{}\") words=\"{}\" ;;\n", path, words_of(app));
  for (const CLI::App* command : app.get_subcommands({}))
    add_cases(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), out);
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& program) {
  std::string title = program;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const std::string description = app.get_description();
  const std::string first = description.substr(0, description.find('\n'));
  std::string out = fmt::format(".TH {} 1\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n[OPTIONS] COMMAND ...\n", title,
                                roff(program), roff(first), roff(program));
  out += ".SH DESCRIPTION\n" + roff(description) + "\n.SH OPTIONS\n";
  describe_options(app, out);
  out += ".SH COMMANDS\n";
  describe_commands(app, program, out);
  return out;
}

std::string bash_completion(const CLI::App& app, const std::string& program) {
  std::string function = "_" + program;
  for (char& c : function) {
    if (c == '-') c = '_';
  }
  std::string cases;
  add_cases(app, "", cases);
  // The commands typed so far choose the words; after an option that names a file, files are completed.
  return fmt::format(
      "# bash completion for {0}: {0} completions > /etc/bash_completion.d/{0}\n"
      "{1}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} path= words= i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${{COMP_WORDS[i]}} in -*) break ;; *) path=\"${{path:+$path }}${{COMP_WORDS[i]}}\" ;; esac\n"
      "  done\n"
      "  case \"$path\" in\n{2}    *) words= ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "}}\n"
      "complete -o filenames -F {1} {0}\n",
      program, function, cases);
}

HelpCommands::HelpCommands(CLI::App& app, std::string program)
    : app_(&app),
      program_(std::move(program)),
      manual_(app.add_subcommand("manual", "Print the manual page: manual | man -l -")),
      completions_(app.add_subcommand("completions", "Print the completion script for bash")) {}

bool HelpCommands::print() const {
  if (manual_->parsed()) fmt::print("{}", man_page(*app_, program_));
  if (completions_->parsed()) fmt::print("{}", bash_completion(*app_, program_));
  return manual_->parsed() || completions_->parsed();
}

}  // namespace undertone::service
