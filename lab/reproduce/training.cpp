#include "lab/reproduce/training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/reproduce/authors_recipe.hpp"
#include "shared/accounting/accountant.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/algorithms/proximal/spider.hpp"
#include "shared/algorithms/sgd/local_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/base/byte_stream.hpp"
#include "shared/models/layered_model.hpp"
#include "simulation/direct_cohort.hpp"

namespace undertone::lab {
namespace {

using Segments = std::vector<planning::Plan::Segment>;

constexpr std::size_t kStepsWidened = 3;  // by which a grid grows at a time

/// K/n of a method's sampled releases.
double draw_fraction_of(const Cohort& cohort, const FigurePoint& point) {
  if (cohort.draw_fraction) return *cohort.draw_fraction;
  const double root = point.noise == NoiseRule::None ? 18.0 : point.epsilon;  // as the source's largest batch
  return std::min(1.0, std::sqrt(root) / (2.0 * std::sqrt(static_cast<double>(cohort.rounds))));
}

std::int64_t drawn_of(double fraction, std::int64_t records) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(fraction * static_cast<double>(records))));
}

algorithms::Method algorithm_of(const Cohort& cohort, const Task& task, const FigurePoint& point,
                                const Setting& setting, std::uint64_t seed) {
  algorithms::Problem problem{task.model.dimension(), geometry::Domain::whole_space(), geometry::Regulariser::none(),
                              queries::PointType::F64};
  problem.initial = task.start;
  switch (point.method) {
    case Method::MinibatchSgd:
      return algorithms::MinibatchSgdSettings{
          std::move(problem), cohort.rounds, setting.step_size, {algorithms::Averaging::Kind::Last, 1.0}};
    case Method::LocalSgd: {
      const std::int64_t records = task.silos.front().training.count();
      const auto steps = static_cast<std::uint64_t>(drawn_of(draw_fraction_of(cohort, point), records));
      return algorithms::LocalSgdSettings{std::move(problem), cohort.rounds, steps, setting.step_size};
    }
    case Method::Spider:
      if (setting.period == 0) {
        // R = 2E - 1 rounds in all.
        return algorithms::SpiderAlternateSettings{std::move(problem),
                                                   std::max<std::uint64_t>(1, (cohort.rounds - 1) / 2),
                                                   setting.step_size, std::nullopt, seed};
      }
      return algorithms::SpiderSettings{std::move(problem), cohort.rounds, setting.period,
                                        setting.step_size,  std::nullopt,  seed};
  }
  UNDERTONE_CHECK(false);
}

/// Algorithm 4 reads every record; the others draw.
double release_fraction(const Cohort& cohort, const FigurePoint& point, const Setting& setting) {
  if (point.method == Method::Spider && setting.period != 0) return 1.0;
  return draw_fraction_of(cohort, point);
}

struct SiloPromise {
  releases::Epsilon epsilon;
  releases::Delta delta;
};

/// delta = 1/n^2, n the silo's training records.
Result<SiloPromise> promise_to(const data::Dataset& silo, double epsilon) {
  const auto n = static_cast<double>(silo.training.count());
  UNDERTONE_TRY(const releases::Epsilon target, releases::Epsilon::create(epsilon));
  UNDERTONE_TRY(const releases::Delta delta, releases::Delta::create(1.0 / (n * n)));
  return SiloPromise{target, delta};
}

/// Releases that nobody's accountant was asked about: the source's noise, or none on a lattice so fine that it does not
/// matter.
Result<Segments> uncharged(const planning::Schedule& schedule, std::int64_t records, bool noiseless) {
  Segments out;
  for (const planning::ScheduledRounds& part : schedule) {
    const std::int64_t drawn =
        part.ask.local() != nullptr ? part.ask.local()->records : drawn_of(part.ask.records.draw_fraction, records);
    mechanisms::GaussianLattice lattice;
    if (noiseless) {
      lattice.lattice.clip = std::int64_t{1} << 40U;
      lattice.lattice.step = std::ldexp(part.ask.clip().value(), -40);
      lattice.log2_stddev = 16;
    } else {
      UNDERTONE_TRY(const mechanisms::GaussianLattice made,
                    mechanisms::gaussian_lattice(part.ask.clip(), *part.ask.shift, part.ask.dimension, drawn));
      lattice = made;
    }
    out.push_back({{part.ask, drawn, records, lattice, records, {0, records}}, part.rounds});
  }
  return out;
}

