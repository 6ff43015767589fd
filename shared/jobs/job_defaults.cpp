#include "shared/jobs/job_defaults.hpp"

namespace undertone::jobs {

nlohmann::json default_domain(const models::Model& model, bool unconstrained) {
  if (unconstrained || model.moments() != nullptr || !model.is_convex()) return {{"kind", "whole_space"}};
  return {{"kind", "l2_ball"}, {"radius", 10}};
}

nlohmann::json default_regulariser(const models::Model& model, bool unconstrained) {
  if (unconstrained || model.moments() != nullptr || !model.is_convex()) return {{"kind", "none"}};
  return {{"kind", "l2"}, {"strength", 0.001}};
}

nlohmann::json default_algorithm(const models::Model& model) {
  nlohmann::json out = {
      {"kind", "noisy_minibatch_sgd"}, {"rounds", 1}, {"step_size", 1}, {"averaging", "last"}, {"draw_fraction", 1}};
  if (model.moments() != nullptr) return out;
  if (!model.is_convex()) return nullptr;
  out["rounds"] = 50;
  out["schedule"] = "cosine";
  return out;
}

}  // namespace undertone::jobs
