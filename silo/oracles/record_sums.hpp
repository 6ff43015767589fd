#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "shared/fairness/fair_blocks.hpp"
#include "shared/features/score_moments.hpp"
#include "shared/mechanisms/lattice.hpp"
#include "shared/mechanisms/selection/clamped_sum.hpp"
#include "shared/models/model.hpp"
#include "shared/releases/influence_bound.hpp"
#include "silo/oracles/person_draw.hpp"

namespace undertone::silo {

/// Exact integer sums over drawn records, with the scratch that the model takes. For two blocks that differ in one
/// record, sums over the same draw differ by at most 2 * lattice.clip in l2 for each time that it is drawn, whatever
/// the records hold. By Cauchy and Schwarz that is at most 2 * lattice.clip * sqrt(d) in l1, and as a sum of integers
/// at most the integer below: what Laplace noise is calibrated to. @see mechanisms::laplace_lattice
/// One object for one thread.
class RecordSums {
 public:
  RecordSums() = default;
  RecordSums(const RecordSums&) = delete;
  RecordSums& operator=(const RecordSums&) = delete;
  virtual ~RecordSums() = default;

  /// Whether each record becomes integers by itself, so that a sum is exact and cannot depend on an order.
  [[nodiscard]] virtual bool adds_integers() const noexcept = 0;

  /// Whether sums of gradients do the same work for what is not counted. @see Drawn
  [[nodiscard]] virtual bool hides_counts() const noexcept { return false; }

  /// Whether positions are persons, each of whom contributes once, however many rows she has.
  [[nodiscard]] virtual bool takes_persons() const noexcept { return false; }

  /// Where records lie, and which of them are added up.
  struct Drawn {
    const models::Records& block;
    // One may stand there several times. In any order where integers are added, else in a secret one.
    std::span<const std::int64_t> positions;
    // Where it is set, only the first so many are added up: the others are worked on just like them and dropped, so
    // that neither time nor memory tells how many count. @pre each record becomes integers by itself
    std::optional<std::size_t> counted = {};
    const PersonDraw* persons = nullptr;  // of a block of persons: which of their records are looked at
  };
  /// Of gradients at a point, the one sum of which a part may not be counted. @param point [d] @param sum [d] out,
  /// lattice units
  virtual void gradients(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
                         std::span<std::int64_t> sum) = 0;
  /// The l_q norm that records' vectors are clipped to before the lattice's l2 norm, which it does not replace.
  struct DualClip {
    double exponent = 0.0;  // q > 2
    double norm = 0.0;

