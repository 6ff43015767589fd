#include "lab/draft/tuning.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <numeric>
#include <thread>

#include "lab/draft/synthetic_records.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/in_parallel.hpp"
#include "shared/features/named_blocks.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/models/layered_model.hpp"
#include "shared/statistics/regression.hpp"
#include "shared/statistics/standardising.hpp"
#include "simulation/direct_cohort.hpp"

namespace undertone::lab {
namespace {

constexpr double kWorkMax = 6e4;  // simulated records x features: a run of a hundred rounds in a thirtieth of a second
constexpr double kRecordsMin = 300.0;
constexpr Eigen::Index kJudged = 3'000;  // records that a trained model is judged on
// What simulated silos promise: as little as a job can say, so that no noise is refused; a total shift of 7 is allowed.
constexpr double kEpsilonSimulated = 30.0;
constexpr double kDeltaSimulated = 0.5;
constexpr double kShiftSimulated = 7.0;
constexpr std::uint64_t kRoundsUsual = 30;
constexpr std::size_t kKeptFirst = 16;
constexpr std::size_t kKeptSecond = 3;
constexpr double kWorkCheap = 6e4;  // of which several times as many worlds are looked at
constexpr double kWorldsMore = 2.0;
constexpr double kPathLong = 100.0;
// Rounds, expected centres and shares that buy a standardisation that are looked at first; what lies between them comes
// later.
struct Start {
  std::uint64_t rounds = 10;
  double centre = 0.0;
  double bought = 0.0;
};
constexpr std::array<Start, 6> kStarts = {
    {{10, 0.0, 0.0}, {10, -0.4, 0.0}, {40, 0.0, 0.0}, {40, -0.4, 0.0}, {10, 0.0, 0.1}, {40, 0.0, 0.1}}};
constexpr double kWorstCounts = 0.25;  // beside the mean over the families

/// Encoded features less an origin, over a scale.
struct Standardised {
  Eigen::VectorXd origin;
  Eigen::VectorXd scale;
  std::vector<data::Dataset> silos;
};

/// A kind of data with its records, which all candidates train on.
struct Trial {
  const SyntheticFamily* family = nullptr;
  std::uint64_t seed = 0;
  std::vector<data::Dataset> silos;
  std::map<std::pair<double, double>, Standardised> standardised;  // the same, by centre and by what is bought
  models::Records judged;
};

class Tuner {
 public:
  Tuner(const DraftFacts& facts, std::uint64_t seed) : facts_(facts), simulated_(facts), seed_(seed) {
    const auto by_name = [](const auto& a, const auto& b) { return a.silo < b.silo; };  // as a job's cohort is
    std::sort(facts_.cohort.begin(), facts_.cohort.end(), by_name);
    simulated_.cohort = facts_.cohort;
    for (const data::FeatureColumn& column : facts_.schema.features) {
      first_of_list_.resize(first_of_list_.size() + data::encoded_width(column), false);
      if (const auto* listed = std::get_if<data::CategoricalColumn>(&column);
          listed != nullptr && !listed->others_allowed)
        first_of_list_[first_of_list_.size() - data::encoded_width(column)] = true;
    }
    std::int64_t records = 0;
    for (const DraftFacts::Member& member : facts_.cohort) records += member.records;
    // Fewer records with as much noise on their mean take as much privacy as more records with less.
    const double width = weights();
    double share = kWorkMax / (static_cast<double>(records) * width * slots());
    if (const std::vector<double>* noise = multipliers(kRoundsUsual, 0.0)) {
      const double loudest =
          std::sqrt(static_cast<double>(kRoundsUsual)) / *std::min_element(noise->begin(), noise->end());
      share = std::max(share, loudest / kShiftSimulated);
    }
    for (DraftFacts::Member& member : simulated_.cohort) {
      const double all = static_cast<double>(member.records);
      member.records = static_cast<std::int64_t>(std::ceil(std::min(all, std::max(kRecordsMin, share * all))));
      member.holdout_records = 1;  // whose evaluation is public, and read by nobody
      member.holdout_public = true;
      member.epsilon = kEpsilonSimulated;
      member.delta = kDeltaSimulated;
      records_ += member.records;
    }
  }

