#include "lab/sweep/split_summary.hpp"

#include <cmath>

#include "shared/data/csv_table.hpp"

namespace undertone::lab {

SplitSummary::SplitSummary(const SweepPlan& plan, std::vector<std::string> metrics)
    : plan_(plan), metrics_(std::move(metrics)) {}

std::string SplitSummary::key_of(const nlohmann::json& line, bool split) const {
  std::string out;
  for (const SweepPlan::Axis& axis : plan_.axes) {
    if (axis.of_split() == split) out += data::csv_cell(line.at("set").at(axis.pointer).dump()) + ",";
  }
  return out;
}

void SplitSummary::add(const nlohmann::json& line) {
  const std::string cells = key_of(line, false);
  const auto [place, fresh] = known_.emplace(cells, settings_.size());
  if (fresh) settings_.push_back({cells, {}, 0, 0});
  Setting& setting = settings_[place->second];
  ++setting.runs;
  const auto result = line.find("result");
  if (result == line.end()) {
    ++setting.failed;
    return;
  }
  std::vector<Sum>& sums = setting.sums.try_emplace(key_of(line, true), metrics_.size()).first->second;
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    const auto value = result->find(metrics_[m]);
    if (value == result->end() || !value->is_number()) continue;
    sums[m].sum += value->get<double>();
    ++sums[m].count;
  }
}

std::string SplitSummary::row_of(const Setting& setting) const {
  std::string out = setting.cells + fmt::format("{},{},{}", setting.sums.size(), setting.runs, setting.failed);
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    std::vector<double> means;
    for (const auto& [split, sums] : setting.sums)
      if (sums[m].count > 0) means.push_back(sums[m].sum / static_cast<double>(sums[m].count));
    const auto count = static_cast<double>(means.size());
    double mean = 0.0;
    for (const double one : means) mean += one / count;
    double squares = 0.0;
    for (const double one : means) squares += (one - mean) * (one - mean);
    out += means.empty() ? "," : fmt::format(",{}", mean);
    out += means.size() < 2 ? "," : fmt::format(",{}", std::sqrt(squares / (count - 1.0) / count));
  }
  return out + "\n";
}

std::string SplitSummary::csv() const {
  std::string out;
  for (const SweepPlan::Axis& axis : plan_.axes)
    if (!axis.of_split()) out += data::csv_cell(axis.pointer) + ",";
  out += "splits,runs,failed";
  for (const std::string& metric : metrics_) out += fmt::format(",{0},{0}_standard_error", metric);
  out += "\n";
  for (const Setting& setting : settings_) out += row_of(setting);
  return out;
}

}  // namespace undertone::lab
