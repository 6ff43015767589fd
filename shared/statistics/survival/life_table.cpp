#include "shared/statistics/survival/life_table.hpp"

#include <cmath>

#include "shared/base/result.hpp"

namespace undertone::statistics {

LifeTable::LifeTable(const NoisedTable& table, const ExitLayout& layout, std::size_t group, Times times,
                     std::optional<std::size_t> cause)
    : layout_(layout),
      group_(group),
      cause_(cause),
      omega_(times == Times::Continuous ? 0.5 : 0.0),
      noise_variance_(table.noise_variance),
      balanced_(table.balanced),
      by_cause_(static_cast<Eigen::Index>(layout.causes), static_cast<Eigen::Index>(layout.intervals)),
      censored_(static_cast<Eigen::Index>(layout.intervals)),
      entering_(static_cast<Eigen::Index>(layout.intervals)) {
  UNDERTONE_CHECK(!cause || *cause < layout.causes);
  UNDERTONE_CHECK(group < layout.groups && table.cells.size() == static_cast<Eigen::Index>(layout.size()));
  survivors_ = table.cells[layout.survivor(group)];
  double later = survivors_;
  for (std::size_t j = layout.intervals; j-- > 0;) {
    const auto at = static_cast<Eigen::Index>(j);
    for (std::size_t k = 0; k < layout.causes; ++k)
      by_cause_(static_cast<Eigen::Index>(k), at) = table.cells[layout.event(group, k, j)];
    censored_[at] = table.cells[layout.censored(group, j)];
    later += by_cause_.col(at).sum() + censored_[at];
    entering_[at] = later;
  }
  events_ = by_cause_.colwise().sum().transpose();
  if (cause) {
    const Eigen::VectorXd own = by_cause_.row(static_cast<Eigen::Index>(*cause)).transpose();
    censored_ += events_ - own;
    events_ = own;
  }
  at_risk_ = entering_ - omega_ * censored_;
}

double LifeTable::noise_of_at_risk(std::size_t interval) const {
  // R_j adds the interval's own censored, and who leaves by another cause, with weight 1 - omega, and every other cell
  // of a later exit with weight 1.
  const auto left = static_cast<double>(layout_.intervals - interval);
  const auto causes = static_cast<double>(layout_.causes);
  const double others = cause_ ? causes - 1.0 : 0.0;
  const double whole = causes * left - others + (left - 1.0) + 1.0;
  const double own = 1.0 - omega_;
  const double parts = 1.0 + others;
  const double sum = whole + parts * own;
  const double shared = balanced_ ? sum * sum / static_cast<double>(layout_.size()) : 0.0;
  return std::sqrt(noise_variance_ * (whole + parts * own * own - shared));
}

std::size_t LifeTable::horizon(double least) const {
  for (std::size_t j = 0; j < layout_.intervals; ++j) {
    const auto at = static_cast<Eigen::Index>(j);
    const bool usable =
        at_risk_[at] > 4.0 * noise_of_at_risk(j) && at_risk_[at] >= least && at_risk_[at] - events_[at] > 0.0;
    if (!usable) return j;
  }
  return layout_.intervals;
}

LifePartials LifeTable::no_partials() const {
  return {Eigen::MatrixXd::Zero(by_cause_.rows(), by_cause_.cols()), Eigen::VectorXd::Zero(at_risk_.size())};
}

Eigen::VectorXd LifeTable::later_exits(std::size_t ended) const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(layout_.size()));
  for (std::size_t j = ended; j < layout_.intervals; ++j) {
    for (std::size_t k = 0; k < layout_.causes; ++k) out[layout_.event(group_, k, j)] = 1.0;
    out[layout_.censored(group_, j)] = 1.0;
  }
  out[layout_.survivor(group_)] = 1.0;
  return out;
}

Eigen::VectorXd LifeTable::gradient(const LifePartials& partials) const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(layout_.size()));
  double before = 0.0;  // of all R_k with k <= j, to which an exit in interval j belongs
  for (std::size_t j = 0; j < layout_.intervals; ++j) {
    const auto at = static_cast<Eigen::Index>(j);
    before += partials.at_risk[at];
    for (std::size_t k = 0; k < layout_.causes; ++k)
      out[layout_.event(group_, k, j)] =
          before + (counts(k) ? partials.events(static_cast<Eigen::Index>(k), at) : -omega_ * partials.at_risk[at]);
    out[layout_.censored(group_, j)] = before - omega_ * partials.at_risk[at];
  }
  out[layout_.survivor(group_)] = before;
  return out;
}

}  // namespace undertone::statistics
