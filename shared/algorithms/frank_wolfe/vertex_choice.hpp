#pragma once

#include <span>
#include <string_view>

#include "shared/algorithms/frank_wolfe/frank_wolfe_iterate.hpp"
#include "shared/algorithms/method.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::algorithms {

/// One silo of a round, as a choice sees it.
struct WeighedPlan {
  const planning::Plan* plan = nullptr;  // of a schedule that asks as the choice does
  double share = 0.0;                    // of the cohort's weights, all of which add up to 1
};

/// How the vertex of a Frank-Wolfe step is found: what silos are asked for, and what their answers choose. A further
/// one is a file of its own and a row of `vertex_choices`; nothing else knows it. Source: spec non-euclidean 3.2.
class VertexChoice {
 public:
  VertexChoice() = default;
  VertexChoice(const VertexChoice&) = delete;
  VertexChoice& operator=(const VertexChoice&) = delete;
  virtual ~VertexChoice() = default;

  /// As jobs name it: "vote".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// For a sentence about the method: "of several silos the mean of the vertices that each chooses".
  [[nodiscard]] virtual std::string_view about() const = 0;
  /// In what a record's gradient is bounded, and what else its asks demand of a job.
  [[nodiscard]] virtual MethodTraits traits() const = 0;
  /// What every round asks of a silo. @pre the shape's bound is the one of `traits`
  [[nodiscard]] virtual releases::Ask ask(const GradientShape& shape, const geometry::Vertices& vertices) const = 0;
  /// The vertices that a round's answers choose.
  /// @return an error where what was gathered is no answer to such an ask
  [[nodiscard]] virtual Result<VertexTally> votes(const folds::Gathered& gathered,
                                                  const geometry::Vertices& vertices) const = 0;
  /// A bound on E [<s, g> - min over the vertices of <v, g>] of one step where all silos answer: s the mean of the
  /// chosen vertices, g the silos' mean gradient with every record's clipped. What silos differ by comes on top where
  /// each chooses for itself. Of public records 0.
  /// @param silos at least one
  [[nodiscard]] virtual double step_error(const geometry::Vertices& vertices,
                                          std::span<const WeighedPlan> silos) const = 0;
};

/// Option D: every silo chooses for itself by the exponential mechanism.
[[nodiscard]] const VertexChoice& choose_by_vote();
/// Options A and C: the best vertex for the mean of noised gradients.
[[nodiscard]] const VertexChoice& choose_by_vector();

/// All of them; the first is what jobs leave out.
[[nodiscard]] std::span<const VertexChoice* const> vertex_choices();

}  // namespace undertone::algorithms
