#include "shared/net/status_socket.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "shared/base/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::net {
namespace {

/// A service that answers on a thread of its own.
class Service {
 public:
  Service(const std::filesystem::path& file, const std::string& text)
      : work_(context_.get_executor()), socket_(context_, file, [text] { return text; }), opened_(socket_.open()) {
    thread_ = std::jthread([this] { context_.run(); });
  }
  ~Service() {
    context_.stop();
    thread_.join();
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  [[nodiscard]] const Status& opened() const { return opened_; }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  StatusSocket socket_;
  Status opened_;
  std::jthread thread_;
};

class StatusSocketTest : public testing::Test {
 protected:
  tests::TemporaryFolder folder_;
  std::filesystem::path file_ = StatusSocket::beside(folder_.path() / "desk.db");
};

TEST_F(StatusSocketTest, SaysItsTextToWhoeverAsksAndAgain) {
  const Service service(file_, "well\n");
  ASSERT_TRUE(service.opened());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read_status(file_).value(), "well\n");
}

TEST_F(StatusSocketTest, ItsUserAloneCanOpenIt) {
  const Service service(file_, "well\n");
  struct stat facts {};
  ASSERT_EQ(::stat(file_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(StatusSocketTest, WhereNothingRunsNothingIsWell) {
  EXPECT_EQ(read_status(file_).error().code, ErrorCode::Unreachable);
  EXPECT_EQ(read_status(folder_.path() / "no" / "folder").error().code, ErrorCode::Unreachable);
  { const Service service(file_, "well\n"); }
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(StatusSocketTest, WhatADeadProcessLeftIsNoAnswerAndIsReplaced) {
  boost::asio::io_context context;
  // Bound by hand, and closed without its file being removed: what a killed process leaves.
  boost::asio::local::stream_protocol::acceptor dead(
      context, boost::asio::local::stream_protocol::endpoint(file_.string()), false);
  dead.close();
  ASSERT_TRUE(std::filesystem::exists(file_));
  EXPECT_NE(read_status(file_).error().message.find("has died"), std::string::npos);
  const Service service(file_, "well\n");
  EXPECT_EQ(read_status(file_).value(), "well\n");
}

TEST_F(StatusSocketTest, AFileThatIsNoSocketIsLeftAlone) {
  std::ofstream(file_) << "mine";
  const Service service(file_, "well\n");
  EXPECT_FALSE(service.opened());
  EXPECT_EQ(read_file(file_, 100).value(), "mine");
}

/// A socket's own name may have 107 characters.
TEST_F(StatusSocketTest, AFolderOfAnyDepthWillDo) {
  std::filesystem::path deep = folder_.path();
  for (int i = 0; i < 20; ++i) deep /= "a-folder-of-some-length";
  std::filesystem::create_directories(deep);
  const Service service(StatusSocket::beside(deep / "desk.db"), "well\n");
  ASSERT_TRUE(service.opened());
  EXPECT_EQ(read_status(StatusSocket::beside(deep / "desk.db")).value(), "well\n");
}

TEST_F(StatusSocketTest, AServiceThatHangsIsNotWaitedForLongerThanAsked) {
  boost::asio::io_context context;
  StatusSocket hanging(context, file_, [] { return "well\n"; });  // nothing runs its context
  ASSERT_TRUE(hanging.open());
  const Result<std::string> said = read_status(file_, std::chrono::milliseconds(20));
  EXPECT_NE(said.error().message.find("within 20 ms"), std::string::npos) << said.error().message;
}

}  // namespace
}  // namespace undertone::net
