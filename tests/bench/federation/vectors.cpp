#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <cmath>

#include "coordinator/rounds/round_machine.hpp"
#include "shared/base/large_memory.hpp"
#include "shared/net/session.hpp"
#include "shared/store/sqlite.hpp"
#include "tests/bench/federation/benches.hpp"
#include "tests/bench/federation/parts.hpp"

namespace undertone::bench {
namespace {

/// One silo of the vector bench: takes the query, sends a reply of its size.
/// @param durable where each reply is committed before it leaves, as a ledger does; null: nowhere
asio::awaitable<void> vector_silo(std::shared_ptr<net::Session> session, std::size_t dimension,
                                  store::Database* durable) {
  must((co_await session->handshake(net::Side::Client)).has_value(), "handshake");
  session->established();
  std::shared_ptr<const std::string> reply;
  while (true) {
    Result<wire::Message> message = co_await session->receive();
    if (!message) break;
    const auto* query = std::get_if<wire::QueryMessage>(&*message);
    if (query == nullptr) continue;
    must(queries::point_of(query->query.question).size() == static_cast<Eigen::Index>(dimension), "dimension");
    const Digest digest = queries::query_digest(query->run, query->query);
    wire::ReplyMessage answer{query->run,
                              digest,
                              queries::ReplyType::I32,
                              {query->query.round, -20, crypto::NoiseKind::Secure, queries::NoisedSums{}}};
    message = Error{ErrorCode::Internal, ""};  // the point is not needed any more
    std::vector<std::int64_t>& values = std::get<queries::NoisedSums>(answer.reply.answer).values;
    values.reserve(dimension);
    expect_much(values.data(), dimension * sizeof values[0]);
    values.assign(dimension, 12345);
    wire::Encoder encoder{wire::Limits{}};
    const wire::Message out(std::move(answer));
    reply = std::make_shared<const std::string>(encoder.encode(out));
    if (durable != nullptr) {
      const Status committed = durable->transaction([&] {
        return durable->prepare("INSERT INTO replies (bytes) VALUES (?)").value().bind_blob(1, *reply).run();
      });
      must(committed.has_value(), "commit");
    }
    session->send(std::exchange(reply, nullptr));
  }
}

/// The coordinator's side: the sessions, and the round that is open.
struct VectorHub {
  std::vector<std::shared_ptr<net::Session>> ready;
  std::unique_ptr<coordinator::RoundMachine> round;
};

/// Feeds the round machine from one session.
asio::awaitable<void> vector_peer(std::shared_ptr<net::Session> session, SiloId silo, VectorHub& hub) {
  must((co_await session->handshake(net::Side::Server)).has_value(), "handshake");
  session->established();
  hub.ready.push_back(session);
  while (true) {
    const Result<wire::Message> message = co_await session->receive();
    if (!message) break;
    const auto* reply = std::get_if<wire::ReplyMessage>(&*message);
    if (reply == nullptr) continue;
    std::optional<coordinator::RoundMachine::Reception> reception;
    (void)hub.round->on_reply(silo, *reply, reception);
    must(reception == coordinator::RoundMachine::Reception::Accepted, "the reply is accepted");
  }
}

/// Asks everybody, folds what they answer. @return the mean
Eigen::VectorXd vector_round(asio::io_context& context, VectorHub& hub, const wire::Limits& limits,
                             std::uint32_t number, const Eigen::VectorXd& iterate) {
  const RunId run{sha256("bench"), {}};
  coordinator::RoundMachine::Setup setup;
  setup.run = run;
  setup.round = {number};
  setup.shape = {iterate.size(), {queries::ReplyType::I32, -20}, crypto::NoiseKind::Secure};
  setup.quorum = hub.ready.size();
  setup.deadline = std::chrono::minutes(5);
  for (std::size_t i = 0; i < hub.ready.size(); ++i)
    setup.expected.emplace(silo_id(static_cast<int>(i)), coordinator::Participant{});
  wire::QueryMessage message{run, queries::PointType::F64, {{number}, queries::GradientQuestion{iterate}}};
  setup.query = queries::query_digest(run, message.query);
  std::shared_ptr<const std::string> query;
  {
    const wire::Message out(std::move(message));
    query = std::make_shared<const std::string>(wire::Encoder{limits}.encode(out));
  }
  hub.round = std::make_unique<coordinator::RoundMachine>(std::move(setup));
  (void)hub.round->open(Clock::now());
  for (const auto& session : hub.ready) session->send(query);
  query.reset();
  while (hub.round->state() != coordinator::RoundMachine::State::Closed) context.run_one();
  return hub.round->gathered().mean();
}

constexpr int kVectorRounds = 3;

}  // namespace

void bench_vectors(int silos, std::size_t dimension, bool durable) {
  tests::Certificates certificates("bench");
  const tests::TemporaryFolder folder;
  for (int i = 0; i < silos; ++i) (void)certificates.silo(silo_id(i).name());
  (void)certificates.hub();
  const std::size_t model = 8 * dimension;
  wire::Limits limits;
  limits.dimension_max = dimension;
  net::SessionLimits session_limits;
  session_limits.wire = limits;

  // The bare half: the same bytes each way, one after another, between this process and one other.
  const std::size_t out_bytes = 8 * dimension;
  const std::size_t in_bytes = 4 * dimension;
  const double bare =
      bare_seconds(certificates, {silos, kVectorRounds, out_bytes, in_bytes, 0}, 1, folder.path()) / kVectorRounds;

  const Pipe ready;
  const Pipe memory;
  std::vector<pid_t> children;
  children.reserve(static_cast<std::size_t>(silos));
  for (int i = 0; i < silos; ++i) {
    children.push_back(in_child([&, i] {
      const auto port = ready.read<std::uint16_t>();
      asio::io_context context(1);
      net::Credentials credentials =
          credentials_of(certificates, net::Side::Client, certificates::Role::Silo, silo_id(i).name());
      tcp::socket socket(context);
      socket.connect({asio::ip::address_v4::loopback(), port});
      auto session =
          std::make_shared<net::Session>(net::TlsStream(std::move(socket), credentials.context()), session_limits);
      std::optional<store::Database> database;
      if (durable) {
        database.emplace(
            store::Database::open(folder.path() / fmt::format("silo-{}.sqlite", i), store::Database::Sync::Full)
                .value());
        must(database->execute("CREATE TABLE replies (round INTEGER PRIMARY KEY, bytes BLOB NOT NULL)").has_value(),
             "table");
      }
      asio::co_spawn(context, vector_silo(session, dimension, database ? &*database : nullptr),
                     [](const std::exception_ptr& failure) { must(!failure, "a silo failed"); });
      context.run();
      memory.write(peak_bytes());
    }));
  }
  // The coordinator is a child too, so that its peak is its own.
  const Pipe result;
  const pid_t coordinator = in_child([&] {
    asio::io_context context(1);
    net::Credentials credentials =
        credentials_of(certificates, net::Side::Server, certificates::Role::Coordinator, "hub");
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    const std::uint16_t port = acceptor.local_endpoint().port();
    for (int i = 0; i < silos; ++i) ready.write(port);
    const auto gate = std::make_shared<net::AssemblyGate>(context.get_executor());
    VectorHub hub;
    for (int i = 0; i < silos; ++i) {
      tcp::socket socket = acceptor.accept(context);
      auto session = std::make_shared<net::Session>(net::TlsStream(std::move(socket), credentials.context()),
                                                    session_limits, gate);
      asio::co_spawn(context, vector_peer(std::move(session), silo_id(i), hub),
                     [](const std::exception_ptr& failure) { must(!failure, "a session failed"); });
    }
    while (hub.ready.size() < static_cast<std::size_t>(silos)) context.run_one();
    const Eigen::VectorXd iterate = Eigen::VectorXd::LinSpaced(static_cast<Eigen::Index>(dimension), -1.0, 1.0);
    Eigen::VectorXd mean = vector_round(context, hub, limits, 0, iterate);  // memory is there from here on
    const auto start = Clock::now();
    for (int round = 1; round <= kVectorRounds; ++round) {
      hub.round.reset();
      mean.resize(0);
      mean = vector_round(context, hub, limits, static_cast<std::uint32_t>(round), iterate);
    }
    const double seconds = seconds_since(start) / kVectorRounds;
    for (const auto& session : hub.ready) session->close();
    must(std::abs(mean[0] - std::ldexp(12345.0, -20)) < 1e-12, "the mean");
    result.write(seconds);
    result.write(peak_bytes());
  });
  const auto seconds = result.read<double>();
  const auto peak = result.read<std::size_t>();
  wait_for({coordinator});
  std::size_t silo_peak = 0;
  for (int i = 0; i < silos; ++i) silo_peak = std::max(silo_peak, memory.read<std::size_t>());
  wait_for(children);
  const auto models = [model](std::size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(model); };
  fmt::print("vectors{}: {} silos, d = {}, {:.1f} MB out and {:.1f} MB in for each\n", durable ? ", durable" : "",
             silos, dimension, static_cast<double>(out_bytes) / 1e6, static_cast<double>(in_bytes) / 1e6);
  fmt::print("  bare TLS stream      {:.2f} s\n  transfer and fold    {:.2f} s, ratio {:.2f}\n", bare, seconds,
             bare / seconds);
  fmt::print("  coordinator's peak   {:.0f} MB = {:.2f} model sizes; a silo's {:.0f} MB = {:.2f}\n",
             static_cast<double>(peak) / 1e6, models(peak), static_cast<double>(silo_peak) / 1e6, models(silo_peak));
}

}  // namespace undertone::bench
