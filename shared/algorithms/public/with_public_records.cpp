#include "shared/algorithms/public/with_public_records.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <utility>

#include "shared/base/overloaded.hpp"

namespace undertone::algorithms {
namespace {

constexpr double kConditionMax = 1e12;  // of a mirror map's matrix

}  // namespace

std::string_view name_of(const PublicUse& use) noexcept {
  return std::holds_alternative<PublicMirror>(use) ? "mirror_map" : "gradients";
}

std::string_view to_string(PublicMirror::Scale scale) noexcept {
  switch (scale) {
    case PublicMirror::Scale::LeastEigenvalue:
      return "least_eigenvalue";
    case PublicMirror::Scale::None:
      return "none";
    case PublicMirror::Scale::LeastOfMean:
      return "least_of_mean";
  }
  return "";
}

WithPublicRecords::WithPublicRecords(std::unique_ptr<FederatedAlgorithm> inner, Setup setup)
    : inner_(std::move(inner)), setup_(std::move(setup)) {
  UNDERTONE_CHECK(setup_.weight >= 0.0 && setup_.weight <= 1.0 && setup_.length > 0.0 && setup_.load);
}

Status WithPublicRecords::load() {
  if (loss_ != nullptr) return {};
  UNDERTONE_TRY(std::shared_ptr<const models::PublicLoss> loaded, setup_.load());
  UNDERTONE_CHECK(loaded != nullptr);
  if (const auto* how = std::get_if<PublicMirror>(&setup_.use)) {
    UNDERTONE_TRY(const MirrorMatrix made, mirror_matrix(*loaded, *how));
    mirror_.emplace(made.matrix);
  }
  loss_ = std::move(loaded);
  return {};
}

Status WithPublicRecords::mix(const MixedGradients& how, const queries::Question& question,
                              Eigen::VectorXd& mean) const {
  const double weight = setup_.weight;
  if (weight == 1.0) return {};  // to the bit what the silos say
  Eigen::VectorXd open;
  if (const auto* gradient = std::get_if<queries::GradientQuestion>(&question)) {
    open = loss_->mean_gradient(gradient->point, how.gradients, setup_.length);
  } else if (std::holds_alternative<queries::GradientDifferenceQuestion>(question)) {
    const std::vector<queries::NamedPoint> points = queries::named_points(question);
    open = loss_->mean_difference(points[0].value, points[1].value, how.gradients, setup_.length);
  } else {
    return Error{ErrorCode::Internal, "public records: the algorithm asks for something else than gradients"};
  }
  if (weight == 0.0) {
    mean = open;  // to the bit what the public records say
  } else {
    mean = weight * mean + (1.0 - weight) * open;
  }
  return {};
}

Result<Step> WithPublicRecords::advance(const folds::Gathered& gathered) {
  if (Status loaded = load(); !loaded) return loaded.error();
  const Step asked = inner_->start();
  const auto* query = std::get_if<queries::Query>(&asked);
  const auto* mean = std::get_if<folds::Mean>(&gathered.value);
  if (query == nullptr || mean == nullptr || mean->values.size() != loss_->dimension())
    return Error{ErrorCode::Internal, "public records: what was told is no mean gradient"};
  folds::Gathered better = gathered;
  Eigen::VectorXd& values = std::get<folds::Mean>(better.value).values;
  if (const auto* how = std::get_if<MixedGradients>(&setup_.use)) {
    if (Status mixed = mix(*how, query->question, values); !mixed) return mixed.error();
  } else {
    values = mirror_->solve(values);
  }
  return inner_->advance(better);
}

Result<MirrorMatrix> mirror_matrix(const models::PublicLoss& loss, const PublicMirror& how) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::InvalidArgument, std::move(why)}; };
  if (!loss.least_squares())
    return refuse(
        "a mirror map of public records has a closed form for least squares alone: expected the model "
        "\"least_squares\", or \"use\": \"gradients\", which is its approximation for every other loss");
  if (loss.dimension() > models::PublicLoss::kExactMax)
    return Error{ErrorCode::LimitExceeded, fmt::format("a mirror map of {} weights: expected at most {}",
                                                       loss.dimension(), models::PublicLoss::kExactMax)};
  if (!(how.ridge > 0.0 && std::isfinite(how.ridge)))
    return refuse(fmt::format("a mirror map's ridge must be finite and > 0, got {}", how.ridge));
  MirrorMatrix out{loss.second_moments()};
  const auto dimension = static_cast<double>(out.matrix.rows());
  out.matrix.diagonal().array() += how.scale == PublicMirror::Scale::LeastOfMean ? how.ridge / dimension : how.ridge;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(out.matrix, Eigen::EigenvaluesOnly);
  const double least = eigen.eigenvalues().minCoeff();
  const double most = eigen.eigenvalues().maxCoeff();
  if (eigen.info() != Eigen::Success || !(least > 0.0 && most <= kConditionMax * least))
    return refuse(
        fmt::format("a mirror map of the public records is singular: its condition number is {:.1e}, expected "
                    "a larger ridge than {}, or more records than {}",
                    least > 0.0 ? most / least : INFINITY, how.ridge, loss.records()));
  if (how.scale != PublicMirror::Scale::None) out.matrix /= least;
  return out;
}

double best_weight(double variance, double public_records, double protected_share, double noise) {
  const double open = variance / public_records;
  if (open == 0.0) return 0.0;
  const double all = noise + variance * protected_share + open;
  return std::isfinite(all) ? open / all : 0.0;
}

}  // namespace undertone::algorithms