  [[nodiscard]] std::int64_t records() const { return records_; }
  [[nodiscard]] std::size_t runs() const { return runs_; }
  /// How many times as many worlds as usual there is time for.
  [[nodiscard]] std::size_t more() const {
    const double work = static_cast<double>(records_) * weights() * slots();
    return static_cast<std::size_t>(std::clamp(kWorkCheap / work, 1.0, kWorldsMore));
  }
  [[nodiscard]] bool classifies() const { return !std::holds_alternative<data::NumericLabel>(facts_.schema.label); }

  /// Trials of every family with so many seeds each, from the first one on.
  const std::vector<Trial>& trials(std::size_t seeds) {
    while (made_ < seeds) {
      for (const SyntheticFamily& family : synthetic_families()) trials_.push_back(trial(family, made_));
      ++made_;
    }
    return trials_;
  }

  /// Adds a candidate's errors in the trials that it was not in yet; infinite where its releases have no plan or it
  /// leaves the numbers. The result is the same for any number of processors.
  void add_errors(const DraftChoice& choice, std::vector<double>& errors) {
    const std::size_t from = errors.size();
    errors.resize(trials_.size(), std::numeric_limits<double>::infinity());
    runs_ += errors.size() - from;
    const Prepared* prepared = prepare(choice);
    if (prepared == nullptr) return;
    for (std::size_t t = from; t < trials_.size(); ++t) (void)standardised(trials_[t], choice);
    std::atomic<std::size_t> next = from;
    const auto work = [&](std::size_t /*worker*/) {
      for (std::size_t t = next++; t < trials_.size(); t = next++)
        errors[t] = error_of(*prepared, trials_[t], trials_[t].standardised.at({choice.centre, choice.bought}));
    };
    const std::size_t workers = std::min<std::size_t>(std::thread::hardware_concurrency(), errors.size() - from);
    in_parallel(std::max<std::size_t>(workers, 1), work);
  }

  /// Of least squares from noised moments of the features and the label, released at all that is promised.
  /// @return infinity where they carry no coefficients, nothing where there are too many columns or no delta
  std::optional<double> moments_error(const Trial& trial) const {
    constexpr Eigen::Index kColumnsMax = 64;
    const Eigen::Index features = trial.judged.features.rows();
    if (std::holds_alternative<data::ClassLabel>(facts_.schema.label) || features + 1 > kColumnsMax)
      return std::nullopt;
    statistics::VectorMomentsMap map;
    for (Eigen::Index j = 0; j <= features; ++j) map.coordinates.push_back(static_cast<std::size_t>(j));
    Eigen::VectorXd totals = Eigen::VectorXd::Zero(statistics::dimension(map));
    Eigen::VectorXd own(totals.size());
    double variance = 0.0;
    std::int64_t all = 0;
    for (std::size_t i = 0; i < trial.silos.size(); ++i) {
      const models::Records& records = trial.silos[i].training;
      const double weight = static_cast<double>(facts_.cohort[i].records) / static_cast<double>(records.count());
      for (Eigen::Index unit = 0; unit < records.count(); ++unit) {
        const auto [from, to] = rows_of(records, unit);
        for (Eigen::Index r = from; r < to; ++r) {
          const double* column = records.features.data() + r * features;
          statistics::contribution(map, {{column, static_cast<std::size_t>(features)}, records.targets[r]}, own);
          totals += weight / static_cast<double>(to - from) * own;
        }
      }
      const Result<releases::Epsilon> epsilon = releases::Epsilon::create(facts_.cohort[i].epsilon);
      const Result<releases::Delta> delta = releases::Delta::create(facts_.cohort[i].delta);
      if (!epsilon || !delta) return std::nullopt;
      const double stddev =
          statistics::pairwise_bound(map).l2 / accounting::gaussian_shift_for(*epsilon, *delta).value();
      variance += stddev * stddev;
      all += facts_.cohort[i].records;
    }
    NormalNoise noise(trial.seed ^ 0x6d6f6d656e7473U);
    for (double& total : totals) total += std::sqrt(variance) * noise.next();
    const auto moments = statistics::unpack_moments(totals, all, std::sqrt(variance));
    std::vector<Eigen::Index> predictors;
    for (Eigen::Index j = 0; j < features; ++j) {
      // The first value of a list follows from the others.
      if (!first_of_list_[static_cast<std::size_t>(j)]) predictors.push_back(j);
    }
    if (!moments || predictors.empty()) return std::nullopt;
    const auto sums = statistics::regression_moments(*moments, predictors, features);
    if (!sums) return std::numeric_limits<double>::infinity();
    const statistics::Regression found = statistics::regress(*sums);
    if (found.carries == statistics::Carries::Nothing) return std::numeric_limits<double>::infinity();
    Eigen::VectorXd weights = Eigen::VectorXd::Zero(features + 1);
    for (std::size_t i = 0; i < predictors.size(); ++i)
      weights[predictors[i]] = found.coefficients[static_cast<Eigen::Index>(i) + 1];
    weights[features] = found.coefficients[0];
    return error_on(weights, trial.judged);
  }

