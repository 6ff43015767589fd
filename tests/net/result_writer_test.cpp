#include "coordinator/host/result_writer.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "shared/base/digest.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::coordinator {
namespace {

ResultWriter::OutcomePtr cancelled() {
  return std::make_shared<const Result<algorithms::Outcome>>(Error{ErrorCode::Cancelled, "by the operator"});
}

TEST(ResultWriterTest, WritesBesideTheThreadThatServesAndTellsThere) {
  const tests::TemporaryFolder folder;
  boost::asio::io_context context;
  const auto keeps_running = boost::asio::make_work_guard(context);
  ResultWriter writer(context);
  RunRecord record;
  record.job = tests::SmallFederation().job();
  record.name = "job";
  record.run = {sha256(record.job), {}};
  std::vector<std::string> order;
  writer.write(folder.path() / "run", record, {}, cancelled(), [&](const Status& written) {
    EXPECT_TRUE(written.has_value());
    order.emplace_back("written");
  });
  boost::asio::post(context, [&] { order.emplace_back("served"); });
  while (order.size() < 2) context.run_one();
  EXPECT_EQ(order, (std::vector<std::string>{"served", "written"}));  // planning is never done before it
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "run" / "result.json"));
}

TEST(ResultWriterTest, HasWrittenWhatItWasAskedForWhenItIsFinished) {
  const tests::TemporaryFolder folder;
  boost::asio::io_context context;
  ResultWriter writer(context);
  RunRecord record;
  record.job = tests::SmallFederation().job();
  record.run = {sha256(record.job), {}};
  for (const char* name : {"one", "two"})
    writer.write(folder.path() / name, record, {}, cancelled(), [](const Status&) {});
  writer.finish();
  for (const char* name : {"one", "two"}) EXPECT_TRUE(std::filesystem::exists(folder.path() / name / "result.json"));
}

}  // namespace
}  // namespace undertone::coordinator
