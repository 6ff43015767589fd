#include "silo/agent/privacy_statement.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "shared/base/overloaded.hpp"
#include "shared/jobs/joint_promise_of.hpp"
#include "silo/agent/group_promises.hpp"
#include "silo/agent/job_summary.hpp"

namespace undertone::silo {
namespace {

const char* chosen_by(const jobs::NoiseChoice& choice, const planning::Plan& plan) {
  switch (choice.by) {
    case jobs::NoiseChoice::By::Accountant:
      if (names_its_noise(plan))
        return "the job, by the widths that it asks for; the guarantee is what the accountant says it costs";
      return "the accountant: the least that keeps the guarantee";
    case jobs::NoiseChoice::By::Theorem:
      return "the job, by a theorem's formula; the guarantee is what the accountant says it costs";
    case jobs::NoiseChoice::By::Hand:
      return "the job, by hand; the guarantee is what the accountant says it costs";
  }
  return "";
}

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kRestsOnOrder = "the ledger's key, which keeps secret where a person stands";
constexpr const char* kRestsOnPlaces = "the ledger's key, which keeps secret where a record of the snapshot stands";

/// This says what a person adds to an answer about statistics.
std::string contribution_of(const releases::PersonContribution& person) {
  using Form = releases::PersonContribution::Form;
  switch (person.form) {
    case Form::Any:
      return fmt::format("1 to every cell that one of {} of her records at most is in", person.records_max);
    case Form::Total:
      return fmt::format("the sum over {} of her records at most", person.records_max);
    case Form::Number:
      return fmt::format("1 to the cell of how many records she has, where more than {0} count as {0}",
                         person.records_max);
    default:
      break;
  }
  return person.records_max == 1
             ? std::string("one of her records, drawn afresh for each answer")
             : fmt::format("the mean over {} of her records at most, drawn afresh for each answer", person.records_max);
}

/// @pre the job is of persons
std::string contribution_of(const jobs::Job& job, const planning::Plan& plan) {
  using Form = releases::PersonContribution::Form;
  if (!job.model) {
    std::vector<std::string> ways;
    for (const planning::Plan::Segment& segment : plan.segments()) {
      const std::optional<releases::PersonContribution>& persons = segment.release.ask.records.persons;
      const std::string way = persons ? contribution_of(*persons) : "";
      if (persons && std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(way);
    }
    return fmt::format("{}", fmt::join(ways, "; to other answers "));
  }
  const Form form = job.person->form;
  return fmt::format("the {} over {} of her records at most, drawn afresh for each answer{}{}",
                     form == Form::CappedSum ? "sum" : "mean", job.person->records_max,
                     form == Form::ClippedMean     ? ", clipped once"
                     : form == Form::MeanOfClipped ? ", each of which is clipped"
                     : form == Form::CappedSum
                         ? fmt::format(", each of which is clipped and divided by {}", job.person->records_max)
                         : "",
                     job.one_record_evaluated  ? "; to an evaluation one of her records"
                     : form == Form::CappedSum ? "; to an evaluation the mean over them"
                                               : "");
}

constexpr const char* kGroupsNote =
    "what the same releases promise somebody who has so many of the records, at the same delta; null: nothing below "
    "30 is known. The number of records is public, so this is no promise to persons";

/// "with 5 of the records epsilon 5.93, with 10 or 20 as good as none"
std::string said_of(const std::vector<GroupPromise>& groups) {
  std::string out;
  std::string unbounded;
  for (const GroupPromise& group : groups) {
    if (group.epsilon) {
      out += fmt::format("{}with {} of the records epsilon {:.2f}", out.empty() ? "" : ", ", group.records,
                         std::ceil(100.0 * *group.epsilon) / 100.0);
    } else {
      unbounded += fmt::format("{}{}", unbounded.empty() ? "" : " or ", group.records);
    }
  }
  if (unbounded.empty()) return out;
  return fmt::format("{}{}with {}{} as good as none", out, out.empty() ? "" : ", ", unbounded,
                     out.empty() ? " of the records" : "");
}

/// @param exact_samplers whose time is not constant
std::vector<std::string> not_covered(const releases::SiloFacts& facts, std::chrono::milliseconds interval,
                                     bool exact_samplers, releases::Unit unit) {
  const bool persons = unit == releases::Unit::Person;
  std::vector<std::string> out = {
      fmt::format("the number of training {0}s ({1}) and of holdout {0}s ({2}), which are public",
                  persons ? "person" : "record", facts.records, facts.holdout_records),
      interval.count() == 0
          ? "when the silo answers and whether it is connected: replies leave as soon as they are ready"
          : fmt::format(
                "whether the silo is connected, when its owner decides, and at which multiple of {} ms after the "
                "query a reply leaves: none in between, as the policy stood when this was written",
                interval.count()),
      "that the owner amended the data set, which the length of the ledger shows",
      persons
          ? "a person under two ids, persons whose records tell of each other, such as a household's, and a person "
            "with records at other silos beyond what \"joint\" says"
          : "a person with records in several silos, or with several records here: the guarantee is for each single "
            "record" +
                std::string(unit == releases::Unit::SensitiveAttribute ? "'s group" : ""),
      "what the silo's own staff and machines see: its disk, its memory, its local logs",
      "an old copy of the ledger restored with its head file, if the coordinator lies about the last head it saw",
      ("more than AES-256, SHA-256, Ed25519 (of a shuffled run X25519, XSalsa20-Poly1305 and BLAKE2b too) and the "
       "operating system's generator can bear: keys and noise rest on them")};
  if (unit == releases::Unit::SensitiveAttribute)
    out.insert(
        out.begin(),
        "features and labels: of each record its group by the sensitive columns alone is protected. What does not "
        "depend on the group leaves without protection, and whatever features tell of the group is told");
  if (exact_samplers && interval.count() == 0) {
    out.emplace_back(
        "how long drawing a reply's noise or choice takes, which tells something of the noise and, of a selection, of "
        "the "
        "records: replies leave as soon as they are ready");
  }
  if (facts.public_records > 0)
    out.push_back(
        fmt::format("the {} records that their owner declared public when the data set was added: they leave exactly, "
                    "and a person in them is not protected by being among the others too",
                    facts.public_records));
  if (facts.holdout_public)
    out.push_back(
        fmt::format("the holdout {}s: their owner declared them public, they are evaluated exactly and are not "
                    "protected at all",
                    persons ? "person" : "record"));
  return out;
}

/// The exact samplers of releases whose noise is not Gaussian: nothing of them is credited to delta.
bool draws_exactly(const planning::Plan& plan) {
  return std::any_of(plan.segments().begin(), plan.segments().end(), [](const planning::Plan::Segment& segment) {
    return std::holds_alternative<mechanisms::LaplaceLattice>(segment.release.mechanism) ||
           std::holds_alternative<mechanisms::Selection>(segment.release.mechanism) ||
           std::holds_alternative<mechanisms::PathSelection>(segment.release.mechanism) ||
           std::holds_alternative<mechanisms::LocalReports>(segment.release.mechanism) ||
           std::holds_alternative<mechanisms::DirectionSum>(segment.release.mechanism);
  });
}

/// Releases of generalised Gaussian noise, whose sampler is right but for a part of delta.
bool draws_generalised(const planning::Plan& plan) {
  return std::any_of(plan.segments().begin(), plan.segments().end(), [](const planning::Plan::Segment& segment) {
    return std::holds_alternative<mechanisms::GeneralisedGaussianLattice>(segment.release.mechanism);
  });
}

/// Whether sums are sent whose bound is not that of the job's gradients: scores of vertices, fair gradients and groups.
bool sends_other_sums(const planning::Plan& plan) {
  return std::any_of(plan.segments().begin(), plan.segments().end(), [](const planning::Plan::Segment& segment) {
    const releases::QuestionKind kind = segment.release.ask.kind();
    return kind == releases::QuestionKind::Scores || kind == releases::QuestionKind::FairGradient ||
           kind == releases::QuestionKind::GroupShares || kind == releases::QuestionKind::ScoreMoments;
  });
}

/// Where one sentence of clipped sums does not say what all releases are by.
bool lists_mechanisms(const jobs::Job& job, const planning::Plan& plan) {
  return draws_exactly(plan) || draws_generalised(plan) || !job.model || holds_but_for_failures(plan) ||
         sends_other_sums(plan);
}

std::string samplers_of(const planning::Plan& plan, std::chrono::milliseconds interval) {
  const std::string time = interval.count() == 0
                               ? "and is not covered"
                               : fmt::format(
                                     "and replies are held to multiples of {} ms after the query: longer ones "
                                     "show which multiple",
                                     interval.count());
  std::string generalised = fmt::format(
      "of generalised Gaussian noise in 256-bit arithmetic from 192-bit uniform numbers, off its law by "
      "less than 2^-80 a vector, which delta covers; how long a draw takes depends on the noise, {}",
      time);
  if (!draws_exactly(plan)) return generalised;
  const auto any_release = [&](const auto& is_one) {
    return std::any_of(plan.segments().begin(), plan.segments().end(),
                       [&](const planning::Plan::Segment& segment) { return is_one(segment.release.mechanism); });
  };
  const bool reports = any_release([](const mechanisms::Mechanism& mechanism) {
    return std::holds_alternative<mechanisms::LocalReports>(mechanism);
  });
  const bool summed = any_release([](const mechanisms::Mechanism& mechanism) {
    return std::holds_alternative<mechanisms::DirectionSum>(mechanism);
  });
  const bool others = any_release([](const mechanisms::Mechanism& mechanism) {
    return std::holds_alternative<mechanisms::LaplaceLattice>(mechanism) ||
           std::holds_alternative<mechanisms::Selection>(mechanism) ||
           std::holds_alternative<mechanisms::PathSelection>(mechanism);
  });
  std::string out;
  if (reports || others)
    out = fmt::format(
        "of Laplace noise{} selections exact, before the reply is rounded to the wire: no floating-point number "
        "decides; "
        "how long a selection takes depends on the records, {}",
        reports ? ", reports and" : " and", time);
  if (summed)
    out += fmt::format(
        "{}the vectors of a direction's report are drawn exactly, as integers. A product in double precision decides "
        "on "
        "which side of the cap each of them is. What that can shift is bounded, and epsilon is smaller by it",
        out.empty() ? "" : "; ");
  return out + (draws_generalised(plan) ? "; " + generalised : "");
}

/// Whom the guarantee is against, and whom it takes on trust.
struct Trust {
  std::string adversary;
  std::string assumption;  // empty: nothing is trusted
};

Trust trust_of(const jobs::Job& job, const planning::Plan& plan) {
  if (plan.parts_credit()) {
    return {
        "everybody outside the silo: coordinator, other silos and network, together, seeing every message of the run",
        fmt::format(
            "the silo keeps secret in which part of the pass each {} was{}, during the run and for as long "
            "as the guarantee is to hold: its memory, its ledger's key, from which the parts follow, and how long "
            "answers took within an interval",
            releases::noun_of(job.unit),
            plan.parts_credit()->assignment == releases::Slice::Assignment::Bins ? " and how many were in each" : "")};
  }
  // Reports without a credit keep the promise by the silo's own noise: mixing comes on top.
  const bool owes = job.shuffle && (job.shuffle->form != jobs::Shuffle::Form::Reports || plan.credit());
  if (!owes) {
    return {
        "everybody outside the silo: coordinator, other silos and network, together, seeing every message of the run",
        ""};
  }
  using Form = jobs::Shuffle::Form;
  const std::vector<jobs::Shuffle::Party>& parties = job.shuffle->shufflers;
  // Whoever closes a batch may leave honest silos out, down to the quorum.
  const std::size_t others = job.participation.quorum - job.shuffle->honest_min;
  std::string silos = fmt::format(
      "at least {} silos of every round, this one among them, add their noise and keep "
      "it to themselves",
      job.shuffle->honest_min);
  silos +=
      ", and whoever signs the consortium's certificates gives nobody the name of a silo or a shuffler that is not "
      "theirs";
  switch (job.shuffle->form) {
    case Form::Shares:
      return {fmt::format("the coordinator, {} other silos and the network, together with either of the shufflers "
                          "{} and {}, seeing every message that these see",
                          others, parties[0].name, parties[1].name),
              fmt::format("{} and {} do not work together, and {}", parties[0].name, parties[1].name, silos)};
    case Form::Counts:
      return {
          fmt::format("the coordinator, {} other silos and the network, together", others),
          fmt::format("{} reads each silo's noised counts, adds them up and shows nobody anything but the total, and "
                      "{}",
                      parties[0].name, silos)};
    case Form::Bits:
    case Form::Reports:
      return {fmt::format("the coordinator, {} other silos and the network, together", others),
              fmt::format("{} mixes the replies and tells nobody their order, and {}", parties[0].name, silos)};
  }
  return {};
}

/// "norm 2"; of a dual norm also what follows in l2, which is what Gaussian noise hides.
std::string clip_statement(const releases::Bound& bound) {
  return std::visit(
      Overloaded{[](const releases::L2Bound& l2) { return fmt::format("norm {}", l2.clip.value()); },
                 [](const releases::DualBound& dual) {
                   return fmt::format("{} norm {}, which is l2 norm {:.6g} at most",
                                      releases::norm_name(dual.exponent()), dual.clip().value(), dual.l2().value());
                 },
                 [](const releases::InfluenceBound& influence) {
                   return fmt::format("norm {:.6g}: {}", influence.l2().value(), releases::described(influence));
                 },
                 [](const releases::MaxBound& max) { return fmt::format("{} in every coordinate", max.bound.value()); },
                 [](const releases::RangeBound& range) { return fmt::format("[{}, {}]", range.low, range.high); },
                 [](const releases::PairBound& /*map's own*/) { return std::string("what its map allows"); }},
      bound);
}

std::string report_statement(releases::Randomiser randomiser, std::string_view unit) {
  switch (randomiser) {
    case releases::Randomiser::Bit:
      return fmt::format("a bit whose chances are quotients of integers, the likelier 1 the larger the {}'s number,",
                         unit);
    case releases::Randomiser::Laplace:
      return fmt::format("the {}'s number with discrete Laplace noise of its own,", unit);
    case releases::Randomiser::StringBit:
      return fmt::format(
          "a bit that compares the {}'s number with a public one, whose chances are whole units of 2^-40,", unit);
    case releases::Randomiser::Index:
      return "the number of one of several public numbers, kept with chances that are whole units of 2^-40,";
    case releases::Randomiser::Direction:
      return fmt::format("a direction by PrivUnit, drawn from integer vectors whose law is the same for every {},",
                         unit);
    case releases::Randomiser::GaussianDirection:
      return fmt::format("a vector by PrivUnitG, drawn from integer vectors whose law is the same for every {},", unit);
    case releases::Randomiser::Gaussian:
      return fmt::format("the {}'s vector with Gaussian noise of its own, exactly rounded to a lattice,", unit);
  }
  return "";
}

/// What fair learning asks for; empty of every other ask.
std::string fair_statement(const releases::Ask& ask) {
  if (const auto* groups = std::get_if<releases::GroupSharesMap>(&ask.map)) {
    const bool by_label = groups->grouping.notion != fairness::Notion::DemographicParity;
    return fmt::format("how many of the records are in each of {} {}; a record is in one at most",
                       groups->grouping.cells(), by_label ? "groups of a label" : "groups");
  }
  const auto* fair = std::get_if<releases::FairGradientMap>(&ask.map);
  if (fair == nullptr) return "";
  const fairness::FairTerms& terms = fair->terms;
  if (terms.attribute_alone)
    return fmt::format(
        "sums of two parts of each record, which are one release: its gradient of the loss and of {:g} times the "
        "dependence of the prediction on the group, and what it says of the groups' weights. What a group adds to "
        "either part is clipped, to lengths that the question's public numbers say; what does not depend on the group "
        "is not hidden by the noise. Each part is divided by the bound of what a group adds, so that both together are "
        "within 1, whatever the question asks",
        terms.lambda);
  return fmt::format(
      "sums of two parts of each record, which are one release: its gradient of the loss and of {:g} times the "
      "dependence of the prediction on the group, clipped to {:g}, and what it says of the groups' weights, clipped to "
      "a "
      "length that the question's public numbers say. Each part is divided by its own bound first, so that both "
      "together "
      "are within 1, whatever the question asks",
      terms.lambda, terms.clip);
}

/// What each kind of release is by, and what it is bounded to. Empty where all of them are Gaussian or exact.
std::vector<std::string> mechanisms_of(const jobs::Job& job, const planning::Plan& plan) {
  std::vector<std::string> out;
  const bool network = job.model && job.model->network() != nullptr;
  const auto of = [&](const planning::Release& release) -> std::string {
    const auto* max = std::get_if<releases::MaxBound>(&release.ask.bound);
    const auto* range = std::get_if<releases::RangeBound>(&release.ask.bound);
    const auto* statistic = std::get_if<releases::StatisticMap>(&release.ask.map);
    const auto* features = std::get_if<releases::FeaturesMap>(&release.ask.map);
    const bool scores = release.ask.kind() == releases::QuestionKind::Scores;
    const char* whose = !job.person ? "records"
                        : network   ? "the means over persons' records, each"
                                    : "persons' means over their records";
    const char* summed = !scores      ? whose
                         : job.person ? "persons' mean scores of vertices, together"
                                      : "records' scores of vertices, together";
    const char* gradients = job.person ? "persons' mean gradients" : "gradients";
    const auto bounded = [&] {
      if (std::holds_alternative<statistics::ConjunctionsMap>(features->features))
        return job.person ? std::string(
                                "integer totals of persons' shares of records that have values together, of which each "
                                "has one of a column at most")
                          : std::string(
                                "counts of the records that have values together, of which each has one of a column at "
                                "most");
      if (const auto* ball = std::get_if<statistics::BallMap>(&features->features))
        return fmt::format("integer totals of {} of encoded numbers, each cut to the length {:.6g}{}",
                           job.person ? "persons' means of vectors" : "vectors", ball->radius,
                           ball->besides == statistics::BallMap::Besides::Products ? ", and of their products" : "");
      using Form = releases::PersonContribution::Form;
      const Form form = job.person ? release.ask.records.persons->form : Form::Mean;
      if (form == Form::Any) return std::string("counts of persons, each in every cell that one of her records is in");
      if (form == Form::Number) return std::string("counts of persons by how many records they have");
      if (form == Form::Total)
        return statistics::counts(features->features)
                   ? std::string("counts of persons' records, of each as many as may count")
                   : std::string(
                         "counts of persons' records, of each as many as may count, and integer totals of their "
                         "encoded "
                         "numbers clamped to [-1, 1]");
      if (job.person)
        return statistics::counts(features->features)
                   ? std::string("integer totals of persons' shares, of each the mean over her records' cells")
                   : std::string(
                         "integer totals of persons' means of encoded numbers clamped to [-1, 1] and of their "
                         "products");
      return statistics::counts(features->features)
                 ? std::string("counts of records, of which each is in one cell of a question at most on every level")
                 : std::string("integer totals of encoded numbers clamped to [-1, 1] and of their products");
    };
    return std::visit(
        Overloaded{
            [&](const mechanisms::Selection& /*draw*/) {
              if (max == nullptr)
                return fmt::format(
                    "the exponential mechanism on integer scores of {}, of which a {} moves each by one at most",
                    release.ask.quantile_cell() == nullptr
                        ? job.person ? "totals of persons' mean losses in [0, 1]" : "totals of losses in [0, 1]"
                    : job.person ? "sums of persons' shares"
                                 : "counts",
                    releases::noun_of(job.unit));
              return fmt::format("the exponential mechanism on integer scores, of {} clamped to {} in every coordinate",
                                 gradients, max->bound.value());
            },
            [&](const mechanisms::PerturbedObjective& objective) {
              return fmt::format(
                  "objective perturbation: where the mean logistic loss of records scaled to {} is least with a random "
                  "Gaussian linear term, and Gaussian noise, exactly rounded to a lattice, on the {} numbers of what "
                  "was "
                  "computed, for how far that may be off; the bound on the loss holds but for a probability of {:.3g}, "
                  "which delta covers",
                  clip_statement(release.ask.bound), release.ask.dimension, objective.failure.value_rounded_up());
            },
            [&](const mechanisms::PathSelection& /*draw*/) {
              return fmt::format(
                  "the exponential mechanism on integer scores of an estimate along a path of points, of {} and "
                  "differences clamped to at most {} in every coordinate, over disjoint parts of a permutation; a "
                  "{} is in one part, and is charged for every choice along whose path it lies, at what its part "
                  "can move it",
                  gradients, max->bound.value(), releases::noun_of(job.unit));
            },
            [&](const mechanisms::LaplaceLattice& /*noise*/) -> std::string {
              if (features != nullptr) return "discrete Laplace noise on " + bounded();
              if (const std::string fair = fair_statement(release.ask); !fair.empty())
                return "discrete Laplace noise on " + fair;
              if (statistic == nullptr)
                return fmt::format("discrete Laplace noise on {} of {} clipped to {}",
                                   network ? "sums rounded to a lattice, the clip norm less by a proven bound on "
                                             "all rounding,"
                                           : "integer sums",
                                   summed, clip_statement(release.ask.bound));
              if (statistic->indicators) return "discrete Laplace noise on counts";
              return fmt::format("discrete Laplace noise on integer totals of encoded numbers clamped to [{}, {}]",
                                 range->low, range->high);
            },
            [&](const mechanisms::GaussianLattice& /*noise*/) {
              if (features != nullptr) return "Gaussian noise, exactly rounded to a lattice, on " + bounded();
              if (const std::string fair = fair_statement(release.ask); !fair.empty())
                return "Gaussian noise, exactly rounded to a lattice, on " + fair;
              if (const auto* moments = std::get_if<releases::ScoreMomentsMap>(&release.ask.map))
                return fmt::format(
                    "Gaussian noise, exactly rounded to a lattice, on integer totals of each record's score in a "
                    "{} regression, of the score's products and of its information; whatever the point is at "
                    "which they are asked for, those of two records are at most {:.4g} apart before they are rounded, "
                    "and "
                    "the noise covers the rounding",
                    moments->terms.link == statistics::ScoreLink::Log ? "Poisson" : "logistic",
                    statistics::score_distance(moments->terms.link));
              return fmt::format("Gaussian noise, exactly rounded to a lattice, on sums of {} clipped to {}", summed,
                                 clip_statement(release.ask.bound));
            },
            [&](const mechanisms::GeneralisedGaussianLattice& generalised) {
              return fmt::format(
                  "generalised Gaussian noise, its density falling with the square of the l_{:.6g} norm, rounded to a "
                  "lattice, on integer sums of {} clipped to {}; its cost is known by rho alone, that of zCDP",
                  generalised.noise.norm(), whose, clip_statement(release.ask.bound));
            },
            [&](const mechanisms::LocalReports& reports) {
              const std::string_view unit = releases::noun_of(release.ask.unit());
              return fmt::format(
                  "a report of each {} by itself, in a secret order: {} of {} each, which holds against whoever sees "
                  "reports, the copy in this silo's ledger included; a {} is in one report of a release",
                  unit, report_statement(reports.kind(), unit),
                  reports.kind() == releases::Randomiser::Gaussian
                      ? fmt::format("mu {:.6g}", std::sqrt(reports.cost().gaussian.value_rounded_up()))
                      : fmt::format("epsilon {:.6g}", reports.cost().pure.value_rounded_up()),
                  unit);
            },
            [&](const mechanisms::DirectionSum& sum) {
              const std::string_view unit = releases::noun_of(release.ask.unit());
              const bool scaled = sum.direction().adapter() == releases::UnitAdapter::Normalise;
              return fmt::format(
                  "a report of each {0} by itself, which this silo adds up: of its gradient, {1} {2}, {3} of "
                  "epsilon {4:.6g}. The sum is a function of the reports, and nothing else of a {0} leaves",
                  unit, scaled ? "which is scaled to" : "clipped to", clip_statement(release.ask.bound),
                  report_statement(sum.reports.kind(), unit), sum.reports.cost().pure.value_rounded_up());
            },
            [](const mechanisms::ExactPublicSum& /*exact*/) { return std::string(); },
            [](const mechanisms::BinomialSum& /*counts*/) { return std::string(); },
            [](const mechanisms::Unplanned& /*nothing*/) -> std::string { UNDERTONE_CHECK(false); }},
        release.mechanism);
  };
  if (!lists_mechanisms(job, plan)) return out;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    std::string one = of(segment.release);
    if (!one.empty() && std::find(out.begin(), out.end(), one) == out.end()) out.push_back(std::move(one));
  }
  return out;
}

std::string protected_mechanism_of(const jobs::Job& job, const planning::Plan& plan) {
  const bool network = job.model && job.model->network() != nullptr;
  std::string listed;
  for (const std::string& one : mechanisms_of(job, plan)) listed += (listed.empty() ? "" : "; ") + one;
  if (!listed.empty()) return listed;
  if (plan.shuffling() && plan.shuffling()->binomial)
    return fmt::format(
        "a binomial vector sum: integer sums of {}, rounded at random to a grid, with binomial noise of every silo, of "
        "which nobody sees less than the total over all silos of a round",
        !job.person ? "clipped records"
        : network   ? "the means over persons' clipped records"
                    : "persons' clipped means over their records");
  if (job.person && job.person->form == releases::PersonContribution::Form::CappedSum)
    return fmt::format(
        "Gaussian noise, exactly rounded to a lattice, on sums over persons{}, of each the sum of her clipped records "
        "over {}",
        network ? " rounded to it, the clip norm less by a proven bound on all rounding" : "", job.person->records_max);
  if (job.person && job.person->form == releases::PersonContribution::Form::MeanOfClipped)
    return "Gaussian noise, exactly rounded to a lattice, on sums over persons rounded to it, of each the mean of her "
           "clipped records, the clip norm less by a proven bound on all rounding";
  if (job.person)
    return "Gaussian noise, exactly rounded to a lattice, on integer sums over persons, of each the clipped mean of "
           "her records";
  if (!network) return "Gaussian noise, exactly rounded to a lattice, on integer sums of clipped records";
  return "Gaussian noise, exactly rounded to a lattice, on sums of clipped records rounded to it, the clip norm less "
         "by a "
         "proven bound on all rounding";
}

/// This text says what leaves exactly in the same replies. It is empty where no reply has a block of public records.
std::string beside_of(const planning::Plan& plan) {
  for (const planning::Plan::Segment& segment : plan.segments())
    if (segment.release.public_records > 0)
      return fmt::format("; beside it, exactly, the mean over {} records that their owner declared public",
                         segment.release.public_records);
  return "";
}

std::string mechanism_of(const jobs::Job& job, const planning::Plan& plan) {
  return protected_mechanism_of(job, plan) + beside_of(plan);
}

/// What remains where those who are trusted are not to be: epsilon at the same delta, nothing where there is no bound.
std::string without_trust(const planning::Plan& plan) {
  if (plan.parts_credit()) {
    const std::optional<double> told = plan.epsilon_of_known_draws();
    return told ? fmt::format("epsilon {:.4g} at the same delta, by parallel composition of the parts", *told)
                : "as good as none: by parallel composition of the parts epsilon is beyond 30";
  }
  const std::optional<double> epsilon = plan.epsilon_without_shuffler();
  if (!epsilon) return "none: this silo's noise alone has no bound that this program can certify";
  // Beyond 30 even what a sampler may deviate from its law is no longer covered by delta.
  if (*epsilon > 30.0) return fmt::format("as good as none: epsilon {:.4g}", *epsilon);
  return fmt::format("epsilon {:.4g} at the same delta, of this silo's noise alone", *epsilon);
}

/// What was found about the run since: empty where nothing was.
std::vector<std::string> advisories_of(const jobs::Job& job, const planning::Plan& plan, const RunAccount& account) {
  if (!concerned_by_places(job, account)) return {};
  const std::optional<double> epsilon = plan.epsilon_of_known_draws();
  return {fmt::format(
      "UA-2026-1: {} of the {} releases were made by a version in which a record's place in a draw could show in a "
      "network's sums. The guarantee below does not hold for this run; what does is {}{} (docs/advisories.md)",
      account.releases - account.releases_in_secret_order, account.releases,
      epsilon ? fmt::format("epsilon {} at the same delta", *epsilon) : "no bound below 30",
      account.filtered                                 ? "; the data set's filter never counted on draws and holds"
      : plan.shuffling() && plan.shuffling()->binomial ? ", as long as what is trusted below holds"
                                                       : "")};
}

}  // namespace

bool concerned_by_places(const jobs::Job& job, const RunAccount& account) {
  if (account.releases == account.releases_in_secret_order || !job.model || job.model->network() == nullptr)
    return false;
  const planning::Schedule schedule = jobs::schedule_of(job);
  return std::any_of(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
    return part.ask.records.block == releases::Block::Training && part.ask.records.draw_fraction < 1.0 &&
           !part.ask.local() && !part.ask.records.with_replacement;
  });
}

