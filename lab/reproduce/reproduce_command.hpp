#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "lab/reproduce/experiment.hpp"

namespace undertone::lab {

/// How much of a figure is made.
enum class FigureSize : std::uint8_t {
  Quick,  // a small part, by which no claim is judged
  Usual,  // as it stands in docs/experiments.md
  Full    // at the source's own size, where that is another: hours and more
};

/// What `undertone reproduce` was asked.
struct ReproduceRequest {
  std::string figure;          // "fig3.5", or "all"
  std::filesystem::path data;  // folder of the data sets
  std::filesystem::path out;   // folder for FIGURE.jsonl, .csv, .md, .png, .svg
  FigureSize size = FigureSize::Usual;
  std::size_t splits = 0;   // at most so many; 0: as many as the figure has. More of them go on where fewer ended
  std::size_t threads = 0;  // points at a time; 0: as many as there are processors
};

/// Trains what is not in FIGURE.jsonl yet, a line for each point and split in their order, then writes table, picture
/// and verdicts. The same lines for any number of threads.
/// @param request whose figure and grid are not looked at
/// @return an error where data are missing, before anything is trained
[[nodiscard]] Status reproduce(const Experiment& experiment, const ReproduceRequest& request);

/// The figure or figures of the request, one after the other. @return the exit code: that of the last failure
[[nodiscard]] int run_reproduce(const ReproduceRequest& request);

}  // namespace undertone::lab
