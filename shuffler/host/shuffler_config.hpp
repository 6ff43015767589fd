#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "shared/base/result.hpp"
#include "shared/config/json_section.hpp"
#include "shared/net/session.hpp"
#include "shuffler/batch/batch_machine.hpp"

namespace undertone::shuffler {

/// The first protocol that shufflers are spoken to in.
inline constexpr std::uint32_t kProtocolMin = 3;

/// What the operator's file says.
struct ShufflerConfig {
  std::string consortium;
  std::string name;  // of its certificate; jobs name it so
  std::string host;
  std::uint16_t port = 0;  // 0: any free one
  net::TlsFiles tls;
  std::filesystem::path store;
  std::filesystem::path sealing_key;  // @see load_sealing_key
  std::size_t connections_max = 0;    // at once, authenticated or not
  Limits limits;
  net::SessionLimits session;
};

/// Paths in the file are relative to it.
[[nodiscard]] Result<ShufflerConfig> load_shuffler_config(const std::filesystem::path& file);
/// The parser behind it. @param problems may be a recording one
[[nodiscard]] Result<ShufflerConfig> parse_shuffler_config(const nlohmann::json& document,
                                                           const std::filesystem::path& folder,
                                                           config::Problems& problems);

}  // namespace undertone::shuffler
