#include "shared/geometry/vertices.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <utility>
#include <vector>

#include "shared/base/overloaded.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::geometry {
namespace {

constexpr std::int64_t kVertexScoreMax = std::int64_t{1} << 62U;
constexpr std::int64_t kVertexLevelsMax = std::int64_t{1} << 30U;
constexpr std::int64_t kVertexRangeMax = std::int64_t{1} << 60U;

Status check_dimension(std::string_view set, Eigen::Index dimension, Eigen::Index least) {
  if (dimension < least || dimension > Vertices::kDimensionMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the dimension of {} must be in {} .. {}, got {}", set, least,
                                                         Vertices::kDimensionMax, dimension)};
  }
  return {};
}

Status check_listed_size(Eigen::Index dimension, Eigen::Index count) {
  if (count < 2 || count > Vertices::kListedMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("from 2 to {} vertices may be listed, got {}", Vertices::kListedMax, count)};
  }
  if (dimension < 1 || dimension > Vertices::kListedNumbersMax / count) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} listed vertices may have from 1 to {} coordinates each, got {}", count,
                             Vertices::kListedNumbersMax / count, dimension)};
  }
  return {};
}

Status check_listed_values(const Eigen::Ref<const Eigen::MatrixXd>& columns) {
  for (Eigen::Index j = 0; j < columns.cols(); ++j) {
    for (Eigen::Index i = 0; i < columns.rows(); ++i) {
      if (std::abs(columns(i, j)) <= kParameterMax) continue;  // this way round, NaN is refused too
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("vertex {}: coordinate {} must be finite and of magnitude at most {}, got {}", j, i,
                               kParameterMax, columns(i, j))};
    }
  }
  return {};
}

using IntegerColumns = Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic>;

Status check_distinct(const IntegerColumns& columns) {
  std::map<std::vector<std::int32_t>, Eigen::Index> seen;
  for (Eigen::Index j = 0; j < columns.cols(); ++j) {
    const auto column = columns.col(j);
    const auto [first, is_new] = seen.emplace(std::vector<std::int32_t>(column.begin(), column.end()), j);
    if (is_new) continue;
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("vertex {} repeats vertex {} (to {} bits of the largest coordinate)", j, first->second,
                             Vertices::kListedLog2Max)};
  }
  return {};
}

/// max_j ||c_j - from||_1.
std::int64_t reach_l1_of(const IntegerColumns& columns, const Eigen::VectorX<std::int32_t>& from) {
  return (columns.colwise() - from).cwiseAbs().cast<std::int64_t>().colwise().sum().maxCoeff();
}

/// Of every coordinate the middle between its least and its largest, rounded towards 0: [d].
Eigen::VectorX<std::int32_t> middle_of(const IntegerColumns& columns) {
  return (columns.rowwise().minCoeff() + columns.rowwise().maxCoeff()) / 2;
}

/// max_ik ||c_i - c_k||_1. At most 2^29 differences, by the bounds on what may be listed.
std::int64_t diameter_l1(const IntegerColumns& columns) {
  std::int64_t out = 0;
  for (Eigen::Index k = 1; k < columns.cols(); ++k) {
    for (Eigen::Index i = 0; i < k; ++i) {
      out = std::max(out, (columns.col(i) - columns.col(k)).cwiseAbs().cast<std::int64_t>().sum());
    }
  }
  return out;
}

}  // namespace

Vertices::Vertices(Kind kind, Eigen::Index dimension, Eigen::Index count, const Extents& extents) noexcept
    : kind_(std::make_shared<const Kind>(std::move(kind))), dimension_(dimension), count_(count), extents_(extents) {
  Sha256 hash;
  hash.update(fmt::format("vertices {}:{}:{}:{:016x}\n", kind_->index(), dimension_, count_,
                          std::bit_cast<std::uint64_t>(unit())));
  if (const auto* listed = std::get_if<ListedVertices>(kind_.get())) {
    hash.update(
        fmt::format("{}", fmt::join(listed->columns.data(), listed->columns.data() + listed->columns.size(), ",")));
  }
  digest_ = hash.finish();
}

Result<Vertices> Vertices::of_l1_ball(Eigen::Index dimension, double radius) {
  if (const Status fits = check_dimension("an l1 ball", dimension, 1); !fits) return fits.error();
  if (const Status fits = check_positive("the radius of an l1 ball", radius); !fits) return fits.error();
  return Vertices(L1BallVertices{radius}, dimension, 2 * dimension, {1, 1, 2});
}

Result<Vertices> Vertices::of_simplex(Eigen::Index dimension, double scale) {
  if (const Status fits = check_dimension("a simplex", dimension, 2); !fits) return fits.error();
  if (const Status fits = check_positive("the scale of a simplex", scale); !fits) return fits.error();
  return Vertices(SimplexVertices{scale}, dimension, dimension, {1, 1, 2});
}

