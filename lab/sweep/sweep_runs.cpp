#include "lab/sweep/sweep_runs.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "lab/sweep/selection.hpp"
#include "lab/sweep/split_summary.hpp"
#include "lab/sweep/sweep_plan.hpp"
#include "shared/base/files.hpp"
#include "shared/config/json_section.hpp"
#include "shared/data/csv_table.hpp"
#include "simulation/direct_cohort.hpp"
#include "simulation/resumable_lines.hpp"
#include "simulation/simulate.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20U;
constexpr std::size_t kPricedMax = 10'000;  // combinations whose promises are looked at
constexpr const char* kSelectionWarning =
    "a simulation with seeded noise; with a silo's own, this is what the best run costs if it alone is published, "
    "while "
    "the other runs, how many they were and whoever saw the silos' replies stay secret";
constexpr const char* kWarning =
    "not private: noise is seeded, and whoever picks settings by these numbers has looked at the silos' records; that "
    "choice is charged to nobody";

/// All runs of a sweep share this. Nothing writes to it while runs are made.
struct Sweep {
  SweepPlan plan;
  std::string job_bytes;
  nlohmann::json job;
  std::vector<std::string> metrics;
};

/// The job of a cell, or of its split alone.
struct CellJob {
  std::string bytes;
  jobs::Job job;
};

Result<CellJob> job_of(const Sweep& sweep, const SweepCell& cell, bool split_alone = false) {
  UNDERTONE_TRY(const std::vector<std::string> set, assignments_of(sweep.plan, cell, sweep.job, split_alone));
  UNDERTONE_TRY(std::string bytes, simulation::job_for_simulation(sweep.job_bytes, sweep.plan.job.string(), set));
  UNDERTONE_TRY(jobs::Job job, jobs::parse_job(bytes, sweep.plan.job.string()));
  return CellJob{std::move(bytes), std::move(job)};
}

/// The silos with their data, once for every split that is being worked on.
class SplitSilos {
 public:
  using Silos = std::shared_ptr<const std::vector<simulation::SimulatedSilo>>;

  explicit SplitSilos(const Sweep& sweep) : sweep_(sweep) {}

  Result<Silos> of(const SweepCell& cell) {
    std::string split;
    for (std::size_t a = 0; a < sweep_.plan.axes.size(); ++a)
      if (sweep_.plan.axes[a].of_split()) split += cell.values[a].dump() + ",";
    const std::lock_guard lock(mutex_);  // loading is what would be done twice
    const auto known = std::find_if(held_.begin(), held_.end(), [&](const auto& one) { return one.first == split; });
    if (known != held_.end()) return known->second;
    UNDERTONE_TRY(const CellJob made, job_of(sweep_, cell, true));
    UNDERTONE_TRY(std::vector<simulation::SimulatedSilo> silos, simulation::silos_of(made.job, sweep_.plan.job));
    if (held_.size() == kSplitsHeld) held_.erase(held_.begin());
    held_.emplace_back(split, std::make_shared<const std::vector<simulation::SimulatedSilo>>(std::move(silos)));
    return held_.back().second;
  }

 private:
  static constexpr std::size_t kSplitsHeld = 8;

  const Sweep& sweep_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, Silos>> held_;  // the longest held first
};

Result<Sweep> load_sweep(const std::filesystem::path& file) {
  UNDERTONE_TRY(const std::string bytes, read_file(file, kFileBytesMax));
  UNDERTONE_TRY(SweepPlan plan, parse_sweep(bytes, file));
  UNDERTONE_TRY(const std::string job_bytes, read_file(plan.job, jobs::kJobBytesMax));
  UNDERTONE_TRY(std::string tested, simulation::job_for_simulation(job_bytes, plan.job.string(), {}));
  const Result<jobs::Job> job = jobs::parse_job(tested, plan.job.string());
  if (!job) return job.error();
  Sweep sweep{std::move(plan), std::move(tested), {}, {}};
  sweep.job = nlohmann::json::parse(sweep.job_bytes);
  if (!job->model) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: a job of statistics has no metrics to compare settings by", sweep.plan.job.string())};
  }
  for (const std::string_view name : job->model->metric_names()) sweep.metrics.emplace_back(name);
  return sweep;
}

