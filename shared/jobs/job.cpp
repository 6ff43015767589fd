#include "shared/jobs/job.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "shared/algorithms/table.hpp"
#include "shared/algorithms/with_evaluation.hpp"
#include "shared/base/contained.hpp"
#include "shared/jobs/aggregation_section.hpp"
#include "shared/jobs/algorithm_section.hpp"
#include "shared/jobs/cohort_section.hpp"
#include "shared/jobs/evaluation_section.hpp"
#include "shared/jobs/initial_section.hpp"
#include "shared/jobs/job_checks.hpp"
#include "shared/jobs/job_defaults.hpp"
#include "shared/jobs/model_section.hpp"
#include "shared/jobs/moment_clip.hpp"
#include "shared/jobs/participation_section.hpp"
#include "shared/jobs/privacy_section.hpp"
#include "shared/jobs/projection_section.hpp"
#include "shared/jobs/schema_section.hpp"
#include "shared/jobs/statistics_job.hpp"
#include "shared/jobs/statistics_section.hpp"
#include "shared/jobs/theorem_context.hpp"
#include "shared/jobs/wire_section.hpp"

namespace undertone::jobs {
namespace {

/// Without chosen noise.
algorithms::GradientShape gradients_of(const JobTerms& job) {
  algorithms::GradientShape shape{job.bound, job.draw_fraction};
  shape.with_replacement = job.with_replacement;
  shape.parts = job.parts;
  shape.noise_norm = job.noise_norm;
  shape.beside_public = job.public_terms && job.public_terms->at_silos;
  return shape;
}

planning::Schedule schedule_with(const Job& job, const algorithms::GradientShape& shape) {
  planning::Schedule out = job.algorithm->schedule(shape);
  if (is_evaluated(job)) out = algorithms::WithEvaluation::schedule(out, *job.model, job.evaluation_every);
  for (planning::ScheduledRounds& part : out) {
    // A question of statistics says itself how a person contributes to it.
    if (!part.ask.records.persons) part.ask.records.persons = job.person;
    part.ask.records.attribute_alone = job.unit == releases::Unit::SensitiveAttribute;
    if (job.one_record_evaluated && part.ask.kind() == releases::QuestionKind::Metrics)
      part.ask.records.persons->records_max = 1;
  }
  return out;
}

}  // namespace

const CohortMember* JobTerms::member(const SiloId& silo) const {
  const auto found =
      std::lower_bound(cohort.begin(), cohort.end(), silo,
                       [](const CohortMember& member, const SiloId& id) { return member.facts.silo < id; });
  return found == cohort.end() || found->facts.silo != silo ? nullptr : &*found;
}

const releases::ClipNorm& JobTerms::clip() const {
  const releases::ClipNorm* clip = releases::l2_clip_of(bound);
  UNDERTONE_CHECK(clip != nullptr);
  return *clip;
}

Result<ReadJob> read_job(std::string_view bytes, const std::string& file) {
  if (bytes.size() > kJobBytesMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{}: {} bytes, a job has at most {}", file, bytes.size(), kJobBytesMax)};
  }
  // Whoever reads it, a shuffler's only thread among them, goes on whatever a text finds in the parser.
  return contained("reading the job", [&]() -> Result<ReadJob> {
    UNDERTONE_TRY(const config::JsonDocument document, config::parse_json(bytes, file));
    config::Problems problems(file);
    return read_job(document.root, problems);
  });
}

Result<Job> parse_job(std::string_view bytes, const std::string& file) {
  UNDERTONE_TRY(ReadJob read, read_job(bytes, file));
  return std::move(read).settle();
}

Result<std::string> full_job(std::string_view bytes, const std::string& file) {
  UNDERTONE_TRY(const config::JsonDocument document, config::parse_json(bytes, file, kJobBytesMax));
  config::Problems problems(file);
  UNDERTONE_TRY(ReadJob read, read_job(document.root, problems));
  if (const Result<Job> job = std::move(read).settle(); !job) return job.error();
  // Again, in the order of the file: it was parsed before.
  return problems.completed(nlohmann::ordered_json::parse(bytes)).dump(2) + "\n";
}

Result<ReadJob> read_job(const nlohmann::json& document, config::Problems& problems) {
  // As it is drafted: everything that reads it would be wrong, too.
  if (document.is_object() && document.contains("standardisation") && document.at("standardisation").is_null()) {
    problems.add("/standardisation",
                 "this job waits for one: run the job of statistics that was drafted with it, then \"undertone "
                 "standardisation RESULT JOB --job READY.json\"");
    return problems.error();
  }
  config::Section root(document, "", problems);
  (void)root.choice<int>("format", {{"undertone.job/1", 1}}, "what this file is");

  root.otherwise("name", "unnamed");
  std::string name = root.text("name", "for people (default \"unnamed\")");
  data::Schema schema =
      parse_schema(root.object("data", "what every silo's file holds: public, fixed without looking at records"));

  if (root.has("statistics")) {
    if (!root.recording()) return read_statistics_job(root, std::move(name), std::move(schema), problems);
    (void)parse_statistics(root.object("statistics",
                                       "instead of model, algorithm, domain, regulariser, evaluation and wire: "
                                       "statistics of the silos' training records, each asked for once"),
                           schema);
  }
  std::optional<data::Projection> projection;
  if (root.has("projection")) {
    projection = parse_projection(
        root.object("projection",
                    "public: what the model reads instead of the features, as undertone components has it"),
        data::encoded_width(schema));
  }
  const bool standardised = root.has("standardisation");
  if (standardised) {
    data::Projection scaled = parse_standardisation(
        root.object(
            "standardisation",
            "public: the encoded features less an origin, over a scale, as undertone standardisation makes it of "
            "a job of statistics"),
        data::encoded_width(schema));
    if (projection && !root.recording()) {
      root.problem("standardisation", "expected none beside a projection, which may hold it");
    } else if (!root.recording()) {
      projection = std::move(scaled);
    }
  }
  const auto features =
      projection ? projection->directions.cols() : static_cast<Eigen::Index>(data::encoded_width(schema));
  ModelChoice choice = parse_model(root.object("model"), schema, features);
  const models::Model& model = choice.model;

  const auto asked_of = document.find("algorithm");
  const bool unconstrained = asked_of != document.end() && asked_of->is_object() && asked_of->contains("kind") &&
                             (*asked_of)["kind"].is_string() &&
                             algorithms::is_unconstrained((*asked_of)["kind"].get_ref<const std::string&>());
  root.otherwise("domain", default_domain(model, unconstrained));
  geometry::Domain domain = parse_domain(
      root.object("domain", "default: a ball of radius 10; of moments, networks and fisher_scoring the whole space"));
  if (Status fits = domain.fits(model.dimension()); !fits && model.dimension() > 0) {
    problems.add("/domain", fits.error().message);
    domain = geometry::Domain::whole_space();
  }
  root.otherwise("regulariser", default_regulariser(model, unconstrained));
  const geometry::Regulariser regulariser = parse_regulariser(
      root.object("regulariser", "default: l2 of strength 0.001; of moments, networks and fisher_scoring none"),
      model.regularised());

  const Wire wire = parse_wire(root);

  algorithms::Problem problem{model.dimension(), domain, regulariser, wire.points};
  problem.groups = static_cast<std::uint32_t>(data::group_count(schema));
  problem.classes = static_cast<std::uint32_t>(data::class_count(schema));
  problem.covariates = covariates_of(schema);
  problem.numbers = numbers_of(schema);
  if (model.linear() != nullptr && model.linear()->loss() == models::Loss::Poisson) {
    problem.link = statistics::ScoreLink::Log;
  } else if (model.linear() != nullptr && model.linear()->loss() == models::Loss::Logistic) {
    problem.link = statistics::ScoreLink::Logistic;
  }
  problem.features = features;
  if (!model.is_convex() && problems.none()) problem.start_near(model.start(choice.seed));
  std::optional<Initial> initial;
  if (root.has("initial")) {
    initial = parse_initial(
        root.object("initial", "public: where the run starts (default: zero, and of a network its seed's weights)"),
        model, problems, problem);
  }
  std::optional<PublicTerms> public_terms;
  if (root.has("public"))
    public_terms = parse_public(root.object("public",
                                            "records that need no protection and better each step: a file that stays "
                                            "with the coordinator, records that silos' "
                                            "owners declared public, or both (default: none)"));
  Privacy privacy = parse_privacy(root.object("privacy"), false);
  const bool shuffled = privacy.shuffled;
  const NoiseChoice& noise_choice = privacy.noise_choice;
  std::optional<Shuffle>& shuffle = privacy.shuffle;

  ParsedCohort parsed_cohort = parse_cohort(root, privacy.unit);
  std::vector<CohortMember>& cohort = parsed_cohort.members;
  problem.silos = static_cast<std::uint32_t>(cohort.size());
  problem.attribute_alone = privacy.unit == releases::Unit::SensitiveAttribute;
  problem.record_norm = record_norm(model, schema);
  problem.clip = privacy.clip_norm.value_or(problem.clip);
  const std::optional<double>& bounded = privacy.clip_norm ? privacy.clip_norm : privacy.coordinate_bound;
  const std::optional<Moments>& moments = privacy.moments;
  theorems::TheoremFacts theorem_facts =
      facts_of(cohort, problem, moments ? 1.0 : bounded.value_or(kBoundMax), shuffle);
  if (moments) theorem_facts.moment = moments->bound;
  if (moments) theorem_facts.coordinates = moments->coordinates;
  TheoremContext context = context_of(std::move(theorem_facts),
                                      noise_choice.by == NoiseChoice::By::Theorem ? theorems::PlannedNoise::Printed
                                                                                  : theorems::PlannedNoise::Accountant,
                                      choice.model, schema, projection.has_value());
  if (const std::optional<std::string> other = other_target(cohort))
    context.refusal = fmt::format("theorems are of an epsilon and a delta above 0, and {}", *other);
  else if (const std::optional<std::string> unreadable = unreadable_promises(cohort))
    context.refusal = *unreadable;
  context.by_coordinate = !privacy.clip_norm && !moments;
  if (!bounded && !moments)
    context.refusal =
        "theorems are of gradients that are clipped: expected privacy.clip_norm, or privacy.coordinate_bound where the "
        "theorem's silos select";
  if (const nlohmann::json named = default_algorithm(model); !named.is_null()) root.otherwise("algorithm", named);
  AlgorithmChoice algorithm = parse_algorithm(
      root.object(
          "algorithm",
          "default: noisy_minibatch_sgd of 50 rounds, whole batches, steps of 1 that fall as a cosine, the last "
          "iterate; of moments their one step; of networks none"),
      problem, context);
  std::optional<releases::Bound> bound;
  std::optional<double> noise_norm;
  std::optional<MomentClip> moment_clip;
  const bool coordinates = moments && moments->coordinates;
  if (coordinates && model.linear() == nullptr)
    problems.add("/privacy/moments/of",
                 "expected \"norm\", or a linear model: gradients of others are not cut coordinate by coordinate");
  if (coordinates && public_terms && public_terms->at_silos)
    problems.add("/privacy/moments/of",
                 "expected \"norm\" beside public records of silos, whose gradients are clipped in l2");
  if (moments && algorithm.method) {
    privacy.clip_norm = 1.0;  // of a job with problems any clip serves, so that only these are said
    if (problems.none()) {
      Result<MomentClip> clip = clip_by_moments(
          *moments, {&*algorithm.method, algorithm.theorem ? &*algorithm.theorem : nullptr, &cohort,
                     algorithm.draw_fraction, algorithm.parts != releases::Slice::Assignment::Permutation,
                     noise_choice.by != NoiseChoice::By::Accountant, shuffle ? &*shuffle : nullptr});
      if (!clip) problems.add("/privacy/moments", clip.error().message);
      if (clip) privacy.clip_norm = clip->clip;
      if (clip) moment_clip = *std::move(clip);
    }
  }
  if (algorithm.method) {
    bound = bound_of(privacy, *algorithm.method, problems);
    noise_norm = noise_norm_of(privacy, *algorithm.method, problems);
    check_calibration(noise_choice, *algorithm.method, cohort, problems);
    check_weights(parsed_cohort.weights, *algorithm.method, problems);
  } else if (!bounded && !moments) {
    problems.add("/privacy/clip_norm",
                 fmt::format("missing, expected a finite number from {} to {}", kBoundMin, kBoundMax));
  }
  if (algorithm.theorem && algorithm.theorem->envelope)
    choice.model = smoothed(*choice.model.linear(), *algorithm.theorem->envelope);
  const bool of_persons = privacy.unit == releases::Unit::Person && privacy.person;
  if (algorithm.method) check_model(algorithm, model, of_persons ? privacy.person->records_max : 1, problems);
  if (algorithm.method && !(*algorithm.method)->traits().evaluated &&
      std::any_of(cohort.begin(), cohort.end(), [](const CohortMember& one) { return one.facts.holdout_records > 0; }))
    problems.add("/algorithm/exposure",
                 "expected silos that hold no records out: an evaluation would take every record's exposure for the "
                 "largest, so that nothing is evaluated");
  if (algorithm.method && privacy.unit == releases::Unit::Person)
    check_persons(*algorithm.method, model,
                  {*privacy.person, *bound, shuffled, algorithm.theorem.has_value(), projection.has_value()}, problems);
  if (algorithm.method && (*algorithm.method)->traits().centred && !privacy.clip_norm)
    problems.add("/privacy/clip_norm",
                 fmt::format("missing: {} has scales that follow from it", (*algorithm.method)->name()));
  if (algorithm.method && privacy.unit == releases::Unit::SensitiveAttribute)
    check_attribute_alone(algorithm, schema, shuffled, problems);
  if (algorithm.method && projection &&
      (*algorithm.method)->traits().bounded_in == algorithms::MethodTraits::BoundedIn::ItsMap)
    problems.add("/projection", fmt::format("expected none: the coefficients of {} are of the data's own columns",
                                            (*algorithm.method)->name()));
  if (algorithm.method && problems.none()) check_parts(algorithm, model, shuffled, cohort, problems);
  if (algorithm.method && !projection) check_smoothness((*algorithm.method)->traits(), model, schema, problems);
  if (model.moments() != nullptr && problems.none()) check_moments(*algorithm.method, problem, problems);

  const Participation participation = parse_participation(root, cohort, problems);
  if (shuffle && problems.none())
    check_shuffled(*shuffle,
                   {*algorithm.method, algorithm.with_replacement, noise_choice, cohort, participation.quorum},
                   problems);
  if (shuffled && participation.grace.count() > 0)
    problems.add("/participation/grace_ms", "expected 0: a shuffler waits for its batch, whoever is connected");
  AskedAggregation asked;
  if (root.has("aggregation"))
    asked = parse_aggregation(root.object("aggregation", "what the coordinator makes of a round's answers"));
  folds::Aggregation& aggregation = asked.aggregation;
  if (is_scaled(asked, algorithm, model, problems)) aggregation.scaled_to = whole_cohort(cohort);
  check_robust(aggregation, algorithm, model, shuffled, coordinates ? moments->coordinates->groups : 1, cohort.size(),
               problems);
  if (algorithm.method && (*algorithm.method)->traits().public_records_alone && !public_terms)
    problems.add("/algorithm/kind",
                 fmt::format("{} is the model of a job's public records: expected a \"public\" with a file",
                             (*algorithm.method)->name()));
  if (algorithm.method && (*algorithm.method)->traits().needs_public_records && !public_terms)
    problems.add("/algorithm/kind",
                 fmt::format("{} steps along public records' gradients, too: expected a \"public\" with a file, or of "
                             "silos",
                             (*algorithm.method)->name()));
  if (public_terms && algorithm.method && problems.none()) {
    std::int64_t at_silos = 0;
    std::int64_t at_risk = 0;
    for (const CohortMember& member : cohort) {
      at_silos += member.facts.public_records;
      at_risk += member.facts.records;
      if ((*algorithm.method)->traits().records_report) {  // what is left over is in no part
        const auto parts = static_cast<std::int64_t>((*algorithm.method)->extent().rounds);
        at_risk -= parts > 0 ? member.facts.records % parts : 0;
      }
    }
    const AroundPublic around{*algorithm.method,
                              choice.model,
                              algorithm.theorem.has_value(),
                              of_persons,
                              initial.has_value(),
                              shuffled,
                              aggregation.robust(),
                              static_cast<std::int64_t>(data::encoded_width(schema)),
                              at_silos,
                              at_risk,
                              of_persons && privacy.person->form == releases::PersonContribution::Form::CappedSum};
    check_public(*public_terms, around, problems);
    if (problems.none()) count_alike(*public_terms, around);
  }
  const Evaluation evaluation = parse_evaluation(root, model, schema, privacy.unit, algorithm.rounds, problems);
  std::optional<SimulationData> simulation = parse_simulation(root, silo_facts(cohort), privacy.unit);
  root.finish();
  if (!problems.none()) return problems.error();

  JobTerms job{std::move(name),
               std::move(schema),
               std::move(projection),
               choice.model.evaluated(evaluation.detail),
               std::move(algorithm.theorem),
               algorithm.draw_fraction,
               algorithm.with_replacement,
               algorithm.parts,
               *bound,
               privacy.unit,
               privacy.noise,
               noise_choice,
               std::move(shuffle),
               std::move(cohort),
               participation,
               evaluation.every,
               wire.points,
               wire.replies,
               aggregation,
               std::move(simulation),
               initial};
  job.public_terms = std::move(public_terms);
  job.standardised = standardised;
  job.moments = std::move(moment_clip);
  job.noise_norm = noise_norm;
  job.person = privacy.person;
  if (job.unit != releases::Unit::Person) job.person.reset();
  if (job.unit == releases::Unit::Person) {
    job.silos_per_person = privacy.silos_per_person;
    job.one_record_evaluated = evaluation.one_record;
  }
  return ReadJob(std::move(job), *std::move(algorithm.method), std::nullopt, problems.file());
}

std::vector<statistics::Covariate> covariates_of(const data::Schema& schema) {
  std::vector<statistics::Covariate> out;
  std::size_t at = 0;
  for (const data::FeatureColumn& column : schema.features) {
    const auto* list = std::get_if<data::CategoricalColumn>(&column);
    const bool compared = list != nullptr && !list->others_allowed;
    const std::size_t width = encoded_width(column);
    // A column of two values has one indicator, and so has what is missing of a number.
    const bool two = list != nullptr && width == (compared ? 2U : 1U);
    for (std::size_t i = compared ? 1 : 0; i < width; ++i) out.push_back({at + i, two || (list == nullptr && i == 1)});
    at += width;
  }
  return out;
}

std::vector<algorithms::Problem::Number> numbers_of(const data::Schema& schema) {
  std::vector<algorithms::Problem::Number> out;
  std::size_t at = 0;
  for (const data::FeatureColumn& column : schema.features) {
    if (const auto* number = std::get_if<data::NumericColumn>(&column); number != nullptr && !number->date)
      out.push_back({number->name, at, number->min, number->max, number->missing.has_value()});
    at += encoded_width(column);
  }
  return out;
}

double record_norm(const models::Model& model, const data::Schema& schema) {
  double squares = model.linear() == nullptr || model.linear()->intercept() ? 1.0 : 0.0;
  for (const data::FeatureColumn& column : schema.features) {
    squares += std::holds_alternative<data::CategoricalColumn>(column)
                   ? 1.0
                   : static_cast<double>(data::encoded_width(column));
  }
  return std::sqrt(squares);
}

std::vector<std::string> feature_names(const JobTerms& job) {
  if (!job.projection || job.standardised) return data::encoded_names(job.schema);
  return component_names(job.projection->directions.cols());
}

bool is_evaluated(const Job& job) {
  if (!job.model || !job.algorithm->traits().evaluated) return false;
  const auto holds_out = [](const CohortMember& member) { return member.facts.holdout_records > 0; };
  return !job.algorithm->traits().states_intervals || std::any_of(job.cohort.begin(), job.cohort.end(), holds_out);
}

planning::Schedule schedule_of(const Job& job) { return schedule_with(job, gradients_of(job)); }

std::optional<planning::Shuffling> shuffling_of(const JobTerms& job) {
  if (!job.shuffle) return std::nullopt;
  using Form = Shuffle::Form;
  const auto honest = static_cast<std::int64_t>(job.shuffle->honest_min);
  return planning::Shuffling{honest, job.shuffle->form != Form::Reports,
                             // A sealed message for every bit: more of them serve nobody.
                             job.shuffle->form == Form::Bits ? std::int64_t{1} << 12U : std::int64_t{1} << 24U};
}

Result<planning::Plan> plan_of(const Job& job, const CohortMember& member) {
  UNDERTONE_TRY(const algorithms::GradientShape shape,
                with_noise(job.noise_choice, gradients_of(job), job.algorithm, member.facts));
  Result<planning::Plan> plan = planning::make_plan(schedule_with(job, shape), member.facts, shuffling_of(job));
  if (!plan) return plan;
  for (const planning::Plan::Segment& segment : plan->segments()) {
    if (segment.release.ask.records.persons && !releases::takes_persons(segment.release.ask))
      return Error{ErrorCode::InvalidConfig,
                   fmt::format("silo {}: {} of persons are not served: expected the unit \"record\"",
                               member.facts.silo.name(), releases::to_string(segment.release.ask.kind()))};
    if (releases::parts_of_unit(segment.release.ask) > 1 &&
        !std::holds_alternative<mechanisms::GaussianLattice>(segment.release.mechanism))
      return Error{ErrorCode::InvalidConfig,
                   fmt::format("silo {}: capped_sum of persons is served with Gaussian noise alone: expected a delta "
                               "above 0",
                               member.facts.silo.name())};
    const Status fits = queries::check_fits(segment.release, job.reply_lattice);
    if (!fits)
      return Error{fits.error().code, fmt::format("silo {}: {}", member.facts.silo.name(), fits.error().message)};
  }
  return plan;
}

std::unique_ptr<algorithms::FederatedAlgorithm> make_algorithm(const Job& job) { return make_algorithm_with(job, {}); }

std::unique_ptr<algorithms::FederatedAlgorithm> make_algorithm_with(const Job& job,
                                                                    const algorithms::WithPublicRecords::Load& load) {
  // The parser made one of the same settings.
  if (!job.model) return job.algorithm->make().value();
  std::unique_ptr<algorithms::FederatedAlgorithm> made;
  if (!job.public_terms) {
    made = job.algorithm->make().value();
  } else {
    const PublicSide known = job.public_side.value_or(PublicSide{});
    made = known.start ? job.algorithm->make_at(*known.start).value() : job.algorithm->make().value();
    const auto absent = []() -> Result<std::shared_ptr<const models::PublicGradientSource>> {
      return Error{ErrorCode::InvalidArgument, "the job counts on public records, which are not here"};
    };
    algorithms::WithPublicRecords::Setup setup;
    setup.use = job.public_terms->use;
    setup.weight = known.weight;
    setup.length = job.clip().value();
    for (const planning::ScheduledRounds& part : schedule_of(job))
      if (part.ask.kind() == releases::QuestionKind::GradientDifference) setup.difference = part.ask;
    if (job.public_terms->file) setup.load = load && job.public_side ? load : absent;
    const auto* mixed = std::get_if<algorithms::MixedGradients>(&setup.use);
    if (!job.public_terms->file) setup.weight = mixed->weight.value();
    setup.weight_end = mixed == nullptr ? std::nullopt : mixed->weight_end;
    setup.rounds = job.algorithm->extent().rounds;
    made = std::make_unique<algorithms::WithPublicRecords>(std::move(made), std::move(setup));
  }
  if (!is_evaluated(job)) return made;
  return std::make_unique<algorithms::WithEvaluation>(std::move(made), *job.model, job.evaluation_every);
}

}  // namespace undertone::jobs
