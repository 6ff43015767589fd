#include "silo/agent/encoded_column.hpp"

#include <utility>
#include <vector>

#include "shared/base/overloaded.hpp"
#include "shared/base/result.hpp"

namespace undertone::silo {
namespace {

using Kind = EncodedColumn::Kind;

EncodedColumn label_of(const data::Schema& schema) {
  return std::visit(
      Overloaded{[](const data::BinaryLabel& label) {
                   return EncodedColumn{label.column + "=" + label.positive, Kind::Indicator};
                 },
                 [](const data::NumericLabel& label) {
                   return EncodedColumn{label.column.name, Kind::Number, label.column.min, label.column.max};
                 },
                 [](const data::ClassLabel& label) {
                   return EncodedColumn{label.column, Kind::Class};
                 }},
      schema.label);
}

}  // namespace

EncodedColumn encoded_column(const data::Schema& schema, std::size_t coordinate) {
  std::vector<std::string> names = data::encoded_names(schema);
  UNDERTONE_CHECK(coordinate <= names.size());
  if (coordinate == names.size()) return label_of(schema);
  std::size_t first = 0;
  for (const data::FeatureColumn& column : schema.features) {
    const std::size_t width = data::encoded_width(column);
    if (coordinate < first + width) {
      const auto* numeric = std::get_if<data::NumericColumn>(&column);
      // After a number comes whether it was missing.
      if (numeric == nullptr || coordinate != first) return {std::move(names[coordinate]), Kind::Indicator};
      return {std::move(names[coordinate]), Kind::Number, numeric->min, numeric->max};
    }
    first += width;
  }
  UNDERTONE_CHECK(false);
}

}  // namespace undertone::silo
