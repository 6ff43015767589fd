#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "shared/config/json_section.hpp"
#include "shared/net/http_client.hpp"

namespace undertone::operators {

/// How an operator reaches the coordinator.
struct OperatorConfig {
  std::string consortium;
  std::string name;  // of the operator; empty where only a token is used
  net::HttpEndpoint endpoint;
  std::optional<net::TlsFiles> tls;
  std::filesystem::path token_file;
  std::chrono::milliseconds timeout{30'000};
};

/// Paths in the file are relative to it.
[[nodiscard]] Result<OperatorConfig> load_operator_config(const std::filesystem::path& file);
/// The parser behind it. @param problems may be a recording one
[[nodiscard]] Result<OperatorConfig> parse_operator_config(const nlohmann::json& document,
                                                           const std::filesystem::path& folder,
                                                           config::Problems& problems);

/// A client and the credentials it uses.
struct OperatorClient {
  std::unique_ptr<net::Credentials> credentials;
  std::unique_ptr<net::HttpClient> http;
};
/// @param timeout_most of one request, where the configuration allows more
[[nodiscard]] Result<OperatorClient> connect_operator(
    const std::filesystem::path& config_file,
    std::chrono::milliseconds timeout_most = std::chrono::milliseconds::max());

}  // namespace undertone::operators
