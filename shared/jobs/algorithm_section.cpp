#include "shared/jobs/algorithm_section.hpp"

#include <algorithm>

#include "shared/jobs/theorem_section.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::jobs {
namespace {

constexpr auto kRoundsMax = static_cast<std::int64_t>(releases::kRoundsMax);
constexpr double kNumberMax = 1e9;
constexpr double kRadiusMin = 1e-9;
constexpr std::int64_t kLocalStepsMax = 100'000;
constexpr std::uint64_t kEntriesMax = 2'000;  // of a schedule: each is planned, charged and listed for itself
constexpr std::size_t kStagesMax = 64;

enum class AlgorithmKind : std::uint8_t {
  MinibatchSgd,
  Accelerated,
  Localized,
  ProximalSgd,
  ProxSvrg,
  Spider,
  SpiderAlternate,
  LocalSgd,
};

constexpr std::initializer_list<std::pair<const char*, AlgorithmKind>> kAlgorithmKinds = {
    {"noisy_minibatch_sgd", AlgorithmKind::MinibatchSgd},
    {"accelerated_sgd", AlgorithmKind::Accelerated},
    {"localized_accelerated_sgd", AlgorithmKind::Localized},
    {"proximal_sgd", AlgorithmKind::ProximalSgd},
    {"prox_svrg", AlgorithmKind::ProxSvrg},
    {"spider", AlgorithmKind::Spider},
    {"spider_alternate", AlgorithmKind::SpiderAlternate},
    {"local_sgd", AlgorithmKind::LocalSgd}};

template <class T>
T noted(config::Section& section, const char* key, Result<T> made, T harmless) {
  if (made) return *std::move(made);
  section.problem(key, made.error().message);
  return harmless;
}

algorithms::Averaging parse_averaging(config::Section& section, double step_size, double strong_convexity) {
  using Form = algorithms::Averaging::Kind;
  const auto form = section.choice<Form>(
      "averaging", {{"uniform", Form::Uniform}, {"last", Form::Last}, {"geometric", Form::Geometric}},
      "of noisy_minibatch_sgd: which average of the iterates is the model; geometric weighs w_r by (1 - strength "
      "step_size)^-(r+1)");
  if (form != Form::Geometric) return {form, 1.0};
  // Strongly convex: gamma_r = (1 - mu eta)^-(r+1) (Theorem 34), mu the regulariser's modulus.
  const double ratio = 1.0 - strong_convexity * step_size;
  if (ratio > 0.0 && ratio < 1.0) return {form, ratio};
  section.problem("averaging",
                  fmt::format("geometric averaging needs 0 < strength * step_size < 1, got {}", 1.0 - ratio));
  return {form, 0.5};
}

std::vector<algorithms::AcceleratedStage> parse_stages(config::Section& section) {
  std::vector<algorithms::AcceleratedStage> stages;
  for (config::Section& stage :
       section.objects("stages", 1, kStagesMax, "one after the other, each from the last one's output")) {
    algorithms::AcceleratedStage one;
    one.rounds = static_cast<std::uint64_t>(stage.integer("rounds", 1, kRoundsMax, "R_k"));
    one.upsilon = stage.number("upsilon", 0.0, kNumberMax, "at least twice the smoothness of what is minimised", true);
    stage.finish();
    stages.push_back(one);
  }
  return stages;
}

algorithms::AcceleratedPhase parse_phase(config::Section& section) {
  algorithms::AcceleratedPhase phase;
  phase.proximity =
      section.number("proximity", 0.0, kNumberMax, "lambda of lambda/2 |w - c|^2, c the phase's starting point");
  phase.strong_convexity =
      section.number("strong_convexity", 0.0, kNumberMax, "of what is minimised, proximity included; 0 if it has none");
  phase.stages = parse_stages(section);
  return phase;
}

/// The keys that several algorithms share, each read where one of them wants it.
struct Keys {
  config::Section& section;
  AlgorithmKind kind;