/// What seeds share, once for every combination that is being worked on: plans look at no seed, and those of bins take
/// longer than many a run.
class PlannedCells {
 public:
  struct Planned {
    SplitSilos::Silos silos;  // whom the members look at
    simulation::PlannedCohort cohort;
  };
  using Shared = std::shared_ptr<const Planned>;

  explicit PlannedCells(SplitSilos& splits) : splits_(splits) {}

  Result<Shared> of(const jobs::Job& job, const SweepCell& cell) {
    const std::lock_guard lock(mutex_);
    const auto known =
        std::find_if(held_.begin(), held_.end(), [&](const auto& one) { return one.first == cell.values; });
    if (known != held_.end()) return known->second;
    UNDERTONE_TRY(SplitSilos::Silos silos, splits_.of(cell));
    UNDERTONE_TRY(simulation::PlannedCohort cohort, simulation::plan_cohort(job, *silos));
    if (held_.size() == kHeld) held_.erase(held_.begin());
    held_.emplace_back(cell.values, std::make_shared<const Planned>(Planned{std::move(silos), std::move(cohort)}));
    return held_.back().second;
  }

 private:
  static constexpr std::size_t kHeld = 8;

  SplitSilos& splits_;
  std::mutex mutex_;
  std::vector<std::pair<std::vector<nlohmann::json>, Shared>> held_;  // the longest held first
};

/// What a run says of itself.
struct RunNumbers {
  Json json;
};

Result<RunNumbers> outcome_of(const Sweep& sweep, PlannedCells& plans, const SweepCell& cell) {
  UNDERTONE_TRY(const CellJob made, job_of(sweep, cell));
  const jobs::Job& job = made.job;
  UNDERTONE_TRY(const PlannedCells::Shared planned, plans.of(job, cell));
  const double epsilon = planned->cohort.epsilon;
  UNDERTONE_TRY(simulation::DirectCohort cohort,
                simulation::DirectCohort::create(
                    {job.model,
                     job.reply_lattice,
                     {sha256(made.bytes), simulation::simulated_nonce(cell.seed)},
                     cell.seed,
                     sweep.plan.noiseless ? simulation::SimulatedNoise::None : simulation::SimulatedNoise::Seeded,
                     sweep.plan.answering,
                     1,
                     job.aggregation},
                    planned->cohort.members));
  UNDERTONE_TRY(const std::unique_ptr<algorithms::FederatedAlgorithm> algorithm,
                simulation::algorithm_of(job, planned->cohort, sweep.plan.job.parent_path()));
  UNDERTONE_TRY(const algorithms::Outcome outcome, cohort.train(*algorithm));
  if (outcome.metrics.empty())
    return Error{ErrorCode::InvalidArgument, "a sweep compares evaluations, and no silo of the job holds records out"};
  RunNumbers out;
  out.json["epsilon"] = sweep.plan.noiseless ? Json(nullptr) : Json(epsilon);
  const algorithms::MetricsRow& last = outcome.metrics.back();
  for (std::size_t m = 0; m < sweep.metrics.size(); ++m) out.json[sweep.metrics[m]] = last.values[m];
  return out;
}

Json line_of(const Sweep& sweep, PlannedCells& plans, const SweepCell& cell) {
  Json line{{"run", cell.index}};
  for (std::size_t a = 0; a < sweep.plan.axes.size(); ++a) line["set"][sweep.plan.axes[a].pointer] = cell.values[a];
  line["seed"] = cell.seed;
  const Result<RunNumbers> outcome = outcome_of(sweep, plans, cell);
  if (outcome) {
    line["result"] = outcome->json;
  } else {
    line["error"] = outcome.error().message;
  }
  return line;
}

/// The first line of sweep.jsonl: what the others are of.
std::string header_of(const Sweep& sweep, const std::string& file_bytes) {
  return Json{{"format", "undertone.sweep-results/1"},
              {"sweep", to_hex(sha256(file_bytes))},
              {"job", to_hex(sha256(sweep.job_bytes))},
              {"note", sweep.plan.selection ? kSelectionWarning : kWarning}}
             .dump() +
         "\n";
}

