#include "shared/models/elementary.hpp"

#include <Eigen/Core>
#include <algorithm>

namespace undertone::models {
namespace {

constexpr std::size_t kTogether = 8;
using Eight = Eigen::Array<double, kTogether, 1>;

template <class Function>
void in_eights(std::span<double> values, const Function& function) {
  for (; values.size() >= kTogether; values = values.subspan(kTogether)) {
    Eigen::Map<Eight> eight(values.data());
    eight = function(Eight(eight));
  }
  if (values.empty()) return;
  Eight last = Eight::Zero();
  std::copy(values.begin(), values.end(), last.data());
  last = function(last);
  std::copy_n(last.data(), values.size(), values.begin());
}

}  // namespace

void exponentiate(std::span<double> values) {
  in_eights(values, [](const Eight& x) -> Eight {
    const Eight power = x.exp();
    return x.isNaN().select(x, power);
  });
}

double exponentials_sum(std::span<double> values) {
  const double largest = *std::max_element(values.begin(), values.end());
  for (double& value : values) value -= largest;
  exponentiate(values);
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum;
}

void hyperbolic_tangents(std::span<double> values) {
  in_eights(values, [](const Eight& x) -> Eight {
    const Eight y = x.square();
    const Eight small =
        x * (((y + 378.0) * y + 17325.0) * y + 135135.0) / (((28.0 * y + 3150.0) * y + 62370.0) * y + 135135.0);
    const Eight power = (-2.0 * x.abs()).exp();
    const Eight size = (1.0 - power) / (1.0 + power);
    const Eight large = (x < 0.0).select(-size, size);
    const Eight finite = (x.abs() < 0.5).select(small, large);
    return x.isNaN().select(x, finite);
  });
}

}  // namespace undertone::models
