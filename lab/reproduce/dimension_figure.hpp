#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "lab/reproduce/paired_finding.hpp"
#include "lab/reproduce/reproduce_command.hpp"
#include "shared/data/split.hpp"

/// figD.1: excess risk against the dimension, of methods over the l1 ball, at one number of records and one target.
namespace undertone::lab {

/// What the records are like.
enum class RecordKind : std::uint8_t {
  Dense,   // every feature is -1 or 1: gradients are bounded in every coordinate, and root(d) as long
  Sparse,  // the features that matter and six of the others are -1 or 1, the rest 0: as long whatever d is
};
enum class DimensionMethod : std::uint8_t {
  MinibatchSgd,              // noisy_minibatch_sgd, Euclidean, projected onto the ball
  PrivateFrankWolfe,         // private_frank_wolfe, by vote: the exponential mechanism over 2d vertices
  MirrorDescent,             // mirror_descent with the p-norm potential of l1, bounded in every coordinate
  NoisyFrankWolfe,           // noisy_frank_wolfe, bounded in every coordinate
  ConstrainedMirrorDescent,  // constrained_mirror_descent, matched potential, bounded in l2
};
[[nodiscard]] std::string_view to_string(RecordKind kind) noexcept;
[[nodiscard]] std::string_view to_string(DimensionMethod method) noexcept;

struct DimensionFigure {
  std::vector<std::size_t> dimensions;  // d, ascending, two at least, each >= 16
  std::size_t repetitions = 2;          // each with records and noise of its own, >= 2
  std::size_t records = 0;              // n, of one silo
  double epsilon = 0.0;
  double delta = 0.0;
  bool judged = true;  // whether the grid is one to judge by
};

/// The figure as it stands in docs/experiments.md, or a small part of it that judges nothing.
[[nodiscard]] DimensionFigure dimension_figure(FigureSize size);

/// n records of y = <w*, x> + u, u uniform on [-0.1, 0.1], features drawn anew for each record.
/// @param seed public @return [d, n] and targets in [-1, 1]
[[nodiscard]] data::Dataset dimension_records(RecordKind kind, std::size_t dimension, std::size_t records,
                                              std::uint64_t seed);
/// w* = (0.25, -0.2, 0.15, -0.1, 0.08, -0.06, 0.04, -0.02, 0, ...), inside the l1 ball of radius 1.
[[nodiscard]] Eigen::VectorXd dimension_optimum(std::size_t dimension);
/// F(w) - F(w*) over the population: half the mean of <w - w*, x>^2, in closed form since features are uncorrelated.
[[nodiscard]] double dimension_excess(RecordKind kind, const Eigen::Ref<const Eigen::VectorXd>& weights);

/// The jobs that a method tries, as files.
[[nodiscard]] std::vector<std::string> dimension_jobs(const DimensionFigure& figure, RecordKind kind,
                                                      DimensionMethod method, std::size_t dimension);

/// By repetition and setting: the excess risk at the end of each run.
using ExcessTable = std::vector<std::vector<double>>;
/// For each repetition the excess of the setting with the least mean over the other repetitions: no run is picked by
/// its own outcome. @param table [>= 2][settings >= 1]
[[nodiscard]] std::vector<double> excess_of_others_best(const ExcessTable& table);

/// The least-squares slope of ln value over ln x. @param x, values [>= 2], > 0
[[nodiscard]] double log_log_slope(std::span<const double> x, std::span<const double> values);

/// Runs what FIGURE.jsonl does not have yet and writes table, picture, slopes and their paired comparisons. The same
/// lines for any number of threads. Data are invented: none are read.
[[nodiscard]] Status reproduce_dimensions(const DimensionFigure& figure, const ReproduceRequest& request);

inline constexpr std::string_view kDimensionFigure = "figD.1";

}  // namespace undertone::lab
