#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/method.hpp"
#include "shared/geometry/frank_wolfe_set.hpp"

namespace undertone::algorithms {

class PolyFrankWolfe;

struct PolyFrankWolfeSettings {
  using Algorithm = PolyFrankWolfe;
  Problem problem;
  geometry::FrankWolfeSet set;
  std::uint64_t rounds = 0;  // W: one gradient over half of the records, then W differences and W gradients
  double step_size = 0.0;    // eta in (0, 1]
  double smoothness = 0.0;   // beta of a record's loss from l_p to l_q: public

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const;
};

/// Recursive-momentum Frank-Wolfe in one pass (polySFW, of several silos): where `noisy_frank_wolfe` adds differences
/// to what it once learnt, this forgets a share eta of it in every step and learns that share anew.
///   d_0 = the mean gradient at x_0 over half of the records;  x_1 = (1 - eta) x_0 + eta argmin over v in X of <v, d_0>
///   for t = 1 .. W:  D = the mean difference of gradients at x_t and x_{t-1},  G = the mean gradient at x_t, each over
///                    a part of the other half that nothing else reads
///                    d_t = (1 - eta) (d_{t-1} + D) + eta G
///                    x_{t+1} = (1 - eta) x_t + eta argmin over v in X of <v, d_t>
///   output x_{W+1}
/// No record is read twice, so a silo's whole run costs what one release does. The noise of early messages is forgotten
/// with the rest: d_t has no more than that of some 1/eta rounds. The source reads one record for both D and G, and its
/// one silo chooses privately; with vectors, D and G are asked for apart, each of records of its own.
/// Source: Bassily, Guzman and Nandi 2021, Algorithm 1; spec non-euclidean B1, 3.1, 3.3.
class PolyFrankWolfe final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "poly_frank_wolfe";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there is no round after the first, a number is out of range, there is a regulariser, or the
  /// start is outside the set
  [[nodiscard]] static Result<std::unique_ptr<PolyFrankWolfe>> create(const PolyFrankWolfeSettings& settings);
  /// What it asks, in order: a gradient over half of a secret permutation, then W times a difference and a gradient,
  /// over 2W equal parts of the other half.
  [[nodiscard]] static planning::Schedule schedule(const PolyFrankWolfeSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit PolyFrankWolfe(const PolyFrankWolfeSettings& settings);
  [[nodiscard]] Step current() const;
  PolyFrankWolfeSettings settings_;
  std::uint64_t round_ = 0;   // of 1 + 2W: d_0, then D and G in turn
  Eigen::VectorXd iterate_;   // x_t, rounded to the wire type
  Eigen::VectorXd previous_;  // x_{t-1}; x_0 at first
  Eigen::VectorXd gradient_;  // d_{t-1}, to which D was added where G is asked for; 0 at first
};

}  // namespace undertone::algorithms
