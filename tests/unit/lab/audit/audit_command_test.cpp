#include "lab/audit/audit_command.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "shared/service/exit_code.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::lab {
namespace {

TEST(AuditCommandTest, EveryMethodIsAuditedOrRefusedInWords) {
  // Whose worst pairs nobody knows, of paths and scores say, are refused: none may stop the process.
  const std::set<std::string> refused = {"prox_svrg",
                                         "spider",
                                         "spider_alternate",
                                         "local_sgd",
                                         "local_minibatch_sgd",
                                         "fedprox",
                                         "private_frank_wolfe, by scores",
                                         "private_frank_wolfe, by scores of vertices away from 0",
                                         "private_frank_wolfe, by nomination",
                                         "private_tree_frank_wolfe",
                                         "private_poly_frank_wolfe",
                                         "one_shot_frank_wolfe",
                                         "objective_perturbation",
                                         "noisy_frank_wolfe",
                                         "noisy_frank_wolfe, l_1.5",
                                         "poly_frank_wolfe",
                                         "tree_frank_wolfe",
                                         "noisy_frank_wolfe, generalised Gaussian noise",
                                         "spider, network",
                                         "noisy_minibatch_sgd, moments",
                                         "spider_alternate, projected features"};
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
    if (refused.contains(name)) {
      EXPECT_EQ(code, service::kRefused);
      EXPECT_NE(said.find("the audit knows the worst pairs"), std::string::npos) << said;
    } else {
      EXPECT_EQ(code, service::kDone) << said;
      EXPECT_NE(printed.find("\"flagged\": false"), std::string::npos) << printed;
    }
  }
}

}  // namespace
}  // namespace undertone::lab
