#include "shared/geometry/entropy_map.hpp"

#include <algorithm>
#include <cmath>

#include "shared/geometry/parameter.hpp"

namespace undertone::geometry {
namespace {

// ln of weights, up to a constant, to ln of weights that add up to 1.
void normalise_logarithms(Eigen::Ref<Eigen::VectorXd> logarithms) {
  logarithms.array() -= logarithms.maxCoeff();
  logarithms.array() -= std::log(logarithms.array().exp().sum());
}

}  // namespace

Result<EntropyMap> EntropyMap::create(double scale, Eigen::Index dimension) {
  UNDERTONE_CHECK(dimension >= 1);
  if (const Status fits = check_positive("the scale of a simplex", scale); !fits) return fits.error();
  return EntropyMap(scale, dimension);
}

Eigen::VectorXd EntropyMap::start() const {
  return Eigen::VectorXd::Constant(dimension_, -std::log(static_cast<double>(dimension_)));
}

Status EntropyMap::check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const {
  const double sum = state.array().exp().sum();
  if (!(std::abs(sum - 1.0) <= 1e-9)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a state of {} has weights that add up to {}, expected 1", name(), sum)};
  }
  return {};
}

void EntropyMap::step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
                      Eigen::Ref<Eigen::VectorXd> state) const {
  state = update.keep * state - update.step_size * gradient;
  normalise_logarithms(state);
}

void EntropyMap::point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const {
  out = scale_ * state.array().exp();
}

double EntropyMap::divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                              const Eigen::Ref<const Eigen::VectorXd>& from) const {
  return std::max(0.0, scale_ * (to.array().exp() * (to - from).array()).sum());
}

std::optional<double> EntropyMap::divergence_max() const { return scale_ * std::log(static_cast<double>(dimension_)); }

Result<LiftedEntropyMap> LiftedEntropyMap::create(double radius, Eigen::Index dimension) {
  UNDERTONE_CHECK(dimension >= 1);
  if (const Status fits = check_positive("the radius of an l1 ball", radius); !fits) return fits.error();
  UNDERTONE_TRY(const EntropyMap weights, EntropyMap::create(radius, 2 * dimension));
  return LiftedEntropyMap(weights);
}

void LiftedEntropyMap::step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
                            Eigen::Ref<Eigen::VectorXd> state) const {
  const Eigen::Index d = dimension();
  state.head(d) = update.keep * state.head(d) - update.step_size * gradient;
  state.tail(d) = update.keep * state.tail(d) + update.step_size * gradient;
  normalise_logarithms(state);
}

void LiftedEntropyMap::point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const {
  const Eigen::Index d = dimension();
  out = weights_.scale() * (state.head(d).array().exp() - state.tail(d).array().exp());
}

}  // namespace undertone::geometry
