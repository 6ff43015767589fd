#include "silo/agent/feature_text.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "shared/base/overloaded.hpp"
#include "silo/agent/encoded_column.hpp"

namespace undertone::silo {
namespace {

constexpr std::size_t kNamesMax = 8;

/// The column of an indicator's name, "sex" of "sex=female".
std::string column_of(const std::string& indicator) { return indicator.substr(0, indicator.find('=')); }

std::string describe_cells(const statistics::Cells& cells, const data::Schema& schema) {
  const auto column = [&](std::size_t coordinate) { return encoded_column(schema, coordinate); };
  return std::visit(
      Overloaded{[&](const statistics::IndicatorCells& own) {
                   const std::string name = column(own.first).name;
                   return own.count == 1 ? name : fmt::format("{} ({} values)", column_of(name), own.count);
                 },
                 [&](const statistics::SignCells& own) {
                   return fmt::format("{} (2 values)", column_of(column(own.coordinate).name));
                 },
                 [&](const statistics::ClassCells& own) {
                   return fmt::format("{} ({} values)", column(own.coordinate).name, own.count);
                 },
                 [&](const statistics::BinnedCells& own) {
                   const EncodedColumn number = column(own.coordinate);
                   return fmt::format("{} in {} ranges from {:.6g} to {:.6g}", number.name, own.edges.size() - 1,
                                      number.value_of(own.edges.front()), number.value_of(own.edges.back()));
                 },
                 [](const statistics::GradientCells& own) {
                   const bool at_zero =
                       std::all_of(own.point.begin(), own.point.end(), [](double number) { return number == 0.0; });
                   return fmt::format(
                       "the length of a record's gradient of a {} loss{} at {}, in {} ranges up to {:.6g}",
                       statistics::to_string(own.loss), own.intercept ? " with an intercept" : "",
                       at_zero ? "0" : "the point that the job names, of which no promise covers what it tells",
                       own.edges.size() - 1, own.edges.back());
                 },
                 [&](const statistics::ExitCells& own) {
                   const EncodedColumn time = column(own.time);
                   const std::string event = std::visit(
                       Overloaded{[&](const statistics::IndicatorCells& of) { return column(of.first).name; },
                                  [&](const auto& of) { return column(of.coordinate).name; }},
                       own.event);
                   const auto events = std::count_if(own.cause_of.begin(), own.cause_of.end(),
                                                     [&](std::size_t cause) { return cause < own.causes; });
                   return fmt::format(
                       "when and how a record was last seen: {} in {} ranges up to {:.6g}, with {} of {} "
                       "values of {} as events{}",
                       time.name, own.intervals(), time.value_of(own.edges.back()), events, own.cause_of.size(),
                       column_of(event), own.causes == 1 ? "" : ", each counted by itself");
                 }},
      cells);
}

std::string names_of(const std::vector<std::size_t>& coordinates, const data::Schema& schema) {
  std::string out;
  for (std::size_t i = 0; i < std::min(coordinates.size(), kNamesMax); ++i)
    out += (i == 0 ? "" : ", ") + encoded_column(schema, coordinates[i]).name;
  return coordinates.size() > kNamesMax ? fmt::format("{} and {} more", out, coordinates.size() - kNamesMax) : out;
}

/// The first coordinate that cells read.
std::size_t first_of(const statistics::Cells& cells) {
  return std::visit(Overloaded{[](const statistics::IndicatorCells& own) { return own.first; },
                               [](const statistics::GradientCells& /*all*/) { return std::size_t{0}; },
                               [](const statistics::ExitCells& own) { return own.time; },
                               [](const auto& own) { return own.coordinate; }},
                    cells);
}

/// ": sex, ward", of columns of listed values by their first coordinates.
std::string listed_columns(const std::vector<std::size_t>& coordinates, const data::Schema& schema) {
  std::string out;
  for (std::size_t i = 0; i < std::min(coordinates.size(), kNamesMax); ++i)
    out += (i == 0 ? ": " : ", ") + column_of(encoded_column(schema, coordinates[i]).name);
  return coordinates.size() > kNamesMax ? out + ", ..." : out;
}

}  // namespace

std::string describe_features(const statistics::FeatureMap& features, const data::Schema& schema) {
  const auto number = [&](std::size_t coordinate) { return encoded_column(schema, coordinate).name; };
  return std::visit(
      Overloaded{
          [&](const statistics::CountMap& map) { return "the count of " + describe_cells(map.cells, schema); },
          [&](const statistics::CellsMap& map) {
            std::string axes;
            for (const statistics::Cells& axis : map.axes)
              axes += (axes.empty() ? "" : " by ") + describe_cells(axis, schema);
            return "the counts of " + axes;
          },
          [&](const statistics::SumMap& map) { return "the sum of " + number(map.coordinate); },
          [&](const statistics::CountedSumMap& map) {
            return fmt::format("the number of records and the sum of {}", number(map.coordinate));
          },
          [&](const statistics::MomentsMap& map) {
            return fmt::format("the sums of {} and of its square", number(map.coordinate));
          },
          [&](const statistics::CutMomentsMap& map) {
            const EncodedColumn column = encoded_column(schema, map.coordinate);
            const double reach = map.radius * statistics::largest_influence(map.influence) * column.half_range();
            return fmt::format("the sums of {}, {} {:.6g} +- {:.6g}, and of its square", column.name,
                               map.influence == statistics::Influence::Clip ? "cut to" : "bent to stay within",
                               column.value_of(map.centre), reach);
          },
          [&](const statistics::FourMomentsMap& map) {
            return fmt::format("the sums of {} and of its powers up to the fourth", number(map.coordinate));
          },
          [&](const statistics::GroupMomentsMap& map) {
            return fmt::format("the counts and the sums of {} by {}", number(map.coordinate),
                               describe_cells(map.cells, schema));
          },
          [&](const statistics::VectorMomentsMap& map) {
            return fmt::format("the sums of {} and of all their products", names_of(map.coordinates, schema));
          },
          [&](const statistics::TreeMap& map) {
            return fmt::format("the counts of {}, of all its halves and quarters too",
                               describe_cells(map.leaves, schema));
          },
          [&](const statistics::ConjunctionsMap& map) {
            std::vector<std::size_t> columns;
            for (const statistics::Literal& literal : map.literals) {
              const std::size_t coordinate = first_of(literal.cells);
              if (std::find(columns.begin(), columns.end(), coordinate) == columns.end()) columns.push_back(coordinate);
            }
            return fmt::format("the counts of every choice of up to {} of {} values of {} columns{}", map.degree,
                               map.literals.size(), columns.size(), listed_columns(columns, schema));
          },
          [&](const statistics::CosinesMap& map) {
            return fmt::format("the sums of {} cosines of {}", statistics::dimension(features),
                               names_of(map.coordinates, schema));
          },
          [&](const statistics::BallMap& map) {
            std::string out = fmt::format("the sum{} of the vectors of {}{}, each cut to length {:.4g}",
                                          map.besides == statistics::BallMap::Besides::Nothing ? "" : "s",
                                          names_of(map.coordinates, schema), map.constant ? " and 1" : "", map.radius);
            if (map.sign) out += fmt::format(" and with the sign of {}", encoded_column(schema, *map.sign).name);
            if (map.besides == statistics::BallMap::Besides::Square) out += ", and of their squared lengths";
            if (map.besides == statistics::BallMap::Besides::Products) out += ", and of their products";
            return out;
          },
          [&](const statistics::LossesMap& map) {
            std::string out = fmt::format(
                "the sums of {} losses, over the largest there is, of linear models of {} for {}, "
                "at {} points of their parameters",
                statistics::to_string(map.loss), names_of(map.coordinates, schema),
                encoded_column(schema, map.label).name, statistics::dimension(features));
            if (map.centre.empty()) return out;
            std::string middle;
            for (const double parameter : map.centre)
              middle += fmt::format("{}{:.4g}", middle.empty() ? "" : ", ", parameter);
            return fmt::format(
                "the sums of how {} losses of linear models of {} for {} differ from those at ({}), over twice the "
                "largest difference there is, at {} points of their parameters around it{}. If that point was "
                "learnt from records, no promise of this run covers what it tells of them",
                statistics::to_string(map.loss), names_of(map.coordinates, schema),
                encoded_column(schema, map.label).name, middle, statistics::dimension(features),
                map.ridge > 0.0 ? fmt::format(", with an l2 penalty of {:.4g}", map.ridge) : "");
          }},
      features);
}

}  // namespace undertone::silo
