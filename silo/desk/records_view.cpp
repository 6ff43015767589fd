#include "silo/desk/records_view.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "shared/data/dates.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;
using data::ColumnFacts;
using data::NumericColumn;

using Bins = std::array<std::int64_t, kBins>;

/// @param value scaled to [-1, 1]
void count_into(Bins& bins, double value) {
  const double part = (value + 1.0) / 2.0 * static_cast<double>(kBins);
  ++bins[static_cast<std::size_t>(std::clamp(part, 0.0, static_cast<double>(kBins - 1)))];
}

/// The blocks whose records are the data set's.
std::array<const models::Records*, 3> blocks_of(const data::Dataset& dataset) {
  return {&dataset.training, &dataset.holdout, &dataset.public_records};
}

Json number_json(const NumericColumn& column, const ColumnFacts& facts, const Bins& bins) {
  const auto shown = [&column](double value) -> Json {
    if (!column.date) return value;
    return data::show_date(value, *column.date);
  };
  const bool any = facts.least <= facts.most;
  return {{"kind", column.date ? "date" : "number"},
          {"min", shown(column.min)},
          {"max", shown(column.max)},
          {"least", any ? shown(facts.least) : Json(nullptr)},
          {"most", any ? shown(facts.most) : Json(nullptr)},
          {"outside", facts.clamped},
          {"missing", facts.missing},
          {"bins", bins}};
}

Json list_json(const std::vector<std::string>& values, const ColumnFacts& facts) {
  Json counts = Json::array();
  for (std::size_t i = 0; i < values.size() && i < facts.counts.size(); ++i)
    counts.push_back({{"value", values[i]}, {"records", facts.counts[i]}});
  return {{"kind", "list"}, {"values", std::move(counts)}, {"others", facts.clamped}, {"missing", facts.missing}};
}

/// Every column that the schema reads, with what it is.
class Columns {
 public:
  Columns(const data::Schema& schema, const LoadedDataset& loaded) : schema_(&schema), loaded_(&loaded) {
    for (const ColumnFacts& facts : loaded.columns) facts_.emplace(facts.name, &facts);
  }
  [[nodiscard]] Json json() const {
    Json out = Json::array();
    add(out, label(), data::label_column(*schema_), "label");
    Eigen::Index coordinate = 0;
    for (const data::FeatureColumn& column : schema_->features) {
      if (out.size() < kColumnsShown) add(out, feature(column, coordinate), data::name_of(column), "feature");
      coordinate += static_cast<Eigen::Index>(data::encoded_width(column));
    }
    for (const data::SensitiveColumn& column : schema_->sensitive) {
      const ColumnFacts* facts = facts_of(column.name);
      if (facts != nullptr && out.size() < kColumnsShown)
        add(out, list_json(column.categories, *facts), column.name, "sensitive column");
    }
    return out;
  }

 private:
  static void add(Json& out, Json said, const std::string& name, const char* role) {
    if (said.is_null()) return;
    Json one = {{"column", name}, {"role", role}};
    one.update(said);
    out.push_back(std::move(one));
  }
  [[nodiscard]] const ColumnFacts* facts_of(const std::string& name) const {
    const auto found = facts_.find(name);
    return found == facts_.end() ? nullptr : found->second;
  }
  [[nodiscard]] Json feature(const data::FeatureColumn& column, Eigen::Index coordinate) const {
    const ColumnFacts* facts = facts_of(data::name_of(column));
    if (facts == nullptr) return nullptr;
    if (const auto* list = std::get_if<data::CategoricalColumn>(&column)) return list_json(list->categories, *facts);
    const auto& number = std::get<NumericColumn>(column);
    const bool indicated = number.missing && number.missing->indicator;
    Bins bins{};
    for (const models::Records* block : blocks_of(loaded_->dataset)) {
      for (Eigen::Index row = 0; row < block->rows(); ++row) {
        if (!indicated || block->features(coordinate + 1, row) == 0.0)
          count_into(bins, block->features(coordinate, row));
      }
    }
    return number_json(number, *facts, bins);
  }
  [[nodiscard]] Json label() const {
    const ColumnFacts* facts = facts_of(data::label_column(*schema_));
    if (facts == nullptr) return nullptr;
    if (const auto* binary = std::get_if<data::BinaryLabel>(&schema_->label))
      return list_json({binary->negative, binary->positive}, *facts);
    if (const auto* several = std::get_if<data::ClassLabel>(&schema_->label))
      return list_json(several->classes, *facts);
    Bins bins{};
    for (const models::Records* block : blocks_of(loaded_->dataset)) {
      for (Eigen::Index row = 0; row < block->rows(); ++row) count_into(bins, block->targets[row]);
    }
    return number_json(std::get<data::NumericLabel>(schema_->label).column, *facts, bins);
  }

  const data::Schema* schema_;
  const LoadedDataset* loaded_;
  std::unordered_map<std::string, const ColumnFacts*> facts_;
};

}  // namespace

Json records_json(const DatasetConfig& config, const LoadedDataset& loaded) {
  const data::Dataset& dataset = loaded.dataset;
  const std::size_t all = config.schema.features.size() + config.schema.sensitive.size() + 1;
  return {{"dataset", config.name},
          {"training", dataset.training.count()},
          {"holdout", dataset.holdout.count()},
          {"public_records", dataset.public_records.count()},
          {"rows", dataset.training.rows() + dataset.holdout.rows() + dataset.public_records.rows()},
          {"columns", Columns(config.schema, loaded).json()},
          {"columns_not_shown", all > kColumnsShown ? all - kColumnsShown : 0}};
}

}  // namespace undertone::silo
