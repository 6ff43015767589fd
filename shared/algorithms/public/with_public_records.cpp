#include "shared/algorithms/public/with_public_records.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

namespace undertone::algorithms {
namespace {

constexpr double kConditionMax = 1e12;  // of a mirror map's matrix

}  // namespace

std::string_view name_of(const PublicUse& use) noexcept {
  return std::holds_alternative<PublicMirror>(use) ? "mirror_map" : "gradients";
}

WithPublicRecords::WithPublicRecords(std::unique_ptr<FederatedAlgorithm> inner, Setup setup)
    : inner_(std::move(inner)), setup_(std::move(setup)) {
  UNDERTONE_CHECK(setup_.weight >= 0.0 && setup_.weight <= 1.0 && setup_.length > 0.0);
  const double end = setup_.weight_end.value_or(setup_.weight);
  UNDERTONE_CHECK(end >= 0.0 && end <= 1.0);
}

double WithPublicRecords::weight_at(RoundIndex round) const {
  if (!setup_.weight_end || setup_.rounds < 2) return setup_.weight;
  const double passed = static_cast<double>(round.value) / static_cast<double>(setup_.rounds - 1);
  const double done = std::min(passed, 1.0);
  return (1.0 - done) * setup_.weight + done * *setup_.weight_end;
}

Status WithPublicRecords::load() {
  if (records_ != nullptr || !setup_.load) return {};
  UNDERTONE_TRY(std::shared_ptr<const models::PublicGradientSource> loaded, setup_.load());
  UNDERTONE_CHECK(loaded != nullptr);
  if (const auto* how = std::get_if<PublicMirror>(&setup_.use)) {
    if (loaded->linear() == nullptr) return Error{ErrorCode::Internal, "a mirror map is of a linear model"};
    UNDERTONE_TRY(const MirrorMatrix made, mirror_matrix(*loaded->linear(), *how));
    mirror_.emplace(made.matrix);
  }
  records_ = std::move(loaded);
  return {};
}

Result<folds::Mean::Open> WithPublicRecords::open_mean(const MixedGradients& how, const queries::Question& question,
                                                       const std::optional<folds::Mean::Open>& of_silos) const {
  folds::Mean::Open own;
  if (records_ != nullptr) {
    own.records = static_cast<std::uint64_t>(records_->records());
    if (const auto* gradient = std::get_if<queries::GradientQuestion>(&question)) {
      own.values = records_->mean_gradient(gradient->point, how.gradients, setup_.length);
    } else if (std::holds_alternative<queries::GradientDifferenceQuestion>(question)) {
      const std::vector<queries::NamedPoint> points = queries::named_points(question);
      // The silos' differences are clipped by how far the points are apart, and so are these.
      const double length =
          setup_.difference
              ? setup_.difference->scaled_to(queries::distance_of(question, setup_.difference->distance_exponent()))
                    .clip()
                    .value()
              : setup_.length;
      own.values = records_->mean_difference(points[0].value, points[1].value, how.gradients, length);
    } else {
      return Error{ErrorCode::Internal, "public records: the algorithm asks for something else than gradients"};
    }
  }
  if (!of_silos) return own;
  if (own.records == 0) return *of_silos;
  const double share = static_cast<double>(own.records) / static_cast<double>(own.records + of_silos->records);
  own.values = share * own.values + (1.0 - share) * of_silos->values;
  own.records += of_silos->records;
  return own;
}

Result<Step> WithPublicRecords::advance(const folds::Gathered& gathered) {
  if (Status loaded = load(); !loaded) return loaded.error();
  const Step asked = inner_->start();
  const auto* query = std::get_if<queries::Query>(&asked);
  const auto* mean = std::get_if<folds::Mean>(&gathered.value);
  if (query == nullptr || mean == nullptr)
    return Error{ErrorCode::Internal, "public records: what was told is no mean gradient"};
  folds::Mean better{mean->values};
  if (const auto* how = std::get_if<MixedGradients>(&setup_.use)) {
    UNDERTONE_TRY(const folds::Mean::Open open, open_mean(*how, query->question, mean->open));
    const double weight = weight_at(gathered.round);
    // With weight 1, or where nobody that answered has public records, the mean stays the silos' to the bit.
    if (weight < 1.0 && open.records > 0) {
      if (open.values.size() != better.values.size())
        return Error{ErrorCode::Internal, "public records: gradients of two dimensions"};
      better.values = weight == 0.0 ? open.values : weight * better.values + (1.0 - weight) * open.values;
    }
  } else {
    if (!mirror_ || mirror_->matrixL().rows() != better.values.size())
      return Error{ErrorCode::Internal, "public records: a mirror map of another dimension"};
    better.values = mirror_->solve(better.values);
  }
  folds::Gathered told = gathered;
  told.value = std::move(better);
  return inner_->advance(told);
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

double best_weight(double open, double silos) {
  if (!(open > 0.0 && std::isfinite(open))) return 1.0;
  return std::isfinite(silos) ? open / (silos + open) : 0.0;
}

}  // namespace undertone::algorithms