bool is_line(const nlohmann::json& line, const SweepPlan& plan) {
  if (!line.is_object() || !line.contains("run") || !line.contains("seed") || !line.contains("set")) return false;
  const bool good = line.contains("result") && line["result"].is_object();
  const bool failed = line.contains("error") && line["error"].is_string();
  return good != failed && std::all_of(plan.axes.begin(), plan.axes.end(), [&](const SweepPlan::Axis& axis) {
           return line["set"].is_object() && line["set"].contains(axis.pointer);
         });
}

/// @param summary sees every line
Status write_table(const Sweep& sweep, const std::filesystem::path& lines, const std::filesystem::path& csv,
                   SplitSummary& summary) {
  UNDERTONE_TRY(const std::string text, read_file(lines, simulation::ResumableLines::kBytesMax));
  std::string out = "run";
  for (const SweepPlan::Axis& axis : sweep.plan.axes) out += "," + data::csv_cell(axis.pointer);
  out += ",seed,epsilon";
  for (const std::string& metric : sweep.metrics) out += "," + metric;
  out += ",error\n";
  std::size_t from = text.find('\n') + 1;
  while (from < text.size()) {
    const std::size_t to = text.find('\n', from);
    const nlohmann::json line = nlohmann::json::parse(text.substr(from, to - from), nullptr, false);
    from = to + 1;
    if (!is_line(line, sweep.plan)) {
      return Error{
          ErrorCode::InvalidData,
          fmt::format("{}: expected lines as a sweep writes them, found another at byte {}", lines.string(), from)};
    }
    summary.add(line);
    out += line.at("run").dump();
    for (const SweepPlan::Axis& axis : sweep.plan.axes)
      out += "," + data::csv_cell(line.at("set").at(axis.pointer).dump());
    out += "," + line.at("seed").dump();
    const bool good = line.contains("result");
    const auto cell = [&](const std::string& key) {
      return "," + (good && line["result"].contains(key) && !line["result"][key].is_null() ? line["result"][key].dump()
                                                                                           : std::string());
    };
    out += cell("epsilon");
    for (const std::string& metric : sweep.metrics) out += cell(metric);
    out += "," + (good ? std::string() : data::csv_cell(line.at("error").get<std::string>())) + "\n";
  }
  return write_file_atomically(csv, out);
}

Result<SelectionPrice> price_of(const Sweep& sweep) {
  const std::size_t combinations = sweep.plan.cells();
  if (combinations > kPricedMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("a selection from {} combinations: at most {}", combinations, kPricedMax)};
  }
  std::vector<jobs::Job> jobs;
  for (std::size_t i = 0; i < combinations; ++i) {
    UNDERTONE_TRY(CellJob made, job_of(sweep, cell_of(sweep.plan, i)));
    jobs.push_back(std::move(made.job));
  }
  return lab::price_of(sweep.plan.selection->rule, jobs);
}

/// The best line of a selection, with its price. A run that failed is worse than any that did not.
Status write_selection(const Sweep& sweep, const SelectionPrice& price, const std::filesystem::path& lines,
                       const std::filesystem::path& file) {
  UNDERTONE_TRY(const std::string text, read_file(lines, simulation::ResumableLines::kBytesMax));
  const SweepSelection& selection = *sweep.plan.selection;
  Json best;
  for (std::size_t from = text.find('\n') + 1; from < text.size();) {
    const std::size_t to = text.find('\n', from);
    const Json line = Json::parse(text.substr(from, to - from), nullptr, false);
    from = to + 1;
    if (!is_line(line, sweep.plan)) continue;
    if (!line.contains("result") || !line["result"].contains(selection.score)) continue;
    const double score = line["result"][selection.score].get<double>();
    const bool better = best.is_null() ||
                        (selection.largest ? score > best["score"].get<double>() : score < best["score"].get<double>());
    if (better) best = {{"run", line["run"]}, {"set", line["set"]}, {"seed", line["seed"]}, {"score", score}};
  }
  const Json out = {{"format", "undertone.selection/1"},
                    {"score", selection.score},
                    {"better", selection.largest ? "larger" : "smaller"},
                    {"best", std::move(best)},
                    {"epsilon", price.epsilon},
                    {"delta", price.delta},
                    {"bound", price.bound},
                    {"one_run", {{"epsilon", price.base_epsilon}, {"delta", price.base_delta}}},
                    {"runs_mean", price.runs_mean},
                    {"note", kSelectionWarning}};
  return write_file_atomically(file, out.dump(2) + "\n");
}

}  // namespace

