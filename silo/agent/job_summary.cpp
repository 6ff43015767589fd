#include "silo/agent/job_summary.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/overloaded.hpp"
#include "shared/jobs/joint_promise_of.hpp"
#include "shared/planning/answer_work.hpp"
#include "shared/releases/canonical_ask.hpp"
#include "silo/agent/encoded_column.hpp"
#include "silo/agent/feature_text.hpp"

namespace undertone::silo {
namespace {

const char* means_of(releases::QuestionKind kind) {
  switch (kind) {
    case releases::QuestionKind::Gradient:
      return "the mean of gradients";
    case releases::QuestionKind::Metrics:
      return "the mean of evaluation scores";
    case releases::QuestionKind::GradientDifference:
      return "the mean of differences of gradients at two points";
    case releases::QuestionKind::LocalRun:
      return "the end of a descent of its own";
    case releases::QuestionKind::ControlledRun:
      return "the end of a descent of its own, corrected by variates";
    case releases::QuestionKind::Statistic:
      return "totals";
    case releases::QuestionKind::Path:
      return "an estimate of the mean of gradients along a path of points";
    case releases::QuestionKind::Scores:
      return "the mean of scores of vertices";
    case releases::QuestionKind::FairGradient:
      return "the mean of fair gradients, of the model and of its adversary,";
    case releases::QuestionKind::GroupShares:
      return "the shares of the groups";
    case releases::QuestionKind::ScoreMoments:
      return "sums of a regression's scores, of their products and of its information";
  }
  return "";
}

/// How a release's records are drawn, as an aside.
std::string drawn_of(const planning::Release& release) {
  if (release.ask.records.with_replacement) {
    return release.ask.records.slice
               ? " (drawn afresh each time from a part that no other line reads, with replacement: one "
                 "may be among them twice)"
               : " (drawn afresh each time, with replacement: one may be among them twice)";
  }
  if (release.reads_bins()) {
    return fmt::format(
        " (on average: each time those that drew this part for themselves, with the work of {} whatever their number)",
        release.rows);
  }
  if (release.ask.records.slice && !release.ask.records.slice->whole()) {
    using Cut = releases::Slice::Cut;
    const releases::Slice& slice = *release.ask.records.slice;
    const bool parts = slice.cut == Cut::Equal || (slice.cut == Cut::HalfThenEqual && slice.index > 0);
    return parts ? " (each time others than before)" : " (that no other line reads)";
  }
  return release.sampled() ? " (drawn afresh each time)" : "";
}

/// What each of the releases costs, of a law whose epsilons add up.
std::string epsilon_each(const planning::Release& release) {
  const releases::Cost cost = release.cost();
  const double epsilon = cost.pure.value_rounded_up() + cost.ranged.value_rounded_up();
  return fmt::format("epsilon {:.6g} each", epsilon);
}

const char* block_of(const planning::Release& release) { return releases::block_name(release.ask.records.block); }

/// What is cut where gradients are cut coordinate by coordinate.
std::string gradient_of_one(const planning::Release& release) {
  const std::optional<releases::PersonContribution>& persons = release.ask.records.persons;
  if (!persons) return "a record's gradient";
  return fmt::format("a person's mean gradient over {} of her records at most, drawn afresh and in secret,",
                     persons->records_max);
}

std::string describe_selection(const planning::Plan::Segment& segment, const geometry::Vertices& candidates) {
  const planning::Release& release = segment.release;
  return fmt::format(
      "{} times which of {} vertices the gradients over {} {} {} point to{}: the index of one vertex leaves, drawn "
      "by the exponential mechanism, at {}; every coordinate of {} cut to at most {:.4g}",
      segment.rounds, candidates.count(), release.records_drawn, block_of(release),
      releases::plural_of(release.ask.unit()), drawn_of(release), epsilon_each(release), gradient_of_one(release),
      std::get<releases::MaxBound>(release.ask.bound).bound.value());
}

/// Of selections along paths, of which a line may be of several.
std::string describe_path(const planning::Plan::Segment& segment) {
  const planning::Release& release = segment.release;
  return fmt::format(
      "{} times which of {} vertices an estimate points to that is made anew each time along a path of points, of {} "
      "{} {} (in other rounds of others) in parts that have none in common: the index of one vertex leaves, drawn by "
      "the exponential mechanism, at epsilon {:.6g} or less each for a {} of such a part; every coordinate of {} or "
      "difference cut to at most {:.4g}",
      segment.rounds, release.ask.candidate_count(), release.records_drawn, block_of(release),
      releases::plural_of(release.ask.unit()), release.cost().ranged.value_rounded_up(),
      releases::noun_of(release.ask.unit()), gradient_of_one(release),
      std::get<releases::MaxBound>(release.ask.bound).bound.value());
}

/// Of a silo's own minimiser.
std::string describe_minimiser(const planning::Plan::Segment& segment,
                               const mechanisms::PerturbedObjective& objective) {
  const planning::Release& release = segment.release;
  const mechanisms::ObjectivePerturbation& ideal = objective.ideal;
  return fmt::format(
      "{} times the point where the mean logistic loss over {} {} records, each vector scaled to a norm of {:.4g} at "
      "most, is least with {:.4g}/2 times the squared distance from the start and a random linear term of standard "
      "deviation {:.4g} a number, computed to within {:.3g} and with Gaussian noise of {:.3g} on each of {} numbers, "
      "at "
      "{} but for a probability of {:.3g}; {} passes over the records",
      segment.rounds, release.records_drawn, block_of(release), ideal.facts().record_norm, ideal.regularisation(),
      ideal.noise_stddev(), ideal.accuracy(), ideal.output().noise_stddev(), release.ask.dimension,
      epsilon_each(release), objective.failure.value_rounded_up(), ideal.iterations());
}

/// Of a silo's own choices.
std::string describe_choices(const planning::Plan::Segment& segment, const releases::LocalChoicesMap& choices) {
  const planning::Release& release = segment.release;
  return fmt::format(
      "{} times the end of {} steps of its own, each to one of {} vertices that the gradients over {} {} {} point to, "
      "drawn by the exponential mechanism, at epsilon {:.6g} for all of them; every coordinate of {} cut to at most "
      "{:.4g}",
      segment.rounds, choices.steps, choices.vertices.count(), release.records_drawn, block_of(release),
      releases::plural_of(release.ask.unit()), release.cost().ranged.value_rounded_up(), gradient_of_one(release),
      std::get<releases::MaxBound>(release.ask.bound).bound.value());
}

/// What a person adds to a feature map's totals; nothing of records.
std::string mean_of_each(const planning::Release& release) {
  const std::optional<releases::PersonContribution>& persons = release.ask.records.persons;
  if (!persons) return "";
  using Form = releases::PersonContribution::Form;
  if (persons->form == Form::Any)
    return fmt::format(
        ", each person once in every cell that any of {} of her records is in, drawn afresh and in secret",
        persons->records_max);
  if (persons->form == Form::Total)
    return fmt::format(", each person by {} of her records at most, all of which count, drawn afresh and in secret",
                       persons->records_max);
  if (persons->form == Form::Number)
    return fmt::format(", where more than {0} count as {0} and nothing in the records is looked at",
                       persons->records_max);
  return fmt::format(", each person by the mean over {} of her records at most, drawn afresh and in secret",
                     persons->records_max);
}

/// This says for the owner what is added up over persons or records.
std::string describe_totals(const planning::Release& release, const data::Schema& schema) {
  const std::optional<releases::PersonContribution>& persons = release.ask.records.persons;
  if (persons && persons->form == releases::PersonContribution::Form::Number)
    return fmt::format("the counts of persons by how many records they have, in {} cells,", release.ask.dimension);
  return describe_features(std::get<releases::FeaturesMap>(release.ask.map).features, schema);
}

/// Of a feature map's totals.
std::string describe_choice(const planning::Plan::Segment& segment, const data::Schema& schema) {
  const planning::Release& release = segment.release;
  const std::string features = describe_features(std::get<releases::FeaturesMap>(release.ask.map).features, schema);
  const releases::QuantileCell* cell = release.ask.quantile_cell();
  const std::string which =
      cell == nullptr ? "the number of the one that is nearly the least"
                      : fmt::format("the one that holds the {} of rank {:.4g}, nearly",
                                    release.ask.records.persons ? "share of persons' records" : "record",
                                    static_cast<double>(cell->numerator) / static_cast<double>(cell->denominator));
  return fmt::format(
      "{} times, of {} over {} {} {}{}, {}: one of {} numbers leaves, drawn by the exponential mechanism, at {}",
      segment.rounds, features, release.records_drawn, block_of(release), releases::plural_of(release.ask.unit()),
      mean_of_each(release), which, release.ask.candidate_count(), epsilon_each(release));
}

/// The noise is one silo's: of a count in records, of a mean in the column's unit.
std::string describe_statistic(const planning::Plan::Segment& segment, const releases::StatisticMap& statistic,
                               const data::Schema& schema) {
  const planning::Release& release = segment.release;
  const auto& range = std::get<releases::RangeBound>(release.ask.bound);
  const double per_mean = release.noise_stddev_of_mean();
  std::string columns;
  for (const std::size_t coordinate : statistic.coordinates) {
    const EncodedColumn column = encoded_column(schema, coordinate);
    if (!columns.empty()) columns += ", ";
    if (statistic.indicators) {
      columns += fmt::format("the count of {} (+- {:.4g} records)", column.name,
                             per_mean * static_cast<double>(release.records_drawn));
    } else {
      columns += fmt::format("the mean of {} (+- {:.4g}; each value cut to {:.6g} .. {:.6g})", column.name,
                             per_mean * column.half_range(), column.value_of(range.low), column.value_of(range.high));
    }
  }
  return fmt::format(
      "{} times {} over {} {} records{}, with discrete Laplace noise of the standard deviation in brackets, at {}",
      segment.rounds, columns, release.records_drawn, block_of(release), drawn_of(release), epsilon_each(release));
}

/// What records report on.
std::string describe_reported(const releases::Ask& ask, const data::Schema& schema) {
  if (const auto* features = std::get_if<releases::FeaturesMap>(&ask.map))
    return fmt::format("{} numbers: what adds up to {}", ask.dimension, describe_features(features->features, schema));
  const auto& statistic = std::get<releases::StatisticMap>(ask.map);
  const auto& range = std::get<releases::RangeBound>(ask.bound);
  std::string columns;
  for (const std::size_t coordinate : statistic.coordinates) {
    const EncodedColumn column = encoded_column(schema, coordinate);
    if (!columns.empty()) columns += ", ";
    columns += statistic.indicators ? column.name
                                    : fmt::format("{} (each value cut to {:.6g} .. {:.6g})", column.name,
                                                  column.value_of(range.low), column.value_of(range.high));
  }
  return columns;
}

std::string describe_randomiser(const mechanisms::LocalReports& reports) {
  return std::visit(
      Overloaded{
          [](const mechanisms::OneBit& bit) {
            return fmt::format("one randomised bit, {:.4g} likelier to be 1 at one end of the range than at the other,",
                               bit.contrast());
          },
          [](const mechanisms::LaplaceSum& /*noise*/) {
            return std::string("its number with discrete Laplace noise of its own,");
          },
          [](const mechanisms::StringBit& /*bit*/) {
            return std::string("one randomised bit that compares its number with a public one,");
          },
          [](const mechanisms::StringIndex& /*index*/) {
            return fmt::format("which of {} public numbers was drawn for its own,", mechanisms::StringIndex::kStrings);
          },
          [](const mechanisms::PrivUnit& direction) {
            return fmt::format("a {} that is near its own with chance {:.4g} and far from it else,",
                               direction.law() == mechanisms::PrivUnit::Law::Sphere ? "direction" : "Gaussian vector",
                               direction.in_cap());
          },
          [](const mechanisms::VectorNoise& noise) {
            return fmt::format(
                "{} with Gaussian noise of standard deviation {:.4g} on each number, of a length cut to "
                "1,",
                noise.copies() == 1 ? std::string("its vector")
                                    : fmt::format("{} copies of its vector, each", noise.copies()),
                noise.stddev());
          }},
      reports.randomiser);
}

std::string describe_reports(const planning::Plan::Segment& segment, const mechanisms::LocalReports& reports,
                             const data::Schema& schema) {
  const planning::Release& release = segment.release;
  const std::string columns = describe_reported(release.ask, schema) + mean_of_each(release);
  const releases::Unit unit = release.ask.unit();
  return fmt::format(
      "{} times a report of each of {} {} {} by itself, in a secret order: {} about {}{}, at {} for each {}, "
      "against whoever sees reports, the copy in your ledger included",
      segment.rounds, release.records_drawn, block_of(release), releases::plural_of(unit), describe_randomiser(reports),
      release.ask.dimension > 1 && !releases::of_vectors(reports.kind()) ? "one alone, drawn in secret, of " : "",
      columns,
      reports.kind() == releases::Randomiser::Gaussian
          ? fmt::format("mu {:.4g}", std::sqrt(reports.cost().gaussian.value_rounded_up()))
          : epsilon_each(release),
      releases::noun_of(unit));
}

/// "norm 2", "l_inf norm 2".
std::string clip_phrase(const releases::Ask& ask) {
  if (const auto* influence = std::get_if<releases::InfluenceBound>(&ask.bound))
    return fmt::format("norm {:.4g}, {}", influence->l2().value(), releases::described(*influence));
  const auto* dual = std::get_if<releases::DualBound>(&ask.bound);
  return dual == nullptr ? fmt::format("norm {:.4g}", ask.clip().value())
                         : fmt::format("{} norm {:.4g}", releases::norm_name(dual->exponent()), dual->clip().value());
}

/// This describes reports that the silo adds up before anything leaves.
std::string describe_summed_reports(const planning::Plan::Segment& segment, const mechanisms::DirectionSum& sum) {
  const planning::Release& release = segment.release;
  const std::string_view unit = releases::noun_of(release.ask.unit());
  const mechanisms::PrivUnit& direction = sum.direction();
  const bool scaled = direction.adapter() == releases::UnitAdapter::Normalise;
  return fmt::format(
      "{} times the mean of reports, one of each of {} {} {}{}, which your silo adds up. A {}'s gradient is {} {}. Its "
      "report is a {}, which is near the gradient's own with chance {:.4g} at most, and is at epsilon {:.6g} for the "
      "{}. "
      "The mean's error has a standard deviation of at most {:.4g} on each of {} numbers{}",
      segment.rounds, release.records_drawn, block_of(release), releases::plural_of(release.ask.unit()),
      drawn_of(release), unit, scaled ? "scaled to" : "clipped to", clip_phrase(release.ask),
      direction.law() == mechanisms::PrivUnit::Law::Sphere ? "direction" : "Gaussian vector", direction.in_cap(),
      release.cost().pure.value_rounded_up(), unit, release.noise_stddev_of_mean(), release.ask.dimension,
      scaled ? ", as an estimate of the scaled gradients' mean" : "");
}

std::string describe_segment(const planning::Plan::Segment& segment, const data::Schema& schema);

/// This counts the second block of an answer with public records.
std::string describe_beside(const planning::Plan::Segment& segment, const data::Schema& schema) {
  planning::Plan::Segment alone = segment;
  alone.release.ask.beside_public = false;
  const std::string what = describe_segment(alone, schema);
  if (segment.release.public_records == 0) return what + "; beside it nothing, since this silo has no public records";
  return what +
         fmt::format("; beside it {} over {} records that their owner declared public, exactly",
                     segment.release.ask.summed_reports() != nullptr ? "the mean of clipped gradients" : "the same",
                     segment.release.public_records);
}

std::string describe_segment(const planning::Plan::Segment& segment, const data::Schema& schema) {
  const planning::Release& release = segment.release;
  if (release.ask.beside_public) return describe_beside(segment, schema);
  if (release.ask.path() != nullptr) return describe_path(segment);
  if (const auto* objective = std::get_if<mechanisms::PerturbedObjective>(&release.mechanism))
    return describe_minimiser(segment, *objective);
  if (const auto* choices = std::get_if<releases::LocalChoicesMap>(&release.ask.map))
    return describe_choices(segment, *choices);
  if (const geometry::Vertices* candidates = release.ask.candidates()) return describe_selection(segment, *candidates);
  if (release.ask.selects()) return describe_choice(segment, schema);
  if (const auto* reports = std::get_if<mechanisms::LocalReports>(&release.mechanism))
    return describe_reports(segment, *reports, schema);
  if (const auto* sum = std::get_if<mechanisms::DirectionSum>(&release.mechanism))
    return describe_summed_reports(segment, *sum);
  if (const auto* statistic = std::get_if<releases::StatisticMap>(&release.ask.map))
    return describe_statistic(segment, *statistic, schema);
  if (const auto* map = std::get_if<releases::FeaturesMap>(&release.ask.map)) {
    const bool laplace = std::holds_alternative<mechanisms::LaplaceLattice>(release.mechanism);
    const double stddev = release.noise_stddev_of_mean() * static_cast<double>(release.records_drawn);
    const std::string_view units = releases::plural_of(release.ask.unit());
    return fmt::format(
        "{} times {} over {} {} {}{}, with {} noise of standard deviation {:.4g} on each of {} totals{}{}",
        segment.rounds, describe_totals(release, schema), release.records_drawn, block_of(release), units,
        mean_of_each(release), laplace ? "discrete Laplace" : "Gaussian", stddev, release.ask.dimension,
        statistics::counts(map->features) ? fmt::format(", in {}", units)
                                          : std::string(", of numbers that are scaled to [-1, 1] and cut to it"),
        laplace ? ", at " + epsilon_each(release) : "");
  }
  if (const auto* scores = std::get_if<releases::ScoreMomentsMap>(&release.ask.map))
    return fmt::format(
        "{} times {} over {} {} records, each record's numbers at most {:.4g} from any other's, with Gaussian noise of "
        "standard deviation {:.4g} on each of {} totals",
        segment.rounds, means_of(release.ask.kind()), release.records_drawn, block_of(release),
        statistics::score_distance(scores->terms.link),
        release.noise_stddev_of_mean() * static_cast<double>(release.records_drawn), release.ask.dimension);
  const double stddev = release.noise_stddev_of_answer();
  const bool summed = std::holds_alternative<mechanisms::BinomialSum>(release.mechanism);
  const bool laplace = std::holds_alternative<mechanisms::LaplaceLattice>(release.mechanism);
  const auto* generalised = std::get_if<mechanisms::GeneralisedGaussianLattice>(&release.mechanism);
  const std::string law = laplace ? std::string("discrete Laplace ")
                          : generalised != nullptr
                              ? fmt::format("generalised Gaussian (l_{:.4g}) ", generalised->noise.norm())
                              : std::string();
  const std::string at = laplace ? ", at " + epsilon_each(release)
                         : generalised != nullptr
                             ? fmt::format(", at rho {:.6g} each", release.cost().concentrated.value_rounded_up())
                             : std::string();
  const char* block = block_of(release);
  // Data sets are counted in records where of each its group alone is protected.
  const bool of_persons = release.ask.unit() == releases::Unit::Person;
  const std::string_view units = of_persons ? "persons" : "records";
  const std::string of_each = release.records_drawn == 1
                                  ? fmt::format("one {} {}", block, of_persons ? "person" : "record")
                                  : fmt::format("{} {} {}", release.records_drawn, block, units);
  std::string what = release.ask.local()
                         ? fmt::format("{} times {}, {} steps of {} each", segment.rounds, means_of(release.ask.kind()),
                                       release.draws(), of_each)
                         : fmt::format("{} times {} over {} {} {}", segment.rounds, means_of(release.ask.kind()),
                                       release.records_drawn, block, units);
  if (const std::uint32_t groups = release.ask.groups(); groups > 1)
    what += fmt::format(", one mean for each of {} groups of {} {} or one more", groups,
                        release.records_drawn / static_cast<std::int64_t>(groups), units);
  what += drawn_of(release);
  if (release.is_public()) return what + fmt::format(", exactly: their owner declared these {} public", units);
  const std::string noise =
      fmt::format("with {}noise of standard deviation {:.4g} on each of {} numbers{}{}", law, stddev,
                  release.answer_size(), summed ? " before other silos' noise is added" : "",
                  release.ask.smoothness() ? at + "; both are less, in proportion, where the two points are near"
                  : release.ask.local()    ? std::string(" of every step")
                                           : at);
  const std::optional<releases::PersonContribution>& persons = release.ask.records.persons;
  if (const std::int64_t parts = releases::parts_of_unit(release.ask); parts > 1)
    return what +
           fmt::format(
               ", each person as the sum over {} of her records at most, drawn afresh and in secret, each clipped "
               "to {} and divided by {}, {}",
               parts, clip_phrase(release.ask), parts, noise);
  if (persons)
    return what +
           fmt::format(
               ", each person as the mean over {} of her records at most, drawn afresh and in secret, {} to {}, {}",
               persons->records_max,
               persons->form == releases::PersonContribution::Form::MeanOfClipped ? "each clipped" : "clipped once",
               clip_phrase(release.ask), noise);
  if (release.ask.unit() == releases::Unit::SensitiveAttribute &&
      release.ask.kind() == releases::QuestionKind::FairGradient)
    return what + fmt::format(", what its group adds to each record clipped to {}, and the rest of it not, {}",
                              clip_phrase(release.ask), noise);
  return what + fmt::format(", each record clipped to {}, {}", clip_phrase(release.ask), noise);
}

/// Whether a line of one says all that a line of the other does of what is asked, drawing aside.
bool reads_alike(const releases::Ask& one, const releases::Ask& other) {
  if (releases::canonical_text(one.bound) != releases::canonical_text(other.bound)) return false;
  if (one.kind() != other.kind()) return false;
  if (one.selects() != other.selects()) return false;
  if (one.selects() && one.candidate_count() != other.candidate_count()) return false;
  if (one.map.index() != other.map.index()) return false;
  if (one.reports() != nullptr || other.reports() != nullptr) return false;  // each has a line of its own
  if (std::holds_alternative<releases::FeaturesMap>(one.map)) return false;  // each has a line of its own
  const auto* statistic = std::get_if<releases::StatisticMap>(&one.map);
  if (statistic == nullptr) return true;
  const auto& same = std::get<releases::StatisticMap>(other.map);
  return statistic->coordinates == same.coordinates && statistic->indicators == same.indicators;
}

/// Neighbouring segments of one shape are one line to a reader.
std::vector<planning::Plan::Segment> merged(const planning::Plan& plan) {
  std::vector<planning::Plan::Segment> out;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const auto same = [&segment](const planning::Plan::Segment& other) {
      if (segment.release.ask.path() != nullptr && other.release.ask.path() != nullptr)
        return reads_alike(other.release.ask, segment.release.ask);
      return reads_alike(other.release.ask, segment.release.ask) &&
             other.release.ask.records.block == segment.release.ask.records.block &&
             other.release.ask.records.with_replacement == segment.release.ask.records.with_replacement &&
             other.release.records_drawn == segment.release.records_drawn &&
             other.release.rows == segment.release.rows && other.release.draws() == segment.release.draws() &&
             other.release.cost() == segment.release.cost();
    };
    const auto known = std::find_if(out.begin(), out.end(), same);
    if (known == out.end()) {
      out.push_back(segment);
    } else {
      const std::uint64_t rounds = known->rounds + segment.rounds;
      // Of selections along paths, which may cost different things, the dearest is shown.
      if (!segment.release.cost().fits(known->release.cost())) *known = segment;
      known->rounds = rounds;
    }
  }
  return out;
}

std::string describe_start(const jobs::Initial& initial) {
  std::string out = fmt::format("  It starts from {}.\n", jobs::to_string(initial));
  if (initial.kind == jobs::Initial::Kind::Weights)
    out += "  What those weights tell of the data that they were learnt from, no promise of this run covers.\n";
  return out;
}

/// Whether the promise rests on a shuffler: reports that gain nothing from mixing keep it by the silo's own noise.
bool owes_shuffler(const jobs::Job& job, const planning::Plan& plan) {
  return job.shuffle && (job.shuffle->form != jobs::Shuffle::Form::Reports || plan.credit());
}

std::string against_of(const jobs::Job& job, const planning::Plan& plan) {
  if (!owes_shuffler(job, plan)) return "everybody outside the silo";
  return "everybody outside the silo, as long as what stands below holds";
}

std::string describe_secret_parts(const planning::Plan& plan) {
  const bool bins = plan.parts_credit()->assignment == releases::Slice::Assignment::Bins;
  const std::optional<double> told = plan.epsilon_of_known_draws();
  const std::string_view unit = releases::noun_of(plan.segments().front().release.ask.unit());
  return fmt::format(
      "  It rests on this silo: nobody outside may ever learn in which part of the pass {},\n"
      "  so neither this program's memory during the run nor the ledger's key, from which that follows, nor how long\n"
      "  an answer took to the millisecond. If they do, what remains is {}.\n",
      bins ? fmt::format("a {} was, nor how many a part had", unit)
           : fmt::format("{}s were, one of them or all others", unit),
      told ? fmt::format("epsilon {:.4g} at the same delta", *told) : "nothing that can be promised");
}

std::string describe_trust(const jobs::Job& job, const planning::Plan& plan) {
  const jobs::Shuffle& shuffle = *job.shuffle;
  std::string names;
  for (const jobs::Shuffle::Party& party : shuffle.shufflers) names += (names.empty() ? "" : " and ") + party.name;
  std::string out = fmt::format(
      "  It rests on others: {} {} not work with the coordinator{}; of the job's {} silos at most {} do, or leave out\n"
      "  their noise; and certificates name whom they say. If that fails, what remains is ",
      names, shuffle.shufflers.size() == 1 ? "does" : "do", shuffle.shufflers.size() == 1 ? "" : " nor with each other",
      job.cohort.size(), job.participation.quorum - shuffle.honest_min);
  const std::optional<double> alone = plan.epsilon_without_shuffler();
  out += alone && *alone <= 30.0 ? fmt::format("epsilon {:.4g} at the same delta.\n", *alone)
                                 : "nothing that can be promised.\n";
  return out;
}

}  // namespace

