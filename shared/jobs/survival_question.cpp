#include "shared/jobs/survival_question.hpp"

#include <algorithm>
#include <utility>

namespace undertone::jobs {
namespace {

using algorithms::StatisticAsked;
using algorithms::SurvivalAsked;

/// The grid in the column's unit and as records are encoded, with the encoder's own arithmetic.
bool put_grid(config::Section& section, const std::vector<double>& grid, const algorithms::NumberColumn& time,
              SurvivalAsked& out) {
  if (grid.size() < 2 || grid.size() > kExitsIntervalsMax + 1) {
    section.problem("grid", fmt::format("expected 2 to {} edges, got {}", kExitsIntervalsMax + 1, grid.size()));
    return false;
  }
  if (grid.front() != time.low || grid.back() >= time.high) {
    section.problem(
        "grid", fmt::format("expected edges from {}, the lower bound of \"{}\", to one below {}, its upper bound: a "
                            "longer time is cut to that, so that on the last edge it would count as that time; got "
                            "{} to {}",
                            time.low, time.name, time.high, grid.front(), grid.back()));
    return false;
  }
  out.edges = grid;
  for (const double edge : grid) {
    out.cells.edges.push_back(2.0 * (edge - time.low) / (time.high - time.low) - 1.0);
    const std::size_t at = out.cells.edges.size() - 1;
    if (at == 0 || (grid[at - 1] < edge && out.cells.edges[at - 1] < out.cells.edges[at])) continue;
    section.problem("grid", fmt::format("expected ascending edges, got {} after {}", edge, grid[at - 1]));
    return false;
  }
  return true;
}

bool put_event(config::Section& section, const WrittenSurvival& written, const ColumnIndex& known, SurvivalAsked& out) {
  const std::optional<algorithms::TableAxis> axis = table_axis(section, "event", known, written.event);
  if (!axis) return false;
  if (const auto* indicators = std::get_if<statistics::IndicatorCells>(&axis->cells)) out.cells.event = *indicators;
  if (const auto* sign = std::get_if<statistics::SignCells>(&axis->cells)) out.cells.event = *sign;
  if (const auto* classes = std::get_if<statistics::ClassCells>(&axis->cells)) out.cells.event = *classes;
  for (const std::string& event : written.events) {
    if (std::find(axis->values.begin(), axis->values.end(), event) == axis->values.end()) {
      section.problem("events",
                      fmt::format("expected values that data lists for \"{}\", got \"{}\"", written.event, event));
      return false;
    }
    if (std::count(written.events.begin(), written.events.end(), event) > 1) {
      section.problem("events", "expected each value once");
      return false;
    }
  }
  if (written.events.size() >= axis->values.size()) {
    section.problem("events", fmt::format("expected a value of \"{}\" that is no event: of those records it is only "
                                          "known that nothing had happened yet",
                                          written.event));
    return false;
  }
  out.cells.causes = written.competing ? written.events.size() : 1;
  out.causes = written.competing ? written.events : std::vector<std::string>{written.event};
  for (const std::string& value : axis->values) {
    const auto found = std::find(written.events.begin(), written.events.end(), value);
    const auto place = static_cast<std::size_t>(found - written.events.begin());
    out.cells.cause_of.push_back(found == written.events.end() ? out.cells.causes : written.competing ? place : 0);
  }
  return true;
}

bool put_groups(config::Section& section, const WrittenSurvival& written, const ColumnIndex& known,
                SurvivalAsked& out) {
  std::size_t groups = 1;
  for (const std::string& name : written.by) {
    if (std::count(written.by.begin(), written.by.end(), name) > 1 || name == written.event) {
      section.problem("by", "expected each column once, and not that of the event");
      return false;
    }
    std::optional<algorithms::TableAxis> axis = table_axis(section, "by", known, name);
    if (!axis) return false;
    groups = std::min(groups * axis->values.size(), std::size_t{1} << 20U);
    out.by.push_back(*std::move(axis));
  }
  const std::size_t cells = groups * statistics::cell_count(out.cells);
  if (groups <= kExitsGroupsMax && cells <= kExitsCellsMax) return true;
  section.problem("by", fmt::format("expected at most {} groups and {} cells in all, got {} and {}: merge values, or "
                                    "take fewer edges",
                                    kExitsGroupsMax, kExitsCellsMax, groups, cells));
  return false;
}

/// Where curves are stated: at every edge, or at those that the question names.
bool put_times(config::Section& section, const std::vector<double>& at, SurvivalAsked& out) {
  for (std::size_t edge = 1; edge < out.edges.size(); ++edge)
    if (at.empty() || std::find(at.begin(), at.end(), out.edges[edge]) != at.end()) out.at.push_back(edge);
  if (at.empty() || out.at.size() == at.size()) return true;
  section.problem("at", "expected edges of the grid after the first one, each once");
  return false;
}

statistics::SurvivalGuess read_guess(config::Section section) {
  constexpr double kSmall = 1e-6;
  statistics::SurvivalGuess out;
  if (section.recording() || section.has("survival"))
    out.survival = section.number("survival", kSmall, 1.0 - kSmall, "until the last edge of the grid (default .5)");
  if (section.recording() || section.has("censored"))
    out.censored = section.number("censored", 0.0, 1.0 - kSmall,
                                  "the share of those without an event that is lost until then (default .2)");
  section.finish();
  return out;
}

}  // namespace

WrittenSurvival read_survival(config::Section& section) {
  WrittenSurvival out;
  const bool every = section.recording();
  out.time = section.text("time",
                          "of survival: a column of numbers, until when a record was seen; what is missing there needs "
                          "an indicator in data");
  out.event = section.text("event", "of survival: a column of listed values that says how it was last seen");
  out.events = section.texts("events", "of survival: which of them are events; of all others time only ran out", {1});
  if (every || section.has("competing"))
    out.competing = section.boolean("competing",
                                    "of survival: each of the events is a cause of its own, which costs nothing more "
                                    "(default false: any of them ends it)");
  out.grid =
      section.numbers("grid",
                      "of survival: ascending edges in the unit of the time, from outside knowledge: from the lower "
                      "bound of the time on; the last "
                      "one below the upper bound of the time. As few as the question allows: noise grows with "
                      "the root of their number");
  if (every || section.has("by"))
    out.by = section.texts("by",
                           "of survival: columns of listed values, whose combinations are groups that are compared; "
                           "the noise stays what it is",
                           {1});
  if (every || section.has("at"))
    out.at = section.numbers("at", "of survival: edges of the grid at which curves are stated (default: all)");
  if (every || section.has("times"))
    out.on_grid = section.choice<bool>(
        "times", {{"continuous", false}, {"grid", true}},
        "of survival: continuous (default): put into the intervals of the grid; grid: its edges are all the times that "
        "there are, as days are in days");
  if (every || section.has("silos"))
    out.pooled = section.choice<bool>(
        "silos", {{"standardised", false}, {"alike", true}},
        "of survival: standardised (default): each silo's curve by itself, weighed by its records, since silos that "
        "differ in hazard and in censoring have no common curve; alike: everybody declares that they do not differ in "
        "one of the two, and tables are added up");
  if (every || section.has("test"))
    out.gehan = section.choice<bool>("test", {{"log_rank", false}, {"gehan", true}},
                                     "of survival by groups: log_rank (default), or gehan, which counts early times "
                                     "more and is less disturbed where few are left");
  for (const char* key : {"entry", "start"})
    section.refuse(
        key,
        "expected none: delayed entry is not supported, since the table counts everybody as watched from the "
        "first edge on, and who came later would count as at risk before. Ask for the time since each "
        "record's own entry, which a schema can derive from two dates, or leave out who came later");
  if (every || section.has("guess"))
    out.guess = read_guess(section.object("guess", "of survival: what a plan reckons with, from outside knowledge"));
  return out;
}

std::optional<StatisticAsked> parse_survival(config::Section& section, const WrittenSurvival& written,
                                             const std::vector<double>& probabilities, const ColumnIndex& known) {
  SurvivalAsked out;
  const std::optional<algorithms::NumberColumn> time = number_column(section, "time", known, written.time);
  if (!time) return std::nullopt;
  out.cells.time = time->coordinate;
  const std::optional<Column> column = known.find(written.time);
  const data::NumericColumn* numeric = numeric_of(known, *column);
  if (numeric->missing && !(column->feature != nullptr && data::encoded_width(*column->feature) == 2)) {
    section.problem("time",
                    fmt::format("expected a column whose missing times have an indicator: without \"indicator\": "
                                "true in its \"missing\" they would count as the time {}",
                                numeric->missing->value));
    return std::nullopt;
  }
  if (column->feature != nullptr && data::encoded_width(*column->feature) == 2)
    out.cells.time_missing = time->coordinate + 1;
  if (!put_grid(section, written.grid, *time, out) || !put_event(section, written, known, out) ||
      !put_groups(section, written, known, out) || !put_times(section, written.at, out))
    return std::nullopt;
  if (!probabilities.empty()) out.probabilities = probabilities;
  const bool between =
      std::all_of(out.probabilities.begin(), out.probabilities.end(), [](double p) { return p > 0.0 && p < 1.0; });
  if (!between || out.probabilities.size() > kExitsQuantilesMax) {
    section.problem("probabilities", fmt::format("expected 1 to {} numbers in (0, 1)", kExitsQuantilesMax));
    return std::nullopt;
  }
  out.on_grid = written.on_grid;
  out.pooled = written.pooled;
  out.gehan = written.gehan;
  out.guess = written.guess;
  std::string name = fmt::format("survival by {} until {}", written.event, written.time);
  for (std::size_t i = 0; i < written.by.size(); ++i)
    name += fmt::format("{}{}", i == 0 ? ", of " : " x ", written.by[i]);
  return StatisticAsked{std::move(name), time->coordinate, std::move(out)};
}

}  // namespace undertone::jobs
