#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace undertone::models {

/// What an evaluation adds up of each record: basic metrics, or also what a confusion table, an AUC, an RMSE, an R^2
/// and the spread of predictions follow from, or also a confusion table of each group. More numbers in one noised
/// answer take more noise on each, where a holdout is private.
struct MetricDetail {
  enum class Kind : std::uint8_t { Basic, Detailed, Groups };
  Kind kind = Kind::Basic;
  Eigen::Index groups = 0;  // of Groups: how many there are

  [[nodiscard]] bool detailed() const noexcept { return kind == Kind::Detailed; }
  /// How many places the tables of all groups have together: group by group, truth by truth. 0 of other kinds.
  [[nodiscard]] Eigen::Index places(Eigen::Index classes) const noexcept {
    return kind == Kind::Groups ? groups * classes * classes : 0;
  }
};

}  // namespace undertone::models
