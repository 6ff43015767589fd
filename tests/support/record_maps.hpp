#pragma once

#include "shared/releases/ask.hpp"

namespace undertone::tests {

/// The map of a kind that has nothing more to say: gradients, their differences or metrics.
[[nodiscard]] inline releases::RecordMap map_of(releases::QuestionKind kind) {
  switch (kind) {
    case releases::QuestionKind::Gradient:
      return releases::GradientMap{};
    case releases::QuestionKind::GradientDifference:
      return releases::GradientDifferenceMap{};
    case releases::QuestionKind::Metrics:
      return releases::MetricsMap{};
    case releases::QuestionKind::LocalRun:
    case releases::QuestionKind::Statistic:
    case releases::QuestionKind::ControlledRun:
    case releases::QuestionKind::Path:
    case releases::QuestionKind::Scores:
    case releases::QuestionKind::FairGradient:
    case releases::QuestionKind::GroupShares:
    case releases::QuestionKind::ScoreMoments:
      break;
  }
  UNDERTONE_CHECK(false);
}

}  // namespace undertone::tests
