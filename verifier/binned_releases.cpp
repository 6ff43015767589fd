#include "verifier/binned_releases.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "verifier/allocation_bound.hpp"
#include "verifier/gaussian_profile.hpp"

namespace undertone::verifier {
namespace {

constexpr UInt128 kSlotsMax = UInt128{1} << 40U;
constexpr UInt128 kRoundsMax = 1'000'000;  // of what is besides
constexpr std::size_t kPassesMax = 10'000;

long double shift_of_bin(UInt128 shift_squared) {
  return std::sqrt(std::ldexp(static_cast<long double>(shift_squared), -40));
}

/// a ln(a / b), 0 at 0.
long double divergence_term(long double a, long double b) { return a == 0 ? 0 : a * std::log(a / b); }

/// One pass over secret parts as a random allocation.
AllocatedPasses allocated(const BinnedBlock::Bins& bins, UInt128 slots, bool permuted) {
  AllocatedPasses out;
  out.fixed_sizes = permuted;
  std::map<std::pair<UInt128, UInt128>, std::uint64_t> alike;  // by how many slots a bin has, and its shift squared
  UInt128 read = 0;
  for (const auto& [own, bin] : bins) {
    ++alike[{own.second - own.first, bin.shift_squared}];
    read += own.second - own.first;
  }
  const auto n = static_cast<long double>(slots);
  for (const auto& [kind, parts] : alike)
    out.groups.push_back({parts, static_cast<long double>(kind.first) / n, shift_of_bin(kind.second)});
  out.unread = static_cast<long double>(slots - read) / n;
  return out;
}

/// Parts of a secret permutation, as a list of nothing else reads them.
std::optional<BinnedBlock> permuted_parts(const std::vector<ReleaseGroup>& groups) {
  BinnedBlock out;
  out.permuted = true;
  out.slots = groups.front().secret_slots.value_or(0);
  BinnedBlock::Bins& parts = out.passes[0];
  const std::pair<UInt128, UInt128>* last = nullptr;
  for (const ReleaseGroup& group : groups) {
    if (group.law != Law::Gaussian || group.with_replacement || group.bin || group.steps != 1 ||
        group.secret_slots != out.slots || !group.positions || group.drawn != group.population)
      return std::nullopt;
    const auto [from, to] = *group.positions;
    if (out.slots > kSlotsMax || from >= to || to > out.slots || to - from != group.population) return std::nullopt;
    const auto [part, first] = parts.try_emplace(*group.positions);
    if (!first && (last == nullptr || *last != *group.positions)) return std::nullopt;  // not in a row
    last = &*group.positions;
    UInt128 all = 0;
    if (__builtin_mul_overflow(group.units, group.rounds, &all) ||
        __builtin_add_overflow(part->second.shift_squared, all, &part->second.shift_squared))
      return std::nullopt;
  }
  UInt128 end = 0;
  UInt128 read = 0;
  for (const auto& [own, part] : parts) {
    if (own.first < end) return std::nullopt;
    end = own.second;
    read += own.second - own.first;
  }
  if (read >= out.slots) return std::nullopt;
  return out;
}

}  // namespace

std::optional<BinnedBlock> BinnedBlock::of(const std::vector<ReleaseGroup>& groups) {
  if (std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.secret_slots.has_value(); }))
    return permuted_parts(groups);
  BinnedBlock out;
  UInt128 besides_rounds = 0;
  for (const ReleaseGroup& group : groups) {
    if (group.law != Law::Gaussian || group.with_replacement) return std::nullopt;
    if (!group.bin) {
      UInt128 draws = 0;
      if (group.positions || group.drawn == 0 || group.drawn > group.population || group.population > kSlotsMax ||
          __builtin_mul_overflow(group.rounds, group.steps, &draws) || draws > kRoundsMax ||
          (besides_rounds += draws) > kRoundsMax)
        return std::nullopt;
      out.besides.push_back({shift_of_bin(group.units), static_cast<std::uint64_t>(draws),
                             static_cast<std::int64_t>(group.drawn), static_cast<std::int64_t>(group.population)});
      continue;
    }
    if (!group.positions || group.drawn != group.population || group.steps != 1) return std::nullopt;
    const auto [from, to] = *group.positions;
    if (out.slots == 0) out.slots = group.bin->slots;
    if (group.bin->slots != out.slots || out.slots > kSlotsMax || from >= to || to > out.slots ||
        to - from != group.population || group.bin->rows == 0 || group.bin->rows > out.slots)
      return std::nullopt;
    Bin& bin = out.passes[group.bin->pass].try_emplace(*group.positions, Bin{0, group.bin->rows}).first->second;
    bin.rows = std::min(bin.rows, group.bin->rows);
    UInt128 all = 0;
    if (__builtin_mul_overflow(group.units, group.rounds, &all) ||
        __builtin_add_overflow(bin.shift_squared, all, &bin.shift_squared))
      return std::nullopt;
  }
  if (out.passes.empty() || out.passes.size() > kPassesMax) return std::nullopt;
  for (const SampledGroup& other : out.besides)
    if (static_cast<UInt128>(other.population) != out.slots) return std::nullopt;
  for (const auto& [pass, bins] : out.passes) {
    UInt128 end = 0;
    for (const auto& [own, bin] : bins) {
      if (own.first < end) return std::nullopt;
      end = own.second;
    }
  }
  return out;
}

