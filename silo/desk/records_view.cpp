#include "silo/desk/records_view.hpp"

#include <algorithm>
#include <array>
#include <functional>

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

/// Hands over the rows of all blocks of the data set, part by part.
void each_part(const data::Dataset& dataset, const std::function<void(const models::Records&)>& use) {
  for (const releases::Block block : {releases::Block::Training, releases::Block::Holdout, releases::Block::Public})
    dataset.read(block).read_all([&](const data::BlockReader::Part& part) { use(part.records); });
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
  Columns(const data::Schema& schema, const LoadedDataset& loaded)
      : schema_(&schema), loaded_(&loaded), bins_(schema.features.size()) {
    count_all();
  }
  [[nodiscard]] Json json() const {
    const std::size_t features = schema_->features.size();
    Json out = Json::array();
    add(out, label(facts_at(features)), data::label_column(*schema_), "label");
    for (std::size_t i = 0; i < features; ++i) {
      const data::FeatureColumn& column = schema_->features[i];
      if (out.size() < kColumnsShown)
        add(out, feature(column, facts_at(i), bins_[i]), data::name_of(column), "feature");
    }
    for (std::size_t i = 0; i < schema_->sensitive.size() && out.size() < kColumnsShown; ++i) {
      const data::SensitiveColumn& column = schema_->sensitive[i];
      // They were read from the last one on.
      add(out, list_json(column.categories, facts_at(features + schema_->sensitive.size() - i)), column.name,
          "sensitive column");
    }
    return out;
  }

 private:
  static void add(Json& out, const Json& said, const std::string& name, const char* role) {
    Json one = {{"column", name}, {"role", role}};
    one.update(said);
    out.push_back(std::move(one));
  }
  /// @param at the features in their order, then the label, then sensitive columns
  [[nodiscard]] const ColumnFacts& facts_at(std::size_t at) const {
    UNDERTONE_CHECK(at < loaded_->columns.size());
    return loaded_->columns[at];
  }
  /// Fills the bins of all columns that are shown in one pass: records may be made anew for each.
  void count_all() {
    const bool of_label = std::holds_alternative<data::NumericLabel>(schema_->label);
    each_part(loaded_->dataset, [&](const models::Records& part) {
      Eigen::Index coordinate = 0;
      for (std::size_t i = 0; i < std::min(bins_.size(), kColumnsShown); ++i) {
        const data::FeatureColumn& column = schema_->features[i];
        const auto* number = std::get_if<NumericColumn>(&column);
        const bool indicated = number != nullptr && number->missing && number->missing->indicator;
        for (Eigen::Index row = 0; number != nullptr && row < part.rows(); ++row)
          if (!indicated || part.features(coordinate + 1, row) == 0.0)
            count_into(bins_[i], part.features(coordinate, row));
        coordinate += static_cast<Eigen::Index>(data::encoded_width(column));
      }
      for (Eigen::Index row = 0; of_label && row < part.rows(); ++row) count_into(of_label_, part.targets[row]);
    });
  }
  [[nodiscard]] static Json feature(const data::FeatureColumn& column, const ColumnFacts& facts, const Bins& bins) {
    if (const auto* list = std::get_if<data::CategoricalColumn>(&column)) return list_json(list->categories, facts);
    return number_json(std::get<NumericColumn>(column), facts, bins);
  }
  [[nodiscard]] Json label(const ColumnFacts& facts) const {
    if (const auto* binary = std::get_if<data::BinaryLabel>(&schema_->label))
      return list_json({binary->negative, binary->positive}, facts);
    if (const auto* several = std::get_if<data::ClassLabel>(&schema_->label)) return list_json(several->classes, facts);
    return number_json(std::get<data::NumericLabel>(schema_->label).column, facts, of_label_);
  }

  const data::Schema* schema_;
  const LoadedDataset* loaded_;
  std::vector<Bins> bins_;  // of each feature that is a number
  Bins of_label_{};
};

}  // namespace

Json records_json(const DatasetConfig& config, const LoadedDataset& loaded) {
  const data::Dataset& dataset = loaded.dataset;
  const std::size_t all = config.schema.features.size() + config.schema.sensitive.size() + 1;
  return {{"dataset", config.name},
          {"training", dataset.count(releases::Block::Training)},
          {"holdout", dataset.count(releases::Block::Holdout)},
          {"public_records", dataset.count(releases::Block::Public)},
          {"rows", dataset.rows()},
          {"columns", Columns(config.schema, loaded).json()},
          {"columns_not_shown", all > kColumnsShown ? all - kColumnsShown : 0}};
}

}  // namespace undertone::silo
