#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lab/reproduce/reproduce_command.hpp"
#include "shared/models/linear_model.hpp"

/// fig2.2: least squares with few public records beside many protected ones, Figures 2.2 to 2.5 of the source at a
/// smaller size. Source: spec public-data 9.1 and 0.6.
namespace undertone::lab {

enum class PublicMethod : std::uint8_t {
  ThrowAway,       // the public records' own least squares: nothing protected is read
  DpSgd,           // noisy_minibatch_sgd on all records as protected ones, from the public minimiser
  MirrorDescent,   // the protected records' gradients in the geometry of the public ones
  MixedGradients,  // Algorithm 11 with the weight that the product finds
};
[[nodiscard]] std::string_view to_string(PublicMethod method) noexcept;

struct PublicFigure {
  std::size_t dimension = 0;          // d
  std::vector<double> public_shares;  // n_pub / d, each > 1
  std::vector<double> epsilons;
  std::size_t records = 0;   // n, protected and public
  std::uint64_t rounds = 0;  // T, each over all records
  double delta = 0.0;
  std::vector<double> steps;    // 0 among them: from the public minimiser that is throw-away
  std::size_t repetitions = 2;  // each with records and noise of its own, >= 2
  bool judged = true;
  double mirror_ridge = 0.01;  // of the mirror map
};
/// This is the figure of docs/experiments.md, a small part of it that judges nothing, or the source's own: d = 2,000
/// and 75,000 records.
[[nodiscard]] PublicFigure public_figure(FigureSize size);

/// y = <w*, x> + u, w* and x standard normal, u of standard deviation 1/2.
struct PublicProblem {
  Eigen::VectorXd optimum;  // w*: [d]
  models::Records open;
  models::Records hidden;
};
[[nodiscard]] PublicProblem public_problem(std::size_t dimension, std::size_t open, std::size_t hidden,
                                           std::uint64_t seed);
/// The records of both, the first ones first. @pre they have the same features
[[nodiscard]] models::Records joined(const models::Records& first, const models::Records& second);
/// The test loss E (<w, x> - y)^2 = 1/4 + |w - w*|^2, exactly.
[[nodiscard]] double public_test_loss(const PublicProblem& problem, const Eigen::Ref<const Eigen::VectorXd>& weights);
/// Its mean at the least squares of n public records: 1/4 (1 + d / (n - d - 1)).
[[nodiscard]] double throw_away_loss(std::size_t dimension, std::size_t records);

/// Test losses of one repetition, one for each step size. @param seed of records and noise
[[nodiscard]] Result<std::vector<double>> public_losses(const PublicFigure& figure, PublicMethod method,
                                                        double public_share, double epsilon, std::uint64_t seed);

/// Runs what FIGURE.jsonl does not have yet and writes table, picture and verdicts. The same lines for any number of
/// threads. Data are invented: none are read.
[[nodiscard]] Status reproduce_public(const PublicFigure& figure, const ReproduceRequest& request);

inline constexpr std::string_view kPublicFigure = "fig2.2";

/// figA.1: how much the mirror map's loss depends on its ridge. The same records, at fewer epsilons.
[[nodiscard]] Status reproduce_ridges(const PublicFigure& figure, const ReproduceRequest& request);

inline constexpr std::string_view kRidgeFigure = "figA.1";

}  // namespace undertone::lab
