#include "verifier/run_accounts.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

#include "verifier/binned_releases.hpp"
#include "verifier/clones_bound.hpp"
#include "verifier/gaussian_profile.hpp"
#include "verifier/ledger_texts.hpp"
#include "verifier/pure_delta.hpp"
#include "verifier/renyi_bound.hpp"
#include "verifier/sampled_profile.hpp"

namespace undertone::verifier {
namespace {

constexpr UInt128 kAmountMax = ~UInt128{0};

/// Stays at the largest amount on overflow, which it reports.
bool add_saturating(UInt128& sum, UInt128 term) {
  if (!__builtin_add_overflow(sum, term, &sum)) return true;
  sum = kAmountMax;
  return false;
}

long double epsilon_of(UInt128 units) { return std::ldexp(static_cast<long double>(units), -40); }
long double delta_of(UInt128 units) { return std::ldexp(static_cast<long double>(units), -80); }
long double rho_of(UInt128 units) { return std::ldexp(static_cast<long double>(units), -40); }
long double mu_of(UInt128 units) { return std::sqrt(std::ldexp(static_cast<long double>(units), -40)); }

/// Equal releases that a record meets.
struct Met {
  Law law = Law::Gaussian;
  UInt128 units = 0;         // of one draw
  std::uint64_t rounds = 0;  // every draw for itself
  std::int64_t drawn = 0;
  std::int64_t population = 0;
  bool with_replacement = false;
};

/// What a reservation says of the releases that read a block.
struct ListedBlock {
  struct Positions {
    std::int64_t from = 0;
    std::int64_t to = 0;
  };
  std::vector<Met> groups;
  struct Release {
    Cost each;
    UInt128 rounds = 0;
    UInt128 steps = 1;
  };
  std::vector<Release> listed;       // of each group that is one
  std::vector<Positions> positions;  // of the permutation that each group reads
  UInt128 failure = 0;               // of all releases together
  std::vector<bool> is_whole;        // whether it names no positions: it reads the block
  Cost total;

  /// The groups that read a position, equal ones counted together, for every position that differs: what one record
  /// meets. @return nothing where that is more than a sound ledger lists
  [[nodiscard]] std::optional<std::vector<std::vector<Met>>> met() const {
    constexpr std::size_t kReadsMax = 4'000'000;
    using Kind = std::tuple<Law, UInt128, std::int64_t, std::int64_t, bool>;
    std::set<std::int64_t> edges;
    for (const Positions& part : positions) edges.insert(part.from);
    std::set<std::map<Kind, std::uint64_t>> distinct;
    std::size_t reads = 0;
    for (const std::int64_t at : edges) {
      std::map<Kind, std::uint64_t> one;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (positions[i].from > at || at >= positions[i].to) continue;
        if (++reads > kReadsMax) return std::nullopt;
        const Met& group = groups[i];
        one[{group.law, group.units, group.drawn, group.population, group.with_replacement}] += group.rounds;
      }
      distinct.insert(std::move(one));
    }
    std::vector<std::vector<Met>> out;
    for (const auto& one : distinct) {
      out.emplace_back();
      for (const auto& [kind, rounds] : one) {
        const auto& [law, units, drawn, population, with_replacement] = kind;
        out.back().push_back({law, units, rounds, drawn, population, with_replacement});
      }
    }
    return out;
  }

  /// Whether all groups can be of one block: those that read all of it agree how much that is, and no part ends beyond.
  [[nodiscard]] bool of_one_block() const {
    std::int64_t whole = 0;
    std::int64_t end = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      end = std::max(end, positions[i].to);
      if (!is_whole[i]) continue;
      if (whole != 0 && whole != positions[i].to) return false;
      whole = positions[i].to;
    }
    return whole == 0 || end <= whole;
  }

  [[nodiscard]] bool any_with_replacement() const {
    return std::any_of(groups.begin(), groups.end(), [](const Met& group) { return group.with_replacement; });
  }
};

