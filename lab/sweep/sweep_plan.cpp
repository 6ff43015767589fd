#include "lab/sweep/sweep_plan.hpp"

#include <algorithm>

#include "shared/config/json_section.hpp"

namespace undertone::lab {
namespace {

constexpr std::size_t kAxesMax = 16;
constexpr std::size_t kValuesMax = 10'000;

bool names_split(const std::string& pointer) {
  return pointer == "/simulation/partition_seed" || pointer == "/simulation/holdout_seed";
}

/// Whether a pointer names what decides which records a silo holds, other than the split's seeds.
bool touches_data(const std::string& pointer) {
  const auto begins = [&](const char* with) { return pointer.rfind(with, 0) == 0; };
  const auto ends = [&](std::string_view with) {
    return pointer.size() >= with.size() && pointer.compare(pointer.size() - with.size(), with.size(), with) == 0;
  };
  if (names_split(pointer)) return false;
  return begins("/data") || begins("/simulation") || pointer == "/cohort" || ends("/records") ||
         ends("/holdout_records") || ends("/holdout_public") || ends("/public_records") || ends("/silo") ||
         ends("/count");
}

Status expand(const nlohmann::json& at, const std::string& done, std::string_view rest, std::vector<std::string>& out) {
  if (rest.empty()) {
    out.push_back(done);
    return {};
  }
  rest.remove_prefix(1);  // the slash
  const std::string key(rest.substr(0, rest.find('/')));
  rest.remove_prefix(std::min(rest.size(), key.size()));
  const Error none{ErrorCode::InvalidArgument, fmt::format("{}/{}: the job has no such value", done, key)};
  if (key == "*" && at.is_array()) {
    for (std::size_t i = 0; i < at.size(); ++i)
      if (Status down = expand(at[i], fmt::format("{}/{}", done, i), rest, out); !down) return down;
    return {};
  }
  if (at.is_object() && at.contains(key)) return expand(at.at(key), done + "/" + key, rest, out);
  if (at.is_array() && !key.empty() && key.size() < 7 && key.find_first_not_of("0123456789") == key.npos &&
      std::stoul(key) < at.size()) {
    return expand(at[std::stoul(key)], done + "/" + key, rest, out);
  }
  return none;
}

std::optional<SweepSelection> parse_selection(config::Section section) {
  enum class Rule : std::uint8_t { NegativeBinomial, Poisson };
  const auto rule =
      section.choice<Rule>("rule", {{"negative_binomial", Rule::NegativeBinomial}, {"poisson", Rule::Poisson}},
                           "of the number of runs; geometric is negative_binomial of shape 1");
  std::optional<lab::RunsRule> made;
  if (rule == Rule::NegativeBinomial || section.recording()) {
    const double shape = section.number("shape", -1.0, 100.0, "above -1: 1 is geometric, 0 logarithmic", true);
    const double stopping = section.number("stopping", 0.0, 1.0, "between 0 and 1: less of it, more runs", true);
    const auto runs = lab::NegativeBinomialRuns::create(shape, stopping);
    if (runs) {
      made = *runs;
    } else {
      section.problem("stopping", runs.error().message);
    }
  }
  if (rule == Rule::Poisson || section.recording()) {
    const auto runs = lab::PoissonRuns::create(section.number("mean", 0.0, 1e5, "of the number of runs", true));
    if (runs) {
      made = *runs;
    } else {
      section.problem("mean", runs.error().message);
    }
  }
  const std::string score = section.text("score", "the metric that decides");
  const bool largest = section.choice<bool>("better", {{"larger", true}, {"smaller", false}}, "which score is better");
  const auto seed =
      static_cast<std::uint64_t>(section.integer("seed", 0, INT64_MAX, "of the number of runs and what they are of"));
  section.finish();
  if (!made) return std::nullopt;
  return SweepSelection{*made, score, largest, seed};
}

}  // namespace

bool SweepPlan::Axis::of_split() const { return names_split(pointer); }

bool SweepPlan::varies_split() const {
  return std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.of_split(); });
}

