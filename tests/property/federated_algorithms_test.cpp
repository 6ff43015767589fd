#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "silo/oracles/test_randomness.hpp"
#include "simulation/direct_cohort.hpp"
#include "tests/support/every_job.hpp"
#include "tests/support/fault_world.hpp"
#include "tests/support/federation_trace.hpp"
#include "tests/support/memory_head.hpp"
#include "tests/support/of_persons.hpp"
#include "tests/support/repetitions.hpp"

/// Every algorithm through a whole federation: ledgers, wire, coordinator; faults are tests/simulation's.
namespace undertone {
namespace {

using tests::direct;
using tests::Trace;
using tests::trace_of;

/// One record's gradient of the logistic loss with an intercept.
Eigen::VectorXd gradient_of(const models::Records& records, Eigen::Index j, const Eigen::VectorXd& w) {
  Eigen::VectorXd x(w.size());
  x << records.features.col(j), 1.0;
  const double y = records.targets[j];
  return -y / (1.0 + std::exp(y * x.dot(w))) * x;
}

Eigen::VectorXd clipped(Eigen::VectorXd v, double norm) {
  if (v.norm() > norm) v *= norm / v.norm();
  return v;
}

/// The cross-entropy of the softmax of a small network, all layers dense, hidden ones tanh; from nothing but the layout
/// of the weights: layer by layer, [outputs, inputs + 1] column by column, the bias last.
double network_loss(const models::Network& network, const models::Records& records, Eigen::Index j,
                    const Eigen::VectorXd& w) {
  Eigen::VectorXd values = records.features.col(j);
  Eigen::Index at = 0;
  for (std::size_t l = 0; l < network.layers().size(); ++l) {
    const Eigen::Index outputs = network.layers()[l].outputs;
    Eigen::VectorXd sums(outputs);
    for (Eigen::Index o = 0; o < outputs; ++o) {
      sums[o] = w[at + outputs * values.size() + o];
      for (Eigen::Index i = 0; i < values.size(); ++i) sums[o] += w[at + outputs * i + o] * values[i];
    }
    at += outputs * (values.size() + 1);
    const bool last = l + 1 == network.layers().size();
    values = last ? sums : Eigen::VectorXd(sums.array().tanh());
  }
  return std::log(values.array().exp().sum()) - values[static_cast<Eigen::Index>(records.targets[j])];
}

/// w minus a record's features, squares, and products times the root of two.
Eigen::VectorXd moments_gradient(const models::Records& records, Eigen::Index j, const Eigen::VectorXd& w) {
  const Eigen::VectorXd x = records.features.col(j);
  std::vector<double> phi(x.begin(), x.end());
  for (const double entry : x) phi.push_back(entry * entry);
  for (Eigen::Index a = 0; a < x.size(); ++a)
    for (Eigen::Index b = a + 1; b < x.size(); ++b) phi.push_back(std::sqrt(2.0) * x[a] * x[b]);
  return w - Eigen::Map<const Eigen::VectorXd>(phi.data(), static_cast<Eigen::Index>(phi.size()));
}

/// A record's gradient: of networks by central differences, which are off by some 1e-9.
Eigen::VectorXd gradient_of(const models::Model& model, const models::Records& records, Eigen::Index j,
                            const Eigen::VectorXd& w) {
  if (model.moments() != nullptr) return moments_gradient(records, j, w);
  if (model.network() == nullptr) return gradient_of(records, j, w);
  constexpr double kStep = 1e-5;
  Eigen::VectorXd out(w.size());
  for (Eigen::Index i = 0; i < w.size(); ++i) {
    Eigen::VectorXd up = w;
    Eigen::VectorXd down = w;
    up[i] += kStep;
    down[i] -= kStep;
    out[i] = (network_loss(*model.network(), records, j, up) - network_loss(*model.network(), records, j, down)) /
             (2.0 * kStep);
  }
  return out;
}

/// ||v||_q, q >= 1, infinity among them.
double norm_of(const Eigen::VectorXd& v, double q) {
  if (std::isinf(q)) return v.cwiseAbs().maxCoeff();
  return std::pow(v.cwiseAbs().array().pow(q).sum(), 1.0 / q);
}

Eigen::VectorXd clamped_to(const Eigen::VectorXd& v, double bound) { return v.cwiseMax(-bound).cwiseMin(bound); }

/// Where a silo's own Frank-Wolfe steps lead.
Eigen::VectorXd textbook_choices(const models::Model& model, const models::Records& records,
                                 const releases::LocalChoicesMap& choices, double bound, Eigen::VectorXd w) {
  for (std::uint64_t t = 1; t <= choices.steps; ++t) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(w.size());
    for (Eigen::Index j = 0; j < records.count(); ++j) sum += clamped_to(gradient_of(model, records, j, w), bound);
    const double step = 2.0 / (static_cast<double>(t) + 1.0);
    w = (1.0 - step) * w + step * choices.vertices.vertex(choices.vertices.minimiser(sum));
  }
  return w;
}

/// The regularised minimum by very many projected steps, of records that are no longer than the norm.
Eigen::VectorXd textbook_minimum(const models::Model& model, const models::Records& records, const releases::Ask& ask,
                                 double regularisation, const Eigen::VectorXd& start) {
  const auto& map = std::get<releases::MinimiserMap>(ask.map);
  models::Records scaled = records;
  Eigen::VectorXd constants = Eigen::VectorXd::Ones(records.count());
  for (Eigen::Index j = 0; j < records.count(); ++j) {
    const double norm = std::sqrt(records.features.col(j).squaredNorm() + 1.0);
    const double factor = std::min(1.0, ask.clip().value() / norm);
    scaled.features.col(j) *= factor;
    constants[j] = factor;
  }
  UNDERTONE_CHECK(model.linear() != nullptr && model.linear()->intercept());
  Eigen::VectorXd w = start;
  for (int step = 0; step < 20'000; ++step) {
    Eigen::VectorXd gradient = regularisation * (w - start);
    for (Eigen::Index j = 0; j < scaled.count(); ++j) {
      Eigen::VectorXd v(w.size());
      v << scaled.features.col(j), constants[j];
      const double y = scaled.targets[j] > 0.0 ? 1.0 : -1.0;
      gradient -= y / (1.0 + std::exp(y * v.dot(w))) * v / static_cast<double>(scaled.count());
    }
    w -= gradient;
    map.domain.project(w);
  }
  return w;
}

/// Both parts of a record's fair gradient, each clipped and over its scale, of a logistic model.
Eigen::VectorXd textbook_fair_gradient(const models::Model& model, const models::Records& records, Eigen::Index j,
                                       const fairness::FairTerms& terms, const Eigen::VectorXd& point) {
  const fairness::Grouping& grouping = terms.grouping;
  const Eigen::Index d = model.dimension();
  const fairness::FairBlocks blocks(terms, point.tail(point.size() - d));
  Eigen::VectorXd record = Eigen::VectorXd::Ones(d);
  record.head(records.features.rows()) = records.features.col(j);
  const double likely = 1.0 / (1.0 + std::exp(-point.head(d).dot(record)));
  const Eigen::Vector2d predicted(1.0 - likely, likely);
  Eigen::VectorXd of_model = gradient_of(model, records, j, point.head(d));
  Eigen::VectorXd of_weights = Eigen::VectorXd::Zero(grouping.weights());
  Eigen::VectorXd of_group = Eigen::VectorXd::Zero(d);  // what the group adds beyond the mean over the groups
  if (const auto bucket = grouping.bucket_of(records.targets[j] > 0.0 ? 1 : 0)) {
    const Eigen::MatrixXd& w = blocks.weights(*bucket);
    const std::int32_t s = records.group_of(j);
    const double root = std::sqrt(blocks.shares(*bucket)[s]);
    const auto c = [&](Eigen::Index k) { return -w.col(k).squaredNorm() + 2.0 * w(s, k) / root; };
    double mean = 0.0;
    for (Eigen::Index r = 0; r < grouping.groups; ++r)
      mean += 2.0 * (w(r, 1) - w(r, 0)) / std::sqrt(blocks.shares(*bucket)[r]) / static_cast<double>(grouping.groups);
    of_group =
        terms.lambda * blocks.weight() * likely * (1.0 - likely) * (2.0 * (w(s, 1) - w(s, 0)) / root - mean) * record;
    of_model += terms.lambda * blocks.weight() * likely * (1.0 - likely) * (c(1) - c(0)) * record;
    Eigen::MatrixXd by_weights = -2.0 * w * predicted.asDiagonal();
    by_weights.row(s) += 2.0 / root * predicted.transpose();
    of_weights.segment(*bucket * by_weights.size(), by_weights.size()) =
        blocks.weight() * Eigen::Map<const Eigen::VectorXd>(by_weights.data(), by_weights.size());
  }
  Eigen::VectorXd out(d + of_weights.size());
  if (terms.attribute_alone) {
    const double longest = std::sqrt(terms.model_share) * blocks.model_scale();
    out << (clipped(of_model - of_group, terms.clip) + clipped(of_group, longest)) / blocks.model_scale(),
        of_weights / blocks.adversary_scale();
    return out;
  }
  out << clipped(of_model, terms.clip) / blocks.model_scale(),
      (of_weights - blocks.centre()) / blocks.adversary_scale();
  return out;
}

/// A record's score, half of its square by the root of a half, and four times its information, of a logistic model.
Eigen::VectorXd textbook_scores(const models::Model& model, const models::Records& records, Eigen::Index j,
                                const statistics::ScoreTerms& terms, const Eigen::VectorXd& point) {
  const Eigen::Index p = terms.covariates();
  Eigen::VectorXd x = Eigen::VectorXd::Ones(p);
  for (Eigen::Index k = 0; k + 1 < p; ++k) {
    const statistics::Covariate& of = terms.of[static_cast<std::size_t>(k)];
    const double u = records.features(static_cast<Eigen::Index>(of.coordinate), j);
    x[k] = of.two_valued ? 2.0 * u - 1.0 : u;
  }
  x /= terms.record_norm;
  double residual = 0.0;
  double information = 0.0;
  if (terms.link == statistics::ScoreLink::Log) {
    const double mean = std::exp(point.head(point.size() - 1).dot(records.features.col(j)) + point.tail(1)[0]);
    residual = std::clamp((records.targets[j] + 1.0) / 2.0, 0.0, 1.0) - std::min(mean, 1.0);
    information = mean < 1.0 ? mean : 0.0;
  } else {
    residual = -gradient_of(model, records, j, point).tail(1)[0];
    information = 4.0 * std::abs(residual) * (1.0 - std::abs(residual));
  }
  Eigen::VectorXd out(statistics::score_numbers(p));
  out.head(p) = residual * x;
  const Eigen::MatrixXd square = x * x.transpose();
  Eigen::Index at = p;
  for (const double factor : {residual * residual / std::sqrt(2.0), information})
    for (Eigen::Index r = 0; r < p; ++r)
      for (Eigen::Index c = 0; c <= r; ++c) out[at++] = factor * square(r, c) * (r == c ? 1.0 : std::sqrt(2.0));
  return out;
}

/// What one silo answers, from the textbook: no lattice, no noise; the records that each release reads are those of the
/// plan in the run's permutation. Only for plans that draw no subsets; what is drawn one by one, the run draws.
Eigen::VectorXd textbook_answer(const simulation::SimulatedSilo& silo, const jobs::Job& job, const planning::Plan& plan,
                                const queries::Query& query, const RunId& run, std::uint64_t seed) {
  const Eigen::Index d = job.model->dimension();
  const Eigen::VectorXd& points = queries::point_of(query.question);
  models::Records records = silo.dataset.training;
  if (job.projection)
    records.features =
        job.projection->directions.transpose() * (records.features.colwise() - job.projection->origin).eval();
  const planning::Release& release = *plan.release(query.round);
  if (const auto* choices = std::get_if<releases::LocalChoicesMap>(&release.ask.map))
    return textbook_choices(*job.model, records, *choices,
                            std::get<releases::MaxBound>(release.ask.bound).bound.value(), points);
  if (const auto* objective = std::get_if<mechanisms::PerturbedObjective>(&release.mechanism))
    return textbook_minimum(*job.model, records, release.ask, objective->ideal.regularisation(),
                            std::get<releases::MinimiserMap>(release.ask.map).start);
  if (const auto* scores = std::get_if<releases::ScoresMap>(&release.ask.map)) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(release.ask.dimension);
    for (Eigen::Index j = 0; j < records.count(); ++j) {
      const Eigen::VectorXd gradient = gradient_of(*job.model, records, j, points.head(d));
      Eigen::VectorXd own(release.ask.dimension);
      for (Eigen::Index k = 0; k < own.size(); ++k)
        own[k] = (scores->vertices.vertex(static_cast<Eigen::Index>(points[d + k])) - scores->vertices.anchor())
                     .dot(gradient);
      sum += clipped(own, release.ask.clip().value());
    }
    return sum / static_cast<double>(records.count());
  }
  if (const auto* fair = std::get_if<releases::FairGradientMap>(&release.ask.map)) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(release.ask.dimension);
    for (Eigen::Index j = 0; j < records.count(); ++j)
      sum += textbook_fair_gradient(*job.model, records, j, fair->terms, points);
    return sum / static_cast<double>(records.count());
  }
  if (const auto* totals =
          std::get_if<releases::FeaturesMap>(&release.ask.map))  // how many labels are positive, or all
    return Eigen::VectorXd::Constant(1, std::holds_alternative<statistics::SumMap>(totals->features)
                                            ? records.targets.cwiseMax(-1.0).cwiseMin(1.0).sum()
                                            : (records.targets.array() > 0.0).cast<double>().sum());
  if (const auto* scores = std::get_if<releases::ScoreMomentsMap>(&release.ask.map)) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(release.ask.dimension);
    for (Eigen::Index j = 0; j < records.count(); ++j)
      sum += textbook_scores(*job.model, records, j, scores->terms, points);
    return sum;
  }
  if (const auto* shares = std::get_if<releases::GroupSharesMap>(&release.ask.map)) {
    const fairness::Grouping& grouping = shares->grouping;
    const auto cells = static_cast<double>(grouping.cells());
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(grouping.cells());
    for (Eigen::Index j = 0; j < records.count(); ++j)
      if (const auto bucket = grouping.bucket_of(records.targets[j] > 0.0 ? 1 : 0))
        sum[*bucket * grouping.groups + records.group_of(j)] += 1.0;
    return (sum / static_cast<double>(records.count())).array() - 1.0 / cells;
  }
  if (release.ask.local()) {
    const auto stream = silo::TestRandomness(seed, silo.id).stream(run, query.round);
    const releases::LocalSteps& local = *release.ask.local();
    Eigen::VectorXd w = points;
    for (std::uint64_t step = 0; step < local.steps; ++step) {
      std::vector<std::int64_t> read(1);
      if (local.records == 1) {
        read.front() = static_cast<std::int64_t>(stream->below(static_cast<std::uint64_t>(records.count())));
      } else {
        read = stream->subset(records.count(), local.records);
      }
      Eigen::VectorXd direction = local.proximal * (w - points);
      for (const std::int64_t j : read)
        direction +=
            clipped(gradient_of(*job.model, records, j, w), job.clip().value()) / static_cast<double>(local.records);
      w -= local.step_size * direction;
    }
    return w;
  }
  const silo::PermutationName name{run, releases::Block::Training, {}};
  const std::vector<std::int64_t> order = silo::TestRandomness(seed, silo.id).permutation(name, records.count());
  const std::vector<std::int64_t> bins = silo::TestRandomness(seed, silo.id).bins(name, records.count());
  std::vector<std::int64_t> drawn;
  if (release.ask.records.with_replacement) {
    drawn = silo::TestRandomness(seed, silo.id)
                .stream(run, query.round)
                ->multiset(release.population, release.records_drawn);
  } else if (release.reads_bins()) {
    for (std::int64_t j = 0; j < records.count(); ++j) {
      const std::int64_t position = bins[static_cast<std::size_t>(j)];
      if (release.positions.from <= position && position < release.positions.to) drawn.push_back(j);
    }
    EXPECT_LE(drawn.size(), static_cast<std::size_t>(release.rows));
  } else {
    for (std::int64_t i = release.positions.from; i < release.positions.to; ++i) drawn.push_back(i);
  }
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(d);
  for (const std::int64_t i : drawn) {
    const Eigen::Index j = release.ask.records.slice && !release.reads_bins() ? order[static_cast<std::size_t>(i)] : i;
    if (points.size() == d) {
      const Eigen::VectorXd gradient = gradient_of(*job.model, records, j, points);
      const auto* dual = std::get_if<releases::DualBound>(&release.ask.bound);
      const double norm = dual == nullptr ? gradient.norm() : norm_of(gradient, dual->exponent());
      const double bound = dual == nullptr ? job.clip().value() : dual->clip().value();
      sum += gradient * std::min(1.0, bound / norm);
      continue;
    }
    const Eigen::VectorXd apart = points.head(d) - points.tail(d);
    const auto* dual = std::get_if<releases::DualBound>(&release.ask.bound);
    const double most = dual == nullptr ? 2.0 * job.clip().value() : dual->clip().value();
    const double distance = dual == nullptr ? apart.norm() : norm_of(apart, dual->primal_exponent());
    const double bound = release.ask.smoothness() ? std::min(most, *release.ask.smoothness() * distance) : most;
    const Eigen::VectorXd difference =
        gradient_of(*job.model, records, j, points.head(d)) - gradient_of(*job.model, records, j, points.tail(d));
    const double norm = dual == nullptr ? difference.norm() : norm_of(difference, dual->exponent());
    if (norm > 0.0) sum += difference * std::min(1.0, bound / norm);
  }
  return sum / static_cast<double>(release.records_drawn);
}

