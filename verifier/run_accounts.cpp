#include "verifier/run_accounts.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

#include "verifier/clones_bound.hpp"
#include "verifier/gaussian_profile.hpp"
#include "verifier/ledger_texts.hpp"
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
long double mu_of(UInt128 units) { return std::sqrt(std::ldexp(static_cast<long double>(units), -40)); }

/// What a reservation says of the releases that read a block.
struct SampledBlock {
  struct Positions {
    std::int64_t from = 0;
    std::int64_t to = 0;
  };
  std::vector<SampledGroup> groups;  // every draw for itself
  std::vector<UInt128> draw;         // shift squared of one draw of each group
  struct Release {
    UInt128 each = 0;  // what one costs
    UInt128 rounds = 0;
    UInt128 steps = 1;
  };
  std::vector<Release> listed;       // of each group
  std::vector<Positions> positions;  // of the permutation that each group reads
  std::vector<bool> is_whole;        // whether it names no positions: it reads the block
  UInt128 shift_squared = 0;

  /// The groups that read a position, equal ones counted together, for every position that differs: what one record
  /// meets. @return nothing where that is more than a sound ledger lists
  [[nodiscard]] std::optional<std::vector<std::vector<SampledGroup>>> met() const {
    constexpr std::size_t kReadsMax = 4'000'000;
    using Kind = std::tuple<UInt128, std::int64_t, std::int64_t, bool>;  // draw, drawn, population, with replacement
    std::set<std::int64_t> edges;
    for (const Positions& part : positions) edges.insert(part.from);
    std::set<std::map<Kind, std::uint64_t>> distinct;
    std::size_t reads = 0;
    for (const std::int64_t at : edges) {
      std::map<Kind, std::uint64_t> one;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (positions[i].from > at || at >= positions[i].to) continue;
        if (++reads > kReadsMax) return std::nullopt;
        one[{draw[i], groups[i].drawn, groups[i].population, groups[i].with_replacement}] += groups[i].rounds;
      }
      distinct.insert(std::move(one));
    }
    std::vector<std::vector<SampledGroup>> out;
    for (const auto& one : distinct) {
      out.emplace_back();
      for (const auto& [kind, rounds] : one) {
        const auto& [one_draw, drawn, population, with_replacement] = kind;
        out.back().push_back({mu_of(one_draw), rounds, drawn, population, with_replacement});
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
    return std::any_of(groups.begin(), groups.end(), [](const SampledGroup& group) { return group.with_replacement; });
  }
};

/// @param text well-formed groups. @return nothing where a number is out of its range
std::optional<SampledBlock> parse_releases(const std::string& text) {
  constexpr std::size_t kGroupsMax = 14'000;
  constexpr UInt128 kCountMax = UInt128{1} << 40U;
  const std::optional<std::vector<ReleaseGroup>> groups = parse_release_groups(text);
  if (!groups || groups->size() > kGroupsMax) return std::nullopt;
  SampledBlock out;
  for (const ReleaseGroup& group : *groups) {
    const auto [from, to] = group.positions.value_or(std::pair(UInt128{0}, group.population));
    UInt128 each = 0;
    UInt128 cost = 0;
    if (group.shift_squared == 0 || group.rounds == 0 || group.rounds > kCountMax || group.steps == 0 ||
        group.steps > kCountMax || group.rounds * group.steps > kCountMax || group.drawn == 0 ||
        group.drawn > group.population || group.population > kCountMax || to > kCountMax || from > to ||
        to - from != group.population || __builtin_mul_overflow(group.shift_squared, group.steps, &each) ||
        __builtin_mul_overflow(each, group.rounds, &cost) || !add_saturating(out.shift_squared, cost)) {
      return std::nullopt;
    }
    out.groups.push_back({mu_of(group.shift_squared), static_cast<std::uint64_t>(group.rounds * group.steps),
                          static_cast<std::int64_t>(group.drawn), static_cast<std::int64_t>(group.population),
                          group.with_replacement});
    out.draw.push_back(group.shift_squared);
    out.listed.push_back({each, group.rounds, group.steps});
    out.is_whole.push_back(!group.positions);
    out.positions.push_back({static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)});
  }
  return out;
}

