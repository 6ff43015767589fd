#pragma once

#include <cstdint>
#include <optional>

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/sgd/server_step.hpp"

namespace undertone::algorithms {

/// Which iterate is the output. gamma_r is the weight of w_r, r < R; w_R has none.
struct Averaging {
  enum class Kind { Last, Uniform, Geometric, Tail };
  Kind kind = Kind::Uniform;
  double ratio = 1.0;  // gamma_{r-1} / gamma_r = 1 - mu eta for Geometric, in (0, 1]
  double tail = 1.0;   // of Tail: the last share of the rounds, whose iterates w_r count alike, in (0, 1]
};

class MinibatchSgd;

/// This says how records report in LDP-SGD, and whether the exact gradients of public records count besides.
struct RecordReports {
  releases::ReportsForm form = {releases::Randomiser::Direction};
  bool beside_public = false;  // semi-LDP: public records' gradients count besides, exactly
};

struct MinibatchSgdSettings {
  using Algorithm = MinibatchSgd;
  Problem problem;
  std::uint64_t rounds = 0;  // R
  double step_size = 0.0;    // eta
  Averaging averaging = {};
  StepSchedule steps = {};  // eta_r, where no theorem fixes it
  ServerOptimiser server = {};
  /// Passes over the records, where rounds read parts of them: R / epochs parts a pass, each read once in it. 0: every
  /// round reads all records, or a fresh draw.
  std::uint64_t epochs = 0;
  /// LDP-SGD and semi-LDP SGD: each record's clipped gradient is reported by itself, once in one pass.
  std::optional<RecordReports> reports = {};

  /// Whether it is the algorithm as its source has it: one step size, along the gradient itself.
  [[nodiscard]] bool as_published() const;
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {rounds, epochs == 0 ? 1 : rounds}; }
  [[nodiscard]] MethodTraits traits() const;
  /// Variance 256 L^2 R ln(2.5R/delta) l2 / (n^2 eps^2), K >= eps n / (4 sqrt(2 R l2)), eps <= 2 l2.
  /// Source: Theorems 34, 104. @see NoiseConditions
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const;
  /// Variance 8 L^2 R l1 / (n^2 eps^2). Source: B.1.10 and B.2.4.
  [[nodiscard]] Result<NoiseShifts> experiment_noise(const NoiseFacts& facts) const;
  /// Nothing where the ratio of a geometric average was chosen by hand: nobody has said how convex the objective is.
  [[nodiscard]] std::optional<RiskBound> predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                        bool modulus_known) const;
};

/// Noisy minibatch SGD with silos of unequal size: Algorithms 14 and 19, Theorems 34, 104, 106, 140.
///   for r = 0 .. R-1:  ask every silo for its noised mean gradient at w_r
///                      g = weighted mean of the answers (+ the regulariser's gradient, public)
///                      w_{r+1} = Pi_W[w_r - eta_r g], eta_r = eta unless the job has a schedule; g through a server's
///                      optimiser
///   output sum_r gamma_r w_r / sum_r gamma_r
///
/// With `reports` it is semi-LDP SGD, Algorithm 13 (Propositions 30 and 94), and its baseline LDP-SGD, by batches: in
/// round r a silo answers with the mean of reports of part r of its records, each randomised by itself, and every
/// record is in one part at most. R parts of one record are the source's order. Source: spec public-data 6.1, 6.2.
class MinibatchSgd final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "noisy_minibatch_sgd";
  static constexpr std::string_view kLdpName = "ldp_sgd";
  static constexpr std::string_view kSemiLdpName = "semi_ldp_sgd";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  [[nodiscard]] static ParsedMethod parse_ldp(config::Section& section, const Problem& problem);
  [[nodiscard]] static ParsedMethod parse_semi_ldp(config::Section& section, const Problem& problem);
  /// @return an error where there is no round, the step is no step, or the regulariser is not smooth
  [[nodiscard]] static Result<std::unique_ptr<MinibatchSgd>> create(const MinibatchSgdSettings& settings);

  /// What it asks, in order: R gradient sums over the training block, each record clipped. With passes each of a part:
  /// of one permutation, whose parts every pass reads again, or of bins, which records draw anew for each pass.
  [[nodiscard]] static planning::Schedule schedule(const MinibatchSgdSettings& settings, const GradientShape& shape);

  /// A bound on E F(output) - min F over W, a ball of radius D around w_0 = 0:
  ///   uniform averaging:    D^2/(2 eta R) + eta/2 (G^2 + d s^2)
  ///   geometric averaging:  mu D^2 q^R / (2 (1 - q^R)) + eta/2 (G^2 + d s^2),  q = 1 - mu eta its ratio
  /// with G = clip + lambda D and s^2 the noise variance of a coordinate of the weighted mean.
  /// Holds for convex losses where no record's gradient is longer than the clip norm, so that the mean is unbiased; the
  /// second where F is mu-strongly convex, which whoever chose the ratio answers for.
  /// @return nothing for the last iterate, a tail, other steps, passes, a server's optimiser and other domains @param
  /// noise_variance s^2 Source: projected stochastic gradient descent, as in the proof of Theorem 34 (Theorem 106).
  [[nodiscard]] static std::optional<double> predicted_excess_risk(const MinibatchSgdSettings& settings,
                                                                   releases::ClipNorm clip, double noise_variance);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit MinibatchSgd(const MinibatchSgdSettings& settings);
  [[nodiscard]] Step current() const;
  /// Whether w_r is in the average.
  [[nodiscard]] bool counts(std::uint64_t round) const;
  MinibatchSgdSettings settings_;
  std::uint64_t round_ = 0;  // r
  Eigen::VectorXd iterate_;  // w_r, rounded to the wire type
  Eigen::VectorXd average_;  // of w_0 .. w_{r-1}
  ServerStep server_;
  double relative_weight_ = 0.0;  // (gamma_0 + ... + gamma_{r-1}) / gamma_{r-1}: no power of the ratio is formed
};

}  // namespace undertone::algorithms
