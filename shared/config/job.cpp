#include "shared/config/job.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "shared/algorithms/with_evaluation.hpp"
#include "shared/config/json_section.hpp"
#include "shared/config/schema_section.hpp"

namespace undertone::config {
namespace {

constexpr std::int64_t kRoundsMax = 1'000'000;
constexpr std::uint64_t kEvaluationsMax = 10'000;
constexpr std::int64_t kRecordsMax = std::int64_t{1} << 40;
constexpr std::int64_t kMillisecondsMax = 86'400'000;
constexpr std::size_t kSilosMax = 10'000;
constexpr std::size_t kFeaturesMax = 100'000;

data::NumericColumn parse_column(Section& section, const std::string& name_key) {
  data::NumericColumn column;
  column.name = section.text(name_key);
  column.min = section.number("min", -1e300, 1e300);
  column.max = section.number("max", -1e300, 1e300);
  if (!(column.min < column.max)) {
    section.problem("max", fmt::format("expected more than min {}, got {}", column.min, column.max));
  }
  return column;
}

std::vector<CohortMember> parse_cohort(Section& root) {
  std::vector<CohortMember> cohort;
  for (Section section : root.objects("cohort", 1, kSilosMax)) {
    const std::string name = section.text("silo");
    Result<SiloId> silo = SiloId::create(name);
    if (!silo) section.problem("silo", silo.error().message);
    const double epsilon = section.number("epsilon", 0.0, 30.0, true);
    const double delta = section.number("delta", 0.0, 0.5, true);
    const std::int64_t records = section.integer("records", 1, kRecordsMax);
    const std::int64_t holdout = section.integer("holdout_records", 0, kRecordsMax);
    const bool is_public = section.boolean("holdout_public");
    const auto weight = static_cast<std::uint64_t>(
        section.has("weight")
            ? section.integer("weight", 1, static_cast<std::int64_t>(queries::LatticeFold::kWeightMax))
            : std::min<std::int64_t>(records, static_cast<std::int64_t>(queries::LatticeFold::kWeightMax)));
    section.finish();
    if (!silo) continue;
    cohort.push_back(
        {{*silo, records, holdout, is_public, *privacy::Epsilon::create(epsilon), *privacy::Delta::create(delta)},
         weight});
  }
  std::sort(cohort.begin(), cohort.end(), [](const auto& a, const auto& b) { return a.facts.silo < b.facts.silo; });
  const auto twice = std::adjacent_find(cohort.begin(), cohort.end(),
                                        [](const auto& a, const auto& b) { return a.facts.silo == b.facts.silo; });
  if (twice != cohort.end())
    root.problem("cohort", fmt::format("the silo \"{}\" stands twice", twice->facts.silo.name()));
  return cohort;
}

Participation parse_participation(Section section) {
  Participation out;
  out.quorum = static_cast<std::size_t>(section.integer("quorum", 1, static_cast<std::int64_t>(kSilosMax)));
  out.join_deadline = std::chrono::milliseconds(section.integer("join_deadline_ms", 1, kMillisecondsMax));
  out.round_deadline = std::chrono::milliseconds(section.integer("round_deadline_ms", 1, kMillisecondsMax));
  out.resend = std::chrono::milliseconds(section.integer("resend_ms", 1, kMillisecondsMax));
  section.finish();
  return out;
}

algorithms::Averaging parse_averaging(Section& section, double step_size, double strong_convexity) {
  using Kind = algorithms::Averaging::Kind;
  const auto kind = section.choice<Kind>(
      "averaging", {{"uniform", Kind::Uniform}, {"last", Kind::Last}, {"geometric", Kind::Geometric}});
  if (kind != Kind::Geometric) return {kind, 1.0};
  // Strongly convex: gamma_r = (1 - mu eta)^-(r+1) (Theorem 34), mu the regulariser's modulus.
  const double ratio = 1.0 - strong_convexity * step_size;
  if (!(ratio > 0.0 && ratio < 1.0)) {
    section.problem("averaging",
                    fmt::format("geometric averaging needs 0 < strength * step_size < 1, got {}", 1.0 - ratio));
    return {kind, 0.5};
  }
  return {kind, ratio};
}

SimulationData parse_simulation(Section section) {
  SimulationData out;
  out.csv = section.text("csv");
  out.partition_seed = static_cast<std::uint64_t>(section.integer("partition_seed", 0, INT64_MAX));
  out.holdout_fraction = section.number("holdout_fraction", 0.0, 0.9);
  out.holdout_seed = static_cast<std::uint64_t>(section.integer("holdout_seed", 0, INT64_MAX));
  section.finish();
  return out;
}

}  // namespace

data::Schema parse_schema(Section section) {
  data::Schema schema;
  Section label = section.object("label");
  if (label.has("positive") || label.has("negative")) {
    const data::BinaryLabel binary{label.text("column"), label.text("negative"), label.text("positive")};
    if (binary.negative == binary.positive) label.problem("positive", "expected a value other than the negative one");
    schema.label = binary;
  } else {
    schema.label = data::NumericLabel{parse_column(label, "column")};
  }
  label.finish();
  std::set<std::string> names;
  for (Section feature : section.objects("features", 1, kFeaturesMax)) {
    schema.features.push_back(parse_column(feature, "column"));
    if (!names.insert(schema.features.back().name).second) feature.problem("column", "stands twice");
    feature.finish();
  }
  section.finish();
  return schema;
}

const CohortMember* Job::member(const SiloId& silo) const {
  const auto found = std::find_if(cohort.begin(), cohort.end(), [&](const auto& m) { return m.facts.silo == silo; });
  return found == cohort.end() ? nullptr : &*found;
}

Result<Job> parse_job(std::string_view bytes, const std::string& file) {
  if (bytes.size() > kJobBytesMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{}: {} bytes, a job has at most {}", file, bytes.size(), kJobBytesMax)};
  }
  const Result<JsonDocument> document = parse_json(bytes, file);
  if (!document) return document.error();
  Problems problems(file);
  Section root(document->root, "", problems);
  (void)root.choice<int>("format", {{"undertone.job/1", 1}});

  const std::string name = root.text("name");
  data::Schema schema = parse_schema(root.object("data"));

  Section model_section = root.object("model");
  const auto loss = model_section.choice<models::Loss>(
      "kind", {{"logistic", models::Loss::Logistic}, {"least_squares", models::Loss::LeastSquares}});
  const bool intercept = model_section.boolean("intercept");
  model_section.finish();
  if ((loss == models::Loss::Logistic) != std::holds_alternative<data::BinaryLabel>(schema.label)) {
    problems.add("/model/kind", "logistic needs a label with two values, least_squares one with min and max");
  }
  const models::LinearModel model(loss, static_cast<Eigen::Index>(schema.features.size()), intercept);

  Section domain_section = root.object("domain");
  (void)domain_section.choice<int>("kind", {{"l2_ball", 1}});
  const double radius = domain_section.number("radius", 0.0, 1e9, true);
  domain_section.finish();
  Section regulariser = root.object("regulariser");
  (void)regulariser.choice<int>("kind", {{"l2", 1}});
  const double strength = regulariser.number("strength", 0.0, 1e9);
  regulariser.finish();

  Section wire = root.object("wire");
  const auto point_type =
      wire.choice<queries::PointType>("points", {{"f64", queries::PointType::F64}, {"f32", queries::PointType::F32}});
  queries::WireLattice lattice;
  lattice.type =
      wire.choice<queries::ReplyType>("replies", {{"i32", queries::ReplyType::I32}, {"i64", queries::ReplyType::I64}});
  lattice.step_log2 = static_cast<int>(wire.integer("reply_step_log2", -60, 60));
  wire.finish();

  Section algorithm = root.object("algorithm");
  const std::string kind = algorithm.text("kind");
  if (kind != "noisy_minibatch_sgd" && !kind.empty()) {
    algorithm.problem("kind", fmt::format("expected \"noisy_minibatch_sgd\", got \"{}\"", kind));
  }
  const auto rounds = static_cast<std::uint64_t>(algorithm.integer("rounds", 1, kRoundsMax));
  const double step_size = algorithm.number("step_size", 0.0, 1e9, true);
  const double draw_fraction = algorithm.number("draw_fraction", 0.0, 1.0, true);
  const algorithms::Averaging averaging = parse_averaging(algorithm, step_size, strength);
  algorithm.finish();

  Section privacy_section = root.object("privacy");
  (void)privacy_section.choice<int>("mode", {{"isrl", 1}});
  const std::string unit = privacy_section.text("unit");
  if (unit != "record" && !unit.empty())
    privacy_section.problem("unit", fmt::format("expected \"record\", got \"{}\"", unit));
  const double clip = privacy_section.number("clip_norm", 0.0, 1e9, true);
  const auto noise = privacy_section.choice<privacy::NoiseKind>(
      "noise", {{"secure", privacy::NoiseKind::Secure}, {"test", privacy::NoiseKind::Test}});
  privacy_section.finish();

  std::vector<CohortMember> cohort = parse_cohort(root);
  const Participation participation = parse_participation(root.object("participation"));
  if (participation.quorum > cohort.size()) {
    problems.add("/participation/quorum", fmt::format("expected at most the {} silos of the cohort, got {}",
                                                      cohort.size(), participation.quorum));
  }
  Section evaluation = root.object("evaluation");
  const auto every = static_cast<std::uint64_t>(evaluation.integer("every", 0, kRoundsMax));
  evaluation.finish();
  if (every != 0 && rounds / every > kEvaluationsMax) {
    problems.add("/evaluation/every",
                 fmt::format("expected at most {} evaluations, got {}", kEvaluationsMax, rounds / every));
  }
  std::optional<SimulationData> simulation;
  if (root.has("simulation")) simulation = parse_simulation(root.object("simulation"));
  root.finish();
  if (!problems.none()) return problems.error();

  algorithms::MinibatchSgdSettings settings{model.dimension(), rounds,           step_size,
                                            strength,          model.features(), *geometry::L2Ball::create(radius),
                                            averaging,         point_type};
  Job job{name,
          std::move(schema),
          model,
          kind,
          settings,
          draw_fraction,
          *privacy::ClipNorm::create(clip),
          unit,
          noise,
          std::move(cohort),
          participation,
          every,
          point_type,
          lattice,
          std::move(simulation)};
  return job;
}

Status check_plans(const Job& job, const std::string& file) {
  Problems problems(file);
  for (const CohortMember& member : job.cohort) {
    const Result<privacy::Plan> plan = plan_of(job, member);
    if (!plan) problems.add("/cohort", plan.error().message);
  }
  if (!problems.none()) return problems.error();
  return {};
}

privacy::Schedule schedule_of(const Job& job) {
  const privacy::Schedule inner = algorithms::MinibatchSgd::schedule(job.algorithm, job.clip, job.draw_fraction);
  return algorithms::WithEvaluation::schedule(inner, job.model, job.evaluation_every);
}

Result<privacy::Plan> plan_of(const Job& job, const CohortMember& member) {
  Result<privacy::Plan> plan = privacy::make_plan(schedule_of(job), member.facts);
  if (!plan) return plan;
  for (const privacy::Plan::Segment& segment : plan->segments()) {
    const Status fits = queries::check_fits(segment.release, job.reply_lattice);
    if (!fits)
      return Error{fits.error().code, fmt::format("silo {}: {}", member.facts.silo.name(), fits.error().message)};
  }
  return plan;
}

std::unique_ptr<algorithms::FederatedAlgorithm> make_algorithm(const Job& job) {
  return std::make_unique<algorithms::WithEvaluation>(std::make_unique<algorithms::MinibatchSgd>(job.algorithm),
                                                      job.model, job.evaluation_every);
}

}  // namespace undertone::config
