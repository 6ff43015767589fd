#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace undertone::report {

/// A page that needs nothing else, with its content security policy, its style and, where there are charts, what draws
/// them. @param title a text; the other parts are HTML
/// @param charts as `report_charts` gives them
[[nodiscard]] std::string framed_page(const std::string& title, const std::string& before_charts,
                                      const nlohmann::ordered_json& charts, const std::string& after_charts);

}  // namespace undertone::report
