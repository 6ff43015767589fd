#include "silo/owner/agent_standing.hpp"

#include <nlohmann/json.hpp>

namespace undertone::silo {

std::string AgentStanding::text() const {
  nlohmann::ordered_json out{
      {"connected", connected}, {"why_not", why_not}, {"busy_since", nullptr}, {"unable", unable}};
  if (busy_since) out["busy_since"] = *busy_since;
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<AgentStanding> AgentStanding::read(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("connected") || !json["connected"].is_boolean())
    return Error{ErrorCode::Malformed, "what answers here is not an agent of this version"};
  AgentStanding out;
  out.connected = json["connected"].get<bool>();
  if (const auto why = json.find("why_not"); why != json.end() && why->is_string())
    out.why_not = why->get<std::string>();
  if (const auto since = json.find("busy_since"); since != json.end() && since->is_number_integer())
    out.busy_since = since->get<std::int64_t>();
  if (const auto unable = json.find("unable"); unable != json.end() && unable->is_string())
    out.unable = unable->get<std::string>();
  return out;
}

}  // namespace undertone::silo
