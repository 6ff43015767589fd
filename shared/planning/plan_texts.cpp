#include <algorithm>
#include <cmath>

#include "shared/planning/plan.hpp"
#include "shared/planning/plan_parts.hpp"

namespace undertone::planning {
namespace {

/// A selection along a path: its dearest node first, which is what an answer is charged, then what it costs the records
/// of the others.
std::string path_text(const Release& release, std::uint64_t rounds) {
  std::vector<PathPart> parts = path_parts(release);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PathPart& a, const PathPart& b) { return a.epsilon > b.epsilon; });
  std::string out;
  for (const PathPart& part : parts) {
    const std::int64_t records = part.positions.to - part.positions.from;
    out += fmt::format("{}{}{}@{}/{}+{}:{}", out.empty() ? "" : "&", releases::Cost{{}, {}, part.epsilon}.to_string(),
                       out.empty() ? fmt::format("*{}", rounds) : std::string(), records, records, part.positions.from,
                       part.positions.to);
  }
  return out;
}

}  // namespace

std::string Plan::releases_text(releases::Block block) const {
  std::string out;
  for (const Segment& segment : segments_) {
    const Release& release = segment.release;
    if (release.ask.records.block != block || release.is_public()) continue;
    if (release.ask.path() != nullptr) {
      out += (out.empty() ? "" : ",") + path_text(release, segment.rounds);
      continue;
    }
    out += fmt::format("{}{}*{}@{}/{}", out.empty() ? "" : ",", release.cost_of_draw().to_string(), segment.rounds,
                       release.records_drawn, release.population);
    if (release.ask.records.with_replacement) out += 'r';
    if (release.draws() > 1) out += fmt::format("^{}", release.draws());
    if (const auto* objective = std::get_if<mechanisms::PerturbedObjective>(&release.mechanism))
      out += "!" + objective->failure.to_string();
    if (release.reads_bins()) {
      out += fmt::format("~{}:{}/{}:{}", release.positions.from, release.positions.to, release.block_records,
                         release.rows);
      if (const std::uint64_t pass = release.ask.records.slice->pass(); pass > 0) out += fmt::format("#{}", pass);
    } else if (release.hides_part()) {
      out += fmt::format("={}:{}/{}", release.positions.from, release.positions.to, release.block_records);
    } else if (release.population < release.block_records) {
      out += fmt::format("+{}:{}", release.positions.from, release.positions.to);
    }
  }
  return out;
}

std::string Plan::accountant() const {
  const auto any = [this](auto&& what) { return std::any_of(segments_.begin(), segments_.end(), what); };
  const bool sliced = any([](const Segment& s) { return s.release.population < s.release.block_records; });
  const std::string summed =
      shuffling_ && shuffling_->binomial
          ? fmt::format(
                "; each binomial sum over {} honest silos costs at most as much as a Gaussian, certified by the "
                "normal scores of its coins, but for a failure that delta covers",
                shuffling_->honest_silos)
          : "";
  if (credit_) {
    return fmt::format(
        "numeric composition, certified from above, of what mixing with {} other honest silos leaves of a round "
        "(clones "
        "at record epsilon {:.4g} and silo epsilon {:.4g}); what a round is off that by, delta covers{}",
        shuffling_->honest_silos - 1, credit_->record_epsilon.value_rounded_up(),
        credit_->silo_epsilon.value_rounded_up(),
        sliced ? "; disjoint parts of a secret permutation compose in parallel" : "");
  }
  if (parts_credit_ && !parts_credit_->together) {
    return "exact Gaussian, or numeric beside other draws: over the planned releases of a part; disjoint secret parts "
           "compose in parallel, since charging them together as one random allocation costs no less here";
  }
  if (parts_credit_ && parts_credit_->assignment == releases::Slice::Assignment::SecretPermutation) {
    return fmt::format(
        "numeric, certified from above: the {} are permuted in secret and at least one position is read by nobody, so "
        "that all parts of the pass are charged together as one random allocation (replace-one, whoever asks may "
        "adapt)",
        releases::plural_of(unit()));
  }
  if (parts_credit_) {
    const bool beside = any([](const Segment& s) {
      return s.release.ask.records.block == releases::Block::Training && !s.release.is_public() &&
             !s.release.reads_bins();
    });
    const bool passes =
        any([](const Segment& s) { return s.release.reads_bins() && s.release.ask.records.slice->pass() > 0; });
    const bool persons = unit() == releases::Unit::Person;
    return fmt::format(
        "numeric, certified from above: every {} draws {} bin for {}, in secret, so that all bins of a pass are "
        "charged "
        "together as one random allocation (replace-one, whoever asks may adapt){}{}; what bins may overflow, delta "
        "covers",
        releases::noun_of(unit()), persons ? "her" : "its", persons ? "herself" : "itself",
        passes ? ", each pass with a draw of its own, composed" : "",
        beside ? fmt::format(", composed with what else reads {} records", persons ? "their" : "the") : "");
  }
  const std::string parts = summed + (sliced ? "; disjoint parts of a secret permutation compose in parallel" : "");
  if (draws_with_replacement()) {
    return fmt::format(
        "numeric composition, certified from above, of the dominating profile of draws with replacement, in which a {} "
        "may be several times{}",
        releases::noun_of(unit()), parts);
  }
  if (any([](const Segment& s) { return s.release.cost_of_draw().concentrated.units() > 0; })) {
    return std::string("numeric: the least of what Renyi divergences say of all planned releases") +
           (any([](const Segment& s) { return s.release.sampled(); })
                ? ", subsets that are drawn afresh without replacement credited (Wang, Balle and Kasiviswanathan 2019)"
                : "") +
           parts;
  }
  if (any([](const Segment& s) { return s.release.sampled(); })) {
    return "numeric composition, certified from above, of the dominating profile of fixed-size subsets drawn afresh "
           "without replacement" +
           parts;
  }
  if (!mechanism_delta_)
    return (sliced ? "the largest sum of epsilons that one record meets"
                   : "the sum of the planned releases' epsilons") +
           parts;
  if (any([](const Segment& s) { return s.release.cost_of_draw().ranged.units() > 0; })) {
    return "numeric: the least certified epsilon of all planned selections, each of losses in a range "
           "(epsilon^2/8-zCDP) "
           "and other releases" +
           parts;
  }
  if (any([](const Segment& s) { return std::holds_alternative<mechanisms::PerturbedObjective>(s.release.mechanism); }))
    return "a bound on the loss of a perturbed objective, but for a failure that delta covers" + parts;
  if (any([](const Segment& s) { return s.release.cost_of_draw().pure.units() > 0; }))
    return (any([](const Segment& s) { return s.release.cost_of_draw().gaussian.units() > 0; })
                ? "numeric: the least certified epsilon of all planned releases, some of a pure epsilon"
                : "numeric: the least certified epsilon of all planned releases, each of a pure epsilon") +
           parts;
  if (sliced) return "exact Gaussian: mu = sqrt(sum of mu_r^2) over the planned releases of a part" + parts;
  return "exact Gaussian: mu = sqrt(sum of mu_r^2) over all planned releases" + parts;
}