  /// Of predicting what is most frequent, or the mean.
  double trivial_error(const Trial& trial) const {
    const Eigen::VectorXd& y = trial.judged.targets;
    if (const auto* several = std::get_if<data::ClassLabel>(&facts_.schema.label)) {
      double most = 0.0;
      for (std::size_t k = 0; k < several->classes.size(); ++k)
        most = std::max(most, (y.array() == static_cast<double>(k)).cast<double>().mean());
      return 1.0 - most;
    }
    if (!classifies()) return std::sqrt((y.array() - y.mean()).square().mean());
    const double positive = (y.array() > 0.0).cast<double>().mean();
    return std::min(positive, 1.0 - positive);
  }

 private:
  struct Prepared {
    jobs::Job job;
    std::vector<simulation::DirectCohort::Member> members;
  };

  /// Numbers that a record of the model takes part in.
  double weights() const {
    const auto* several = std::get_if<data::ClassLabel>(&facts_.schema.label);
    return static_cast<double>((data::encoded_width(facts_.schema) + 1) *
                               (several == nullptr ? 1 : several->classes.size()));
  }

  /// So many rows are worked on for each unit: one for a record, and every slot for a person.
  double slots() const { return static_cast<double>(facts_.person_records_max.value_or(1)); }

  /// These are the rows of a unit that may count: the first one, and the one behind the last.
  std::pair<Eigen::Index, Eigen::Index> rows_of(const models::Records& records, Eigen::Index unit) const {
    if (!facts_.person_records_max) return {unit, unit + 1};
    const std::int64_t from = records.starts[static_cast<std::size_t>(unit)];
    const std::int64_t to = records.starts[static_cast<std::size_t>(unit) + 1];
    return {from, std::min(to, from + *facts_.person_records_max)};
  }

  models::Records invented(const SyntheticWorld& world, std::int64_t units, std::uint64_t stream) const {
    return facts_.person_records_max ? world.draw_persons(units, stream) : world.draw(units, stream);
  }

