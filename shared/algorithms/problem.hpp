#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/features/score_moments.hpp"
#include "shared/folds/fold.hpp"
#include "shared/geometry/proximal_step.hpp"
#include "shared/planning/plan.hpp"
#include "shared/queries/query.hpp"

namespace undertone::algorithms {

/// What every algorithm minimises, all of it public: F(w) = sum_i p_i F_i(w) + g(w) over W, of which the silos answer
/// for the F_i alone.
struct Problem {
  Eigen::Index dimension = 0;
  geometry::Domain domain = geometry::Domain::whole_space();          // W
  geometry::Regulariser regulariser = geometry::Regulariser::none();  // g
  queries::PointType point_type = queries::PointType::F64;
  std::uint32_t silos = 1;  // N: of the cohort, whoever answers
  // [dimension], in W up to rounding, from `start_at` or `start_near`; else empty, for the point of W nearest to 0.
  Eigen::VectorXd initial = {};
  std::uint32_t groups = 0;      // of the schema's sensitive columns; 0: it names none
  std::uint32_t classes = 0;     // of its label; 0: it is a number
  bool attribute_alone = false;  // is protected, of each record
  double record_norm = 1.0;      // of what the model reads of a record, at most
  double clip = 1.0;             // that a job asks records' gradients to be clipped to
  Eigen::Index features = 0;     // encoded, that the model reads: one fewer than its numbers where it has an intercept
  std::vector<statistics::Covariate> covariates = {};  // of a regression on the schema's features. @see covariates_of
  /// The link of a regression with this model. There is none where its loss is not that of a regression.
  std::optional<statistics::ScoreLink> link = {};
  /// A feature that is a number, of which a regression may take its exposure.
  struct Number {
    std::string name;
    std::size_t coordinate = 0;
    double min = 0.0;
    double max = 1.0;
    bool may_be_missing = false;
  };
  std::vector<Number> numbers = {};

  /// The starting point w_0, as it crosses the wire. It is public.
  [[nodiscard]] Eigen::VectorXd start() const;
  /// Makes the run start at this very point, so that a run goes on from another's last iterate to the bit.
  /// @param point [dimension]
  /// @return an error with both numbers where the size is another, a number is not finite or too large for the wire's
  /// type, or the point lies farther outside W than the rounding of an iterate to the wire's type explains
  [[nodiscard]] Status start_at(Eigen::VectorXd point);
  /// Makes the run start at the point of W nearest to this one. @param point [dimension], of finite norm
  void start_near(Eigen::VectorXd point);
  /// Projects on W and rounds to the wire's type.
  void settle(Eigen::VectorXd& point) const;
  /// Whether a point is finite and stays so on the wire.
  [[nodiscard]] bool representable(const Eigen::VectorXd& point) const;
  [[nodiscard]] bool fits(const folds::Gathered& gathered) const { return gathered.size() == dimension; }
};

/// How the silos' gradients are asked for.
struct GradientShape {
  releases::Bound bound;       // of a record's gradient
  double draw_fraction = 1.0;  // of the records that a release reads
  // Of a gradient's noise and a difference's, where a theorem or a person chose it. The first has one entry, or one for
  // each phase of an algorithm that uses records in phases, or none.
  std::vector<releases::GaussianShift> gradient_shifts = {};
  std::optional<releases::GaussianShift> difference_shift = {};
  bool with_replacement = false;  // how they are drawn: @see releases::Ask
  releases::Slice::Assignment parts = releases::Slice::Assignment::Permutation;  // how they come to the slices

  bool beside_public = false;  // silos answer for their public records besides: @see releases::Ask
  /// r of the generalised Gaussian noise on sums, in a dual norm's place: @see releases::SumForm
  std::optional<double> noise_norm = {};

  /// @param phase of an algorithm that has several
  /// @pre the bound is one in l2 or in a dual norm
  [[nodiscard]] releases::Ask gradient(Eigen::Index dimension, std::optional<releases::Slice> slice = {},
                                       std::size_t phase = 0) const;
  /// Differences of gradients at two points, each record's clipped: to `smoothness` times the distance of the points
  /// where a public one is given, and never to more than twice the clip norm.
  [[nodiscard]] releases::Ask difference(Eigen::Index dimension, std::optional<double> smoothness) const;
  /// @pre the bound is one in l2
  [[nodiscard]] releases::Ask local_run(Eigen::Index dimension, const releases::LocalSteps& steps) const;
  /// The vertex that the silos' gradients choose. @pre the bound is one of every coordinate
  [[nodiscard]] releases::Ask selection(const geometry::Vertices& candidates) const;
  /// In l2. @pre the bound is one in l2 or in a dual norm
  [[nodiscard]] const releases::ClipNorm& clip() const;
};

}  // namespace undertone::algorithms
