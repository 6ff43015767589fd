#include "shared/jobs/derived_section.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "shared/base/overloaded.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::ordered_json;
using data::DerivedColumn;

constexpr std::size_t kDerivedMax = 1'000;
constexpr std::size_t kListedMax = 100'000;  // values that derived columns have in all
constexpr std::size_t kMergedGroupsMax = 1'000;
constexpr std::size_t kGroupedTextsMax = 100'000;
constexpr std::size_t kBinEdgesMax = 1'000;
constexpr std::int64_t kBucketsMax = 4'096;
constexpr double kBinEdgeMax = 1e50;

enum class How { DaysBetween, YearsBetween, Year, Month, Weekday, Logarithm, Bins, Merge, Buckets };

/// @param count that the rule needs
std::vector<std::string> sources_in(config::Section& section, std::size_t count) {
  std::vector<std::string> from = section.texts(
      "from", "the column that it comes from; of a time between two dates both, the earlier first", {1, 2, true});
  if (!section.recording() && from.size() != count)
    section.problem("from", count == 2 ? "expected two columns of dates" : "expected one column");
  from.resize(count);
  return from;
}

std::string source_in(config::Section& section) { return sources_in(section, 1).front(); }

data::TimeBetween parse_between(config::Section& section, data::TimeBetween::Unit unit) {
  data::TimeBetween out;
  const std::vector<std::string> from = sources_in(section, 2);
  out.from = from[0];
  out.to = from[1];
  out.date = parse_date_format(section, "date", "the form of the dates");
  out.unit = unit;
  return out;
}

data::DatePart parse_date_part(config::Section& section, data::DatePart::Part part) {
  data::DatePart out;
  out.from = source_in(section);
  out.date = parse_date_format(section, "date", "the form of the dates");
  out.part = part;
  return out;
}

bool parse_limits(config::Section& section) {
  return section.has("limits") &&
         section.choice<bool>(
             "limits", {{"refuse", false}, {"bound", true}},
             "a cell such as <0.6 or >200 is an error (default), or counts as the limit that it names");
}

data::Logarithm parse_logarithm(config::Section& section) {
  data::Logarithm out;
  out.from = source_in(section);
  if (section.has("plus"))
    out.plus = section.number("plus", 0.0, kBinEdgeMax, "is added before the logarithm is taken (default 0)");
  out.limits = parse_limits(section);
  return out;
}

data::Bins parse_bins(config::Section& section) {
  data::Bins out;
  out.from = source_in(section);
  out.edges = section.numbers("edges",
                              "where bins part, ascending: below the first, from one to below the next, from "
                              "the last on");
  const bool ascend = std::adjacent_find(out.edges.begin(), out.edges.end(), std::greater_equal<>()) == out.edges.end();
  const bool small =
      std::all_of(out.edges.begin(), out.edges.end(), [](double edge) { return std::abs(edge) <= kBinEdgeMax; });
  if (!section.recording() && (out.edges.empty() || out.edges.size() > kBinEdgesMax || !ascend || !small))
    section.problem("edges", fmt::format("expected 1 to {} ascending numbers from {} to {}", kBinEdgesMax, -kBinEdgeMax,
                                         kBinEdgeMax));
  out.names = data::names_of_bins(out.edges);
  if (section.has("names")) {
    const std::vector<std::string> names =
        section.texts("names", "one for each bin (default \"below 18\", \"18 to below 65\", \"65 or more\")",
                      {2, kBinEdgesMax + 1, true});
    if (!section.recording() && names.size() != out.names.size())
      section.problem("names",
                      fmt::format("expected {} names, one more than edges, got {}", out.names.size(), names.size()));
    if (names.size() == out.names.size()) out.names = names;
  }
  out.limits = parse_limits(section);
  return out;
}

data::Merged parse_merged(config::Section& section) {
  data::Merged out;
  out.from = source_in(section);
  std::set<std::string> names;
  std::map<std::string, std::string> taken;  // values and prefixes, with their group
  std::size_t values = 0;
  for (config::Section group :
       section.objects("groups", 1, kMergedGroupsMax, "what becomes one value, group by group")) {
    data::Merged::Group& own = out.groups.emplace_back();
    own.name = group.text("name", "the value that these become");
    if (group.has("values")) own.values = group.texts("values", "these texts", {1, kGroupedTextsMax, true});
    if (group.has("prefixes"))
      own.prefixes = group.texts("prefixes", "every text that begins so, such as C50 of C50.1; a longer one goes first",
                                 {1, kGroupedTextsMax, true});
    if (!group.recording()) {
      if (!names.insert(own.name).second) group.problem("name", "stands twice");
      if (own.values.empty() && own.prefixes.empty()) group.problem("values", "expected values or prefixes");
      for (const auto* const texts : {&own.values, &own.prefixes}) {
        const char* const key = texts == &own.values ? "values" : "prefixes";
        values += texts->size();
        for (const std::string& text : *texts) {
          if (!taken.emplace(key + text, own.name).second)
            group.problem(key, fmt::format("\"{}\" is in another group", plain_text(text)));
        }
      }
    }
    group.finish();
  }
  if (values > kGroupedTextsMax)
    section.problem("groups", fmt::format("expected at most {} texts in all", kGroupedTextsMax));
  if (section.has("rest")) {
    out.rest = section.text("rest", "the value of every other text; without it such a text stays what it is");
    if (!section.recording() && (out.rest.empty() || names.contains(out.rest)))
      section.problem("rest", "expected a name that no group has");
  }
  return out;
}

