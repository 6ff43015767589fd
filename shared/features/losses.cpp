#include "shared/features/losses.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

#include "shared/base/exact_text.hpp"

namespace undertone::statistics {

std::string_view to_string(ScalarLoss loss) noexcept {
  switch (loss) {
    case ScalarLoss::Logistic:
      return "logistic";
    case ScalarLoss::Hinge:
      return "hinge";
    case ScalarLoss::Squared:
      return "squared";
    case ScalarLoss::Absolute:
      return "absolute";
  }
  return "";
}

double value_of(ScalarLoss loss, double score, double label) noexcept {
  switch (loss) {
    case ScalarLoss::Logistic: {
      const double margin = label * score;  // log1p(e^-m) without overflow
      return std::max(-margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
    }
    case ScalarLoss::Hinge:
      return std::max(0.0, 1.0 - label * score);
    case ScalarLoss::Squared:
      return 0.5 * (score - label) * (score - label);
    case ScalarLoss::Absolute:
      return std::abs(score - label);
  }
  return 0.0;
}

double steepness_of(ScalarLoss loss, double score, double label) noexcept {
  switch (loss) {
    case ScalarLoss::Logistic:
      return 1.0 / (1.0 + std::exp(label * score));
    case ScalarLoss::Hinge:
      return label * score <= 1.0 ? 1.0 : 0.0;
    case ScalarLoss::Squared:
      return std::abs(score - label);
    case ScalarLoss::Absolute:
      return 1.0;
  }
  return 0.0;
}

double largest_of(ScalarLoss loss, double reach) noexcept {
  // Each is largest at a score of -reach and a label of 1.
  return value_of(loss, -reach, 1.0);
}

double LossesMap::reach() const noexcept {
  double out = half_width * static_cast<double>(parameters());
  for (const double number : centre) out += std::abs(number);
  return out;
}

double LossesMap::difference_max() const noexcept {
  const auto p = static_cast<double>(parameters());
  double norm = 0.0;
  for (const double number : centre) norm += std::abs(number);
  // Every loss changes by at most this times how much the score does; of squares the slope is |s - y|.
  const double slope = loss == ScalarLoss::Squared ? reach() + 1.0 : 1.0;
  // lambda/2 (||c + d||^2 - ||c||^2) = lambda (<c, d> + ||d||^2 / 2), |d_j| <= W.
  return slope * half_width * p + ridge * half_width * (norm + 0.5 * half_width * p);
}

std::size_t grid_count(std::size_t parameters, std::size_t degree) noexcept {
  std::size_t all = 1;
  for (std::size_t j = 0; j < parameters; ++j) {
    if (all > kCellsMax / (degree + 1)) return kCellsMax + 1;
    all *= degree + 1;
  }
  return all;
}

Status check(const LossesMap& map, std::size_t encoded_width) {
  if (map.coordinates.empty() || map.parameters() > kLossParametersMax)
    return refused_map(fmt::format("expected a loss of 1 to {} parameters, the intercept's among them, got {}",
                                   kLossParametersMax, map.parameters()));
  if (!(std::isfinite(map.half_width) && map.half_width > 0.0 && map.half_width <= 1e6))
    return refused_map(fmt::format("expected a box of half-width in (0, 10^6], got {}", map.half_width));
  if (map.degree < 1 || map.degree > kLossDegreeMax || grid_count(map.parameters(), map.degree) > kCellsMax)
    return refused_map(fmt::format("expected a degree of 1 to {} and {} points at most, got {}", kLossDegreeMax,
                                   kCellsMax, map.degree));
  const bool placed = map.centre.empty() || (map.centre.size() == map.parameters() &&
                                             std::all_of(map.centre.begin(), map.centre.end(), [](double number) {
                                               return std::isfinite(number) && std::abs(number) <= 1e6;
                                             }));
  if (!placed || !(map.ridge >= 0.0 && map.ridge <= 1e6) || (map.centre.empty() && map.ridge != 0.0))
    return refused_map(
        "expected a centre of as many numbers as parameters, of magnitude at most 10^6, and a ridge "
        "beside it alone");
  std::vector<std::size_t> sorted = map.coordinates;
  sorted.push_back(map.label);
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return refused_map("expected features that differ, and the label none of them");
  return check_coordinate(sorted.back(), encoded_width);
}

Eigen::VectorXd grid_point(const LossesMap& map, std::size_t place) {
  Eigen::VectorXd out(static_cast<Eigen::Index>(map.parameters()));
  for (double& parameter : out) {
    const auto v = static_cast<double>(place % (map.degree + 1));
    parameter = map.half_width * (2.0 * v / static_cast<double>(map.degree) - 1.0);
    place /= map.degree + 1;
  }
  for (std::size_t j = 0; j < map.centre.size(); ++j) out[static_cast<Eigen::Index>(j)] += map.centre[j];
  return out;
}

namespace {

/// 1/2 + (f(w) - f(c)) / (2 B).
double difference_at(const LossesMap& map, const EncodedRecord& record, std::size_t place) {
  double moved = 0.0;   // of the score, from the centre's
  double middle = 0.0;  // the centre's score
  double ridge = 0.0;   // <c, d> + ||d||^2 / 2
  for (std::size_t j = 0; j < map.parameters(); ++j) {
    const auto v = static_cast<double>(place % (map.degree + 1));
    place /= map.degree + 1;
    const double step = map.half_width * (2.0 * v / static_cast<double>(map.degree) - 1.0);
    const double x = j < map.coordinates.size() ? clamped(record, map.coordinates[j]) : 1.0;
    moved += step * x;
    middle += map.centre[j] * x;
    ridge += step * (map.centre[j] + 0.5 * step);
  }
  const double label = clamped(record, map.label);
  const double difference =
      value_of(map.loss, middle + moved, label) - value_of(map.loss, middle, label) + map.ridge * ridge;
  return std::clamp(0.5 + 0.5 * difference / map.difference_max(), 0.0, 1.0);
}

}  // namespace

double loss_at(const LossesMap& map, const EncodedRecord& record, std::size_t place) {
  if (!map.centre.empty()) return difference_at(map, record, place);
  double score = 0.0;
  std::size_t left = place;
  const auto next = [&] {
    const auto v = static_cast<double>(left % (map.degree + 1));
    left /= map.degree + 1;
    return map.half_width * (2.0 * v / static_cast<double>(map.degree) - 1.0);
  };
  for (const std::size_t coordinate : map.coordinates) score += next() * clamped(record, coordinate);
  if (map.intercept) score += next();
  const double value = value_of(map.loss, score, clamped(record, map.label)) / largest_of(map.loss, map.reach());
  return std::clamp(value, 0.0, 1.0);  // the score's rounding may leave it by some units
}

std::string canonical_text(const LossesMap& map) {
  std::string out = fmt::format("{}:{}:{}:{}:{}:{}", to_string(map.loss), fmt::join(map.coordinates, ","), map.label,
                                map.intercept, exact_text(map.half_width), map.degree);
  if (map.centre.empty()) return out;
  for (const double number : map.centre) out += ":" + exact_text(number);
  return out + ":ridge:" + exact_text(map.ridge);
}

}  // namespace undertone::statistics
