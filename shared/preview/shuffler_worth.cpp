#include "shared/preview/shuffler_worth.hpp"

#include <fmt/format.h>

namespace undertone::preview {

using Json = nlohmann::ordered_json;

Json shuffler_worth(const jobs::Job& job, const planning::Plan& plan, const releases::SiloFacts& facts) {
  if (!job.shuffle) return nullptr;
  const double shuffled = plan.epsilon().value_rounded_up();
  const std::optional<double> local = plan.epsilon_without_shuffler();
  const std::string needs = planning::shuffler_needs(plan, facts);
  return {{"form", std::string(jobs::to_string(job.shuffle->form))},
          {"honest_silos", job.shuffle->honest_min},
          {"epsilon_local", local ? Json(*local) : Json(nullptr)},
          {"epsilon_shuffled", shuffled},
          {"gain", local && shuffled > 0.0 ? Json(*local / shuffled) : Json(nullptr)},
          {"needs", needs.empty() ? Json(nullptr) : Json(needs)}};
}

std::string describe_worth(const Json& worth) {
  if (worth.is_null()) return "";
  const double shuffled = worth.at("epsilon_shuffled").get<double>();
  if (!worth.at("needs").is_null()) {
    return fmt::format("shuffler: epsilon {:.6g} of a silo's own noise, as if nothing was mixed; {}\n", shuffled,
                       worth.at("needs").get<std::string>());
  }
  if (worth.at("epsilon_local").is_null()) {
    return fmt::format(
        "shuffler: epsilon {:.6g} if {} silos of a round are honest; a silo's own noise has no bound of its own\n",
        shuffled, worth.at("honest_silos").get<std::size_t>());
  }
  return fmt::format(
      "shuffler: epsilon {:.6g} of a silo's own noise, {:.6g} if {} silos of a round are honest: a gain of {:.3g}\n",
      worth.at("epsilon_local").get<double>(), shuffled, worth.at("honest_silos").get<std::size_t>(),
      worth.at("gain").get<double>());
}

}  // namespace undertone::preview
