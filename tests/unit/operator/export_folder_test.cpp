#include "operator/export_folder.hpp"

#include <gtest/gtest.h>

#include "operator/unexpected_json.hpp"
#include "shared/base/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::operators {
namespace {

namespace fs = std::filesystem;
using tests::TemporaryFolder;

const std::string kRun(96, 'a');
const std::string kOther = std::string(64, 'b') + "0123456789ab" + std::string(20, 'c');

std::string result_of(const std::string& run) { return R"({"run": ")" + run + "\"}"; }

TEST(ExportFolderTest, TakesAFolderThatIsNewOrHoldsTheSameRun) {
  const TemporaryFolder folder;
  EXPECT_TRUE(check_export_folder(folder.path() / "new", kRun).has_value());
  EXPECT_TRUE(check_export_folder(folder.path(), kRun).has_value());
  ASSERT_TRUE(write_file_atomically(folder.path() / "result.json", result_of(kRun)).has_value());
  EXPECT_TRUE(check_export_folder(folder.path(), kRun).has_value());
}

TEST(ExportFolderTest, RefusesAFolderThatHoldsAnotherRun) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "result.json", result_of(kOther)).has_value());
  const Status refused = check_export_folder(folder.path(), kRun);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("is of another run, 0123456789ab"), std::string::npos);
}

TEST(ExportFolderTest, RefusesFilesOfNobodyKnowsWhichRun) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "model.json", "{}").has_value());
  EXPECT_FALSE(check_export_folder(folder.path(), kRun).has_value());
  ASSERT_TRUE(write_file_atomically(folder.path() / "result.json", "no JSON").has_value());
  EXPECT_FALSE(check_export_folder(folder.path(), kRun).has_value());
}

TEST(ExportFolderTest, WritesAllFilesIntoANewFolder) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "a" / "b";
  ASSERT_TRUE(write_export(out, {{"job.json", "{}"}, {"result.json", result_of(kRun)}}).has_value());
  EXPECT_EQ(read_file(out / "job.json", 100).value(), "{}");
  EXPECT_EQ(read_file(out / "result.json", 200).value(), result_of(kRun));
}

TEST(ExportFolderTest, LeavesNothingBehindWhereAFileCannotBeWritten) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "a" / "b";
  // The second name lies in a folder that a file stands in place of.
  EXPECT_FALSE(write_export(out, {{"job.json", "{}"}, {"job.json/result.json", "{}"}}).has_value());
  EXPECT_FALSE(fs::exists(folder.path() / "a"));
}

TEST(ExportFolderTest, AFailureKeepsWhatWasThere) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "job.json", "{}").has_value());
  EXPECT_FALSE(write_export(folder.path(), {{"job.json", "{}"}, {"new.json", "{}"}, {"job.json/x", "{}"}}).has_value());
  EXPECT_TRUE(fs::exists(folder.path() / "job.json"));
  EXPECT_FALSE(fs::exists(folder.path() / "new.json"));
}

TEST(ReadingJsonTest, AValueOfAnotherTypeIsAnErrorThatNamesItsSource) {
  const nlohmann::json result = nlohmann::json::parse(R"({"rounds":"many","job":[]})");
  const auto reads = [&](const char* key) {
    return reading_json("result.json", [&]() -> Result<int> { return result.at(key).get<int>(); });
  };
  for (const char* key : {"rounds", "job", "none"}) {
    ASSERT_FALSE(reads(key));
    EXPECT_TRUE(reads(key).error().message.starts_with("result.json: a value is missing"))
        << reads(key).error().message;
  }
}

}  // namespace
}  // namespace undertone::operators
