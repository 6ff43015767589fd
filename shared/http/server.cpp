#include "shared/http/server.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <tuple>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/net/await.hpp"
#include "shared/net/session.hpp"
#include "shared/service/clock.hpp"

namespace undertone::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace beast_http = boost::beast::http;
using asio::ip::tcp;
using net::kAwait;

constexpr std::uint32_t kHeaderBytesMax = 8192;
constexpr int kRequestsMax = 1000;  // on one connection
constexpr std::chrono::seconds kDrainTime{1};
constexpr std::size_t kReadBytes = 4096;
constexpr std::chrono::seconds kEndLook{1};  // at whether a stream's reader is gone

using Parser = beast_http::request_parser<beast_http::string_body>;

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
      if (parser.is_header_done() || (unparsed && unparsed != beast_http::error::need_more)) co_return unparsed;
    }
    const std::size_t room = std::min(kReadBytes, buffer.max_size() - buffer.size());
    if (room == 0) co_return beast_http::make_error_code(beast_http::error::header_limit);
    const auto space = buffer.prepare(room);
    const auto [failed, size] = co_await stream.async_read_some(space, kAwait);
    buffer.commit(size);
    if (failed == asio::error::eof) {
      const bool within = parser.got_some();
      co_return beast_http::make_error_code(within ? beast_http::error::partial_message
                                                   : beast_http::error::end_of_stream);
    }
    if (failed) co_return failed;
  }
}

/// A request whose length a proxy may have told otherwise than this server would (RFC 9112, 6.1 and 6.3).
std::optional<Reply> refusal_of_length(const beast_http::request<beast_http::string_body>& request) {
  const std::size_t encodings = request.count(beast_http::field::transfer_encoding);
  if (encodings == 0) return std::nullopt;
  if (request.count(beast_http::field::content_length) != 0)
    return error_reply(400, "malformed", "a length and a transfer encoding together");
  if (request.version() < 11) return error_reply(400, "malformed", "a transfer encoding before HTTP/1.1");
  if (encodings > 1 || !beast::iequals(request[beast_http::field::transfer_encoding], "chunked"))
    return error_reply(501, "not_implemented", "the one transfer encoding is chunked");
  return std::nullopt;
}

// A page's own scripts and styles alone, no other host, no frame around it.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri "
    "'none'; form-action 'none'; frame-ancestors 'none'";
constexpr const char* kDataPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox";

template <class Body>
void set_fields(beast_http::response<Body>& response, const Reply& reply, const std::string& program, bool keep) {
  response.set(beast_http::field::server, program);
  response.set(beast_http::field::content_type, reply.content_type);
  response.set(beast_http::field::cache_control, reply.cached ? "no-cache" : "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("X-Frame-Options", "DENY");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Cross-Origin-Opener-Policy", "same-origin");
  const bool page = reply.content_type.starts_with("text/html") && reply.file_name.empty();
  response.set("Content-Security-Policy", page ? kPagePolicy : kDataPolicy);
  if (reply.status == 401) response.set(beast_http::field::www_authenticate, "Bearer");
  if (!reply.allow.empty()) response.set(beast_http::field::allow, reply.allow);
  if (!reply.cookie.empty()) response.set(beast_http::field::set_cookie, reply.cookie);
  if (!reply.file_name.empty())
    response.set(beast_http::field::content_disposition, fmt::format("attachment; filename=\"{}\"", reply.file_name));
  response.keep_alive(keep);
}

/// @param reply its body is moved from @param head the answer says how long the body would be, and has none
template <class Stream>
asio::awaitable<boost::system::error_code> respond(Stream& stream, Reply& reply, const std::string& program, bool head,
                                                   bool keep) {
  const auto status = static_cast<beast_http::status>(reply.status);
  if (head) {
    beast_http::response<beast_http::empty_body> response(status, 11);
    set_fields(response, reply, program, keep);
    response.content_length(reply.body.size());
    const auto [unsent, size] = co_await beast_http::async_write(stream, response, kAwait);
    co_return unsent;
  }
  beast_http::response<beast_http::string_body> response(status, 11);
  set_fields(response, reply, program, keep);
  response.body() = std::move(reply.body);
  response.prepare_payload();
  const auto [unsent, size] = co_await beast_http::async_write(stream, response, kAwait);
  co_return unsent;
}