std::string delta_warning(const Plan& plan) {
  constexpr double kFarBelow = 100.0;
  const double delta = plan.delta().value_rounded_up();
  double least = 1.0;
  double multiplier = 0.0;
  for (const Plan::Segment& segment : plan.segments()) {
    const Release& release = segment.release;
    if (release.is_public()) continue;
    const releases::Cost cost = release.cost_of_draw();
    const double square = cost.gaussian.value_rounded_up() + 2.0 * cost.concentrated.value_rounded_up();
    if (square == 0.0) continue;
    const double share = static_cast<double>(release.records_drawn) / static_cast<double>(release.block_records);
    if (share > least) continue;
    least = share;
    multiplier = 1.0 / std::sqrt(square);
  }
  if (delta * kFarBelow <= least || delta == 0.0) return "";
  return fmt::format(
      "delta {:.3g} is not far below {:.3g}, the share of the {} that an answer draws: it covers much of the chance of "
      "being drawn at all, so that a {} that is drawn is hidden by a noise multiplier of {:.3g} alone. At most {:.1g} "
      "is "
      "advised",
      delta, least, releases::plural_of(plan.unit()), releases::noun_of(plan.unit()), multiplier, least / kFarBelow);
}

std::string shuffler_needs(const Plan& plan, const releases::SiloFacts& facts) {
  if (!plan.shuffling() || plan.shuffling()->binomial || plan.credit()) return "";
  const std::optional<accounting::ShuffledRounds> rounds = plan.reported_rounds();
  if (!rounds) {
    return fmt::format(
        "no gain: only a plan whose private releases all draw equally many of equally many records, in at most {} "
        "rounds, "
        "is credited with the shuffler",
        accounting::kCreditedRoundsMax);
  }
  const auto gain_at = [&](const accounting::ShuffledRounds& at, const Result<releases::GaussianShift>& local) {
    return local ? accounting::silos_for_gain(at, *local, facts.epsilon(), plan.mechanism_delta_amount())
                 : std::nullopt;
  };
  const std::int64_t population = rounds->population;
  std::string out = fmt::format("no gain from {} honest silos that each report {} of {} records: ", rounds->silos,
                                rounds->drawn, population);
  const std::optional<std::uint64_t> as_is = gain_at(*rounds, local_shift_of(plan.segments()));
  if (as_is) {
    out += fmt::format("with {} there would be", *as_is);
  } else {
    out += fmt::format("with {} there would be none either", accounting::kCreditedSilosMax);
  }
  if (rounds->drawn == 1) return out;
  accounting::ShuffledRounds one = *rounds;
  one.drawn = 1;
  one.rate = rate_of(1, population);
  const Result<releases::GaussianShift> local =
      common_shift({{{one.rate}, one.rounds, {}}}, facts.epsilon(), *plan.mechanism_delta());
  const std::optional<std::uint64_t> of_one = gain_at(one, local);
  out += of_one ? fmt::format("; with one record each from {} silos on", *of_one)
                : fmt::format("; nor with one record each and {} silos", accounting::kCreditedSilosMax);
  return out;
}

}  // namespace undertone::planning
