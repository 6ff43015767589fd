#include "lab/reproduce/dimension_figure.hpp"

#include <array>
#include <cmath>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lab/reproduce/resumable_figure.hpp"
#include "shared/base/random_source.hpp"
#include "shared/jobs/job.hpp"
#include "simulation/direct_cohort.hpp"

namespace undertone::lab {
namespace {

using DimensionJson = nlohmann::ordered_json;

constexpr double kRadius = 1.0;      // of the l1 ball
constexpr double kLabelNoise = 0.1;  // half the width of u's law
constexpr std::array kOptimum = {0.25, -0.2, 0.15, -0.1, 0.08, -0.06, 0.04, -0.02};
constexpr Eigen::Index kMattering = kOptimum.size();  // features that w* reads
constexpr Eigen::Index kOthersSet = 6;                // of a sparse record
constexpr double kInterval = 0.9;                     // of error bars
constexpr std::array kKinds = {RecordKind::Dense, RecordKind::Sparse};
constexpr std::array kMethods = {DimensionMethod::MinibatchSgd, DimensionMethod::PrivateFrankWolfe,
                                 DimensionMethod::MirrorDescent, DimensionMethod::NoisyFrankWolfe,
                                 DimensionMethod::ConstrainedMirrorDescent};

/// A record's l2 norm.
double record_length(RecordKind kind, std::size_t dimension) {
  return std::sqrt(kind == RecordKind::Dense ? static_cast<double>(dimension)
                                             : static_cast<double>(kMattering + kOthersSet));
}

/// What is told apart in FIGURE.jsonl: one line each.
struct Cell {
  RecordKind kind;
  std::size_t dimension;
  DimensionMethod method;
  std::size_t repetition;
};

std::vector<Cell> cells_of(const DimensionFigure& figure) {
  std::vector<Cell> out;
  for (const RecordKind kind : kKinds)
    for (const std::size_t dimension : figure.dimensions)
      for (std::size_t repetition = 0; repetition < figure.repetitions; ++repetition)
        for (const DimensionMethod method : kMethods) out.push_back({kind, dimension, method, repetition});
  return out;
}

/// A job with the releases of its only silo: neither looks at a record.
struct Planned {
  jobs::Job job;
  std::string bytes;
  std::vector<planning::Plan::Segment> releases;
};

Result<Planned> planned_job(const std::string& bytes) {
  UNDERTONE_TRY(jobs::Job job, jobs::parse_job(bytes, std::string(kDimensionFigure)));
  UNDERTONE_TRY(const planning::Plan plan, jobs::plan_of(job, job.cohort.front()));
  return Planned{std::move(job), bytes, plan.segments()};
}

Result<double> excess_of_run(const Planned& planned, RecordKind kind, const data::Dataset& records,
                             std::uint64_t seed) {
  const jobs::Job& job = planned.job;
  UNDERTONE_TRY(simulation::DirectCohort cohort,
                simulation::DirectCohort::create({job.model,
                                                  job.reply_lattice,
                                                  {sha256(planned.bytes), simulation::simulated_nonce(seed)},
                                                  seed,
                                                  simulation::SimulatedNoise::Seeded,
                                                  0,
                                                  1,
                                                  job.aggregation},
                                                 {{job.cohort.front().facts.silo, &records, planned.releases, 1, 1}}));
  UNDERTONE_TRY(const algorithms::Outcome outcome, cohort.train(*jobs::make_algorithm(job)));
  return dimension_excess(kind, outcome.vectors.at("weights"));
}

/// Plans and records of the dimension that is being worked on.
class DimensionWork {
 public:
  explicit DimensionWork(const DimensionFigure& figure) : figure_(figure) {}

  Result<std::vector<double>> excesses(const Cell& cell) {
    UNDERTONE_TRY(const std::shared_ptr<const std::vector<Planned>> jobs, jobs_of(cell));
    const std::shared_ptr<const data::Dataset> records = records_of(cell);
    std::vector<double> out;
    for (const Planned& planned : *jobs) {
      UNDERTONE_TRY(const double excess, excess_of_run(planned, cell.kind, *records, cell.repetition + 1));
      out.push_back(excess);
    }
    return out;
  }

