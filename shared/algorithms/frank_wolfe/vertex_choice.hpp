#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shared/algorithms/frank_wolfe/frank_wolfe_iterate.hpp"
#include "shared/algorithms/method.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::algorithms {

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
  /// How many rounds a step takes: of all but the last the answers choose what the next one is asked about.
  [[nodiscard]] virtual std::uint64_t rounds() const { return 1; }
  /// What a step's first round is asked about, where not about all of space.
  [[nodiscard]] virtual std::vector<Eigen::Index> candidates(const geometry::Vertices& /*vertices*/) const {
    return {};
  }
  /// What a round of a step asks of a silo. @param round of the step, below `rounds` @param silos of the cohort
  /// @pre the shape's bound is the one of `traits`
  [[nodiscard]] virtual releases::Ask ask(const GradientShape& shape, const geometry::Vertices& vertices,
                                          std::uint64_t round, std::uint32_t silos) const = 0;
  /// The same as a question. @param nominated what the round before chose, as many as the ask has numbers, some perhaps
  /// twice; of a step's first round `candidates`
  [[nodiscard]] virtual queries::Question question(const Eigen::VectorXd& point,
                                                   const std::vector<Eigen::Index>& nominated,
                                                   std::uint64_t /*round*/) const {
    (void)nominated;
    return queries::GradientQuestion{point};
  }
  /// The vertices that a round's answers choose. @param nominated as of `question`
  /// @return an error where what was gathered is no answer to such an ask
  [[nodiscard]] virtual Result<VertexTally> votes(const folds::Gathered& gathered, const geometry::Vertices& vertices,
                                                  const std::vector<Eigen::Index>& nominated,
                                                  std::uint64_t round) const = 0;
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
/// Option A of a polytope with fewer vertices than dimensions: the best vertex for the mean of their noised scores.
[[nodiscard]] const VertexChoice& choose_by_scores();
/// Option E: every silo nominates a vertex as in D, and of those the best for the mean of their noised scores is taken.
[[nodiscard]] const VertexChoice& choose_by_nomination();

/// How far each silo's own best vertex is behind, on the mean of the silos: what a vote adds to the error of a step.
[[nodiscard]] double vote_error(const geometry::Vertices& vertices, std::span<const WeighedPlan> silos);
/// E of the largest of so many noises on the mean of the silos' scores, sigma sqrt(2 ln m) of Gaussian ones. Of Laplace
/// noise of variance sigma^2 a coordinate, on the mean of at least one silo: sigma (ln(2 m) + 1)/sqrt 2.
[[nodiscard]] double score_error(std::span<const WeighedPlan> silos, Eigen::Index scores);
/// What of the records' scores of so many vertices leaves, in a ball of the l2 norm that their bound allows:
/// sqrt(scores) max ||v||_1 times a coordinate's. @pre the shape's bound is one of every coordinate
[[nodiscard]] releases::Ask scores_of(const GradientShape& shape, const geometry::Vertices& vertices,
                                      Eigen::Index scores);
/// @param candidates the numbers of the vertices that are asked about
[[nodiscard]] queries::Question scores_question(const Eigen::VectorXd& point,
                                                const std::vector<Eigen::Index>& candidates);
/// The candidate with the least mean score. @param candidates as asked: of several alike the first counts
[[nodiscard]] Result<VertexTally> least_score(const folds::Gathered& gathered,
                                              const std::vector<Eigen::Index>& candidates);

/// All of them; the first is what jobs leave out.
[[nodiscard]] std::span<const VertexChoice* const> vertex_choices();

}  // namespace undertone::algorithms