/// @param plans of the silos, in their order
Eigen::VectorXd textbook_mean(const std::vector<simulation::SimulatedSilo>& silos, const jobs::Job& job,
                              const std::vector<planning::Plan>& plans, const queries::Query& query, const RunId& run,
                              std::uint64_t seed) {
  Eigen::VectorXd total = Eigen::VectorXd::Zero(plans.front().release(query.round)->ask.dimension);
  double weights = 0.0;
  for (std::size_t i = 0; i < silos.size(); ++i) {
    const bool totals = plans[i].release(query.round)->ask.answers_in_totals();  // which count alike
    const double weight = totals ? 1.0 : static_cast<double>(job.member(silos[i].id)->weight);
    total += weight * textbook_answer(silos[i], job, plans[i], query, run, seed);
    weights += weight;
  }
  return total / weights;
}

/// The estimate of a silo along a path, made of the nodes' own records in the run's permutation.
Eigen::VectorXd textbook_estimate(const simulation::SimulatedSilo& silo, const jobs::Job& job,
                                  const planning::Release& release, const queries::Query& query, const RunId& run,
                                  std::uint64_t seed) {
  const models::Records& records = silo.dataset.training;
  const std::vector<std::int64_t> order =
      silo::TestRandomness(seed, silo.id).permutation({run, releases::Block::Training, {}}, records.count());
  const Eigen::Index d = job.model->dimension();
  const Eigen::VectorXd& points = queries::point_of(query.question);
  Eigen::VectorXd estimate = Eigen::VectorXd::Zero(d);
  Eigen::Index at = 0;
  for (const releases::PathNode& node : release.ask.path()->nodes) {
    const releases::Slice::Positions part = node.slice.positions(records.count());
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(d);
    for (std::int64_t i = part.from; i < part.to; ++i) {
      const Eigen::Index j = order[static_cast<std::size_t>(i)];
      Eigen::VectorXd term = gradient_of(*job.model, records, j, points.segment(at, d));
      if (at > 0) term -= node.carried * gradient_of(*job.model, records, j, points.segment(at - d, d));
      sum += clamped_to(term, node.bound.value());
    }
    estimate += node.factor * sum / static_cast<double>(part.to - part.from);
    at += d;
  }
  return estimate;
}