bool names_its_noise(const planning::Plan& plan) {
  return std::any_of(plan.segments().begin(), plan.segments().end(), [](const planning::Plan::Segment& segment) {
    return segment.release.ask.shift.has_value() || segment.release.ask.epsilon.has_value();
  });
}

std::string describe_job(const RunId& run, const SiloMachine::Accepted& considered, const SiloId& silo,
                         const std::string& dataset, const Budget& reserved, const Budget& budget,
                         const silo::GaussianFilter* filter) {
  const jobs::Job& job = considered.job;
  const planning::Plan& plan = considered.plan;
  const jobs::CohortMember& member = *job.member(silo);
  const double epsilon = plan.epsilon().value_rounded_up();
  const double delta = plan.delta().value_rounded_up();
  std::string text = fmt::format("Job \"{}\", run {}\n", job.name, run.hex().substr(64, 32));
  if (job.model) {
    text += fmt::format("  It trains a {} model of {} numbers with {} silos, by {}, on the data set \"{}\".\n",
                        job.model->name(), job.model->dimension(), job.cohort.size(), job.algorithm->name(), dataset);
  } else {
    text += fmt::format("  It trains nothing: it asks {} silos for {}, of the data set \"{}\".\n", job.cohort.size(),
                        job.algorithm->name(), dataset);
  }
  if (job.projection) {
    text += fmt::format("  The model reads {} numbers of each record, which the job computes from its features.\n",
                        job.projection->directions.cols());
  }
  if (job.initial) text += describe_start(*job.initial);
  if (job.public_terms && job.public_terms->file)
    text += fmt::format(
        "  It learns from {} public records besides, which stay with the coordinator{}. They\n  change at which points "
        "this "
        "silo is asked, and nothing of its clip, noise, number of answers or promise.\n  No promise of this run covers "
        "them (\"{}\", SHA-256\n  {}).\n",
        job.public_terms->file->records, job.public_terms->warm_start ? ", and the run starts at their model" : "",
        job.public_terms->file->name, to_hex(job.public_terms->file->sha256));
  if (job.moments) text += fmt::format("  Gradients are clipped to {}.\n", jobs::described(*job.moments));
  text += fmt::format("  This silo would send {} answers about its records:\n", plan.rounds());
  for (const planning::Plan::Segment& segment : merged(plan))
    text += "    - " + describe_segment(segment, job.schema) + "\n";
  if (names_its_noise(plan))
    text +=
        "  The noise was chosen by the job, not as the least that keeps a promise; what follows is what it costs.\n";
  for (const releases::Block block : releases::kProtectedBlocks) {
    // (0, delta)-DP is a promise that a record may be shown with probability delta.
    if (epsilon > 0.0 || plan.cost(block).is_zero()) continue;
    text +=
        fmt::format("  Epsilon is 0: {} that is drawn may be as good as published, and delta is the chance of that.\n",
                    job.person ? "all that is read of a person" : "a record");
  }
  if (const std::string bare = planning::delta_warning(plan); !bare.empty()) text += "  WARNING: " + bare + ".\n";
  double products = 0.0;  // of the dearest answer
  for (const planning::Plan::Segment& segment : plan.segments())
    products = std::max(products, planning::products_of_answer(segment.release, data::encoded_width(job.schema)));
  text += fmt::format("  The dearest answer takes about {:.2g} s of a processor.\n",
                      std::max(products / planning::kProductsASecond, 1e-3));
  text += "  Besides: that it takes part, when each answer leaves, and the head of its ledger.\n";
  const bool persons = job.unit == releases::Unit::Person;
  text += fmt::format("  Public in any case: that there are {} training and {} holdout {}{}.\n", member.facts.records,
                      member.facts.holdout_records, persons ? "persons" : "records",
                      persons ? "; how many records they have is not" : "");
  // Two equally likely records: (1 + TV) / 2 with TV <= (e^epsilon - 1 + 2 delta) / (e^epsilon + 1).
  const std::string_view unit = releases::noun_of(job.unit);
  const double right = (1.0 + delta * std::exp(-epsilon)) / (1.0 + std::exp(-epsilon));
  text += fmt::format(
      "  What that promises: for everything this run could send together, epsilon {:.6g} and delta {:.3g} for each "
      "protected {},\n"
      "  against {}. Whoever knows all other {}s and must guess which of two possible "
      "{}s is in\n"
      "  the data, each equally likely beforehand, is right in at most {:.1f} % of cases; 50 % would be pure chance.\n",
      epsilon, delta, persons ? "person with all of her records" : releases::noun_of(job.unit), against_of(job, plan),
      unit, unit, std::ceil(1000.0 * right) / 10.0);
  if (job.unit == releases::Unit::SensitiveAttribute)
    text +=
        "  NOT protected: features and labels. Only which group a record is in is, and whatever its features tell of "
        "the "
        "group\n  is told.\n";
  if (persons)
    text +=
        "  It rests on the ledger's key, which keeps secret where a person stands. It does not cover a person under "
        "two "
        "ids nor people whose records tell of each other.\n" +
        fmt::format("  What other silos say of her comes on top: {}.\n",
                    jobs::describe(job, jobs::joint_promise_of(job)));
  if (owes_shuffler(job, plan)) text += describe_trust(job, plan);
  if (plan.parts_credit()) text += describe_secret_parts(plan);
  if (filter != nullptr) {
    const auto rho = [](releases::ShiftSquaredAmount cost) { return cost.value_rounded_up() / 2.0; };
    const auto left = [](releases::ShiftSquaredAmount limit) { return limit.value_rounded_down() / 2.0; };
    const releases::Cost& training = plan.cost(releases::Block::Training);
    const releases::Cost& holdout = plan.cost(releases::Block::Holdout);
    if (!training.is_gaussian() || !holdout.is_gaussian()) {
      text += "  The data set's filter counts Gaussian noise alone: nothing of this job can be charged to it.\n";
      return text;
    }
    text += fmt::format(
        "  Cost: rho {:.6g} of the training and {:.6g} of the holdout records, if all of it is released; the data "
        "set's filter\n"
        "  has {:.6g} and {:.6g} left. Each answer is charged when it leaves; what is not asked costs nothing.\n",
        rho(training.gaussian), rho(holdout.gaussian), left(filter->left(releases::Block::Training)),
        left(filter->left(releases::Block::Holdout)));
    if (plan.reads_parts(releases::Block::Training) || plan.reads_parts(releases::Block::Holdout))
      text +=
          "  The filter counts every answer as though it had read all records: reading a part saves nothing there.\n";
    return text;
  }
  text += fmt::format(
      "  Cost: epsilon {:.6g} of {:.6g} and delta {:.3g} of {:.3g} that the policy grants the data set in all; {:.6g} "
      "and "
      "{:.3g} are reserved already.\n",
      epsilon, budget.epsilon.value_rounded_up(), delta, budget.delta.value_rounded_up(),
      reserved.epsilon.value_rounded_up(), reserved.delta.value_rounded_up());
  text += "  The whole cost is charged when the job is accepted; nothing comes back once a reply has left.\n";
  return text;
}

}  // namespace undertone::silo
