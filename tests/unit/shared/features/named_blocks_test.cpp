#include "shared/features/named_blocks.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace undertone::statistics {
namespace {

const std::vector<double> kFeatures = {0.5, -0.25, 1.0, 0.0};
const EncodedRecord kRecord{kFeatures, 1.0};

Eigen::VectorXd contribution_of(const FeatureMap& map) {
  Eigen::VectorXd out(dimension(map));
  contribution(map, kRecord, out);
  return out;
}

/// What a block's first total stands for, of one record.
double sum_in(const FeatureMap& map, std::string_view name) {
  const NamedBlock block = block_named(map, name);
  return contribution_of(map)[block.first] / block.factor;
}

TEST(NamedBlocksTest, EveryTotalIsInOneBlockAndInOrder) {
  const IndicatorCells cells{2, 2};
  for (const FeatureMap& map :
       {FeatureMap(CountMap{cells, 0}), FeatureMap(CellsMap{{cells}}), FeatureMap(SumMap{0}),
        FeatureMap(CountedSumMap{0}), FeatureMap(MomentsMap{0, true}), FeatureMap(MomentsMap{0, false}),
        FeatureMap(FourMomentsMap{0}), FeatureMap(CutMomentsMap{0, 0.0, 0.5, true}),
        FeatureMap(GroupMomentsMap{cells, 0, true}), FeatureMap(VectorMomentsMap{{0, 1, 2}}),
        FeatureMap(TreeMap{{0, {-1.0, -0.5, 0.0, 0.5, 1.0}}})}) {
    SCOPED_TRACE(name_of(map));
    Eigen::Index next = 0;
    for (const NamedBlock& block : named_blocks(map)) {
      EXPECT_EQ(block.first, next);
      EXPECT_GE(block.size, 1);
      EXPECT_GT(block.factor, 0.0);
      next += block.size;
    }
    EXPECT_EQ(next, dimension(map));
  }
}

TEST(NamedBlocksTest, TheirFactorsAreThoseThatContributionsHave) {
  // u = 1/2.
  for (const bool laplace : {true, false}) {
    EXPECT_DOUBLE_EQ(sum_in(MomentsMap{0, laplace}, "numbers"), 0.5);
    EXPECT_DOUBLE_EQ(sum_in(MomentsMap{0, laplace}, "squares"), 0.25);
  }
  EXPECT_DOUBLE_EQ(sum_in(CountedSumMap{0}, "records"), 1.0);
  EXPECT_DOUBLE_EQ(sum_in(CountedSumMap{0}, "numbers"), 0.5);
  EXPECT_DOUBLE_EQ(sum_in(FourMomentsMap{0}, "squares"), 0.25);
  EXPECT_DOUBLE_EQ(sum_in(FourMomentsMap{0}, "cubes"), 0.125);
  EXPECT_DOUBLE_EQ(sum_in(FourMomentsMap{0}, "fourth powers"), 0.0625);
  EXPECT_DOUBLE_EQ(sum_in(VectorMomentsMap{{0, 1}}, "numbers"), 0.5);
  EXPECT_DOUBLE_EQ(sum_in(VectorMomentsMap{{0, 1}}, "products"), 0.25);
  const NamedBlock products = block_named(VectorMomentsMap{{0, 1}}, "products");
  EXPECT_DOUBLE_EQ(contribution_of(VectorMomentsMap{{0, 1}})[products.first + 1] / products.factor,
                   std::sqrt(2.0) * 0.5 * -0.25);
}

}  // namespace
}  // namespace undertone::statistics
