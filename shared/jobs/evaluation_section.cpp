#include "shared/jobs/evaluation_section.hpp"

#include "shared/releases/rounds_max.hpp"

namespace undertone::jobs {
namespace {

constexpr std::uint64_t kEvaluationsMax = 10'000;

}  // namespace

Evaluation parse_evaluation(config::Section& root, const models::Model& model, const data::Schema& schema,
                            releases::Unit unit, std::uint64_t rounds, config::Problems& problems) {
  using Kind = models::MetricDetail::Kind;
  root.otherwise("evaluation", nlohmann::json::object());
  config::Section section = root.object("evaluation", "may be left out");
  section.otherwise("every", 0);
  section.otherwise("metrics", "basic");
  Evaluation out;
  out.every =
      static_cast<std::uint64_t>(section.integer("every", 0, static_cast<std::int64_t>(releases::kRoundsMax),
                                                 "evaluate after so many steps; 0 (default): only after the last"));
  out.detail.kind = section.choice<Kind>(
      "metrics", {{"basic", Kind::Basic}, {"detailed", Kind::Detailed}, {"groups", Kind::Groups}},
      "basic (default): loss, accuracy, share of positives; of a number the loss alone. detailed: also confusion table "
      "and AUC; of a number RMSE, MAE, R^2. groups: also a confusion table of each group of the sensitive columns, and "
      "how far groups are apart. Public holdouts are evaluated exactly either way; of private ones more "
      "numbers share the same noised answer, so each has more noise");
  if (unit == releases::Unit::Person || section.recording()) {
    section.otherwise("persons", "mean");
    out.one_record = section.choice<bool>(
        "persons", {{"mean", false}, {"one_record", true}},
        "of unit person: mean (default): a person counts with the mean over her records' scores. one_record: with the "
        "scores of one of her records, drawn afresh and in secret, as if she had no other");
  } else {
    section.refuse("persons", "expected none: the unit is not a person");
  }
  section.finish();
  constexpr Eigen::Index kTableClassesMax = 32;  // of a confusion table, which every evaluation brings
  if (const models::Network* network = model.network();
      network != nullptr && out.detail.kind != Kind::Basic && network->classes() > kTableClassesMax) {
    problems.add("/evaluation/metrics", fmt::format("expected \"basic\": a confusion table is of at most {} classes, "
                                                    "the label has {}",
                                                    kTableClassesMax, network->classes()));
  }
  if (out.detail.kind == Kind::Groups) {
    constexpr Eigen::Index kTablePlacesMax = 65'536;
    constexpr Eigen::Index kComparedGroupsMax = 256;  // each is compared with each other one
    constexpr double kTableNumbersMax = 0x1p22;       // of all evaluations, which a coordinator keeps
    constexpr double kComparedMax = 0x1p28;           // of all evaluations, some seconds of a processor
    out.detail.groups = static_cast<Eigen::Index>(data::group_count(schema));
    const auto classes = static_cast<Eigen::Index>(data::class_count(schema));
    if (out.detail.groups == 0)
      problems.add("/evaluation/metrics", "expected \"basic\" or \"detailed\": data/sensitive names no column");
    if (!model.classifies())
      problems.add("/evaluation/metrics", "expected \"basic\" or \"detailed\": groups are compared by classes");
    if (out.detail.groups > kComparedGroupsMax)
      problems.add("/evaluation/metrics", fmt::format("expected at most {} groups to compare, got {}: merge some",
                                                      kComparedGroupsMax, out.detail.groups));
    const std::uint64_t between = out.every == 0 ? 0 : rounds / out.every;
    const double evaluations = static_cast<double>(between) + 1.0;
    // Every pair of groups is compared for every class and label.
    const double compared = static_cast<double>(out.detail.places(classes)) * static_cast<double>(out.detail.groups);
    if (evaluations * compared > kComparedMax)
      problems.add("/evaluation/every",
                   fmt::format("{} evaluations of {} comparisons each: expected at most {:.0f} of them", evaluations,
                               compared, kComparedMax));
    if (evaluations * static_cast<double>(out.detail.places(classes)) > kTableNumbersMax)
      problems.add("/evaluation/every",
                   fmt::format("{} evaluations of {} numbers each: expected at most {:.0f} numbers", evaluations,
                               out.detail.places(classes), kTableNumbersMax));
    if (out.detail.places(classes) > kTablePlacesMax)
      problems.add("/evaluation/metrics", fmt::format("expected at most {} places in all groups' tables, got {}: merge "
                                                      "groups",
                                                      kTablePlacesMax, out.detail.places(classes)));
  }
  if (out.every != 0 && rounds / out.every > kEvaluationsMax) {
    problems.add("/evaluation/every",
                 fmt::format("expected at most {} evaluations, got {}", kEvaluationsMax, rounds / out.every));
  }
  return out;
}

}  // namespace undertone::jobs
