#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "shared/statistics/survival/exit_layout.hpp"
#include "shared/statistics/survival/table_functional.hpp"

namespace undertone::statistics {

/// What a job declares about times.
enum class Times : std::uint8_t {
  Continuous,  // put into intervals: of those censored in an interval half counts as being at risk there
  OnGrid       // the grid is all the times that there are: censored after the events of their time
};

/// Derivatives of a functional by the numbers that it is a function of.
struct LifePartials {
  Eigen::MatrixXd events;   // [K, J] by d_kj, where R_j stays
  Eigen::VectorXd at_risk;  // [J] by R_j
};

/// One group's events and numbers at risk. The number at risk is not released: it is the sum of all cells of later
/// exits, Y_j = s + sum_(l >= j) (d_l + c_l). Source: spec survival 2.1, 2.4.
class LifeTable {
 public:
  /// @param table of the layout @param group below its groups
  /// @param cause whose events alone count: who has another leaves as one who is censored. Nothing: any cause's
  LifeTable(const NoisedTable& table, const ExitLayout& layout, std::size_t group, Times times,
            std::optional<std::size_t> cause = {});

  [[nodiscard]] std::size_t intervals() const noexcept { return layout_.intervals; }
  [[nodiscard]] std::size_t causes() const noexcept { return layout_.causes; }
  [[nodiscard]] bool on_grid() const noexcept { return omega_ == 0.0; }
  /// d_kj, [K, J].
  [[nodiscard]] const Eigen::MatrixXd& events_by_cause() const noexcept { return by_cause_; }
  /// d_j of the cause, or of all, [J].
  [[nodiscard]] const Eigen::VectorXd& events() const noexcept { return events_; }
  /// c_j, [J], with those who leave by other causes.
  [[nodiscard]] const Eigen::VectorXd& censored() const noexcept { return censored_; }
  /// Y_j, [J]: who is in the interval's start.
  [[nodiscard]] const Eigen::VectorXd& entering() const noexcept { return entering_; }
  /// R_j = Y_j - omega c_j, [J]; omega is 1/2 of continuous times and 0 of times on the grid.
  [[nodiscard]] const Eigen::VectorXd& at_risk() const noexcept { return at_risk_; }
  /// The standard deviation of R_j by the noise, exactly. @param interval below J
  [[nodiscard]] double noise_of_at_risk(std::size_t interval) const;
  /// How many first intervals are usable: each has R_j > 4 deviations of its noise, R_j >= `least`, and R_j > d_j. It
  /// reads released numbers alone.
  [[nodiscard]] std::size_t horizon(double least = 0.0) const;
  /// What the group's cells add up to, without those of what is missing.
  [[nodiscard]] double size() const noexcept { return entering_[0]; }

  /// The gradient by the table's cells, by the chain rule. @return [m], 0 of other groups' cells
  /// Of one cause the partials by the others' events do not count.
  [[nodiscard]] Eigen::VectorXd gradient(const LifePartials& partials) const;
  /// s: who was seen after the last edge.
  [[nodiscard]] double survivors() const noexcept { return survivors_; }
  /// The gradient of how many left after the first `ended` intervals, survivors included. @param ended 0 .. J
  [[nodiscard]] Eigen::VectorXd later_exits(std::size_t ended) const;
  /// 0 of every number.
  [[nodiscard]] LifePartials no_partials() const;

 private:
  [[nodiscard]] bool counts(std::size_t cause) const noexcept { return !cause_ || *cause_ == cause; }

  ExitLayout layout_;
  std::size_t group_;
  std::optional<std::size_t> cause_;
  double omega_;
  double noise_variance_;
  bool balanced_;
  double survivors_ = 0.0;
  Eigen::MatrixXd by_cause_;
  Eigen::VectorXd events_;
  Eigen::VectorXd censored_;
  Eigen::VectorXd entering_;
  Eigen::VectorXd at_risk_;
};

}  // namespace undertone::statistics
