#include "coordinator/http/http_server.hpp"

#include <algorithm>
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
#include "shared/jobs/job.hpp"
#include "shared/net/await.hpp"
#include "shared/net/session.hpp"
#include "shared/service/clock.hpp"

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
constexpr std::size_t kReadBytes = 4096;

using Parser = http::request_parser<http::string_body>;

/// Sees a header's bytes as they are parsed. The parser joins a line that begins with a blank to the one before (RFC
/// 9112, 5.2, has it refused); a proxy may have read it as a field of its own.
class FoldWatch {
 public:
  void look(std::string_view header) {
    for (const char c : header) {
      folded_ = folded_ || (at_line_start_ && (c == ' ' || c == '\t'));
      at_line_start_ = c == '\n';
    }
  }
  [[nodiscard]] bool folded() const noexcept { return folded_; }

 private:
  bool at_line_start_ = false;
  bool folded_ = false;
};

/// As Beast's function of this name, with an eye on the bytes.
template <class Stream>
asio::awaitable<boost::system::error_code> read_header(Stream& stream, beast::flat_buffer& buffer, Parser& parser,
                                                       FoldWatch& watch) {
  parser.eager(false);  // it stops where the body begins
  while (true) {
    if (buffer.size() > 0) {
      const asio::const_buffer bytes = buffer.cdata();
      boost::system::error_code unparsed;
      const std::size_t parsed = parser.put(bytes, unparsed);
      watch.look({static_cast<const char*>(bytes.data()), parsed});
      buffer.consume(parsed);
      if (parser.is_header_done() || (unparsed && unparsed != http::error::need_more)) co_return unparsed;
    }
    const std::size_t room = std::min(kReadBytes, buffer.max_size() - buffer.size());
    if (room == 0) co_return http::make_error_code(http::error::header_limit);
    const auto space = buffer.prepare(room);
    const auto [failed, size] = co_await stream.async_read_some(space, kAwait);
    buffer.commit(size);
    if (failed == asio::error::eof) {
      const bool within = parser.got_some();
      co_return http::make_error_code(within ? http::error::partial_message : http::error::end_of_stream);
    }
    if (failed) co_return failed;
  }
}

/// A request whose length a proxy may have told otherwise than this server would (RFC 9112, 6.1 and 6.3).
std::optional<ApiReply> refusal_of_length(const http::request<http::string_body>& request) {
  const std::size_t encodings = request.count(http::field::transfer_encoding);
  if (encodings == 0) return std::nullopt;
  if (request.count(http::field::content_length) != 0)
    return error_reply(400, "malformed", "a length and a transfer encoding together");
  if (request.version() < 11) return error_reply(400, "malformed", "a transfer encoding before HTTP/1.1");
  if (encodings > 1 || !beast::iequals(request[http::field::transfer_encoding], "chunked"))
    return error_reply(501, "not_implemented", "the one transfer encoding is chunked");
  return std::nullopt;
}

template <class Body>
void set_fields(http::response<Body>& response, const ApiReply& reply, bool keep) {
  response.set(http::field::server, "undertone-coordinator");
  response.set(http::field::content_type, reply.content_type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  if (reply.status == 401) response.set(http::field::www_authenticate, "Bearer");
  if (!reply.allow.empty()) response.set(http::field::allow, reply.allow);
  response.keep_alive(keep);
}

/// @param reply its body is moved from @param head the answer says how long the body would be, and has none
template <class Stream>
asio::awaitable<boost::system::error_code> respond(Stream& stream, ApiReply& reply, bool head, bool keep) {
  const auto status = static_cast<http::status>(reply.status);
  if (head) {
    http::response<http::empty_body> response(status, 11);
    set_fields(response, reply, keep);
    response.content_length(reply.body.size());
    const auto [unsent, size] = co_await http::async_write(stream, response, kAwait);
    co_return unsent;
  }
  http::response<http::string_body> response(status, 11);
  set_fields(response, reply, keep);
  response.body() = std::move(reply.body);
  response.prepare_payload();
  const auto [unsent, size] = co_await http::async_write(stream, response, kAwait);
  co_return unsent;
}

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
         !credentials_->revoked(peer.serial) && service::wall_clock() <= peer.not_after;
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
  for (std::size_t total = 0; total <= jobs::kJobBytesMax;) {
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
    Parser parser;
    parser.header_limit(kHeaderBytesMax);
    parser.body_limit(jobs::kJobBytesMax);
    beast::get_lowest_layer(stream).expires_after(config_.timeout);
    FoldWatch watch;
    boost::system::error_code unread = co_await read_header(stream, buffer, parser, watch);
    if (unread == http::error::end_of_stream) break;
    std::optional<ApiReply> refused;  // for what the header looks like, whoever asks
    if (watch.folded()) {
      refused = error_reply(400, "malformed", "a header with a folded line");
    } else if (!unread) {
      refused = refusal_of_length(parser.get());
    }
    ApiReply reply;
    bool keep = false;
    bool authorised = false;
    std::string who;
    if (!unread && !refused) {
      const http::request<http::string_body>& request = parser.get();
      const auto authorization = request[http::field::authorization];
      // Asked for each request: a certificate may be revoked while its connection stands.
      const bool by_token = token_matches({authorization.data(), authorization.size()});
      const bool by_certificate = peer && is_operator(*peer) && !is_of_another_site(request);
      authorised = by_token || by_certificate;
      who = by_certificate ? fmt::format("the operator {}", peer->party.name) : "whoever holds the token";
    }
    if (authorised) slot.introduced();
    if (authorised && !parser.is_done()) {
      buffer.max_size(kHeaderBytesMax + jobs::kJobBytesMax + 4096);
      std::tie(unread, std::ignore) = co_await http::async_read(stream, buffer, parser, kAwait);
    }
    const bool head = parser.get().method() == http::verb::head;
    if (refused) {
      reply = *std::move(refused);
    } else if (unread == http::error::body_limit) {
      reply = error_reply(413, "limit_exceeded", "the body is too large");
    } else if (unread == http::error::header_limit) {
      reply = error_reply(431, "limit_exceeded", "the header is too large");
    } else if (unread && unread.category() == http::make_error_code(http::error::end_of_stream).category()) {
      reply = error_reply(400, "malformed", "not an HTTP request");
    } else if (unread) {
      break;  // gone, or too slow
    } else {
      const http::request<http::string_body>& request = parser.get();  // of a stranger without its body
      const auto target = request.target();
      ApiRequest asked{head ? "GET" : std::string(request.method_string()), std::string(target), request.body(),
                       authorised};
      asked.who = who;
      reply = co_await handler_(std::move(asked));
      // Strangers do not hold a connection, and nobody for ever: the last answer says so.
      keep = authorised && request.keep_alive() && served + 1 < kRequestsMax;
    }
    beast::get_lowest_layer(stream).expires_after(config_.timeout);
    const boost::system::error_code unsent = co_await respond(stream, reply, head, keep);
    const bool ended = unread == http::error::partial_message;  // its sender says no more
    if (!unsent && !ended && (!parser.is_done() || served + 1 == kRequestsMax)) co_await drain(stream);
    if (unsent || !keep) break;
  }
}

}  // namespace undertone::coordinator
