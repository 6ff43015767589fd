#include "shared/planning/secret_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "shared/base/remembered_searches.hpp"
#include "shared/planning/plan_parts.hpp"

namespace undertone::planning {
namespace {

constexpr unsigned kOverflowShareLog2 = 10;  // of delta: it costs the rest a few hundredths of a percent of epsilon

/// Whether what is asked of a part is a sum that a record moves by its clip norm at most, whether it is there or not,
/// and that looks the same whatever the part holds.
std::string misfit(const releases::Ask& ask) {
  if (!std::holds_alternative<releases::GradientMap>(ask.map) || ask.selects() ||
      !std::holds_alternative<releases::L2Bound>(ask.bound))
    return "expected sums of clipped gradients";
  if (ask.records.draw_fraction < 1.0 || ask.records.with_replacement)
    return "expected all records of a part to be read, none to be drawn from it";
  if (ask.records.slice && ask.records.slice->span != 1) return "expected parts that are read one by one";
  if (ask.epsilon) return "expected Gaussian noise, got a part of a pure epsilon";
  return "";
}

using Assignment = releases::Slice::Assignment;

bool is_secret(const std::optional<releases::Slice>& slice) {
  return slice && slice->assignment != Assignment::Permutation;
}

/// How messages name an assignment's parts.
const char* name_of(Assignment assignment) {
  switch (assignment) {
    case Assignment::Permutation:
      return "parts of a permutation";
    case Assignment::Bins:
      return "bins";
    case Assignment::SecretPermutation:
      return "parts of a secret permutation";
  }
  UNDERTONE_CHECK(false);
}

/// Whether a release of the training block is one whose pair is known to multiply with the bins'.
std::string misfit_besides(const releases::Ask& ask, const releases::Target& target) {
  if (ask.records.slice) return "expected no other release of parts beside them: one draw hides all parts of a block";
  if (ask.records.with_replacement) return "expected no draws with replacement of the training records beside them";
  if (ask.epsilon || law_of(ask, target) != Law::Gaussian)
    return "expected no other release of the training records beside them but Gaussian ones";
  return "";
}

/// Of a bin's ask, what the cost of reading it follows from.
using AskedOfBin = std::tuple<Eigen::Index, double, std::optional<double>, std::optional<double>>;
AskedOfBin asked_of_bin(const releases::Ask& ask) {
  const std::optional<double> shift = ask.shift ? std::optional(ask.shift->value()) : std::nullopt;
  return {ask.dimension, ask.clip().value(), shift, ask.share};
}

}  // namespace

Result<BinPadding> BinPadding::create(releases::DeltaAmount delta, const releases::Epsilon& epsilon,
                                      std::uint64_t bins) {
  BinPadding out;
  out.overflow = releases::DeltaAmount::from_units(delta.units() >> kOverflowShareLog2);
  const double variation = out.overflow.value_rounded_down() / (1.0 + std::exp(epsilon.value())) * (1.0 - 0x1p-40);
  if (!(variation > 0.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("delta {} does not cover what {} bins may overflow", delta.value_rounded_down(), bins)};
  }
  out.log_share = std::log(static_cast<double>(bins) / variation) * (1.0 + 0x1p-40);
  return out;
}

std::int64_t BinPadding::rows(std::int64_t positions, std::int64_t records) const {
  const auto mean = static_cast<double>(positions);
  const double padded = (mean + std::sqrt(2.0 * mean * log_share) + log_share) * (1.0 + 0x1p-40);
  return padded < static_cast<double>(records) ? static_cast<std::int64_t>(std::ceil(padded)) : records;
}

namespace {

// Of the verifier's own arithmetic: what it rounds up takes a hundredth of such a delta at most.
constexpr double kConfirmedDelta = 1e-11;       // of one pass alone
constexpr double kConfirmedDeltaOfPass = 1e-9;  // of each pass, of several or beside other releases

}  // namespace

namespace {

/// Whether the schedule reads the parts of a secret permutation as theorem B has it: each in consecutive rounds, and
/// beside them nothing of the block.
std::string misfit_of_fixed(const Schedule& schedule) {
  std::set<std::uint64_t> begun;
  std::optional<std::uint64_t> last;
  for (const ScheduledRounds& part : schedule) {
    if (part.rounds == 0 || part.ask.records.block != releases::Block::Training) continue;
    const std::optional<releases::Slice>& slice = part.ask.records.slice;
    if (!is_secret(slice)) return "expected no other release of the training records beside them";
    if (slice->index != last && !begun.insert(slice->index).second)
      return "expected each to be read in consecutive rounds: what reads in turns reveals is not known";
    last = slice->index;
  }
  return "";
}

}  // namespace

Result<std::optional<SecretParts>> secret_parts(const Schedule& schedule, const releases::SiloFacts& facts,
                                                bool shuffled) {
  std::optional<Assignment> assignment;
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("silo {}: {}: {}", facts.silo.name(), name_of(*assignment), why)};
  };
  std::set<std::tuple<releases::Slice::Cut, std::uint64_t, std::uint64_t>> bins;
  std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> reads;  // by pass, of each part
  std::set<AskedOfBin> asked;
  std::string besides;
  bool alone = true;
  for (const ScheduledRounds& part : schedule)
    if (part.rounds > 0 && is_secret(part.ask.records.slice) && !assignment)
      assignment = part.ask.records.slice->assignment;
  if (!assignment) return std::optional<SecretParts>();
  for (const ScheduledRounds& part : schedule) {
    if (part.rounds == 0) continue;
    const std::optional<releases::Slice>& slice = part.ask.records.slice;
    if (!is_secret(slice)) {
      if (part.ask.records.block != releases::Block::Training) continue;
      alone = false;
      if (besides.empty()) besides = misfit_besides(part.ask, facts.target);
      continue;
    }
    if (slice->assignment != *assignment) return refuse("expected no other draw of parts beside them");
    if (part.ask.records.block != releases::Block::Training) return refuse("expected them of training records");
    if (const std::string why = misfit(part.ask); !why.empty()) return refuse(why);
    bins.insert({slice->cut, slice->of, slice->index});
    reads[slice->pass()][slice->index % slice->of] += part.rounds;
    asked.insert(asked_of_bin(part.ask));
  }
  if (*assignment == Assignment::SecretPermutation)
    if (const std::string why = misfit_of_fixed(schedule); !why.empty()) return refuse(why);
  if (!besides.empty()) return refuse(besides);
  if (std::get<1>(*bins.begin()) != std::get<1>(*bins.rbegin()) ||
      std::get<0>(*bins.begin()) != std::get<0>(*bins.rbegin()))
    return refuse("expected all of one cut of the records");
  if (reads.size() > 1) {
    const std::uint64_t last = reads.rbegin()->first;
    if (last >= accounting::Allocation::kEpochsMax || reads.size() != last + 1)
      return refuse(fmt::format("expected at most {} passes, one after the other", accounting::Allocation::kEpochsMax));
    std::set<std::uint64_t> rounds;
    for (const auto& [pass, parts] : reads) {
      if (parts != reads.begin()->second) return refuse("expected all passes to read their bins alike");
      for (const auto& [part, times] : parts) rounds.insert(times);
    }
    if (std::get<0>(*bins.begin()) != releases::Slice::Cut::Equal || rounds.size() != 1 || asked.size() != 1)
      return refuse("expected several passes to read equal bins, each of them alike");
  }
  if (shuffled) return refuse("what shufflers hide is not known to add to what they hide: expected mode isrl");
  if (!std::holds_alternative<releases::ApproximateDp>(facts.target))
    return refuse(
        fmt::format("expected an epsilon and a delta to be promised, got {}", releases::to_string(facts.target)));
  const double confirmed =
      reads.size() > 1 || !alone ? kConfirmedDeltaOfPass * static_cast<double>(reads.size()) : kConfirmedDelta;
  if (facts.delta() < confirmed)
    return refuse(
        fmt::format("expected a delta of at least {}, got {}: a ledger's verifier cannot confirm the cost of "
                    "{} at a smaller one",
                    confirmed, facts.delta(), alone ? name_of(*assignment) : "bins beside other releases"));
  return std::optional(SecretParts{*assignment, bins.size()});
}