  [[nodiscard]] bool wanted(std::initializer_list<AlgorithmKind> by) const {
    return section.recording() || std::find(by.begin(), by.end(), kind) != by.end();
  }
  std::uint64_t count(const char* key, std::initializer_list<AlgorithmKind> by, const char* about,
                      std::int64_t most = kRoundsMax) {
    return wanted(by) ? static_cast<std::uint64_t>(section.integer(key, 1, most, about)) : 1;
  }
  std::optional<double> smoothness() {
    if (!wanted({AlgorithmKind::ProxSvrg, AlgorithmKind::Spider, AlgorithmKind::SpiderAlternate}) ||
        !section.has("smoothness"))
      return std::nullopt;
    return section.number("smoothness", 0.0, kNumberMax,
                          "a public beta: differences are clipped to beta times the distance of their points (default: "
                          "to twice the clip norm)",
                          true);
  }
  std::uint64_t seed() {
    if (!wanted({AlgorithmKind::ProxSvrg, AlgorithmKind::Spider, AlgorithmKind::SpiderAlternate})) return 0;
    return static_cast<std::uint64_t>(
        section.integer("seed", 0, INT64_MAX, "public: chooses which iterate is the output"));
  }
};

/// Whether the algorithm takes its settings, and a silo could plan for it.
AlgorithmChoice checked(config::Section& section, AlgorithmChoice choice) {
  const char* key = choice.theorem ? "theorem" : "kind";
  if (const auto made = algorithms::make_algorithm(choice.settings); !made) {
    section.problem(key, made.error().message);
    return choice;
  }
  const algorithms::Extent extent = algorithms::extent_of(choice.settings);
  choice.rounds = extent.rounds;
  if (extent.rounds > releases::kRoundsMax || extent.entries > kEntriesMax) {
    section.problem(key, fmt::format("{} rounds of {} kinds or parts of releases: expected at most {} and {}",
                                     extent.rounds, extent.entries, kRoundsMax, kEntriesMax));
  }
  return choice;
}

/// Whether each round reads a part of its own, all of it: draws from it would no longer be one pass.
bool reads_parts_whole(const algorithms::AlgorithmSettings& settings) {
  const planning::Schedule schedule = algorithms::schedule_of(settings, {*releases::ClipNorm::create(1.0), 1.0});
  return std::any_of(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
    return part.shape.slice && part.shape.slice->cut == releases::Slice::Cut::Equal;
  });
}

}  // namespace

geometry::Domain parse_domain(config::Section section) {
  using geometry::Domain;
  enum class Set : std::uint8_t { Ball, Whole, Box, L1, Simplex };
  const auto set = section.choice<Set>("kind",
                                       {{"l2_ball", Set::Ball},
                                        {"whole_space", Set::Whole},
                                        {"box", Set::Box},
                                        {"l1_ball", Set::L1},
                                        {"simplex", Set::Simplex}},
                                       "where the model may lie");
  const auto wanted = [&](Set one, Set other) { return section.recording() || set == one || set == other; };
  double radius = 1.0;
  double lower = -1.0;
  double upper = 1.0;
  double scale = 1.0;
  if (wanted(Set::Ball, Set::L1)) radius = section.number("radius", kRadiusMin, kNumberMax, "of a ball around zero");
  if (wanted(Set::Box, Set::Box)) {
    lower = section.number("lower", -kNumberMax, kNumberMax, "of a box: the least value of every coordinate");
    upper = section.number("upper", -kNumberMax, kNumberMax, "of a box: the largest");
  }
  if (wanted(Set::Simplex, Set::Simplex))
    scale = section.number("scale", 0.0, kNumberMax, "of a simplex: what the coordinates add up to", true);
  const auto made = [&]() -> Result<Domain> {
    switch (set) {
      case Set::Ball:
        return Domain::l2_ball(radius);
      case Set::Whole:
        return Domain::whole_space();
      case Set::Box:
        return Domain::box(lower, upper);
      case Set::L1:
        return Domain::l1_ball(radius);
      case Set::Simplex:
        return Domain::simplex(scale);
    }
    UNDERTONE_CHECK(false);
  }();
  Domain domain = noted(section, "kind", made, Domain::whole_space());
  section.finish();
  return domain;
}

