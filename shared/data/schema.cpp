#include "shared/data/schema.hpp"

namespace undertone::data {

const std::string& name_of(const FeatureColumn& column) {
  return std::visit([](const auto& c) -> const std::string& { return c.name; }, column);
}

const std::string& label_column(const Schema& schema) {
  if (const auto* binary = std::get_if<BinaryLabel>(&schema.label)) return binary->column;
  if (const auto* classes = std::get_if<ClassLabel>(&schema.label)) return classes->column;
  return std::get<NumericLabel>(schema.label).column.name;
}

std::size_t encoded_width(const FeatureColumn& column) {
  if (const auto* categorical = std::get_if<CategoricalColumn>(&column)) return categorical->categories.size();
  const auto& missing = std::get<NumericColumn>(column).missing;
  return missing && missing->indicator ? 2 : 1;
}

std::size_t encoded_width(const Schema& schema) {
  std::size_t width = 0;
  for (const FeatureColumn& column : schema.features) width += encoded_width(column);
  return width;
}

std::vector<std::string> encoded_names(const Schema& schema) {
  std::vector<std::string> names;
  for (const FeatureColumn& column : schema.features) {
    if (const auto* categorical = std::get_if<CategoricalColumn>(&column)) {
      for (const std::string& category : categorical->categories) names.push_back(categorical->name + "=" + category);
      continue;
    }
    names.push_back(name_of(column));
    if (encoded_width(column) == 2) names.push_back(name_of(column) + " missing");
  }
  return names;
}

}  // namespace undertone::data
