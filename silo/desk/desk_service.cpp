#include "silo/desk/desk_service.hpp"

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include "shared/base/log.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/http/aside.hpp"
#include "shared/http/server.hpp"
#include "shared/net/await.hpp"
#include "shared/net/serve_loop.hpp"
#include "shared/net/session.hpp"
#include "silo/desk/desk_api.hpp"
#include "silo/owner/exit_code.hpp"
#include "silo/owner/silo_config.hpp"

namespace undertone::silo {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kLook{500};  // at whether a file changed
constexpr std::size_t kBodyMax = 4096;

/// When the files that the page shows were written last, the agent's state among them.
class Watched {
 public:
  explicit Watched(const SiloConfig& config, std::filesystem::path file) : files_{std::move(file)} {
    add(config.desk);
    for (const DatasetConfig& dataset : config.datasets) add(dataset.ledger);
  }
  /// Whether anything is otherwise than the last time.
  [[nodiscard]] bool changed() {
    std::string now;
    for (const std::filesystem::path& file : files_) {
      struct stat found {};
      if (::stat(file.c_str(), &found) != 0) found = {};
      now += fmt::format("{}.{}.{};", found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_size);
    }
    return std::exchange(last_, std::move(now)) != last_;
  }

 private:
  void add(const std::filesystem::path& database) {
    files_.push_back(database);
    files_.emplace_back(database.string() + "-wal");
  }
  std::vector<std::filesystem::path> files_;
  std::string last_;
};

class DeskService {
 public:
  DeskService(asio::io_context& context, const OwnerOptions& options, const SiloConfig& config,
              const http::ServerConfig& server)
      : api_(options),
        aside_(context),
        decisions_(context),
        watched_(config, options.config),
        look_(context),
        server_(context, server, config.consortium,
                [this](http::Request request) { return answer(std::move(request)); }) {
    net::spawn_logged(context.get_executor(), watch(), "watching");
  }
  [[nodiscard]] Result<std::uint16_t> start() { return server_.start(nullptr); }
  void stop() {
    stopped_ = true;
    look_.cancel();
    server_.stop();
    changes_.notify();
  }

 private:
  asio::awaitable<http::Reply> answer(http::Request request) {
    if (request.rights != http::Rights::None && request.method == "GET" && request.target == "/api/v1/events") {
      http::Reply events{200, "text/event-stream", ""};
      events.changes = &changes_;
      co_return events;
    }
    http::Reply reply = api_.handle(request);
    if (reply.work) {
      // What the owner decides does not wait for a ledger that is being read or verified.
      const bool decides = request.method == "POST" && !request.target.ends_with("/verify");
      http::Aside& aside = decides ? decisions_ : aside_;
      asio::awaitable<http::Reply> rest = aside.answer(request.who, std::exchange(reply.work, nullptr));
      reply = co_await std::move(rest);
    }
    if (!reply.event.empty()) {
      log_event(false, fmt::format("{} by={}", reply.event, quoted_text(request.who)));
      changes_.notify();
    }
    co_return reply;
  }
  asio::awaitable<void> watch() {
    while (!stopped_) {
      if (watched_.changed()) changes_.notify();
      look_.expires_after(kLook);
      (void)co_await look_.async_wait(net::kAwait);
    }
  }

  bool stopped_ = false;
  DeskApi api_;
  http::Changes changes_;
  http::Aside aside_;
  http::Aside decisions_;
  Watched watched_;
  asio::steady_timer look_;
  http::Server server_;
};

}  // namespace

int serve_desk(const OwnerOptions& options, std::uint16_t port) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return fail(config.error());
  asio::io_context context(1);
  http::ServerConfig server;
  server.host = "127.0.0.1";
  server.port = port;
  server.program = "undertone-silo";
  server.body_max = kBodyMax;
  server.one_time_token = http::Access::draw_token();
  DeskService service(context, options, *config, server);
  const Result<std::uint16_t> bound = service.start();
  if (!bound) return fail(bound.error());
  // Behind the mark a browser keeps it for itself: it stands in no request and in no log.
  fmt::print(
      "The desk of {} is open, for one browser of this machine, until Ctrl-C:\n  http://127.0.0.1:{}/#token={}\n",
      config->id.name(), *bound, server.one_time_token);
  std::fflush(stdout);
  net::ServeLoop loop(context);
  loop.run_until([] { return false; });
  service.stop();
  loop.send_last_words();
  return kDone;
}

}  // namespace undertone::silo
