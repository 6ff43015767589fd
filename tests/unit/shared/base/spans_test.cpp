#include "shared/base/spans.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>

namespace undertone {
namespace {

using namespace std::chrono_literals;

std::uint64_t times(const SpanTotals& totals, Activity activity) {
  return totals.of[static_cast<std::size_t>(activity)].times.load();
}

std::uint64_t nanoseconds(const SpanTotals& totals, Activity activity) {
  return totals.of[static_cast<std::size_t>(activity)].nanoseconds.load();
}

void be_busy(std::chrono::nanoseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

TEST(SpansTest, ASpanInsideAnotherIsTakenFromIt) {
  SpanTotals totals;
  count_spans_in(&totals);
  const auto began = std::chrono::steady_clock::now();
  {
    const Span outer(Activity::Committing);
    for (int i = 0; i < 3; ++i) {
      const Span inner(Activity::Hashing);
      be_busy(1ms);
    }
  }
  const auto took = static_cast<std::uint64_t>((std::chrono::steady_clock::now() - began).count());
  count_spans_in(nullptr);
  EXPECT_EQ(times(totals, Activity::Committing), 1U);
  EXPECT_EQ(times(totals, Activity::Hashing), 3U);
  EXPECT_GE(nanoseconds(totals, Activity::Hashing), 3'000'000U);
  // Together they are no longer than what was measured around them: no time is counted twice.
  EXPECT_LE(nanoseconds(totals, Activity::Committing) + nanoseconds(totals, Activity::Hashing), took);
}

TEST(SpansTest, NothingIsCountedUnlessItIsAskedFor) {
  SpanTotals totals;
  { const Span before(Activity::Signing); }
  count_spans_in(&totals);
  count_spans_in(nullptr);
  { const Span after(Activity::Signing); }
  for (std::size_t i = 0; i < kActivities; ++i) EXPECT_EQ(totals.of[i].times.load(), 0U);
}

TEST(SpansTest, ThreadsDoNotTakeFromEachOther) {
  SpanTotals totals;
  count_spans_in(&totals);
  {
    const Span here(Activity::Computing);
    std::thread there([] {
      const Span own(Activity::Encoding);
      be_busy(2ms);
    });
    there.join();
  }
  count_spans_in(nullptr);
  EXPECT_GE(nanoseconds(totals, Activity::Computing), 2'000'000U);
  EXPECT_GE(nanoseconds(totals, Activity::Encoding), 2'000'000U);
}

TEST(SpansTest, EveryActivityHasAName) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kActivities; ++i) {
    names.insert(name_of(static_cast<Activity>(i)));
    EXPECT_EQ(std::string(name_of(static_cast<Activity>(i))).find(' '), std::string::npos);  // a field of the log
  }
  EXPECT_EQ(names.size(), kActivities);
  EXPECT_FALSE(names.contains(""));
}

}  // namespace
}  // namespace undertone
