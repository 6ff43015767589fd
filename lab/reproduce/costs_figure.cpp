#include "lab/reproduce/costs_figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>

#include "coordinator/jobs/result.hpp"
#include "lab/draft/draft_command.hpp"
#include "lab/reproduce/compared_methods.hpp"
#include "operator/moment_bound_command.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "simulation/simulate.hpp"

namespace undertone::lab {
namespace {

using CostsJson = nlohmann::ordered_json;

constexpr double kCostsDelta = 1e-5;
constexpr std::size_t kCostsSilos = 5;
constexpr double kCostsHoldout = 0.2;
constexpr double kCostsOrder = 4.0;
constexpr double kBoughtShare = 0.1;  // of the promise's rho
constexpr int kBoughtBins = 12;
constexpr double kCostsMargin = 0.06;  // of the best clip's loss, for a bought bound
constexpr double kWrongMargin = 0.15;  // for a bound that is wrong by 2
constexpr std::array kCostsMethods = {CostsMethod::BestClip, CostsMethod::Known,  CostsMethod::Double,
                                      CostsMethod::Half,     CostsMethod::Bought, CostsMethod::Draft};

/// A data set's schema, which is public: bounds as somebody writes them who has not seen the records.
struct CostsData {
  const char* file;
  const char* schema;
  double guess;  // of the label's mean, in its encoded range: where a bound is bought
  double step;   // 1.5 over the square of the longest record, which the schema's bounds say: shorter than 2 / beta
};

const CostsData& costs_data(const std::string& name) {
  static const CostsData insurance = {"insurance.csv", R"({"label":{"column":"charges","min":0,"max":70000},"features":[
        {"column":"age","min":18,"max":64},{"column":"bmi","min":15,"max":55},{"column":"children","min":0,"max":5},
        {"column":"smoker","categories":["no","yes"]},{"column":"sex","categories":["female","male"]},
        {"column":"region","categories":["northeast","northwest","southeast","southwest"]}]})",
                                      -0.63, 1.5 / 7.0};
  static const CostsData parkinsons = {"parkinsons_updrs.csv",
                                       R"json({"label":{"column":"total_UPDRS","min":0,"max":176},"features":[
        {"column":"age","min":30,"max":90},{"column":"sex","categories":["0","1"]},
        {"column":"test_time","min":-10,"max":220},{"column":"Jitter(%)","min":0,"max":0.1},
        {"column":"Shimmer","min":0,"max":0.3},{"column":"NHR","min":0,"max":0.8},{"column":"HNR","min":0,"max":40},
        {"column":"RPDE","min":0,"max":1},{"column":"DFA","min":0.5,"max":0.9},{"column":"PPE","min":0,"max":0.8}]})json",
                                       -0.66, 1.5 / 11.0};
  return name == "insurance" ? insurance : parkinsons;
}

/// This says how many records each silo has to train on and holds out, in one repetition of a data set.
struct CostsSizes {
  std::vector<std::int64_t> records;
  std::vector<std::int64_t> holdouts;
};

/// Equal parts, as `undertone partition` deals them.
CostsSizes sizes_of(const std::string& name) {
  const std::int64_t all = name == "insurance" ? 1338 : 5875;
  CostsSizes out;
  for (std::size_t i = 0; i < kCostsSilos; ++i) {
    const std::int64_t own = all / static_cast<std::int64_t>(kCostsSilos);  // what is left over is nobody's
    const auto held = static_cast<std::int64_t>(std::floor(static_cast<double>(own) * kCostsHoldout));
    out.records.push_back(own - held);
    out.holdouts.push_back(held);
  }
  return out;
}

/// Returns what all of the figure's jobs have in common. @param rho of every record's promise
CostsJson common_job(const std::string& name, double rho, std::uint64_t seed) {
  CostsJson job = {{"format", "undertone.job/1"}, {"name", std::string(kCostsFigure)}};
  job["data"] = CostsJson::parse(costs_data(name).schema);
  job["privacy"] = {{"mode", "isrl"}, {"unit", "record"}, {"noise", "test"}};
  const CostsSizes sizes = sizes_of(name);
  for (std::size_t i = 0; i < kCostsSilos; ++i)
    job["cohort"].push_back({{"silo", fmt::format("silo-{}", i + 1)},
                             {"records", sizes.records[i]},
                             {"holdout_records", sizes.holdouts[i]},
                             {"holdout_public", true},
                             {"rho", rho},
                             {"delta", kCostsDelta}});
  job["participation"] = {
      {"quorum", kCostsSilos}, {"join_deadline_ms", 1000}, {"round_deadline_ms", 1000}, {"resend_ms", 1000}};
  job["simulation"] = {{"csv", costs_data(name).file},
                       {"partition_seed", seed},
                       {"holdout_fraction", kCostsHoldout},
                       {"holdout_seed", seed}};
  return job;
}

