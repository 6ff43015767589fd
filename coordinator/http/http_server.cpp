#include "coordinator/http/http_server.hpp"

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <openssl/crypto.h>
#include <spdlog/spdlog.h>
#include <tuple>

#include "shared/base/files.hpp"
#include "shared/base/log.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/config/job.hpp"
#include "shared/net/await.hpp"
#include "shared/net/session.hpp"

namespace undertone::coordinator {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using net::kAwait;

constexpr std::uint32_t kHeaderBytesMax = 8192;
constexpr std::size_t kTokenBytesMin = 32;
constexpr int kRequestsMax = 1000;  // on one connection
constexpr std::chrono::seconds kDrainTime{1};

}  // namespace

HttpServer::HttpServer(asio::io_context& context, const HttpConfig& config, std::string consortium, Handler handler)
    : context_(&context),
      config_(config),
      consortium_(std::move(consortium)),
      handler_(std::move(handler)),
      listener_(context, config.connections_max) {}

Result<std::uint16_t> HttpServer::start(net::Credentials* credentials) {
  credentials_ = credentials;
  if (!config_.token_file.empty()) {
    Result<std::string> token = read_file(config_.token_file, 4096);
    if (!token) return token.error();
    while (!token->empty() && (token->back() == '\n' || token->back() == '\r')) token->pop_back();
    if (token->size() < kTokenBytesMin) {
      return Error{ErrorCode::InvalidConfig, fmt::format("{}: expected a token of at least {} characters",
                                                         config_.token_file.string(), kTokenBytesMin)};
    }
    token_ = *std::move(token);
    if (const Status kept = check_private_file(config_.token_file); !kept)
      spdlog::warn("token_exposed reason={}", quoted_text(kept.error().message));
  }
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(config_.host, error);
  if (error)
    return Error{ErrorCode::InvalidConfig, fmt::format("http host \"{}\": expected an IP address", config_.host)};
  if (!address.is_loopback() && !config_.tls) {
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("http host {}: without tls the service listens on loopback alone", config_.host)};
  }
  error = listener_.listen(tcp::endpoint(address, config_.port));
  if (error) {
    return Error{ErrorCode::Unreachable,
                 fmt::format("cannot listen on {}:{} for HTTP: {}", config_.host, config_.port, error.message())};
  }
  net::spawn_essential(context_->get_executor(), accept(), "http accept");
  return listener_.port();
}

void HttpServer::stop() { listener_.close(); }

asio::awaitable<void> HttpServer::accept() {
  while (std::optional<tcp::socket> socket = co_await listener_.accept()) {
    net::spawn_logged(context_->get_executor(),
                      config_.tls ? serve_tls(*std::move(socket)) : serve_plain(*std::move(socket)), "http");
  }
}

asio::awaitable<void> HttpServer::serve_plain(tcp::socket socket) {
  beast::tcp_stream stream(std::move(socket));
  net::Listener::Slot slot(listener_, [&stream] { stream.close(); });
  std::optional<certificates::CertificateFacts> nobody;  // named: GCC 12 destroys such temporaries twice
  co_await converse(stream, std::move(nobody), slot);
}

asio::awaitable<void> HttpServer::serve_tls(tcp::socket socket) {
  beast::ssl_stream<beast::tcp_stream> stream(beast::tcp_stream(std::move(socket)), credentials_->context());
  net::Listener::Slot slot(listener_, [&stream] { beast::get_lowest_layer(stream).close(); });
  beast::get_lowest_layer(stream).expires_after(config_.timeout);
  const auto [error] = co_await stream.async_handshake(asio::ssl::stream_base::server, kAwait);
  if (error) {
    log_within(refusals_, fmt::format("http_refused reason={}",
                                      quoted_text(net::describe_tls_failure(stream.native_handle(), error))));
  } else {
    const Result<certificates::CertificateFacts> peer = net::peer_facts(stream.native_handle());
    std::optional<certificates::CertificateFacts> known;
    if (peer) known = *peer;
    co_await converse(stream, std::move(known), slot);
    beast::get_lowest_layer(stream).expires_after(std::chrono::seconds(1));
    (void)co_await stream.async_shutdown(kAwait);
  }
}

bool HttpServer::is_operator(const certificates::CertificateFacts& peer) const {
  return peer.party.consortium == consortium_ && peer.party.role == certificates::Role::Operator &&
         !credentials_->revoked(peer.serial) && std::time(nullptr) <= peer.not_after;
}