/// @param text well-formed groups. @return nothing where a number is out of its range
std::optional<ListedBlock> parse_releases(const std::string& text, Format format) {
  constexpr std::size_t kGroupsMax = 14'000;
  constexpr UInt128 kCountMax = UInt128{1} << 40U;
  const std::optional<std::vector<ReleaseGroup>> groups = parse_release_groups(text, format);
  if (!groups || groups->size() > kGroupsMax) return std::nullopt;
  ListedBlock out;
  for (const ReleaseGroup& group : *groups) {
    const auto [from, to] = group.positions.value_or(std::pair(UInt128{0}, group.population));
    UInt128 each = 0;
    UInt128 cost = 0;
    if (group.units == 0 || group.rounds == 0 || group.rounds > kCountMax || group.steps == 0 ||
        group.steps > kCountMax || group.rounds * group.steps > kCountMax || group.drawn == 0 ||
        group.drawn > group.population || group.population > kCountMax || to > kCountMax || from > to ||
        to - from != group.population || (group.with_replacement && group.law != Law::Gaussian) ||
        __builtin_mul_overflow(group.units, group.steps, &each) || __builtin_mul_overflow(each, group.rounds, &cost) ||
        (!group.beside && !out.total.add(cost_of(group.law, cost)))) {
      return std::nullopt;
    }
    out.groups.push_back({group.law, group.units, static_cast<std::uint64_t>(group.rounds * group.steps),
                          static_cast<std::int64_t>(group.drawn), static_cast<std::int64_t>(group.population),
                          group.with_replacement});
    UInt128 failures = 0;
    if (__builtin_mul_overflow(group.failure, group.rounds, &failures) || !add_saturating(out.failure, failures))
      return std::nullopt;
    if (!group.beside) out.listed.push_back({cost_of(group.law, each), group.rounds, group.steps});
    out.is_whole.push_back(!group.positions);
    out.positions.push_back({static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)});
  }
  return out;
}

/// What is composed numerically: of releases of a pure or ranged law their epsilon is all that counts.
/// @param groups none of them concentrated, of which no profile is known
std::vector<SampledGroup> composed(const std::vector<Met>& groups) {
  std::vector<SampledGroup> out;
  out.reserve(groups.size());
  for (const Met& group : groups) {
    const bool gaussian = group.law == Law::Gaussian;
    out.push_back({gaussian ? mu_of(group.units) : 0, group.rounds, group.drawn, group.population,
                   group.with_replacement, gaussian ? 0 : epsilon_of(group.units)});
  }
  return out;
}

/// @return nothing where draws with replacement are among them, whose divergences have no such bound
std::optional<std::vector<ConcentratedGroup>> concentrated(const std::vector<Met>& groups) {
  std::vector<ConcentratedGroup> out;
  out.reserve(groups.size());
  for (const Met& group : groups) {
    if (group.with_replacement) return std::nullopt;
    ConcentratedGroup& one = out.emplace_back();
    one.rounds = group.rounds;
    switch (group.law) {
      case Law::Gaussian:
        one.mu = mu_of(group.units);
        break;
      case Law::Pure:
        one.pure_epsilon = epsilon_of(group.units);
        break;
      case Law::Ranged:
        one.ranged_epsilon = epsilon_of(group.units);
        break;
      case Law::Concentrated:
        one.rho = rho_of(group.units);
        // Up, as what is known of a subset grows with it.
        if (group.drawn < group.population)
          one.rate =
              std::nextafter(static_cast<long double>(group.drawn) / static_cast<long double>(group.population), 1.0L);
        break;
    }
  }
  return out;
}

/// What a run is charged, as far as a position's releases have to keep it.
struct Charge {
  UInt128 epsilon = 0;
  UInt128 mechanism_delta = 0;
};

