#include "shared/jobs/job.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "shared/algorithms/with_evaluation.hpp"
#include "shared/config/json_section.hpp"
#include "shared/jobs/algorithm_section.hpp"
#include "shared/jobs/cohort_section.hpp"
#include "shared/jobs/initial_section.hpp"
#include "shared/jobs/model_section.hpp"
#include "shared/jobs/projection_section.hpp"
#include "shared/jobs/schema_section.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::jobs {
namespace {

constexpr std::uint64_t kEvaluationsMax = 10'000;
constexpr std::int64_t kMillisecondsMax = 86'400'000;         // a day
constexpr std::int64_t kJoinMillisecondsMax = 2'592'000'000;  // thirty: people decide
constexpr double kHeldValuesMax = 0x1p22;     // of a round's answers where they are held: a second's work
constexpr double kLocalProductsMax = 0x1p32;  // of a local run: some seconds of work

/// What theorems may use of a job; what is the job's author to say is left at zero.
theorems::TheoremFacts facts_of(const std::vector<CohortMember>& cohort, const algorithms::Problem& problem,
                                double clip, const std::optional<Shuffle>& shuffle) {
  theorems::TheoremFacts facts;
  facts.silos = static_cast<double>(cohort.size());
  facts.lipschitz = clip;
  if (problem.dimension > 0) facts.diameter = problem.domain.diameter(problem.dimension).value_or(0.0);
  bool alike = true;
  for (const CohortMember& member : cohort) {
    const theorems::SiloTarget silo{static_cast<double>(member.facts.records), member.facts.epsilon.value(),
                                    member.facts.delta.value()};
    if (!facts.members.empty()) {
      const theorems::SiloTarget& first = facts.members.front();
      alike = alike && silo.records == first.records && silo.epsilon == first.epsilon && silo.delta == first.delta;
    }
    facts.members.push_back(silo);
    const auto least = [](double known, double other) { return known == 0.0 ? other : std::min(known, other); };
    facts.records = least(facts.records, silo.records);
    facts.epsilon = least(facts.epsilon, silo.epsilon);
    facts.delta = least(facts.delta, silo.delta);
  }
  if (alike) facts.members.clear();
  if (shuffle)
    facts.shuffled =
        theorems::ShuffledAnswers{static_cast<double>(shuffle->honest_min), shuffle->form == Shuffle::Form::Reports};
  return facts;
}

/// A loss with a kink that nothing smooths.
bool is_kinked(const models::Model& model) { return model.linear() != nullptr && !model.is_smooth(); }

/// With what the model and the schema prove: of projected records nothing.
TheoremContext context_of(theorems::TheoremFacts facts, theorems::PlannedNoise noise, const models::Model& model,
                          const data::Schema& schema, bool projected) {
  TheoremContext out{std::move(facts), noise};
  out.kinked = is_kinked(model);
  if (projected) return out;
  const models::Model::Constants constants = model.constants(record_norm(model, schema));
  out.proven_smoothness = constants.smoothness;
  out.proven_lipschitz = constants.lipschitz;
  return out;
}

/// The model with the envelope that a theorem chose for its loss.
models::Model smoothed(const models::LinearModel& linear, double smoothing) {
  // Of a kinked loss, which takes any smoothing that a theorem chooses.
  return models::LinearModel(linear.linear_loss().smoothed(smoothing).value(), linear.features(), linear.intercept());
}

Participation parse_participation(config::Section section) {
  Participation out;
  out.quorum =
      static_cast<std::size_t>(section.integer("quorum", 1, static_cast<std::int64_t>(kSilosMax),
                                               "fewer answers than this fail a round, after asking once more"));
  out.join_deadline = std::chrono::milliseconds(
      section.integer("join_deadline_ms", 1, kJoinMillisecondsMax,
                      "from the start of the run to the first round: time for owners to approve"));
  out.round_deadline =
      std::chrono::milliseconds(section.integer("round_deadline_ms", 1, kMillisecondsMax, "of one round"));
  out.resend = std::chrono::milliseconds(
      section.integer("resend_ms", 100, kMillisecondsMax, "how often an unanswered message is sent again"));
  section.finish();
  return out;
}

/// The section "aggregation", before it is known what the whole cohort is.
struct AskedAggregation {
  folds::Aggregation aggregation;
  std::optional<bool> scaled;  // of the mean, where the job says
};

AskedAggregation parse_aggregation(config::Section section) {
  using Kind = folds::Aggregation::Kind;
  AskedAggregation asked;
  folds::Aggregation& out = asked.aggregation;
  out.kind = section.choice<Kind>(
      "kind", {{"mean", Kind::Mean}, {"trimmed_mean", Kind::TrimmedMean}, {"geometric_median", Kind::GeometricMedian}},
      "the last two withstand silos that lie; every answer of a round is held, and no theorem speaks of the outcome");
  if (out.kind == Kind::TrimmedMean || section.recording())
    out.trim = section.number("trim", 0.0, 0.499, "of trimmed_mean: the share of the weight left out at either end");
  if (out.kind == Kind::Mean && section.has("missing_silos")) {
    asked.scaled = section.choice<bool>(
        "missing_silos", {{"renormalised", false}, {"scaled", true}},
        "of mean, where M of N silos answer: renormalised divides by the weights of these M; scaled by all N silos' "
        "weights, times N/M, which is unbiased where any M silos are as likely to answer (default: renormalised, of a "
        "job that names a theorem scaled)");
  }
  section.finish();
  return asked;
}

/// The weights that a mean is scaled to. Nothing where they are equal: both means are then the same.
std::optional<folds::WholeCohort> whole_cohort(const std::vector<CohortMember>& cohort) {
  const bool alike = std::all_of(cohort.begin(), cohort.end(),
                                 [&](const CohortMember& member) { return member.weight == cohort.front().weight; });
  if (alike) return std::nullopt;
  folds::WholeCohort out{cohort.size(), 0};
  for (const CohortMember& member : cohort) out.weights += member.weight;
  return out;
}

/// Whether a round's mean is scaled to the whole cohort. The theorems' estimator is: silo i's loss times N p_i, then
/// the plain mean of the M that answer, which is (N/M) sum_i p_i g_i.
bool is_scaled(const AskedAggregation& asked, const AlgorithmChoice& algorithm, const models::Model& model,
               config::Problems& problems) {
  if (asked.aggregation.robust() || !algorithm.method) return false;
  const bool models_answer = (*algorithm.method)->traits().local_steps > 0;
  const bool moments = model.moments() != nullptr;
  if (!asked.scaled) return algorithm.theorem && !models_answer && !moments;
  if (*asked.scaled && models_answer)
    problems.add("/aggregation/missing_silos",
                 "expected \"renormalised\": local runs answer with models, not gradients");
  if (*asked.scaled && moments)
    problems.add("/aggregation/missing_silos", "expected \"renormalised\": moments are means");
  return *asked.scaled;
}

/// What a shuffled job's other sections must say.
struct AroundShuffle {
  const algorithms::Method& algorithm;
  bool with_replacement;
  const NoiseChoice& noise;
  const std::vector<CohortMember>& cohort;
  std::size_t quorum;
};

/// A shuffled reply must not tell its silo by what it looks like: all silos draw alike, with the same noise.
void check_shuffled(const Shuffle& shuffle, const AroundShuffle& job, config::Problems& problems) {
  const algorithms::MethodTraits traits = job.algorithm->traits();
  if (!traits.shuffled)
    problems.add("/algorithm/kind", "local runs have no shuffled form: expected an algorithm of gradients");
  if (shuffle.form == Shuffle::Form::Reports && !traits.shuffled_reports)
    problems.add("/privacy/shuffle/form", "reports are of noisy_minibatch_sgd alone: expected shares, counts or bits");
  if (job.with_replacement)
    problems.add("/algorithm/sampling", "of a shuffled job batches are drawn without replacement");
  if (job.noise.by != NoiseChoice::By::Accountant)
    problems.add("/privacy/calibration/by", "of a shuffled job the accountant chooses the noise");
  if (shuffle.honest_min > job.quorum) {
    problems.add("/privacy/shuffle/honest_min",
                 fmt::format("expected at most the quorum of {}, below which nothing is forwarded, got {}", job.quorum,
                             shuffle.honest_min));
  }
  constexpr double kEpsilonMax = 15.0;  // of the binomial sum. Source: Lemma 136
  if (shuffle.form != Shuffle::Form::Reports && job.cohort.front().facts.epsilon.value() > kEpsilonMax) {
    problems.add("/cohort", fmt::format("a binomial sum is for epsilon of at most {}, got {}", kEpsilonMax,
                                        job.cohort.front().facts.epsilon.value()));
  }
  if (job.quorum < 2) problems.add("/participation/quorum", "expected at least 2: one reply has nobody to hide among");
  const CohortMember& first = job.cohort.front();
  for (const CohortMember& member : job.cohort) {
    if (member.facts.records != first.facts.records || member.facts.epsilon != first.facts.epsilon ||
        member.facts.delta != first.facts.delta || member.weight != first.weight) {
      problems.add("/cohort", fmt::format("silos of a shuffled job have the same records, epsilon, delta and weight; "
                                          "those of \"{}\" and \"{}\" differ",
                                          first.facts.silo.name(), member.facts.silo.name()));
      break;
    }
  }
  for (const CohortMember& member : job.cohort) {
    if (member.facts.holdout_records == 0 || member.facts.holdout_public) continue;
    problems.add("/cohort", fmt::format("a shuffled job evaluates public holdouts alone, and that of \"{}\" is private",
                                        member.facts.silo.name()));
    break;
  }
}

/// Whether the algorithm, and the theorem that chose it, are for the model's loss.
void check_model(const AlgorithmChoice& algorithm, const models::Model& model, config::Problems& problems) {
  const algorithms::MethodTraits traits = (*algorithm.method)->traits();
  if (static_cast<double>(traits.local_steps) * model.products() > kLocalProductsMax) {
    problems.add("/algorithm/local_steps", fmt::format("{} steps of {} products each: a message has at most {}",
                                                       traits.local_steps, model.products(), kLocalProductsMax));
  }
  if (algorithm.theorem) {
    if (algorithm.theorem->losses == theorems::TheoremLosses::Convex && !model.is_convex())
      problems.add("/algorithm/theorem",
                   fmt::format("{} is of convex losses, and a {} has none", algorithm.theorem->source, model.name()));
    if (!model.is_smooth())
      problems.add("/algorithm/theorem",
                   fmt::format("{} is of smooth losses, and {} has a kink", algorithm.theorem->source, model.name()));
  }
  // Rectifiers have kinks that nobody smooths; what theorems say of smooth losses is then not said of them.
  if (model.linear() != nullptr && !model.is_smooth() && !traits.takes_subgradients) {
    problems.add("/model/smoothing", fmt::format("missing: {} needs a smooth loss, and {} has a kink",
                                                 (*algorithm.method)->name(), model.name()));
  }
}

/// The weights are moments after one whole step of size 1 from 0, and after nothing else.
void check_moments(const algorithms::Method& algorithm, const algorithms::Problem& problem,
                   config::Problems& problems) {
  if (!algorithm->traits().one_whole_step) {
    problems.add("/algorithm",
                 "moments are what one step leads to: expected noisy_minibatch_sgd with rounds 1, step_size 1 and "
                 "averaging \"last\"");
  }
  if (!problem.regulariser.is_none())
    problems.add("/regulariser/kind", "expected \"none\": it would shrink the moments");
  if (!std::holds_alternative<geometry::WholeSpace>(problem.domain.set()))
    problems.add("/domain/kind", "expected \"whole_space\": a bounded one would cut the moments off");
}

/// Without chosen noise.
algorithms::GradientShape gradients_of(const Job& job) {
  algorithms::GradientShape shape{job.clip, job.draw_fraction};
  shape.with_replacement = job.with_replacement;
  return shape;
}

planning::Schedule schedule_with(const Job& job, const algorithms::GradientShape& shape) {
  return algorithms::WithEvaluation::schedule(job.algorithm->schedule(shape), job.model, job.evaluation_every);
}

}  // namespace

