#include "silo/owner/silo_config.hpp"

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
  return config->datasets.front().dialect;
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

}  // namespace
}  // namespace undertone::silo
