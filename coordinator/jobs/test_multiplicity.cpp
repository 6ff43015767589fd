#include "coordinator/jobs/test_multiplicity.hpp"

#include <algorithm>
#include <vector>

namespace undertone::coordinator {

void put_multiplicity(nlohmann::ordered_json& statistics) {
  std::vector<nlohmann::ordered_json*> stated;
  std::size_t all = 0;
  for (nlohmann::ordered_json& row : statistics) {
    if (!row.contains("tests")) continue;
    for (nlohmann::ordered_json& test : row["tests"]) {
      ++all;
      if (test["p_value"].is_number()) stated.push_back(&test);
    }
  }
  if (all < 2) return;
  std::sort(stated.begin(), stated.end(), [](const nlohmann::ordered_json* a, const nlohmann::ordered_json* b) {
    return (*a)["p_value"].get<double>() < (*b)["p_value"].get<double>();
  });
  double least = 0.0;
  for (std::size_t i = 0; i < stated.size(); ++i) {
    least = std::max(least, (*stated[i])["p_value"].get<double>() * static_cast<double>(all - i));
    (*stated[i])["p_value_holm"] = std::min(1.0, least);
  }
}

}  // namespace undertone::coordinator
