#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/frank_wolfe/vertex_path.hpp"

namespace undertone::algorithms {

class PrivatePolyFrankWolfe;

struct PrivatePolyFrankWolfeSettings {
  using Algorithm = PrivatePolyFrankWolfe;
  /// Its domain is the vertices' hull, as of `PrivateFrankWolfeSettings`.
  Problem problem;
  geometry::Vertices vertices;
  std::uint64_t rounds = 0;  // W, 1 .. kRoundsMax: W + 1 selections
  double step_size = 0.0;    // eta in (0, 1]
  double smoothness = 0.0;   // beta of a record's loss from l1 to l_inf: public

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const { return path_traits(smoothness); }
  /// A bound on E F(output) - min F over the population whose independent draws the silos' records are, for convex
  /// losses of which L and beta are true: the mean over the silos of what h_(t+1) <= (1 - eta) h_t + eta (S_t + D
  /// sqrt(2 ln(2d) P_t)) + eta^2 beta D^2/2 leads to from h_0 = L D, with S_t the scale of the t-th selection times ln
  /// m, b the records of the first half and
  ///   P_0 = L^2/b,  P_t = (1 - eta)^2 P_(t-1) + ((1 - eta) c + eta)^2 W L^2/b,  c = min(2, beta eta D/L).
  /// Proof: a part's estimate adds the mean of (1 - eta) difference + eta gradient over records that no estimate before
  /// has read, of size L ((1 - eta) c + eta) at most; what it errs by is sub-Gaussian given the past (Hoeffding).
  /// Source: spec non-euclidean B1, 3.5.
  [[nodiscard]] std::optional<RiskBound> planned_risk(std::span<const WeighedPlan> silos) const;
};

/// Private stochastic Frank-Wolfe with a recursive estimate of the gradient, each silo selecting a vertex.
///   d_0 = the mean gradient at x_0 over half of the records
///   for t = 0 .. W:  x_(t+1) = (1 - eta) x_t + eta v_t,  v_t selected by <v, d_t>
///                    d_(t+1) = (1 - eta) d_t + the mean of grad f(x_(t+1)) - (1 - eta) grad f(x_t) over the next of W
///                    equal parts of the other half
///   output x_(W+1)
/// A coordinate of a record of the first half is clamped to L, of a part's record to (1 - eta) min(2 L, beta eta D) +
/// eta L. A record is in one part, and is charged for every later selection, whose estimate holds less and less of it:
/// (1 - eta)^k after k steps. The source has parts of one record each; W is a choice between noise and optimisation.
/// Source: Bassily, Guzman and Nandi 2021, Algorithm 1, Theorems 3 and 4; spec non-euclidean B1, 5.13.
class PrivatePolyFrankWolfe final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "private_poly_frank_wolfe";
  static constexpr std::uint64_t kRoundsMax = 64;  // a question has as many points
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where a number is out of range, there is a regulariser, or the domain is not the vertices' hull
  [[nodiscard]] static Result<std::unique_ptr<PrivatePolyFrankWolfe>> create(
      const PrivatePolyFrankWolfeSettings& settings);
  /// What it asks, in order: W + 1 vertices, along chains of 1 to W + 1 nodes.
  [[nodiscard]] static planning::Schedule schedule(const PrivatePolyFrankWolfeSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit PrivatePolyFrankWolfe(const PrivatePolyFrankWolfeSettings& settings);
  [[nodiscard]] Step current();
  PrivatePolyFrankWolfeSettings settings_;
  std::uint64_t round_ = 0;              // t
  Eigen::VectorXd iterate_;              // x_t, rounded to the wire type
  std::vector<Eigen::VectorXd> points_;  // x_0 .. x_W, as far as they are known
};

}  // namespace undertone::algorithms
