#include "shared/data/derivations.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "shared/base/overloaded.hpp"
#include "shared/base/plain_text.hpp"

namespace undertone::data {
namespace {

constexpr double kDaysOfYear = 365.25;
constexpr double kBelowEveryBound = -1e300;

double part_of(double days, DatePart::Part part) {
  const std::chrono::sys_days day{std::chrono::days(static_cast<int>(std::floor(days)))};
  const std::chrono::year_month_day date{day};
  switch (part) {
    case DatePart::Part::Year:
      return static_cast<int>(date.year());
    case DatePart::Part::Month:
      return static_cast<unsigned>(date.month());
    case DatePart::Part::Weekday:
      return std::chrono::weekday(day).iso_encoding();
  }
  return 0.0;
}

/// How the cells are written that a column comes from.
std::string form_of(const DerivedColumn& how) {
  return std::visit(Overloaded{[](const TimeBetween& rule) { return fmt::format("a date {}", pattern_of(rule.date)); },
                               [](const DatePart& rule) { return fmt::format("a date {}", pattern_of(rule.date)); },
                               [](const Logarithm&) { return std::string("a finite number"); },
                               [](const Bins&) { return std::string("a finite number"); },
                               [](const auto&) { return std::string("a text"); }},
                    how.rule);
}

}  // namespace

Derivations::Step Derivations::step_of(const DerivedColumn& how) {
  Step step;
  step.how = how;
  step.values = values_of(how);
  step.expected = fmt::format("{} or a text that means missing, of which the schema derives \"{}\"", form_of(how),
                              plain_text(how.name));
  if (const auto* merged = std::get_if<Merged>(&how.rule)) {
    std::set<std::size_t, std::greater<>> lengths;
    for (std::size_t i = 0; i < merged->groups.size(); ++i) {
      for (const std::string& value : merged->groups[i].values) step.listed.emplace(value, i);
      for (const std::string& prefix : merged->groups[i].prefixes) {
        step.prefixes.emplace(prefix, i);
        lengths.insert(prefix.size());
      }
    }
    step.lengths.assign(lengths.begin(), lengths.end());
  }
  return step;
}

Result<Derivations> Derivations::create(const std::vector<std::string>& columns,
                                        const std::vector<DerivedColumn>& derived, std::vector<bool> wanted,
                                        const NumberForm& numbers) {
  Derivations out;
  out.columns_ = columns.size();
  out.numbers_ = numbers;
  if (derived.empty()) return out;
  out.uses_.resize(columns.size());
  out.completes_.resize(columns.size());
  const ColumnNames names(columns);
  std::vector<std::string> own;
  own.reserve(derived.size());
  for (const DerivedColumn& column : derived) own.push_back(column.name);
  const ColumnNames before(own);
  for (std::size_t i = derived.size(); i-- > 0;) {
    if (!wanted[i]) continue;
    for (const std::string& source : sources_of(derived[i])) {
      if (const std::optional<std::size_t> found = before.find(source); found && *found < i) wanted[*found] = true;
    }
  }
  std::vector<std::size_t> last(derived.size(), 0);  // the table's column at which each is complete
  for (std::size_t i = 0; i < derived.size(); ++i) {
    out.steps_.push_back(step_of(derived[i]));
    if (!wanted[i]) continue;
    Step& step = out.steps_.back();
    if (names.count(derived[i].name) > 0)
      return Error{ErrorCode::InvalidData, fmt::format("the schema derives the column \"{}\", and the table has one of "
                                                       "this name: give the derived one another",
                                                       plain_text(derived[i].name))};
    for (const std::string& source : sources_of(derived[i])) {
      const std::size_t argument = step.steps.size();
      if (const std::optional<std::size_t> found = before.find(source); found && *found < i) {
        step.steps.emplace_back(*found);
        last[i] = std::max(last[i], last[*found]);
        continue;
      }
      const std::optional<std::size_t> place = names.find(source);
      if (!place)
        return Error{ErrorCode::InvalidData,
                     fmt::format("the column \"{}\" is missing, of which the schema derives \"{}\"", plain_text(source),
                                 plain_text(derived[i].name))};
      if (names.count(source) > 1)
        return Error{ErrorCode::InvalidData, fmt::format("the column \"{}\" stands twice", plain_text(source))};
      step.steps.emplace_back(std::nullopt);
      out.uses_[*place].push_back({i, argument});
      last[i] = std::max(last[i], *place);
    }
    step.arguments.resize(step.steps.size());
    out.completes_[last[i]].push_back(i);
  }
  return out;
}

const std::string* Derivations::read(Step& step, std::size_t argument, std::optional<std::string_view> cell) const {
  Argument& out = step.arguments[argument];
  out = std::monostate{};
  const std::vector<std::string>& missing = step.how.missing;
  if (!cell || std::find(missing.begin(), missing.end(), *cell) != missing.end()) return nullptr;
  const std::optional<DateFormat> date =
      std::visit(Overloaded{[](const TimeBetween& rule) -> std::optional<DateFormat> { return rule.date; },
                            [](const DatePart& rule) -> std::optional<DateFormat> { return rule.date; },
                            [](const auto&) -> std::optional<DateFormat> { return std::nullopt; }},
                 step.how.rule);
  if (!date && needed_kind(step.how) == CellKind::Text) {
    out = std::string(*cell);
    return nullptr;
  }
  const bool limits =
      std::visit(Overloaded{[](const Logarithm& rule) { return rule.limits; },
                            [](const Bins& rule) { return rule.limits; }, [](const auto&) { return false; }},
                 step.how.rule);
  std::optional<double> value = date ? parse_date(*cell, *date) : parse_number(*cell, numbers_);
  if (!value && limits) value = parse_limit(*cell, numbers_);
  if (!value) {
    step.refused = true;
    return &step.expected;
  }
  out = *value;
  return nullptr;
}

std::string_view Derivations::group_of(const Step& step, const std::string& text) {
  const auto& rule = std::get<Merged>(step.how.rule);
  if (const auto listed = step.listed.find(text); listed != step.listed.end()) return rule.groups[listed->second].name;
  for (const std::size_t length : step.lengths) {
    if (length > text.size()) continue;
    const auto found = step.prefixes.find(std::string_view(text).substr(0, length));
    if (found != step.prefixes.end()) return rule.groups[found->second].name;
  }
  return rule.rest.empty() ? std::string_view(text) : std::string_view(rule.rest);
}

bool Derivations::make(Step& step) {
  step.cell = std::monostate{};
  step.made = !std::exchange(step.refused, false);
  for (std::size_t i = 0; i < step.steps.size(); ++i) {
    if (!step.steps[i]) continue;
    step.made = step.made && steps_[*step.steps[i]].made;
    step.arguments[i] =
        std::visit(Overloaded{[](std::monostate) { return Argument(); }, [](double value) { return Argument(value); },
                              [](std::string_view text) { return Argument(std::string(text)); }},
                   steps_[*step.steps[i]].cell);
  }
  const bool lacks = std::any_of(step.arguments.begin(), step.arguments.end(), [](const Argument& argument) {
    return std::holds_alternative<std::monostate>(argument);
  });
  if (lacks || !step.made) return step.made;
  const auto number = [&step](std::size_t i) { return std::get<double>(step.arguments[i]); };
  step.cell = std::visit(
      Overloaded{[&](const TimeBetween& rule) -> Cell {
                   return (number(1) - number(0)) / (rule.unit == TimeBetween::Unit::Years ? kDaysOfYear : 1.0);
                 },
                 [&](const DatePart& rule) -> Cell { return part_of(number(0), rule.part); },
                 [&](const Logarithm& rule) -> Cell {
                   const double sum = number(0) + rule.plus;
                   return sum > 0.0 ? std::log(std::min(sum, std::numeric_limits<double>::max())) : kBelowEveryBound;
                 },
                 [&](const Bins& rule) -> Cell {
                   const auto above = std::upper_bound(rule.edges.begin(), rule.edges.end(), number(0));
                   return std::string_view(step.values[static_cast<std::size_t>(above - rule.edges.begin())]);
                 },
                 [&](const Merged&) -> Cell { return group_of(step, std::get<std::string>(step.arguments[0])); },
                 [&](const Buckets& rule) -> Cell {
                   return std::string_view(
                       step.values[bucket_of(std::get<std::string>(step.arguments[0]), rule.buckets)]);
                 }},
      step.how.rule);
  return true;
}

const std::string* Derivations::take(std::size_t column, std::optional<std::string_view> cell) {
  made_.clear();
  const std::string* expected = nullptr;
  for (const Use& use : uses_[column]) {
    const std::string* const of_one = read(steps_[use.step], use.argument, cell);
    if (expected == nullptr) expected = of_one;
  }
  for (const std::size_t at : completes_[column]) {
    if (make(steps_[at])) made_.push_back({columns_ + at, steps_[at].cell});
  }
  return expected;
}

}  // namespace undertone::data
