#include "shared/geometry/regulariser.hpp"

#include <cmath>

#include "shared/geometry/parameter.hpp"

namespace undertone::geometry {
namespace {

Status check_count(Eigen::Index regularised) {
  if (regularised < 1) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a regulariser needs at least one coordinate, got {}", regularised)};
  }
  return {};
}

}  // namespace

Result<Regulariser> Regulariser::l1(double strength, Eigen::Index regularised) {
  if (const Status fits = check_positive("the strength of the l1 norm", strength); !fits) return fits.error();
  if (const Status fits = check_count(regularised); !fits) return fits.error();
  Regulariser out;
  out.l1_ = strength;
  out.regularised_ = regularised;
  return out;
}

Result<Regulariser> Regulariser::squared_l2(double strength, Eigen::Index regularised) {
  if (const Status fits = check_positive("the strength of the squared l2 norm", strength); !fits) return fits.error();
  if (const Status fits = check_count(regularised); !fits) return fits.error();
  Regulariser out;
  out.l2_ = strength;
  out.regularised_ = regularised;
  return out;
}

Result<Regulariser> Regulariser::elastic_net(double l1_strength, double l2_strength, Eigen::Index regularised) {
  Result<Regulariser> out = l1(l1_strength, regularised);
  if (!out) return out;
  UNDERTONE_TRY(const Regulariser smooth, squared_l2(l2_strength, regularised));
  out->l2_ = smooth.l2_;
  return out;
}

Result<Regulariser> Regulariser::group_lasso(double strength, Eigen::Index group_size, Eigen::Index regularised) {
  if (group_size == 1) return l1(strength, regularised);
  if (const Status fits = check_positive("the strength of the group lasso", strength); !fits) return fits.error();
  if (const Status fits = check_count(regularised); !fits) return fits.error();
  if (group_size < 1 || regularised % group_size != 0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the groups of the group lasso must be of a size >= 1 that divides {} coordinates, got {}",
                             regularised, group_size)};
  }
  Regulariser out;
  out.group_ = strength;
  out.group_size_ = group_size;
  out.regularised_ = regularised;
  return out;
}

double Regulariser::value(const Eigen::Ref<const Eigen::VectorXd>& w) const {
  UNDERTONE_CHECK(w.size() >= regularised_);
  double groups = 0.0;
  if (group_ > 0.0) {
    for (Eigen::Index g = 0; g < regularised_; g += group_size_) groups += w.segment(g, group_size_).stableNorm();
  }
  const double of_l1 = l1_ > 0.0 ? l1_ * w.head(regularised_).lpNorm<1>() : 0.0;
  const double of_l2 = l2_ > 0.0 ? l2_ / 2.0 * w.head(regularised_).squaredNorm() : 0.0;
  return of_l1 + of_l2 + group_ * std::sqrt(static_cast<double>(group_size_)) * groups;
}

void Regulariser::add_smooth_gradient(const Eigen::Ref<const Eigen::VectorXd>& w,
                                      Eigen::Ref<Eigen::VectorXd> gradient) const {
  UNDERTONE_CHECK(w.size() >= regularised_ && w.size() == gradient.size());
  gradient.head(regularised_) += l2_ * w.head(regularised_);
}

Regulariser Regulariser::without_l2() const {
  if (is_smooth()) return none();
  Regulariser out = *this;
  out.l2_ = 0.0;
  return out;
}

// Coordinate by coordinate, and group by group. For the l2 part, completing the square divides by 1 + step_size l2.
void Regulariser::prox(double step_size, Eigen::Ref<Eigen::VectorXd> w) const {
  UNDERTONE_CHECK(check_positive("a step size", step_size).has_value() && w.size() >= regularised_);
  if (l1_ > 0.0) {  // soft threshold
    const double threshold = step_size * l1_;
    for (double& v : w.head(regularised_)) v = std::copysign(std::fmax(std::abs(v) - threshold, 0.0), v);
  }
  if (group_ > 0.0) {  // the same, of the length of each group
    const double threshold = step_size * group_ * std::sqrt(static_cast<double>(group_size_));
    for (Eigen::Index g = 0; g < regularised_; g += group_size_) {
      const double norm = w.segment(g, group_size_).stableNorm();
      w.segment(g, group_size_) *= norm > threshold ? (norm - threshold) / norm : 0.0;
    }
  }
  if (l2_ > 0.0) w.head(regularised_) /= 1.0 + step_size * l2_;
}

std::string_view Regulariser::name() const noexcept {
  if (group_ > 0.0) return "the group lasso";
  if (l1_ > 0.0) return l2_ > 0.0 ? "the elastic net" : "the l1 norm";
  return l2_ > 0.0 ? "the squared l2 norm" : "no regulariser";
}

}  // namespace undertone::geometry
