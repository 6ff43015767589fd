#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "shared/base/line_budget.hpp"
#include "shared/http/access.hpp"
#include "shared/http/changes.hpp"
#include "shared/http/message.hpp"
#include "shared/net/listener.hpp"
#include "shared/net/tls.hpp"

namespace undertone::http {

/// Where an HTTP service listens and whom it lets in.
struct ServerConfig {
  std::string host;  // an address; TLS is required unless it is loopback
  std::uint16_t port = 0;
  bool tls = false;                         // operators' and viewers' certificates are accepted
  std::filesystem::path token_file;         // holds the operators' token; empty: none
  std::filesystem::path viewer_token_file;  // holds the viewers' token; empty: none
  std::vector<std::string> names;           // in Host headers, beside addresses and localhost, where there is no TLS
  std::string one_time_token = {};          // begins one session, of the owner of the service; empty: none
  std::size_t connections_max = 64;
  std::chrono::milliseconds timeout{10'000};  // for a request to come whole, and for its answer to be taken
  std::size_t body_max = std::size_t{1} << 20U;
  std::string program = "undertone";  // in the Server field
};

/// The sockets under an API and its pages: bounded in connections, time, header, body and streams. It answers
/// /api/v1/session, by which a page's session begins and ends, itself.
class Server {
 public:
  using Handler = std::function<boost::asio::awaitable<Reply>(Request)>;
  static constexpr std::size_t kStreamsOfCaller = 8;
  /// A stream says nothing for so long at most, so that its reader sees that it lives.
  static constexpr std::chrono::seconds kBeat{15};
  /// Changes that come faster are told as one.
  static constexpr std::chrono::milliseconds kBetweenEvents{250};

  /// @param consortium whose operators and viewers are let in
  Server(boost::asio::io_context& context, const ServerConfig& config, std::string consortium, Handler handler);

  /// @param credentials for TLS, refreshed by their owner; null without TLS @return the port that was bound
  [[nodiscard]] Result<std::uint16_t> start(net::Credentials* credentials);
  void stop();

 private:
  using Fields = boost::beast::http::request_header<>;
  [[nodiscard]] boost::asio::awaitable<void> accept();
  [[nodiscard]] boost::asio::awaitable<void> serve_plain(boost::asio::ip::tcp::socket socket);
  [[nodiscard]] boost::asio::awaitable<void> serve_tls(boost::asio::ip::tcp::socket socket);
  template <class Stream>
  [[nodiscard]] boost::asio::awaitable<void> converse(Stream& stream,
                                                      std::optional<certificates::CertificateFacts> peer,
                                                      net::Listener::Slot& slot);
  /// Tells what changes until the reader is gone, is too slow, or may not know it any more.
  template <class Stream>
  [[nodiscard]] boost::asio::awaitable<void> tell_changes(Stream& stream, Changes& changes, std::string who,
                                                          std::function<bool()> still_let_in);
  /// How many connections viewers may hold, so that they keep no operator out.
  [[nodiscard]] std::size_t viewers_max() const noexcept {
    return std::max<std::size_t>(1, config_.connections_max / 2);
  }
  /// Asked for each request: a certificate may be revoked while its connection stands.
  [[nodiscard]] Caller caller_of(const Fields& request, const std::optional<certificates::CertificateFacts>& peer,
                                 bool unattended);
  /// Makes an answer that is the server's own. @return nothing where the handler is to be asked
  [[nodiscard]] std::optional<Reply> own_answer(const Fields& request, const Caller& caller);
  [[nodiscard]] bool is_of_consortium(const certificates::CertificateFacts& peer) const;

  boost::asio::io_context* context_;
  ServerConfig config_;
  std::string consortium_;
  Handler handler_;
  net::Credentials* credentials_ = nullptr;
  std::optional<Access> access_;
  net::Listener listener_;
  LineBudget refusals_;
  /// Connections of viewers, and streams by who reads them. A connection may outlive the server.
  struct Counts {
    std::size_t viewers = 0;
    std::map<std::string, std::size_t> streams;
    bool stopped = false;
  };
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace undertone::http