 private:
  Result<std::shared_ptr<const std::vector<Planned>>> jobs_of(const Cell& cell) {
    const std::lock_guard lock(mutex_);  // planning is what would be done twice
    const auto key = std::tuple(cell.kind, cell.dimension, cell.method);
    if (const auto known = jobs_.find(key); known != jobs_.end()) return known->second;
    std::vector<Planned> planned;
    for (const std::string& bytes : dimension_jobs(figure_, cell.kind, cell.method, cell.dimension)) {
      UNDERTONE_TRY(Planned one, planned_job(bytes));
      planned.push_back(std::move(one));
    }
    auto shared = std::make_shared<const std::vector<Planned>>(std::move(planned));
    if (jobs_.size() >= 2 * kMethods.size()) jobs_.clear();
    jobs_.emplace(key, shared);
    return std::shared_ptr<const std::vector<Planned>>(shared);
  }

  std::shared_ptr<const data::Dataset> records_of(const Cell& cell) {
    const std::lock_guard lock(mutex_);
    const auto key = std::tuple(cell.kind, cell.dimension, cell.repetition);
    if (const auto known = records_.find(key); known != records_.end()) return known->second;
    if (records_.size() == 2) records_.clear();
    auto shared = std::make_shared<const data::Dataset>(
        dimension_records(cell.kind, cell.dimension, figure_.records, cell.repetition + 1));
    records_.emplace(key, shared);
    return shared;
  }

