#include "silo/owner/questions.hpp"

#include <cstdio>
#include <iostream>
#include <unistd.h>

#include "shared/data/record_encoder.hpp"

namespace undertone::silo {
namespace {

constexpr double kFractionMax = 0.9;

/// A line that the owner types; empty at the end of the input.
std::string answer_to(const std::string& question) {
  fmt::print("{} ", question);
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer;
}

}  // namespace

bool confirmed(const OwnerOptions& options, const char* question) {
  if (options.yes) return true;
  if (isatty(STDIN_FILENO) == 0) {
    fmt::print(stderr, "undertone-silo: not a terminal: give --yes to answer beforehand\n");
    return false;
  }
  const std::string answer = answer_to(fmt::format("{} [y/N]", question));
  return answer == "y" || answer == "Y" || answer == "yes";
}

std::optional<double> holdout_fraction(const std::optional<double>& given) {
  if (given) return given;
  if (isatty(STDIN_FILENO) == 0) return 0.0;
  const std::string answer = answer_to("Which share of the records is kept for evaluation, from 0 to 0.9? [0]");
  if (answer.empty()) return 0.0;
  const std::optional<double> share = data::parse_number(answer, {});
  if (!share || !(*share >= 0.0 && *share <= kFractionMax)) return std::nullopt;
  return share;
}

}  // namespace undertone::silo