data::Buckets parse_buckets(config::Section& section) {
  data::Buckets out;
  out.from = source_in(section);
  out.buckets = static_cast<std::size_t>(
      section.integer("buckets", 2, kBucketsMax, "how many: each text falls into one by a public hash"));
  return out;
}

DerivedColumn parse_derived_column(config::Section& section) {
  using Part = data::DatePart::Part;
  using Unit = data::TimeBetween::Unit;
  DerivedColumn out;
  out.name = section.text("column", "the name that label, features and sensitive columns know it by");
  const auto how =
      section.choice<How>("how",
                          {{"days_between", How::DaysBetween},
                           {"years_between", How::YearsBetween},
                           {"year", How::Year},
                           {"month", How::Month},
                           {"weekday", How::Weekday},
                           {"log", How::Logarithm},
                           {"bins", How::Bins},
                           {"merge", How::Merge},
                           {"buckets", How::Buckets}},
                          "the public rule: the time between two dates (a year has 365.25 days), a part of "
                          "a date (weekdays from 1, Monday), a natural logarithm, the bin of a number, the "
                          "group that a list puts a text into, or one of some buckets of texts");
  const bool all = section.recording();  // the reference has every key
  if (all || how == How::DaysBetween || how == How::YearsBetween)
    out.rule = parse_between(section, how == How::DaysBetween ? Unit::Days : Unit::Years);
  if (all || how == How::Year || how == How::Month || how == How::Weekday)
    out.rule = parse_date_part(section, how == How::Year    ? Part::Year
                                        : how == How::Month ? Part::Month
                                                            : Part::Weekday);
  if (all || how == How::Logarithm) out.rule = parse_logarithm(section);
  if (all || how == How::Bins) out.rule = parse_bins(section);
  if (all || how == How::Merge) out.rule = parse_merged(section);
  if (all || how == How::Buckets) out.rule = parse_buckets(section);
  if (section.has("missing"))
    out.missing = section.texts("missing", "what is written where there is no value to derive from (default [\"\"])");
  return out;
}

const char* word_of_rule(const DerivedColumn& column) {
  return std::visit(
      Overloaded{[](const data::TimeBetween& rule) {
                   return rule.unit == data::TimeBetween::Unit::Days ? "days_between" : "years_between";
                 },
                 [](const data::DatePart& rule) {
                   using Part = data::DatePart::Part;
                   return rule.part == Part::Year ? "year" : rule.part == Part::Month ? "month" : "weekday";
                 },
                 [](const data::Logarithm&) { return "log"; }, [](const data::Bins&) { return "bins"; },
                 [](const data::Merged&) { return "merge"; }, [](const data::Buckets&) { return "buckets"; }},
      column.rule);
}

/// What a column comes from is there, and is what the rule reads.
void check_sources(config::Section& section, const DerivedColumn& column, const DerivedByName& all) {
  for (const std::string& source : data::sources_of(column)) {
    const DerivedColumn* const found = all.find(source);
    if (found == nullptr) continue;  // the file has it
    if (found == &column) {
      section.problem("from", "a column cannot come from itself");
      continue;
    }
    if (found > &column) {  // they stand in one list
      section.problem("from", fmt::format("\"{}\" is derived after this column: write it before", plain_text(source)));
      continue;
    }
    const bool reads_number = data::needed_kind(column) == data::CellKind::Number;
    const bool dates =
        std::holds_alternative<data::TimeBetween>(column.rule) || std::holds_alternative<data::DatePart>(column.rule);
    if (dates || reads_number != (data::kind_of(*found) != data::CellKind::Text))
      section.problem("from", fmt::format("expected {}, and \"{}\" is derived as {}",
                                          dates          ? "a date of the file"
                                          : reads_number ? "a number"
                                                         : "a text",
                                          plain_text(source),
                                          data::kind_of(*found) == data::CellKind::Text ? "a text" : "a number"));
  }
}

}  // namespace

data::DateFormat parse_date_format(config::Section& section, const std::string& key, const char* about) {
  return section.choice<data::DateFormat>(key,
                                          {{data::kDateForms[0].pattern, data::kDateForms[0].format},
                                           {data::kDateForms[1].pattern, data::kDateForms[1].format},
                                           {data::kDateForms[2].pattern, data::kDateForms[2].format},
                                           {data::kDateForms[3].pattern, data::kDateForms[3].format},
                                           {data::kDateForms[4].pattern, data::kDateForms[4].format},
                                           {data::kDateForms[5].pattern, data::kDateForms[5].format}},
                                          about);
}

