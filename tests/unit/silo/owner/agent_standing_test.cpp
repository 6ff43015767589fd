#include "silo/owner/agent_standing.hpp"

#include <gtest/gtest.h>

namespace undertone::silo {
namespace {

TEST(AgentStandingTest, ReadsWhatItWrites) {
  const AgentStanding idle{true, "", std::nullopt};
  const AgentStanding busy{true, "", 1'764'000'000};
  const AgentStanding away{false, "the proxy says \"no\"\n", std::nullopt};
  const AgentStanding unable{true, "", std::nullopt, "the disk is full"};
  for (const AgentStanding& one : {idle, busy, away, unable}) EXPECT_EQ(AgentStanding::read(one.text()).value(), one);
}

TEST(AgentStandingTest, RefusesWhatNoAgentSays) {
  for (const char* text : {"", "listens on port 7443\n", "{}", R"({"connected":1})", "[true]"})
    EXPECT_FALSE(AgentStanding::read(text)) << text;
}

}  // namespace
}  // namespace undertone::silo
