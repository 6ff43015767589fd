#pragma once

#include <Eigen/Core>
#include <cstddef>

namespace undertone::statistics {

/// How the cells of a survival table are laid out. A public grid 0 = t_0 < .. < t_J splits time into J intervals
/// (t_(j-1), t_j], of which the first holds 0, too. Every record is in one cell of its group: of an event of one of K
/// causes in an interval, of being censored in an interval, of having been seen after t_J, or of a time or an event
/// that is missing. So replacing a record moves two cells by one each. Source: spec survival 2.1.
struct ExitLayout {
  std::size_t groups = 1;     // G
  std::size_t causes = 1;     // K
  std::size_t intervals = 1;  // J
  bool missing = false;       // whether there is a cell of what is missing

  [[nodiscard]] std::size_t cells_of_group() const noexcept { return (causes + 1) * intervals + (missing ? 2 : 1); }
  [[nodiscard]] std::size_t size() const noexcept { return groups * cells_of_group(); }
  /// @param interval 0 .. J - 1, the one that ends with t_(interval + 1)
  [[nodiscard]] Eigen::Index event(std::size_t group, std::size_t cause, std::size_t interval) const noexcept {
    return static_cast<Eigen::Index>(group * cells_of_group() + cause * intervals + interval);
  }
  [[nodiscard]] Eigen::Index censored(std::size_t group, std::size_t interval) const noexcept {
    return event(group, causes, interval);
  }
  [[nodiscard]] Eigen::Index survivor(std::size_t group) const noexcept { return event(group, causes + 1, 0); }
  /// @pre there is a cell of what is missing
  [[nodiscard]] Eigen::Index unknown(std::size_t group) const noexcept { return survivor(group) + 1; }
};

}  // namespace undertone::statistics
