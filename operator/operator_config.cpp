#include "operator/operator_config.hpp"

#include <algorithm>

#include "shared/base/files.hpp"
#include "shared/net/session_config.hpp"

namespace undertone::operators {

Result<OperatorConfig> parse_operator_config(const nlohmann::json& document, const std::filesystem::path& folder,
                                             config::Problems& problems) {
  config::Section root(document, "", problems);
  (void)root.choice<int>("format", {{"undertone.operator/1", 1}}, "what this file is");
  OperatorConfig out;
  out.consortium = root.text("consortium", "the consortium's name: the O of its certificates");
  if (root.has("operator")) out.name = root.text("operator", "the CN of the operator's certificate; needed with tls");
  const std::string url =
      root.text("url", "of the coordinator's HTTP service: https://HOST:PORT, or http:// on loopback");
  const Result<net::HttpEndpoint> endpoint = net::HttpEndpoint::parse(url);
  if (!endpoint && !url.empty()) root.problem("url", endpoint.error().message);
  if (endpoint) out.endpoint = *endpoint;
  if (root.has("tls")) out.tls = net::parse_tls(root.object("tls", "PEM files, for https"), folder);
  if (root.has("token_file")) out.token_file = folder / root.text("token_file", "a file with the coordinator's token");
  if (root.has("timeout_ms"))
    out.timeout = std::chrono::milliseconds(root.integer("timeout_ms", 10, 600'000, "of one request (default 30000)"));
  if (endpoint && !endpoint->tls && !endpoint->is_loopback())
    root.problem("url", "expected https:// for a host that is not loopback: nothing else hides the token");
  if (!root.recording() && out.endpoint.tls && (!out.tls || out.name.empty()))
    root.problem("tls", "expected tls and operator for an https url");
  root.finish();
  if (!problems.none()) return problems.error();
  return out;
}

Result<OperatorConfig> load_operator_config(const std::filesystem::path& file) {
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(file, 1U << 20U));
  config::Problems problems(file.string());
  return parse_operator_config(document.root, file.parent_path(), problems);
}

Result<OperatorClient> connect_operator(const std::filesystem::path& config_file,
                                        std::chrono::milliseconds timeout_most) {
  std::error_code ignored;
  if (!std::filesystem::exists(config_file, ignored)) {
    return Error{
        ErrorCode::InvalidConfig,
        fmt::format("{}: there is no such file; it is in the operator's kit, and --config or the environment's "
                    "UNDERTONE_OPERATOR says where",
                    config_file.string())};
  }
  UNDERTONE_TRY(const OperatorConfig config, load_operator_config(config_file));
  OperatorClient client;
  if (config.endpoint.tls) {
    using certificates::Role;
    UNDERTONE_TRY(const certificates::CertificateFacts own, certificates::load_certificate(config.tls->certificate));
    const Role role = own.party.role == Role::Viewer ? Role::Viewer : Role::Operator;
    UNDERTONE_TRY(net::Credentials credentials,
                  net::Credentials::load(*config.tls, net::Side::Client, {config.consortium, role, config.name}));
    client.credentials = std::make_unique<net::Credentials>(std::move(credentials));
  }
  Result<std::string> token = std::string();
  if (!config.token_file.empty()) token = read_file(config.token_file, 4096);
  if (!token) return token.error();
  while (!token->empty() && (token->back() == '\n' || token->back() == '\r')) token->pop_back();
  client.http = std::make_unique<net::HttpClient>(config.endpoint, client.credentials.get(), config.consortium,
                                                  *std::move(token), std::min(config.timeout, timeout_most));
  return client;
}

}  // namespace undertone::operators
