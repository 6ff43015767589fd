#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace undertone::operators {

/// How good predictions of classes are, where the truth is known: exactly, of records that whoever asks has in hand.
struct ClassScores {
  std::size_t records = 0;
  std::vector<std::vector<std::size_t>> table;  // [truth][said], records
  double accuracy = 0.0;
  double largest_class = 0.0;  // the accuracy of always saying it
  std::optional<double> auc;   // of two classes both of which occur
};
/// @param truth, said [records], positions in the classes: as many, at least one
/// @param scores [records] of the second of two classes, the larger the surer, for the AUC; else empty
[[nodiscard]] ClassScores score_classes(std::span<const std::size_t> truth, std::span<const std::size_t> said,
                                        std::size_t classes, std::span<const double> scores);

/// The same of numbers, in the label's unit.
struct NumberScores {
  std::size_t records = 0;
  double rmse = 0.0;
  double mae = 0.0;
  double label_stddev = 0.0;
  std::optional<double> r_squared;  // where labels differ
};
[[nodiscard]] NumberScores score_numbers(std::span<const double> truth, std::span<const double> said);

/// For people, a line each.
[[nodiscard]] std::vector<std::string> describe(const ClassScores& scores, const std::vector<std::string>& classes);
[[nodiscard]] std::vector<std::string> describe(const NumberScores& scores);

}  // namespace undertone::operators
