#include "shared/releases/ask.hpp"

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
  }
  return "";
}

}  // namespace undertone::releases