CostsJson training_job(const std::string& name, double rho, std::uint64_t seed, const CostsJson& bound) {
  CostsJson job = common_job(name, rho, seed);
  job["model"] = {{"kind", "least_squares"}, {"intercept", true}};
  job["domain"] = {{"kind", "l2_ball"}, {"radius", 2}};
  job["regulariser"] = {{"kind", "none"}};
  job["algorithm"] = {{"kind", "noisy_minibatch_sgd"},
                      {"rounds", 40},
                      {"step_size", costs_data(name).step},
                      {"draw_fraction", 1},
                      {"averaging", "last"}};
  job["privacy"].update(bound);
  job["evaluation"] = {{"every", 0}};
  return job;
}

CostsJson moments_bound(double bound) {
  return {{"moments", {{"order", kCostsOrder}, {"bound", bound}, {"source", "an experiment"}}}};
}

/// A run of a job with its silos dealt from the data set.
struct CostsRun {
  jobs::Job job;
  std::string text;
  std::vector<simulation::SimulatedSilo> silos;
};

Result<CostsRun> dealt(const CostsJson& job, const std::filesystem::path& folder) {
  const std::string text = job.dump();
  UNDERTONE_TRY(jobs::Job parsed, jobs::parse_job(text, std::string(kCostsFigure)));
  UNDERTONE_TRY(std::vector<simulation::SimulatedSilo> silos,
                simulation::silos_of(parsed, folder / std::string(kCostsFigure)));
  return CostsRun{std::move(parsed), text, std::move(silos)};
}

Result<coordinator::RunReport> ran(CostsRun& run, const std::filesystem::path& folder, std::uint64_t seed) {
  simulation::SimulationSettings settings;
  settings.seed = seed;
  settings.direct = true;
  return simulation::run_job(run.job, run.text, std::string(kCostsFigure), folder, std::move(run.silos), settings, {});
}

Result<double> loss_of(const CostsJson& job, const std::filesystem::path& folder, std::uint64_t seed) {
  UNDERTONE_TRY(CostsRun run, dealt(job, folder));
  UNDERTONE_TRY(const coordinator::RunReport report, ran(run, folder, seed));
  if (!report.outcome) return report.outcome.error();
  if (report.outcome->metrics.empty()) return Error{ErrorCode::InvalidData, "a run without an evaluation"};
  return report.outcome->metrics.back().values.front();
}

/// (E |g|^4)^(1/4) of the training records at their least squares. It is read off records, and not private.
Result<double> known_bound(const std::string& name, std::uint64_t seed, const std::filesystem::path& folder) {
  UNDERTONE_TRY(const CostsRun run, dealt(training_job(name, 1.0, seed, moments_bound(1.0)), folder));
  const Eigen::Index d = run.job.model->dimension();
  Eigen::MatrixXd squares = 1e-9 * Eigen::MatrixXd::Identity(d, d);
  Eigen::VectorXd products = Eigen::VectorXd::Zero(d);
  const auto record_of = [&](const models::Records& records, Eigen::Index j) {
    Eigen::VectorXd out = Eigen::VectorXd::Ones(d);
    out.head(d - 1) = records.features.col(j);
    return out;
  };
  for (const simulation::SimulatedSilo& silo : run.silos)
    for (Eigen::Index j = 0; j < silo.dataset.training.rows(); ++j) {
      const Eigen::VectorXd x = record_of(silo.dataset.training, j);
      squares += x * x.transpose();
      products += silo.dataset.training.targets[j] * x;
    }
  const Eigen::VectorXd weights = squares.ldlt().solve(products);
  double sum = 0.0;
  double count = 0.0;
  for (const simulation::SimulatedSilo& silo : run.silos)
    for (Eigen::Index j = 0; j < silo.dataset.training.rows(); ++j) {
      const Eigen::VectorXd x = record_of(silo.dataset.training, j);
      sum += std::pow((weights.dot(x) - silo.dataset.training.targets[j]) * x.norm(), kCostsOrder);
      count += 1.0;
    }
  return std::pow(sum / count, 1.0 / kCostsOrder);
}

