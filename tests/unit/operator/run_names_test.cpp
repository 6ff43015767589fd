#include "operator/run_names.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/service/help_texts.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

Json page(const std::vector<std::pair<std::string, std::string>>& runs) {
  Json out = {{"runs", Json::array()}};
  for (const auto& [name, id] : runs) out["runs"].push_back({{"name", name}, {"id", id}});
  return out;
}

TEST(RunNamesTest, OffersEachNameOnceAndIdsOnceSomethingWasTyped) {
  const Json runs = page({{"lakes", "aa11"}, {"hills", "1a22"}, {"lakes", "la33"}});
  EXPECT_EQ(run_names(runs, ""), (Words{"lakes", "hills"}));
  EXPECT_EQ(run_names(runs, "la"), (Words{"lakes", "la33"}));
  EXPECT_EQ(run_names(runs, "x"), Words());
  EXPECT_EQ(run_names(Json::object(), ""), Words());
}

TEST(RunNamesTest, OffersNothingThatAShellWouldExpand) {
  for (const char* name :
       {"$(reboot)", "`reboot`", "a b", "a;b", "--out", "*", "~", "a'b", "a\"b", "\xc3\xa9", "{a,b}", ""}) {
    EXPECT_FALSE(service::is_completable(name)) << name;
    EXPECT_EQ(run_names(page({{name, name}}), ""), Words()) << name;
  }
  EXPECT_TRUE(service::is_completable("breast-cancer_2.1"));
  EXPECT_TRUE(service::is_completable(std::string(128, 'a')));
  EXPECT_FALSE(service::is_completable(std::string(129, 'a')));
}

}  // namespace
}  // namespace undertone::operators