Result<accounting::Allocation> allocation_of(const std::vector<Plan::Segment>& segments,
                                             const std::vector<std::size_t>& parts, const std::vector<double>& shifts) {
  UNDERTONE_CHECK(!parts.empty() && parts.size() == shifts.size());
  const bool bins = segments[parts.front()].release.reads_bins();
  // A part that is read several times is one reading of the sum of the shifts' squares: theorem A, consequence (ii).
  std::map<std::uint64_t, std::map<std::pair<std::int64_t, std::int64_t>, double>> passes;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Plan::Segment& segment = segments[parts[i]];
    UNDERTONE_CHECK(segment.release.hides_part() && segment.release.reads_bins() == bins);
    const releases::Slice::Positions& positions = segment.release.positions;
    passes[segment.release.ask.records.slice->pass()][{positions.from, positions.to}] +=
        static_cast<double>(segment.rounds) * shifts[i] * shifts[i];
  }
  const auto& squares = passes.begin()->second;
  for (const auto& [pass, other] : passes)
    if (other != squares) return Error{ErrorCode::Internal, "passes over bins that differ have no account"};
  const std::int64_t records = segments[parts.front()].release.block_records;
  std::map<std::pair<std::int64_t, double>, std::uint64_t> alike;
  std::int64_t read = 0;
  std::int64_t end = 0;
  for (const auto& [positions, square] : squares) {
    UNDERTONE_CHECK(positions.first >= end);  // a record is in one part
    end = positions.second;
    const std::int64_t size = positions.second - positions.first;
    ++alike[{size, std::sqrt(square) * (1.0 + 0x1p-40)}];
    read += size;
  }
  std::vector<accounting::AllocatedParts> groups;
  groups.reserve(alike.size());
  for (const auto& [kind, count] : alike) {
    groups.push_back({count, static_cast<double>(kind.first) / static_cast<double>(records), kind.second});
  }
  return accounting::Allocation::create(
      bins ? accounting::PartAssignment::IndependentBins : accounting::PartAssignment::FixedWithUnreadSlot,
      std::move(groups), static_cast<double>(records - read) / static_cast<double>(records), passes.size());
}

