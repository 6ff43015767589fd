#include "shared/releases/ask.hpp"

#include "shared/base/overloaded.hpp"

namespace undertone::releases {

std::string_view to_string(QuestionKind kind) noexcept {
  switch (kind) {
    case QuestionKind::Gradient:
      return "gradient";
    case QuestionKind::Metrics:
      return "metrics";
    case QuestionKind::GradientDifference:
      return "difference";
    case QuestionKind::LocalRun:
      return "local_run";
    case QuestionKind::Statistic:
      return "statistic";
  }
  return "";
}

QuestionKind kind_of(const RecordMap& map) noexcept {
  return std::visit(Overloaded{[](const GradientMap& /*map*/) { return QuestionKind::Gradient; },
                               [](const GradientDifferenceMap& /*map*/) { return QuestionKind::GradientDifference; },
                               [](const MetricsMap& /*map*/) { return QuestionKind::Metrics; },
                               [](const LocalRunMap& /*map*/) { return QuestionKind::LocalRun; },
                               [](const StatisticMap& /*map*/) { return QuestionKind::Statistic; }},
                    map);
}

const LocalSteps* Ask::local() const noexcept {
  const auto* run = std::get_if<LocalRunMap>(&map);
  return run == nullptr ? nullptr : &run->steps;
}

const ClipNorm& Ask::clip() const {
  const auto* l2 = std::get_if<L2Bound>(&bound);
  UNDERTONE_CHECK(l2 != nullptr);
  return l2->clip;
}

std::optional<double> Ask::smoothness() const noexcept {
  const auto* l2 = std::get_if<L2Bound>(&bound);
  return l2 == nullptr ? std::nullopt : l2->smoothness;
}

const geometry::Vertices* Ask::candidates() const noexcept {
  const auto* selection = std::get_if<SelectionForm>(&form);
  return selection == nullptr ? nullptr : &selection->vertices;
}

}  // namespace undertone::releases
