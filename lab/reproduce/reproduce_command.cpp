#include "lab/reproduce/reproduce_command.hpp"

#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "lab/reproduce/costs_figure.hpp"
#include "lab/reproduce/dimension_figure.hpp"
#include "lab/reproduce/fairness_figure.hpp"
#include "lab/reproduce/figure_report.hpp"
#include "lab/reproduce/heavy_figure.hpp"
#include "lab/reproduce/private_fairness_figure.hpp"
#include "lab/reproduce/public_figure.hpp"
#include "lab/reproduce/rate_maps.hpp"
#include "lab/reproduce/semi_local_figure.hpp"
#include "lab/reproduce/softmax_figure.hpp"
#include "shared/base/files.hpp"
#include "shared/service/exit_code.hpp"
#include "simulation/resumable_lines.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTasksHeld = 8;

/// The tasks that are being worked on: every point of a cohort and split reads the same one.
class Tasks {
 public:
  Tasks(const Experiment& experiment, std::filesystem::path data) : experiment_(experiment), data_(std::move(data)) {}

  Result<std::shared_ptr<const Task>> get(std::size_t cohort, std::size_t split) {
    const std::lock_guard lock(mutex_);  // loading is what would be done twice
    const auto known = held_.find({split, cohort});
    if (known != held_.end()) return known->second;
    UNDERTONE_TRY(Task task, experiment_.load(data_, experiment_.cohorts[cohort], split + 1));
    if (held_.size() == kTasksHeld) held_.erase(held_.begin());
    auto shared = std::make_shared<const Task>(std::move(task));
    held_.emplace(std::pair(split, cohort), shared);
    return std::shared_ptr<const Task>(shared);
  }

 private:
  const Experiment& experiment_;
  std::filesystem::path data_;
  std::mutex mutex_;
  std::map<std::pair<std::size_t, std::size_t>, std::shared_ptr<const Task>> held_;
};

/// Infinity has no JSON.
double finite(double value) { return std::isfinite(value) ? value : 1e300; }

Json line_of(const Experiment& experiment, const PointKey& key, std::size_t split, Tasks& tasks) {
  const auto& [cohort, method, noise, epsilon] = key;
  Json line = {{"cohort", cohort},
               {"method", std::string(to_string(method))},
               {"noise", std::string(to_string(noise))},
               {"epsilon", epsilon},
               {"split", split}};
  const Result<std::shared_ptr<const Task>> task = tasks.get(cohort, split);
  const Result<Trained> trained =
      task ? train_point(experiment, experiment.cohorts[cohort], **task, {method, noise, epsilon}, split + 1)
           : Result<Trained>(task.error());
  if (!trained) {
    line["error"] = trained.error().message;
    return line;
  }
  line["step_size"] = trained->setting.step_size;
  line["clip"] = trained->setting.clip;
  line["period"] = trained->setting.period;
  line["training_loss"] = finite(trained->training_loss);
  line["test_error"] = finite(trained->test_error);
  line["diverged"] = trained->diverged;
  line["step_at_edge"] = trained->step_at_edge;
  line["clip_at_edge"] = trained->clip_at_edge;
  return line;
}

std::string header_of(const Experiment& experiment) {
  // What the lines depend on: another grid is another file.
  Json grid = {{"epsilons", experiment.epsilons},       {"minibatch_steps", experiment.minibatch_steps},
               {"local_steps", experiment.local_steps}, {"clips", experiment.clips},
               {"periods", experiment.periods},         {"repetitions", experiment.repetitions},
               {"widenings", experiment.widenings},     {"judged", experiment.judged}};
  if (experiment.recipe)
    grid["recipe"] = {{"rounds", experiment.recipe->rounds}, {"averaged", experiment.recipe->averaged}};
  Json cohorts = Json::array();
  for (const Cohort& cohort : experiment.cohorts) cohorts.push_back(cohort.title);
  return Json{{"format", "undertone.reproduction/2"},
              {"figure", experiment.name},
              {"cohorts", std::move(cohorts)},
              {"grid", std::move(grid)}}
             .dump() +
         "\n";
}