  const DimensionFigure& figure_;
  std::mutex mutex_;
  std::map<std::tuple<RecordKind, std::size_t, DimensionMethod>, std::shared_ptr<const std::vector<Planned>>> jobs_;
  std::map<std::tuple<RecordKind, std::size_t, std::size_t>, std::shared_ptr<const data::Dataset>> records_;
};

DimensionJson description_of_cell(const Cell& cell) {
  return {{"records", std::string(to_string(cell.kind))},
          {"dimension", cell.dimension},
          {"method", std::string(to_string(cell.method))},
          {"repetition", cell.repetition}};
}

DimensionJson header_of_dimensions(const DimensionFigure& figure) {
  DimensionJson settings = DimensionJson::array();
  for (const DimensionMethod method : kMethods) {
    DimensionJson tried = DimensionJson::array();
    for (const RecordKind kind : kKinds)
      for (const std::string& job : dimension_jobs(figure, kind, method, figure.dimensions.front()))
        tried.push_back(to_hex(sha256(job)));
    settings.push_back(std::move(tried));
  }
  return {{"format", "undertone.dimensions/1"},
          {"figure", std::string(kDimensionFigure)},
          {"dimensions", figure.dimensions},
          {"repetitions", figure.repetitions},
          {"records", figure.records},
          {"epsilon", figure.epsilon},
          {"delta", figure.delta},
          {"jobs", std::move(settings)}};
}

using Excesses = std::map<std::tuple<RecordKind, DimensionMethod, std::size_t>, ExcessTable>;

Excesses excesses_of(const std::vector<Cell>& cells, const std::vector<std::vector<double>>& points) {
  Excesses out;
  for (std::size_t i = 0; i < cells.size(); ++i)
    out[{cells[i].kind, cells[i].method, cells[i].dimension}].push_back(points[i]);
  return out;
}

/// The slope of each repetition.
std::vector<double> slopes_of(const DimensionFigure& figure, const Excesses& excesses, RecordKind kind,
                              DimensionMethod method) {
  std::vector<std::vector<double>> values(figure.repetitions);
  std::vector<double> dimensions;
  for (const std::size_t dimension : figure.dimensions) {
    dimensions.push_back(static_cast<double>(dimension));
    const std::vector<double> best = excess_of_others_best(excesses.at({kind, method, dimension}));
    for (std::size_t r = 0; r < values.size(); ++r) values[r].push_back(best[r]);
  }
  std::vector<double> out(values.size());
  std::transform(values.begin(), values.end(), out.begin(),
                 [&](const std::vector<double>& one) { return log_log_slope(dimensions, one); });
  return out;
}

Result<std::string> excess_rows(const DimensionFigure& figure, const Excesses& excesses, RecordKind kind) {
  std::string out = "| method |";
  std::string rule = "| --- |";
  for (const std::size_t dimension : figure.dimensions) {
    out += fmt::format(" d = {} |", dimension);
    rule += " --- |";
  }
  out += " slope | 90 % interval |\n" + rule + " --- | --- |\n";
  for (const DimensionMethod method : kMethods) {
    out += fmt::format("| `{}` |", to_string(method));
    for (const std::size_t dimension : figure.dimensions) {
      UNDERTONE_TRY(const MeanInterval mean,
                    mean_interval(excess_of_others_best(excesses.at({kind, method, dimension})), kInterval));
      out += fmt::format(" {:.3g} |", mean.mean);
    }
    UNDERTONE_TRY(const MeanInterval slope, mean_interval(slopes_of(figure, excesses, kind, method), kInterval));
    out += fmt::format(" {:+.2f} | {:+.2f} .. {:+.2f} |\n", slope.mean, slope.low, slope.high);
  }
  return out;
}

/// Whether a method's slope is below that of minibatch SGD, by the repetitions that both were run on.
Result<std::string> slope_comparisons(const DimensionFigure& figure, const Excesses& excesses, RecordKind kind) {
  const std::vector<double> euclidean = slopes_of(figure, excesses, kind, DimensionMethod::MinibatchSgd);
  RandomSource flips(7);
  std::vector<PairedFinding> findings;
  std::vector<double> p_less;
  std::vector<double> p_more;
  for (std::size_t m = 1; m < kMethods.size(); ++m) {
    UNDERTONE_TRY(const PairedFinding finding,
                  judge_paired(slopes_of(figure, excesses, kind, kMethods[m]), euclidean, 0.0, flips));
    p_less.push_back(*finding.p_value);
    p_more.push_back(1.0 - *finding.p_value);
    findings.push_back(finding);
  }
  UNDERTONE_TRY(const std::vector<double> less, holm(p_less));
  UNDERTONE_TRY(const std::vector<double> more, holm(p_more));
  std::string out =
      "| slope less than noisy_minibatch_sgd's | by | 90 % interval | p (t, Holm) | p of the opposite | |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const char* verdict = !figure.judged                   ? "not judged"
                          : less[i] < kFindingSignificance ? "holds"
                          : more[i] < kFindingSignificance ? "fails"
                                                           : "undecided";
    out += fmt::format("| `{}` | {:+.2f} | {:+.2f} .. {:+.2f} | {:.2g} | {:.2g} | {} |\n", to_string(kMethods[i + 1]),
                       findings[i].difference.mean, findings[i].difference.low, findings[i].difference.high, less[i],
                       more[i], verdict);
  }
  return out;
}

Result<std::string> text_of_dimensions(const DimensionFigure& figure, const Excesses& excesses) {
  std::vector<double> dimensions;
  std::vector<double> logarithms;
  std::vector<double> roots;
  for (const std::size_t dimension : figure.dimensions) {
    const auto d = static_cast<double>(dimension);
    dimensions.push_back(d);
    logarithms.push_back(std::log(2.0 * d));
    roots.push_back(std::sqrt(d));
  }
  std::string out = fmt::format(
      "# {}: excess risk against the dimension\n\n"
      "Least squares over the l1 ball of radius 1, one silo of {} records, epsilon {:g}, delta {:g}, {} repetitions "
      "with "
      "records of their own.\nInvented records: y = <w*, x> + u, w* of l1 norm 0.9 on eight features. The excess is "
      "the population's, in closed "
      "form; that of 0 is {:.4f}.\nEach repetition's setting is the best of the others, by true excess: that choice is "
      "not private.\nSlopes are of ln(excess) over ln(d), one a repetition; ln(2d) itself has {:.2f} here, root d "
      "{:.2f}.\n",
      kDimensionFigure, figure.records, figure.epsilon, figure.delta, figure.repetitions,
      dimension_excess(RecordKind::Dense, Eigen::VectorXd::Zero(kMattering)), log_log_slope(dimensions, logarithms),
      log_log_slope(dimensions, roots));
  for (const RecordKind kind : kKinds) {
    UNDERTONE_TRY(const std::string rows, excess_rows(figure, excesses, kind));
    UNDERTONE_TRY(const std::string comparisons, slope_comparisons(figure, excesses, kind));
    out += fmt::format("\n## {} records\n\n{}\n{}", to_string(kind), rows, comparisons);
  }
  return out;
}

Result<Figure> picture_of_dimensions(const DimensionFigure& figure, const Excesses& excesses) {
  Figure picture;
  picture.title = fmt::format("{}: n = {}, epsilon {:g} (not private tuning; 90 % intervals)", kDimensionFigure,
                              figure.records, figure.epsilon);
  picture.columns = kKinds.size();
  for (const RecordKind kind : kKinds) {
    Panel panel{fmt::format("{} records", to_string(kind)),
                {"dimension d", AxisScale::Logarithmic},
                {"excess risk", AxisScale::Logarithmic},
                {}};
    for (const DimensionMethod method : kMethods) {
      Series series{std::string(to_string(method)), {}, SeriesStyle::LineWithPoints};
      for (const std::size_t dimension : figure.dimensions) {
        UNDERTONE_TRY(const MeanInterval mean,
                      mean_interval(excess_of_others_best(excesses.at({kind, method, dimension})), kInterval));
        Point point{static_cast<double>(dimension), mean.mean, {}};
        if (mean.low > 0.0) point.interval = Interval{mean.low, mean.high};
        series.points.push_back(point);
      }
      panel.series.push_back(std::move(series));
    }
    picture.panels.push_back(std::move(panel));
  }
  return picture;
}

std::string table_of_dimensions(const DimensionFigure& figure, const Excesses& excesses) {
  std::string out = "records,method,dimension,repetition,excess\n";
  for (const auto& [key, table] : excesses) {
    const auto& [kind, method, dimension] = key;
    const std::vector<double> best = excess_of_others_best(table);
    for (std::size_t r = 0; r < figure.repetitions; ++r)
      out += fmt::format("{},{},{},{},{:.6g}\n", to_string(kind), to_string(method), dimension, r, best[r]);
  }
  return out;
}

}  // namespace

