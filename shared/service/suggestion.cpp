#include "shared/service/suggestion.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace undertone::service {

std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);  // distances of the beginning of `one` to each beginning of `other`
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j < row.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i - 1] == other[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLettersMax = 64;
  if (word.size() > kLettersMax) return {};
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

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
