#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>

#include "shared/base/random_source.hpp"

namespace undertone::tests {

/// Standard normals by their inverse law's cousin: Box and Muller, of a seeded source.
class Normals {
 public:
  explicit Normals(std::uint64_t seed) : source_(seed) {}
  double next() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - source_.unit()));
    return radius * std::cos(2.0 * M_PI * source_.unit());
  }
  Eigen::VectorXd vector(Eigen::Index size) {
    Eigen::VectorXd out(size);
    for (double& number : out) number = next();
    return out;
  }
  RandomSource& source() { return source_; }

 private:
  RandomSource source_;
};

}  // namespace undertone::tests