/// Whether what one record meets keeps the charge: at no delta the epsilons of pure and ranged releases add up to it;
/// at one, the least of what is known of them does.
/// @param bound one for all positions of a block
bool is_kept(const std::vector<Met>& groups, const Charge& charge, RenyiBound& bound) {
  // Two accountants agree to a hundredth: this one's upper end just above the charge, its lower end at it.
  const long double epsilon = epsilon_of(charge.epsilon);
  const long double above = epsilon * 1.01L + 1e-6L;
  const long double allowed = delta_of(charge.mechanism_delta) * (1 + 1e-9L);
  const auto is_gaussian = [](const Met& group) { return group.law == Law::Gaussian; };
  const auto is_pure = [](const Met& group) { return group.law == Law::Pure; };
  const auto is_concentrated = [](const Met& group) { return group.law == Law::Concentrated; };
  const auto has_epsilon = [](const Met& group) { return group.law == Law::Pure || group.law == Law::Ranged; };
  const bool all_have_epsilon = std::all_of(groups.begin(), groups.end(), has_epsilon);
  // A Gaussian profile is above 0 at every epsilon, though it may underflow, and a rho promises no epsilon alone.
  if (charge.mechanism_delta == 0 && !all_have_epsilon) return false;
  if (std::all_of(groups.begin(), groups.end(), is_gaussian)) {
    const std::vector<SampledGroup> gaussian = composed(groups);
    const std::optional<DeltaBracket> beyond = sampled_delta(gaussian, above);
    const std::optional<DeltaBracket> at = sampled_delta(gaussian, epsilon);
    return beyond && at && beyond->upper <= allowed && at->lower <= allowed;
  }
  if (all_have_epsilon) {
    UInt128 sum = 0;
    bool fits = true;
    for (const Met& group : groups) {
      UInt128 all = 0;
      fits = fits && !__builtin_mul_overflow(group.units, UInt128{group.rounds}, &all) && add_saturating(sum, all);
    }
    if (fits && sum <= charge.epsilon) return true;  // integers: nothing is rounded
  }
  if (charge.mechanism_delta == 0) return false;  // their sum is all that is known
  if (std::all_of(groups.begin(), groups.end(), is_pure)) {
    // What the bounds below grant above epsilon is no excuse for what is certain at it.
    std::vector<PureGroup> pure;
    pure.reserve(groups.size());
    for (const Met& group : groups) pure.push_back({group.units, group.rounds});
    if (pure_delta_below(std::move(pure), charge.epsilon) > allowed) return false;
  }
  const auto divergences = concentrated(groups);
  if (divergences && bound.delta(*divergences, above) <= allowed) return true;
  if (std::any_of(groups.begin(), groups.end(), is_concentrated)) return false;  // no other bound knows these
  const std::optional<long double> delta = delta_above(composed(groups), above);
  return delta && *delta <= allowed;
}

/// Whether what one record meets, mixed with the replies of others, keeps epsilon: all rounds' pairs together at what
/// `allowed` is of delta, and the failure what they are off these pairs.
bool is_covered(const ShuffledRun& shuffled, const std::vector<Met>& groups, long double epsilon, long double allowed) {
  constexpr UInt128 kHonestMax = 1U << 20U;  // more are refused below
  const Mixing mixing{static_cast<std::uint64_t>(std::min(shuffled.honest, kHonestMax)) - 1,
                      epsilon_of(shuffled.mixed->record_epsilon), epsilon_of(shuffled.mixed->silo_epsilon)};
  long double variation = 0;
  std::uint64_t rounds = 0;
  for (const Met& group : groups) {
    rounds += group.rounds;  // each at most 2^40, of 14,000 groups
    // Besides, each of the others' messages is allowed a total variation of 2^-80.
    variation += static_cast<long double>(group.rounds) *
                 (mixed_variation(mixing, {mu_of(group.units), group.drawn, group.population}) +
                  std::ldexp(static_cast<long double>(mixing.others), -80));
  }
  if (!((1 + std::exp(epsilon)) * variation <= delta_of(shuffled.failure) * (1 + 1e-9L))) return false;
  // Two accountants agree to a hundredth.
  const std::optional<long double> delta = mixed_delta(mixing, rounds, epsilon * 1.01L + 1e-6L);
  return delta && *delta <= allowed;
}

}  // namespace

