#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <map>

#include "shared/base/result.hpp"
#include "shared/geometry/vertices.hpp"

namespace undertone::algorithms {

/// Votes for vertices: index -> the sum of the weights of those that chose it, each finite and > 0.
using VertexTally = std::map<Eigen::Index, double>;

/// The iterate of Frank-Wolfe over a polytope C = conv(S), who or whatever chooses the vertices:
///   for t = 1 .. T-1:  s_t = sum_j c_j v_j, the mean of the vertices voted for, weights c_j of sum one
///                      theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t,  mu_t = 2/(t+1)
///   output theta_T
/// With one voter s_t is its vertex: Algorithm 4 of the source. A mean of vertices is a point of C, and its error is
/// the mean of the voters' errors. The first step has mu_1 = 1, so nothing of theta_1 stays but what was asked at it.
/// Source: Talwar, Thakurta, Zhang 2014, Algorithms 3 and 4, with the step of spec constraint-geometry F7 (their
/// constant step keeps 1/e of the start for ever).
class FrankWolfeIterate {
 public:
  static constexpr std::uint64_t kIteratesMax = 1'000'000'000;

  /// @param iterates T, 2 .. kIteratesMax: T-1 questions are asked
  /// @param point theta_at, a point of C that does not depend on private records; [d], finite
  /// @param at in 1 .. T: 1 to begin, more to go on from a saved iterate
  [[nodiscard]] static Result<FrankWolfeIterate> create(geometry::Vertices vertices, std::uint64_t iterates,
                                                        Eigen::VectorXd point, std::uint64_t at = 1);

  [[nodiscard]] const geometry::Vertices& vertices() const noexcept { return vertices_; }
  /// t, from 1.
  [[nodiscard]] std::uint64_t at() const noexcept { return at_; }
  [[nodiscard]] std::uint64_t iterates() const noexcept { return iterates_; }
  [[nodiscard]] bool finished() const noexcept { return at_ == iterates_; }
  /// theta_t: where the next question is asked, or the output.
  [[nodiscard]] const Eigen::VectorXd& point() const noexcept { return point_; }
  /// mu_t = 2/(t+1).
  [[nodiscard]] static double step_size(std::uint64_t t) noexcept { return 2.0 / (static_cast<double>(t) + 1.0); }

  /// theta_t becomes theta_{t+1}. The same for equal tallies, whatever the order in which votes came.
  /// @return an error, and the iterate as it was, where all steps are done, nobody voted, a vertex does not exist, or a
  /// weight is no weight
  [[nodiscard]] Status advance(const VertexTally& votes);

 private:
  FrankWolfeIterate(geometry::Vertices vertices, std::uint64_t iterates, Eigen::VectorXd point, std::uint64_t at)
      : vertices_(std::move(vertices)), iterates_(iterates), point_(std::move(point)), at_(at) {}
  geometry::Vertices vertices_;
  std::uint64_t iterates_;
  Eigen::VectorXd point_;
  std::uint64_t at_;
};

}  // namespace undertone::algorithms
