#include "simulation/simulated_world.hpp"

#include <algorithm>
#include <utility>

#include "shared/wire/codec.hpp"

namespace undertone::simulation {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRedialMax{250};
constexpr milliseconds kRestart{10};  // at least, so that time goes on

}  // namespace

SimulatedProcess::SimulatedProcess(SimulatedWorld& world, std::string name)
    : world_(&world),
      name_(std::move(name)),
      disk_(world.chance_, [&world] { return world.dies_here(world.faults_.crash_at_write); }) {}

Result<store::Database> SimulatedProcess::open_database(const std::string& file) {
  Result<store::Database> database = store::Database::open(file, store::Database::Sync::Full, disk_.vfs());
  if (database) {
    database->observe_commits(
        [this](store::Database::CommitPoint /*point*/) { world_->maybe_crash(world_->faults_.crash_at_commit); });
  }
  return database;
}

std::function<std::int64_t()> SimulatedProcess::wall_clock() {
  return [this] {
    constexpr std::int64_t kStart = 1'763'716'143;  // 2025-11-21
    return kStart + std::chrono::duration_cast<std::chrono::seconds>(world_->now_).count() + wall_offset_;
  };
}

SimulatedWorld::SimulatedWorld(std::uint64_t seed, const FaultRates& faults)
    : faults_(faults), chance_(seed ^ 0x5bd1e995U) {}

void SimulatedWorld::add(SimulatedProcess& process, milliseconds first_boot) {
  processes_.push_back(&process);
  after(first_boot, [this, &process] { boot(process); });
}

void SimulatedWorld::link(SimulatedProcess& client, SimulatedProcess& server) {
  links_.push_back(std::make_unique<Link>(Link{&client, &server}));
}

void SimulatedWorld::after(milliseconds delay, std::function<void()> happen) {
  queue_.push(Event{now_ + delay, next_order_++, std::move(happen)});
}

void SimulatedWorld::after(SimulatedProcess& process, milliseconds delay, std::function<void()> happen) {
  after(delay, [this, &process, life = process.life_, happen = std::move(happen)] {
    if (process.life_ == life) live(process, happen);
  });
}

milliseconds SimulatedWorld::random_delay(milliseconds most) {
  return milliseconds(chance_.below(static_cast<std::uint64_t>(most.count()) + 1));
}

bool SimulatedWorld::run(milliseconds time_max, const std::function<bool()>& over) {
  while (!(over_ = over()) && !queue_.empty() && queue_.top().at <= time_max) {
    const Event event = queue_.top();
    queue_.pop();
    now_ = event.at;
    ++events_;
    event.happen();
  }
  return over_;
}

void SimulatedWorld::calm() {
  calm_ = true;
  faults_ = FaultRates();
  cut_until_.clear();
  for (SimulatedProcess* process : processes_) process->disk_.set_full(false);
  for (const std::unique_ptr<Link>& link : links_) break_session(*link, false);
}

bool SimulatedWorld::dies_here(double probability) {
  if (over_ || calm_) return false;
  return ++crash_points_ == faults_.crash_at_point || (probability > 0.0 && chance_.chance(probability));
}

void SimulatedWorld::maybe_crash(double probability) {
  if (dies_here(probability)) throw Crash{};
}

void SimulatedWorld::disturb(SimulatedProcess& process) {
  if (faults_.clock_jump > 0.0 && chance_.chance(faults_.clock_jump)) {
    const auto most = static_cast<std::uint64_t>(faults_.clock_jump_max.count());
    process.wall_offset_ = static_cast<std::int64_t>(chance_.below(2 * most + 1)) - static_cast<std::int64_t>(most);
  }
  if (faults_.full_disk > 0.0 && chance_.chance(faults_.full_disk)) {
    process.disk_.set_full(true);
    after(random_delay(faults_.full_disk_max), [&process] { process.disk_.set_full(false); });
  }
}

void SimulatedWorld::live(SimulatedProcess& process, const std::function<void()>& event) {
  if (!process.alive_) return;
  disturb(process);
  bool dead = false;
  try {
    maybe_crash(faults_.crash_at_event);
    event();
  } catch (const Crash&) {
    dead = true;
  }
  if (process.disk_.dead()) dead = true;
  if (!dead) return;
  ++crashes_;
  die(process);
}

void SimulatedWorld::die(SimulatedProcess& process) {
  if (!process.alive_) return;
  process.alive_ = false;
  ++process.life_;
  process.disk_.abandon(faults_.power_loss > 0.0 && chance_.chance(faults_.power_loss));
  process.dispose();
  for (const std::unique_ptr<Link>& link : links_) {
    if (link->client == &process) link->at_client = 0;
    if (link->server == &process) link->at_server = 0;
    if (link->client != &process && link->server != &process) continue;
    // The operating system tells the other end.
    const bool client_left = link->server == &process;
    after(random_delay(faults_.delay_max),
          [this, one = link.get(), client_left, session = client_left ? link->at_client : link->at_server] {
            if (session != 0 && session == (client_left ? one->at_client : one->at_server)) lose(*one, client_left);
          });
  }
  if (!process.retired_) after(kRestart + random_delay(faults_.restart_max), [this, &process] { boot(process); });
}

void SimulatedWorld::boot(SimulatedProcess& process) {
  if (process.alive_ || process.retired_) return;
  process.alive_ = true;
  process.disk_.revive();
  process.slow_ = faults_.slow > 0.0 && chance_.chance(faults_.slow);
  live(process, [&process] { process.boot(); });
  if (!process.alive_) return;
  for (const std::unique_ptr<Link>& link : links_) {
    if (link->client == &process) dial_later(*link);
  }
}

