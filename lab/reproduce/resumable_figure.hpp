#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/plots/figure.hpp"
#include "lab/reproduce/reproduce_command.hpp"

namespace undertone::lab {

/// These files are written once all points of a figure are known.
struct FigureFiles {
  std::string table;  // CSV
  std::string text;   // Markdown
  Figure picture;
};

/// A figure of many points, each of some numbers. Points are computed on several threads and kept as lines of
/// NAME.jsonl, so that a run that was stopped goes on where it was.
struct ResumableFigure {
  std::string name;
  nlohmann::ordered_json header;  // the first line: everything that decides the points
  std::size_t points = 0;
  std::function<nlohmann::ordered_json(std::size_t)> describe;  // a point's line, without its numbers
  std::string measure;                                          // the key of its numbers
  std::function<Result<std::vector<double>>(std::size_t)> compute;
  std::function<Result<FigureFiles>(const std::vector<std::vector<double>>&)> files;  // from all points, in order
};

/// Computes what is missing and writes NAME.table.csv, NAME.md and the picture.
/// @return an error where a file cannot be written or read, or with the first point that failed
[[nodiscard]] Status reproduce_resumably(const ResumableFigure& figure, const ReproduceRequest& request);

}  // namespace undertone::lab