const CohortMember* Job::member(const SiloId& silo) const {
  const auto found =
      std::lower_bound(cohort.begin(), cohort.end(), silo,
                       [](const CohortMember& member, const SiloId& id) { return member.facts.silo < id; });
  return found == cohort.end() || found->facts.silo != silo ? nullptr : &*found;
}

Result<Job> parse_job(std::string_view bytes, const std::string& file) {
  if (bytes.size() > kJobBytesMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{}: {} bytes, a job has at most {}", file, bytes.size(), kJobBytesMax)};
  }
  const Result<config::JsonDocument> document = config::parse_json(bytes, file);
  if (!document) return document.error();
  config::Problems problems(file);
  return parse_job(document->root, problems);
}

Result<Job> parse_job(const nlohmann::json& document, config::Problems& problems) {
  config::Section root(document, "", problems);
  (void)root.choice<int>("format", {{"undertone.job/1", 1}}, "what this file is");

  const std::string name = root.text("name", "for people");
  data::Schema schema =
      parse_schema(root.object("data", "what every silo's file holds: public, fixed without looking at records"));

  std::optional<data::Projection> projection;
  if (root.has("projection")) {
    projection = parse_projection(
        root.object("projection",
                    "public: what the model reads instead of the features, as undertone components has it"),
        data::encoded_width(schema));
  }
  const auto features =
      projection ? projection->directions.cols() : static_cast<Eigen::Index>(data::encoded_width(schema));
  ModelChoice choice = parse_model(root.object("model"), schema, features);
  const models::Model& model = choice.model;

  const geometry::Domain domain = parse_domain(root.object("domain"));
  const geometry::Regulariser regulariser = parse_regulariser(root.object("regulariser"), model.regularised());

  config::Section wire = root.object("wire");
  const auto point_type = wire.choice<queries::PointType>(
      "points", {{"f64", queries::PointType::F64}, {"f32", queries::PointType::F32}}, "the type of broadcast models");
  queries::WireLattice lattice;
  lattice.type = wire.choice<queries::ReplyType>(
      "replies", {{"i32", queries::ReplyType::I32}, {"i64", queries::ReplyType::I64}}, "the type of answers");
  lattice.step_log2 = static_cast<int>(
      wire.integer("reply_step_log2", -60, 60, "one unit of an answer is 2^this of the released mean"));
  wire.finish();

  algorithms::Problem problem{model.dimension(), domain, regulariser, point_type};
  if (!model.is_convex() && problems.none()) problem.start_near(model.start(choice.seed));
  std::optional<Initial> initial;
  if (root.has("initial")) {
    initial = parse_initial(
        root.object("initial", "public: where the run starts (default: zero, and of a network its seed's weights)"),
        model, problems, problem);
  }
  config::Section privacy_section = root.object("privacy");
  const bool shuffled = privacy_section.choice<bool>(
      "mode", {{"isrl", false}, {"shuffle", true}},
      "isrl: every silo's own noise protects, nobody else is trusted; shuffle: less noise, and shufflers are trusted");
  const std::string unit = privacy_section.text("unit", "\"record\": what is protected");
  if (unit != "record" && !unit.empty())
    privacy_section.problem("unit", fmt::format("expected \"record\", got \"{}\"", unit));
  const double clip =
      privacy_section.number("clip_norm", 1e-9, 1e9, "l2 norm that each record's gradient is clipped to");
  const auto noise = privacy_section.choice<crypto::NoiseKind>(
      "noise", {{"secure", crypto::NoiseKind::Secure}, {"test", crypto::NoiseKind::Test}},
      "test is seeded, for test builds of the agent alone, and protects nobody");
  NoiseChoice noise_choice;
  if (privacy_section.has("calibration"))
    noise_choice = parse_noise_choice(privacy_section.object("calibration", "who chooses how much noise there is"));
  std::optional<Shuffle> shuffle;
  if (shuffled || privacy_section.recording())
    shuffle = parse_shuffle(privacy_section.object("shuffle", "of mode shuffle: how replies reach the coordinator"));
  privacy_section.finish();

  std::vector<CohortMember> cohort = parse_cohort(root);
  AlgorithmChoice algorithm =
      parse_algorithm(root.object("algorithm"), problem,
                      context_of(facts_of(cohort, problem, clip, shuffle),
                                 noise_choice.by == NoiseChoice::By::Theorem ? theorems::PlannedNoise::Printed
                                                                             : theorems::PlannedNoise::Accountant,
                                 choice.model, schema, projection.has_value()));
  if (algorithm.theorem && algorithm.theorem->envelope)
    choice.model = smoothed(*choice.model.linear(), *algorithm.theorem->envelope);
  if (algorithm.method) check_model(algorithm, model, problems);
  if (model.moments() != nullptr && problems.none()) check_moments(*algorithm.method, problem, problems);

  const Participation participation = parse_participation(root.object("participation"));
  if (participation.quorum > cohort.size()) {
    problems.add("/participation/quorum", fmt::format("expected at most the {} silos of the cohort, got {}",
                                                      cohort.size(), participation.quorum));
  }
  if (shuffle && problems.none())
    check_shuffled(*shuffle,
                   {*algorithm.method, algorithm.with_replacement, noise_choice, cohort, participation.quorum},
                   problems);
  AskedAggregation asked;
  if (root.has("aggregation"))
    asked = parse_aggregation(root.object("aggregation", "what the coordinator makes of a round's answers"));
  folds::Aggregation& aggregation = asked.aggregation;
  if (is_scaled(asked, algorithm, model, problems)) aggregation.scaled_to = whole_cohort(cohort);
  if (aggregation.robust() && shuffled)
    problems.add("/aggregation/kind", "expected \"mean\": answers that nobody sees one by one can only be added");
  if (aggregation.robust() && model.moments() != nullptr)
    problems.add("/aggregation/kind", "expected \"mean\": moments are means");
  if (const double held = static_cast<double>(cohort.size()) * static_cast<double>(model.dimension());
      aggregation.robust() && held > kHeldValuesMax) {
    problems.add("/aggregation/kind",
                 fmt::format("{} silos' answers of {} numbers: a coordinator holds at most {:.0f} numbers of a round",
                             cohort.size(), model.dimension(), kHeldValuesMax));
  }
  config::Section evaluation = root.object("evaluation");
  const auto every =
      static_cast<std::uint64_t>(evaluation.integer("every", 0, static_cast<std::int64_t>(releases::kRoundsMax),
                                                    "evaluate after so many steps; 0: only after the last"));
  evaluation.finish();
  if (every != 0 && algorithm.rounds / every > kEvaluationsMax) {
    problems.add("/evaluation/every",
                 fmt::format("expected at most {} evaluations, got {}", kEvaluationsMax, algorithm.rounds / every));
  }
  std::optional<SimulationData> simulation;
  if (root.has("simulation")) {
    std::vector<releases::SiloFacts> silos;
    silos.reserve(cohort.size());
    for (const CohortMember& member : cohort) silos.push_back(member.facts);
    simulation = parse_simulation(
        root.object("simulation", "where undertone simulate and partition find data; silos ignore it"), silos);
  }
  root.finish();
  if (!problems.none()) return problems.error();

  Job job{name,
          std::move(schema),
          std::move(projection),
          std::move(choice.model),
          *std::move(algorithm.method),
          std::move(algorithm.theorem),
          algorithm.draw_fraction,
          algorithm.with_replacement,
          *releases::ClipNorm::create(clip),
          unit,
          noise,
          noise_choice,
          std::move(shuffle),
          std::move(cohort),
          participation,
          every,
          point_type,
          lattice,
          aggregation,
          std::move(simulation),
          initial};
  return job;
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

std::vector<std::string> feature_names(const Job& job) {
  return job.projection ? component_names(job.projection->directions.cols()) : data::encoded_names(job.schema);
}

planning::Schedule schedule_of(const Job& job) { return schedule_with(job, gradients_of(job)); }

std::optional<planning::Shuffling> shuffling_of(const Job& job) {
  if (!job.shuffle) return std::nullopt;
  using Form = Shuffle::Form;
  const auto honest = static_cast<std::int64_t>(job.shuffle->honest_min);
  return planning::Shuffling{honest, job.shuffle->form != Form::Reports,
                             // A sealed message for every bit: more of them serve nobody.
                             job.shuffle->form == Form::Bits ? std::int64_t{1} << 12U : std::int64_t{1} << 24U};
}

Result<planning::Plan> plan_of(const Job& job, const CohortMember& member) {
  const Result<algorithms::GradientShape> shape =
      with_noise(job.noise_choice, gradients_of(job), job.algorithm, member.facts);
  if (!shape) return shape.error();
  Result<planning::Plan> plan = planning::make_plan(schedule_with(job, *shape), member.facts, shuffling_of(job));
  if (!plan) return plan;
  for (const planning::Plan::Segment& segment : plan->segments()) {
    const Status fits = queries::check_fits(segment.release, job.reply_lattice);
    if (!fits)
      return Error{fits.error().code, fmt::format("silo {}: {}", member.facts.silo.name(), fits.error().message)};
  }
  return plan;
}

std::unique_ptr<algorithms::FederatedAlgorithm> make_algorithm(const Job& job) {
  // The parser made one of the same settings.
  return std::make_unique<algorithms::WithEvaluation>(job.algorithm->make().value(), job.model, job.evaluation_every);
}

}  // namespace undertone::jobs