geometry::Regulariser parse_regulariser(config::Section section, Eigen::Index regularised) {
  using geometry::Regulariser;
  enum class Form : std::uint8_t { L2, None, L1, Elastic, Group };
  const auto form = section.choice<Form>("kind",
                                         {{"l2", Form::L2},
                                          {"none", Form::None},
                                          {"l1", Form::L1},
                                          {"elastic_net", Form::Elastic},
                                          {"group_lasso", Form::Group}},
                                         "added to the loss; the intercept is not regularised");
  double strength = 0.0;
  double l2_strength = 0.0;
  std::int64_t group_size = 1;
  if (section.recording() || form != Form::None)
    strength = section.number("strength", 0.0, kNumberMax,
                              "lambda of lambda/2 |w|^2 (l2), of lambda |w|_1 (l1, elastic_net), of group_lasso");
  if (section.recording() || form == Form::Elastic)
    l2_strength = section.number("l2_strength", 0.0, kNumberMax, "of elastic_net's lambda/2 |w|^2");
  if (section.recording() || form == Form::Group)
    group_size = section.integer("group_size", 1, 1'000'000, "of group_lasso: consecutive coordinates");
  const auto made = [&]() -> Result<Regulariser> {
    if (strength == 0.0 && l2_strength == 0.0) return Regulariser::none();
    switch (form) {
      case Form::None:
        return Regulariser::none();
      case Form::L2:
        return Regulariser::squared_l2(strength, regularised);
      case Form::L1:
        return Regulariser::l1(strength, regularised);
      case Form::Elastic:
        return Regulariser::elastic_net(strength, l2_strength, regularised);
      case Form::Group:
        return Regulariser::group_lasso(strength, group_size, regularised);
    }
    UNDERTONE_CHECK(false);
  }();
  const Regulariser regulariser = noted(section, "kind", made, Regulariser::none());
  section.finish();
  return regulariser;
}

