#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/reproduce/public_figure.hpp"

/// figA.6: least squares where every protected record reports by itself, Figures A.6 to A.9 of the source at a smaller
/// size. Source: spec public-data 9.3, 0.8.
namespace undertone::lab {

enum class SemiLocalMethod : std::uint8_t {
  ThrowAway,    // the public records alone: their least squares, or from a cold start one pass along their gradients
  LdpSgd,       // ldp_sgd on all records, the public ones among them
  SemiLdpSgd,   // semi_ldp_sgd, Algorithm 13: public records' gradients are exact, every record counts alike
  Weighed,      // the same, public gradients as long as the reports' and with the weight that varies least
  LeastSquares  // the public records' least squares, wherever the others start
};
[[nodiscard]] std::string_view to_string(SemiLocalMethod method) noexcept;

struct SemiLocalFigure {
  std::size_t dimension = 0;          // d
  std::vector<double> public_shares;  // n_pub / n of cold starts, each in (0, 1)
  std::vector<double> warm_shares;    // n_pub / d of warm starts, each > 1
  std::vector<double> epsilons;       // of a report
  std::size_t records = 0;            // n, protected and public
  std::uint64_t rounds = 0;           // parts of the records, each of which reports once
  std::vector<double> steps;          // of a step along normalised gradients, 0 among them
  std::size_t repetitions = 2;        // each with records and noise of its own, >= 2
  bool judged = true;
};
/// This is the figure of docs/experiments.md, or a small part of it that judges nothing. The source's own epsilons, 16
/// to 128 in 2,000 dimensions, are of caps that no draw meets: its full size is the usual one.
[[nodiscard]] SemiLocalFigure semi_local_figure(FigureSize size);

/// One of the figure's lines: where the runs start, and how many records are public.
struct SemiLocalStart {
  bool warm = false;     // at the public records' least squares, else at zero
  std::size_t open = 0;  // n_pub
};
[[nodiscard]] std::vector<SemiLocalStart> semi_local_starts(const SemiLocalFigure& figure);

/// Excess test losses |w - w*|^2 of one repetition, one for each step size; of public least squares one.
/// @param seed of records and noise
[[nodiscard]] Result<std::vector<double>> semi_local_losses(const SemiLocalFigure& figure, SemiLocalMethod method,
                                                            const SemiLocalStart& start, double epsilon,
                                                            std::uint64_t seed);

/// Runs what FIGURE.jsonl does not have yet and writes table, picture and verdicts. The same lines for any number of
/// threads. Data are invented: none are read.
[[nodiscard]] Status reproduce_semi_local(const SemiLocalFigure& figure, const ReproduceRequest& request);

inline constexpr std::string_view kSemiLocalFigure = "figA.6";

}  // namespace undertone::lab