std::string_view to_string(RecordKind kind) noexcept {
  switch (kind) {
    case RecordKind::Dense:
      return "dense";
    case RecordKind::Sparse:
      return "sparse";
  }
  return "";
}

std::string_view to_string(DimensionMethod method) noexcept {
  switch (method) {
    case DimensionMethod::MinibatchSgd:
      return "noisy_minibatch_sgd";
    case DimensionMethod::PrivateFrankWolfe:
      return "private_frank_wolfe";
    case DimensionMethod::MirrorDescent:
      return "mirror_descent";
    case DimensionMethod::NoisyFrankWolfe:
      return "noisy_frank_wolfe";
    case DimensionMethod::ConstrainedMirrorDescent:
      return "constrained_mirror_descent";
  }
  return "";
}

DimensionFigure dimension_figure(FigureSize size) {
  if (size == FigureSize::Quick) return {{16, 64}, 2, 200, 2.0, 1e-6, false};
  return {{16, 64, 256, 1024, 4096}, 5, 2000, 4.0, 1e-6, true};
}

Eigen::VectorXd dimension_optimum(std::size_t dimension) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(dimension));
  for (std::size_t i = 0; i < kOptimum.size(); ++i) out[static_cast<Eigen::Index>(i)] = kOptimum[i];
  return out;
}