std::vector<DerivedColumn> parse_derived(config::Section& schema) {
  std::vector<DerivedColumn> out;
  if (!schema.has("derived")) return out;
  std::vector<config::Section> sections =
      schema.objects("derived", 1, kDerivedMax,
                     "columns that no file holds: each record's value follows from its other cells alone, by a public "
                     "rule. Label, features and sensitive columns name them like others");
  std::set<std::string> names;
  std::size_t listed = 0;
  for (config::Section& section : sections) {
    DerivedColumn column = parse_derived_column(section);
    if (!section.recording() && !names.insert(data::comparable_name(column.name)).second)
      section.problem("column", "stands twice");
    section.finish();
    listed += data::values_of(column).size();
    if (listed > kListedMax) {
      schema.problem("derived",
                     fmt::format("expected at most {} values of bins, groups and buckets in all", kListedMax));
      return {};
    }
    out.push_back(std::move(column));
  }
  const DerivedByName all(out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!sections[i].recording()) check_sources(sections[i], out[i], all);
  }
  return out;
}

Json to_json(const DerivedColumn& column) {
  Json out = {{"column", column.name}, {"how", word_of_rule(column)}, {"from", data::sources_of(column)}};
  std::visit(Overloaded{[&](const data::TimeBetween& rule) { out["date"] = data::pattern_of(rule.date); },
                        [&](const data::DatePart& rule) { out["date"] = data::pattern_of(rule.date); },
                        [&](const data::Logarithm& rule) {
                          if (rule.plus != 0.0) out["plus"] = rule.plus;
                          if (rule.limits) out["limits"] = "bound";
                        },
                        [&](const data::Bins& rule) {
                          out["edges"] = rule.edges;
                          if (rule.names != data::names_of_bins(rule.edges)) out["names"] = rule.names;
                          if (rule.limits) out["limits"] = "bound";
                        },
                        [&](const data::Merged& rule) {
                          out["groups"] = Json::array();
                          for (const data::Merged::Group& group : rule.groups) {
                            Json one = {{"name", group.name}};
                            if (!group.values.empty()) one["values"] = group.values;
                            if (!group.prefixes.empty()) one["prefixes"] = group.prefixes;
                            out["groups"].push_back(std::move(one));
                          }
                          if (!rule.rest.empty()) out["rest"] = rule.rest;
                        },
                        [&](const data::Buckets& rule) { out["buckets"] = rule.buckets; }},
             column.rule);
  if (column.missing != std::vector<std::string>{""}) out["missing"] = column.missing;
  return out;
}

DerivedByName::DerivedByName(const std::vector<DerivedColumn>& columns) {
  for (const DerivedColumn& column : columns) columns_.emplace(data::comparable_name(column.name), &column);
}

const DerivedColumn* DerivedByName::find(const std::string& name) const {
  if (columns_.empty()) return nullptr;
  const auto found = columns_.find(data::comparable_name(name));
  return found == columns_.end() ? nullptr : found->second;
}

const DerivedByName::Values& DerivedByName::values(const DerivedColumn& column) const {
  const auto [found, fresh] = values_.try_emplace(&column);
  if (fresh) {
    found->second.list = data::values_of(column);
    found->second.known.insert(found->second.list.begin(), found->second.list.end());
  }
  return found->second;
}

void check_reads_number(config::Section& section, const DerivedByName& all, const data::NumericColumn& column) {
  const DerivedColumn* const derived = all.find(column.name);
  if (derived == nullptr || section.recording()) return;
  if (data::kind_of(*derived) == data::CellKind::Text)
    section.problem("column", "is derived as a text, and bounds are for numbers: expected categories or classes");
  if (column.date) section.problem("date", "expected none: the derived column is a number");
  if (column.limits != data::Limits::Refuse) section.problem("limits", "expected none: the derived column is a number");
}

void check_reads_list(config::Section& section, const DerivedByName& all, const std::string& column, const char* key,
                      const std::vector<std::string>& values) {
  const DerivedColumn* const derived = all.find(column);
  if (derived == nullptr || section.recording()) return;
  if (data::kind_of(*derived) == data::CellKind::Number)
    return section.problem("column", "is derived as a number: expected min and max, or bins of it");
  const DerivedByName::Values& had = all.values(*derived);
  if (had.list.empty()) return;
  for (const std::string& value : values) {
    if (value.empty() || had.known.contains(value)) continue;  // an empty one is a missing one
    return section.problem(
        key, fmt::format("the derived column never has the value \"{}\"; it has \"{}\" to \"{}\"", plain_text(value),
                         plain_text(had.list.front()), plain_text(had.list.back())));
  }
}

}  // namespace undertone::jobs