Result<Vertices> Vertices::listed(const Eigen::Ref<const Eigen::MatrixXd>& columns) {
  if (const Status fits = check_listed_size(columns.rows(), columns.cols()); !fits) return fits.error();
  if (const Status fits = check_listed_values(columns); !fits) return fits.error();
  int exponent = 0;
  const double largest = columns.cwiseAbs().maxCoeff();
  std::frexp(largest, &exponent);  // largest < 2^exponent
  if (!(largest >= 1.0 / kParameterMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("no listed vertex has a coordinate of magnitude at least {}", 1.0 / kParameterMax)};
  }
  const double step = std::ldexp(1.0, exponent - kListedLog2Max);
  const auto rounded = [step](double value) { return static_cast<std::int32_t>(std::lround(value / step)); };
  ListedVertices kind{columns.unaryExpr(rounded), step, Eigen::VectorX<std::int32_t>::Zero(columns.rows())};
  if (const Status fits = check_distinct(kind.columns); !fits) return fits.error();
  Extents extents{reach_l1_of(kind.columns, kind.anchor), 0, diameter_l1(kind.columns)};
  const Eigen::VectorX<std::int32_t> middle = middle_of(kind.columns);
  extents.reach = std::min(extents.score_factor, reach_l1_of(kind.columns, middle));
  if (extents.reach < extents.score_factor) kind.anchor = middle;
  return Vertices(std::move(kind), columns.rows(), columns.cols(), extents);
}

double Vertices::unit() const noexcept {
  return std::visit(Overloaded{[](const L1BallVertices& ball) { return ball.radius; },
                               [](const SimplexVertices& simplex) { return simplex.scale; },
                               [](const ListedVertices& listed) { return listed.step; }},
                    kind());
}

std::optional<double> Vertices::l1_radius() const noexcept {
  const auto* ball = std::get_if<L1BallVertices>(kind_.get());
  return ball == nullptr ? std::nullopt : std::optional(ball->radius);
}

std::optional<double> Vertices::simplex_scale() const noexcept {
  const auto* simplex = std::get_if<SimplexVertices>(kind_.get());
  return simplex == nullptr ? std::nullopt : std::optional(simplex->scale);
}

void Vertices::add_scaled(Eigen::Index j, double weight, Eigen::Ref<Eigen::VectorXd> out) const {
  UNDERTONE_CHECK(j >= 0 && j < count_ && out.size() == dimension_);
  std::visit(
      Overloaded{
          [&](const L1BallVertices& ball) { out[j / 2] += weight * (j % 2 == 0 ? ball.radius : -ball.radius); },
          [&](const SimplexVertices& simplex) { out[j] += weight * simplex.scale; },
          [&](const ListedVertices& listed) { out += weight * (listed.columns.col(j).cast<double>() * listed.step); }},
      kind());
}

Eigen::VectorXd Vertices::vertex(Eigen::Index j) const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(dimension_);
  add_scaled(j, 1.0, out);
  return out;
}

Eigen::Index Vertices::minimiser(const Eigen::Ref<const Eigen::VectorXd>& gradient) const {
  UNDERTONE_CHECK(gradient.size() == dimension_ && gradient.allFinite());
  Eigen::Index best = 0;
  std::visit(Overloaded{[&](const L1BallVertices&) {
                          Eigen::Index coordinate = 0;
                          gradient.cwiseAbs().maxCoeff(&coordinate);
                          best = 2 * coordinate + (gradient[coordinate] > 0.0 ? 1 : 0);
                        },
                        [&](const SimplexVertices&) { gradient.minCoeff(&best); },
                        [&](const ListedVertices& listed) {
                          (listed.columns.cast<double>().transpose() * gradient).minCoeff(&best);
                        }},
             kind());
  return best;
}

double Vertices::norm_l1_max() const noexcept { return static_cast<double>(extents_.score_factor) * unit(); }

double Vertices::reach_l1() const noexcept { return static_cast<double>(extents_.reach) * unit(); }

Eigen::VectorXd Vertices::anchor() const {
  const auto* listed = std::get_if<ListedVertices>(kind_.get());
  if (listed == nullptr) return Eigen::VectorXd::Zero(dimension_);
  return listed->anchor.cast<double>() * listed->step;
}

void Vertices::scores(std::span<const std::int64_t> gradient_sum, std::span<std::int64_t> out) const {
  UNDERTONE_CHECK(static_cast<Eigen::Index>(gradient_sum.size()) == dimension_ &&
                  static_cast<Eigen::Index>(out.size()) == count_);
  const auto [least, largest] = std::minmax_element(gradient_sum.begin(), gradient_sum.end());
  const std::int64_t bound = kVertexScoreMax / extents_.score_factor;
  UNDERTONE_CHECK(*least >= -bound && *largest <= bound);  // then no partial sum below leaves kVertexScoreMax
  std::visit(
      Overloaded{[&](const L1BallVertices&) {
                   for (std::size_t i = 0; i < gradient_sum.size(); ++i) {
                     out[2 * i] = -gradient_sum[i];
                     out[2 * i + 1] = gradient_sum[i];
                   }
                 },
                 [&](const SimplexVertices&) {
                   for (std::size_t i = 0; i < gradient_sum.size(); ++i) out[i] = -gradient_sum[i];
                 },
                 [&](const ListedVertices& listed) {
                   const Eigen::Map<const Eigen::VectorX<std::int64_t>> gradient(gradient_sum.data(), dimension_);
                   for (Eigen::Index j = 0; j < count_; ++j) {
                     out[static_cast<std::size_t>(j)] = -listed.columns.col(j).cast<std::int64_t>().dot(gradient);
                   }
                 }},
      kind());
}

std::int64_t Vertices::levels_max() const noexcept {
  return std::min(kVertexLevelsMax, kVertexRangeMax / extents_.score_factor);
}

std::int64_t Vertices::score_range(std::int64_t levels) const {
  UNDERTONE_CHECK(levels >= 1 && levels <= levels_max());
  return 2 * levels * extents_.diameter;  // the diameter is at most twice the score factor
}

}  // namespace undertone::geometry