  Trial trial(const SyntheticFamily& family, std::size_t index) const {
    Trial out;
    out.family = &family;
    out.seed =
        RandomSource(seed_ + 1'000 * index + static_cast<std::uint64_t>(&family - synthetic_families().data())).word();
    const SyntheticWorld world(facts_.schema, family, out.seed);
    for (std::size_t i = 0; i < simulated_.cohort.size(); ++i)
      out.silos.push_back({invented(world, simulated_.cohort[i].records, i + 1), invented(world, 1, 0)});
    out.judged = world.draw(kJudged, 0);
    return out;
  }

  /// The trial's records as a job with that standardisation trains on them, made once.
  const Standardised& standardised(Trial& trial, const DraftChoice& choice) {
    const auto [found, made] = trial.standardised.try_emplace({choice.centre, choice.bought});
    Standardised& out = found->second;
    if (!made) return out;
    out.origin = expected_origin(facts_.schema, choice.centre);
    out.scale = Eigen::VectorXd::Ones(out.origin.size());
    if (choice.bought > 0.0) buy(trial, choice.bought, out);
    out.silos = trial.silos;
    for (data::Dataset& silo : out.silos) {
      for (models::Records* records : {&silo.training, &silo.holdout}) {
        records->features.colwise() -= out.origin;
        records->features.array().colwise() /= out.scale.array();
      }
    }
    return out;
  }

  /// What the job of statistics would find of the trial's records, with the noise that its plans have, and what
  /// `undertone standardisation` makes of that.
  void buy(const Trial& trial, double share, Standardised& out) {
    const MomentsNoise& noise = moments_noise(share);
    NormalNoise deviates(trial.seed ^ static_cast<std::uint64_t>(share * 1e6));
    Eigen::Index at = 0;
    for (const data::FeatureColumn& column : facts_.schema.features) {
      const Eigen::Index first = at;
      at += static_cast<Eigen::Index>(data::encoded_width(column));
      if (!std::holds_alternative<data::NumericColumn>(column) || noise.mean == 0.0) continue;
      double sum = 0.0;
      double squares = 0.0;
      double count = 0.0;
      for (std::size_t i = 0; i < trial.silos.size(); ++i) {
        const auto row = trial.silos[i].training.features.row(first).array();
        const double weight = static_cast<double>(facts_.cohort[i].records);
        sum += weight * row.mean();
        squares += weight * row.square().mean();
        count += weight;
      }
      const double mean = sum / count + noise.mean * deviates.next();
      const double square = squares / count + noise.square * deviates.next();
      const Result<statistics::PaidStandardisation> paid = statistics::standardisation_from_moments(
          Eigen::VectorXd::Constant(1, mean), Eigen::VectorXd::Constant(1, square), noise.mean);
      if (!paid) continue;
      out.origin[first] = paid->mean[0];
      out.scale[first] = paid->scale[0];
    }
  }

  double error_of(const Prepared& prepared, const Trial& trial, const Standardised& standardised) const {
    std::vector<simulation::DirectCohort::Member> members = prepared.members;
    for (std::size_t i = 0; i < members.size(); ++i) members[i].dataset = &standardised.silos[i];
    Result<simulation::DirectCohort> cohort =
        simulation::DirectCohort::create({prepared.job.model, prepared.job.reply_lattice, RunId{}, trial.seed,
                                          simulation::SimulatedNoise::Seeded, 0, 1, prepared.job.aggregation},
                                         std::move(members));
    if (!cohort) return std::numeric_limits<double>::infinity();
    const std::unique_ptr<algorithms::FederatedAlgorithm> algorithm = jobs::make_algorithm(prepared.job);
    const Result<algorithms::Outcome> outcome = cohort->train(*algorithm);
    if (!outcome) return std::numeric_limits<double>::infinity();
    Eigen::VectorXd weights = outcome->vectors.at("weights");
    if (const models::Network* network = prepared.job.model->network()) {
      if (!weights.allFinite()) return std::numeric_limits<double>::infinity();
      models::Records judged = trial.judged;
      judged.features.colwise() -= standardised.origin;
      judged.features.array().colwise() /= standardised.scale.array();
      return 1.0 - models::LayeredModel(*network).evaluate(weights, judged).accuracy;
    }
    const Eigen::Index features = trial.judged.features.rows();
    weights.head(features).array() /= standardised.scale.array();
    weights[features] -= standardised.origin.dot(weights.head(features));
    return error_on(weights, trial.judged);
  }

  double error_on(const Eigen::VectorXd& weights, const models::Records& judged) const {
    const Eigen::Index features = judged.features.rows();
    const Eigen::VectorXd scores = (judged.features.transpose() * weights.head(features)).array() + weights[features];
    if (!scores.allFinite()) return std::numeric_limits<double>::infinity();
    if (!classifies()) return std::sqrt((scores - judged.targets).squaredNorm() / static_cast<double>(judged.count()));
    return ((scores.array() > 0.0) != (judged.targets.array() > 0.0)).cast<double>().mean();
  }

  /// Noise on each silo's mean gradient, of clip norm 1. @return empty where there is no plan
  static std::vector<double> noise_of(const nlohmann::ordered_json& text) {
    const Result<jobs::Job> job = jobs::parse_job(text.dump(), "the draft");
    if (!job) return {};
    const Result<std::map<SiloId, planning::Plan>> plans = jobs::plans_of(*job);
    if (!plans) return {};
    std::vector<double> out;
    for (const jobs::CohortMember& member : job->cohort)
      out.push_back(plans->at(member.facts.silo).segments().front().release.noise_stddev_of_mean());
    return out;
  }

  /// Of the mean of a column's numbers over the cohort, and of their squares'; 0 where nothing can be bought.
  struct MomentsNoise {
    double mean = 0.0;
    double square = 0.0;
  };
  const MomentsNoise& moments_noise(double share) {
    const auto [found, made] = moments_noise_.try_emplace(share);
    if (!made) return found->second;
    const Result<jobs::Job> job = jobs::parse_job(moments_job_of(facts_, share).dump(), "the draft");
    if (!job) return found->second;
    const Result<std::map<SiloId, planning::Plan>> plans = jobs::plans_of(*job);
    if (!plans) return found->second;
    double variance = 0.0;
    double records = 0.0;
    double factor = 1.0;  // of the total of squares
    for (const jobs::CohortMember& member : job->cohort) {
      const planning::Release& release = plans->at(member.facts.silo).segments().front().release;
      const double own = mechanisms::noise_stddev_of_sum(release.mechanism, release.records_drawn);
      variance += own * own;
      records += static_cast<double>(member.facts.records);
      factor = statistics::block_named(std::get<releases::FeaturesMap>(release.ask.map).features, "squares").factor;
    }
    found->second = {std::sqrt(variance) / records, std::sqrt(variance) / records / factor};
    return found->second;
  }

  /// Noise multipliers of the cohort's own plans, by rounds and what is bought before: they depend on nothing else that
  /// is varied.
  const std::vector<double>* multipliers(std::uint64_t rounds, double bought) {
    const auto known = multipliers_.find({rounds, bought});
    if (known != multipliers_.end()) return known->second.empty() ? nullptr : &known->second;
    DraftChoice plain;
    plain.rounds = rounds;
    plain.bought = bought;
    nlohmann::ordered_json whole = job_of(facts_, plain, -40);
    whole.erase("standardisation");  // noise does not depend on it
    std::vector<double> out = noise_of(whole);
    // What a multiplier of 1 is for the same silos, in one round that nobody refuses.
    DraftFacts loose = facts_;
    for (DraftFacts::Member& member : loose.cohort) {
      member.epsilon = kEpsilonSimulated;
      member.delta = kDeltaSimulated;
    }
    plain.rounds = 1;
    plain.bought = 0.0;
    nlohmann::ordered_json unit = job_of(loose, plain, -40);
    unit["privacy"]["calibration"] = {{"by", "hand"}, {"noise_multiplier", 1.0}};
    const std::vector<double> one = noise_of(unit);
    if (one.empty()) out.clear();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] /= one[i];
    const std::vector<double>& kept = multipliers_[{rounds, bought}] = std::move(out);
    return kept.empty() ? nullptr : &kept;
  }