void RunAccounts::add(std::int64_t sequence, const Fields& fields) {
  const std::string& kind = fields.at("kind");
  if ((kind == "opened") != (sequence == 1)) {
    problems_.add("entry {}: expected the kind \"opened\" in entry 1 and only there, found \"{}\"", sequence, kind);
  }
  if (kind == "opened" || kind == "amended") {
    holdout_is_public_ = fields.at("public_holdout") != std::string(2 * kHashBytes, '0');
  }
  if (kind == "opened") {
    has_public_records_ = fields.contains("public_records");
    format_ = fields.at("format") == "1" ? Format::One : Format::Two;
    return;
  }
  if (kind == "upgraded") return upgrade(sequence, fields);
  if (kind == "amended") return amend(sequence);
  if (kind == "filtered") return start_filter(sequence, fields);
  if (kind == "reserved" || kind == "accepted") return reserve(sequence, fields);
  if (kind == "released") promise_reply(sequence, fields);
  const auto index = index_.find(fields.at("run"));
  if (index == index_.end()) {
    problems_.add("entry {}: expected run {} to be reserved before it is {}, found no reservation (rule 1)", sequence,
                  fields.at("run"), kind);
    return;
  }
  Run& run = runs_[index->second];
  if (run.state != "open") {
    problems_.add("entry {}: expected nothing more of run {} once it is {}, found \"{}\" (rule 1)", sequence, run.name,
                  run.state, kind);
  } else if (kind == "released") {
    release(sequence, fields, run);
  } else {
    close(sequence, kind, run);
  }
}

void RunAccounts::report(LedgerFindings& findings) const {
  UInt128 epsilon = filters_epsilon_;
  UInt128 delta = filters_delta_;
  bool fits = epsilon != kAmountMax && delta != kAmountMax;
  for (const Run& run : runs_) {
    const long double spent = std::max(epsilon_spent(run, run.training), epsilon_spent(run, run.holdout));
    findings.runs.push_back({run.name, static_cast<double>(epsilon_of(run.epsilon)),
                             static_cast<double>(delta_of(run.delta)), static_cast<double>(spent), run.releases,
                             run.state});
    if (run.state == "returned" || run.filtered) continue;
    fits = add_saturating(epsilon, run.epsilon) && fits;
    fits = add_saturating(delta, run.delta) && fits;
  }
  if (!fits) problems_.add("the reservations: expected sums below 2^128 units, found more (rule 7)");
  findings.epsilon_units = fmt::to_string(epsilon);
  findings.delta_units = fmt::to_string(delta);
  findings.epsilon = static_cast<double>(epsilon_of(epsilon));
  findings.delta = static_cast<double>(delta_of(delta));
}

long double RunAccounts::epsilon_spent(const Run& run, const Block& block) {
  const long double charged = epsilon_of(run.epsilon);
  if (block.spent.is_zero()) return 0;
  if (block.spent.gaussian == 0 && block.spent.concentrated == 0) {
    UInt128 sum = block.spent.pure;
    (void)add_saturating(sum, block.spent.ranged);
    return std::min(epsilon_of(sum), charged);
  }
  // Composed as if every release had read every record once, so never more than what was reserved; that may be too
  // little where it has read one several times, and says nothing of releases of another law.
  if (!block.spent.is_gaussian() || block.with_replacement) return charged;
  return std::min(smallest_epsilon(mu_of(block.spent.gaussian), delta_of(run.mechanism_delta)), charged);
}

void RunAccounts::upgrade(std::int64_t sequence, const Fields& fields) {
  const std::string& to = fields.at("format");
  if (format_ != Format::One || to != "2") {
    problems_.add("entry {}: expected a ledger of the format \"1\" to go on in \"2\", once, found {} (rule 11)",
                  sequence, printable(to));
  }
  format_ = Format::Two;
}

void RunAccounts::amend(std::int64_t sequence) {
  if (filter_) filter_->training = filter_->holdout = std::max(filter_->training, filter_->holdout);
  if (open_.empty()) return;
  problems_.add(
      "entry {}: expected no run to be open where the content is amended, found {}, first of them {} (rule 8)",
      sequence, open_.size(), *open_.begin());
}