/// What silos choose without noise: the vertex against which their clamped gradients point most.
folds::Tally textbook_tally(const std::vector<simulation::SimulatedSilo>& silos, const jobs::Job& job,
                            const std::vector<planning::Plan>& plans, const geometry::Vertices& candidates,
                            const queries::Query& query, const RunId& run, std::uint64_t seed) {
  if (plans.front().release(query.round)->ask.path() != nullptr) {
    folds::Tally chosen;
    for (std::size_t i = 0; i < silos.size(); ++i) {
      const Eigen::VectorXd estimate =
          textbook_estimate(silos[i], job, *plans[i].release(query.round), query, run, seed);
      chosen.votes[candidates.minimiser(estimate)] += static_cast<double>(job.member(silos[i].id)->weight);
    }
    return chosen;
  }
  const double bound = std::get<releases::MaxBound>(job.bound).bound.value();
  folds::Tally out;
  for (const simulation::SimulatedSilo& silo : silos) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(job.model->dimension());
    for (Eigen::Index j = 0; j < silo.dataset.training.count(); ++j) {
      const Eigen::VectorXd own = gradient_of(*job.model, silo.dataset.training, j, queries::point_of(query.question));
      sum += own.cwiseMax(-bound).cwiseMin(bound);
    }
    out.votes[candidates.minimiser(sum)] += static_cast<double>(job.member(silo.id)->weight);
  }
  return out;
}

