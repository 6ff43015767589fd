#include "shared/folds/aggregation.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "shared/base/overloaded.hpp"
#include "shared/releases/fixed_amount.hpp"

namespace undertone::folds {
namespace {

constexpr int kStepsMax = 64;        // of the iteration to the median
constexpr double kSettled = 1e-12;   // a step so small against the nearer half's distance is the last
constexpr double kSmoothing = 1e-9;  // of distances, against the same
constexpr double kMiddle = 0.499;    // trimmed off either end: what is left is the median, nearly

}  // namespace

void HeldReplies::add(const std::vector<std::int64_t>& values, std::uint64_t weight) {
  UNDERTONE_CHECK(static_cast<Eigen::Index>(values.size()) == dimension_);
  UNDERTONE_CHECK(weight >= 1 && weight <= LatticeFold::kWeightMax);
  UNDERTONE_CHECK(replies() < (Eigen::Index{1} << 20));  // 2^62 * 2^32 * 2^20 stays below 2^127
  replies_.push_back({values, weight});
}

Eigen::VectorXd HeldReplies::centre() const {
  UNDERTONE_CHECK(!replies_.empty());
  return (aggregation_.kind == Aggregation::Kind::TrimmedMean ? trimmed_mean(aggregation_.trim) : geometric_median()) *
         std::ldexp(1.0, step_log2_);
}

Eigen::VectorXd HeldReplies::trimmed_mean(double trim) const {
  std::uint64_t total = 0;
  for (const Held& held : replies_) total += held.weight;
  const auto off = static_cast<std::uint64_t>(std::floor(trim * static_cast<double>(total)));
  const std::uint64_t kept = total - 2 * off;
  Eigen::VectorXd out(dimension_);
  std::vector<std::pair<std::int64_t, std::uint64_t>> ordered(replies_.size());  // value, weight
  for (std::size_t j = 0; j < static_cast<std::size_t>(dimension_); ++j) {
    for (std::size_t i = 0; i < replies_.size(); ++i) ordered[i] = {replies_[i].values[j], replies_[i].weight};
    std::sort(ordered.begin(), ordered.end());
    // What of each reply's weight lies within [off, total - off]; the sum of equal values is the same in any order.
    releases::Int128 sum = 0;
    std::uint64_t below = 0;
    for (const auto& [value, weight] : ordered) {
      const std::uint64_t from = std::max(below, off);
      const std::uint64_t to = std::min(below + weight, total - off);
      if (from < to) sum += static_cast<releases::Int128>(value) * static_cast<releases::Int128>(to - from);
      below += weight;
    }
    out[static_cast<Eigen::Index>(j)] = static_cast<double>(sum) / static_cast<double>(kept);
  }
  return out;
}

Eigen::VectorXd HeldReplies::geometric_median() const {
  // Sums of doubles depend on their order: this one is the replies' own.
  std::vector<const Held*> ordered;
  ordered.reserve(replies_.size());
  for (const Held& held : replies_) ordered.push_back(&held);
  std::sort(ordered.begin(), ordered.end(), [](const Held* a, const Held* b) {
    return std::tie(a->values, a->weight) < std::tie(b->values, b->weight);
  });
  const auto point_of = [&](const Held& held) {
    return Eigen::Map<const Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>>(held.values.data(), dimension_)
        .cast<double>();
  };
  const auto weighted_mean = [&](const auto& weight_of) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(dimension_);
    double weights = 0.0;
    for (const Held* held : ordered) {
      const double weight = weight_of(*held);
      sum += weight * point_of(*held);
      weights += weight;
    }
    return Eigen::VectorXd(sum / weights);
  };
  // From the middle of each coordinate, where fewer than half cannot have moved it far; at the scale of the nearer
  // half.
  Eigen::VectorXd median = trimmed_mean(kMiddle);
  const double scale = [&] {
    std::vector<std::pair<double, std::uint64_t>> distances;  // and weights
    distances.reserve(ordered.size());
    std::uint64_t total = 0;
    for (const Held* held : ordered) {
      distances.emplace_back((point_of(*held) - median).norm(), held->weight);
      total += held->weight;
    }
    std::sort(distances.begin(), distances.end());
    std::uint64_t within = 0;
    for (const auto& [distance, weight] : distances) {
      within += weight;
      if (2 * within > total) return distance;
    }
    return 0.0;
  }();
  for (int k = 0; k < kStepsMax && scale > 0.0; ++k) {
    Eigen::VectorXd next = weighted_mean([&](const Held& held) {
      return static_cast<double>(held.weight) / std::max((point_of(held) - median).norm(), kSmoothing * scale);
    });
    const double moved = (next - median).norm();
    median = std::move(next);
    if (moved <= kSettled * scale) break;
  }
  // Towards a reply the iteration is slow: whether the nearest is the median itself can be asked. It is where the
  // others together do not pull it away by more than its own weight.
  const Held* nearest = *std::min_element(ordered.begin(), ordered.end(), [&](const Held* a, const Held* b) {
    return (point_of(*a) - median).squaredNorm() < (point_of(*b) - median).squaredNorm();
  });
  const Eigen::VectorXd there = point_of(*nearest);
  Eigen::VectorXd pull = Eigen::VectorXd::Zero(dimension_);
  double own = 0.0;
  for (const Held* held : ordered) {
    const Eigen::VectorXd off = point_of(*held) - there;
    const double distance = off.norm();
    if (distance > 0.0) {
      pull += static_cast<double>(held->weight) / distance * off;
    } else {
      own += static_cast<double>(held->weight);
    }
  }
  if (pull.norm() <= own) median = there;
  return median;
}