void RunAccounts::start_filter(std::int64_t sequence, const Fields& fields) {
  constexpr std::uint64_t kDrawsMax = 1U << 20U;
  if (!open_.empty()) {
    problems_.add("entry {}: expected no run to be open where a filter starts, found {}, first of them {} (rule 9)",
                  sequence, open_.size(), *open_.begin());
  }
  Run whole;  // as if all releases of the filter were one run's
  whole.epsilon = *parse_amount(fields.at("epsilon"));
  whole.delta = *parse_amount(fields.at("delta"));
  whole.mechanism_delta = *parse_amount(fields.at("mechanism_delta"));
  const UInt128 limit = *parse_amount(fields.at("shift_squared"));
  // Each of kDrawsMax draws of noise is allowed a total variation of 2^-80.
  const long double messages = (1 + std::exp(epsilon_of(whole.epsilon))) * kDrawsMax;
  if (whole.mechanism_delta > whole.delta ||
      static_cast<long double>(whole.delta - whole.mechanism_delta) < messages * (1 - 1e-9L)) {
    problems_.add("entry {}: the filter: expected mechanism_delta to leave {:.6g} units of delta {}, found {} (rule 9)",
                  sequence, messages, fmt::to_string(whole.delta), fmt::to_string(whole.mechanism_delta));
  }
  if (limit == 0) problems_.add("entry {}: the filter: expected a shift squared above 0, found 0 (rule 9)", sequence);
  check_plain(sequence, "the filter", whole, limit);
  filter_.emplace(Filter{limit, 0, 0, 0});
  // A sum that does not fit stays at the largest amount, which the report finds.
  (void)add_saturating(filters_epsilon_, whole.epsilon);
  (void)add_saturating(filters_delta_, whole.delta);
}

void RunAccounts::charge_filter(std::int64_t sequence, const std::string& block, const Cost& cost, const Run& run,
                                UInt128 draws) {
  constexpr std::uint64_t kDrawsMax = 1U << 20U;
  if (!run.filtered || !filter_ || cost.is_zero()) return;
  UInt128& spent = block == "training" ? filter_->training : filter_->holdout;
  const bool fits = add_saturating(spent, cost.gaussian) && cost.is_gaussian();
  filter_->draws += draws;  // each below 2^40, of fewer than 2^63 releases
  if (fits && spent <= filter_->limit && filter_->draws <= kDrawsMax) return;
  problems_.add(
      "entry {}: run {}: expected Gaussian releases of at most {} and {} draws in all under the filter, found {} after "
      "{} and {} so far (rule 9)",
      sequence, run.name, fmt::to_string(filter_->limit), kDrawsMax, to_text(cost), fmt::to_string(spent),
      fmt::to_string(filter_->draws));
}

void RunAccounts::reserve(std::int64_t sequence, const Fields& fields) {
  const auto amount = [&](const char* key) { return *parse_amount(fields.at(key)); };
  Run run;
  run.name = fields.at("run");
  run.epsilon = amount("epsilon");
  run.delta = amount("delta");
  run.mechanism_delta = amount("mechanism_delta");
  run.filtered = fields.at("kind") == "accepted";
  if (run.filtered != filter_.has_value()) {
    problems_.add("entry {}: expected \"accepted\" under a filter and \"reserved\" without one, found \"{}\" (rule 9)",
                  sequence, fields.at("kind"));
  }
  run.format = format_;
  run.training.reserved = *parse_cost(fields.at("training"), format_);
  run.holdout.reserved = *parse_cost(fields.at("holdout"), format_);
  if (!index_.emplace(run.name, runs_.size()).second) {
    problems_.add("entry {}: expected run {} to be reserved once, found a second reservation (rule 1)", sequence,
                  run.name);
    return;
  }
  const Bytes bytes = *from_hex(run.name, kRunBytes);
  jobs.emplace(bytes, Promise{sequence, bytes.substr(0, kHashBytes), {}});
  check_guarantee(sequence, run, fields);
  open_.insert(run.name);
  runs_.push_back(std::move(run));
}

