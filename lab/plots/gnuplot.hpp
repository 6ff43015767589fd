#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "lab/plots/figure.hpp"
#include "shared/base/result.hpp"

namespace undertone::lab {

/// How gnuplot is run. Debian's package is gnuplot-nox.
struct GnuplotOptions {
  std::string program = "gnuplot";  // looked for in PATH
  std::chrono::milliseconds time_max{60'000};
};

/// Writes NAME.svg, NAME.png and NAME.csv, each whole or not at all. One figure and one gnuplot: the same bytes.
/// Intervals become error bars. Whoever sees no pictures has the CSV, which is written first.
/// @param name 1 to 64 of [A-Za-z0-9_-]
/// @return an error that says what is wrong with the figure, that gnuplot is missing or too slow, or what it complained
/// about
[[nodiscard]] Status write_figure(const Figure& figure, const std::filesystem::path& folder, const std::string& name,
                                  const GnuplotOptions& options = {});

/// What gnuplot is told for one picture. @param terminal a `set terminal` line
[[nodiscard]] std::string gnuplot_script(const Figure& figure, const std::string& terminal);

}  // namespace undertone::lab
