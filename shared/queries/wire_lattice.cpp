#include "shared/queries/wire_lattice.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/large_memory.hpp"
#include "shared/mechanisms/laplace_sum/laplace_sum.hpp"

namespace undertone::queries {

double largest(ReplyType type) noexcept {
  switch (type) {
    case ReplyType::I32:
      return 0x1p31 - 1.0;
    case ReplyType::I64:
      return 0x1p62;
  }
  return 0.0;
}

Status check_fits(const planning::Release& release, const WireLattice& wire) {
  // Counts, candidates and statistics are on no wire lattice of the job's.
  if (std::holds_alternative<mechanisms::BinomialSum>(release.mechanism) || release.ask.selects() ||
      release.ask.answers_in_totals()) {
    return {};
  }
  const double step = std::ldexp(1.0, wire.step_log2);
  if (const auto* choices = std::get_if<releases::LocalChoicesMap>(&release.ask.map)) {
    // What leaves is a point of the vertices' hull, of no noise of its own.
    const double most = choices->vertices.norm_l1_max() / step;
    if (step <= 0x1p-10 * choices->vertices.norm_l1_max() && most < largest(wire.type)) return {};
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("at a wire step of 2^{} a model among vertices of size {:.3g} is rounded to {:.3g} steps, "
                             "expected at least 1024, and its type holds {:.3g}",
                             wire.step_log2, choices->vertices.norm_l1_max(), most, largest(wire.type))};
  }
  if (const auto* objective = std::get_if<mechanisms::PerturbedObjective>(&release.mechanism)) {
    const double own = objective->ideal.output().noise_stddev();
    if (step <= 0.25 * own) return {};  // what leaves the type's range is clamped to it
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a wire step of 2^{} is coarser than a quarter of the noise {:.3g}", wire.step_log2, own)};
  }
  double noise = 0.0;
  // A local run's message has its last step's noise, and is as far off as all its steps may lead.
  const double last = release.ask.local() != nullptr ? release.ask.local()->step_size : 1.0;
  const double steps = static_cast<double>(release.draws());
  if (!release.is_public()) {
    noise = last * release.noise_stddev_of_answer();
    if (step > 0.25 * noise) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("a wire step of 2^{} is coarser than a quarter of the noise {:.3g}", wire.step_log2, noise)};
    }
  }
  const double most = static_cast<double>(release.records_max()) / static_cast<double>(release.records_drawn);
  const double extreme = (steps * last * most * release.ask.reach() + 40.0 * std::sqrt(steps) * noise) / step;
  if (!(extreme < largest(wire.type))) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("at a wire step of 2^{} a reply needs {:.3g} steps, its type holds {:.3g}", wire.step_log2,
                             extreme, largest(wire.type))};
  }
  return {};
}

std::vector<std::int64_t> to_wire(std::span<const std::int64_t> sum, const planning::Release& release,
                                  const WireLattice& wire) {
  const double factor =
      std::ldexp(release.lattice().step / static_cast<double>(release.records_drawn), -wire.step_log2);
  const double bound = largest(wire.type);
  std::vector<std::int64_t> out;
  out.reserve(sum.size());
  expect_much(out.data(), out.capacity() * sizeof(std::int64_t));
  for (const std::int64_t value : sum) {
    const double units = std::nearbyint(static_cast<double>(value) * factor);
    out.push_back(static_cast<std::int64_t>(std::clamp(units, -bound, bound)));
  }
  return out;
}

WireLattice statistic_lattice(const releases::Ask& ask) {
  if (ask.selects()) return {ReplyType::I64, 0};
  if (const releases::ReportsForm* reports = ask.reports()) {
    switch (reports->randomiser) {
      case releases::Randomiser::Bit:
      case releases::Randomiser::StringBit:
        return {ReplyType::I32, 0};
      case releases::Randomiser::Index:
        return {ReplyType::I64, 0};
      case releases::Randomiser::Direction:
      case releases::Randomiser::GaussianDirection:
      case releases::Randomiser::Gaussian:
        return {ReplyType::I64, mechanisms::kValueStepLog2};
      case releases::Randomiser::Laplace:
        return {ReplyType::I64, releases::reports_indicators(ask) ? 0 : mechanisms::kValueStepLog2};
    }
  }
  if (const auto* statistic = std::get_if<releases::StatisticMap>(&ask.map))
    return {ReplyType::I64, statistic->indicators ? 0 : mechanisms::kValueStepLog2};
  const auto* pair = std::get_if<releases::PairBound>(&ask.bound);
  const bool whole =
      pair != nullptr && pair->norm == releases::PairBound::Norm::L1 && releases::pair_distance(ask).counts;
  return {ReplyType::I64, whole ? 0 : mechanisms::kValueStepLog2};
}

std::vector<std::int64_t> totals_to_wire(std::span<const std::int64_t> sum, const planning::Release& release) {
  const double bound = largest(ReplyType::I64);
  const bool as_they_are = std::holds_alternative<mechanisms::LaplaceLattice>(release.mechanism);
  const double factor = std::ldexp(release.lattice().step, -mechanisms::kValueStepLog2);
  std::vector<std::int64_t> out;
  out.reserve(sum.size());
  for (const std::int64_t value : sum) {
    if (as_they_are) {
      constexpr std::int64_t kMax = std::int64_t{1} << 62U;
      out.push_back(std::clamp(value, -kMax, kMax));
      continue;
    }
    out.push_back(
        static_cast<std::int64_t>(std::clamp(std::nearbyint(static_cast<double>(value) * factor), -bound, bound)));
  }
  return out;
}

std::vector<std::int64_t> to_wire(const Eigen::VectorXd& point, const WireLattice& wire) {
  const double bound = largest(wire.type);
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(point.size()));
  for (const double value : point) {
    const double units = std::nearbyint(std::ldexp(value, -wire.step_log2));
    // This way round, a NaN is clamped too.
    out.push_back(units >= -bound ? static_cast<std::int64_t>(std::min(units, bound))
                                  : static_cast<std::int64_t>(-bound));
  }
  return out;
}

}  // namespace undertone::queries