void RunAccounts::check_guarantee(std::int64_t sequence, Run& run, const Fields& fields) {
  if (run.mechanism_delta > run.delta) {
    problems_.add("entry {}: run {}: expected mechanism_delta at most delta {}, found {} (rule 6)", sequence, run.name,
                  fmt::to_string(run.delta), fmt::to_string(run.mechanism_delta));
  }
  std::optional<ShuffledRun> parsed;
  if (const auto shuffled = fields.find("shuffled"); shuffled != fields.end()) {
    parsed = parse_shuffled(shuffled->second);
    if (!parsed || run.filtered || run.mechanism_delta > run.delta ||
        run.delta - run.mechanism_delta < parsed->failure) {
      problems_.add(
          "entry {}: run {}: expected delta to cover mechanism_delta {} and the failures of shuffled releases, and no "
          "filter, found {} (rule 10)",
          sequence, run.name, fmt::to_string(run.mechanism_delta), printable(shuffled->second));
    }
  }
  for (const auto& [block, key] :
       {std::pair(&run.training, "training_releases"), std::pair(&run.holdout, "holdout_releases")}) {
    const auto releases = fields.find(key);
    if (releases != fields.end()) {
      check_listed(sequence, run, *block, releases->second, parsed);
    } else if (run.format == Format::One) {
      check_plain(sequence, "run " + run.name, run, block->reserved.gaussian);
    } else if (!block->reserved.is_zero()) {
      problems_.add("entry {}: run {}: expected {} where a cost is reserved, found none beside {} (rule 6)", sequence,
                    run.name, key, to_text(block->reserved));
    }
  }
  if (run.format == Format::Two) check_implementation(sequence, run, parsed);
}

void RunAccounts::check_implementation(std::int64_t sequence, const Run& run,
                                       const std::optional<ShuffledRun>& shuffled) {
  UInt128 failures = 0;
  for (const Block* block : {&run.training, &run.holdout}) (void)add_saturating(failures, block->failure);
  if (run.delta == 0 && failures > 0) {
    problems_.add(
        "entry {}: run {}: expected a delta that covers {} units of failures of its releases, found none (rule 13)",
        sequence, run.name, fmt::to_string(failures));
  }
  if (run.delta == 0) return;  // nothing but an epsilon is promised
  UInt128 draws = 0;           // each below 2^40, of 28,000 groups
  for (const Block* block : {&run.training, &run.holdout})
    for (const Listed& one : block->listed) draws += one.left * one.steps;
  if (draws == 0) return;
  UInt128 taken = run.mechanism_delta;
  if (shuffled) (void)add_saturating(taken, shuffled->failure);
  (void)add_saturating(taken, failures);
  const UInt128 left = taken > run.delta ? 0 : run.delta - taken;
  // Each draw of noise is allowed a total variation of 2^-80.
  const long double overflow = std::ldexp(run.training.overflow + run.holdout.overflow, 80);
  const long double needed = (1 + std::exp(epsilon_of(run.epsilon))) * (static_cast<long double>(draws) + overflow);
  if (static_cast<long double>(left) >= needed * (1 - 1e-9L)) return;
  problems_.add(
      "entry {}: run {}: expected delta {} to leave {:.6g} units for {} draws of noise beside mechanism_delta {} and "
      "the failures of releases, found {} (rule 13)",
      sequence, run.name, fmt::to_string(run.delta), needed, fmt::to_string(draws), fmt::to_string(run.mechanism_delta),
      fmt::to_string(left));
}

void RunAccounts::check_plain(std::int64_t sequence, const std::string& whose, const Run& run, UInt128 shift_squared) {
  const long double mu = mu_of(shift_squared);
  if (mu == 0) return;
  const long double profile = gaussian_profile(epsilon_of(run.epsilon), mu);
  const long double allowed = delta_of(run.mechanism_delta) * (1 + 1e-9L);
  // A profile is above 0 at every epsilon, though it may underflow; and this way round NaN is refused too.
  if (run.mechanism_delta > 0 && profile <= allowed) return;
  problems_.add(
      "entry {}: {} was charged too little: at epsilon {:.12g} and mu {:.12g} the Gaussian profile is {:.12g}, "
      "expected at most mechanism_delta {:.12g} (rule 6)",
      sequence, whose, epsilon_of(run.epsilon), mu, profile, delta_of(run.mechanism_delta));
}