  /// The job and its releases with fewer records and the noise that the mean of all of them would have.
  const Prepared* prepare(const DraftChoice& choice) {
    DraftChoice whole = choice;  // what is bought is in the noise, and simulated silos promise as much as they can
    whole.bought = 0.0;
    nlohmann::ordered_json text = job_of(simulated_, whole, -40);
    // Everybody answers here, by weights of all records: nothing is to be made up for silos that are missing.
    text.erase("aggregation");
    text["privacy"]["noise"] = "test";
    text["privacy"]["calibration"] = {{"by", "hand"}, {"noise_multiplier", 1.0}};
    const std::string job_text = text.dump();
    std::string key = fmt::format("{} bought {}", job_text, choice.bought);
    if (key == prepared_key_) return prepared_.get();
    prepared_key_ = std::move(key);
    prepared_.reset();
    const std::vector<double>* noise = multipliers(choice.rounds, choice.bought);
    Result<jobs::Job> job = jobs::parse_job(job_text, "the draft");
    if (noise == nullptr || !job) return nullptr;
    auto prepared = std::make_unique<Prepared>(Prepared{*std::move(job), {}});
    for (std::size_t i = 0; i < facts_.cohort.size(); ++i) {
      const jobs::CohortMember& member = prepared->job.cohort[i];
      const auto records = static_cast<double>(facts_.cohort[i].records);
      jobs::Job own = prepared->job;
      own.noise_choice = {jobs::NoiseChoice::By::Hand,
                          (*noise)[i] * static_cast<double>(member.facts.records) / records};
      const Result<planning::Plan> plan = jobs::plan_of(own, member);
      if (!plan) return nullptr;
      const auto weight = static_cast<std::uint64_t>(facts_.cohort[i].records);
      prepared->members.push_back({member.facts.silo, nullptr, plan->segments(), weight, weight});
    }
    prepared_ = std::move(prepared);
    return prepared_.get();
  }

  /// Standard normal deviates of a seed: Box and Muller 1958.
  class NormalNoise {
   public:
    explicit NormalNoise(std::uint64_t seed) : random_(RandomSource(seed).word()) {}
    double next() {
      return std::sqrt(-2.0 * std::log1p(-random_.unit())) * std::cos(2.0 * std::numbers::pi * random_.unit());
    }

   private:
    RandomSource random_;
  };

