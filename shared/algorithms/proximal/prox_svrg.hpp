#pragma once

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/method_kit.hpp"

namespace undertone::algorithms {

class ProxSvrg;

struct ProxSvrgSettings {
  using Algorithm = ProxSvrg;
  Problem problem;
  std::uint64_t restarts = 1;        // S: 1 is FedProx-SVRG, more FedProx-PL-SVRG
  std::uint64_t epochs = 0;          // E, of each restart
  std::uint64_t inner = 0;           // Q = floor(n/K)
  double step_size = 0.0;            // eta
  std::optional<double> smoothness;  // beta, for the clip of differences; public
  std::uint64_t seed = 0;            // of the choice of outputs

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const { return {}; }
  /// S restarts of E epochs of Q, R = EQ: anchors 256 L^2 S E l2 ln(5E/delta) / (eps^2 n^2), differences
  /// 1024 L^2 S R l2 ln(2.5R/delta) / (eps^2 n^2), K >= eps n / (4 sqrt(2 S R l2)), eps <= min{2 l2, 15}.
  /// Source: Theorem 148. @see NoiseConditions
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const;
};

/// FedProx-SVRG and, with restarts, FedProx-PL-SVRG: Algorithms 2 and 3, Theorems 42 and 148.
///   for each of E epochs: ask every silo for its noised full gradient at the anchor wb; a = their weighted mean
///     for t = 0 .. Q-1:   ask every silo for its noised mean difference of gradients at w^t and wb; h = their mean
///                         w^{t+1} = prox_{eta f1}(w^t - eta (a + h))
///     the next anchor is w^Q
///   output: one of all w^t, t < Q, uniformly; the next restart starts from it; the last restart's is the outcome
/// The wire carries a and h apart: a silo's own sum of them is post-processing. A silo that answers later in an epoch
/// than its anchor counts with the anchors of those that anchored.
class ProxSvrg final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "prox_svrg";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  [[nodiscard]] static Result<std::unique_ptr<ProxSvrg>> create(const ProxSvrgSettings& settings);
  /// @param shape `draw_fraction` is of the differences; anchors read every record
  [[nodiscard]] static planning::Schedule schedule(const ProxSvrgSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  ProxSvrg(const ProxSvrgSettings& settings, const ProximalDescent& descent);
  [[nodiscard]] Step current() const;
  /// Which of a restart's E Q iterates is its output.
  [[nodiscard]] std::uint64_t chosen(std::uint64_t restart) const;
  [[nodiscard]] std::uint64_t rounds() const { return settings_.restarts * settings_.epochs * (settings_.inner + 1); }

  ProxSvrgSettings settings_;
  ProximalDescent descent_;
  std::uint64_t round_ = 0;          // anchors and differences of all restarts
  Eigen::VectorXd iterate_;          // w^t
  Eigen::VectorXd anchor_;           // wb
  Eigen::VectorXd anchor_gradient_;  // a
  Eigen::VectorXd output_;           // of the restart, once its iterate has come
};

}  // namespace undertone::algorithms