/// The bound that a run of statistics pays for. Where the noise hides every count there is none, and the longest
/// record's gradient stands for it, of a label that is half of its range off.
Result<double> bought_moment(const std::string& name, double rho, std::uint64_t seed,
                             const std::filesystem::path& folder) {
  CostsJson job = common_job(name, rho, seed);
  const auto schema = CostsJson::parse(costs_data(name).schema);
  UNDERTONE_TRY(const CostsRun shape, dealt(training_job(name, 1.0, seed, moments_bound(1.0)), folder));
  std::vector<double> point(static_cast<std::size_t>(shape.job.model->dimension()), 0.0);
  point.back() = costs_data(name).guess;
  job["statistics"]["questions"] = {
      {{"kind", "gradient_norms"}, {"loss", "squared"}, {"intercept", true}, {"bins", kBoughtBins}, {"point", point}}};
  UNDERTONE_TRY(CostsRun run, dealt(job, folder));
  UNDERTONE_TRY(const coordinator::RunReport report, ran(run, folder, seed));
  UNDERTONE_TRY(const coordinator::ResultTexts texts, coordinator::result_texts(report));
  const auto bound = operators::bought_bound(texts.result, std::string(kCostsFigure), kCostsOrder);
  if (!bound) return jobs::record_norm(*shape.job.model, shape.job.schema);
  return bound->bound;
}

/// A draft's clip, rounds and steps, which are the same for every repetition.
Result<std::string> drafted(const std::string& name, double epsilon) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, double>, std::string> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find({name, epsilon}); found != known.end()) return found->second;
  DraftRequest request;
  request.name = std::string(kCostsFigure);
  const CostsSizes sizes = sizes_of(name);
  for (std::size_t i = 0; i < kCostsSilos; ++i)
    request.cohort.push_back(fmt::format("silo-{}={}+{}", i + 1, sizes.records[i], sizes.holdouts[i]));
  request.holdout_public = true;
  request.epsilon = epsilon;
  request.delta = kCostsDelta;
  UNDERTONE_TRY(DraftFacts facts, facts_of(request, costs_data(name).schema));
  UNDERTONE_TRY(const Draft draft, draft_job(std::move(facts), 1, true, false, {}));
  return known.emplace(std::pair(name, epsilon), draft.job).first->second;
}

Result<std::string> costs_verdict(const CostsFigure& figure, const ComparedMethods::Reached& reached) {
  const auto place = [](CostsMethod method) {
    const auto found = std::find(kCostsMethods.begin(), kCostsMethods.end(), method);
    return static_cast<std::size_t>(found - kCostsMethods.begin());
  };
  const double best = reached.means[place(CostsMethod::BestClip)].mean;
  const auto ratio = [&](CostsMethod method) { return reached.means[place(method)].mean / best; };
  const auto said = [&](CostsMethod method, double margin) {
    return fmt::format("{:.2f}{}", ratio(method),
                       !figure.judged                  ? ""
                       : ratio(method) <= 1.0 + margin ? " (holds)"
                                                       : " (fails)");
  };
  UNDERTONE_TRY(const Versus over_draft,
                versus(reached.values[place(CostsMethod::Bought)], reached.values[place(CostsMethod::Draft)]));
  return fmt::format("bought {}; twice {}, half {}; bought below draft: {}", said(CostsMethod::Bought, kCostsMargin),
                     said(CostsMethod::Double, kWrongMargin), said(CostsMethod::Half, kWrongMargin),
                     figure.judged ? std::string(to_string(over_draft.better)) : std::string("not judged"));
}

}  // namespace

std::string_view to_string(CostsMethod method) noexcept {
  switch (method) {
    case CostsMethod::BestClip:
      return "best clip of the grid";
    case CostsMethod::Known:
      return "known moment";
    case CostsMethod::Double:
      return "twice the bound";
    case CostsMethod::Half:
      return "half the bound";
    case CostsMethod::Bought:
      return "bought moment";
    case CostsMethod::Draft:
      return "draft";
  }
  return "";
}