  DraftFacts facts_;
  DraftFacts simulated_;
  std::vector<bool> first_of_list_;  // by encoded feature
  std::uint64_t seed_;
  std::int64_t records_ = 0;
  std::size_t runs_ = 0;
  std::size_t made_ = 0;
  std::vector<Trial> trials_;
  std::map<std::pair<std::uint64_t, double>, std::vector<double>> multipliers_;
  std::map<double, MomentsNoise> moments_noise_;
  std::string prepared_key_;
  std::unique_ptr<Prepared> prepared_;
};

/// Every kind of candidate, coarsely.
std::vector<DraftChoice> coarse(double record_norm, const DraftFacts& facts, bool may_buy) {
  std::vector<DraftChoice> out;
  const data::Schema& schema = facts.schema;
  // Records of persons are read as they are: no job of persons has a standardisation.
  const bool persons = facts.person_records_max.has_value();
  // Where a bound is bought, lengths are of gradients at the features as the schema encodes them.
  const bool guessed = !persons && !facts.wide_bounds && (expected_origin(schema, 1.0).array() != 0.0).any();
  for (const auto& [rounds, centre, bought] : kStarts) {
    if (centre != 0.0 && !guessed) continue;
    if (bought != 0.0 && (!may_buy || persons || bought_columns(schema) == 0)) continue;
    for (const double clip : {0.03, 0.1, 0.3, 1.0}) {
      for (const double path : {3.0, 10.0, 30.0, 100.0, 300.0, 1000.0}) {
        for (const bool cosine : {false, true}) {
          DraftChoice choice;
          choice.rounds = rounds;
          choice.centre = centre;
          choice.bought = bought;
          choice.clip = three_digits(clip * record_norm);
          choice.path = path;
          choice.cosine = cosine;
          choice.radius = path;
          choice.strength = 0.0;
          out.push_back(choice);
          if (path < kPathLong) continue;  // what is short needs no second leash
          choice.strength = 0.01;
          out.push_back(choice);
        }
      }
    }
  }
  return out;
}

/// The candidate itself and neighbours that differ in one thing.
std::vector<DraftChoice> around(const DraftChoice& choice) {
  std::vector<DraftChoice> out = {choice};
  const auto with = [&](auto change) {
    out.push_back(choice);
    change(out.back());
  };
  for (const double strength : {0.001, 0.003, 0.03}) with([&](DraftChoice& c) { c.strength = strength; });
  for (const double radius : {0.1, 0.3}) with([&](DraftChoice& c) { c.radius = three_digits(radius * c.path); });
  for (const double path : {0.6, 1.7}) with([&](DraftChoice& c) { c.path = three_digits(path * c.path); });
  for (const double clip : {0.6, 1.7}) with([&](DraftChoice& c) { c.clip = three_digits(clip * c.clip); });
  with([&](DraftChoice& c) { c.momentum = 0.9; });
  for (const std::uint64_t times : {3U, 5U}) with([&](DraftChoice& c) { c.rounds = c.rounds * times / 2; });
  if (choice.centre != 0.0) {
    for (const double by : {-0.15, 0.15}) with([&](DraftChoice& c) { c.centre = three_digits(c.centre + by); });
  }
  if (choice.bought != 0.0) {
    for (const double by : {0.5, 2.0}) with([&](DraftChoice& c) { c.bought = three_digits(c.bought * by); });
  }
  return out;
}

struct Standing {
  DraftChoice choice;
  std::vector<double> errors;  // by trial
  double score = 0.0;
};

/// Errors of all candidates on the trials, and their scores: the mean over families of what a candidate is worse than
/// the best of them there, and a part of the worst. Least first.
void judge(Tuner& tuner, std::vector<Standing>& standings, std::size_t seeds) {
  const std::vector<Trial>& trials = tuner.trials(seeds);
  for (Standing& standing : standings) {
    if (standing.errors.size() < trials.size()) tuner.add_errors(standing.choice, standing.errors);
  }
  const std::size_t families = synthetic_families().size();
  std::vector<double> best(families, std::numeric_limits<double>::infinity());
  const auto of_family = [&](const Standing& standing, std::size_t family) {
    double sum = 0.0;
    for (std::size_t t = family; t < trials.size(); t += families) {
      // A share of trials of numbers, so that one that is hard to predict does not outweigh the others.
      sum += tuner.classifies() ? standing.errors[t] : standing.errors[t] / tuner.trivial_error(trials[t]);
    }
    return sum * static_cast<double>(families) / static_cast<double>(trials.size());
  };
  for (const Standing& standing : standings) {
    for (std::size_t f = 0; f < families; ++f) best[f] = std::min(best[f], of_family(standing, f));
  }
  for (Standing& standing : standings) {
    double mean = 0.0;
    double worst = 0.0;
    for (std::size_t f = 0; f < families; ++f) {
      const double regret = of_family(standing, f) - best[f];
      mean += regret / static_cast<double>(families);
      worst = std::max(worst, regret);
    }
    standing.score = mean + kWorstCounts * worst;
  }
  std::stable_sort(standings.begin(), standings.end(),
                   [](const Standing& a, const Standing& b) { return a.score < b.score; });
}

}  // namespace

Result<Tuned> tune(const DraftFacts& wanted, std::uint64_t seed, bool may_buy,
                   const std::function<void(const std::string&)>& watch) {
  // The numbers are chosen as if there were no public records: nobody knows of what law those would be.
  DraftFacts facts = wanted;
  facts.open_file.reset();
  for (DraftFacts::Member& member : facts.cohort) member.public_records = 0;
  Tuner tuner(facts, seed);
  const models::LinearModel model(models::Loss::Logistic, static_cast<Eigen::Index>(data::encoded_width(facts.schema)),
                                  true);
  const auto say = [&](const char* what, const std::vector<Standing>& standings) {
    if (watch) watch(fmt::format("{}: {} candidates", what, standings.size()));
  };
  std::vector<Standing> standings;
  for (const DraftChoice& choice : coarse(jobs::record_norm(model, facts.schema), facts, may_buy))
    standings.push_back({choice, {}, 0.0});
  say("coarsely", standings);
  const std::size_t seeds = 3 * tuner.more();
  judge(tuner, standings, tuner.more());
  if (!std::isfinite(standings.front().score))
    return Error{ErrorCode::InvalidArgument, "no candidate has a plan: epsilon is too small for this cohort"};
  const auto best_of = [&](bool bought) -> std::optional<double> {
    const auto found = std::find_if(standings.begin(), standings.end(), [&](const Standing& standing) {
      return (standing.choice.bought > 0.0) == bought && std::isfinite(standing.score);
    });
    if (found == standings.end()) return std::nullopt;
    return std::accumulate(found->errors.begin(), found->errors.end(), 0.0) / static_cast<double>(found->errors.size());
  };
  const std::optional<double> bought_error = best_of(true);
  const std::optional<double> plain_error = best_of(false);
  standings.resize(std::min(kKeptFirst, standings.size()));
  say("again", standings);
  judge(tuner, standings, seeds);
  standings.resize(std::min(kKeptSecond, standings.size()));
  std::vector<Standing> fine;
  for (const Standing& kept : standings) {
    for (const DraftChoice& choice : around(kept.choice)) fine.push_back({choice, {}, 0.0});
  }
  say("around the best", fine);
  judge(tuner, fine, seeds);
  Tuned out{fine.front().choice, {}, {}, {}, {}, {}, tuner.runs(), tuner.records()};
  const std::vector<Trial>& trials = tuner.trials(seeds);
  const std::size_t families = synthetic_families().size();
  for (std::size_t f = 0; f < families; ++f) {
    FamilyScore score{synthetic_families()[f].name, 0.0, 0.0, std::numeric_limits<double>::infinity()};
    const double count = static_cast<double>(trials.size()) / static_cast<double>(families);
    for (std::size_t t = f; t < trials.size(); t += families) {
      score.error += fine.front().errors[t] / count;
      score.trivial += tuner.trivial_error(trials[t]) / count;
    }
    for (const Standing& standing : fine) {
      double error = 0.0;
      for (std::size_t t = f; t < trials.size(); t += families) error += standing.errors[t] / count;
      score.best = std::min(score.best, error);
    }
    out.families.push_back(score);
  }
  out.bought_error = bought_error;
  out.plain_error = plain_error;
  double moments = 0.0;
  double chosen = 0.0;
  bool asked = true;
  for (std::size_t t = 0; t < trials.size() && asked; ++t) {
    const std::optional<double> error = tuner.moments_error(trials[t]);
    asked = error.has_value();
    if (asked) moments += *error / static_cast<double>(trials.size());
    chosen += fine.front().errors[t] / static_cast<double>(trials.size());
  }
  if (asked && std::isfinite(moments)) out.moments_error = moments;
  if (asked) out.chosen_error = chosen;
  return out;
}

}  // namespace undertone::lab
