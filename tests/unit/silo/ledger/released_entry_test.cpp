#include "silo/ledger/released_entry.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/base/random_source.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::json;

ReleasedEntry an_entry(std::uint64_t number) {
  ReleasedEntry out;
  out.run = {sha256("job"), {static_cast<std::uint8_t>(number)}};
  out.round = {number * 1'000'003};
  out.block = number % 3 == 0   ? releases::Block::Training
              : number % 3 == 1 ? releases::Block::Holdout
                                : releases::Block::Public;
  out.cost = number % 3 == 2 ? "0" : "gaussian:123456+pure:7";
  out.query = sha256(std::to_string(number));
  out.reply = sha256("reply");
  out.at = "2026-12-01T01:02:03Z";
  out.secret_order = number % 2 == 0;
  return out;
}

Json as_json(const ReleasedEntry& entry) {
  Json out{{"kind", "released"},
           {"run", entry.run.hex()},
           {"round", std::to_string(entry.round.value)},
           {"block", releases::block_name(entry.block)},
           {"cost", entry.cost},
           {"query", to_hex(entry.query)},
           {"reply", to_hex(entry.reply)},
           {"at", entry.at}};
  if (entry.secret_order) out["order"] = "secret";
  return out;
}

TEST(ReleasedEntryTest, IsWrittenAsTheJsonLibraryWritesItAndReadBack) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    const ReleasedEntry entry = an_entry(i);
    EXPECT_EQ(entry.body(), as_json(entry).dump());
    const std::optional<ReleasedEntry> read = ReleasedEntry::read(entry.body());
    ASSERT_TRUE(read);
    EXPECT_EQ(as_json(*read), as_json(entry));
  }
}

TEST(ReleasedEntryTest, LeavesEveryOtherSpellingToTheJsonParser) {
  const std::string body = an_entry(0).body();
  Json without = Json::parse(body);
  without.erase("at");
  Json more = Json::parse(body);
  more["zone"] = "UTC";
  const std::string big =
      std::string(body).replace(body.find("\"round\":\"0\""), 11, "\"round\":\"9223372036854775808\"");
  for (const std::string& other : {std::string(), std::string("{"), Json::parse(body).dump(1), body + " ", " " + body,
                                   without.dump(), more.dump(), big, Json{{"kind", "ended"}}.dump()}) {
    EXPECT_FALSE(ReleasedEntry::read(other)) << other;
  }
  for (std::size_t size = 0; size < body.size(); ++size) EXPECT_FALSE(ReleasedEntry::read(body.substr(0, size)));
}

/// What is read says what the JSON parser says of the same bytes, whichever bytes they are.
TEST(ReleasedEntryTest, NeverReadsWhatTheJsonParserReadsOtherwise) {
  RandomSource random(7);
  int still_read = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::string body = an_entry(static_cast<std::uint64_t>(i % 12)).body();
    const int changes = 1 + i % 2;
    for (int change = 0; change < changes; ++change)
      body[static_cast<std::size_t>(random.unit() * static_cast<double>(body.size()))] =
          static_cast<char>(static_cast<int>(random.unit() * 256.0));
    const std::optional<ReleasedEntry> read = ReleasedEntry::read(body);
    if (!read) continue;
    ++still_read;
    const Json parsed = Json::parse(body, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << body;
    EXPECT_EQ(parsed, as_json(*read));
  }
  EXPECT_GT(still_read, 100);
}

}  // namespace
}  // namespace undertone::silo