TEST(FederatedAlgorithmsTest, WithoutNoiseTheyDoWhatTheTextbooksGradientsMakeThemDo) {
  for (auto [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    for (std::size_t at; (at = federation.algorithm.find("\"draw_fraction\":0.5")) != std::string::npos;)
      federation.algorithm.replace(at, 19, "\"draw_fraction\":1.0");
    federation.evaluation_every = 0;
    constexpr std::uint64_t kSeed = 7;
    const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
    const std::vector<simulation::SimulatedSilo> silos = federation.cohort();
    std::vector<planning::Plan> plans;
    plans.reserve(silos.size());
    for (const simulation::SimulatedSilo& silo : silos)
      plans.push_back(jobs::plan_of(job, *job.member(silo.id)).value());
    const Trace trace = trace_of(federation, simulation::SimulatedNoise::None, kSeed);
    const auto algorithm = job.algorithm->make().value();
    algorithms::Step step = algorithm->start();
    std::size_t asked = 0;
    while (const auto* query = std::get_if<queries::Query>(&step)) {
      ASSERT_LT(asked, trace.asked.size());
      const Eigen::VectorXd& expected = queries::point_of(query->question);
      const Eigen::VectorXd& found = queries::point_of(trace.asked[asked].question);
      ASSERT_EQ(expected.size(), found.size());
      // A silo truncates to its lattice: a thousandth of the clip norm a round at most, and a hundred rounds' errors
      // stay within 2 % of a step here. An anchor, slice or clip that is wrong is off by more than 10 %.
      EXPECT_LE((expected - found).norm(), 0.02 * (1.0 + expected.norm())) << "round " << asked;
      const geometry::Vertices* candidates = plans.front().release(query->round)->ask.candidates();
      if (candidates == nullptr) {
        folds::Gathered told{query->round, static_cast<Eigen::Index>(silos.size()),
                             folds::Mean{textbook_mean(silos, job, plans, trace.asked[asked], trace.run, kSeed)}};
        std::vector<folds::NoisePart> noise;
        for (std::size_t i = 0; i < silos.size(); ++i) {
          const planning::Release& release = *plans[i].release(query->round);
          told.records += release.records_drawn;
          noise.push_back(
              {1.0, release.noise_stddev_of_mean() * static_cast<double>(release.records_drawn)});  // of its total
        }
        told.noise_stddev = folds::noise_stddev_of_mean(std::move(noise));
        step = algorithm->advance(told).value();
      } else {
        step = algorithm
                   ->advance({query->round, 5,
                              textbook_tally(silos, job, plans, *candidates, trace.asked[asked], trace.run, kSeed)})
                   .value();
      }
      ++asked;
    }
    EXPECT_EQ(trace.asked.size(), asked + 1);  // and the evaluation at the end
    EXPECT_LE((std::get<algorithms::Finished>(step).outcome.vectors.at("weights") - trace.outcome.vectors.at("weights"))
                  .norm(),
              0.02);
  }
}

TEST(FederatedAlgorithmsTest, OneSeedIsOneModelAndAnotherSeedAnother) {
  const auto federations = tests::federations_of_every_algorithm();
  for (std::size_t f = 0; f < federations.size(); f += tests::repetitions(std::size_t{3}, std::size_t{1})) {
    const tests::SmallFederation& federation = federations[f].second;
    SCOPED_TRACE(federations[f].first);
    const auto weights = [&](std::uint64_t seed) {
      return trace_of(federation, simulation::SimulatedNoise::Seeded, seed).outcome.vectors.at("weights");
    };
    const auto first = weights(1);
    EXPECT_EQ(first, weights(1));
    EXPECT_NE(first, weights(2));
  }
}

/// The job with other weights, in the order of its silos.
std::string weighted(const std::string& job, const std::vector<int>& weights) {
  nlohmann::json document = nlohmann::json::parse(job);
  for (std::size_t i = 0; i < weights.size(); ++i) document["cohort"][i]["weight"] = weights[i];
  return document.dump();
}

// Threads share the same things whatever they compute: the thread sanitizer looks at every twelfth.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr std::size_t kFederationsStep = 12;
#else
constexpr std::size_t kFederationsStep = 1;
#endif
#else
constexpr std::size_t kFederationsStep = 1;
#endif

TEST(DirectCohortTest, GivesTheFederationsModelBitForBitForAnyNumberOfThreads) {
  auto federations = tests::federations_of_every_algorithm();
  for (const char* aggregation : {R"({"kind":"mean","missing_silos":"scaled"})",
                                  R"({"kind":"trimmed_mean","trim":0.2})", R"({"kind":"geometric_median"})"}) {
    federations.emplace_back(aggregation, tests::SmallFederation());
    federations.back().second.aggregation = aggregation;
  }
  Eigen::VectorXd weights(5);
  weights << 0.5, -1.0, 0.25, 2.0, -0.125;
  for (const std::string& initial :
       {jobs::initial_of_weights(weights).dump(), std::string(R"({"kind":"random","seed":5,"scale":1})")}) {
    federations.emplace_back(initial, tests::SmallFederation());
    federations.back().second.initial = initial;
    federations.back().second.points = "f32";
  }
  for (std::size_t f = 0; f < federations.size(); f += kFederationsStep) {
    const auto& [name, federation] = federations[f];
    SCOPED_TRACE(name);
    const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
    const std::vector<simulation::SimulatedSilo> silos = federation.cohort();
    const Trace trace = trace_of(federation, simulation::SimulatedNoise::Seeded, 11);
    for (const std::size_t threads :
         tests::repetitions(std::vector<std::size_t>{1, 7}, std::vector<std::size_t>{1, 2, 7})) {
      auto cohort = direct(job, silos, trace.run, 11, 0, threads).value();
      const algorithms::Outcome outcome = cohort.train(*jobs::make_algorithm(job)).value();
      EXPECT_EQ(outcome.vectors.at("weights"), trace.outcome.vectors.at("weights")) << threads;
      ASSERT_EQ(outcome.metrics.size(), trace.outcome.metrics.size());
      for (std::size_t i = 0; i < outcome.metrics.size(); ++i)
        EXPECT_EQ(outcome.metrics[i].values, trace.outcome.metrics[i].values);
    }
  }
}

TEST(DirectCohortTest, WithSilosMissingTheScaledMeanLeadsToTheWeightedOptimumAndTheRenormalisedOneElsewhere) {
  // Silos of weights 9 and 1 whose records all have the targets 0.8 and -0.8 and no features: the intercept that is
  // best for the weighted objective is 0.64, for the unweighted one 0. One silo answers a round.
  tests::SmallFederation federation;
  federation.loss = models::Loss::LeastSquares;
  federation.silos = 2;
  federation.quorum = 1;
  federation.rounds = 1000;
  federation.step_size = 0.1;
  federation.clip_norm = 10.0;
  federation.noise_multiplier = 500.0;  // none is drawn: only the plan must be cheap
  federation.evaluation_every = 0;
  federation.regulariser = R"({"kind":"none"})";
  const auto intercept = [&](const char* missing_silos) {
    federation.aggregation = fmt::format(R"({{"kind":"mean","missing_silos":"{}"}})", missing_silos);
    jobs::Job job = jobs::parse_job(weighted(federation.job(), {9, 1}), "small").value();
    std::vector<simulation::SimulatedSilo> silos = federation.cohort();
    for (std::size_t i = 0; i < silos.size(); ++i) {
      silos[i].dataset.training.features.setZero();
      silos[i].dataset.training.targets.setConstant(i == 0 ? 0.8 : -0.8);
    }
    auto cohort = simulation::DirectCohort::create({*job.model, job.reply_lattice, RunId{sha256("missing"), {}}, 5,
                                                    simulation::SimulatedNoise::None, 1, 1, job.aggregation},
                                                   simulation::plan_cohort(job, silos).value().members)
                      .value();
    const algorithms::Outcome outcome = cohort.train(*jobs::make_algorithm(job)).value();
    return outcome.vectors.at("weights").tail(1)[0];
  };
  // The average's error: from the start 0.64/(0.1 * 1000), and a standard deviation of 0.288/sqrt(1000) = 0.009
  // (renormalised 0.025), six of which a sound draw leaves with probability 2e-9.
  EXPECT_NEAR(intercept("scaled"), 0.64, 0.064);
  EXPECT_NEAR(intercept("renormalised"), 0.0, 0.15);
}

TEST(FederatedAlgorithmsTest, AWarmStartGoesOnWhereARunEnded) {
  for (const char* points : {"f64", "f32"}) {
    SCOPED_TRACE(points);
    tests::SmallFederation federation;
    federation.points = points;
    federation.averaging = "last";
    federation.evaluation_every = 0;
    federation.noise_multiplier = 60.0;  // the same in all of them, and with it the silos' lattice
    federation.domain = R"({"kind":"l2_ball","radius":0.4})";
    const auto end = [&](int rounds, const std::string& initial) {
      federation.rounds = rounds;
      federation.initial = initial;
      return trace_of(federation, simulation::SimulatedNoise::None).outcome.vectors.at("weights");
    };
    const Eigen::VectorXd half = end(5, "");
    const Eigen::VectorXd whole = end(10, "");
    EXPECT_NE(half, whole);
    EXPECT_EQ(end(5, jobs::initial_of_weights(half).dump()), whole);
  }
}

TEST(DirectCohortTest, DrawsWhoAnswersAfreshAndUniformly) {
  tests::SmallFederation federation;
  federation.rounds = 400;
  federation.evaluation_every = 0;
  const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
  const std::vector<simulation::SimulatedSilo> silos = federation.cohort();
  const RunId run{sha256(federation.job()), {}};
  /// Counts who answered, by asking for gradients that nobody uses.
  class Counting final : public algorithms::FederatedAlgorithm {
   public:
    explicit Counting(std::unique_ptr<algorithms::FederatedAlgorithm> inner) : inner_(std::move(inner)) {}
    algorithms::Step start() override { return inner_->start(); }
    Result<algorithms::Step> advance(const folds::Gathered& gathered) override {
      replies.push_back(gathered.replies);
      return inner_->advance(gathered);
    }
    Eigen::VectorXd candidate() const override { return inner_->candidate(); }
    void save(ByteWriter& state) const override { inner_->save(state); }
    Status restore(ByteReader& state) override { return inner_->restore(state); }
    std::vector<Eigen::Index> replies;

   private:
    std::unique_ptr<algorithms::FederatedAlgorithm> inner_;
  };
  auto cohort = direct(job, silos, run, 3, 2, 2).value();
  Counting counting(jobs::make_algorithm(job));
  ASSERT_TRUE(cohort.train(counting));
  ASSERT_EQ(counting.replies.size(), 401U);
  for (std::size_t r = 0; r < 400; ++r) EXPECT_EQ(counting.replies[r], 2);
  EXPECT_EQ(counting.replies.back(), 5);  // everybody evaluates
  EXPECT_FALSE(direct(job, silos, run, 3, 6, 1));
  EXPECT_FALSE(direct(job, silos, run, 3, 0, 0));
}

/// A silo's machine with a ledger in memory that has accepted the job.
class Accepted {
 public:
  explicit Accepted(const tests::SmallFederation& federation)
      : job_(federation.job()),
        parsed_(jobs::parse_job(job_, "small").value()),
        silo_(federation.cohort().front()),
        plan_(jobs::plan_of(parsed_, *parsed_.member(silo_.id)).value()) {
    run_.job = sha256(job_);
    (void)machine_.on_message(wire::Welcome{wire::kProtocolMax, "test", {}});
    (void)machine_.on_message(wire::JobOffer{run_, job_});
    EXPECT_NE(ledger_.account(run_), nullptr);
  }
  /// Whether the silo answered.
  bool ask(std::uint64_t round, releases::QuestionKind kind) {
    const Eigen::Index d = parsed_.model->dimension();
    const planning::Release* planned = plan_.release(RoundIndex{round});
    const bool as_planned = planned != nullptr && planned->ask.kind() == kind;
    const Eigen::Index size = as_planned                                           ? planned->ask.point_size(d)
                              : kind == releases::QuestionKind::GradientDifference ? 2 * d
                                                                                   : d;
    const Eigen::VectorXd point = Eigen::VectorXd::LinSpaced(size, -0.1, 0.1 * static_cast<double>(round + 1));
    wire::QueryMessage message{run_, parsed_.point_type, {}};
    message.query.round = RoundIndex{round};
    message.query.question = queries::question_of(kind, point);
    const std::uint64_t before = ledger_.account(run_)->releases;
    (void)machine_.on_message(message);
    return ledger_.account(run_)->releases > before;
  }
  const planning::Plan& plan() const { return plan_; }

 private:
  std::string job_;
  jobs::Job parsed_;
  simulation::SimulatedSilo silo_;
  planning::Plan plan_;
  RunId run_{};
  store::Database disk_ = store::Database::in_memory().value();
  store::Database desk_disk_ = store::Database::in_memory().value();
  silo::Desk desk_ = silo::Desk::open(desk_disk_).value();
  tests::MemoryHead head_;
  SigningKey key_ = SigningKey::from_seed(std::string(32, 'p')).value();
  silo::TestRandomness randomness_{1, silo_.id};
  Digest holdout_ = silo_.facts.holdout_public ? sha256("holdout") : Digest{};
  Digest open_ = silo_.facts.public_records > 0 ? sha256("public") : Digest{};
  silo::Ledger ledger_ =
      silo::Ledger::open(disk_, head_, key_, {"data", {}, holdout_, open_}, tests::generous_policy().total,
                         crypto::NoiseKind::Test, [] { return std::int64_t{0}; })
          .value();
  silo::SiloMachine machine_{
      {silo_.id, silo_.policy, silo_.facts, silo_.dataset, ledger_, randomness_, wire::Limits{}, {}, desk_, "data", [] {
         return std::int64_t{0};
       }}};
};

/// Asks for rounds and kinds at random: the silo answers those that are its plan's and not yet past.
void expect_only_the_plan_is_answered(const tests::SmallFederation& federation, RandomSource& random) {
  using releases::QuestionKind;
  Accepted silo(federation);
  std::optional<std::uint64_t> last;
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t round = random.below(silo.plan().rounds() + 3);
    const auto kind = static_cast<QuestionKind>(1 + random.below(4));
    const planning::Release* release = silo.plan().release({round});
    const bool planned = release != nullptr && release->ask.kind() == kind && (!last || round > *last);
    EXPECT_EQ(silo.ask(round, kind), planned) << "round " << round;
    if (planned) last = round;
  }
}

