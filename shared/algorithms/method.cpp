#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

Error no_theorem_noise(const std::string& source) {
  return {ErrorCode::InvalidArgument, fmt::format("the theorem's noise: there is no theorem for {}", source)};
}

Error no_experiment_noise(const std::string& source) {
  return {ErrorCode::InvalidArgument, fmt::format("the experiments' noise: there is none for {}", source)};
}

Error no_start(const std::string& source) {
  return {ErrorCode::InvalidArgument, fmt::format("{} starts nowhere: it minimises nothing", source)};
}

const Problem& no_problem() {
  static const Problem none;
  return none;
}

Status check_dimension(const Problem& problem) {
  if (problem.dimension >= 1) return {};
  return Error{ErrorCode::InvalidArgument, "a model of no numbers: there is nothing to minimise"};
}

}  // namespace undertone::algorithms
