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
#include "shared/jobs/statistics_section.hpp"
#include "shared/releases/rounds_max.hpp"
#include "shared/releases/unit.hpp"

namespace undertone::jobs {
namespace {

constexpr std::uint64_t kEvaluationsMax = 10'000;
constexpr std::int64_t kMillisecondsMax = 86'400'000;         // a day
constexpr std::int64_t kJoinMillisecondsMax = 2'592'000'000;  // thirty: people decide
constexpr double kHeldValuesMax = 0x1p22;     // of a round's answers where they are held: a second's work
constexpr double kLocalProductsMax = 0x1p32;  // of a local run: some seconds of work

constexpr double kBoundMin = 1e-9;  // of a record's gradient
constexpr double kBoundMax = 1e9;
constexpr double kStatisticBound = 1.0;  // of an encoded number

/// What theorems may use of a job; what is the job's author to say is left at zero.
theorems::TheoremFacts facts_of(const std::vector<CohortMember>& cohort, const algorithms::Problem& problem,
                                double clip, const std::optional<Shuffle>& shuffle) {
  theorems::TheoremFacts facts;
  facts.silos = static_cast<double>(cohort.size());
  facts.lipschitz = clip;
  if (problem.dimension > 0) facts.diameter = problem.domain.diameter(problem.dimension).value_or(0.0);
  bool alike = true;
  for (const CohortMember& member : cohort) {
    const theorems::SiloTarget silo{static_cast<double>(member.facts.records), member.facts.epsilon().value(),
                                    member.facts.delta()};
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

/// The section "privacy".
struct Privacy {
  bool shuffled = false;
  releases::Unit unit = releases::Unit::Record;
  std::optional<double> clip_norm;
  std::optional<double> coordinate_bound;
  crypto::NoiseKind noise = crypto::NoiseKind::Secure;
  NoiseChoice noise_choice;
  std::optional<Shuffle> shuffle;
};

/// What of the section statistics have no use for.
void refuse_of_statistics(config::Section& section) {
  const char* bounds = "expected none: of statistics the columns' public bounds say how far a record reaches";
  section.refuse("clip_norm", bounds);
  section.refuse("coordinate_bound", bounds);
  section.refuse("calibration",
                 "expected none: the noise of statistics is what their promise leaves, in equal parts of epsilon");
  section.refuse("shuffle", "expected none: no shuffler hides statistics");
}

Privacy parse_privacy(config::Section section, bool statistics) {
  Privacy out;
  out.shuffled = section.choice<bool>(
      "mode", {{"isrl", false}, {"shuffle", true}},
      "isrl: every silo's own noise protects, nobody else is trusted; shuffle: less noise, and shufflers are trusted");
  const std::string unit = section.text("unit", "\"record\": what is protected");
  if (!unit.empty()) {
    const Result<releases::Unit> parsed = releases::parse_unit(unit);
    if (!parsed) section.problem("unit", parsed.error().message);
    if (parsed) out.unit = *parsed;
  }
  if (statistics) {
    if (out.shuffled) section.problem("mode", "expected \"isrl\": no shuffler hides statistics");
    refuse_of_statistics(section);
  } else {
    if (section.has("clip_norm"))
      out.clip_norm = section.number("clip_norm", kBoundMin, kBoundMax,
                                     "l2 norm that each record's gradient is clipped "
                                     "to; of every algorithm but private_frank_wolfe");
    if (section.has("coordinate_bound"))
      out.coordinate_bound = section.number("coordinate_bound", kBoundMin, kBoundMax,
                                            "of private_frank_wolfe in its place: what each coordinate of a record's "
                                            "gradient is cut to");
  }
  out.noise = section.choice<crypto::NoiseKind>(
      "noise", {{"secure", crypto::NoiseKind::Secure}, {"test", crypto::NoiseKind::Test}},
      "test is seeded, for test builds of the agent alone, and protects nobody");
  if (!statistics && section.has("calibration"))
    out.noise_choice = parse_noise_choice(section.object("calibration", "who chooses how much noise there is"));
  if (!statistics && (out.shuffled || section.recording()))
    out.shuffle = parse_shuffle(section.object("shuffle", "of mode shuffle: how replies reach the coordinator"));
  section.finish();
  return out;
}

/// The bound that the method asks for, which is the only one that the job may give.
releases::Bound bound_of(const Privacy& privacy, const algorithms::Method& method, config::Problems& problems) {
  using BoundedIn = algorithms::MethodTraits::BoundedIn;
  const bool by_coordinate = method->traits().bounded_in == BoundedIn::EveryCoordinate;
  const char* wanted_key = by_coordinate ? "coordinate_bound" : "clip_norm";
  const char* other_key = by_coordinate ? "clip_norm" : "coordinate_bound";
  const std::optional<double>& wanted = by_coordinate ? privacy.coordinate_bound : privacy.clip_norm;
  const std::optional<double>& other = by_coordinate ? privacy.clip_norm : privacy.coordinate_bound;
  if (!wanted) {
    problems.add(fmt::format("/privacy/{}", wanted_key),
                 fmt::format("missing, expected a finite number from {} to {}: {} bounds a record's gradient by it",
                             kBoundMin, kBoundMax, method->name()));
  }
  if (other) {
    problems.add(fmt::format("/privacy/{}", other_key),
                 fmt::format("expected none: {} bounds a record's gradient by {}", method->name(), wanted_key));
  }
  if (by_coordinate) return releases::MaxBound{*releases::CoordinateBound::create(wanted.value_or(1.0))};
  return releases::L2Bound{*releases::ClipNorm::create(wanted.value_or(1.0))};
}

/// Of a cohort of whom not everybody is promised an epsilon and a delta: how one is promised something else.
std::optional<std::string> other_target(const std::vector<CohortMember>& cohort) {
  for (const CohortMember& member : cohort) {
    if (!std::holds_alternative<releases::ApproximateDp>(member.facts.target))
      return fmt::format("\"{}\" is promised {}", member.facts.silo.name(), releases::to_string(member.facts.target));
  }
  return std::nullopt;
}

/// Noise that somebody chose is Gaussian, and a theorem's is of an epsilon and a delta.
void check_calibration(const NoiseChoice& choice, const algorithms::Method& method,
                       const std::vector<CohortMember>& cohort, config::Problems& problems) {
  if (choice.by == NoiseChoice::By::Accountant) return;
  constexpr const char* kPointer = "/privacy/calibration/by";
  if (const std::optional<std::string> other = other_target(cohort)) {
    problems.add(kPointer, fmt::format("expected \"accountant\": chosen noise is for silos with an epsilon and a delta "
                                       "above 0, and {}",
                                       *other));
  }
  if (method->traits().bounded_in != algorithms::MethodTraits::BoundedIn::L2) {
    problems.add(kPointer, fmt::format("expected \"accountant\": nobody chooses a noise of {}, which has none that is "
                                       "Gaussian",
                                       method->name()));
  }
}

// What a job says that leaves it out. None is of privacy: epsilon, delta, the unit, the mode, the clip norm, the noise
// and what is held out, public or not, have to be said. These stand in the place of what is not written in files whose
// bytes are a job's identity, so no value here ever changes: a better one needs a format of its own.

/// A model of moments has one good form; of others nothing is known but the loss.
nlohmann::json default_domain(const models::Model& model) {
  if (model.moments() != nullptr || !model.is_convex()) return {{"kind", "whole_space"}};
  return {{"kind", "l2_ball"}, {"radius", 10}};
}

nlohmann::json default_regulariser(const models::Model& model) {
  if (model.moments() != nullptr || !model.is_convex()) return {{"kind", "none"}};
  return {{"kind", "l2"}, {"strength", 0.001}};
}

/// Steps that become small, so that one that is too large at first does no harm. @return null where there is no default
nlohmann::json default_algorithm(const models::Model& model) {
  nlohmann::json out = {
      {"kind", "noisy_minibatch_sgd"}, {"rounds", 1}, {"step_size", 1}, {"averaging", "last"}, {"draw_fraction", 1}};
  if (model.moments() != nullptr) return out;
  if (!model.is_convex()) return nullptr;
  out["rounds"] = 50;
  out["schedule"] = "cosine";
  return out;
}

Participation parse_participation(config::Section section, std::size_t silos) {
  section.otherwise("quorum", silos / 2 + 1);
  section.otherwise("join_deadline_ms", 7 * 86'400'000);
  section.otherwise("round_deadline_ms", 600'000);
  section.otherwise("resend_ms", 10'000);
  Participation out;
  out.quorum = static_cast<std::size_t>(
      section.integer("quorum", 1, static_cast<std::int64_t>(kSilosMax),
                      "fewer answers than this fail a round, after asking once more (default: more "
                      "than half of the silos)"));
  out.join_deadline = std::chrono::milliseconds(
      section.integer("join_deadline_ms", 1, kJoinMillisecondsMax,
                      "from the start of the run to the first round: time for owners to approve (default: a week)"));
  out.round_deadline = std::chrono::milliseconds(
      section.integer("round_deadline_ms", 1, kMillisecondsMax, "of one round (default: ten minutes)"));
  out.resend = std::chrono::milliseconds(section.integer(
      "resend_ms", 100, kMillisecondsMax, "how often an unanswered message is sent again (default 10000)"));
  section.finish();
  return out;
}

Participation parse_participation_of(config::Section& root, const std::vector<CohortMember>& cohort,
                                     config::Problems& problems) {
  root.otherwise("participation", nlohmann::json::object());
  const Participation participation =
      parse_participation(root.object("participation", "may be left out"), cohort.size());
  if (participation.quorum > cohort.size()) {
    problems.add("/participation/quorum", fmt::format("expected at most the {} silos of the cohort, got {}",
                                                      cohort.size(), participation.quorum));
  }
  return participation;
}

std::optional<SimulationData> parse_simulation_of(config::Section& root, const std::vector<CohortMember>& cohort) {
  if (!root.has("simulation")) return std::nullopt;
  std::vector<releases::SiloFacts> silos;
  silos.reserve(cohort.size());
  for (const CohortMember& member : cohort) silos.push_back(member.facts);
  return parse_simulation(
      root.object("simulation", "where undertone simulate and partition find data; silos ignore it"), silos);
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
  const bool votes = (*algorithm.method)->traits().bounded_in == algorithms::MethodTraits::BoundedIn::EveryCoordinate;
  if (asked.scaled && *asked.scaled && votes)
    problems.add("/aggregation/missing_silos",
                 "expected \"renormalised\": silos vote, and votes are of those that "
                 "answer");
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
    problems.add("/algorithm/kind", fmt::format("{} no shuffled form: expected an algorithm of gradients",
                                                traits.local_steps > 0 ? "local runs have" : "selections have"));
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
  if (shuffle.form != Shuffle::Form::Reports && job.cohort.front().facts.epsilon().value() > kEpsilonMax) {
    problems.add("/cohort", fmt::format("a binomial sum is for epsilon of at most {}, got {}", kEpsilonMax,
                                        job.cohort.front().facts.epsilon().value()));
  }
  if (const std::optional<std::string> other = other_target(job.cohort)) {
    problems.add("/cohort",
                 fmt::format("silos of a shuffled job are promised an epsilon and a delta above 0, and {}", *other));
  }
  if (job.quorum < 2) problems.add("/participation/quorum", "expected at least 2: one reply has nobody to hide among");
  const CohortMember& first = job.cohort.front();
  for (const CohortMember& member : job.cohort) {
    if (member.facts.records != first.facts.records || member.facts.epsilon() != first.facts.epsilon() ||
        member.facts.delta() != first.facts.delta() || member.weight != first.weight) {
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
  if (traits.linear_models && model.linear() == nullptr) {
    problems.add("/model/kind", fmt::format("expected a linear model: {} has no form for {}",
                                            (*algorithm.method)->name(), model.name()));
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
  algorithms::GradientShape shape{job.bound, job.draw_fraction};
  shape.with_replacement = job.with_replacement;
  return shape;
}

planning::Schedule schedule_with(const Job& job, const algorithms::GradientShape& shape) {
  planning::Schedule own = job.algorithm->schedule(shape);
  if (!job.model) return own;
  return algorithms::WithEvaluation::schedule(own, *job.model, job.evaluation_every);
}

/// A job whose file has a section "statistics".
Result<Job> parse_statistics_job(config::Section& root, std::string name, data::Schema schema,
                                 config::Problems& problems) {
  algorithms::StatisticsSettings settings = parse_statistics(root.object("statistics"), schema);
  for (const char* key : {"model", "domain", "regulariser", "algorithm", "evaluation", "initial"})
    root.refuse(key, "expected none beside statistics: nothing is trained");
  root.refuse("projection", "expected none beside statistics: they are of the columns as data has them");
  root.refuse("aggregation", "expected none beside statistics: the silos' totals are added up");
  root.refuse("wire", "expected none beside statistics: answers are whole totals, and questions have no point");
  const Privacy privacy = parse_privacy(root.object("privacy"), true);
  std::vector<CohortMember> cohort = parse_cohort(root);
  const Participation participation = parse_participation_of(root, cohort, problems);
  std::optional<SimulationData> simulation = parse_simulation_of(root, cohort);
  root.finish();
  algorithms::Method method = std::move(settings);
  if (problems.none()) {
    if (const auto made = method->make(); !made) problems.add("/statistics/questions", made.error().message);
  }
  if (!problems.none()) return problems.error();
  Job job{std::move(name),
          std::move(schema),
          std::nullopt,
          std::nullopt,
          std::move(method),
          std::nullopt,
          1.0,
          false,
          releases::RangeBound{-kStatisticBound, kStatisticBound},
          std::string(releases::to_string(privacy.unit)),
          privacy.noise,
          {},
          std::nullopt,
          std::move(cohort),
          participation,
          0,
          queries::PointType::F64,
          {},
          {},
          std::move(simulation),
          std::nullopt};
  return job;
}

}  // namespace

const CohortMember* Job::member(const SiloId& silo) const {
  const auto found =
      std::lower_bound(cohort.begin(), cohort.end(), silo,
                       [](const CohortMember& member, const SiloId& id) { return member.facts.silo < id; });
  return found == cohort.end() || found->facts.silo != silo ? nullptr : &*found;
}

const releases::ClipNorm& Job::clip() const {
  const auto* l2 = std::get_if<releases::L2Bound>(&bound);
  UNDERTONE_CHECK(l2 != nullptr);
  return l2->clip;
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

Result<std::string> full_job(std::string_view bytes, const std::string& file) {
  const Result<config::JsonDocument> document = config::parse_json(bytes, file, kJobBytesMax);
  if (!document) return document.error();
  config::Problems problems(file);
  if (const Result<Job> job = parse_job(document->root, problems); !job) return job.error();
  // Again, in the order of the file: it was parsed before.
  return problems.completed(nlohmann::ordered_json::parse(bytes)).dump(2) + "\n";
}

Result<Job> parse_job(const nlohmann::json& document, config::Problems& problems) {
  config::Section root(document, "", problems);
  (void)root.choice<int>("format", {{"undertone.job/1", 1}}, "what this file is");

  root.otherwise("name", "unnamed");
  std::string name = root.text("name", "for people (default \"unnamed\")");
  data::Schema schema =
      parse_schema(root.object("data", "what every silo's file holds: public, fixed without looking at records"));

  if (root.has("statistics")) {
    if (!root.recording()) return parse_statistics_job(root, std::move(name), std::move(schema), problems);
    (void)parse_statistics(root.object("statistics",
                                       "instead of model, algorithm, domain, regulariser, evaluation and wire: counts "
                                       "and means of the silos' training records, each asked for once"),
                           schema);
  }
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

  root.otherwise("domain", default_domain(model));
  const geometry::Domain domain =
      parse_domain(root.object("domain", "default: a ball of radius 10; of moments and networks the whole space"));
  root.otherwise("regulariser", default_regulariser(model));
  const geometry::Regulariser regulariser = parse_regulariser(
      root.object("regulariser", "default: l2 of strength 0.001; of moments and networks none"), model.regularised());

  root.otherwise("wire", nlohmann::json::object());
  config::Section wire = root.object("wire", "may be left out");
  wire.otherwise("points", "f64");
  wire.otherwise("replies", "i64");
  wire.otherwise("reply_step_log2", -40);
  const auto point_type =
      wire.choice<queries::PointType>("points", {{"f64", queries::PointType::F64}, {"f32", queries::PointType::F32}},
                                      "the type of broadcast models (default f64)");
  queries::WireLattice lattice;
  lattice.type =
      wire.choice<queries::ReplyType>("replies", {{"i32", queries::ReplyType::I32}, {"i64", queries::ReplyType::I64}},
                                      "the type of answers (default i64)");
  lattice.step_log2 = static_cast<int>(
      wire.integer("reply_step_log2", -60, 60, "one unit of an answer is 2^this of the released mean (default -40)"));
  wire.finish();

  algorithms::Problem problem{model.dimension(), domain, regulariser, point_type};
  if (!model.is_convex() && problems.none()) problem.start_near(model.start(choice.seed));
  std::optional<Initial> initial;
  if (root.has("initial")) {
    initial = parse_initial(
        root.object("initial", "public: where the run starts (default: zero, and of a network its seed's weights)"),
        model, problems, problem);
  }
  Privacy privacy = parse_privacy(root.object("privacy"), false);
  const bool shuffled = privacy.shuffled;
  const NoiseChoice& noise_choice = privacy.noise_choice;
  std::optional<Shuffle>& shuffle = privacy.shuffle;

  std::vector<CohortMember> cohort = parse_cohort(root);
  TheoremContext context = context_of(facts_of(cohort, problem, privacy.clip_norm.value_or(kBoundMax), shuffle),
                                      noise_choice.by == NoiseChoice::By::Theorem ? theorems::PlannedNoise::Printed
                                                                                  : theorems::PlannedNoise::Accountant,
                                      choice.model, schema, projection.has_value());
  if (const std::optional<std::string> other = other_target(cohort))
    context.refusal = fmt::format("theorems are of an epsilon and a delta above 0, and {}", *other);
  if (!privacy.clip_norm) context.refusal = "theorems are of gradients that are clipped: expected privacy.clip_norm";
  if (const nlohmann::json named = default_algorithm(model); !named.is_null()) root.otherwise("algorithm", named);
  AlgorithmChoice algorithm = parse_algorithm(
      root.object(
          "algorithm",
          "default: noisy_minibatch_sgd of 50 rounds, whole batches, steps of 1 that fall as a cosine, the last "
          "iterate; of moments their one step; of networks none"),
      problem, context);
  std::optional<releases::Bound> bound;
  if (algorithm.method) {
    bound = bound_of(privacy, *algorithm.method, problems);
    check_calibration(noise_choice, *algorithm.method, cohort, problems);
  } else if (!privacy.clip_norm) {
    problems.add("/privacy/clip_norm",
                 fmt::format("missing, expected a finite number from {} to {}", kBoundMin, kBoundMax));
  }
  if (algorithm.theorem && algorithm.theorem->envelope)
    choice.model = smoothed(*choice.model.linear(), *algorithm.theorem->envelope);
  if (algorithm.method) check_model(algorithm, model, problems);
  if (model.moments() != nullptr && problems.none()) check_moments(*algorithm.method, problem, problems);

  const Participation participation = parse_participation_of(root, cohort, problems);
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
  if (aggregation.robust() && algorithm.method &&
      (*algorithm.method)->traits().bounded_in == algorithms::MethodTraits::BoundedIn::EveryCoordinate)
    problems.add("/aggregation/kind", "expected \"mean\": silos vote, and votes are counted");
  if (const double held = static_cast<double>(cohort.size()) * static_cast<double>(model.dimension());
      aggregation.robust() && held > kHeldValuesMax) {
    problems.add("/aggregation/kind",
                 fmt::format("{} silos' answers of {} numbers: a coordinator holds at most {:.0f} numbers of a round",
                             cohort.size(), model.dimension(), kHeldValuesMax));
  }
  root.otherwise("evaluation", nlohmann::json::object());
  config::Section evaluation = root.object("evaluation", "may be left out");
  evaluation.otherwise("every", 0);
  const auto every =
      static_cast<std::uint64_t>(evaluation.integer("every", 0, static_cast<std::int64_t>(releases::kRoundsMax),
                                                    "evaluate after so many steps; 0 (default): only after the last"));
  evaluation.finish();
  if (every != 0 && algorithm.rounds / every > kEvaluationsMax) {
    problems.add("/evaluation/every",
                 fmt::format("expected at most {} evaluations, got {}", kEvaluationsMax, algorithm.rounds / every));
  }
  std::optional<SimulationData> simulation = parse_simulation_of(root, cohort);
  root.finish();
  if (!problems.none()) return problems.error();

  Job job{std::move(name),
          std::move(schema),
          std::move(projection),
          std::move(choice.model),
          *std::move(algorithm.method),
          std::move(algorithm.theorem),
          algorithm.draw_fraction,
          algorithm.with_replacement,
          *bound,
          std::string(releases::to_string(privacy.unit)),
          privacy.noise,
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
  if (!job.model) return job.algorithm->make().value();
  return std::make_unique<algorithms::WithEvaluation>(job.algorithm->make().value(), *job.model, job.evaluation_every);
}

}  // namespace undertone::jobs