CostsFigure costs_figure(FigureSize size) {
  if (size == FigureSize::Quick) return {{"insurance"}, {2.0}, {0.3, 1.0}, 2, false};
  return {{"insurance", "parkinsons"}, {0.5, 1.0, 2.0, 4.0}, {0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.2}, 20, true};
}

Result<std::vector<double>> costs_losses(const CostsFigure& figure, const std::string& data, CostsMethod method,
                                         double epsilon, std::uint64_t seed, const std::filesystem::path& folder) {
  const double shift =
      accounting::gaussian_shift_for(*releases::Epsilon::create(epsilon), *releases::Delta::create(kCostsDelta))
          .value();
  const double rho = 0.5 * shift * shift;
  std::vector<double> out;
  const auto run = [&](const CostsJson& job) -> Status {
    UNDERTONE_TRY(const double loss, loss_of(job, folder, seed));
    out.push_back(loss);
    return {};
  };
  if (method == CostsMethod::BestClip) {
    for (const double clip : figure.clips) UNDERTONE_TRY(run(training_job(data, rho, seed, {{"clip_norm", clip}})));
    return out;
  }
  if (method == CostsMethod::Draft) {
    UNDERTONE_TRY(const std::string text, drafted(data, epsilon));
    CostsJson job = CostsJson::parse(text);
    const CostsJson common = common_job(data, rho, seed);
    for (const char* key : {"cohort", "participation", "simulation"}) job[key] = common[key];
    job["privacy"]["noise"] = "test";
    UNDERTONE_TRY(run(job));
    return out;
  }
  if (method == CostsMethod::Bought) {
    UNDERTONE_TRY(const double bound, bought_moment(data, kBoughtShare * rho, seed, folder));
    UNDERTONE_TRY(run(training_job(data, (1.0 - kBoughtShare) * rho, seed, moments_bound(bound))));
    return out;
  }
  UNDERTONE_TRY(const double bound, known_bound(data, seed, folder));
  const double factor = method == CostsMethod::Double ? 2.0 : method == CostsMethod::Half ? 0.5 : 1.0;
  UNDERTONE_TRY(run(training_job(data, rho, seed, moments_bound(factor * bound))));
  return out;
}

Status reproduce_costs(const CostsFigure& figure, const ReproduceRequest& request) {
  if (request.data.empty())
    return Error{ErrorCode::InvalidArgument, "--data: expected the folder of the figure's data sets"};
  ComparedMethods out;
  out.name = std::string(kCostsFigure);
  out.header = {{"format", "undertone.costs/1"}, {"figure", out.name},    {"data", figure.data},
                {"epsilons", figure.epsilons},   {"clips", figure.clips}, {"repetitions", figure.repetitions}};
  out.introduction = fmt::format(
      "Least squares of five silos, 40 rounds of all records; the table shows the test loss (half the mean squared "
      "error, the label's bounds being 2 apart), the mean of {} repetitions with partitions of their own. Epsilon is "
      "of "
      "every record at its silo, with delta {:g}; it is promised as the rho of the same Gaussian noise. A bought bound "
      "has {:g} of that rho, for {} cells of gradients' lengths at a public guess of the label's mean; where the "
      "noise hides all of them, the longest record's stands for it. The best clip and "
      "the known moment are read off the records: those choices are not private.",
      figure.repetitions, kCostsDelta, kBoughtShare, kBoughtBins);
  out.title = fmt::format("{}: clips by a moment (90 % intervals)", kCostsFigure);
  out.measure = "test loss";
  out.panels = figure.data;
  out.values = figure.epsilons;
  for (const CostsMethod method : kCostsMethods) out.methods.emplace_back(to_string(method));
  out.repetitions = figure.repetitions;
  out.compute = [&](const ComparedMethods::Cell& cell) {
    return costs_losses(figure, figure.data[cell.panel], kCostsMethods[cell.method], cell.value, cell.repetition + 1,
                        request.data);
  };
  out.claim = "over the best clip";
  out.verdict = [&](std::size_t, double, const ComparedMethods::Reached& reached) {
    return costs_verdict(figure, reached);
  };
  return reproduce_compared(out, request);
}

}  // namespace undertone::lab