void SimulatedWorld::give_up(SimulatedProcess& process) {
  if (despair_ && !process.disk_.dead() && !process.disk_.refused()) despair_(process.name_);
  after(milliseconds(0), [this, &process, life = process.life_] {
    if (process.life_ == life) die(process);
  });
}

void SimulatedWorld::retire(SimulatedProcess& process) {
  process.retired_ = true;
  die(process);
}

SimulatedWorld::Link* SimulatedWorld::link_of(SimulatedProcess& one, SimulatedProcess& other) {
  const auto found = std::find_if(links_.begin(), links_.end(), [&](const std::unique_ptr<Link>& link) {
    return (link->client == &one && link->server == &other) || (link->client == &other && link->server == &one);
  });
  return found == links_.end() ? nullptr : found->get();
}

bool SimulatedWorld::is_cut(const SimulatedProcess& from, const SimulatedProcess& to) const {
  const auto cut = cut_until_.find({from.name_, to.name_});
  return cut != cut_until_.end() && cut->second > now_;
}

void SimulatedWorld::dial_later(Link& link) {
  if (link.dialling) return;
  link.dialling = true;
  after(random_delay(faults_.delay_max.count() > 0 ? std::max(faults_.delay_max, kRedialMax) : milliseconds(0)),
        [this, &link] {
          link.dialling = false;
          dial(link);
        });
}

void SimulatedWorld::dial(Link& link) {
  if (!link.client->alive_ || link.at_client != 0) return;
  if (!link.server->alive_ || is_cut(*link.client, *link.server) || is_cut(*link.server, *link.client)) {
    // Whoever comes back is dialled again soon.
    link.dialling = true;
    after(milliseconds(50) + random_delay(kRedialMax), [this, &link] {
      link.dialling = false;
      dial(link);
    });
    return;
  }
  const std::uint64_t session = ++next_session_;
  std::optional<wire::Message> greeting;
  bool greeted = false;
  live(*link.server, [&] {
    greeting = link.server->greet(*link.client);
    greeted = greeting.has_value();
  });
  if (!greeted || !link.server->alive_) return dial_later(link);
  link.at_server = session;  // an older session of the client is forgotten
  link.at_client = session;
  live(*link.client, [&] { link.client->on_connected(*link.server, greeting); });
  if (link.at_server == session) live(*link.server, [&] { link.server->on_connected(*link.client, std::nullopt); });
}

void SimulatedWorld::lose(Link& link, bool at_client) {
  if (at_client) {
    link.at_client = 0;
    if (!link.client->alive_) return;
    live(*link.client, [&] { link.client->on_lost(*link.server); });
    if (link.client->alive_) dial_later(link);
  } else {
    link.at_server = 0;
    live(*link.server, [&] { link.server->on_lost(*link.client); });
  }
}

void SimulatedWorld::break_session(Link& link, bool half_open) {
  const std::uint64_t client = link.at_client;
  const std::uint64_t server = link.at_server;
  const bool client_first = !half_open || chance_.chance(0.5);
  const bool server_first = !half_open || !client_first;
  const auto learn = [this, &link](bool at_client, std::uint64_t session, bool at_once) {
    const auto happen = [this, &link, at_client, session] {
      if (session != 0 && session == (at_client ? link.at_client : link.at_server)) lose(link, at_client);
    };
    after(at_once ? milliseconds(0) : random_delay(faults_.silence_max), happen);
  };
  learn(true, client, client_first);
  learn(false, server, server_first);
}

void SimulatedWorld::send(SimulatedProcess& from, SimulatedProcess& to,
                          const std::shared_ptr<const std::string>& bytes) {
  if (!from.alive_ || from.disk_.dead()) return;
  Link* link = link_of(from, to);
  if (link == nullptr) return;
  const bool to_server = link->server == &to;
  const std::uint64_t session = to_server ? link->at_client : link->at_server;
  if (session == 0) return;
  if (chance_.chance(faults_.disconnect)) return break_session(*link, false);
  if (faults_.partition > 0.0 && chance_.chance(faults_.partition)) {
    cut_until_[{from.name_, to.name_}] = now_ + random_delay(faults_.partition_max);
    if (chance_.chance(0.5)) break_session(*link, true);
  }
  if (is_cut(from, to)) return;
  if (faults_.corruption > 0.0 && chance_.chance(faults_.corruption)) {
    // What TLS would not let through must not harm a decoder either.
    std::string changed = *bytes;
    changed[chance_.below(changed.size())] ^= static_cast<char>(1U << chance_.below(8));
    wire::Decoder decoder{wire::Limits{}};
    (void)decoder.feed(changed);
    return break_session(*link, false);
  }
  const int copies = chance_.chance(faults_.loss) ? 0 : chance_.chance(faults_.duplication) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    milliseconds delay = random_delay(faults_.delay_max);
    if (from.slow_ || to.slow_) delay += random_delay(faults_.slow_max);
    after(delay, [this, link, to_server, session, bytes] { deliver(*link, to_server, session, *bytes); });
  }
}

void SimulatedWorld::deliver(Link& link, bool to_server, std::uint64_t session, const std::string& bytes) {
  if (session != (to_server ? link.at_server : link.at_client)) return;
  wire::Decoder decoder{wire::Limits{}};
  Result<std::vector<wire::Message>> messages = decoder.feed(bytes);
  UNDERTONE_CHECK(messages && messages->size() == 1);  // what one side encodes, the other decodes
  SimulatedProcess& to = to_server ? *link.server : *link.client;
  SimulatedProcess& from = to_server ? *link.client : *link.server;
  live(to, [&] { to.on_message(from, std::move(messages->front())); });
}

}  // namespace undertone::simulation
