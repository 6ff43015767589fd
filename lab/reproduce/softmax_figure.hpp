#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "lab/reproduce/reproduce_command.hpp"
#include "shared/models/linear_model.hpp"

/// figA.2: softmax regression with public records, Figures A.2 to A.5 of the source on invented images in place of
/// CIFAR-10. Source: spec public-data 9.2.
namespace undertone::lab {

enum class SoftmaxMethod : std::uint8_t {
  ThrowAway,      // steps along the public records' gradients alone
  DpSgd,          // noisy_minibatch_sgd on all records as protected ones
  MixedGradients  // Algorithm 11, its weight from a grid
};
[[nodiscard]] std::string_view to_string(SoftmaxMethod method) noexcept;

struct SoftmaxFigure {
  std::size_t dimension = 0;  // of an image
  std::size_t classes = 0;
  double mean_stddev = 0.0;           // of a number of a class's mean
  std::vector<double> public_shares;  // n_pub / n
  std::vector<double> epsilons;
  std::size_t records = 0;  // n, protected and public
  std::size_t tests = 0;    // records of the same law that nothing is trained on
  std::uint64_t rounds = 0;
  double draw_fraction = 1.0;
  double delta = 0.0;
  std::vector<double> steps;
  std::vector<double> weights;  // of MixedGradients, each in (0, 1)
  std::size_t repetitions = 2;  // each with records and noise of its own, >= 2
  bool judged = true;
  std::shared_ptr<const models::Records> images = {};  // real ones, in place of invented records
};
/// This is the figure of docs/experiments.md, or a small part of it that judges nothing.
[[nodiscard]] SoftmaxFigure softmax_figure(FigureSize size);
/// The same on CIFAR-10 where the request's data have its batches, as many as there are; else as it is.
/// @return an error where a batch cannot be read, or there are fewer images than the figure takes
[[nodiscard]] Result<SoftmaxFigure> with_images(SoftmaxFigure figure, const std::filesystem::path& data);

/// Classes of Gaussian records that share a covariance of low rank: x = m_c + L u + e, m_c of independent normal
/// numbers of deviation `mean_stddev`, L of rank 8, u and e normal, e of deviation .7; divided by 3 and cut to [-1, 1].
struct SoftmaxProblem {  // of real images a random part of each
  models::Records open;
  models::Records hidden;
  models::Records tests;
};
[[nodiscard]] SoftmaxProblem softmax_problem(const SoftmaxFigure& figure, double public_share, std::uint64_t seed);

/// Test errors of one repetition, one for each setting: of a step size, and with mixed gradients of a weight and a
/// step.
/// @param seed of records and noise
[[nodiscard]] Result<std::vector<double>> softmax_errors(const SoftmaxFigure& figure, SoftmaxMethod method,
                                                         double public_share, double epsilon, std::uint64_t seed);

/// Runs what FIGURE.jsonl does not have yet and writes table, picture and verdicts. The same lines for any number of
/// threads. Records are CIFAR-10's where the request's data have it, else invented.
[[nodiscard]] Status reproduce_softmax(const SoftmaxFigure& figure, const ReproduceRequest& request);

inline constexpr std::string_view kSoftmaxFigure = "figA.2";

}  // namespace undertone::lab
