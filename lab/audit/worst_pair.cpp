#include "lab/audit/worst_pair.hpp"

#include <algorithm>
#include <cmath>

#include "shared/models/layered_model.hpp"

namespace undertone::lab {
namespace {

WorstPair linear_pair(const jobs::Job& job, const jobs::CohortMember& member, PairShape shape) {
  WorstPair pair;
  pair.first = plain_records(job, member);
  const auto features = static_cast<Eigen::Index>(job.model.features());
  pair.point = Eigen::VectorXd::Zero(job.model.dimension());
  switch (shape) {
    case PairShape::Holdout: {
      pair.block = releases::Block::Holdout;
      pair.others_lean = 1.0;
      // At the zero model: labels of either sign, or targets whose squared loss is at the two ends of what is counted.
      const bool classes = job.model.linear()->linear_loss().classifies();
      pair.first.holdout.targets.setConstant(classes ? -1.0 : 0.0);
      pair.second = pair.first;
      pair.first.holdout.targets[0] = classes ? 1.0 : 1e3;
      const auto metrics = static_cast<Eigen::Index>(job.model.metric_names().size());
      Eigen::VectorXd one(metrics);
      Eigen::VectorXd other(metrics);
      job.model.linear()->centred_metrics(pair.point, pair.first.holdout, 0, one);
      job.model.linear()->centred_metrics(pair.point, pair.second.holdout, 0, other);
      pair.direction = (one - other).normalized();
      pair.reach = (one - other).norm() / std::sqrt(static_cast<double>(metrics));  // their bound: sqrt(metrics) / 2
      return pair;
    }
    case PairShape::Crowd:
      pair.first.training.features.setOnes();
      pair.first.training.targets.setConstant(-1.0);
      pair.others_lean = 1.0;
      break;
    case PairShape::Alone:
      pair.first.training.features.col(0).setOnes();
      break;
    case PairShape::Cancelling:
      UNDERTONE_CHECK(false);
  }
  pair.second = pair.first;
  pair.first.training.targets[0] = 1.0;
  pair.second.training.targets[0] = -1.0;
  // Only the features' part of a reply is looked at.
  pair.direction = Eigen::VectorXd::Zero(job.model.dimension());
  const double derivative = job.model.linear()->derivative(pair.point, pair.first.training, 0);
  pair.direction.head(features).setConstant(std::copysign(1.0 / std::sqrt(static_cast<double>(features)), derivative));
  const double constant = job.model.dimension() > features ? 1.0 : 0.0;
  const double whole = std::abs(derivative) * std::sqrt(static_cast<double>(features) + constant);
  const double clipped = std::min(1.0, job.clip.value() / whole);
  pair.reach = std::abs(derivative) * std::sqrt(static_cast<double>(features)) * clipped / job.clip.value();
  return pair;
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

Eigen::VectorXd contribution(const jobs::Job& job, const WorstPair& pair, const models::Records& records,
                             Eigen::Index j) {
  models::LayeredModel model(*job.model.network());
  Eigen::VectorXd out(model.dimension());
  const std::int64_t drawn[] = {j};
  model.clipped_gradient_sum(pair.point, records, drawn, job.clip.value(), out);
  return out;
}

WorstPair network_pair(const jobs::Job& job, const jobs::CohortMember& member, PairShape shape) {
  const models::Network& network = *job.model.network();
  WorstPair pair;
  pair.first = plain_records(job, member);
  pair.others_lean = 1.0;
  if (shape == PairShape::Holdout) {
    pair.block = releases::Block::Holdout;
    pair.point = even_point(network);
    matrix_of(network.layers().back(), pair.point)(0, network.layers().back().patch) = 100.0;  // all are of class 0
    pair.second = pair.first;
    pair.first.holdout.targets[0] = 0.0;
    models::LayeredModel model(network);
    Eigen::VectorXd one(2);
    Eigen::VectorXd other(2);
    model.centred_metrics(pair.point, pair.first.holdout, 0, one);
    model.centred_metrics(pair.point, pair.second.holdout, 0, other);
    pair.direction = (one - other).normalized();
    pair.reach = (one - other).norm() / std::sqrt(2.0);
    return pair;
  }
  const Eigen::Index changed = pair.first.training.count() - 1;
  if (shape == PairShape::Cancelling) {
    pair.point = cancelling_point(network);
    if (changed > 0) pair.first.training.features.col(changed - 1).head(3).setOnes();
  } else {
    UNDERTONE_CHECK(shape == PairShape::Crowd);
    pair.point = even_point(network);
    pair.first.training.features.setOnes();
  }
  pair.second = pair.first;
  pair.first.training.targets[changed] = 0.0;
  const Eigen::VectorXd apart =
      contribution(job, pair, pair.first.training, changed) - contribution(job, pair, pair.second.training, changed);
  pair.direction = apart.normalized();
  pair.reach = apart.norm() / (2.0 * job.clip.value());
  return pair;
}

}  // namespace

data::Dataset plain_records(const jobs::Job& job, const jobs::CohortMember& member) {
  const auto features = static_cast<Eigen::Index>(job.model.features());
  const auto block = [&](std::int64_t records) {
    models::Records out{Eigen::MatrixXd::Zero(features, records), Eigen::VectorXd(records)};
    const bool layered = job.model.network() != nullptr;
    for (Eigen::Index j = 0; j < records; ++j) out.targets[j] = layered || j % 2 == 0 ? 1.0 : -1.0;
    return out;
  };
  return {block(member.facts.records), block(member.facts.holdout_records)};
}

std::vector<PairShape> shapes_for(const jobs::Job& job, const planning::Plan& plan) {
  std::vector<PairShape> shapes = {PairShape::Crowd};
  if (const models::Network* network = job.model.network()) {
    if (network->layers().size() > 1 && all_dense(*network) && network->features() >= 3)
      shapes.push_back(PairShape::Cancelling);
  } else {
    shapes.push_back(PairShape::Alone);
  }
  if (plan.protects(releases::Block::Holdout)) shapes.push_back(PairShape::Holdout);
  return shapes;
}

WorstPair worst_pair(const jobs::Job& job, const jobs::CohortMember& member, PairShape shape) {
  return job.model.network() != nullptr ? network_pair(job, member, shape) : linear_pair(job, member, shape);
}

}  // namespace undertone::lab