struct SweepRuns::Everything {
  Everything(Sweep loaded, std::string bytes)
      : sweep(std::move(loaded)), file_bytes(std::move(bytes)), splits(sweep), plans(splits) {}

  Sweep sweep;
  std::string file_bytes;
  SplitSilos splits;
  PlannedCells plans;
  std::vector<SweepCell> drawn;  // of a selection
  std::optional<SelectionPrice> price;
};

SweepRuns::SweepRuns(std::unique_ptr<Everything> everything) : everything_(std::move(everything)) {}
SweepRuns::SweepRuns(SweepRuns&&) noexcept = default;
SweepRuns::~SweepRuns() = default;

Result<SweepRuns> SweepRuns::open(const std::filesystem::path& file) {
  UNDERTONE_TRY(std::string bytes, read_file(file, kFileBytesMax));
  UNDERTONE_TRY(Sweep sweep, load_sweep(file));
  auto out = std::make_unique<Everything>(std::move(sweep), std::move(bytes));
  // Missing data are found before anything is run.
  UNDERTONE_TRY(out->splits.of(cell_of(out->sweep.plan, 0)));
  if (const std::optional<SweepSelection>& selection = out->sweep.plan.selection) {
    const std::vector<std::string>& metrics = out->sweep.metrics;
    if (std::find(metrics.begin(), metrics.end(), selection->score) == metrics.end()) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("/selection/score: the model has no metric \"{}\"", selection->score)};
    }
    UNDERTONE_TRY(out->price, price_of(out->sweep));
    out->drawn = drawn_cells(out->sweep.plan);
  }
  return SweepRuns(std::move(out));
}

std::string SweepRuns::header() const { return header_of(everything_->sweep, everything_->file_bytes); }

std::size_t SweepRuns::total() const {
  return everything_->price ? everything_->drawn.size() : everything_->sweep.plan.cells();
}

std::string SweepRuns::line(std::size_t run) const {
  UNDERTONE_CHECK(run < total());
  const Sweep& sweep = everything_->sweep;
  return line_of(sweep, everything_->plans, everything_->price ? everything_->drawn[run] : cell_of(sweep.plan, run))
      .dump();
}

Result<std::vector<std::string>> SweepRuns::finish(const std::filesystem::path& out) const {
  const Sweep& sweep = everything_->sweep;
  const std::optional<SelectionPrice>& price = everything_->price;
  const std::filesystem::path lines = out / "sweep.jsonl";
  std::vector<std::string> said;
  SplitSummary summary(sweep.plan, sweep.metrics);
  UNDERTONE_TRY(write_table(sweep, lines, out / "sweep.csv", summary));
  if (sweep.plan.varies_split()) {
    const std::filesystem::path means = out / "splits.csv";
    UNDERTONE_TRY(write_file_atomically(means, summary.csv()));
    said.push_back(fmt::format("means and standard errors over splits: {}", means.string()));
  }
  if (price) {
    const std::filesystem::path selection = out / "selection.json";
    UNDERTONE_TRY(write_selection(sweep, *price, lines, selection));
    said.push_back(
        fmt::format("the best of {} runs is in {}: epsilon {:.4g}, delta {:.3g} where one run has {:.4g}, {:.3g}",
                    total(), selection.string(), price->epsilon, price->delta, price->base_epsilon, price->base_delta));
  }
  return said;
}

const char* SweepRuns::warning() const { return everything_->price ? kSelectionWarning : kWarning; }

}  // namespace undertone::lab