data::Dataset dimension_records(RecordKind kind, std::size_t dimension, std::size_t records, std::uint64_t seed) {
  const auto d = static_cast<Eigen::Index>(dimension);
  const auto n = static_cast<Eigen::Index>(records);
  RandomSource random(RandomSource(seed).word() ^ dimension);
  const Eigen::VectorXd optimum = dimension_optimum(dimension);
  data::Dataset out;
  out.training.features = Eigen::MatrixXd::Zero(d, n);
  out.training.targets.resize(n);
  out.holdout = {Eigen::MatrixXd::Zero(d, 1), Eigen::VectorXd::Zero(1)};  // an evaluation has to read something
  const auto sign = [&] { return random.chance(0.5) ? 1.0 : -1.0; };
  for (Eigen::Index j = 0; j < n; ++j) {
    auto record = out.training.features.col(j);
    if (kind == RecordKind::Dense) {
      for (Eigen::Index i = 0; i < d; ++i) record[i] = sign();
    } else {
      for (Eigen::Index i = 0; i < kMattering; ++i) record[i] = sign();
      for (Eigen::Index set = 0; set < kOthersSet;) {
        const auto i = kMattering + static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(d - kMattering)));
        if (record[i] != 0.0) continue;
        record[i] = sign();
        ++set;
      }
    }
    out.training.targets[j] = optimum.dot(record) + kLabelNoise * (2.0 * random.unit() - 1.0);
  }
  return out;
}

double dimension_excess(RecordKind kind, const Eigen::Ref<const Eigen::VectorXd>& weights) {
  const Eigen::VectorXd off = weights - dimension_optimum(static_cast<std::size_t>(weights.size()));
  const Eigen::Index others = off.size() - kMattering;
  const double mattering = off.head(kMattering).squaredNorm();
  const double rest = off.tail(others).squaredNorm();
  if (kind == RecordKind::Dense) return 0.5 * (mattering + rest);
  return 0.5 * (mattering + rest * static_cast<double>(kOthersSet) / static_cast<double>(others));
}

std::vector<std::string> dimension_jobs(const DimensionFigure& figure, RecordKind kind, DimensionMethod method,
                                        std::size_t dimension) {
  DimensionJson job = {{"format", "undertone.job/1"}, {"name", std::string(kDimensionFigure)}};
  DimensionJson features = DimensionJson::array();
  for (std::size_t i = 0; i < dimension; ++i)
    features.push_back({{"column", fmt::format("x{}", i + 1)}, {"min", -1}, {"max", 1}});
  job["data"] = {{"label", {{"column", "y"}, {"min", -1}, {"max", 1}}}, {"features", std::move(features)}};
  job["model"] = {{"kind", "least_squares"}, {"intercept", false}};
  job["domain"] = {{"kind", "l1_ball"}, {"radius", kRadius}};
  job["regulariser"] = {{"kind", "none"}};
  job["privacy"] = {{"mode", "isrl"}, {"unit", "record"}, {"noise", "test"}};
  job["cohort"] = DimensionJson::array({{{"silo", "silo-1"},
                                         {"records", figure.records},
                                         {"holdout_records", 1},
                                         {"holdout_public", true},
                                         {"epsilon", figure.epsilon},
                                         {"delta", figure.delta}}});
  job["participation"] = {{"quorum", 1}, {"join_deadline_ms", 1000}, {"round_deadline_ms", 1000}, {"resend_ms", 1000}};
  job["evaluation"] = {{"every", 0}};
  job["wire"] = {{"replies", "i64"}};
  std::vector<std::string> out;
  // Of a coordinate, or of the same records' lengths: residuals are below 1 at first and shrink.
  for (const double residual : {0.1, 0.4}) {
    const auto try_with = [&](DimensionJson algorithm) {
      algorithm["kind"] = std::string(to_string(method));
      job["algorithm"] = std::move(algorithm);
      out.push_back(job.dump());
    };
    const double in_l2 = residual * record_length(kind, dimension);
    switch (method) {
      case DimensionMethod::MinibatchSgd:
        job["privacy"]["clip_norm"] = in_l2;
        for (const int rounds : {5, 20})
          for (const double step : {0.2, 0.6, 1.5})
            try_with({{"rounds", rounds}, {"step_size", step}, {"averaging", "uniform"}, {"draw_fraction", 1}});
        break;
      case DimensionMethod::PrivateFrankWolfe:
        job["privacy"]["coordinate_bound"] = residual;
        for (const int iterates : {24, 48, 96})
          try_with({{"iterates", iterates}, {"vertices", {{"kind", "l1_ball"}, {"radius", kRadius}}}});
        break;
      case DimensionMethod::MirrorDescent:
        job["privacy"]["clip_norm"] = residual;
        for (const int rounds : {5, 20})
          for (const double step : {1.0, 3.0, 10.0})
            try_with({{"rounds", rounds},
                      {"step_size", step},
                      {"draw_fraction", 1},
                      {"geometry", {{"potential", "p_norm"}, {"norm", 1}}}});
        break;
      case DimensionMethod::NoisyFrankWolfe:
        job["privacy"]["clip_norm"] = residual;
        for (const int rounds : {3, 10})
          for (const double step : {0.05, 0.15, 0.45})
            try_with({{"rounds", rounds}, {"step_size", step}, {"smoothness", 1}, {"set", {{"norm", 1}}}});
        break;
      case DimensionMethod::ConstrainedMirrorDescent:
        job["privacy"]["clip_norm"] = in_l2;
        for (const int rounds : {5, 20})
          for (const double step : {1.5, 5.0, 15.0})
            try_with({{"rounds", rounds}, {"step_size", step}, {"draw_fraction", 1}});
        break;
    }
  }
  return out;
}

