#include "silo/owner/silo_config.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/base/files.hpp"

namespace undertone::silo {
namespace {

/// The example's configuration with its first data set's file described so. @return what is wrong, or its dialect
Result<data::CsvDialect> dialect_of(const nlohmann::json& file) {
  nlohmann::json document =
      nlohmann::json::parse(read_file(UNDERTONE_SOURCE_DIR "/configs/example/silo.json", 1U << 20U).value());
  nlohmann::json& dataset = document.contains("datasets") ? document["datasets"][0] : document["dataset"];
  if (!file.is_null()) dataset["file"] = file;
  config::Problems problems("silo.json");
  const Result<SiloConfig> config = parse_silo_config(document, "/x", problems);
  if (!config) return config.error();
  return std::get<CsvSource>(config->datasets.front().source).dialect;
}

TEST(SiloConfigTest, AFileThatIsNotThereIsToldWithWhereItIs) {
  const Result<SiloConfig> none = load_silo_config("/nowhere/silo.json");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "/nowhere/silo.json: there is no such file; it is in the silo's kit, and --config says where");
}

TEST(SiloConfigTest, ADataSetSaysHowItsFileIsWrittenAndNothingElse) {
  EXPECT_EQ(dialect_of(nullptr).value(), data::CsvDialect{});
  EXPECT_EQ(dialect_of({{"separator", ";"}, {"decimal", "comma"}}).value(), (data::CsvDialect{';', true}));
  EXPECT_EQ(dialect_of({{"separator", "tab"}}).value(), (data::CsvDialect{'\t', false}));
  EXPECT_EQ(dialect_of({{"decimal", "point"}}).value(), data::CsvDialect{});
  const auto says = [](const nlohmann::json& file, const std::string& problem) {
    const Result<data::CsvDialect> refused = dialect_of(file);
    ASSERT_FALSE(refused) << problem;
    EXPECT_NE(refused.error().message.find(problem), std::string::npos) << refused.error().message;
  };
  EXPECT_EQ(dialect_of({{"separator", "|"}, {"grouped", true}, {"encoding", "UTF-16"}}).value(),
            (data::CsvDialect{'|', {false, true}, data::TextEncoding::Utf16}));
  says({{"separator", ":"}}, R"(/file/separator: expected one of ",", ";", "tab", "|", "blank", got ":")");
  says({{"encoding", "EBCDIC"}}, R"(/file/encoding: expected one of "UTF-8")");
  says({{"decimal", ","}}, R"(/file/decimal: expected one of "point", "comma")");
  says({{"missing", "NA"}}, "/file/missing: unknown key");
  says(";", "/file: expected an object");
}

/// The example's configuration with its first data set changed. @return what is wrong with it; empty: nothing
std::string problem_with(const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json document =
      nlohmann::json::parse(read_file(UNDERTONE_SOURCE_DIR "/configs/example/silo.json", 1U << 20U).value());
  change(document.contains("datasets") ? document["datasets"][0] : document["dataset"]);
  config::Problems problems("silo.json");
  const Result<SiloConfig> config = parse_silo_config(document, "/x", problems);
  return config ? "" : config.error().message;
}

TEST(SiloConfigTest, ADataSetHasOneSourceAndADatabaseASnapshot) {
  const nlohmann::json sql = {{"query", "q.sql"}, {"connection", {{"file", "c.txt"}}}};
  EXPECT_EQ(problem_with([&](nlohmann::json& dataset) {
              dataset.erase("csv");
              dataset.erase("file");
              dataset["sql"] = sql;
              dataset["snapshots"] = "snapshots";
            }),
            "");
  EXPECT_NE(problem_with([&](nlohmann::json& dataset) {
              dataset.erase("csv");
              dataset["sql"] = sql;
            }).find("what a database or a Parquet file gives is served from a snapshot"),
            std::string::npos);
  EXPECT_NE(problem_with([&](nlohmann::json& dataset) { dataset["sql"] = sql; }).find("one of csv, parquet and sql"),
            std::string::npos);
  EXPECT_NE(problem_with([&](nlohmann::json& dataset) {
              dataset.erase("csv");
              dataset["sql"] = {{"query", "q.sql"}, {"connection", {{"file", "c"}, {"variable", "V"}}}};
              dataset["snapshots"] = "s";
            }).find("expected none beside file"),
            std::string::npos);
}

TEST(SiloConfigTest, APermitIsForThisConsortiumAndEnds) {
  const auto permit = [](const std::string& until, const std::string& consortium) {
    return problem_with([&](nlohmann::json& dataset) {
      dataset["permit"] = {{"id", "DE-17"}, {"purpose", "research"}, {"until", until}, {"consortium", consortium}};
    });
  };
  const std::string own =
      nlohmann::json::parse(read_file(UNDERTONE_SOURCE_DIR "/configs/example/silo.json", 1U << 20U).value())
          .at("consortium")
          .get<std::string>();
  EXPECT_EQ(permit("2027-06-30", own), "");
  EXPECT_NE(permit("2027-06-31", own).find("expected a date as YYYY-MM-DD"), std::string::npos);
  EXPECT_NE(permit("2027-06-30", "another").find("the consortium of this silo, found \"another\""), std::string::npos);
  const std::optional<Permit> last = Permit{"DE-17", "research", "1970-01-02"};
  constexpr std::int64_t kDay = 86'400;
  EXPECT_FALSE(permit_objection(last, 2 * kDay - 1));  // its last second
  ASSERT_TRUE(permit_objection(last, 2 * kDay));
  EXPECT_EQ(permit_objection(last, 2 * kDay)->sentence,
            "the data set's permit, DE-17, ended with 1970-01-02: nothing is answered without one that is valid");
  EXPECT_FALSE(permit_objection(std::nullopt, 2 * kDay));
}

}  // namespace
}  // namespace undertone::silo
