#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "shared/base/result.hpp"
#include "shared/net/session.hpp"

namespace undertone::coordinator {

/// What the operator's file says.
struct CoordinatorConfig {
  std::string consortium;
  std::string host;
  std::uint16_t port = 0;  // 0: any free one
  net::TlsFiles tls;
  std::filesystem::path store;
  std::filesystem::path results;    // folder for result.json and model.json
  std::size_t connections_max = 0;  // at once, authenticated or not
  net::SessionLimits session;
};

/// Paths in the file are relative to it.
[[nodiscard]] Result<CoordinatorConfig> load_coordinator_config(const std::filesystem::path& file);

}  // namespace undertone::coordinator