Result<FigureResults> results_of(const Experiment& experiment, const std::filesystem::path& lines, Tasks& tasks) {
  UNDERTONE_TRY(const std::string text, read_file(lines, simulation::ResumableLines::kBytesMax));
  const std::vector<PointKey> points = points_of(experiment);
  FigureResults out;
  std::size_t from = text.find('\n') + 1;
  for (std::size_t split = 0; split < experiment.splits; ++split) {
    for (const PointKey& key : points) {
      const std::size_t to = text.find('\n', from);
      const Json line = Json::parse(text.substr(from, to - from), nullptr, false);
      from = to + 1;
      if (to == std::string::npos || !line.is_object())
        return Error{ErrorCode::InvalidData, fmt::format("{}: fewer lines than points", lines.string())};
      if (line.contains("error")) {
        return Error{ErrorCode::InvalidData, fmt::format("{}, epsilon {}: {}", to_string(std::get<1>(key)),
                                                         std::get<3>(key), line["error"].get<std::string>())};
      }
      out[key].splits.push_back(
          {{line.at("step_size").get<double>(), line.at("clip").get<double>(), line.at("period").get<std::uint64_t>()},
           line.at("training_loss").get<double>(),
           line.at("test_error").get<double>(),
           line.at("diverged").get<double>(),
           line.at("step_at_edge").get<bool>(),
           line.at("clip_at_edge").get<bool>()});
    }
  }
  for (auto& [key, point] : out) {
    const auto& [cohort, method, noise, epsilon] = key;
    if (noise == NoiseRule::None || noise == NoiseRule::Recipe) continue;
    std::map<std::uint64_t, std::size_t> won;
    for (const Trained& one : point.splits) ++won[one.setting.period];
    Setting setting = point.splits.front().setting;
    for (const auto& [period, times] : won)
      if (times > won[setting.period]) setting.period = period;
    UNDERTONE_TRY(const std::shared_ptr<const Task> task, tasks.get(cohort, 0));
    UNDERTONE_TRY(const RealCost cost, real_cost(experiment.cohorts[cohort], *task, {method, noise, epsilon}, setting));
    point.cost = cost;
  }
  return out;
}

}  // namespace

Status reproduce(const Experiment& experiment, const ReproduceRequest& request) {
  Tasks tasks(experiment, request.data);
  // Missing data are found before anything is trained.
  for (std::size_t cohort = 0; cohort < experiment.cohorts.size(); ++cohort) {
    UNDERTONE_TRY(tasks.get(cohort, 0));
  }
  const std::filesystem::path lines = request.out / (experiment.name + ".jsonl");
  if (Status made = make_folder_for(lines); !made) return made;
  const std::vector<PointKey> points = points_of(experiment);
  const std::size_t total = points.size() * experiment.splits;
  UNDERTONE_TRY(const std::unique_ptr<simulation::ResumableLines> runs,
                simulation::ResumableLines::open(lines, header_of(experiment), total));
  const auto begin = std::chrono::steady_clock::now();
  Status trained = runs->make(request.threads, [&](std::size_t run) {
    return line_of(experiment, points[run % points.size()], run / points.size(), tasks).dump();
  });
  if (!trained) return trained;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Result<FigureResults> results = results_of(experiment, lines, tasks);
  if (!results) return Error{results.error().code, fmt::format("{}: {}", lines.string(), results.error().message)};
  UNDERTONE_TRY(const std::string text, write_figure_report(experiment, *results, request.out));
  if (experiment.recipe) fmt::print("Points of the authors' recipe are NOT PRIVATE at the epsilon shown.\n\n");
  fmt::print("{}\n{} points in {:.1f} s\n", text, total - std::min(total, runs->kept()), seconds);
  return {};
}

