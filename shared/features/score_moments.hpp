#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

namespace undertone::statistics {

/// One covariate of a regression.
struct Covariate {
  std::size_t coordinate = 0;  // of the encoded features
  /// It is an indicator of a list of two values, and counts as 2 u - 1: it is as long, and says four times as much.
  bool two_valued = false;
  friend bool operator==(const Covariate&, const Covariate&) = default;
};

/// Everybody knows these terms of a logistic regression before anything is asked, and a plan holds them.
struct ScoreTerms {
  /// By ascending coordinates. A constant is one covariate more, the last.
  std::vector<Covariate> of;
  /// X >= 1: no (covariates, 1) that the schema lets through is longer. One that is, is cut to it.
  double record_norm = 1.0;
  friend bool operator==(const ScoreTerms&, const ScoreTerms&) = default;

  /// p, the constant included.
  [[nodiscard]] Eigen::Index covariates() const noexcept { return static_cast<Eigen::Index>(of.size()) + 1; }
};

inline constexpr std::size_t kCovariatesMax = 128;  // but for the constant

/// How many numbers the score moments of so many covariates are: p + p (p + 1).
[[nodiscard]] constexpr Eigen::Index score_numbers(Eigen::Index covariates) noexcept {
  return covariates + covariates * (covariates + 1);
}

/// The factor of the information's part, kappa_2.
inline constexpr double kInformationFactor = 4.0;

/// Any two records' score moments are at most so far apart in l2, whatever the point is: the two lesser parts cost
/// nothing beside the score. Source: spec survival 6.2, row 31.
inline constexpr double kScoreDistance = 2.0;

/// A record's score z = r x, its outer product and its information h = |r| (1 - |r|) x x', in this order:
///   (z, svec(z z') / sqrt(2), 4 svec(h))
/// where svec takes the lower triangle row by row and counts what is off the diagonal sqrt(2) times, so that its norm
/// is the matrix's.
/// @param residual r = y - p: one beyond [-1, 1] is cut to it, and what is no number counts as 0
/// @param covariates x: [p]; one longer than 1 is cut to it, and what is not finite counts as zero
/// @param out [score_numbers(p)], overwritten
void score_moments(double residual, const Eigen::Ref<const Eigen::VectorXd>& covariates,
                   Eigen::Ref<Eigen::VectorXd> out);

/// The sum of such vectors, taken apart into its three parts.
struct ScoreSums {
  Eigen::VectorXd score;        // sum z: [p]
  Eigen::MatrixXd meat;         // sum z z': [p, p]
  Eigen::MatrixXd information;  // sum h: [p, p]
};
/// @param totals [score_numbers(covariates)]
[[nodiscard]] ScoreSums score_sums(const Eigen::Ref<const Eigen::VectorXd>& totals, Eigen::Index covariates);

}  // namespace undertone::statistics
