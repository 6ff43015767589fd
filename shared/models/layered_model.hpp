#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/models/chunk_pass.hpp"
#include "shared/models/layer.hpp"
#include "shared/models/linear_model.hpp"
#include "shared/models/network.hpp"
#include "shared/models/record_gradients.hpp"

namespace undertone::models {

/// Records that are added up with a weight each.
struct WeightedRecords {
  std::span<const std::int64_t> drawn;  // positions in the records
  std::span<const double> weights;      // [drawn] in [0, 1]; what has 0 is worked on like the others and dropped
};
/// Hands out the next records, `most` or fewer; none where there are no more.
using RecordSource = std::function<WeightedRecords(std::size_t most)>;

/// A network with the scratch to compute. A record's target is its class, 0 .. classes - 1. Sums of clipped gradients
/// are computed without a gradient per record, in chunks, so that the scratch depends on the network alone: 16 MiB, or
/// four records' values if they are more, and at most eight vectors of weights. The first question for differences
/// doubles it. One object for one thread.
class LayeredModel {
 public:
  static constexpr double kClipMin = 0x1p-100;
  static constexpr double kClipMax = 0x1p100;

  explicit LayeredModel(Network network, VectorUnits units = VectorUnits::Widest);

  [[nodiscard]] const Network& network() const noexcept { return network_; }
  [[nodiscard]] const std::vector<Layer>& layers() const noexcept { return network_.layers(); }
  [[nodiscard]] Eigen::Index features() const noexcept { return network_.features(); }
  [[nodiscard]] Eigen::Index classes() const noexcept { return network_.classes(); }
  [[nodiscard]] Eigen::Index dimension() const noexcept { return network_.dimension(); }
  /// Records that are worked on at once.
  [[nodiscard]] Eigen::Index chunk() const noexcept { return chunk_; }
  [[nodiscard]] std::int64_t scratch_bytes() const noexcept;

  /// The scores of record j, one for each class. @param out [classes]
  void scores(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
              Eigen::Ref<Eigen::VectorXd> out);
  /// Means over all records, not clipped: for public records and for simulations alone. A target that is no class
  /// counts as wrong and makes the loss infinite.
  struct Evaluation {
    double loss = 0.0;
    double accuracy = 0.0;
  };
  [[nodiscard]] Evaluation evaluate(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records);
  /// Record j's metrics minus 1/2, each in [-1/2, 1/2]; a target that is no class counts as the worst. In detail
  /// then its place in the confusion table, none where the target is no class. @param out [metrics]
  void centred_metrics(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
                       Eigen::Ref<Eigen::VectorXd> out);

  /// Not clipped, so for public records alone. @param sum [dimension] out
  void gradient_sum(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                    std::span<const std::int64_t> drawn, Eigen::Ref<Eigen::VectorXd> sum);

  /// Sum over the drawn records of their gradients, each projected on the ball of radius `clip`; never longer, and
  /// shorter by a relative 2^-21 (mass / norm)^2, see RecordGradients::kMassShare. A record whose target is no class,
  /// with something in its gradient that is not finite, or with a layer's values or errors beyond 2^100 counts zero.
  /// @param drawn positions in the records @param clip in [kClipMin, kClipMax] @param sum [dimension] out
  void clipped_gradient_sum(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                            std::span<const std::int64_t> drawn, double clip, Eigen::Ref<Eigen::VectorXd> sum);
  /// The same of each record's gradient at `weights` minus its gradient at `reference`.
  void clipped_difference_sum(const Eigen::Ref<const Eigen::VectorXd>& weights,
                              const Eigen::Ref<const Eigen::VectorXd>& reference, const Records& records,
                              std::span<const std::int64_t> drawn, double clip, Eigen::Ref<Eigen::VectorXd> sum);

  /// As these, each record's projected gradient times its weight. What a record of weight 0 holds changes neither the
  /// sum nor the time that it takes, but that what is not finite is passed over sooner.
  void weighted_gradient_sum(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                             const RecordSource& next, double clip, Eigen::Ref<Eigen::VectorXd> sum);
  void weighted_difference_sum(const Eigen::Ref<const Eigen::VectorXd>& weights,
                               const Eigen::Ref<const Eigen::VectorXd>& reference, const Records& records,
                               const RecordSource& next, double clip, Eigen::Ref<Eigen::VectorXd> sum);

  /// The b of a proof: a record, drawn once, contributes a real vector of l2 norm at most `clip`, a function of that
  /// record alone, and either clipped sum, as computed, is within b of the exact sum of these in l2. So
  /// replacing one record moves what was computed by at most 2 clip + 2 b.
  /// @param records n, all that are handed out, those with weights among them: a weight is at most 1
  /// @param mass m >= 0, which all weights add up to at most; without it n
  /// @return about 2^-43 m (n / 2^9 + 2^11 + 2 positions) clip
  [[nodiscard]] double rounding_bound(double clip, std::int64_t records, std::optional<std::int64_t> mass = {}) const;

 private:
  struct Judgement {
    double loss = 0.0;  // infinite where the target is no class
    bool right = false;
    Eigen::Index label = -1;  // none: the target is no class
    Eigen::Index said = 0;
  };
  /// Of the record in place i of the last forward pass, whose scores are worthless afterwards.
  [[nodiscard]] Judgement judge(Eigen::Index i, double target);
  /// Zeroes `sum`, hands every chunk to `add`, which adds it to `block_`, and adds up the blocks.
  template <class AddChunk>
  void sum_chunks(const Records& records, const RecordSource& next, Eigen::Ref<Eigen::VectorXd>& sum,
                  const AddChunk& add);
  /// What each record of the chunk is scaled by, to a norm of at most `clip`.
  void set_scales(std::span<Factors* const> factors, Eigen::Index count, double clip);
  /// Measures a chunk's records, scales each to a norm of at most `clip` and by its weight, if it has one, and adds
  /// them to `block_`.
  void add_clipped(std::span<Factors* const> factors, const WeightedRecords& part, double clip);
  VectorUnits vector_units_;
  Network network_;
  Eigen::Index chunk_;
  ChunkPass pass_;
  std::optional<ChunkPass> reference_;  // present once a difference was asked for
  RecordGradients gradients_;
  Eigen::VectorXd scales_;  // [chunk]
  Eigen::VectorXd block_;   // [dimension]: the sum over at most 2^10 records
};

}  // namespace undertone::models
