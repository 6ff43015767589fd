#include "shared/base/in_parallel.hpp"

#include <array>
#include <atomic>
#include <gtest/gtest.h>

#include "shared/base/contained.hpp"

namespace undertone {
namespace {

TEST(InParallelTest, EveryPartIsDoneOnce) {
  std::array<std::atomic<int>, 7> done{};
  in_parallel(done.size(), [&](std::size_t worker) { ++done[worker]; });
  for (const std::atomic<int>& one : done) EXPECT_EQ(one, 1);
}

TEST(InParallelTest, WhatOnePartThrowsIsThrownOnceAllAreOver) {
  for (const std::size_t bad : {std::size_t{0}, std::size_t{3}}) {
    std::atomic<int> over = 0;
    EXPECT_THROW(in_parallel(4,
                             [&](std::size_t worker) {
                               ++over;
                               if (worker == bad) throw std::bad_alloc();
                             }),
                 std::bad_alloc);
    EXPECT_EQ(over, 4);
  }
}

TEST(InParallelTest, ABrokenInvariantOnAThreadIsContainedWhereItsCallersIs) {
  const Result<int> result = contained("this", []() -> Result<int> {
    in_parallel(3, [](std::size_t worker) { UNDERTONE_CHECK(worker != 2); });
    return 1;
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Internal);
}

}  // namespace
}  // namespace undertone