void RunAccounts::check_listed(std::int64_t sequence, const Run& run, Block& block, const std::string& releases,
                               const std::optional<ShuffledRun>& shuffled) {
  const std::optional<ListedBlock> listed = parse_releases(releases, run.format);
  if (!listed || listed->total != block.reserved || !listed->of_one_block()) {
    problems_.add(
        "entry {}: run {}: expected releases whose costs add up to {}, with 1 <= K <= N = TO - FROM, found {} (rule 6)",
        sequence, run.name, to_text(block.reserved), printable(releases));
    return;
  }
  for (const ListedBlock::Release& one : listed->listed) block.listed.push_back({one.each, one.rounds, one.steps});
  block.with_replacement = listed->any_with_replacement();
  block.failure = listed->failure;
  if (releases.find_first_of("~=") != releases.npos) {
    check_binned(sequence, run, block, *parse_release_groups(releases, run.format), releases, shuffled.has_value());
    return;
  }
  // A filter counts one occurrence a release; what is known of shares and of mixing is known of no other number either.
  if (block.with_replacement && (run.filtered || (shuffled && (shuffled->binomial || shuffled->mixed)))) {
    problems_.add(
        "entry {}: run {}: expected draws with replacement only where a run rests on its own guarantee and on this "
        "silo's noise alone, found {} (rule 6)",
        sequence, run.name, printable(releases));
    return;
  }
  if (!block.reserved.is_gaussian() && (run.filtered || shuffled)) {
    problems_.add(
        "entry {}: run {}: expected Gaussian releases alone where a run is shuffled or under a filter, found {} (rule "
        "{})",
        sequence, run.name, printable(releases), run.filtered ? 9 : 10);
    return;
  }
  const std::optional<std::vector<std::vector<Met>>> met = listed->met();
  if (shuffled && shuffled->mixed) {
    const long double allowed = delta_of(run.mechanism_delta) * (1 + 1e-9L);
    if (met && std::all_of(met->begin(), met->end(), [&](const std::vector<Met>& groups) {
          return is_covered(*shuffled, groups, epsilon_of(run.epsilon), allowed);
        })) {
      return;
    }
    problems_.add(
        "entry {}: run {} was charged too little, or it cannot be told: epsilon {:.12g} for the mixed releases {} at "
        "mechanism_delta {:.12g} (rule 10)",
        sequence, run.name, epsilon_of(run.epsilon), printable(releases), delta_of(run.mechanism_delta));
    return;
  }
  const Charge charge{run.epsilon, run.mechanism_delta};
  RenyiBound bound;
  if (met && std::all_of(met->begin(), met->end(),
                         [&](const std::vector<Met>& groups) { return is_kept(groups, charge, bound); })) {
    return;
  }
  problems_.add(
      "entry {}: run {} was charged too little, or it cannot be told: epsilon {:.12g} for the releases {} at "
      "mechanism_delta {:.12g} (rule 6)",
      sequence, run.name, epsilon_of(run.epsilon), printable(releases), delta_of(run.mechanism_delta));
}

void RunAccounts::check_binned(std::int64_t sequence, const Run& run, Block& block,
                               const std::vector<ReleaseGroup>& groups, const std::string& releases, bool shuffled) {
  const std::optional<BinnedBlock> binned = BinnedBlock::of(groups);
  const int rule = releases.find('=') == releases.npos ? 14 : 15;
  if (!binned || run.filtered || shuffled) {
    problems_.add(
        "entry {}: run {}: expected bins that are read whole, of one draw a pass and apart, beside nothing else but "
        "Gaussian releases of the whole block or fresh subsets of it, or parts of a secret permutation beside nothing, "
        "each read in a row and one slot not at all, of no shuffled run and under no filter, found {} (rule {})",
        sequence, run.name, printable(releases), rule);
    return;
  }
  block.overflow = binned->overflow();
  // Two accountants agree to a hundredth.
  const long double above = epsilon_of(run.epsilon) * 1.01L + 1e-6L;
  if (binned->is_kept(above, delta_of(run.mechanism_delta) * (1 + 1e-9L))) return;
  problems_.add(
      "entry {}: run {} was charged too little, or it cannot be told: epsilon {:.12g} for the secret parts {} at "
      "mechanism_delta {:.12g} (rule {})",
      sequence, run.name, epsilon_of(run.epsilon), printable(releases), delta_of(run.mechanism_delta), rule);
}