/// Whether what one record meets, mixed with the replies of others, keeps epsilon: all rounds' pairs together at what
/// `allowed` is of delta, and the failure what they are off these pairs.
bool is_covered(const ShuffledRun& shuffled, const std::vector<SampledGroup>& groups, long double epsilon,
                long double allowed) {
  constexpr UInt128 kHonestMax = 1U << 20U;  // more are refused below
  const Mixing mixing{static_cast<std::uint64_t>(std::min(shuffled.honest, kHonestMax)) - 1,
                      epsilon_of(shuffled.mixed->record_epsilon), epsilon_of(shuffled.mixed->silo_epsilon)};
  long double variation = 0;
  std::uint64_t rounds = 0;
  for (const SampledGroup& group : groups) {
    rounds += group.rounds;  // each at most 2^40, of 14,000 groups
    // Besides, each of the others' messages is allowed a total variation of 2^-80.
    variation +=
        static_cast<long double>(group.rounds) * (mixed_variation(mixing, {group.mu, group.drawn, group.population}) +
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
  if (kind == "opened") return;
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
    const long double mu = mu_of(std::max(run.training.spent, run.holdout.spent));
    // Composed as if every release had read every record once, so never more than what was reserved; that may be too
    // little where it has read one several times.
    const bool is_once = !run.training.with_replacement && !run.holdout.with_replacement;
    const long double composed =
        mu == 0 || is_once ? smallest_epsilon(mu, delta_of(run.mechanism_delta)) : epsilon_of(run.epsilon);
    const long double spent = std::min(composed, epsilon_of(run.epsilon));
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

void RunAccounts::charge_filter(std::int64_t sequence, const Fields& fields, const Run& run, UInt128 draws) {
  constexpr std::uint64_t kDrawsMax = 1U << 20U;
  if (!run.filtered || !filter_ || *parse_amount(fields.at("cost")) == 0) return;
  UInt128& spent = fields.at("block") == "training" ? filter_->training : filter_->holdout;
  const bool fits = add_saturating(spent, *parse_amount(fields.at("cost")));
  filter_->draws += draws;  // each below 2^40, of fewer than 2^63 releases
  if (fits && spent <= filter_->limit && filter_->draws <= kDrawsMax) return;
  problems_.add(
      "entry {}: run {}: expected releases of at most {} and {} draws in all under the filter, found {} and {} so far "
      "(rule 9)",
      sequence, run.name, fmt::to_string(filter_->limit), kDrawsMax, fmt::to_string(spent),
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
  run.training.reserved = amount("training");
  run.holdout.reserved = amount("holdout");
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
    if (releases == fields.end()) {
      check_plain(sequence, "run " + run.name, run, block->reserved);
    } else {
      check_sampled(sequence, run, *block, releases->second, parsed);
    }
  }
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

void RunAccounts::check_sampled(std::int64_t sequence, const Run& run, Block& block, const std::string& releases,
                                const std::optional<ShuffledRun>& shuffled) {
  const std::optional<SampledBlock> sampled = parse_releases(releases);
  if (!sampled || sampled->shift_squared != block.reserved || !sampled->of_one_block()) {
    problems_.add(
        "entry {}: run {}: expected releases whose shifts squared add up to {}, with 1 <= K <= N = TO - FROM, found {} "
        "(rule 6)",
        sequence, run.name, fmt::to_string(block.reserved), printable(releases));
    return;
  }
  for (const SampledBlock::Release& one : sampled->listed) block.listed.push_back({one.each, one.rounds, one.steps});
  block.with_replacement = sampled->any_with_replacement();
  // A filter counts one occurrence a release; what is known of shares and of mixing is known of no other number either.
  if (block.with_replacement && (run.filtered || (shuffled && (shuffled->binomial || shuffled->mixed)))) {
    problems_.add(
        "entry {}: run {}: expected draws with replacement only where a run rests on its own guarantee and on this "
        "silo's noise alone, found {} (rule 6)",
        sequence, run.name, printable(releases));
    return;
  }
  // Two accountants agree to a hundredth: this one's upper end just above the charge, its lower end at it.
  const long double epsilon = epsilon_of(run.epsilon);
  const long double allowed = delta_of(run.mechanism_delta) * (1 + 1e-9L);
  const std::optional<std::vector<std::vector<SampledGroup>>> met = sampled->met();
  if (shuffled && shuffled->mixed) {
    if (met && std::all_of(met->begin(), met->end(), [&](const std::vector<SampledGroup>& groups) {
          return is_covered(*shuffled, groups, epsilon, allowed);
        })) {
      return;
    }
    problems_.add(
        "entry {}: run {} was charged too little, or it cannot be told: epsilon {:.12g} for the mixed releases {} at "
        "mechanism_delta {:.12g} (rule 10)",
        sequence, run.name, epsilon, printable(releases), delta_of(run.mechanism_delta));
    return;
  }
  if (met && std::all_of(met->begin(), met->end(), [&](const std::vector<SampledGroup>& groups) {
        const std::optional<DeltaBracket> above = sampled_delta(groups, epsilon * 1.01L + 1e-6L);
        const std::optional<DeltaBracket> at = sampled_delta(groups, epsilon);
        return above && at && above->upper <= allowed && at->lower <= allowed;
      })) {
    return;
  }
  problems_.add(
      "entry {}: run {} was charged too little, or it cannot be told: epsilon {:.12g} for the sampled releases {} at "
      "mechanism_delta {:.12g} (rule 6)",
      sequence, run.name, epsilon, printable(releases), delta_of(run.mechanism_delta));
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
  Block& block = name == "training" ? run.training : run.holdout;
  const bool fits = add_saturating(block.spent, *parse_amount(fields.at("cost")));
  const std::optional<UInt128> draws = cross_off(block, *parse_amount(fields.at("cost")));
  charge_filter(sequence, fields, run, draws.value_or(1));
  if (!draws) {
    problems_.add("entry {}: run {}: expected a cost that the list of {} releases has left, found {} (rule 3)",
                  sequence, run.name, name, fields.at("cost"));
  }
  if (fits && block.spent <= block.reserved) return;
  problems_.add("entry {}: run {}: expected costs of at most {} in the {} block, found {} so far (rule 3)", sequence,
                run.name, fmt::to_string(block.reserved), name, fmt::to_string(block.spent));
}

std::optional<UInt128> RunAccounts::cross_off(Block& block, UInt128 cost) {
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