/// The releases of a silo for clip norm 1 and any step size.
Result<Segments> releases_of(const Cohort& cohort, const Task& task, const FigurePoint& point, const Setting& setting,
                             std::size_t silo) {
  const std::int64_t records = task.silos[silo].training.count();
  const algorithms::Method method = algorithm_of(cohort, task, point, setting, 0);
  // Half a record more, so that a product that is rounded down gives the K that is meant.
  const double fraction = release_fraction(cohort, point, setting);
  const auto drawn = static_cast<double>(drawn_of(fraction, records));
  algorithms::GradientShape shape{releases::L2Bound{*releases::ClipNorm::create(1.0)},
                                  std::min(1.0, (drawn + 0.5) / static_cast<double>(records))};
  if (point.noise == NoiseRule::None) return uncharged(method->schedule(shape), records, true);
  UNDERTONE_TRY(const SiloPromise promise, promise_to(task.silos[silo], point.epsilon));
  if (point.noise == NoiseRule::Accountant) {
    UNDERTONE_TRY(
        const planning::Plan plan,
        planning::make_plan(method->schedule(shape), {*SiloId::create(fmt::format("silo-{}", silo)), records, 0, false,
                                                      releases::ApproximateDp{promise.epsilon, promise.delta}}));
    return plan.segments();
  }
  const algorithms::NoiseFacts facts{static_cast<double>(records), drawn, point.epsilon, promise.delta.value()};
  UNDERTONE_TRY(const algorithms::NoiseShifts shifts, method->experiment_noise(facts));
  shape.gradient_shifts = {*releases::GaussianShift::create(shifts.gradients.front())};
  if (shifts.difference) shape.difference_shift = *releases::GaussianShift::create(*shifts.difference);
  return uncharged(method->schedule(shape), records, false);
}

/// The same releases for records clipped to `clip` and steps of `step_size`: noise follows the clip norm.
Segments scaled(Segments releases, const Setting& setting) {
  for (planning::Plan::Segment& segment : releases) {
    planning::Release& release = segment.release;
    release.ask.bound = releases::L2Bound{*releases::ClipNorm::create(release.ask.clip().value() * setting.clip),
                                          release.ask.smoothness()};
    std::get<mechanisms::GaussianLattice>(release.mechanism).lattice.step *= setting.clip;
    if (auto* run = std::get_if<releases::LocalRunMap>(&release.ask.map)) run->steps.step_size = setting.step_size;
  }
  return releases;
}

/// Replies are rounded far below the noise; a local run's are points, whose size no clip norm bounds.
queries::WireLattice wire_for(const FigurePoint& point, const Setting& setting) {
  const int exponent = point.method == Method::LocalSgd ? 0 : static_cast<int>(std::ceil(std::log2(setting.clip)));
  const int below = point.noise == NoiseRule::None ? 50 : 44;
  return {queries::ReplyType::I64, std::clamp(exponent - (point.method == Method::LocalSgd ? 36 : below), -60, 60)};
}

struct Weights {
  Eigen::VectorXd values;
};

Result<Weights> train_once(const Cohort& cohort, const Task& task, const FigurePoint& point, const Setting& setting,
                           const std::vector<Segments>& releases, const Digest& what, std::uint64_t seed) {
  std::vector<simulation::DirectCohort::Member> members;
  members.reserve(task.silos.size());
  for (std::size_t i = 0; i < task.silos.size(); ++i) {
    members.push_back({*SiloId::create(fmt::format("silo-{}", i)), &task.silos[i], scaled(releases[i], setting), 1, 1});
  }
  const std::size_t answering = cohort.answering == task.silos.size() ? 0 : cohort.answering;
  UNDERTONE_TRY(simulation::DirectCohort direct,
                simulation::DirectCohort::create({task.model,
                                                  wire_for(point, setting),
                                                  {what, {}},
                                                  seed,
                                                  point.noise == NoiseRule::None ? simulation::SimulatedNoise::None
                                                                                 : simulation::SimulatedNoise::Seeded,
                                                  answering,
                                                  1},
                                                 std::move(members)));
  UNDERTONE_TRY(std::unique_ptr<algorithms::FederatedAlgorithm> algorithm,
                algorithm_of(cohort, task, point, setting, seed)->make());
  Result<algorithms::Outcome> outcome = direct.train(*algorithm);
  // A diverged run is a bad setting, no failure of the experiment.
  if (!outcome) return Weights{Eigen::VectorXd::Constant(task.start.size(), std::numeric_limits<double>::infinity())};
  return Weights{outcome->vectors.at("weights")};
}

/// One silo stands for all that are as large.
Result<std::vector<Segments>> releases_of_all(const Cohort& cohort, const Task& task, const FigurePoint& point,
                                              const Setting& setting) {
  std::vector<Segments> out;
  std::vector<std::pair<Eigen::Index, std::size_t>> known;
  for (std::size_t i = 0; i < task.silos.size(); ++i) {
    const Eigen::Index records = task.silos[i].training.count();
    const auto same = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == records; });
    if (same != known.end()) {
      out.push_back(out[same->second]);
      continue;
    }
    UNDERTONE_TRY(Segments releases, releases_of(cohort, task, point, setting, i));
    known.emplace_back(records, i);
    out.push_back(std::move(releases));
  }
  return out;
}

