#include "shared/service/suggestion.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "shared/base/nearest_word.hpp"

namespace undertone::service {

std::string suggestion(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2) return {};
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  const std::string_view word = argv[1];
  if (std::find(known.begin(), known.end(), word) != known.end()) return {};
  const std::string nearest = nearest_word(word, known);
  return nearest.empty() ? "" : fmt::format("there is no command \"{}\"; do you mean \"{}\"?", word, nearest);
}

}  // namespace undertone::service
