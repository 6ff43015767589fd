#include "shared/net/http_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "shared/net/await.hpp"

namespace undertone::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
constexpr std::uint64_t kAnswerBytesMax = std::uint64_t{512} << 20U;

using Request = http::request<http::string_body>;

Error unreachable(const HttpEndpoint& endpoint, const std::string& reason) {
  return {ErrorCode::Unreachable, fmt::format("{}:{}: {}", endpoint.host, endpoint.port, reason)};
}

std::string reason_of(beast::tcp_stream& /*plain*/, const boost::system::error_code& error) { return error.message(); }
std::string reason_of(beast::ssl_stream<beast::tcp_stream>& stream, const boost::system::error_code& error) {
  return describe_tls_failure(stream.native_handle(), error);
}

template <class Stream>
asio::awaitable<Result<HttpAnswer>> exchange(Stream& stream, const HttpEndpoint& endpoint, const Request& request) {
  const auto [unsent, sent] = co_await http::async_write(stream, request, kAwait);
  if (unsent) co_return unreachable(endpoint, reason_of(stream, unsent));
  http::response_parser<http::string_body> parser;
  parser.body_limit(kAnswerBytesMax);
  beast::flat_buffer buffer;
  const auto [unread, size] = co_await http::async_read(stream, buffer, parser, kAwait);
  if (unread) co_return unreachable(endpoint, reason_of(stream, unread));
  co_return HttpAnswer{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
}

asio::awaitable<Result<HttpAnswer>> perform(const HttpEndpoint& endpoint, Credentials* credentials,
                                            const std::string& consortium, const Request& request,
                                            std::chrono::milliseconds timeout) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::ip::tcp::resolver resolver(executor);
  const auto [unresolved, endpoints] = co_await resolver.async_resolve(endpoint.host, endpoint.port, kAwait);
  if (unresolved) co_return unreachable(endpoint, unresolved.message());
  beast::tcp_stream plain(executor);
  plain.expires_after(timeout);
  const auto [refused, chosen] = co_await plain.async_connect(endpoints, kAwait);
  if (refused) co_return unreachable(endpoint, refused.message());
  plain.expires_after(timeout);
  if (!endpoint.tls) co_return co_await exchange(plain, endpoint, request);
  beast::ssl_stream<beast::tcp_stream> stream(std::move(plain), credentials->context());
  const auto [failed] = co_await stream.async_handshake(asio::ssl::stream_base::client, kAwait);
  if (failed) co_return unreachable(endpoint, "TLS: " + describe_tls_failure(stream.native_handle(), failed));
  const Result<certificates::CertificateFacts> peer = peer_facts(stream.native_handle());
  if (!peer) co_return peer.error();
  if (peer->party.consortium != consortium || peer->party.role != certificates::Role::Coordinator) {
    co_return Error{ErrorCode::Unauthorized, fmt::format("expected the coordinator of {}, the certificate is of the {}",
                                                         consortium, describe(peer->party))};
  }
  co_return co_await exchange(stream, endpoint, request);
}

}  // namespace

Result<HttpEndpoint> HttpEndpoint::parse(const std::string& url) {
  const Error bad{ErrorCode::InvalidConfig,
                  fmt::format("expected http://HOST:PORT or https://HOST:PORT, got \"{}\"", url)};
  HttpEndpoint out;
  std::string rest;
  if (url.starts_with("https://")) {
    out.tls = true;
    rest = url.substr(8);
  } else if (url.starts_with("http://")) {
    rest = url.substr(7);
  } else {
    return bad;
  }
  if (!rest.empty() && rest.back() == '/') rest.pop_back();
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == rest.size() || rest.find('/') != std::string::npos)
    return bad;
  out.host = rest.substr(0, colon);
  out.port = rest.substr(colon + 1);
  if (out.host.front() == '[' && out.host.back() == ']') out.host = out.host.substr(1, out.host.size() - 2);
  if (out.port.find_first_not_of("0123456789") != std::string::npos) return bad;
  return out;
}

bool HttpEndpoint::is_loopback() const {
  boost::system::error_code not_an_address;
  const asio::ip::address address = asio::ip::make_address(host, not_an_address);
  return not_an_address ? host == "localhost" : address.is_loopback();
}

HttpClient::HttpClient(HttpEndpoint endpoint, Credentials* credentials, std::string consortium, std::string token,
                       std::chrono::milliseconds timeout)
    : endpoint_(std::move(endpoint)),
      credentials_(credentials),
      consortium_(std::move(consortium)),
      token_(std::move(token)),
      timeout_(timeout) {
  UNDERTONE_CHECK(!endpoint_.tls || credentials_ != nullptr);
}

Result<HttpAnswer> HttpClient::request(const std::string& method, const std::string& target,
                                       const std::string& body) const {
  Request request;
  request.method_string(method);
  request.target(target);
  request.version(11);
  request.set(http::field::host, fmt::format("{}:{}", endpoint_.host, endpoint_.port));
  request.set(http::field::user_agent, "undertone");
  if (!token_.empty()) request.set(http::field::authorization, "Bearer " + token_);
  request.keep_alive(false);
  request.body() = body;
  request.prepare_payload();
  asio::io_context context(1);
  std::optional<Result<HttpAnswer>> answer;
  asio::co_spawn(context, perform(endpoint_, credentials_, consortium_, request, timeout_),
                 [&](const std::exception_ptr& failure, Result<HttpAnswer> result) {
                   if (failure) std::rethrow_exception(failure);
                   answer.emplace(std::move(result));
                 });
  context.run();
  return *answer;
}

}  // namespace undertone::net