AlgorithmChoice parse_algorithm(config::Section section, const algorithms::Problem& problem,
                                const theorems::TheoremFacts& facts, theorems::PlannedNoise noise) {
  AlgorithmChoice out;
  if (section.has("sampling") && !section.has("theorem"))
    section.problem("sampling", "expected a theorem beside it: draws of other jobs are without replacement");
  if (section.has("theorem")) {
    out.theorem = parse_theorem(section, problem, facts, noise);
    if (section.has("sampling")) {
      out.with_replacement =
          section.choice<bool>("sampling", {{"without_replacement", false}, {"with_replacement", true}},
                               "with theorem: with replacement a batch is drawn as the source draws it, and a record "
                               "may be in it several times (default without_replacement: a little less noise)");
    }
    if (out.theorem) {
      out.settings = out.theorem->settings;
      out.draw_fraction = out.theorem->draw_fraction;
      if (out.with_replacement && reads_parts_whole(out.settings))
        section.problem("sampling", "expected without_replacement: the parts of one pass are read whole");
    }
    if (!section.recording()) {
      section.finish();
      return out.theorem ? checked(section, std::move(out)) : out;
    }
  }
  const auto kind =
      section.choice<AlgorithmKind>("kind", kAlgorithmKinds, "docs/researchers-guide.md says which reads what");
  Keys keys{section, kind};
  const std::uint64_t rounds = keys.count(
      "rounds",
      {AlgorithmKind::MinibatchSgd, AlgorithmKind::ProximalSgd, AlgorithmKind::Spider, AlgorithmKind::LocalSgd},
      "R: steps");
  double step_size = 1.0;
  if (keys.wanted({AlgorithmKind::MinibatchSgd, AlgorithmKind::ProximalSgd, AlgorithmKind::ProxSvrg,
                   AlgorithmKind::Spider, AlgorithmKind::SpiderAlternate, AlgorithmKind::LocalSgd}))
    step_size = section.number("step_size", 0.0, kNumberMax, "eta", true);
  if (keys.wanted({AlgorithmKind::MinibatchSgd, AlgorithmKind::Accelerated, AlgorithmKind::Localized,
                   AlgorithmKind::ProxSvrg, AlgorithmKind::SpiderAlternate})) {
    out.draw_fraction = section.number("draw_fraction", 0.0, 1.0,
                                       "of the records that a round reads (of prox_svrg: that a difference reads), "
                                       "drawn afresh without replacement; 1 "
                                       "is all",
                                       true);
  }
  algorithms::Averaging averaging;
  if (keys.wanted({AlgorithmKind::MinibatchSgd}))
    averaging = parse_averaging(section, step_size, problem.regulariser.l2());
  auto use = algorithms::RecordUse::Shared;
  std::vector<algorithms::AcceleratedPhase> phases;
  if (keys.wanted({AlgorithmKind::Accelerated})) {
    use = section.choice<algorithms::RecordUse>(
        "reads", {{"shared", algorithms::RecordUse::Shared}, {"one_pass", algorithms::RecordUse::OnePass}},
        "of accelerated_sgd: every round the same records, or each a part that no other reads");
    phases.push_back(parse_phase(section));
  }
  if (keys.wanted({AlgorithmKind::Localized})) {
    if (kind == AlgorithmKind::Localized) use = algorithms::RecordUse::Phased;
    for (config::Section& one : section.objects(
             "phases", 1, kStagesMax, "of localized_accelerated_sgd: phase i reads a part of n/2^i records")) {
      algorithms::AcceleratedPhase phase = parse_phase(one);
      if (one.has("radius"))
        phase.radius =
            one.number("radius", 0.0, kNumberMax, "how far from its starting point (default: all of the domain)", true);
      one.finish();
      if (kind == AlgorithmKind::Localized) phases.push_back(std::move(phase));
    }
  }
  const std::uint64_t restarts =
      keys.count("restarts", {AlgorithmKind::ProxSvrg}, "S of prox_svrg: 1, or more for PL-SVRG");
  const std::uint64_t epochs = keys.count("epochs", {AlgorithmKind::ProxSvrg}, "E of prox_svrg");
  const std::uint64_t inner =
      keys.count("inner", {AlgorithmKind::ProxSvrg}, "Q of prox_svrg: differences after each anchor");
  const std::uint64_t period = keys.count("period", {AlgorithmKind::Spider}, "q of spider: an anchor every q rounds");
  const std::uint64_t pairs = keys.count("pairs", {AlgorithmKind::SpiderAlternate}, "E - 1 of spider_alternate");
  const std::uint64_t local_steps =
      keys.count("local_steps", {AlgorithmKind::LocalSgd},
                 "K of local_sgd: a silo's own steps in a round, of one record each", kLocalStepsMax);
  const std::optional<double> smoothness = keys.smoothness();
  const std::uint64_t seed = keys.seed();
  section.finish();
  switch (kind) {
    case AlgorithmKind::MinibatchSgd:
      out.settings = algorithms::MinibatchSgdSettings{problem, rounds, step_size, averaging};
      break;
    case AlgorithmKind::Accelerated:
    case AlgorithmKind::Localized:
      out.settings = algorithms::AcceleratedSgdSettings{problem, std::move(phases), use};
      break;
    case AlgorithmKind::ProximalSgd:
      out.settings = algorithms::ProximalSgdSettings{problem, rounds, step_size};
      break;
    case AlgorithmKind::ProxSvrg:
      out.settings = algorithms::ProxSvrgSettings{problem, restarts, epochs, inner, step_size, smoothness, seed};
      break;
    case AlgorithmKind::Spider:
      out.settings = algorithms::SpiderSettings{problem, rounds, period, step_size, smoothness, seed};
      break;
    case AlgorithmKind::SpiderAlternate:
      out.settings = algorithms::SpiderAlternateSettings{problem, pairs, step_size, smoothness, seed};
      break;
    case AlgorithmKind::LocalSgd:
      out.settings = algorithms::LocalSgdSettings{problem, rounds, local_steps, step_size};
      break;
  }
  if (section.recording()) return out;
  out = checked(section, std::move(out));
  if (use == algorithms::RecordUse::OnePass && out.draw_fraction < 1.0)
    section.problem("draw_fraction", "expected 1 with reads \"one_pass\": a round's part is read whole");
  return out;
}

}  // namespace undertone::jobs
