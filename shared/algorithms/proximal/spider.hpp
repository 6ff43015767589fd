#pragma once

#include <cstdint>
#include <optional>

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/method_kit.hpp"

namespace undertone::algorithms {

class Spider;
class SpiderAlternate;

struct SpiderSettings {
  using Algorithm = Spider;
  Problem problem;
  std::uint64_t rounds = 0;          // R
  std::uint64_t period = 1;          // q: an anchor every q rounds
  double step_size = 0.0;            // eta
  std::optional<double> smoothness;  // beta, for the clip of differences; public
  std::uint64_t seed = 0;            // of the choice of the output

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const { return "FedProx-SPIDER, Algorithm 4"; }
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const { return {}; }
  /// Anchors 16 L^2 l1 max(R/q, 1) / (eps^2 n^2), differences 64 L^2 R l1 / (eps^2 n^2) at c = 2L, that is
  /// 16 beta^2 R l1 / (eps^2 n^2) times the squared distance; K = n, eps <= 2 l1.
  /// Source: Theorem 149. @see NoiseConditions
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const;
  /// The same at any K. Source: B.1.10 and B.2.4.
  [[nodiscard]] Result<NoiseShifts> experiment_noise(const NoiseFacts& facts) const;
};

/// FedProx-SPIDER: Algorithm 4, Theorems 44 and 149.
///   for r = 0 .. R-1:
///     r = 0 mod q:  ask every silo for its noised mean gradient at w_r;                           h = their mean
///     else:         ask for the noised mean difference of gradients at w_r and w_{r-1};           h = h + their mean
///     w_{r+1} = prox_{eta f1}(w_r - eta h)
///   output: one of w_1 .. w_R, uniformly
/// The paper's loop runs to r = R, whose h no output uses.
class Spider final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "spider";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  [[nodiscard]] static Result<std::unique_ptr<Spider>> create(const SpiderSettings& settings);
  [[nodiscard]] static planning::Schedule schedule(const SpiderSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return round_ == settings_.rounds ? output_ : iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  Spider(const SpiderSettings& settings, const ProximalDescent& descent);
  [[nodiscard]] Step current() const;

  SpiderSettings settings_;
  ProximalDescent descent_;
  std::uint64_t chosen_ = 0;  // r of the output, 1 .. R
  std::uint64_t round_ = 0;   // r
  Eigen::VectorXd iterate_;   // w_r
  Eigen::VectorXd before_;    // w_{r-1}
  Eigen::VectorXd estimate_;  // h
  Eigen::VectorXd output_;
};

struct SpiderAlternateSettings {
  using Algorithm = SpiderAlternate;
  Problem problem;
  std::uint64_t pairs = 0;  // E - 1: pairs of a difference and a fresh gradient after the first gradient
  double step_size = 0.0;   // eta
  std::optional<double> smoothness;
  std::uint64_t seed = 0;

  [[nodiscard]] std::uint64_t rounds() const { return 2 * pairs + 1; }

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const { return "SPIDER's alternate form, Algorithm 25"; }
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const { return {}; }
  /// R = 2E - 1 rounds in all: gradients 8 L^2 l2 R / (n^2 eps^2), differences 32 L^2 l2 R / (n^2 eps^2).
  /// Source: B.1.10 and B.2.4. @see NoiseConditions
  [[nodiscard]] Result<NoiseShifts> experiment_noise(const NoiseFacts& facts) const;
};

/// SPIDER's alternate form: Algorithm 25. No domain, no regulariser.
///   v2 = noised mean gradient at w2 = 0
///   E-1 times: w1 = w2 - eta v2;  v1 = v2 + noised mean difference of gradients at w1 and w2
///              w2 = w1 - eta v1;  v2 = noised mean gradient at w2
///   output: one of all w1 and w2 after the first, uniformly
class SpiderAlternate final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "spider_alternate";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  [[nodiscard]] static Result<std::unique_ptr<SpiderAlternate>> create(const SpiderAlternateSettings& settings);
  [[nodiscard]] static planning::Schedule schedule(const SpiderAlternateSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return round_ == rounds() ? output_ : iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit SpiderAlternate(const SpiderAlternateSettings& settings);
  [[nodiscard]] Step current() const;
  [[nodiscard]] std::uint64_t rounds() const { return settings_.rounds(); }

  SpiderAlternateSettings settings_;
  std::uint64_t chosen_ = 0;  // which iterate after the first, from 0
  std::uint64_t round_ = 0;
  Eigen::VectorXd iterate_;   // where the next question is asked: w2, w1, w2, ...
  Eigen::VectorXd before_;    // the iterate before it
  Eigen::VectorXd estimate_;  // v2 or v1
  Eigen::VectorXd output_;
};

}  // namespace undertone::algorithms