std::string_view view(boost::core::string_view text) { return {text.data(), text.size()}; }

std::string json_text(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Server::Server(asio::io_context& context, const ServerConfig& config, std::string consortium, Handler handler)
    : context_(&context),
      config_(config),
      consortium_(std::move(consortium)),
      handler_(std::move(handler)),
      listener_(context, config.connections_max) {}

Result<std::uint16_t> Server::start(net::Credentials* credentials) {
  credentials_ = credentials;
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
  access_.emplace(AccessConfig{config_.token_file, config_.viewer_token_file, config_.names, config_.tls,
                               std::exchange(config_.one_time_token, {})},
                  listener_.port());
  UNDERTONE_TRY(access_->load());
  net::spawn_essential(context_->get_executor(), accept(), "http accept");
  return listener_.port();
}

void Server::stop() {
  counts_->stopped = true;
  listener_.close();
}

asio::awaitable<void> Server::accept() {
  while (std::optional<tcp::socket> socket = co_await listener_.accept()) {
    net::spawn_logged(context_->get_executor(),
                      config_.tls ? serve_tls(*std::move(socket)) : serve_plain(*std::move(socket)), "http");
  }
}

asio::awaitable<void> Server::serve_plain(tcp::socket socket) {
  beast::tcp_stream stream(std::move(socket));
  net::Listener::Slot slot(listener_, [&stream] { stream.close(); });
  std::optional<certificates::CertificateFacts> nobody;  // named: GCC 12 destroys such temporaries twice
  co_await converse(stream, std::move(nobody), slot);
}

asio::awaitable<void> Server::serve_tls(tcp::socket socket) {
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

bool Server::is_of_consortium(const certificates::CertificateFacts& peer) const {
  return peer.party.consortium == consortium_ && !credentials_->revoked(peer.serial) &&
         service::wall_clock() <= peer.not_after;
}

Caller Server::caller_of(const Fields& request, const std::optional<certificates::CertificateFacts>& peer,
                         bool unattended) {
  Presented presented;
  presented.changes = request.method() != beast_http::verb::get && request.method() != beast_http::verb::head;
  presented.authorization = view(request[beast_http::field::authorization]);
  presented.cookie = view(request[beast_http::field::cookie]);
  presented.host = view(request[beast_http::field::host]);
  presented.origin = view(request[beast_http::field::origin]);
  presented.site = view(request["Sec-Fetch-Site"]);
  presented.csrf = view(request["X-Undertone-Csrf"]);
  presented.unattended = unattended || request.count("X-Undertone-Unattended") != 0;
  if (peer && is_of_consortium(*peer)) presented.certificate = &peer->party;
  return access_->caller(presented, std::chrono::steady_clock::now());
}

std::optional<Reply> Server::own_answer(const Fields& request, const Caller& caller) {
  const std::string_view target = view(request.target());
  if (target.substr(0, target.find('?')) != "/api/v1/session") return std::nullopt;
  const beast_http::verb method = request.method();
  if (method != beast_http::verb::get && method != beast_http::verb::head && method != beast_http::verb::post &&
      method != beast_http::verb::delete_) {
    Reply reply = error_reply(405, "method_not_allowed", "this resource has GET, HEAD, POST, DELETE");
    reply.allow = "GET, HEAD, POST, DELETE";
    return reply;
  }
  Reply reply;
  Caller told = caller;
  if (method == beast_http::verb::post) {
    Presented presented;
    presented.authorization = view(request[beast_http::field::authorization]);
    std::optional<Access::Opened> opened = access_->open_session(presented, std::chrono::steady_clock::now());
    if (!opened && caller.rights != Rights::None)
      return error_reply(400, "invalid_argument", "a session begins with a token");
    if (opened) {
      told = std::move(opened->caller);
      told.csrf = std::move(opened->csrf);  // told this once: whoever has the cookie alone is nobody
      reply.cookie = std::move(opened->cookie);
      reply.event = "session_began";
    }
  }
  if (told.rights == Rights::None) return std::nullopt;  // answered as everywhere
  if (method == beast_http::verb::delete_) {
    reply.cookie = access_->close_session(caller);
    reply.event = "session_ended";
  }
  reply.body =
      fmt::format("{{\"who\":{},\"role\":\"{}\",\"csrf\":{},\"ends\":{}}}\n", json_text(told.who),
                  told.rights == Rights::Look ? "viewer" : "operator", json_text(told.csrf), !told.session.empty());
  if (!reply.event.empty()) log_event(false, fmt::format("{} by={}", reply.event, quoted_text(told.who)));
  return reply;
}

/// Reads on for a moment and keeps nothing, so that the answer is not lost with a body that nobody read.
template <class Stream>
asio::awaitable<void> drain(Stream& stream, std::size_t most) {
  std::array<char, 4096> thrown_away{};
  beast::get_lowest_layer(stream).expires_after(kDrainTime);
  for (std::size_t total = 0; total <= most;) {
    const auto [ended, size] = co_await stream.async_read_some(asio::buffer(thrown_away), kAwait);
    if (ended) break;
    total += size;
  }
}

/// Does something at its end, whatever is gone by then.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> work) : work_(std::move(work)) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { work_(); }

 private:
  std::function<void()> work_;
};

/// Reads until the other side ends the connection, which nothing else would notice while there is nothing to tell.
template <class Stream>
asio::awaitable<void> notice_end(Stream& stream, std::shared_ptr<bool> ended,
                                 std::shared_ptr<asio::steady_timer> noticed) {
  std::array<char, 256> thrown_away{};
  while (true) {
    const auto [error, size] = co_await stream.async_read_some(asio::buffer(thrown_away), kAwait);
    if (error) break;
  }
  *ended = true;
  noticed->cancel();
}

template <class Stream>
asio::awaitable<void> Server::tell_changes(Stream& stream, Changes& changes, std::string who,
                                           std::function<bool()> still_let_in) {
  const std::shared_ptr<Counts> counts = counts_;
  ++counts->streams[who];
  const AtEnd counted([counts, who] {
    const auto own = counts->streams.find(who);
    if (--own->second == 0) counts->streams.erase(own);
  });
  beast_http::response<beast_http::empty_body> response(beast_http::status::ok, 11);
  const Reply reply{200, "text/event-stream", ""};
  set_fields(response, reply, config_.program, false);
  beast_http::response_serializer<beast_http::empty_body> header(response);
  const std::chrono::milliseconds timeout = config_.timeout;
  beast::get_lowest_layer(stream).expires_after(timeout);
  const auto [unsent, size] = co_await beast_http::async_write_header(stream, header, kAwait);
  if (unsent) co_return;
  beast::get_lowest_layer(stream).expires_never();
  const auto executor = co_await asio::this_coro::executor;
  const auto ended = std::make_shared<bool>(false);
  const auto noticed = std::make_shared<asio::steady_timer>(executor, asio::steady_timer::time_point::max());
  asio::co_spawn(executor, notice_end(stream, ended, noticed), asio::detached);
  std::uint64_t told = 0;
  while (!*ended && !counts->stopped && still_let_in()) {
    const std::uint64_t count = changes.count();
    // One line at a time, and the next is made when this one is taken: a slow reader costs no more.
    const std::string line = count == told ? ": still here\n\n" : fmt::format("data: {}\n\n", count);
    told = count;
    asio::steady_timer slow(executor, timeout);
    slow.async_wait([&stream](const boost::system::error_code& error) {
      if (!error) beast::get_lowest_layer(stream).close();
    });
    const auto [gone, written] = co_await asio::async_write(stream, asio::buffer(line), kAwait);
    slow.cancel();
    if (gone) break;
    asio::steady_timer pause(executor, kBetweenEvents);
    (void)co_await pause.async_wait(kAwait);
    const auto until = std::chrono::steady_clock::now() + kBeat;
    while (!*ended && !counts->stopped && changes.count() == told && std::chrono::steady_clock::now() < until)
      (void)co_await changes.beyond(told, kEndLook);
  }
  beast::get_lowest_layer(stream).close();  // ends the reading, too, which uses the stream
  while (!*ended) (void)co_await noticed->async_wait(kAwait);
}

template <class Stream>
asio::awaitable<void> Server::converse(Stream& stream, std::optional<certificates::CertificateFacts> peer,
                                       net::Listener::Slot& slot) {
  beast::flat_buffer buffer(std::size_t{2} * kHeaderBytesMax);  // more for an operator alone
  std::optional<AtEnd> counted;                                 // of a viewer
  for (int served = 0; served < kRequestsMax; ++served) {
    Parser parser;
    parser.header_limit(kHeaderBytesMax);
    parser.body_limit(config_.body_max);
    beast::get_lowest_layer(stream).expires_after(config_.timeout);
    FoldWatch watch;
    boost::system::error_code unread = co_await read_header(stream, buffer, parser, watch);
    if (unread == beast_http::error::end_of_stream) break;
    std::optional<Reply> refused;  // for what the header looks like, whoever asks
    if (watch.folded()) {
      refused = error_reply(400, "malformed", "a header with a folded line");
    } else if (!unread) {
      refused = refusal_of_length(parser.get());
    }
    Reply reply;
    bool keep = false;
    Caller caller;
    if (!unread && !refused) caller = caller_of(parser.get().base(), peer, false);
    const bool authorised = caller.rights != Rights::None;
    if (authorised) slot.introduced();
    if (caller.rights == Rights::Look && !counted && counts_->viewers >= viewers_max()) {
      refused = error_reply(429, "limit_exceeded",
                            fmt::format("viewers have {} connections, and no more may they have", counts_->viewers));
    } else if (caller.rights == Rights::Look && !counted) {
      ++counts_->viewers;
      counted.emplace([counts = counts_] { --counts->viewers; });
    }
    if (authorised && !refused && !parser.is_done()) {
      buffer.max_size(kHeaderBytesMax + config_.body_max + 4096);
      std::tie(unread, std::ignore) = co_await beast_http::async_read(stream, buffer, parser, kAwait);
    }
    const bool head = parser.get().method() == beast_http::verb::head;
    if (refused) {
      reply = *std::move(refused);
    } else if (unread == beast_http::error::body_limit) {
      reply = error_reply(413, "limit_exceeded", "the body is too large");
    } else if (unread == beast_http::error::header_limit) {
      reply = error_reply(431, "limit_exceeded", "the header is too large");
    } else if (unread &&
               unread.category() == beast_http::make_error_code(beast_http::error::end_of_stream).category()) {
      reply = error_reply(400, "malformed", "not an HTTP request");
    } else if (unread) {
      break;  // gone, or too slow
    } else {
      const beast_http::request<beast_http::string_body>& request = parser.get();  // of a stranger without its body
      const auto target = request.target();
      if (std::optional<Reply> own = own_answer(request.base(), caller)) {
        reply = *std::move(own);
      } else {
        Request asked{head ? "GET" : std::string(request.method_string()),
                      std::string(target),
                      request.body(),
                      caller.rights,
                      caller.who,
                      caller.by_page};
        reply = co_await handler_(std::move(asked));
      }
      if (reply.changes != nullptr && !head) {
        const auto own_streams = counts_->streams.find(caller.who);
        if (own_streams == counts_->streams.end() || own_streams->second < kStreamsOfCaller) {
          const Fields asked_by = request.base();
          co_await tell_changes(stream, *reply.changes, caller.who, [this, &asked_by, &peer] {
            return caller_of(asked_by, peer, true).rights != Rights::None;
          });
          break;
        }
        reply = error_reply(429, "limit_exceeded",
                            fmt::format("{} streams of yours are open, and no more may be", kStreamsOfCaller));
      }
      // Strangers do not hold a connection, and nobody for ever: the last answer says so.
      keep = authorised && request.keep_alive() && served + 1 < kRequestsMax;
    }
    beast::get_lowest_layer(stream).expires_after(config_.timeout);
    const boost::system::error_code unsent = co_await respond(stream, reply, config_.program, head, keep);
    const bool ended = unread == beast_http::error::partial_message;  // its sender says no more
    if (!unsent && !ended && (!parser.is_done() || served + 1 == kRequestsMax))
      co_await drain(stream, config_.body_max);
    if (unsent || !keep) break;
  }
}

}  // namespace undertone::http