TEST(FederatedAlgorithmsTest, ASiloAnswersWhatIsNextInItsPlanAndNothingElse) {
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE(seed);
      RandomSource random(seed);
      expect_only_the_plan_is_answered(federation, random);
    }
  }
}

TEST(FederatedAlgorithmsTest, SoItIsForSchedulesAtRandom) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    tests::SmallFederation federation;
    federation.rounds = 1 + static_cast<int>(random.below(12));
    federation.evaluation_every = static_cast<int>(random.below(5));
    federation.draw_fraction = random.below(2) == 0 ? 1.0 : 0.25 + 0.05 * static_cast<double>(random.below(10));
    const std::uint64_t a = 1 + random.below(4);
    const std::uint64_t b = 1 + random.below(4);
    const std::uint64_t c = 1 + random.below(4);
    switch (random.below(4)) {
      case 0:
        break;  // minibatch SGD of so many rounds
      case 1:
        federation.algorithm = fmt::format(
            R"({{"kind":"prox_svrg","restarts":{},"epochs":{},"inner":{},"step_size":0.1,"draw_fraction":{},"seed":1}})",
            a, b, c, federation.draw_fraction);
        break;
      case 2:
        federation.algorithm =
            fmt::format(R"({{"kind":"spider","rounds":{},"period":{},"step_size":0.1,"seed":1}})", 3 * a, b);
        break;
      default:
        federation.algorithm = fmt::format(
            R"({{"kind":"accelerated_sgd","reads":"one_pass","proximity":0,"strong_convexity":0,"draw_fraction":1,
                "stages":[{{"rounds":{},"upsilon":4}},{{"rounds":{},"upsilon":5}}]}})",
            a, b);
    }
    expect_only_the_plan_is_answered(federation, random);
  }
}

}  // namespace
}  // namespace undertone
