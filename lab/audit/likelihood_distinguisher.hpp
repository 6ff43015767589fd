#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "lab/audit/distinguisher.hpp"
#include "lab/audit/neighbours.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::lab {

/// Of sums with noise of a known density exp(-f), statistics' totals among them: the likelihood ratio of noised sums z
/// under exact ones s and s', f(z - s') - f(z - s), with f = ||.||_1/b of discrete Laplace noise and ||.||_r^2/(2
/// scale^2) of the generalised Gaussian's. The second look is for noise that serves two rounds in a row: how nearly the
/// same it would be if the records were the first.
class LikelihoodDistinguisher final : public Distinguisher {
 public:
  /// @param point that every round asks about; of statistics of no numbers
  /// @pre every private release of the block has noise of one of these laws
  LikelihoodDistinguisher(const jobs::Job& job, const planning::Plan& plan, const Neighbours& neighbours,
                          Eigen::VectorXd point);

  [[nodiscard]] NextPoint asker() const override { return always_at(point_); }
  [[nodiscard]] Scores score(const Transcript& transcript) const override;
  [[nodiscard]] double reach() const override { return reach_; }

 private:
  /// A release with the changed record drawn.
  struct Sums {
    Eigen::VectorXd first;   // lattice units
    Eigen::VectorXd second;  // the same
    double units = 1.0;      // lattice units for one real unit of a reply
    double scale = 1.0;      // b or the density's scale, lattice units
    double norm = 1.0;       // r; 1 of Laplace noise
    double chance = 1.0;     // that the record is drawn at all
  };
  /// f of a vector over the scale.
  static double density_exponent(const Eigen::VectorXd& scaled, double norm);
  Eigen::VectorXd point_;
  std::vector<std::shared_ptr<const Sums>> rounds_;
  double reach_ = 0.0;
};

}  // namespace undertone::lab