ReadsBesides ReadsBesides::of(const std::vector<Plan::Segment>& segments, const std::vector<std::size_t>& others,
                              const std::vector<double>& shifts) {
  UNDERTONE_CHECK(others.size() == shifts.size());
  ReadsBesides out;
  double squares = 0.0;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Plan::Segment& segment = segments[others[i]];
    const DrawnPart part = drawn_part(segment.release);
    UNDERTONE_CHECK(part.draws == 0);
    const std::uint64_t draws = segment.rounds * segment.release.draws();
    if (part.rate >= 1.0) {
      squares += static_cast<double>(draws) * shifts[i] * shifts[i];
    } else {
      out.subsets[{part.rate, shifts[i]}] += draws;
    }
  }
  out.gaussian = std::sqrt(squares) * (1.0 + 0x1p-40);
  return out;
}

Result<accounting::Besides> ReadsBesides::laws() const {
  accounting::Besides out;
  out.gaussian = gaussian;
  for (const auto& [drawn, times] : subsets) {
    UNDERTONE_TRY(const releases::GaussianShift shift, releases::GaussianShift::create(drawn.second));
    UNDERTONE_TRY(accounting::LossLawPtr law, accounting::subset_gaussian_law(drawn.first, shift));
    out.laws.push_back({std::move(law), times});
  }
  return out;
}

double louder_by(const accounting::Allocation& shape, const ReadsBesides& besides, const releases::Epsilon& epsilon,
                 const releases::Delta& delta) {
  struct Promised {
    accounting::Allocation shape;
    ReadsBesides besides;
    double epsilon;
    double delta;
    bool operator==(const Promised&) const = default;
  };
  static RememberedSearches<Promised, double> known(64);
  const Result<double> found = known.find({shape, besides, epsilon.value(), delta.value()}, [&]() -> Result<double> {
    const Result<accounting::Besides> laws = besides.laws();
    const Result<double> scale =
        laws ? accounting::allocation_scale(shape, *laws, epsilon, delta) : Result<double>(laws.error());
    return scale ? std::max(1.0, *scale) : 1.0;
  });
  return found ? *found : 1.0;  // nothing is gained where the search was stopped
}

}  // namespace undertone::planning
