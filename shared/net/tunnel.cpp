#include "shared/net/tunnel.hpp"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <openssl/evp.h>

#include "shared/net/await.hpp"

namespace undertone::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
constexpr std::uint32_t kHeaderBytesMax = 8192;

std::string base64(const std::string& text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

}  // namespace

asio::awaitable<Status> open_tunnel(asio::ip::tcp::socket& socket, Tunnel tunnel) {
  const std::string target = fmt::format("{}:{}", tunnel.host, tunnel.port);
  http::request<http::empty_body> request(http::verb::connect, target, 11);
  request.set(http::field::host, target);
  while (!tunnel.credentials.empty() && (tunnel.credentials.back() == '\n' || tunnel.credentials.back() == '\r'))
    tunnel.credentials.pop_back();
  if (!tunnel.credentials.empty()) request.set(http::field::proxy_authorization, "Basic " + base64(tunnel.credentials));
  const auto [unsent, sent] = co_await http::async_write(socket, request, kAwait);
  if (unsent) co_return Error{ErrorCode::Unreachable, fmt::format("the proxy: {}", unsent.message())};
  http::response_parser<http::empty_body> parser;
  parser.skip(true);  // a 2xx answer to CONNECT has no body, whatever its headers say
  parser.header_limit(kHeaderBytesMax);
  boost::beast::flat_buffer buffer(kHeaderBytesMax);
  const auto [unread, size] = co_await http::async_read_header(socket, buffer, parser, kAwait);
  if (unread) co_return Error{ErrorCode::Unreachable, fmt::format("the proxy: {}", unread.message())};
  const unsigned status = parser.get().result_int();
  if (status < 200 || status > 299)
    co_return Error{ErrorCode::Unreachable, fmt::format("the proxy answers CONNECT {} with {}", target, status)};
  if (buffer.size() != 0) co_return Error{ErrorCode::Malformed, "the proxy sent bytes of the peer before its first"};
  co_return Status();
}

}  // namespace undertone::net
