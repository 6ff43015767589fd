#include "lab/audit/audit_command.hpp"

#include <fstream>
#include <gtest/gtest.h>

#include "shared/service/exit_code.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::lab {
namespace {

TEST(AuditCommandTest, EveryMethodIsAuditedOrRefusedInWords) {
  // Whose worst pairs nobody knows, of paths and scores say, are refused: none may stop the process.
  const tests::TemporaryFolder folder;
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    tests::SmallFederation one = federation;
    one.noise = "secure";
    const std::filesystem::path file = folder.path() / "job.json";
    std::ofstream(file) << one.job();
    AuditRequest request;
    request.job = file;
    request.settings.trials = 100;
    request.json = true;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run_audit(request);
    const std::string printed = testing::internal::GetCapturedStdout();
    const std::string said = testing::internal::GetCapturedStderr();
    if (code == service::kDone) {
      EXPECT_NE(printed.find("epsilon_lower"), std::string::npos);
    } else {
      EXPECT_FALSE(said.empty());
      EXPECT_EQ(printed.find("FLAGGED"), std::string::npos) << printed;
      EXPECT_EQ(printed.find("\"flagged\": true"), std::string::npos) << printed;
    }
    std::printf("%s: %d %s\n", name.c_str(), code, said.substr(0, 160).c_str());
  }
}

}  // namespace
}  // namespace undertone::lab
