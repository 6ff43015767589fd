#include "shuffler/host/shuffler_config.hpp"

#include <gtest/gtest.h>

namespace undertone::shuffler {
namespace {

nlohmann::json good() {
  return nlohmann::json::parse(R"({"format":"undertone.shuffler/1","consortium":"lakeside","name":"mixer",
"listen":{"host":"0.0.0.0","port":7445},
"tls":{"authority":"authority.crt","certificate":"certificate.pem","key":"key.pem","revoked":"revoked.crl"},
"store":"state/batches.sqlite","sealing_key":"state/sealing.key"})");
}

Result<ShufflerConfig> parse(const nlohmann::json& document) {
  config::Problems problems("shuffler.json");
  return parse_shuffler_config(document, "/etc/mixer", problems);
}

TEST(ShufflerConfigTest, PathsStartFromTheFilesFolderAndLimitsHaveDefaults) {
  const Result<ShufflerConfig> config = parse(good());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->consortium, "lakeside");
  EXPECT_EQ(config->name, "mixer");
  EXPECT_EQ(config->host, "0.0.0.0");
  EXPECT_EQ(config->port, 7445);
  EXPECT_EQ(config->tls.revoked, "/etc/mixer/revoked.crl");
  EXPECT_EQ(config->store, "/etc/mixer/state/batches.sqlite");
  EXPECT_EQ(config->sealing_key, "/etc/mixer/state/sealing.key");
  EXPECT_EQ(config->connections_max, 1024U);
  EXPECT_EQ(config->limits.replies_min, 2U);
  EXPECT_EQ(config->limits.held_bytes_max, std::size_t{1} << 29U);
}

TEST(ShufflerConfigTest, ReadsLimits) {
  nlohmann::json document = good();
  document["connections_max"] = 20;
  document["limits"] = {{"replies_min", 5},        {"silos_max", 9},      {"message_bytes_max", 2048},
                        {"batches_max", 3},        {"runs_max", 7},       {"held_bytes_max", 4096},
                        {"deadline_max_ms", 1000}, {"held_units_max", 8}, {"undelivered_max_hours", 2}};
  const Result<ShufflerConfig> config = parse(document);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->connections_max, 20U);
  EXPECT_EQ(config->limits.replies_min, 5U);
  EXPECT_EQ(config->limits.silos_max, 9U);
  EXPECT_EQ(config->limits.message_bytes_max, 2048U);
  EXPECT_EQ(config->limits.batches_max, 3U);
  EXPECT_EQ(config->limits.runs_max, 7U);
  EXPECT_EQ(config->limits.held_bytes_max, 4096U);
  EXPECT_EQ(config->limits.held_units_max, 8U);
  EXPECT_EQ(config->limits.deadline_max, std::chrono::seconds(1));
  EXPECT_EQ(config->limits.undelivered_max, std::chrono::hours(2));
}

TEST(ShufflerConfigTest, SaysEverythingThatIsWrongAtOnce) {
  struct Case {
    const char* pointer;
    nlohmann::json value;
    const char* problem;
  };
  const std::vector<Case> cases = {
      {"/format", "undertone.coordinator/1", "shuffler.json: /format: expected one of \"undertone.shuffler/1\""},
      {"/name", "Mixer 1", "shuffler.json: /name: "},
      {"/listen/port", 70'000, "/listen/port: expected an integer from 0 to 65535, got 70000"},
      {"/limits/replies_min", 1, "/limits/replies_min: expected an integer from 2 to 4096, got 1"},
      {"/session/protocol_max", 2, "/session: expected protocol_max of 3 or more"},
      {"/sealing_key", "state/batches.sqlite", "/sealing_key: expected another file than the store"},
      {"/metrics", true, "/metrics: unknown key"},
  };
  nlohmann::json document = good();
  for (const Case& c : cases) document[nlohmann::json::json_pointer(c.pointer)] = c.value;
  const Result<ShufflerConfig> config = parse(document);
  ASSERT_FALSE(config);
  for (const Case& c : cases)
    EXPECT_NE(config.error().message.find(c.problem), std::string::npos) << c.pointer << "\n" << config.error().message;
}

TEST(ShufflerConfigTest, EveryKeyButLimitsAndSessionIsNeeded) {
  for (const char* key : {"format", "consortium", "name", "listen", "tls", "store", "sealing_key"}) {
    SCOPED_TRACE(key);
    nlohmann::json document = good();
    document.erase(key);
    const Result<ShufflerConfig> config = parse(document);
    ASSERT_FALSE(config);
    EXPECT_NE(config.error().message.find(std::string("/") + key), std::string::npos) << config.error().message;
  }
}

}  // namespace
}  // namespace undertone::shuffler
