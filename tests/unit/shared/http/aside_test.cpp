#include "shared/http/aside.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "shared/http/changes.hpp"

namespace undertone::http {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

class AsideTest : public ::testing::Test {
 protected:
  void ask(Aside& aside, std::function<Reply()> work, const std::string& who = "alice") {
    asio::co_spawn(context_, aside.answer(who, std::move(work)),
                   [this](const std::exception_ptr& failure, Reply reply) {
                     EXPECT_FALSE(failure);
                     replies_.push_back(std::move(reply));
                   });
  }
  void run_until(std::size_t count) {
    context_.restart();  // it has nothing to do between
    while (replies_.size() < count && context_.run_one_for(std::chrono::seconds(30)) > 0) {
    }
    ASSERT_EQ(replies_.size(), count);
  }
  asio::io_context context_{1};
  std::vector<Reply> replies_;
};

TEST_F(AsideTest, AnswersAreMadeOnAnotherThreadAndWhatBreaksIsAnError) {
  Aside aside(context_);
  const std::thread::id own = std::this_thread::get_id();
  std::thread::id other;
  ask(aside, [&] {
    other = std::this_thread::get_id();
    return Reply{200, "text/plain", "made"};
  });
  ask(aside, []() -> Reply { throw std::runtime_error("no disk"); });
  run_until(2);
  EXPECT_NE(own, other);
  EXPECT_EQ(replies_[0].body, "made");
  EXPECT_EQ(replies_[1].status, 500);
  EXPECT_NE(replies_[1].body.find("no disk"), std::string::npos);
}

TEST_F(AsideTest, OfMoreThanMayWaitTheLastAreRefusedAndTheOthersAnswered) {
  Aside aside(context_);
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  const auto waits = [&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return open; });
    return Reply{200, "text/plain", ""};
  };
  for (std::size_t i = 0; i < Aside::kOfCallerMax + 2; ++i) ask(aside, waits);
  run_until(2);  // one caller leaves room for others
  for (std::size_t i = Aside::kOfCallerMax; i < Aside::kWaitingMax + 3; ++i) ask(aside, waits, std::to_string(i));
  run_until(5);
  for (const Reply& reply : replies_) EXPECT_EQ(reply.status, 429);
  {
    const std::lock_guard lock(mutex);
    open = true;
  }
  changed.notify_all();
  run_until(Aside::kWaitingMax + 5);
  EXPECT_EQ(replies_.back().status, 200);
  ask(aside, waits, "late");  // what was made is not sent yet, and counts
  run_until(Aside::kWaitingMax + 6);
  EXPECT_EQ(replies_.back().status, 429);
  replies_.clear();
  ask(aside, waits, "late");
  run_until(1);
  EXPECT_EQ(replies_.back().status, 200);
}

TEST(ChangesTest, WhoWaitsIsWokenAndWhoComesLateHearsOfTheNewestAtOnce) {
  asio::io_context context(1);
  Changes changes;
  std::vector<std::uint64_t> heard;
  const auto listen = [&](std::uint64_t seen, milliseconds most) {
    asio::co_spawn(context, changes.beyond(seen, most),
                   [&](const std::exception_ptr& /*failure*/, std::uint64_t count) { heard.push_back(count); });
  };
  listen(changes.count(), std::chrono::hours(1));
  listen(changes.count(), std::chrono::hours(1));
  context.poll();
  EXPECT_TRUE(heard.empty());
  changes.notify();
  context.poll();
  EXPECT_EQ(heard, (std::vector<std::uint64_t>{2, 2}));
  changes.notify();
  listen(2, std::chrono::hours(1));
  context.restart();
  context.poll();
  EXPECT_EQ(heard.back(), 3U);
  listen(3, milliseconds(1));  // nothing changes: it hears the same count in time
  context.restart();
  context.run();
  EXPECT_EQ(heard.back(), 3U);
}

}  // namespace
}  // namespace undertone::http