Digest name_of(const Experiment& experiment, const Cohort& cohort, const FigurePoint& point, const Setting& setting) {
  ByteWriter writer;
  writer.text(experiment.name);
  writer.text(cohort.title);
  writer.text(to_string(point.method));
  writer.text(to_string(point.noise));
  for (const double number : {point.epsilon, setting.step_size, setting.clip}) writer.f64(number);
  writer.u64(setting.period);
  return sha256(writer.bytes());
}

double mean_of_scores(const models::Network& network, const Eigen::VectorXd& weights, const models::Records& records,
                      bool loss) {
  models::LayeredModel layered(network);
  const models::LayeredModel::Evaluation evaluation = layered.evaluate(weights, records);
  return loss ? evaluation.loss : 1.0 - evaluation.accuracy;
}

std::vector<Setting> settings_with(const Experiment& experiment, const Task& task, Method method,
                                   const std::vector<double>& steps) {
  std::vector<Setting> out;
  const std::vector<double> clips = task.clip ? std::vector<double>{*task.clip} : experiment.clips;
  std::vector<std::uint64_t> periods = {1};
  if (method == Method::Spider) {
    periods = experiment.periods;
    periods.push_back(0);
  }
  for (const std::uint64_t period : periods) {
    for (const double clip : clips) {
      for (const double step : steps) out.push_back({step, clip, period});
    }
  }
  return out;
}

/// -1 where a value is the least of several, 1 where it is the largest, else 0. @param grid ascending
int edge_of(const std::vector<double>& grid, double value) {
  if (grid.size() < 2) return 0;
  return value == grid.front() ? -1 : value == grid.back() ? 1 : 0;
}

/// Steps beyond an edge of a grid of several, ascending. @param edge -1 or 1
std::vector<double> beyond_edge(const std::vector<double>& grid, int edge) {
  const double ratio = grid[1] / grid[0];
  std::vector<double> out;
  double step = edge < 0 ? grid.front() : grid.back();
  for (std::size_t i = 0; i < kStepsWidened; ++i) out.push_back(step = edge < 0 ? step / ratio : step * ratio);
  return out;
}

/// Tries settings of one point on one split and keeps the best.
class Tuning {
 public:
  Tuning(const Experiment& experiment, const Cohort& cohort, const Task& task, const FigurePoint& point,
         std::uint64_t seed)
      : experiment_(experiment), cohort_(cohort), task_(task), point_(point), seed_(seed) {
    best_.training_loss = std::numeric_limits<double>::infinity();
  }

  Status try_all(const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) {
      if (Status tried = try_one(setting); !tried) return tried;
    }
    return {};
  }
  /// @return the setting with the least training loss, the first one tried of several
  [[nodiscard]] Trained best() const {
    Trained out = best_;
    out.diverged = static_cast<double>(diverged_) / static_cast<double>(tried_);
    return out;
  }

 private:
  Status try_one(const Setting& setting) {
    const Digest what = name_of(experiment_, cohort_, point_, setting);
    double loss = 0.0;
    double error = 0.0;
    for (std::size_t repetition = 0; repetition < experiment_.repetitions; ++repetition) {
      UNDERTONE_TRY(const Weights weights, trained(setting, what, seed_ * 1000 + repetition));
      loss += mean_loss(task_.model, weights.values, task_.train);
      error += test_error(task_, weights.values);
    }
    const auto times = static_cast<double>(experiment_.repetitions);
    if (!std::isfinite(loss)) ++diverged_;
    if (tried_ == 0 || loss / times < best_.training_loss) best_ = {setting, loss / times, error / times, 0.0};
    ++tried_;
    return {};
  }

  Result<Weights> trained(const Setting& setting, const Digest& what, std::uint64_t seed) {
    if (point_.noise == NoiseRule::Recipe)
      return Weights{train_by_recipe(*experiment_.recipe, cohort_, task_, point_, setting, seed)};
    if (planned_ != setting.period) {
      UNDERTONE_TRY(std::vector<Segments> made, releases_of_all(cohort_, task_, point_, setting));
      releases_ = std::move(made);
      planned_ = setting.period;
    }
    return train_once(cohort_, task_, point_, setting, releases_, what, seed);
  }

  const Experiment& experiment_;
  const Cohort& cohort_;
  const Task& task_;
  const FigurePoint& point_;
  std::uint64_t seed_;
  std::optional<std::uint64_t> planned_;  // the period that releases_ are of
  std::vector<Segments> releases_;
  Trained best_;
  std::size_t tried_ = 0;
  std::size_t diverged_ = 0;
};

}  // namespace

