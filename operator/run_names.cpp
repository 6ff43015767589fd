#include "operator/run_names.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "shared/service/help_texts.hpp"

namespace undertone::operators {

std::vector<std::string> run_names(const nlohmann::ordered_json& page, std::string_view typed) {
  std::vector<std::string> out;
  const auto offer = [&](const nlohmann::ordered_json& run, const char* key) {
    if (!run.contains(key) || !run[key].is_string()) return;
    const std::string word = run[key].get<std::string>();
    if (!service::is_completable(word) || !word.starts_with(typed)) return;
    if (std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
  };
  const nlohmann::ordered_json runs = page.value("runs", nlohmann::ordered_json::array());
  for (const nlohmann::ordered_json& run : runs) offer(run, "name");
  if (!typed.empty()) {
    for (const nlohmann::ordered_json& run : runs) offer(run, "id");
  }
  return out;
}

}  // namespace undertone::operators
