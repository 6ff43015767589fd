#include "lab/audit/worst_pair.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "lab/audit/gaussian_distinguisher.hpp"
#include "lab/audit/likelihood_distinguisher.hpp"
#include "lab/audit/selection_distinguisher.hpp"
#include "lab/audit/statistics_pair.hpp"
#include "shared/models/layered_model.hpp"

namespace undertone::lab {
namespace {

/// A regression's target that no bound lets through.
constexpr double kFarTarget = 1e3;

/// Neighbours whose replies are sums, and what of a sum to look at.
struct SumPair {
  Neighbours neighbours;
  Projection projection;
};

SumPair linear_pair(const jobs::Job& job, const jobs::CohortMember& member, PairShape shape) {
  SumPair out;
  Neighbours& pair = out.neighbours;
  Projection& projection = out.projection;
  pair.first = plain_records(job, member);
  const auto features = static_cast<Eigen::Index>(job.model->features());
  projection.point = Eigen::VectorXd::Zero(job.model->dimension());
  switch (shape) {
    case PairShape::Holdout: {
      pair.block = releases::Block::Holdout;
      projection.others_lean = 1.0;
      // At the zero model: labels of either sign, or targets whose squared loss is at the two ends of what is counted.
      const models::LinearLoss& loss = job.model->linear()->linear_loss();
      const bool classes = loss.classifies() || loss.kind() == models::Loss::Poisson;
      pair.first.holdout.targets.setConstant(classes ? -1.0 : 0.0);
      pair.second = pair.first;
      pair.first.holdout.targets[0] = classes ? 1.0 : kFarTarget;
      const auto metrics = static_cast<Eigen::Index>(job.model->metric_scales().size());
      Eigen::VectorXd one(metrics);
      Eigen::VectorXd other(metrics);
      job.model->linear()->centred_metrics(projection.point, pair.first.holdout, 0, one);
      job.model->linear()->centred_metrics(projection.point, pair.second.holdout, 0, other);
      projection.direction = (one - other).normalized();
      projection.reach = (one - other).norm() / (2.0 * job.model->metric_norm());
      return out;
    }
    case PairShape::Crowd:
      pair.first.training.features.setOnes();
      pair.first.training.targets.setConstant(-1.0);
      projection.others_lean = 1.0;
      break;
    case PairShape::Alone:
      pair.first.training.features.col(0).setOnes();
      break;
    case PairShape::Cancelling:
    case PairShape::Outvoted:
    case PairShape::Turning:
    case PairShape::Extremes:
      UNDERTONE_CHECK(false);
  }
  pair.second = pair.first;
  pair.first.training.targets[0] = 1.0;
  pair.second.training.targets[0] = -1.0;
  // Only the features' part of a reply is looked at.
  projection.direction = Eigen::VectorXd::Zero(job.model->dimension());
  const double derivative = job.model->linear()->derivative(projection.point, pair.first.training, 0);
  projection.direction.head(features).setConstant(
      std::copysign(1.0 / std::sqrt(static_cast<double>(features)), derivative));
  const double constant = job.model->dimension() > features ? 1.0 : 0.0;
  const double whole = std::abs(derivative) * std::sqrt(static_cast<double>(features) + constant);
  const double clipped = std::min(1.0, job.clip().value() / whole);
  projection.reach = std::abs(derivative) * std::sqrt(static_cast<double>(features)) * clipped / job.clip().value();
  return out;
}

bool all_dense(const models::Network& network) {
  return std::all_of(network.layers().begin(), network.layers().end(),
                     [](const models::Layer& layer) { return layer.dense(); });
}

Eigen::Map<Eigen::MatrixXd> matrix_of(const models::Layer& layer, Eigen::VectorXd& weights) {
  return {weights.data() + layer.offset, layer.outputs, layer.patch + 1};
}

/// Weights at which every record has the same hidden values and every score is zero: a class' gradient lies in the last
/// layer alone, and is the opposite of the other's where there are two.
Eigen::VectorXd even_point(const models::Network& network) {
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(network.dimension());
  for (std::size_t l = 0; l + 1 < network.layers().size(); ++l)
    matrix_of(network.layers()[l], weights).rightCols(1).setOnes();
  return weights;
}

/// The same, but for records with ones among their first three features, whose first layer adds 2^60 + 60 - 2^60 - 30:
/// -30 in this order, as of a record without features, 30 in others.
Eigen::VectorXd cancelling_point(const models::Network& network) {
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(network.dimension());
  for (std::size_t l = 0; l + 1 < network.layers().size(); ++l) {
    auto matrix = matrix_of(network.layers()[l], weights);
    matrix.col(0).setConstant(l == 0 ? 0x1p60 : 30.0);
    if (l > 0) continue;
    matrix.col(1).setConstant(60.0);
    matrix.col(2).setConstant(-0x1p60);
    matrix.rightCols(1).setConstant(-30.0);
  }
  return weights;
}

Eigen::VectorXd contribution(const jobs::Job& job, const Eigen::VectorXd& point, const models::Records& records,
                             Eigen::Index j) {
  models::LayeredModel model(*job.model->network());
  Eigen::VectorXd out(model.dimension());
  const std::int64_t drawn[] = {j};
  model.clipped_gradient_sum(point, records, drawn, job.clip().value(), out);
  return out;
}

SumPair network_pair(const jobs::Job& job, const jobs::CohortMember& member, PairShape shape) {
  const models::Network& network = *job.model->network();
  SumPair out;
  Neighbours& pair = out.neighbours;
  Projection& projection = out.projection;
  pair.first = plain_records(job, member);
  projection.others_lean = 1.0;
  if (shape == PairShape::Holdout) {
    pair.block = releases::Block::Holdout;
    projection.point = even_point(network);
    matrix_of(network.layers().back(), projection.point)(0, network.layers().back().patch) =
        100.0;  // all are of class 0
    pair.second = pair.first;
    pair.first.holdout.targets[0] = 0.0;
    models::LayeredModel model(network);
    const auto metrics = static_cast<Eigen::Index>(network.metric_scales().size());
    Eigen::VectorXd one(metrics);
    Eigen::VectorXd other(metrics);
    model.centred_metrics(projection.point, pair.first.holdout, 0, one);
    model.centred_metrics(projection.point, pair.second.holdout, 0, other);
    projection.direction = (one - other).normalized();
    projection.reach = (one - other).norm() / (2.0 * job.model->metric_norm());
    return out;
  }
  const Eigen::Index changed = pair.first.training.count() - 1;
  pair.changed = changed;
  if (shape == PairShape::Cancelling) {
    projection.point = cancelling_point(network);
    if (changed > 0) pair.first.training.features.col(changed - 1).head(3).setOnes();
  } else {
    UNDERTONE_CHECK(shape == PairShape::Crowd);
    projection.point = even_point(network);
    pair.first.training.features.setOnes();
  }
  pair.second = pair.first;
  pair.first.training.targets[changed] = 0.0;
  const Eigen::VectorXd apart = contribution(job, projection.point, pair.first.training, changed) -
                                contribution(job, projection.point, pair.second.training, changed);
  projection.direction = apart.normalized();
  projection.reach = apart.norm() / (2.0 * job.clip().value());
  return out;
}

/// The first private release of a block. @pre there is one
const planning::Release& first_release(const planning::Plan& plan, releases::Block block) {
  for (const planning::Plan::Segment& segment : plan.segments())
    if (segment.release.ask.records.block == block && !segment.release.is_public()) return segment.release;
  UNDERTONE_CHECK(false);
}

bool selects(const planning::Plan& plan) {
  return plan.protects(releases::Block::Training) &&
         std::holds_alternative<mechanisms::Selection>(first_release(plan, releases::Block::Training).mechanism);
}

/// Signs for the coordinates of a gradient that are apart as far as the candidates' geometry allows: two candidates
/// whose difference, in l1, is the largest.
Eigen::VectorXd signs_of(const geometry::Vertices& candidates) {
  const Eigen::Index d = candidates.dimension();
  Eigen::VectorXd signs(d);
  if (candidates.l1_radius() || candidates.simplex_scale()) {
    // Any two coordinates of opposite signs have such candidates.
    for (Eigen::Index j = 0; j < d; ++j) signs[j] = j % 2 == 0 ? 1.0 : -1.0;
    return signs;
  }
  Eigen::MatrixXd all(d, candidates.count());
  for (Eigen::Index j = 0; j < candidates.count(); ++j) all.col(j) = candidates.vertex(j);
  double widest = -1.0;
  for (Eigen::Index i = 0; i < all.cols(); ++i) {
    for (Eigen::Index k = 0; k < i; ++k) {
      const double apart = (all.col(i) - all.col(k)).lpNorm<1>();
      if (apart <= widest) continue;
      widest = apart;
      signs = (all.col(i) - all.col(k)).unaryExpr([](double value) { return value < 0.0 ? -1.0 : 1.0; });
    }
  }
  return signs;
}

WorstPair selection_pair(const jobs::Job& job, const jobs::CohortMember& member, const planning::Plan& plan,
                         PairShape shape) {
  const releases::Ask& ask = first_release(plan, releases::Block::Training).ask;
  const auto* bound = std::get_if<releases::MaxBound>(&ask.bound);
  UNDERTONE_CHECK(bound != nullptr && job.model->linear() != nullptr);
  Eigen::VectorXd signs = signs_of(*ask.candidates());
  const Eigen::Index features = job.model->features();
  if (job.model->linear()->intercept()) signs *= signs[features];  // whose own feature is 1
  const bool classes = job.model->linear()->linear_loss().classifies();
  const double target = classes ? 1.0 : shape == PairShape::Turning ? bound->bound.value() : kFarTarget;
  Neighbours pair;
  pair.first = plain_records(job, member);
  // Wherever the run goes, the others' intercepts then cancel but for one.
  if (!classes) pair.first.training.targets *= kFarTarget;
  pair.first.training.features.col(0) = signs.head(features);
  pair.first.training.targets[0] = target;
  const auto with_leaning = [&](Eigen::Index others) {
    Neighbours leaning = pair;
    leaning.first.training.features.middleCols(1, others).colwise() = signs.head(features);
    leaning.first.training.targets.segment(1, others).setConstant(-target);
    leaning.second = leaning.first;
    leaning.second.training.targets[0] = -target;
    return leaning;
  };
  const auto made = [&](Eigen::Index others) {
    const Neighbours leaning = with_leaning(others);
    return WorstPair{leaning, std::make_shared<SelectionDistinguisher>(job, plan, leaning)};
  };
  if (shape != PairShape::Outvoted) return made(0);
  // The fewest with whom what the first record asks for is as rare as this. Noise that is too small makes it rarer
  // still, and what is rarer than the audit's delta shows nothing.
  constexpr double kRare = 0.25;
  Eigen::Index low = 0;
  Eigen::Index high = pair.first.training.count() - 1;
  while (low < high) {
    const Eigen::Index middle = low + (high - low) / 2;
    const bool rare = SelectionDistinguisher(job, plan, with_leaning(middle)).first_choice() <= kRare;
    (rare ? high : low) = rare ? middle : middle + 1;
  }
  return made(low);
}

}  // namespace

data::Dataset plain_records(const jobs::Job& job, const jobs::CohortMember& member) {
  const auto features = job.model ? job.model->features() : static_cast<Eigen::Index>(data::encoded_width(job.schema));
  const bool layered = job.model && job.model->network() != nullptr;
  const auto block = [&](std::int64_t records) {
    models::Records out{Eigen::MatrixXd::Zero(features, records), Eigen::VectorXd(records)};
    for (Eigen::Index j = 0; j < records; ++j) out.targets[j] = layered || j % 2 == 0 ? 1.0 : -1.0;
    return out;
  };
  return {block(member.facts.records), block(member.facts.holdout_records), block(member.facts.public_records)};
}

std::vector<PairShape> shapes_for(const jobs::Job& job, const planning::Plan& plan) {
  if (!job.model) return {PairShape::Extremes};
  std::vector<PairShape> shapes;
  if (!plan.protects(releases::Block::Training)) {
    // A method that releases nothing of training records has no pair of them.
  } else if (selects(plan)) {
    shapes = {PairShape::Alone, PairShape::Outvoted};
    if (!job.model->classifies()) shapes.push_back(PairShape::Turning);
  } else if (const models::Network* network = job.model->network()) {
    shapes = {PairShape::Crowd};
    if (network->layers().size() > 1 && all_dense(*network) && network->features() >= 3)
      shapes.push_back(PairShape::Cancelling);
  } else {
    shapes = {PairShape::Crowd, PairShape::Alone};
  }
  if (plan.protects(releases::Block::Holdout)) shapes.push_back(PairShape::Holdout);
  return shapes;
}

WorstPair worst_pair(const jobs::Job& job, const jobs::CohortMember& member, const planning::Plan& plan,
                     PairShape shape) {
  if (!job.model) return statistics_pair(job, plan, plain_records(job, member));
  if (shape != PairShape::Holdout && selects(plan)) return selection_pair(job, member, plan, shape);
  SumPair pair = job.model->network() != nullptr ? network_pair(job, member, shape) : linear_pair(job, member, shape);
  const Neighbours& neighbours = pair.neighbours;
  const mechanisms::Mechanism& mechanism = first_release(plan, neighbours.block).mechanism;
  if (!std::holds_alternative<mechanisms::GaussianLattice>(mechanism))
    return {neighbours, std::make_shared<LikelihoodDistinguisher>(job, plan, neighbours, pair.projection.point)};
  return {neighbours, std::make_shared<GaussianDistinguisher>(plan, neighbours.block, std::move(pair.projection))};
}

}  // namespace undertone::lab
