#pragma once

#include <chrono>
#include <string>

#include "shared/base/result.hpp"
#include "shared/net/tls.hpp"

namespace undertone::net {

/// A service to talk to: "http://127.0.0.1:7444" or "https://hub.example.org:7444".
struct HttpEndpoint {
  bool tls = false;
  std::string host;
  std::string port;
  [[nodiscard]] static Result<HttpEndpoint> parse(const std::string& url);
  /// Whether the host is this machine by its address or by the name "localhost".
  [[nodiscard]] bool is_loopback() const;
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

/// One request at a time to a coordinator's HTTP service, waiting for each answer. What is received is bounded.
class HttpClient {
 public:
  /// @param credentials for https: this party's; the other side must be a coordinator of the same consortium
  /// @param token sent as a bearer token unless empty
  HttpClient(HttpEndpoint endpoint, Credentials* credentials, std::string consortium, std::string token,
             std::chrono::milliseconds timeout);

  [[nodiscard]] Result<HttpAnswer> request(const std::string& method, const std::string& target,
                                           const std::string& body) const;

 private:
  HttpEndpoint endpoint_;
  Credentials* credentials_;
  std::string consortium_;
  std::string token_;
  std::chrono::milliseconds timeout_;
};

}  // namespace undertone::net
