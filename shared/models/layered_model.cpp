#include "shared/models/layered_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "shared/models/elementary.hpp"

// Why `rounding_bound` holds. Standard model: u = 2^-53, gamma_k = k u / (1 - k u); a sum of products, in whatever
// order, in which no term meets more than k roundings is off by at most gamma_k times the sum of the terms' absolute
// values (Higham 2002, 3.1 and 4.2). Fix the weights. A record's computed inputs a, errors e and measured norm are
// functions of that record alone: every operation on them is one of `ordered_product`, `inner_product`, `elementary` or
// a number by itself. Take those numbers as given: a record's contribution is s G, in real arithmetic, with G_l = sum_t
// e_t a_t^T in layer l.
//  1. Mass. M_l = sum_t |e_t||a_t| bounds |G_l|, and the norm of sum_t |e_t||a_t|^T taken entry by entry; `mass` is at
//     least M_l (1 - 2^-22).
//  2. Norm. Each form of |G_l|^2 (dense, Gram) is a sum of terms that meet at most 2^30 roundings and whose absolute
//     values add up to at most M_l^2, so it errs by at most gamma_(2^30) M_l^2 < 2^-22 M_l^2. A gradient written out
//     errs by gamma_(2^28) M_l, its square by less than 4 gamma_(2^28) M_l^2. `measure` adds 2^-20 mass^2. Hence, up to
//     2^-40 relative from adding up the layers, squares >= |G|^2 and squares >= 2^-20 (1 - 2^-18) sum_l M_l^2.
//  3. Scale. s <= 1 and s sqrt(squares) <= clip (1 - 2^-30)(1 + 4 u), so s |G| <= clip and s |M| <= 1025 clip.
//  4. Sum. A term s e a meets 2 roundings in its products, then at most 2 T additions over the positions of both
//     factors, 2^11 in a block of 2^10 records and one per block: D in all. By 1., added up record by record, the
//     error's l2 norm is at most gamma_D sum s |M| <= gamma_D n 1025 clip.
//  5. Range. |a|, |e| <= 2^100, and counts are below 2^30: nothing overflows. Underflow adds at most 2^-1074 an
//     operation, times 2^200 and fewer than 2^100 operations: nothing beside clip >= 2^-100, and rounded up for.
// A weight in [0, 1] is one factor more of s, as computed, and makes it no larger. Where the weights of some records
// are 1 / m, rounded, their vectors together are no longer than clip: 64 roundings are nothing beside the 2^-30 of 3.
// In 4. the sum of s |M| is then at most 1025 clip times what the weights add up to, while D counts every record.
// A record whose `squares` are not finite has s = 0 and its columns set to zero: it contributes the zero vector.

namespace undertone::models {
namespace {

constexpr Eigen::Index kChunkMin = 4;
constexpr Eigen::Index kChunkMax = 64;
constexpr Eigen::Index kScratchValues = Eigen::Index{1} << 21;
constexpr Eigen::Index kBlockRecords = Eigen::Index{1} << 10;
constexpr double kMassMax = 1025.0;  // clips; see 3.

/// As many records as fit the scratch.
Eigen::Index chunk_of(const std::vector<Layer>& layers) {
  Eigen::Index values = 0;
  for (const Layer& layer : layers) {
    values += layer.input.values() + layer.sums() + layer.output.values() + (layer.gram ? 0 : layer.weights());
  }
  return std::clamp(kScratchValues / std::max<Eigen::Index>(values, 1), kChunkMin, kChunkMax);
}

/// Records one after the other, each once.
RecordSource each_of(std::span<const std::int64_t> drawn) {
  return [drawn](std::size_t most) mutable {
    const auto part = drawn.first(std::min(drawn.size(), most));
    drawn = drawn.subspan(part.size());
    return WeightedRecords{part, {}};
  };
}

/// Leaves what has a weight as it is and makes everything else zero, by the same operations on either.
void drop_weightless(std::span<Factors* const> factors, std::span<const double> weights) {
  const auto keep = [](double* numbers, Eigen::Index count, std::uint64_t mask) {
    for (Eigen::Index j = 0; j < count; ++j)
      numbers[j] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(numbers[j]) & mask);
  };
  for (Factors* f : factors) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(weights[i] > 0.0);
      const auto column = static_cast<Eigen::Index>(i);
      for (Eigen::MatrixXd& inputs : f->inputs) keep(inputs.col(column).data(), inputs.rows(), mask);
      for (Eigen::MatrixXd& errors : f->errors) keep(errors.col(column).data(), errors.rows(), mask);
    }
  }
}

}  // namespace

LayeredModel::LayeredModel(Network network, VectorUnits units)
    : vector_units_(units),
      network_(std::move(network)),
      chunk_(chunk_of(layers())),
      pass_(layers(), chunk_, units),
      gradients_(layers(), chunk_, units),
      scales_(chunk_),
      block_(dimension()) {}

