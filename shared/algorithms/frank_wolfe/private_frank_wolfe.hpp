#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "shared/algorithms/frank_wolfe/frank_wolfe_iterate.hpp"
#include "shared/algorithms/frank_wolfe/vertex_choice.hpp"
#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

class PrivateFrankWolfe;

struct PrivateFrankWolfeSettings {
  using Algorithm = PrivateFrankWolfe;
  /// Its domain is the vertices' convex hull where a domain can say that: the l1 ball of their radius, the simplex of
  /// their scale. Of listed vertices it is the whole space.
  Problem problem;
  geometry::Vertices vertices;
  std::uint64_t iterates = 0;  // T: a vertex is chosen T-1 times
  const VertexChoice* choice = &choose_by_vote();

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const { return choice->traits(); }
};

/// Private Frank-Wolfe over a polytope.
///   for t = 1 .. T-1:  ask every silo about its gradient at theta_t, in the way of the choice
///                      theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t,  s_t the weighted mean of the chosen vertices
///   output theta_T
/// By vote every silo chooses a vertex by the exponential mechanism on its own records' gradients. Of one silo that is
/// a curator's algorithm, Algorithm 4 of the source. Of several the error of a step is the mean of the silos' own
/// errors, so more silos do not make it smaller, and where their records differ there is a floor below which no noise
/// is to blame. By vector silos send noised gradients, and the vertex is the best for their mean: the error is that of
/// a maximum over noise on every coordinate, larger by the root of the dimension and smaller by that of the silos.
/// Source: spec constraint-geometry 2.5, non-euclidean 3.2. @see FrankWolfeIterate, VertexChoice
class PrivateFrankWolfe final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "private_frank_wolfe";
  /// Of all rounds together: by vote a silo draws among them one by one.
  static constexpr std::uint64_t kCandidatesMax = std::uint64_t{1} << 36U;

  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there are fewer than two iterates, too many candidates, vertices of another dimension than
  /// the model, a domain that is not their hull, or a regulariser, which no step counts with
  [[nodiscard]] static Result<std::unique_ptr<PrivateFrankWolfe>> create(const PrivateFrankWolfeSettings& settings);

  /// What it asks, in order: T-1 times what the choice asks for in the rounds of a step, of the training block.
  [[nodiscard]] static planning::Schedule schedule(const PrivateFrankWolfeSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  /// theta_t, rounded to the wire type.
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  PrivateFrankWolfe(const PrivateFrankWolfeSettings& settings, FrankWolfeIterate iterate);
  [[nodiscard]] Step current() const;
  [[nodiscard]] std::uint64_t round() const noexcept { return (iterate_.at() - 1) * choice_->rounds() + of_step_; }
  /// How many numbers a later round of a step is asked about.
  [[nodiscard]] std::size_t asked_about() const;
  queries::PointType point_type_;
  const VertexChoice* choice_;
  std::uint32_t silos_;
  FrankWolfeIterate iterate_;
  std::uint64_t of_step_ = 0;            // the round of the step
  std::vector<Eigen::Index> nominated_;  // by the round before, of a later one
};

}  // namespace undertone::algorithms