RoundFold::RoundFold(const Aggregation& aggregation, Eigen::Index dimension, const queries::WireLattice& wire)
    : fold_(std::in_place_type<LatticeFold>, aggregation.robust() ? 0 : dimension, wire.step_log2, wire.type),
      scaled_to_(aggregation.scaled_to) {
  if (aggregation.robust()) fold_.emplace<HeldReplies>(aggregation, dimension, wire.step_log2);
}

BesideFold::BesideFold(const Aggregation& aggregation, Eigen::Index dimension, const queries::WireLattice& wire)
    : first_(dimension, wire.step_log2, wire.type),
      open_(dimension, wire.step_log2, wire.type),
      scaled_to_(aggregation.scaled_to) {
  UNDERTONE_CHECK(!aggregation.robust());
}

void BesideFold::add(const std::vector<std::int64_t>& values, std::uint64_t weight, std::uint64_t public_records) {
  UNDERTONE_CHECK(static_cast<Eigen::Index>(values.size()) == 2 * first_.dimension());
  const auto middle = values.begin() + first_.dimension();
  first_.add({values.begin(), middle}, weight);
  if (public_records == 0) return;
  open_.add({middle, values.end()}, std::min(public_records, LatticeFold::kWeightMax));
  open_records_ += public_records;
}

Mean BesideFold::mean() const {
  Mean out{scaled_to_ ? first_.scaled_mean(*scaled_to_) : first_.mean()};
  if (open_.replies() > 0) out.open = Mean::Open{open_.mean(), open_records_};
  return out;
}

GroupsFold::GroupsFold(const Aggregation& aggregation, Eigen::Index dimension, std::uint32_t groups,
                       const queries::WireLattice& wire)
    : means_(static_cast<Eigen::Index>(groups) * dimension, wire.step_log2, wire.type),
      dimension_(dimension),
      groups_(groups),
      scaled_to_(aggregation.scaled_to) {
  UNDERTONE_CHECK(!aggregation.robust() && groups % 2 == 1);
}

void GroupsFold::add(const std::vector<std::int64_t>& values, std::uint64_t weight) { means_.add(values, weight); }

Eigen::VectorXd GroupsFold::median() const {
  const Eigen::VectorXd means = scaled_to_ ? means_.scaled_mean(*scaled_to_) : means_.mean();
  Eigen::VectorXd out(dimension_);
  std::vector<double> of_groups(groups_);
  const auto middle = of_groups.begin() + static_cast<std::ptrdiff_t>(groups_ / 2);
  for (Eigen::Index j = 0; j < dimension_; ++j) {
    for (std::size_t group = 0; group < of_groups.size(); ++group)
      of_groups[group] = means[static_cast<Eigen::Index>(group) * dimension_ + j];
    std::nth_element(of_groups.begin(), middle, of_groups.end());
    out[j] = *middle;
  }
  return out;
}

void RoundFold::add(const std::vector<std::int64_t>& values, std::uint64_t weight, std::uint64_t public_records) {
  std::visit(Overloaded{[&](BesideFold& fold) { fold.add(values, weight, public_records); },
                        [&](auto& fold) { fold.add(values, weight); }},
             fold_);
}

Eigen::Index RoundFold::replies() const noexcept {
  return std::visit([](const auto& fold) { return fold.replies(); }, fold_);
}

Folded RoundFold::value() const {
  return std::visit(Overloaded{[](const HeldReplies& held) -> Folded { return Mean{held.centre()}; },
                               [](const TallyFold& tally) -> Folded { return tally.tally(); },
                               [](const ReportsFold& reports) -> Folded { return reports.reports(); },
                               [](const BesideFold& fold) -> Folded { return fold.mean(); },
                               [](const GroupsFold& fold) -> Folded { return Mean{fold.median()}; },
                               [this](const LatticeFold& fold) -> Folded {
                                 return Mean{scaled_to_ ? fold.scaled_mean(*scaled_to_) : fold.mean()};
                               }},
                    fold_);
}

void TallyFold::add(const std::vector<std::int64_t>& values, std::uint64_t weight) {
  UNDERTONE_CHECK(values.size() == 1 && values.front() >= 0 && values.front() < candidates_);
  UNDERTONE_CHECK(weight >= 1 && weight <= LatticeFold::kWeightMax);
  UNDERTONE_CHECK(replies_ < (Eigen::Index{1} << 20));
  ++replies_;
  votes_[values.front()] += weight;
}

Tally TallyFold::tally() const {
  Tally out;
  for (const auto& [candidate, weight] : votes_) out.votes.emplace(candidate, static_cast<double>(weight));
  return out;
}

std::string to_string(const Aggregation& aggregation) {
  switch (aggregation.kind) {
    case Aggregation::Kind::Mean:
      return aggregation.scaled_to ? "mean scaled to the whole cohort's weights" : "mean";
    case Aggregation::Kind::TrimmedMean:
      return fmt::format("coordinate-wise trimmed mean, {:.4g} % of the weight off either end",
                         100.0 * aggregation.trim);
    case Aggregation::Kind::GeometricMedian:
      return "geometric median";
  }
  return "";
}

}  // namespace undertone::folds