std::int64_t LayeredModel::scratch_bytes() const noexcept {
  return pass_.scratch_bytes() + (reference_ ? reference_->scratch_bytes() : 0) + gradients_.scratch_bytes() +
         (scales_.size() + block_.size()) * static_cast<std::int64_t>(sizeof(double));
}

void LayeredModel::scores(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
                          Eigen::Ref<Eigen::VectorXd> out) {
  UNDERTONE_CHECK(weights.size() == dimension() && records.features.rows() == features());
  const std::int64_t drawn[] = {j};
  pass_.forward(layers(), weights, records, drawn);
  out = pass_.scores(0);
}

LayeredModel::Judgement LayeredModel::judge(Eigen::Index i, double target) {
  auto scores = pass_.factors().errors.back().col(i);
  const Eigen::Index label = class_of(target, classes());
  if (label < 0) return {std::numeric_limits<double>::infinity(), false, -1, 0};
  Eigen::Index best = 0;
  const double behind = scores.maxCoeff(&best) - scores[label];
  return {behind + std::log(exponentials_sum({scores.data(), static_cast<std::size_t>(scores.size())})), best == label,
          label, best};
}

LayeredModel::Evaluation LayeredModel::evaluate(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                                const Records& records) {
  UNDERTONE_CHECK(weights.size() == dimension() && records.features.rows() == features());
  std::vector<std::int64_t> part;
  double loss = 0.0;
  Eigen::Index right = 0;
  for (Eigen::Index from = 0; from < records.rows(); from += chunk_) {
    part.resize(static_cast<std::size_t>(std::min(chunk_, records.rows() - from)));
    std::iota(part.begin(), part.end(), from);
    pass_.forward(layers(), weights, records, part);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const Judgement judged = judge(static_cast<Eigen::Index>(i), records.targets[part[i]]);
      loss += judged.loss;
      right += judged.right ? 1 : 0;
    }
  }
  const auto count = static_cast<double>(records.rows());
  return {loss / count, static_cast<double>(right) / count};
}

void LayeredModel::centred_metrics(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                                   Eigen::Index j, Eigen::Ref<Eigen::VectorXd> out) {
  UNDERTONE_CHECK(weights.size() == dimension() && records.features.rows() == features());
  const std::int64_t drawn[] = {j};
  pass_.forward(layers(), weights, records, drawn);
  const auto finite = pass_.scores(0).allFinite();
  const Judgement judged = judge(0, records.targets[j]);
  const double most = network_.loss_max();
  out[0] = (finite && judged.loss <= most ? std::max(judged.loss, 0.0) / most : 1.0) - 0.5;
  out[1] = finite && judged.right ? 0.5 : -0.5;
  if (!network_.has_bins()) return;
  auto table = out.tail(out.size() - static_cast<Eigen::Index>(network_.metric_names().size()));
  table.setZero();
  const bool by_groups = !network_.detail().detailed();
  const std::int32_t group = by_groups ? records.group_of(j) : 0;
  if (judged.label < 0 || group < 0 || (by_groups && group >= network_.detail().groups)) return;
  table[(group * classes() + judged.label) * classes() + judged.said] = 1.0;
}

template <class AddChunk>
void LayeredModel::sum_chunks(const Records& records, const RecordSource& next, Eigen::Ref<Eigen::VectorXd>& sum,
                              const AddChunk& add) {
  UNDERTONE_CHECK(records.features.rows() == features() && records.features.cols() == records.rows());
  UNDERTONE_CHECK(sum.size() == dimension());
  sum.setZero();
  block_.setZero();
  Eigen::Index block_records = 0;
  while (true) {
    const WeightedRecords part = next(static_cast<std::size_t>(chunk_));
    const auto count = static_cast<Eigen::Index>(part.drawn.size());
    if (count == 0) break;
    UNDERTONE_CHECK(count <= chunk_ && (part.weights.empty() || part.weights.size() == part.drawn.size()));
    for (const std::int64_t j : part.drawn) UNDERTONE_CHECK(j >= 0 && j < records.rows());
    if (block_records + count > kBlockRecords) {
      sum += block_;
      block_.setZero();
      block_records = 0;
    }
    add(part);
    block_records += count;
  }
  sum += block_;
}

void LayeredModel::set_scales(std::span<Factors* const> factors, Eigen::Index count, double clip) {
  gradients_.measure(layers(), factors, count, scales_);
  const double radius = clip * (1.0 - 0x1p-30);
  for (double& scale : scales_.head(count)) {
    const double norm = std::sqrt(scale);
    if (norm <= radius) {
      scale = 1.0;
    } else {
      scale = std::isfinite(norm) ? radius / norm : 0.0;
    }
  }
}