void RunAccounts::promise_reply(std::int64_t sequence, const Fields& fields) {
  std::pair key(*from_hex(fields.at("run"), kRunBytes), *parse_index(fields.at("round")));
  replies.emplace(std::move(key), Promise{sequence, *from_hex(fields.at("reply"), kHashBytes),
                                          *from_hex(fields.at("query"), kHashBytes)});
}

void RunAccounts::release(std::int64_t sequence, const Fields& fields, Run& run) {
  const std::int64_t round = *parse_index(fields.at("round"));
  if (round <= run.round_last) {
    problems_.add("entry {}: run {}: expected a round after {}, found {} (rule 2)", sequence, run.name, run.round_last,
                  round);
  }
  run.round_last = std::max(run.round_last, round);
  ++run.releases;
  const std::string& name = fields.at("block");
  const std::string& text = fields.at("cost");
  const std::optional<Cost> cost = parse_cost(text, run.format);
  if (!cost) {
    problems_.add("entry {}: run {}: expected a cost as format {} writes it, found {} (rule 3)", sequence, run.name,
                  run.format == Format::One ? 1 : 2, printable(text));
    return;
  }
  if (cost->is_zero() && !(name == "holdout" && holdout_is_public_) && !(name == "public" && has_public_records_)) {
    problems_.add(
        "entry {}: run {}: expected a cost of 0 only where records were declared public, of the holdout block or of "
        "the "
        "public one, found it in the {} block (rule 12)",
        sequence, run.name, name);
  }
  if (name == "public") {
    if (!cost->is_zero())
      problems_.add("entry {}: run {}: expected a cost of 0 in the public block, found {} (rule 12)", sequence,
                    run.name, to_text(*cost));
    return;
  }
  Block& block = name == "training" ? run.training : run.holdout;
  const bool fits = block.spent.add(*cost);
  const std::optional<UInt128> draws = cross_off(block, *cost);
  charge_filter(sequence, name, *cost, run, draws.value_or(1));
  if (!draws) {
    problems_.add("entry {}: run {}: expected a cost that the list of {} releases has left, found {} (rule 3)",
                  sequence, run.name, name, to_text(*cost));
  }
  if (fits && block.spent.fits(block.reserved)) return;
  problems_.add("entry {}: run {}: expected costs of at most {} in the {} block, found {} so far (rule 3)", sequence,
                run.name, to_text(block.reserved), name, to_text(block.spent));
}

std::optional<UInt128> RunAccounts::cross_off(Block& block, const Cost& cost) {
  if (block.listed.empty()) return 1;
  for (; block.next < block.listed.size(); ++block.next) {
    Listed& group = block.listed[block.next];
    if (group.each != cost || group.left == 0) continue;
    --group.left;
    return group.steps;
  }
  return std::nullopt;
}

void RunAccounts::close(std::int64_t sequence, const std::string& kind, Run& run) {
  if ((kind == "returned") != (run.releases == 0)) {
    problems_.add(
        "entry {}: run {}: expected \"returned\" without a release and \"ended\" with one, found \"{}\" after "
        "{} releases (rule 4)",
        sequence, run.name, kind, run.releases);
  }
  if (kind == "returned") jobs.erase(*from_hex(run.name, kRunBytes));
  open_.erase(run.name);
  // What was released is paid for, whatever is said of it afterwards.
  run.state = run.releases == 0 ? kind : "ended";
}

}  // namespace undertone::verifier