PrivacyStatement make_unplanned_statement(const SiloId& silo, const std::string& dataset, const RunId& run,
                                          const RunAccount& account, const std::string& why) {
  const std::string advisory = fmt::format(
      "UA-2026-1 concerns this run: in {} of its {} releases a record's place in a draw could show in a network's "
      "sums, "
      "and its plan cannot be made again by this version ({}). No guarantee can be stated for it (docs/advisories.md)",
      account.releases - account.releases_in_secret_order, account.releases, why);
  OrderedJson json;
  json["format"] = "undertone.privacy-statement/1";
  json["valid"] = false;
  json["silo"] = silo.name();
  json["dataset"] = dataset;
  json["run"] = run.hex();
  json["releases_made"] = account.releases;
  json["advisories"] = OrderedJson::array({advisory});
  return {fmt::format("ADVISORY: {}\nPrivacy statement of {} for its data set \"{}\"\n  run          {}\n", advisory,
                      silo.name(), dataset, run.hex()),
          json.dump(2) + "\n"};
}

PrivacyStatement make_statement(const SiloId& silo, const std::string& dataset, const RunId& run, const jobs::Job& job,
                                const planning::Plan& plan, const releases::SiloFacts& facts, const RunAccount& account,
                                std::chrono::milliseconds release_interval, crypto::NoiseKind noise,
                                const StatedDataset& dataset_facts) {
  const auto& [alone, frozen, permit] = dataset_facts;
  const double odometer = plan.epsilon_of(account.rounds);
  const Trust trust = trust_of(job, plan);
  const bool local = trust.assumption.empty();
  const double epsilon = account.returned ? 0.0 : account.epsilon.value_rounded_up();
  const double delta = account.returned ? 0.0 : account.delta.value_rounded_up();
  std::vector<std::string> gaps =
      not_covered(facts, release_interval, draws_exactly(plan) || draws_generalised(plan), job.unit);
  if (alone) gaps.emplace_back("a person with several records without an id: each of them is protected by itself");
  const std::vector<std::string> advisories = advisories_of(job, plan, account);
  const std::string without = local ? "" : advisories.empty() ? without_trust(plan) : "not stated: see the advisory";
  const bool persons = job.unit == releases::Unit::Person;
  const std::vector<GroupPromise> groups = local && job.unit == releases::Unit::Record
                                               ? group_promises(plan, facts, account, advisories.empty())
                                               : std::vector<GroupPromise>{};
  const GroupPromise whole = groups.empty() ? GroupPromise{} : silo_promise(plan, facts, account, advisories.empty());
  const std::optional<planning::JointPromise> joint = jobs::joint_promise_of(job);
  const bool seeded = noise != crypto::NoiseKind::Secure;
  const bool valid = !seeded && advisories.empty();

  OrderedJson json;
  json["format"] = "undertone.privacy-statement/1";
  json["valid"] = valid;
  json["silo"] = silo.name();
  json["dataset"] = dataset;
  json["job"] = job.name;
  json["run"] = run.hex();
  if (permit) json["permit"] = {{"id", permit->id}, {"purpose", permit->purpose}, {"until", permit->until}};
  json["unit"] = releases::to_string(job.unit);
  json["adversary"] = trust.adversary;
  if (!local) {
    json["trusted"] = trust.assumption;
    json["without_trust"] = without;
  }
  json["adjacency"] = "replace_one";
  if (persons) {
    json["contributes"] = contribution_of(job, plan);
    json["rests_on"] = kRestsOnOrder;
    json["joint"] = joint ? OrderedJson{{"silos", joint->silos}, {"epsilon", joint->epsilon}, {"delta", joint->delta}}
                          : OrderedJson(nullptr);
  }
  if (frozen && !persons) json["rests_on"] = kRestsOnPlaces;
  if (job.unit == releases::Unit::SensitiveAttribute)
    json["adjacency_note"] = "a record's group is replaced by any other: its features and its label are not protected";
  else if (facts.public_records > 0)
    json["adjacency_note"] =
        "a record is replaced by one that its owner has not declared public: that would leave exactly";
  json["mechanism"] = mechanism_of(job, plan);
  if (draws_exactly(plan) || draws_generalised(plan)) json["samplers"] = samplers_of(plan, release_interval);
  if (job.moments) json["clip_chosen_by"] = jobs::described(*job.moments);
  json["noise_chosen_by"] = chosen_by(job.noise_choice, plan);
  json["accountant"] = plan.accountant();
  json["epsilon"] = epsilon;
  json["delta"] = delta;
  if (!std::holds_alternative<releases::ApproximateDp>(facts.target))
    json["promised"] = releases::to_string(facts.target);
  // Made of the same draws, so as little true of a run that an advisory concerns.
  json["epsilon_odometer"] = advisories.empty() ? OrderedJson(odometer) : OrderedJson(nullptr);
  json["odometer_note"] =
      account.filtered
          ? "what the releases made so far add up to; the guarantee is epsilon, covered by the data set's filter"
          : "what the releases made so far add up to; the guarantee is epsilon, reserved whole before the first";
  json["charged"] = account.filtered ? "per_release" : "whole";
  if (!groups.empty()) {
    for (const GroupPromise& group : groups) {
      json["persons"].push_back({{"records", group.records},
                                 {"epsilon", group.epsilon ? OrderedJson(*group.epsilon) : OrderedJson(nullptr)}});
    }
    json["persons_note"] = kGroupsNote;
    json["whole_silo"] = {{"records", whole.records},
                          {"epsilon", whole.epsilon ? OrderedJson(*whole.epsilon) : OrderedJson(nullptr)}};
  }
  json["releases_planned"] = plan.rounds();
  json["releases_made"] = account.releases;
  json["not_covered"] = gaps;
  json["advisories"] = advisories;

  std::string text;
  if (seeded) text += "VOID: this run's noise was seeded for a test. Nothing below is a guarantee.\n";
  for (const std::string& advisory : advisories) text += "ADVISORY: " + advisory + "\n";
  text += fmt::format("Privacy statement of {} for its data set \"{}\", job \"{}\"\n", silo.name(), dataset, job.name);
  text += fmt::format("  run          {}\n", run.hex());
  if (permit) text += fmt::format("  permit       {}\n", describe(*permit));
  text += fmt::format("  unit         one {}{}\n", releases::noun_of(job.unit),
                      alone ? ": all records with her id in this data set, however many, or one record without an id"
                      : persons ? ": all records with her id in this data set, however many"
                                : "");
  text += local ? "  adversary    everybody outside the silo together: coordinator, other silos, network\n"
                : fmt::format("  adversary    {}\n  trusted      {}\n  without it   {}\n", trust.adversary,
                              trust.assumption, without);
  text += facts.public_records > 0 && job.unit == releases::Unit::Record
              ? "  adjacency    one record replaced by any other that its owner has not declared public\n"
              : fmt::format("  adjacency    one {} replaced by any other\n", releases::noun_of(job.unit));
  if (persons) {
    text += fmt::format("  contributes  {}\n", contribution_of(job, plan));
    text += fmt::format("  rests on     {}\n  joint        {}\n", kRestsOnOrder, jobs::describe(job, joint));
  }
  if (frozen && !persons) text += fmt::format("  rests on     {}\n", kRestsOnPlaces);
  const bool differences =
      std::any_of(plan.segments().begin(), plan.segments().end(), [](const planning::Plan::Segment& segment) {
        return segment.release.ask.kind() == releases::QuestionKind::GradientDifference;
      });
  if (lists_mechanisms(job, plan)) {
    text += fmt::format("  mechanism    {}\n", mechanism_of(job, plan));
    if (draws_exactly(plan) || draws_generalised(plan))
      text += fmt::format("  samplers     {}\n", samplers_of(plan, release_interval));
  } else {
    text += fmt::format("  mechanism    {}, clip {}{}{}\n",
                        local ? "Gaussian noise exactly rounded to a lattice" : protected_mechanism_of(job, plan),
                        clip_statement(job.bound),
                        differences ? ", at most twice that for differences of gradients" : "", beside_of(plan));
  }
  if (job.moments) text += fmt::format("  clip         {}\n", jobs::described(*job.moments));
  text += fmt::format("  noise        chosen by {}\n", chosen_by(job.noise_choice, plan));
  text += fmt::format("  accountant   {}\n", plan.accountant());
  // What is promised as an epsilon and a delta is said by the guarantee.
  if (!std::holds_alternative<releases::ApproximateDp>(facts.target))
    text += fmt::format("  promised     {}\n", releases::to_string(facts.target));
  text += fmt::format("  guaranteed   epsilon {}, delta {}, for everything this run could send\n", epsilon, delta);
  text += advisories.empty()
              ? fmt::format(
                    "  odometer     epsilon {} at the same delta for the {} of {} releases really made (not the "
                    "guarantee)\n",
                    odometer, account.releases, plan.rounds())
              : fmt::format("  odometer     not stated: see the advisory; {} of {} releases were made\n",
                            account.releases, plan.rounds());
  if (account.filtered)
    text +=
        "  charged      each release when it left, to the filter that bounds all later jobs on the data set together\n";
  if (!groups.empty()) {
    text += fmt::format("  persons      are not protected as such: {}\n", said_of(groups));
    text += fmt::format("  whole silo   all {} records replaced together: {}\n", whole.records,
                        whole.epsilon
                            ? fmt::format("epsilon {:.2f} at the same delta", std::ceil(100.0 * *whole.epsilon) / 100.0)
                            : "as good as none, nothing below epsilon 30 is known");
  }
  text += "  not covered\n";
  for (const std::string& gap : gaps) text += "    - " + gap + "\n";
  return {std::move(text), json.dump(2) + "\n"};
}

}  // namespace undertone::silo
