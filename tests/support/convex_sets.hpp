#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/geometry/domain.hpp"

namespace undertone::test {

/// A point with coordinates uniform on [-size, size].
inline Eigen::VectorXd random_point(RandomSource& random, Eigen::Index d, double size) {
  Eigen::VectorXd out(d);
  for (double& v : out) v = size * (2.0 * random.unit() - 1.0);
  return out;
}

/// A domain and what a test knows of it without the code under test.
struct KnownSet {
  std::string name;
  geometry::Domain domain;
  /// How far the worst of the defining inequalities is broken, <= 0 inside.
  std::function<double(const Eigen::VectorXd&)> violation;
  /// max over the set of <direction, w>; infinite for the whole space.
  std::function<double(const Eigen::VectorXd&)> support;
  /// A random point of the set, often on its boundary or a vertex.
  std::function<Eigen::VectorXd(RandomSource&, Eigen::Index)> sample;
};

/// Uniform or concentrated weights, >= 0 and of sum 1.
inline Eigen::VectorXd random_weights(RandomSource& random, Eigen::Index d) {
  Eigen::VectorXd out(d);
  if (random.chance(0.3)) {
    out = Eigen::VectorXd::Unit(d, static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(d))));
  } else {
    const double power = random.chance(0.5) ? 1.0 : 8.0;
    for (double& v : out) v = std::pow(-std::log1p(-random.unit()), power);
    out /= out.sum();
  }
  return out;
}

inline std::vector<KnownSet> known_sets() {
  using Eigen::VectorXd;
  using geometry::Domain;
  std::vector<KnownSet> sets;
  sets.push_back({"whole", Domain::whole_space(), [](const VectorXd&) { return -1.0; },
                  [](const VectorXd& v) { return v.isZero(0.0) ? 0.0 : HUGE_VAL; },
                  [](RandomSource& random, Eigen::Index d) { return random_point(random, d, 3.0); }});
  sets.push_back({"l2", Domain::l2_ball(1.5).value(), [](const VectorXd& w) { return w.norm() - 1.5; },
                  [](const VectorXd& v) { return 1.5 * v.norm(); },
                  [](RandomSource& random, Eigen::Index d) {
                    VectorXd out = random_point(random, d, 1.0);
                    out *= 1.5 * (random.chance(0.5) ? 1.0 : random.unit()) / std::max(out.norm(), 1e-12);
                    return out;
                  }});
  sets.push_back({"box", Domain::box(-0.5, 1.25).value(),
                  [](const VectorXd& w) { return std::max(-0.5 - w.minCoeff(), w.maxCoeff() - 1.25); },
                  [](const VectorXd& v) { return (-0.5 * v).cwiseMax(1.25 * v).sum(); },
                  [](RandomSource& random, Eigen::Index d) {
                    VectorXd out(d);
                    for (double& v : out) {
                      const double at = random.chance(0.4) ? std::round(random.unit()) : random.unit();
                      v = -0.5 + 1.75 * at;
                    }
                    return out;
                  }});
  sets.push_back({"l1", Domain::l1_ball(1.75).value(), [](const VectorXd& w) { return w.cwiseAbs().sum() - 1.75; },
                  [](const VectorXd& v) { return 1.75 * v.cwiseAbs().maxCoeff(); },
                  [](RandomSource& random, Eigen::Index d) {
                    VectorXd out = 1.75 * (random.chance(0.5) ? 1.0 : random.unit()) * random_weights(random, d);
                    for (double& v : out) v = random.chance(0.5) ? v : -v;
                    return out;
                  }});
  sets.push_back({"simplex", Domain::simplex(2.0).value(),
                  [](const VectorXd& w) { return std::max(-w.minCoeff(), std::abs(w.sum() - 2.0)); },
                  [](const VectorXd& v) { return 2.0 * v.maxCoeff(); },
                  [](RandomSource& random, Eigen::Index d) -> VectorXd { return 2.0 * random_weights(random, d); }});
  return sets;
}

}  // namespace undertone::test