std::vector<Setting> settings_of(const Experiment& experiment, const Task& task, Method method) {
  return settings_with(experiment, task, method,
                       method == Method::LocalSgd ? experiment.local_steps : experiment.minibatch_steps);
}

double mean_loss(const models::Model& model, const Eigen::VectorXd& weights, const models::Records& records) {
  if (!weights.allFinite()) return std::numeric_limits<double>::infinity();
  if (const models::Network* network = model.network()) {
    const double loss = mean_of_scores(*network, weights, records, true);
    return std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity();
  }
  const models::LinearModel& linear = *model.linear();
  Eigen::VectorXd scores = records.features.transpose() * weights.head(linear.features());
  if (linear.intercept()) scores.array() += weights[linear.features()];
  double sum = 0.0;
  for (Eigen::Index j = 0; j < records.count(); ++j) sum += linear.linear_loss().value(scores[j], records.targets[j]);
  const double mean = sum / static_cast<double>(records.count());
  return std::isfinite(mean) ? mean : std::numeric_limits<double>::infinity();
}

double test_error(const Task& task, const Eigen::VectorXd& weights) {
  const bool classifies = task.model.classifies();
  if (!weights.allFinite()) return classifies ? 1.0 : std::numeric_limits<double>::infinity();
  if (const models::Network* network = task.model.network()) return mean_of_scores(*network, weights, task.test, false);
  const models::LinearModel& linear = *task.model.linear();
  Eigen::VectorXd scores = task.test.features.transpose() * weights.head(linear.features());
  if (linear.intercept()) scores.array() += weights[linear.features()];
  if (classifies) {
    Eigen::Index wrong = 0;
    for (Eigen::Index j = 0; j < scores.size(); ++j)
      wrong += (scores[j] >= 0.0) == (task.test.targets[j] > 0.0) ? 0 : 1;
    return static_cast<double>(wrong) / static_cast<double>(scores.size());
  }
  const double naive = (task.test.targets.array() - task.train.targets.mean()).square().sum();
  return std::sqrt((task.test.targets - scores).squaredNorm() / naive);
}

Result<Trained> train_point(const Experiment& experiment, const Cohort& cohort, const Task& task,
                            const FigurePoint& point, std::uint64_t seed) {
  Tuning tuning(experiment, cohort, task, point, seed);
  if (Status tried = tuning.try_all(settings_of(experiment, task, point.method)); !tried) return tried.error();
  std::vector<double> steps =
      point.method == Method::LocalSgd ? experiment.local_steps : experiment.minibatch_steps;  // ascending
  for (std::size_t i = 0; i < experiment.widenings && edge_of(steps, tuning.best().setting.step_size) != 0; ++i) {
    const std::vector<double> beyond = beyond_edge(steps, edge_of(steps, tuning.best().setting.step_size));
    if (Status tried = tuning.try_all(settings_with(experiment, task, point.method, beyond)); !tried)
      return tried.error();
    steps.insert(steps.end(), beyond.begin(), beyond.end());
    std::sort(steps.begin(), steps.end());
  }
  Trained best = tuning.best();
  best.step_at_edge = edge_of(steps, best.setting.step_size) != 0;
  best.clip_at_edge = !task.clip && edge_of(experiment.clips, best.setting.clip) != 0;
  return best;
}

Result<RealCost> real_cost(const Cohort& cohort, const Task& task, const FigurePoint& point, const Setting& setting) {
  RealCost out;
  std::vector<Eigen::Index> seen;
  for (std::size_t i = 0; i < task.silos.size(); ++i) {
    const Eigen::Index records = task.silos[i].training.count();
    if (std::find(seen.begin(), seen.end(), records) != seen.end()) continue;
    seen.push_back(records);
    const Result<Segments> releases = releases_of(cohort, task, point, setting, i);
    if (!releases) return releases.error();
    std::vector<accounting::RepeatedEvent> events;
    for (const planning::Plan::Segment& segment : *releases) {
      const planning::Release& release = segment.release;
      const releases::GaussianShift shift = accounting::total_shift(release.cost_of_draw().gaussian);
      const std::uint64_t times = segment.rounds * release.draws();
      if (release.sampled()) {
        const double rate = static_cast<double>(release.records_drawn) / static_cast<double>(release.population);
        events.push_back({accounting::SubsetGaussianEvent{rate, shift}, times, {}});
      } else {
        events.push_back({accounting::GaussianEvent{shift}, times, {}});
      }
    }
    UNDERTONE_TRY(const SiloPromise promise, promise_to(task.silos[i], point.epsilon));
    UNDERTONE_TRY(const accounting::Account account, accounting::account(events, promise.delta));
    out.epsilon = std::max(out.epsilon, account.epsilon);
    out.attained = std::max(out.attained, account.epsilon_attained.value_or(account.epsilon_lower));
  }
  return out;
}

}  // namespace undertone::lab
