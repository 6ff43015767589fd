#include "shared/jobs/projection_section.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace undertone::jobs {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kEntryMax = 1e6;
constexpr std::size_t kDirectionsMax = 4096;

/// Nothing where they are not as many as expected, or too large: that is noted.
Eigen::VectorXd parse_entries(config::Section& section, const char* key, const char* about, std::size_t expected) {
  const std::vector<double> entries = section.numbers(key, about);
  if (section.recording()) return {};
  if (entries.size() != expected) {
    section.problem(key,
                    fmt::format("expected {} numbers, one for each encoded feature, got {}", expected, entries.size()));
    return {};
  }
  if (std::any_of(entries.begin(), entries.end(), [](double entry) { return std::abs(entry) > kEntryMax; })) {
    section.problem(key, fmt::format("expected numbers from {} to {}", -kEntryMax, kEntryMax));
    return {};
  }
  return Eigen::Map<const Eigen::VectorXd>(entries.data(), static_cast<Eigen::Index>(entries.size()));
}

}  // namespace

data::Projection parse_projection(config::Section section, std::size_t features) {
  const auto d = static_cast<Eigen::Index>(features);
  data::Projection none{Eigen::VectorXd::Zero(d), Eigen::MatrixXd::Zero(d, 1)};
  Eigen::VectorXd origin = parse_entries(section, "origin", "subtracted from the encoded features", features);
  const std::size_t most = section.recording() ? kDirectionsMax : std::clamp<std::size_t>(features, 1, kDirectionsMax);
  // Nothing is allocated by a count alone: as many numbers as the matrix has stand in the file.
  std::vector<Eigen::VectorXd> columns;
  for (config::Section& direction :
       section.objects("directions", 1, most, "one for each number that the model reads")) {
    Eigen::VectorXd weights = parse_entries(direction, "weights", "of the features, from the origin", features);
    direction.finish();
    if (weights.size() != d || d == 0) break;  // the first problem is enough
    columns.push_back(std::move(weights));
  }
  section.finish();
  if (origin.size() != d || columns.empty()) return none;
  data::Projection out{std::move(origin), Eigen::MatrixXd(d, static_cast<Eigen::Index>(columns.size()))};
  for (std::size_t j = 0; j < columns.size(); ++j) out.directions.col(static_cast<Eigen::Index>(j)) = columns[j];
  return out;
}

data::Projection parse_standardisation(config::Section section, std::size_t features) {
  const auto d = static_cast<Eigen::Index>(features);
  Eigen::VectorXd origin = parse_entries(section, "origin", "subtracted from the encoded features", features);
  const Eigen::VectorXd scale =
      parse_entries(section, "scale", "what they are then divided by, each above 0", features);
  section.finish();
  data::Projection out{Eigen::VectorXd::Zero(d), Eigen::MatrixXd::Zero(d, 1)};
  if (section.recording() || origin.size() != d || scale.size() != d) return out;
  if (features > kStandardisedMax) {
    section.problem("scale", fmt::format("expected at most {} encoded features, got {}", kStandardisedMax, features));
    return out;
  }
  constexpr double kScaleMin = 1e-6;
  if (!(scale.array() >= kScaleMin).all()) {
    section.problem("scale", fmt::format("expected numbers from {} to {}", kScaleMin, kEntryMax));
    return out;
  }
  out.origin = std::move(origin);
  out.directions = scale.cwiseInverse().asDiagonal();
  return out;
}

Json standardisation_to_json(const data::Projection& projection) {
  UNDERTONE_CHECK(projection.directions.rows() == projection.directions.cols());
  const Eigen::VectorXd scale = projection.directions.diagonal().cwiseInverse();
  return {{"origin", std::vector<double>(projection.origin.begin(), projection.origin.end())},
          {"scale", std::vector<double>(scale.begin(), scale.end())}};
}

std::vector<std::string> component_names(Eigen::Index count) {
  std::vector<std::string> out;
  for (Eigen::Index j = 1; j <= count; ++j) out.push_back(fmt::format("component {}", j));
  return out;
}

Json to_json(const data::Projection& projection) {
  Json directions = Json::array();
  for (Eigen::Index j = 0; j < projection.directions.cols(); ++j) {
    const Eigen::VectorXd weights = projection.directions.col(j);
    directions.push_back({{"weights", std::vector<double>(weights.begin(), weights.end())}});
  }
  return {{"origin", std::vector<double>(projection.origin.begin(), projection.origin.end())},
          {"directions", std::move(directions)}};
}

}  // namespace undertone::jobs
