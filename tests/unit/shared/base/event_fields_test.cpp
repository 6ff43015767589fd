#include "shared/base/event_fields.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/base/plain_text.hpp"

namespace undertone {
namespace {

nlohmann::json read(const std::string& line) { return nlohmann::json::parse("{" + event_fields(line) + "}"); }

TEST(EventFieldsTest, PairsBecomeMembers) {
  EXPECT_EQ(event_fields("round_closed round=7 silo=clinic-1 elapsed_ms=0 share=0.5"),
            R"("event":"round_closed","round":7,"silo":"clinic-1","elapsed_ms":0,"share":"0.5")");
  EXPECT_EQ(event_fields("stopped"), R"("event":"stopped")");
  EXPECT_EQ(event_fields("asked reason="), R"("event":"asked","reason":"")");
}

TEST(EventFieldsTest, AQuotedTextComesBackAsItWas) {
  for (const char* text :
       {"", "a b", "say \"no\"", "back\\slash", "\\\"", "x=\"1\" silo=other", "\\", "gr\xc3\xbc\xc3\x9f"})
    EXPECT_EQ(read("job_refused reason=" + quoted_text(text) + " run=1a")["reason"], text);
  EXPECT_EQ(read("job_refused reason=" + quoted_text("a\" silo=\"b") + " silo=c")["silo"], "c");
}

TEST(EventFieldsTest, NamesThatLookLikeNumbersStayTexts) {
  const nlohmann::json line = read("e run=123456789012 silo=7 round=7 job=00 port=007 bytes=1234567890123456");
  EXPECT_EQ(line["run"], "123456789012");
  EXPECT_EQ(line["silo"], "7");
  EXPECT_EQ(line["round"], 7);
  EXPECT_EQ(line["port"], "007");                // JSON has no such number
  EXPECT_EQ(line["bytes"], "1234567890123456");  // a double may not hold the next longer ones
}

TEST(EventFieldsTest, ALineOfAnotherFormIsOneText) {
  for (const char* line : {"", "two words", "Undertone 0.2", "e key", "e =1", "e a=1 a=2", "e level=high", "e event=x",
                           "e a=\"open", "e a=\"x\"y", "e a=\"\\", "e a=x\"y", "e  a=1", "e a=1 ", "e A=1"})
    EXPECT_EQ(read(line), (nlohmann::json{{"event", line}})) << line;
}

TEST(EventFieldsTest, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(read("e a=\xff")["a"], "\xef\xbf\xbd");
  EXPECT_EQ(read("\xff x")["event"], "\xef\xbf\xbd x");
}

}  // namespace
}  // namespace undertone
