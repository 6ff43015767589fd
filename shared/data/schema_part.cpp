#include "shared/data/schema_part.hpp"

#include <numeric>
#include <string>
#include <unordered_map>

#include "shared/data/column_name.hpp"

namespace undertone::data {
std::optional<std::vector<Eigen::Index>> part_of(const Schema& asked, const Schema& own) {
  std::vector<Eigen::Index> out;
  if (asked == own) {
    out.resize(encoded_width(own));
    std::iota(out.begin(), out.end(), Eigen::Index{0});
    return out;
  }
  if (asked.label != own.label || (!asked.sensitive.empty() && asked.sensitive != own.sensitive)) return std::nullopt;
  struct Place {
    const FeatureColumn* column;
    Eigen::Index first;
  };
  std::unordered_map<std::string, Place> places;
  Eigen::Index next = 0;
  for (const FeatureColumn& column : own.features) {
    places.emplace(name_of(column), Place{&column, next});
    next += static_cast<Eigen::Index>(encoded_width(column));
  }
  std::vector<std::string> read = {label_column(asked)};
  for (const SensitiveColumn& column : asked.sensitive) read.push_back(column.name);
  for (const FeatureColumn& column : asked.features) {
    const auto found = places.find(name_of(column));
    if (found == places.end() || *found->second.column != column) return std::nullopt;
    for (std::size_t i = 0; i < encoded_width(column); ++i)
      out.push_back(found->second.first + static_cast<Eigen::Index>(i));
    read.push_back(name_of(column));
  }
  if (derived_behind(asked, read) != derived_behind(own, read)) return std::nullopt;
  return out;
}

Dataset with_features(const Dataset& dataset, const std::vector<Eigen::Index>& features) {
  const auto chosen = [features](const models::Records& records) {
    models::Records out{Eigen::MatrixXd(static_cast<Eigen::Index>(features.size()), records.features.cols()),
                        records.targets, records.starts, records.groups};
    if (records.features.cols() > 0) {
      for (std::size_t i = 0; i < features.size(); ++i)
        out.features.row(static_cast<Eigen::Index>(i)) = records.features.row(features[i]);
    }
    return out;
  };
  const auto width = static_cast<Eigen::Index>(features.size());
  return {chosen(dataset.training), chosen(dataset.holdout), chosen(dataset.public_records),
          changed(dataset.training_source, width, chosen), changed(dataset.holdout_source, width, chosen)};
}

}  // namespace undertone::data
