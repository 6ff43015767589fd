#include "shared/algorithms/algorithm_driver.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"

namespace undertone::algorithms {
namespace {

/// Three steps w - 0.5 g from zero, in the plane.
std::unique_ptr<FederatedAlgorithm> three_steps() {
  Problem problem;
  problem.dimension = 2;
  return Method(MinibatchSgdSettings{problem, 3, 0.5, {Averaging::Kind::Last}})->make().value();
}

Result<folds::Gathered> ones(const queries::Query& query) {
  return folds::Gathered{query.round, 1, folds::Mean{Eigen::VectorXd::Ones(2)}};
}

TEST(AlgorithmDriverTest, AsksInOrderUntilTheAlgorithmHasFinished) {
  const auto algorithm = three_steps();
  AlgorithmDriver driver(*algorithm);
  std::vector<std::uint64_t> asked;
  std::vector<std::uint64_t> watched;
  const auto answers = [&](const queries::Query& query) {
    asked.push_back(query.round.value);
    return ones(query);
  };
  const Outcome outcome = driver
                              .finish(answers,
                                      [&](RoundIndex round, const FederatedAlgorithm& running) {
                                        watched.push_back(round.value);
                                        // The round has gone in: three halves of ones in the end.
                                        EXPECT_EQ(running.candidate()[0], -0.5 * static_cast<double>(watched.size()));
                                      })
                              .value();
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(watched, asked);
  EXPECT_EQ(outcome.vectors.at("weights"), Eigen::VectorXd::Constant(2, -1.5));
  EXPECT_EQ(driver.query(), nullptr);
  EXPECT_EQ(driver.outcome().vectors.at("weights"), outcome.vectors.at("weights"));
}

TEST(AlgorithmDriverTest, AnErrorOfTheAnswersIsHandedOnAndTheQueryStays) {
  const auto algorithm = three_steps();
  AlgorithmDriver driver(*algorithm);
  ASSERT_TRUE(driver.advance(ones));
  const auto nobody = [](const queries::Query&) -> Result<folds::Gathered> {
    return Error{ErrorCode::QuorumMissed, "nobody answered"};
  };
  const Status failed = driver.advance(nobody);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "nobody answered");
  ASSERT_NE(driver.query(), nullptr);
  EXPECT_EQ(driver.query()->round.value, 1U);
  EXPECT_EQ(driver.finish(nobody).error().code, ErrorCode::QuorumMissed);
  EXPECT_TRUE(driver.finish(ones));
}

TEST(AlgorithmDriverTest, AnErrorOfTheAlgorithmIsHandedOn) {
  const auto algorithm = three_steps();
  AlgorithmDriver driver(*algorithm);
  const auto of_another_round = [](const queries::Query& query) -> Result<folds::Gathered> {
    return folds::Gathered{query.round.next(), 1, folds::Mean{Eigen::VectorXd::Ones(2)}};
  };
  EXPECT_FALSE(driver.advance(of_another_round));
  EXPECT_EQ(driver.query()->round.value, 0U);
}

TEST(AlgorithmDriverTest, GoesOnWhereARestoredAlgorithmStood) {
  const auto first = three_steps();
  AlgorithmDriver before(*first);
  ASSERT_TRUE(before.advance(ones));
  ByteWriter saved;
  first->save(saved);
  const auto second = three_steps();
  ByteReader reader(saved.bytes());
  ASSERT_TRUE(second->restore(reader));
  AlgorithmDriver after(*second);
  ASSERT_NE(after.query(), nullptr);
  EXPECT_EQ(after.query()->round.value, 1U);
  EXPECT_EQ(after.finish(ones).value().vectors.at("weights"), Eigen::VectorXd::Constant(2, -1.5));
}

}  // namespace
}  // namespace undertone::algorithms
