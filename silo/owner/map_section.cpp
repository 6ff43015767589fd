#include "silo/owner/map_section.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"
#include "shared/jobs/derived_section.hpp"

namespace undertone::silo {
namespace {

constexpr std::size_t kMappingsMax = 10'000;
constexpr std::size_t kWordsMax = 10'000;
constexpr double kFactorMin = 1e-12;
constexpr double kFactorMax = 1e12;

std::vector<ColumnMapping::Words> parse_words(config::Section& section) {
  std::vector<ColumnMapping::Words> out;
  std::set<std::string> taken;
  for (config::Section words : section.objects("values", 1, kWordsMax, "which texts mean what")) {
    ColumnMapping::Words& one = out.emplace_back();
    one.from = words.texts("from", "texts of this table, such as [\"w\", \"F\"]", {1, kWordsMax, true});
    if (words.has("to"))
      one.to = words.text("to", "what the schema calls them; without it they mean that there is no value");
    for (const std::string& text : one.from) {
      if (!words.recording() && !taken.insert(text).second)
        words.problem("from", fmt::format("\"{}\" means something else already", plain_text(text)));
    }
    words.finish();
  }
  return out;
}

ColumnMapping parse_mapping(config::Section& section) {
  ColumnMapping out;
  out.column = section.text("column", "its name in this silo's table");
  section.otherwise("as", out.column);
  out.as = section.text("as", "its name in the schema (default: the same)");
  if (section.has("values")) out.words = parse_words(section);
  if (section.has("date")) {
    ColumnMapping::Dates& dates = out.dates.emplace();
    dates.from = jobs::parse_date_format(section, "date", "how this table writes its dates");
    dates.to = jobs::parse_date_format(section, "date_as", "how the schema has them written");
  }
  if (section.has("keep"))
    out.kept = section.texts(
        "keep", "texts that stay as they are, such as \"-9\" or \"unknown\" where these mean missing", {1});
  if (section.has("factor"))
    out.factor =
        section.number("factor", kFactorMin, kFactorMax, "numbers are multiplied by it, for another unit (default 1)");
  if (section.has("offset"))
    out.offset = section.number("offset", -kFactorMax, kFactorMax, "and this is added (default 0)");
  const bool scaled = out.factor != 1.0 || out.offset != 0.0;
  if (scaled && out.dates && !section.recording()) section.problem("factor", "expected none beside date");
  return out;
}

}  // namespace

std::vector<ColumnMapping> parse_map(config::Section& dataset) {
  std::vector<ColumnMapping> out;
  if (!dataset.has("map")) return out;
  std::set<std::string> columns;
  std::set<std::string> names;
  for (config::Section section : dataset.objects(
           "map", 1, kMappingsMax,
           "how columns of this silo's table become the schema's: by another name, other words, another unit, "
           "another form of dates. It is used when the data set is added or amended; other columns stay")) {
    out.push_back(parse_mapping(section));
    if (!section.recording()) {
      if (!columns.insert(data::comparable_name(out.back().column)).second) section.problem("column", "stands twice");
      if (!names.insert(data::comparable_name(out.back().as)).second)
        section.problem("as", "another column becomes this one");
    }
    section.finish();
  }
  return out;
}

}  // namespace undertone::silo
