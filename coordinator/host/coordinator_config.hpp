#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "coordinator/jobs/job_service.hpp"
#include "shared/base/result.hpp"
#include "shared/config/json_section.hpp"
#include "shared/http/server.hpp"
#include "shared/net/link.hpp"
#include "shared/net/session.hpp"

namespace undertone::coordinator {

/// What the operator's file says.
struct CoordinatorConfig {
  std::string consortium;
  std::string name;  // of its certificate; empty: whatever it says
  std::string host;
  std::uint16_t port = 0;  // 0: any free one
  net::TlsFiles tls;
  std::filesystem::path store;
  std::filesystem::path results;                            // a folder for each run, with result.json and model.json
  std::optional<std::filesystem::path> public_folder = {};  // of public records that jobs may name
  std::size_t connections_max = 0;                          // at once, authenticated or not
  std::vector<net::LinkAddress> shufflers;                  // dialled when a job names them
  std::optional<http::ServerConfig> http;
  ServiceLimits limits;
  net::SessionLimits session;
};

/// Paths in the file are relative to it.
[[nodiscard]] Result<CoordinatorConfig> load_coordinator_config(const std::filesystem::path& file);
/// The parser behind it. @param problems may be a recording one
[[nodiscard]] Result<CoordinatorConfig> parse_coordinator_config(const nlohmann::json& document,
                                                                 const std::filesystem::path& folder,
                                                                 config::Problems& problems);

}  // namespace undertone::coordinator
