#include "shared/http/message.hpp"

#include <nlohmann/json.hpp>

namespace undertone::http {

Reply error_reply(int status, std::string_view code, const std::string& message) {
  const nlohmann::ordered_json body = {{"error", {{"code", code}, {"message", message}}}};
  return {status, "application/json", body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

}  // namespace undertone::http
