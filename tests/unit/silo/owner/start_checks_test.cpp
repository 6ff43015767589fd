#include "silo/owner/start_checks.hpp"

#include <fstream>
#include <gtest/gtest.h>

#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::silo {
namespace {

SiloConfig config_in(const std::filesystem::path& folder) {
  SiloConfig config{
      SiloId::create("clinic").value(), "consortium",          "host", 1,  {}, {}, {}, {}, {}, tests::generous_policy(),
      folder / "desk.sqlite",           folder / "statements", {},     {}, {}};
  config.tls.certificate = folder / "certificate.pem";
  return config;
}

bool says(const std::vector<Finding>& findings, const std::string& sentence, bool stops) {
  for (const Finding& finding : findings) {
    if (finding.sentence.find(sentence) != std::string::npos) return finding.stops == stops;
  }
  return false;
}

TEST(StartChecksTest, AMissingCertificateStopsTheAgentAndIsNamed) {
  const tests::TemporaryFolder folder;
  EXPECT_TRUE(
      says(start_findings("silo.json", config_in(folder.path())), (folder.path() / "certificate.pem").string(), true));
}

TEST(StartChecksTest, ATotalBelowAJobsMostIsToldWithBothValues) {
  const tests::TemporaryFolder folder;
  SiloConfig config = config_in(folder.path());
  config.policy.total.epsilon = *releases::EpsilonAmount::rounded_down(4.0);
  EXPECT_TRUE(says(start_findings("silo.json", config),
                   "silo.json: /policy/epsilon_total: expected at least epsilon_max, 10, found 4", false));
  config.policy.total = {};
  EXPECT_TRUE(says(start_findings("silo.json", config),
                   "silo.json: /policy/epsilon_total: expected at least epsilon_max, 10, found 0", true));
}

TEST(StartChecksTest, ADataSetThatIsNotItsLedgersStopsTheAgent) {
  const DatasetIdentity recorded{"patients", sha256("as it was"), {}};
  EXPECT_TRUE(content_findings(recorded, recorded).empty());
  const std::vector<Finding> changed = content_findings(recorded, {"patients", sha256("with another split"), {}});
  EXPECT_TRUE(says(changed, "is not what its ledger was opened for", true));
  EXPECT_TRUE(says(changed, "undertone-silo dataset amend", true));
  EXPECT_FALSE(content_findings(recorded, {"patients", recorded.digest, sha256("a public holdout")}).empty());
}

TEST(StartChecksTest, AFolderThatIsAFileIsTold) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder.path() / "taken") << "x";
  SiloConfig config = config_in(folder.path());
  config.statements = folder.path() / "taken" / "statements";
  EXPECT_TRUE(says(start_findings("silo.json", config),
                   "silo.json: /statements: expected a folder that can be written, " +
                       (folder.path() / "taken").string() + " is none",
                   true));
  EXPECT_FALSE(std::filesystem::exists(config.desk));  // looking makes nothing
}

TEST(StartChecksTest, AUnitThatIsNoneAllowsNothing) {
  const tests::TemporaryFolder folder;
  SiloConfig config = config_in(folder.path());
  config.policy.units = {"record", "patient"};
  EXPECT_TRUE(says(start_findings("silo.json", config),
                   "silo.json: /policy/units/1: expected one of record, person, sensitive_attribute, found \"patient\"",
                   false));
}

TEST(StartChecksTest, AModelThatIsNoneAllowsNothing) {
  const tests::TemporaryFolder folder;
  SiloConfig config = config_in(folder.path());
  config.policy.models = {"logistic", "softmax", "logistics"};
  const std::vector<Finding> found = start_findings("silo.json", config);
  EXPECT_TRUE(says(found, "silo.json: /policy/models/2: expected one of logistic, ", false));
  EXPECT_TRUE(says(found, "found \"logistics\", which allows nothing", false));
  EXPECT_FALSE(says(found, "/policy/models/0", false));
  EXPECT_FALSE(says(found, "/policy/models/1", false));
}

TEST(StartChecksTest, AnAlgorithmThatIsNoneAllowsNothing) {
  const tests::TemporaryFolder folder;
  SiloConfig config = config_in(folder.path());
  config.policy.algorithms = {"local_sgd", "minibatch_sgd"};
  const std::vector<Finding> found = start_findings("silo.json", config);
  EXPECT_TRUE(says(found, "silo.json: /policy/algorithms/1: expected one of noisy_minibatch_sgd, ", false));
  EXPECT_TRUE(says(found, "found \"minibatch_sgd\"", false));
}

TEST(StartChecksTest, FewerRecordsThanThePolicyAsksForAreTold) {
  const tests::TemporaryFolder folder;
  SiloConfig config = config_in(folder.path());
  config.policy.records_min = 500;
  EXPECT_TRUE(
      says(count_findings("silo.json", config, "wards", 499),
           "silo.json: /policy/records_min: expected at most the 499 training records of the data set \"wards\", "
           "found 500",
           true));
  EXPECT_TRUE(count_findings("silo.json", config, "wards", 500).empty());
}

}  // namespace
}  // namespace undertone::silo
