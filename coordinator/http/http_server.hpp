#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <optional>
#include <set>

#include "coordinator/http/api.hpp"
#include "shared/base/line_budget.hpp"
#include "shared/net/listener.hpp"
#include "shared/net/tls.hpp"

namespace undertone::coordinator {

/// Where the HTTP service listens and whom it lets in.
struct HttpConfig {
  std::string host;  // an address; TLS is required unless it is loopback
  std::uint16_t port = 0;
  bool tls = false;                  // operators' certificates are accepted
  std::filesystem::path token_file;  // holds the token that is accepted; empty: none
  std::size_t connections_max = 64;
  std::chrono::milliseconds timeout{10'000};  // for a request to come whole, and for its answer to be taken
};

/// The sockets under the API: bounded in connections, time, header and body.
class HttpServer {
 public:
  using Handler = std::function<boost::asio::awaitable<ApiReply>(ApiRequest)>;
  /// @param consortium whose operators are let in
  HttpServer(boost::asio::io_context& context, const HttpConfig& config, std::string consortium, Handler handler);

  /// @param credentials for TLS, refreshed by their owner; null without TLS @return the port that was bound
  [[nodiscard]] Result<std::uint16_t> start(net::Credentials* credentials);
  void stop();

 private:
  [[nodiscard]] boost::asio::awaitable<void> accept();
  [[nodiscard]] boost::asio::awaitable<void> serve_plain(boost::asio::ip::tcp::socket socket);
  [[nodiscard]] boost::asio::awaitable<void> serve_tls(boost::asio::ip::tcp::socket socket);
  template <class Stream>
  [[nodiscard]] boost::asio::awaitable<void> converse(Stream& stream,
                                                      std::optional<certificates::CertificateFacts> peer,
                                                      net::Listener::Slot& slot);
  [[nodiscard]] bool is_operator(const certificates::CertificateFacts& peer) const;
  /// Whether a browser sends it for a page of another site, with the certificate that it has for this one: such a
  /// request may look, and change nothing.
  [[nodiscard]] static bool is_of_another_site(
      const boost::beast::http::request<boost::beast::http::string_body>& request);
  [[nodiscard]] bool token_matches(std::string_view authorization) const;

  boost::asio::io_context* context_;
  HttpConfig config_;
  std::string consortium_;
  Handler handler_;
  net::Credentials* credentials_ = nullptr;
  std::string token_;
  net::Listener listener_;
  LineBudget refusals_;
};

}  // namespace undertone::coordinator