namespace {

/// A figure that is no grid of compared trainings. It says itself where it needs data.
struct OwnFigure {
  std::string_view name;
  Status (*run)(const ReproduceRequest&);
};

/// @param figure with repetitions, of which the request may want fewer
template <class AnyFigure>
AnyFigure shortened(AnyFigure figure, const ReproduceRequest& request) {
  if (request.splits != 0) figure.repetitions = std::max<std::size_t>(2, std::min(figure.repetitions, request.splits));
  return figure;
}

template <const char* name>
Status rates_of(const ReproduceRequest& request) {
  return reproduce_rates(name, request);
}
constexpr char kPublicRates[] = "fig2.1";
constexpr char kConvexRates[] = "fig3.3";
constexpr char kNonconvexRates[] = "fig3.4";
constexpr char kHeavyRates[] = "fig4.1";

template <const char* name>
Status fairness_of(const ReproduceRequest& request) {
  FairnessFigure figure = fairness_figure(name, request.size);
  if (request.splits != 0) figure.repetitions = std::min(figure.repetitions, request.splits);
  return reproduce_fairness(figure, request);
}
constexpr char kNotionsFigure[] = "fig5.1";
constexpr char kCompasFigure[] = "fig5.1-compas";
constexpr char kBatchesFigure[] = "fig5.2";
constexpr char kMissingGroupsFigure[] = "fig5.3";

template <const char* name>
Status private_fairness_of(const ReproduceRequest& request) {
  PrivateFairnessFigure figure = private_fairness_figure(name, request.size);
  if (request.splits != 0) figure.repetitions = std::min(figure.repetitions, request.splits);
  return reproduce_private_fairness(figure, request);
}
constexpr char kPrivateParityFigure[] = "fig6.2";
constexpr char kPrivateOddsFigure[] = "fig6.4";

constexpr OwnFigure kOwn[] = {
    {kPublicRates, rates_of<kPublicRates>},
    {kConvexRates, rates_of<kConvexRates>},
    {kNonconvexRates, rates_of<kNonconvexRates>},
    {kHeavyRates, rates_of<kHeavyRates>},
    {kNotionsFigure, fairness_of<kNotionsFigure>},
    {kCompasFigure, fairness_of<kCompasFigure>},
    {kBatchesFigure, fairness_of<kBatchesFigure>},
    {kMissingGroupsFigure, fairness_of<kMissingGroupsFigure>},
    {kPrivateParityFigure, private_fairness_of<kPrivateParityFigure>},
    {kPrivateOddsFigure, private_fairness_of<kPrivateOddsFigure>},
    {kDimensionFigure,
     [](const ReproduceRequest& request) {
       return reproduce_dimensions(shortened(dimension_figure(request.size), request), request);
     }},
    {kCostsFigure,
     [](const ReproduceRequest& request) {
       return reproduce_costs(shortened(costs_figure(request.size), request), request);
     }},
    {kHeavyFigure,
     [](const ReproduceRequest& request) {
       return reproduce_heavy(shortened(heavy_figure(request.size), request), request);
     }},
    {kPublicFigure,
     [](const ReproduceRequest& request) {
       return reproduce_public(shortened(public_figure(request.size), request), request);
     }},
    {kRidgeFigure,
     [](const ReproduceRequest& request) {
       return reproduce_ridges(shortened(public_figure(request.size), request), request);
     }},
    {kSemiLocalFigure,
     [](const ReproduceRequest& request) {
       return reproduce_semi_local(shortened(semi_local_figure(request.size), request), request);
     }},
    {kSoftmaxFigure, [](const ReproduceRequest& request) {
       return reproduce_softmax(shortened(softmax_figure(request.size), request), request);
     }}};

}  // namespace

int run_reproduce(const ReproduceRequest& request) {
  const auto asked = [&](std::string_view name) { return request.figure == "all" || request.figure == name; };
  std::vector<Experiment> wanted;
  std::string known;
  for (const Experiment& one : experiments()) {
    known += " " + one.name;
    if (!asked(one.name)) continue;
    wanted.push_back(request.size == FigureSize::Quick ? quick(one) : one);
    if (request.splits != 0) wanted.back().splits = std::min(one.splits, request.splits);
  }
  std::vector<OwnFigure> own;
  for (const OwnFigure& one : kOwn) {
    known += fmt::format(" {}", one.name);
    if (asked(one.name)) own.push_back(one);
  }
  if (wanted.empty() && own.empty())
    return service::fail(
        {ErrorCode::InvalidArgument, fmt::format("\"{}\": expected all, or one of{}", request.figure, known)});
  if (!wanted.empty() && request.data.empty())
    return service::fail({ErrorCode::InvalidArgument, "--data: expected the folder of the figure's data sets"});
  int code = service::kDone;
  const auto after = [&](std::string_view name, const Status& done) {
    if (!done) code = service::fail(Error{done.error().code, fmt::format("{}: {}", name, done.error().message)});
  };
  for (const OwnFigure& one : own) after(one.name, one.run(request));
  for (const Experiment& one : wanted) after(one.name, reproduce(one, request));
  return code;
}

}  // namespace undertone::lab