bool HttpServer::token_matches(std::string_view authorization) const {
  constexpr std::string_view kBearer = "Bearer ";
  if (token_.empty() || authorization.substr(0, kBearer.size()) != kBearer) return false;
  // Digests of equal length, compared in constant time.
  const Digest given = sha256(authorization.substr(kBearer.size()));
  const Digest known = sha256(token_);
  return CRYPTO_memcmp(given.data(), known.data(), known.size()) == 0;
}

bool HttpServer::is_of_another_site(const http::request<http::string_body>& request) {
  if (request.method() == http::verb::get || request.method() == http::verb::head) return false;
  const auto site = request["Sec-Fetch-Site"];
  return request.count(http::field::origin) != 0 || (!site.empty() && site != "none" && site != "same-origin");
}

/// Reads on for a moment and keeps nothing, so that the answer is not lost with a body that nobody read.
template <class Stream>
asio::awaitable<void> drain(Stream& stream) {
  std::array<char, 4096> thrown_away{};
  beast::get_lowest_layer(stream).expires_after(kDrainTime);
  for (std::size_t total = 0; total <= config::kJobBytesMax;) {
    const auto [ended, size] = co_await stream.async_read_some(asio::buffer(thrown_away), kAwait);
    if (ended) break;
    total += size;
  }
}

template <class Stream>
asio::awaitable<void> HttpServer::converse(Stream& stream, std::optional<certificates::CertificateFacts> peer,
                                           net::Listener::Slot& slot) {
  beast::flat_buffer buffer(std::size_t{2} * kHeaderBytesMax);  // more for an operator alone
  for (int served = 0; served < kRequestsMax; ++served) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(kHeaderBytesMax);
    parser.body_limit(config::kJobBytesMax);
    beast::get_lowest_layer(stream).expires_after(config_.timeout);
    auto [unread, size] = co_await http::async_read_header(stream, buffer, parser, kAwait);
    if (unread == http::error::end_of_stream) break;
    ApiReply reply;
    bool keep = false;
    bool authorised = false;
    if (!unread) {
      const http::request<http::string_body>& request = parser.get();
      const auto authorization = request[http::field::authorization];
      // Asked for each request: a certificate may be revoked while its connection stands.
      const bool by_token = token_matches({authorization.data(), authorization.size()});
      authorised = by_token || (peer && is_operator(*peer) && !is_of_another_site(request));
    }
    if (authorised) slot.introduced();
    if (authorised && !parser.is_done()) {
      buffer.max_size(kHeaderBytesMax + config::kJobBytesMax + 4096);
      std::tie(unread, size) = co_await http::async_read(stream, buffer, parser, kAwait);
    }
    if (unread == http::error::body_limit) {
      reply = {413, "application/json",
               "{\"error\":{\"code\":\"limit_exceeded\",\"message\":\"the body is too large\"}}\n"};
    } else if (unread == http::error::header_limit) {
      reply = {431, "application/json",
               "{\"error\":{\"code\":\"limit_exceeded\",\"message\":\"the header is too large\"}}\n"};
    } else if (unread && unread.category() == http::make_error_code(http::error::end_of_stream).category()) {
      reply = {400, "application/json", "{\"error\":{\"code\":\"malformed\",\"message\":\"not an HTTP request\"}}\n"};
    } else if (unread) {
      break;  // gone, or too slow
    } else {
      const http::request<http::string_body>& request = parser.get();  // of a stranger without its body
      const auto method = request.method_string();
      const auto target = request.target();
      ApiRequest asked{std::string(method), std::string(target), request.body(), authorised};
      reply = co_await handler_(std::move(asked));
      // Strangers do not hold a connection, and nobody for ever: the last answer says so.
      keep = authorised && request.keep_alive() && served + 1 < kRequestsMax;
    }
    http::response<http::string_body> response(static_cast<http::status>(reply.status), 11);
    response.set(http::field::server, "undertone-coordinator");
    response.set(http::field::content_type, reply.content_type);
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    if (reply.status == 401) response.set(http::field::www_authenticate, "Bearer");
    response.keep_alive(keep);
    response.body() = std::move(reply.body);
    response.prepare_payload();
    beast::get_lowest_layer(stream).expires_after(config_.timeout);
    const auto [unsent, sent] = co_await http::async_write(stream, response, kAwait);
    const bool ended = unread == http::error::partial_message;  // its sender says no more
    if (!unsent && !ended && (!parser.is_done() || served + 1 == kRequestsMax)) co_await drain(stream);
    if (unsent || !keep) break;
  }
}

}  // namespace undertone::coordinator