std::vector<double> excess_of_others_best(const ExcessTable& table) {
  UNDERTONE_CHECK(table.size() >= 2 && !table.front().empty());
  const std::size_t settings = table.front().size();
  std::vector<double> totals(settings, 0.0);
  for (const std::vector<double>& one : table)
    for (std::size_t s = 0; s < settings; ++s) totals[s] += one[s];
  std::vector<double> out;
  for (const std::vector<double>& own : table) {
    std::size_t best = 0;
    for (std::size_t s = 1; s < settings; ++s)
      if (totals[s] - own[s] < totals[best] - own[best]) best = s;
    out.push_back(own[best]);
  }
  return out;
}

double log_log_slope(std::span<const double> x, std::span<const double> values) {
  UNDERTONE_CHECK(x.size() == values.size() && x.size() >= 2);
  const auto mean_log = [](std::span<const double> of) {
    double sum = 0.0;
    for (const double one : of) sum += std::log(one);
    return sum / static_cast<double>(of.size());
  };
  const double mean_x = mean_log(x);
  const double mean_value = mean_log(values);
  double products = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = std::log(x[i]) - mean_x;
    products += off * (std::log(values[i]) - mean_value);
    squares += off * off;
  }
  return products / squares;
}

Status reproduce_dimensions(const DimensionFigure& figure, const ReproduceRequest& request) {
  const std::vector<Cell> cells = cells_of(figure);
  DimensionWork work(figure);
  ResumableFigure out{std::string(kDimensionFigure), header_of_dimensions(figure), cells.size(), {}, "excess", {}, {}};
  out.describe = [&](std::size_t point) { return description_of_cell(cells[point]); };
  out.compute = [&](std::size_t point) { return work.excesses(cells[point]); };
  out.files = [&](const std::vector<std::vector<double>>& points) -> Result<FigureFiles> {
    const Excesses excesses = excesses_of(cells, points);
    UNDERTONE_TRY(std::string text, text_of_dimensions(figure, excesses));
    UNDERTONE_TRY(Figure picture, picture_of_dimensions(figure, excesses));
    return FigureFiles{table_of_dimensions(figure, excesses), std::move(text), std::move(picture)};
  };
  return reproduce_resumably(out, request);
}

}  // namespace undertone::lab