    /// The factor a' of a' v, no longer than the norm, in place of a. @param a any number
    /// @param length of v in l_q. Of one that is no number, or so large that the quotient has lost digits, a' is 0.
    [[nodiscard]] double clipped(double a, double length) const;
  };
  /// As `gradients`, each record's also clipped in l_q, to rounding, in the same pass. Of linear models: a job of
  /// others is refused where it is offered, and here the process stops.
  virtual void dual_gradients(const Eigen::VectorXd& point, const DualClip& dual, const mechanisms::Lattice& lattice,
                              const Drawn& drawn, std::span<std::int64_t> sum);
  /// As `gradients`, each coordinate of a record's cut by itself before the lattice's l2 norm, which it does not
  /// replace. What is not finite adds nothing. Of linear models, as `dual_gradients`.
  /// @pre the whole of what is drawn is counted
  virtual void influenced_gradients(const Eigen::VectorXd& point, const releases::InfluenceBound& influence,
                                    const mechanisms::Lattice& lattice, const Drawn& drawn,
                                    std::span<std::int64_t> sum);
  /// Of gradients at a point, clamped coordinate by coordinate: replacing a record moves every coordinate by at most
  /// twice the lattice's levels. @see mechanisms::ClampedSum
  /// @pre each record's gradient is computed for itself, as those of networks are not @param sum [d] out, lattice units
  virtual void clamped_gradients(const Eigen::VectorXd& point, const mechanisms::ClampLattice& lattice,
                                 const Drawn& drawn, std::span<std::int64_t> sum) = 0;
  /// A record's gradient at one point less a part of that at another: what a node of a path adds of it.
  struct PathTerm {
    Eigen::Ref<const Eigen::VectorXd> point;  // [d]
    Eigen::Ref<const Eigen::VectorXd> from;   // [d], not looked at where nothing is carried
    double carried = 0.0;
  };
  /// Of such terms, clamped coordinate by coordinate like `clamped_gradients`, and added to what is there. Of linear
  /// models, as `dual_gradients`. @param sum [d], units
  virtual void add_clamped_terms(const PathTerm& term, const mechanisms::ClampUnits& units, const Drawn& drawn,
                                 std::span<std::int64_t> sum);
  /// Of the scores <v, gradient at the point>, each record's together clipped in l2. Of linear models, as
  /// `dual_gradients`. @param directions [d, m], a vertex a column @param sum [m] out, lattice units
  virtual void scores(const Eigen::Ref<const Eigen::VectorXd>& point, const Eigen::MatrixXd& directions,
                      const mechanisms::Lattice& lattice, const Drawn& drawn, std::span<std::int64_t> sum);
  /// Of the two parts of records' fair gradients, each part clipped to its share of the lattice's clip. Of logistic
  /// models, as `dual_gradients`. @param point [d + weights + cells], whatever stands there: @see fairness::FairBlocks
  /// @param sum [d + weights] out, lattice units @pre the whole of what is drawn is counted
  virtual void fair_gradients(const Eigen::VectorXd& point, const fairness::FairTerms& terms,
                              const mechanisms::Lattice& lattice, const Drawn& drawn, std::span<std::int64_t> sum);
  /// Of the cells that records are in, as `fair_gradients`. @see releases::GroupSharesMap
  /// @param sum [cells] out, lattice units
  virtual void group_shares(const fairness::Grouping& grouping, const mechanisms::Lattice& lattice, const Drawn& drawn,
                            std::span<std::int64_t> sum);
  /// Of the score moments of a regression, each number rounded to the nearest unit: replacing a record moves the sum by
  /// at most score_distance() times the units of 1, and by the root of how many numbers there are, which rounding adds.
  /// Of logistic and poisson models with an intercept, as `dual_gradients`. @param point [d], whatever stands there
  /// @param lattice of which `clip` units are 1 @param sum [statistics::score_numbers] out, lattice units
  /// @pre the whole of what is drawn is counted
  virtual void score_moments(const Eigen::VectorXd& point, const statistics::ScoreTerms& terms,
                             const mechanisms::Lattice& lattice, const Drawn& drawn, std::span<std::int64_t> sum);
  /// Hands on each record's gradient by itself, neither clipped nor made of integers: for what randomises records one
  /// by one. Of linear models, as `dual_gradients`. @param use is called with [d], in the order of positions
  virtual void each_gradient(const Eigen::VectorXd& point, const Drawn& drawn,
                             const std::function<void(const Eigen::VectorXd&)>& use);
  /// The linear model whose records these are; null of others.
  [[nodiscard]] virtual const models::LinearModel* linear() const noexcept { return nullptr; }
  /// A record's gradient at the first point less that at the second: [d] each.
  struct PointPair {
    Eigen::Ref<const Eigen::VectorXd> minuend;
    Eigen::Ref<const Eigen::VectorXd> subtrahend;
  };
  /// Of differences of a record's gradients at two points. @param sum [d] out, lattice units
  virtual void differences(const PointPair& points, const mechanisms::Lattice& lattice, const Drawn& drawn,
                           std::span<std::int64_t> sum) = 0;
  /// As `differences`, each record's also clipped in l_q. @pre as of `dual_gradients`
  virtual void dual_differences(const PointPair& points, const DualClip& dual, const mechanisms::Lattice& lattice,
                                const Drawn& drawn, std::span<std::int64_t> sum);
  /// Of centred metrics. @param point [d] @param sum [metrics] out, lattice units
  virtual void metrics(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
                       std::span<std::int64_t> sum) = 0;
};

[[nodiscard]] std::unique_ptr<RecordSums> make_record_sums(const models::Model& model);

/// Puts every coordinate's influence, and zeros of a vector that is not finite. @param out [d], as long as the vector
void put_influences(const Eigen::Ref<const Eigen::VectorXd>& vector, const releases::InfluenceBound& bound,
                    Eigen::VectorXd& out);

/// A sum as computed, in the lattice's units, each number rounded to the nearest. @param out [numbers]
void round_to_lattice(const Eigen::VectorXd& numbers, const mechanisms::Lattice& lattice, std::span<std::int64_t> out);

/// The norm that records of a layered model are clipped to, so that their sum, as computed and rounded to the lattice,
/// moves by at most 2 j * lattice.clip when a record is replaced that was drawn j times: decision 7.
/// @param rounding_share b / clip of LayeredModel::rounding_bound for so many records
[[nodiscard]] double clip_before_rounding(const mechanisms::Lattice& lattice, Eigen::Index dimension,
                                          std::size_t records, double rounding_share);

}  // namespace undertone::silo
