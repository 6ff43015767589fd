#include "operator/prediction_scores.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace undertone::operators {
namespace {

// Scores .1 .4 .4 .8, the second and the fourth positive. Pairs: (.4 over .1), (.4 and .4 tie), (.8 over .1), (.8 over
// .4): 3.5 of 4.
TEST(PredictionScoresTest, TheAucCountsPairsInOrderAndTiesHalf) {
  const std::vector<std::size_t> truth = {0, 1, 0, 1};
  const std::vector<std::size_t> said = {0, 0, 0, 1};
  const std::vector<double> scores = {0.1, 0.4, 0.4, 0.8};
  const ClassScores found = score_classes(truth, said, 2, scores);
  EXPECT_DOUBLE_EQ(found.auc.value(), 3.5 / 4.0);
  EXPECT_EQ(found.table, (std::vector<std::vector<std::size_t>>{{2, 0}, {1, 1}}));
  EXPECT_DOUBLE_EQ(found.accuracy, 0.75);
  EXPECT_DOUBLE_EQ(found.largest_class, 0.5);
  EXPECT_EQ(describe(found, {"no", "yes"}),
            (std::vector<std::string>{
                "4 records with a label: accuracy 0.7500, always saying the largest class 0.5000, AUC 0.8750",
                "  2 are \"no\": 2 said \"no\", 0 said \"yes\"", "  2 are \"yes\": 1 said \"no\", 1 said \"yes\""}));
}

TEST(PredictionScoresTest, OneClassAloneAndScoresThatAreNoNumbersHaveNoAuc) {
  const std::vector<std::size_t> one = {1, 1};
  const std::vector<double> scores = {0.1, 0.2};
  EXPECT_FALSE(score_classes(one, one, 2, scores).auc);
  const std::vector<std::size_t> both = {0, 1};
  const std::vector<double> bad = {0.1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_FALSE(score_classes(both, both, 2, bad).auc);
  EXPECT_FALSE(score_classes(both, both, 3, {}).auc);
}

// Labels 1 2 3, predictions 1 3 5: errors 0 1 2, squares 5 in all; labels vary by 1 + 0 + 1.
TEST(PredictionScoresTest, NumbersAreScoredInTheirUnit) {
  const std::vector<double> truth = {1, 2, 3};
  const std::vector<double> said = {1, 3, 5};
  const NumberScores found = score_numbers(truth, said);
  EXPECT_DOUBLE_EQ(found.rmse, std::sqrt(5.0 / 3.0));
  EXPECT_DOUBLE_EQ(found.mae, 1.0);
  EXPECT_DOUBLE_EQ(found.label_stddev, std::sqrt(2.0 / 3.0));
  EXPECT_DOUBLE_EQ(found.r_squared.value(), 1.0 - 5.0 / 2.0);
  const std::vector<double> same = {2, 2};
  EXPECT_FALSE(score_numbers(same, same).r_squared);
}

}  // namespace
}  // namespace undertone::operators