long double BinnedBlock::overflow() const {
  if (permuted) return 0;
  const auto n = static_cast<long double>(slots);
  long double sum = 0;
  for (const auto& [pass, bins] : passes) {
    for (const auto& [own, bin] : bins) {
      if (bin.rows >= slots) continue;
      const long double p = static_cast<long double>(own.second - own.first) / n;
      const long double a = static_cast<long double>(bin.rows + 1) / n;
      sum += a <= p ? 1 : std::exp(-n * (divergence_term(a, p) + divergence_term(1 - a, 1 - p)));
    }
  }
  return sum;
}

bool BinnedBlock::is_kept_by_dearest(long double epsilon, long double delta) const {
  // In each pass a record may have drawn the dearest bin.
  long double squares = 0;
  for (const auto& [pass, bins] : passes) {
    UInt128 dearest = 0;
    for (const auto& [own, bin] : bins) dearest = std::max(dearest, bin.shift_squared);
    squares += std::ldexp(static_cast<long double>(dearest), -40);
  }
  if (besides.empty()) return gaussian_profile(epsilon, std::sqrt(squares)) <= delta;
  std::vector<SampledGroup> met = besides;
  met.push_back({std::sqrt(squares), 1, 1, 1});
  const std::optional<long double> found = delta_above(met, epsilon);
  return found && *found <= delta;
}

bool BinnedBlock::is_kept(long double epsilon, long double delta) const {
  if (is_kept_by_dearest(epsilon, delta)) return true;
  std::optional<long double> together;
  if (passes.size() == 1 && besides.empty()) {
    together = allocated_pass_delta(allocated(passes.begin()->second, slots, permuted), epsilon);
    return together && *together <= delta;
  }
  // Passes that are equal have one profile.
  std::vector<std::pair<const Bins*, std::uint64_t>> kinds;
  for (const auto& [pass, bins] : passes) {
    const auto known =
        std::find_if(kinds.begin(), kinds.end(), [&bins = bins](const auto& kind) { return *kind.first == bins; });
    if (known == kinds.end()) {
      kinds.emplace_back(&bins, 1);
    } else {
      ++known->second;
    }
  }
  constexpr std::size_t kKindsMax = 16;  // each takes a second
  if (kinds.size() > kKindsMax || !(delta > 0)) return false;
  std::vector<SampledRelease> releases;
  for (const auto& [bins, times] : kinds) {
    std::optional<Polygon> profile =
        allocated_profile(allocated(*bins, slots, permuted), delta / (1000 * static_cast<long double>(passes.size())));
    if (!profile) return false;
    releases.push_back({std::make_shared<PolygonProfile>(*std::move(profile)), static_cast<long double>(times)});
  }
  together = delta_above(releases, besides, epsilon);
  return together && *together <= delta;
}

}  // namespace undertone::verifier
