#include "operator/provision.hpp"

#include <gtest/gtest.h>

#include "shared/base/files.hpp"
#include "shared/net/tls.hpp"
#include "shuffler/host/shuffler_config.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::operators {
namespace {

namespace fs = std::filesystem;

/// The kits of a consortium with two shufflers, one of which does not say where it is.
class ProvisionTest : public ::testing::Test {
 protected:
  ProvisionTest() {
    const fs::path file = folder_.path() / "consortium.json";
    write_file_atomically(file, R"({"format":"undertone.consortium/1","consortium":"lakeside",
"coordinator":{"name":"hub","hosts":["hub.example"],"port":7443},"silos":[{"name":"clinic-1"}],
"shufflers":[{"name":"east","hosts":["east.example","10.0.0.7"],"port":9000},{"name":"west"}],
"operators":[{"name":"anna"}]})")
        .value();
    provision(file, folder_.path() / "net", true).value();
  }
  [[nodiscard]] fs::path kit(const std::string& name) const { return folder_.path() / "net" / "kits" / name; }
  [[nodiscard]] std::string text(const fs::path& file) const { return read_file(file, 1U << 20U).value(); }
  [[nodiscard]] nlohmann::json json(const fs::path& file) const { return nlohmann::json::parse(text(file)); }

 private:
  tests::TemporaryFolder folder_;
};

TEST_F(ProvisionTest, AShufflersKitIsWhatItsProgramReads) {
  const Result<shuffler::ShufflerConfig> config =
      shuffler::load_shuffler_config(kit("shuffler-east") / "shuffler.json");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->consortium, "lakeside");
  EXPECT_EQ(config->name, "east");
  EXPECT_EQ(config->port, 9000);
  const Result<net::Credentials> credentials =
      net::Credentials::load(config->tls, net::Side::Server, {"lakeside", certificates::Role::Shuffler, "east"});
  EXPECT_TRUE(credentials) << credentials.error().message;
}

TEST_F(ProvisionTest, AShufflersKitSaysWhichCommandsToRun) {
  const std::string readme = text(kit("shuffler-east") / "README");
  EXPECT_EQ(readme.find("nothing to run"), std::string::npos) << readme;
  for (const char* command :
       {"`undertone-shuffler key --config shuffler.json`", "`undertone-shuffler run --config shuffler.json`"})
    EXPECT_NE(readme.find(command), std::string::npos) << readme;
}

TEST_F(ProvisionTest, SilosAndTheCoordinatorAreToldWhereShufflersAre) {
  const nlohmann::json expected = nlohmann::json::parse(R"([{"name":"east","host":"east.example","port":9000}])");
  EXPECT_EQ(json(kit("silo-clinic-1") / "silo.json").at("shufflers"), expected);
  EXPECT_EQ(json(kit("coordinator-hub") / "coordinator.json").at("shufflers"), expected);
  EXPECT_FALSE(json(kit("operator-anna") / "operator.json").contains("shufflers"));
}

TEST_F(ProvisionTest, AShufflerListensOnAPortOfItsOwnByDefault) {
  EXPECT_EQ(json(kit("shuffler-west") / "shuffler.json").at("listen").at("port"), 7445);
}

TEST_F(ProvisionTest, AHostWithAPortOrAnAddressThatIsNoneIsRefused) {
  const auto problem = [](const std::string& host) {
    const nlohmann::json document = {{"format", "undertone.consortium/1"},
                                     {"consortium", "lakeside"},
                                     {"coordinator", {{"name", "hub"}, {"hosts", {host}}, {"port", 7443}}},
                                     {"silos", {{{"name", "clinic-1"}}}}};
    config::Problems problems("consortium.json");
    const Result<Consortium> parsed = parse_consortium(document, problems);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_NE(problem("hub:7443").find("without a port"), std::string::npos);
  for (const char* host : {"10.0.0.300", "10.0.0", "7", "1.2.3.4.5"})
    EXPECT_NE(problem(host).find("is no IPv4 address"), std::string::npos) << host;
  for (const char* host : {"hub.example", "10.0.0.30", "::1", "fe80::1", "hub-1", "h0"})
    EXPECT_EQ(problem(host).find("hosts"), std::string::npos) << host;
}

TEST_F(ProvisionTest, AHostThatIsNoNameIsRefusedWhereItStands) {
  for (const char* host : {"", "hub.example,DNS:other.example", "hub example"}) {
    SCOPED_TRACE(host);
    config::Problems problems("consortium.json");
    const nlohmann::json document = {{"format", "undertone.consortium/1"},
                                     {"consortium", "lakeside"},
                                     {"coordinator", {{"name", "hub"}, {"hosts", {host}}, {"port", 7443}}},
                                     {"silos", {{{"name", "clinic-1"}}}}};
    const Result<Consortium> refused = parse_consortium(document, problems);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("/coordinator/hosts: expected names or addresses"), std::string::npos)
        << refused.error().message;
  }
}

}  // namespace
}  // namespace undertone::operators
