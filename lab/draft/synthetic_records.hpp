#pragma once

#include <cstdint>
#include <vector>

#include "shared/data/schema.hpp"
#include "shared/models/linear_model.hpp"

namespace undertone::lab {

/// What invented records look like inside a schema's public bounds. Real columns fill a part of bounds that were chosen
/// in honest ignorance, hang together, and tell of the label more or less.
struct SyntheticFamily {
  const char* name;
  double spread_least = 0.1;  // of a numeric column's standard deviation, where the bounds are -1 and 1
  double spread_most = 0.3;
  double centre_least = -0.5;  // of its mean
  double centre_most = 0.5;
  bool skewed = false;          // a long tail upwards from near the lower bound
  double correlation = 0.3;     // share of a column's variance that two common causes explain
  double by_causes = 0.5;       // share of the true score's variance that the first of these explains
  double telling = 1.0;         // share of the columns that the rest depends on
  double signal = 2.0;          // standard deviation of the true score, in units of a logistic noise
  double positive_share = 0.5;  // of a label of two values
};

/// From broad to narrow columns, weak to strong signals: what a job is judged on before anybody's data are.
[[nodiscard]] const std::vector<SyntheticFamily>& synthetic_families();

/// The world of a family: one law for all silos, drawn from the seed, and records of it. A function of the schema and
/// the seed: no data are read.
/// A label of several classes is the likeliest of directions around the circle of two causes, at equal distances.
class SyntheticWorld {
 public:
  SyntheticWorld(const data::Schema& schema, const SyntheticFamily& family, std::uint64_t seed);
  /// Encoded as a silo's file would be. @param stream tells draws of one world apart
  [[nodiscard]] models::Records draw(Eigen::Index count, std::uint64_t stream) const;
  /// This draws persons with several records each: three is the median, and one in a hundred has 20 or more. Half of
  /// the variance of what a record is made of is the person's own, and the label's chance is each record's.
  [[nodiscard]] models::Records draw_persons(Eigen::Index persons, std::uint64_t stream) const;

 private:
  struct Numeric {
    Eigen::Index at = 0;
    double centre = 0.0;
    double spread = 0.1;
    double causes[2] = {0.0, 0.0};
    double effect = 0.0;
    bool indicator = false;
    bool symmetric = false;  // bounds on both sides of zero
    bool flipped = false;    // bounds that end at zero
  };
  struct Categorical {
    Eigen::Index at = 0;
    std::vector<double> shares;   // cumulated
    std::vector<double> effects;  // ascending
    double sign = 1.0;            // of the first cause's pull
  };
  struct Score {
    double cause = 0.0;
    double other_cause = 0.0;
    double own = 0.0;  // of the columns' own effects, not yet of a known deviation
  };
  [[nodiscard]] double score_of(const Score& score) const;
  /// The features of the next record, and what its true score is made of.
  Score draw_features(Eigen::Ref<Eigen::VectorXd> out, class NormalDraws& draws) const;
  /// This draws the label of a record with such a score.
  double draw_label(const Score& parts, class NormalDraws& draws) const;

  SyntheticFamily family_;
  std::size_t classes_ = 0;  // of the label; 0: a number
  Eigen::Index width_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<Numeric> numeric_;
  std::vector<Categorical> categorical_;
  double own_mean_ = 0.0;
  double own_stddev_ = 1.0;
  double score_mean_ = 0.0;
  double score_stddev_ = 1.0;
  double threshold_ = 0.0;  // of the noisy score, for the share of positives
  double label_centre_ = 0.0;
  double label_spread_ = 0.1;
};

}  // namespace undertone::lab
