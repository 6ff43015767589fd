#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace undertone::statistics {

/// One covariate of a regression.
struct Covariate {
  std::size_t coordinate = 0;  // of the encoded features
  /// It is an indicator of a list of two values, and counts as 2 u - 1: it is as long, and says four times as much.
  bool two_valued = false;
  friend bool operator==(const Covariate&, const Covariate&) = default;
};

/// A regression's linear predictor eta = theta'x is equal to one of these.
enum class ScoreLink : std::uint8_t {
  Logistic,  // the log odds of one of two labels
  /// The logarithm of a label's mean, which is Y min(w exp(eta), 1) for a label of [0, Y] and an exposure w of [0, 1].
  /// The label may be of any law: intervals use its own spread (counts, costs, days).
  Log
};

/// A number u of [-1, 1] that says how much of the largest exposure a record has: least + (1 - least) (u + 1) / 2.
struct ExposureFeature {
  std::size_t coordinate = 0;  // of the encoded features
  double least = 0.0;          // in [0, 1)
  friend bool operator==(const ExposureFeature&, const ExposureFeature&) = default;

  /// @return in [0, 1]; 0 of what is no number
  [[nodiscard]] double of(double number) const noexcept;
};

/// Everybody knows these terms of a regression before anything is asked, and a plan holds them.
struct ScoreTerms {
  /// By ascending coordinates. A constant is one covariate more, the last.
  std::vector<Covariate> of;
  /// X >= 1: no (covariates, 1) that the schema lets through is longer. One that is, is cut to it.
  double record_norm = 1.0;
  ScoreLink link = ScoreLink::Logistic;
  std::optional<ExposureFeature> exposure = {};  // with the log link alone; none: every record has the same
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
[[nodiscard]] constexpr double information_factor(ScoreLink link) noexcept {
  return link == ScoreLink::Logistic ? 4.0 : 1.0;
}

/// Any two records' score moments are at most so far apart in l2, whatever the point is. Of the logistic link the two
/// lesser parts cost nothing beside the score; of the log link the square is 16 / 3, rounded up to 5.35.
/// Source: spec survival 6.2, row 31.
[[nodiscard]] constexpr double score_distance_squared(ScoreLink link) noexcept {
  return link == ScoreLink::Logistic ? 4.0 : 5.35;
}
[[nodiscard]] double score_distance(ScoreLink link) noexcept;

/// A record's score z = r x, its outer product and its information h, in this order:
///   (z, svec(z z') / sqrt(2), kappa_2 svec(h))
/// where svec takes the lower triangle row by row and counts what is off the diagonal sqrt(2) times, so that its norm
/// is the matrix's. Of the logistic link h = |r| (1 - |r|) x x'.
/// @param residual r = y - p: one beyond [-1, 1] is cut to it, and what is no number counts as 0
/// @param covariates x: [p]; one longer than 1 is cut to it, and what is not finite counts as zero
/// @param out [score_numbers(p)], overwritten
void score_moments(double residual, const Eigen::Ref<const Eigen::VectorXd>& covariates,
                   Eigen::Ref<Eigen::VectorXd> out);
/// The same of the log link: r = y / Y - m, and h = m x x' where m < 1, else 0. It is zero where a number is none.
/// @param share y / Y, cut to [0, 1] @param mean m = w exp(eta), cut to [0, 1]
void log_score_moments(double share, double mean, const Eigen::Ref<const Eigen::VectorXd>& covariates,
                       Eigen::Ref<Eigen::VectorXd> out);

/// The sum of such vectors, taken apart into its three parts.
struct ScoreSums {
  Eigen::VectorXd score;        // sum z: [p]
  Eigen::MatrixXd meat;         // sum z z': [p, p]
  Eigen::MatrixXd information;  // sum h: [p, p]
};
/// @param totals [score_numbers(covariates)]
[[nodiscard]] ScoreSums score_sums(const Eigen::Ref<const Eigen::VectorXd>& totals, Eigen::Index covariates,
                                   ScoreLink link = ScoreLink::Logistic);

}  // namespace undertone::statistics