void LayeredModel::add_clipped(std::span<Factors* const> factors, const WeightedRecords& part, double clip) {
  const auto count = static_cast<Eigen::Index>(part.drawn.size());
  if (!part.weights.empty()) drop_weightless(factors, part.weights);
  set_scales(factors, count, clip);
  for (std::size_t i = 0; i < part.weights.size(); ++i) {
    // What was dropped is all zeros: any factor does, but one that would pass over it.
    scales_[static_cast<Eigen::Index>(i)] *= part.weights[i] > 0.0 ? part.weights[i] : 0.5;
  }
  gradients_.add(layers(), factors, count, scales_, block_);
}

void LayeredModel::gradient_sum(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                                std::span<const std::int64_t> drawn, Eigen::Ref<Eigen::VectorXd> sum) {
  UNDERTONE_CHECK(weights.size() == dimension());
  Factors* const factors[] = {&pass_.factors()};
  scales_.setOnes();
  sum_chunks(records, each_of(drawn), sum, [&](const WeightedRecords& part) {
    pass_.forward(layers(), weights, records, part.drawn);
    pass_.backward(layers(), weights, records, part.drawn);
    const auto count = static_cast<Eigen::Index>(part.drawn.size());
    gradients_.form(layers(), factors, count);
    gradients_.add(layers(), factors, count, scales_, block_);
  });
}

void LayeredModel::clipped_gradient_sum(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                                        std::span<const std::int64_t> drawn, double clip,
                                        Eigen::Ref<Eigen::VectorXd> sum) {
  weighted_gradient_sum(weights, records, each_of(drawn), clip, sum.head(sum.size()));
}

void LayeredModel::weighted_gradient_sum(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                                         const RecordSource& next, double clip, Eigen::Ref<Eigen::VectorXd> sum) {
  UNDERTONE_CHECK(weights.size() == dimension() && clip >= kClipMin && clip <= kClipMax);
  Factors* const factors[] = {&pass_.factors()};
  sum_chunks(records, next, sum, [&](const WeightedRecords& part) {
    pass_.forward(layers(), weights, records, part.drawn);
    pass_.backward(layers(), weights, records, part.drawn);
    add_clipped(factors, part, clip);
  });
}

void LayeredModel::clipped_difference_sum(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                          const Eigen::Ref<const Eigen::VectorXd>& reference, const Records& records,
                                          std::span<const std::int64_t> drawn, double clip,
                                          Eigen::Ref<Eigen::VectorXd> sum) {
  weighted_difference_sum(weights, reference, records, each_of(drawn), clip, sum.head(sum.size()));
}

void LayeredModel::weighted_difference_sum(const Eigen::Ref<const Eigen::VectorXd>& weights,
                                           const Eigen::Ref<const Eigen::VectorXd>& reference, const Records& records,
                                           const RecordSource& next, double clip, Eigen::Ref<Eigen::VectorXd> sum) {
  UNDERTONE_CHECK(weights.size() == dimension() && clip >= kClipMin && clip <= kClipMax);
  UNDERTONE_CHECK(reference.size() == dimension());
  if (!reference_) reference_.emplace(layers(), chunk_, vector_units_);
  Factors& here = pass_.factors();
  Factors& there = reference_->factors();
  Factors* const factors[] = {&here, &there};
  sum_chunks(records, next, sum, [&](const WeightedRecords& part) {
    const auto count = static_cast<Eigen::Index>(part.drawn.size());
    pass_.forward(layers(), weights, records, part.drawn);
    pass_.backward(layers(), weights, records, part.drawn);
    reference_->forward(layers(), reference, records, part.drawn);
    reference_->backward(layers(), reference, records, part.drawn);
    // e a^T - e' a'^T = (e - e') a^T + e' (a - a')^T: as w' nears w both terms vanish, and what is measured is small by
    // itself, not by cancelling.
    for (std::size_t l = 0; l < layers().size(); ++l) {
      here.errors[l].leftCols(count) -= there.errors[l].leftCols(count);
      there.inputs[l].leftCols(count) = here.inputs[l].leftCols(count) - there.inputs[l].leftCols(count);
    }
    add_clipped(factors, part, clip);
  });
}

double LayeredModel::rounding_bound(double clip, std::int64_t records, std::optional<std::int64_t> mass) const {
  UNDERTONE_CHECK(clip >= kClipMin && clip <= kClipMax && records >= 0 && mass.value_or(0) >= 0);
  Eigen::Index positions = 1;
  for (const Layer& layer : layers()) positions = std::max(positions, layer.positions());
  const auto n = static_cast<double>(records);
  // A block holds more than half of kBlockRecords, as a chunk is smaller than that.
  const auto blocks = 2.0 * n / static_cast<double>(kBlockRecords) + 2.0;
  const double roundings = 2.0 * static_cast<double>(positions + kBlockRecords) + blocks + 8.0;
  const double gamma = roundings * 0x1p-53 / (1.0 - roundings * 0x1p-53);
  return gamma * static_cast<double>(mass.value_or(records)) * kMassMax * clip * (1.0 + 0x1p-20);
}

}  // namespace undertone::models
