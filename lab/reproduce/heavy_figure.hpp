#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/reproduce/reproduce_command.hpp"
#include "shared/data/split.hpp"
#include "shared/theorems/mean_oracle.hpp"

/// heavy4: what clips by a moment reach on records whose tails are heavy. The source has theorems and no experiment.
/// Source: spec heavy-tailed 6, 0.5, 0.6.
namespace undertone::lab {

/// This is how a round's mean is estimated.
enum class HeavyOracle : std::uint8_t {
  Norm,         // gradients are clipped in l2
  Coordinates,  // each coordinate is clipped by itself
  Smooth,       // each has a smooth influence
  Groups        // each is clipped, and the median is taken over nine groups
};
[[nodiscard]] std::string_view to_string(HeavyOracle oracle) noexcept;

/// This is what records are like. Each has a one-sided tail, since a clip has no bias on a symmetric one.
enum class HeavyLaw : std::uint8_t {
  Together,  // a length with Pareto's tail times the same direction: a record is wild as a whole
  Apart      // every coordinate has Pareto's tail by itself
};
[[nodiscard]] std::string_view to_string(HeavyLaw law) noexcept;

/// These are the theorems whose optimisers are run.
enum class HeavyMethod : std::uint8_t { Accelerated, StronglyConvex, Proximal };
[[nodiscard]] std::string_view to_string(HeavyMethod method) noexcept;

struct HeavyFigure {
  std::vector<double> orders;           // k of the moments, each >= 2
  std::size_t records = 0;              // n of the oracles
  std::size_t dimension = 0;            // d of the oracles
  std::vector<double> epsilons;         // of the oracles, two at least
  std::vector<std::size_t> dimensions;  // of the oracles at one epsilon, two at least
  std::vector<std::size_t> sizes;       // n of the optimisers and of the hard instance, two at least
  std::size_t repetitions = 2;          // each with records and noise of its own, >= 2
  bool judged = true;
};
[[nodiscard]] HeavyFigure heavy_figure(FigureSize size);

/// This is one mean of n records of the law, by the oracle at the threshold that its moment and the noise ask for.
struct HeavyMean {
  double error = 0.0;   // |estimate - mean of the records|^2: what clip and noise do
  double excess = 0.0;  // |estimate - mean of the law|^2
  double signal = 0.0;  // A: the noise has the standard deviation 2 C / A at clip C
};
/// @param order k, of a moment of the law that exists @param seed of records and noise
[[nodiscard]] Result<HeavyMean> heavy_mean(HeavyLaw law, HeavyOracle oracle, double order, std::size_t records,
                                           std::size_t dimension, double epsilon, std::uint64_t seed);
/// The law whose moments of order k barely exist, and for which no method does much better than the source's lower
/// bound: 0 with probability 1 - q, else q^(-1/k) v with v in {-1, 1}^d. Source: Theorems 58, 170.
[[nodiscard]] Result<HeavyMean> hard_mean(double order, std::size_t records, std::size_t dimension, double epsilon,
                                          std::uint64_t seed);
/// r^2 min{1, (sqrt(d)/A)^((2k-2)/k)}, the private term, its constant dropped. (The term of 1/n is of another
/// instance.)
/// @param bound r
[[nodiscard]] double hard_bound(double order, double bound, double dimension, double signal);

/// The excess risk of least squares on labels whose noise has Student's t law with three degrees of freedom, and that
/// of the same records' least squares without privacy.
struct HeavyRun {
  double excess = 0.0;
  double open = 0.0;
  double rate = 0.0;  // the theorem's, its constants dropped
};
[[nodiscard]] Result<HeavyRun> heavy_run(HeavyMethod method, std::size_t records, double epsilon, std::uint64_t seed);

/// Runs what FIGURE.jsonl does not have yet and writes table, picture and verdicts. The same lines for any number of
/// threads. Data are invented: none are read.
[[nodiscard]] Status reproduce_heavy(const HeavyFigure& figure, const ReproduceRequest& request);

inline constexpr std::string_view kHeavyFigure = "heavy4";

}  // namespace undertone::lab