std::size_t SweepPlan::cells() const {
  std::size_t out = seeds.size();
  for (const Axis& axis : axes) {
    if (axis.values.empty() || out > kCellsMax) return out;
    out *= axis.values.size();
  }
  return out;
}

SweepCell cell_of(const SweepPlan& plan, std::size_t index) {
  SweepCell cell;
  cell.index = index;
  cell.seed = plan.seeds[index % plan.seeds.size()];
  std::size_t rest = index / plan.seeds.size();
  cell.values.resize(plan.axes.size());
  for (std::size_t a = plan.axes.size(); a-- > 0;) {
    cell.values[a] = plan.axes[a].values[rest % plan.axes[a].values.size()];
    rest /= plan.axes[a].values.size();
  }
  return cell;
}

Result<SweepPlan> parse_sweep(std::string_view bytes, const std::filesystem::path& file) {
  UNDERTONE_TRY(const config::JsonDocument document, config::parse_json(bytes, file.string()));
  config::Problems problems(file.filename().string());
  Result<SweepPlan> plan = parse_sweep(document.root, file.parent_path(), problems);
  if (plan && plan->cells() > SweepPlan::kCellsMax)
    return Error{ErrorCode::LimitExceeded, fmt::format("{}: more than {} runs", file.string(), SweepPlan::kCellsMax)};
  return plan;
}

Result<SweepPlan> parse_sweep(const nlohmann::json& document, const std::filesystem::path& folder,
                              config::Problems& problems) {
  config::Section root(document, "", problems);
  (void)root.choice<int>("format", {{"undertone.sweep/1", 1}}, "what this file is");
  SweepPlan plan;
  plan.job = folder / root.text("job", "the job's file, relative to this one");
  for (config::Section& section : root.objects("vary", 1, kAxesMax, "what is varied: every combination is run")) {
    SweepPlan::Axis axis;
    axis.pointer = section.text("set", "a value of the job, as /json/pointer; * for every element of an array");
    if (!axis.pointer.empty() && axis.pointer.front() != '/')
      section.problem("set", "expected a pointer that begins with /");
    if (touches_data(axis.pointer)) section.problem("set", "a sweep keeps the silos' data: this would change them");
    axis.values = section.scalars("values", 1, kValuesMax, "what it is set to, one after the other");
    section.finish();
    plan.axes.push_back(std::move(axis));
  }
  const std::int64_t first = root.integer("first_seed", 0, INT64_MAX / 2, "of noise and sampling");
  const std::int64_t seeds = root.integer("seeds", 1, 100'000, "how many, one after the other: repetitions");
  for (std::int64_t s = 0; s < seeds; ++s) plan.seeds.push_back(static_cast<std::uint64_t>(first + s));
  if (root.has("noise"))
    plan.noiseless = root.choice<bool>("noise", {{"seeded", false}, {"none", true}}, "none is for baselines");
  if (root.has("answering"))
    plan.answering = static_cast<std::size_t>(root.integer("answering", 1, 10'000, "silos that answer a round"));
  if (root.has("selection"))
    plan.selection = parse_selection(root.object("selection", "runs some combinations and pays for choosing the best"));
  if (plan.selection && plan.noiseless) root.problem("selection", "there is nothing to pay with: noise is none");
  if (plan.selection && plan.varies_split())
    root.problem("selection", "expected no axis that varies the split: what is paid for is one data set");
  if (plan.selection && plan.seeds.size() != 1) root.problem("seeds", "expected 1: a selection draws its runs");
  root.finish();
  if (!problems.none()) return problems.error();
  return plan;
}

Result<std::vector<std::string>> assignments_of(const SweepPlan& plan, const SweepCell& cell, const nlohmann::json& job,
                                                bool split_alone) {
  std::vector<std::string> out;
  for (std::size_t a = 0; a < plan.axes.size(); ++a) {
    if (split_alone && !plan.axes[a].of_split()) continue;
    std::vector<std::string> pointers;
    if (Status expanded = expand(job, "", plan.axes[a].pointer, pointers); !expanded) return expanded.error();
    for (const std::string& pointer : pointers) out.push_back(pointer + "=" + cell.values[a].dump());
  }
  return out;
}

}  // namespace undertone::lab
