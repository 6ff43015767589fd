#include <boost/endian/conversion.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "coordinator/jobs/job_service.hpp"
#include "shared/jobs/job.hpp"
#include "shared/net/http_client.hpp"
#include "shared/wire/frame.hpp"
#include "shuffler/batch/batch_gate.hpp"
#include "tests/bench/federation/attack.hpp"
#include "tests/bench/federation/dearest.hpp"
#include "tests/support/member.hpp"
#include "tests/support/shuffled_job.hpp"

namespace undertone::bench {
namespace {

using certificates::Role;
using tests::Member;
using tests::MembersPort;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
/// What allocators, page caches of SQLite and thread stacks may take beside what is counted.
constexpr std::uint64_t kBesides = 8 * kMebibyte;
constexpr double kStretch = 0.25;       // seconds in which nobody else is served
constexpr double kReadStretch = 0.025;  // the same where a job is read and nothing else
/// Of a protocol thread: for a mebibyte of small messages, of a vector that is thrown away, and of one that is taken.
constexpr double kSmallSeconds = 0.5;
constexpr double kThrownSeconds = 0.05;
constexpr double kTakenSeconds = 0.1;
/// For whatever housekeeping goes on meanwhile.
constexpr double kHouseSeconds = 0.25;

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kMebibyte); }

/// A run that nobody has begun.
RunId invented(std::uint64_t number) {
  RunId run{sha256("invented"), {}};
  boost::endian::store_little_u64(run.nonce.data(), number);
  return run;
}

/// Frames of `make(0)`, `make(1)`, ... to a member's port, as many mebibytes as there are to be.
void say_many(Member& member, std::size_t mebibytes, const std::function<wire::Message(std::uint64_t)>& make) {
  wire::Encoder encoder{wire::Limits{}};
  std::string frames;
  std::uint64_t said = 0;
  for (std::uint64_t i = 0; said < mebibytes * kMebibyte; ++i) {
    frames += encoder.encode(make(i));
    if (frames.size() < 65536) continue;
    said += frames.size();
    if (!member.say_bytes(frames)) return;
    frames.clear();
  }
}

/// A `Welcome` of empty receipts that fills a frame: two bytes of each on the wire.
std::string amplified_welcome() {
  const std::size_t receipts_bytes = (wire::Limits{}.frame_bytes_max - 16) & ~std::size_t{1};
  std::string receipts;
  for (std::size_t i = 0; i < receipts_bytes / 2; ++i) receipts += std::string("\x1a\x00", 2);  // field 3, no bytes
  std::string payload = "\x08\x03\x2a";  // the protocol, then field 5, a welcome of so many bytes
  for (std::size_t left = receipts.size(); true; left >>= 7U) {
    payload += static_cast<char>((left & 0x7fU) | (left >= 0x80 ? 0x80U : 0U));
    if (left < 0x80) break;
  }
  payload += receipts;
  std::string frame("UTNE\x01\x00\x01\x00\x00\x00\x00\x00", wire::kFrameHeaderBytes);
  boost::endian::store_little_u32(reinterpret_cast<unsigned char*>(&frame[8]),
                                  static_cast<std::uint32_t>(payload.size()));
  return frame + payload;
}

/// The beginning of a vector of as many elements as may be, of which so much comes.
std::string vector_begun(const wire::Message& message, std::size_t mebibytes) {
  std::string frames = wire::Encoder{wire::Limits{}}.encode(message);
  frames.resize(std::min<std::size_t>(frames.size(), mebibytes * kMebibyte));
  return frames;
}

wire::Message largest_reply(const RunId& run) {
  queries::NoisedSums sums{std::vector<std::int64_t>(wire::Limits{}.dimension_max, 1)};
  return wire::ReplyMessage{run, {}, queries::ReplyType::I64, {{0}, -40, crypto::NoiseKind::Secure, std::move(sums)}};
}

/// Before any of its bytes is parsed a frame is stored whole, in a text that doubles: it takes up to twice its bytes
/// and leaves as many behind in smaller ones.
Ceiling of_refused_frame() {
  const std::uint64_t frame = wire::Limits{}.frame_bytes_max;
  return {2 * frame, kHouseSeconds + kThrownSeconds * mebibytes(frame), kStretch, 4 * frame + kBesides,
          "`frame_bytes_max` (codec.hpp), stored in a text that doubles; refused by its kind or bound before "
          "protobuf"};
}

Ceiling of_thrown_vector(std::uint64_t said) {
  return {0, kHouseSeconds + kThrownSeconds * mebibytes(said), kStretch, net::AssemblyGate::kSmallBytes + kBesides,
          "`AssemblyGate::kSmallBytes` (session.hpp): nothing larger "
          "is kept that no run or batch waits for"};
}

Ceiling of_small_messages(std::uint64_t said, std::uint64_t memory, std::string from) {
  return {0, kHouseSeconds + kSmallSeconds * mebibytes(said), kStretch, memory + kBesides, std::move(from)};
}

/// Answers that wait for a peer that reads nothing.
std::uint64_t outbox(std::uint64_t messages, std::uint64_t bytes) {
  return std::min<std::uint64_t>(net::SessionLimits{}.outbox_bytes, messages * (net::Session::kMessageBytes + bytes));
}

/// What a member says on one connection after its greeting; fills in the rest of the row.
Attacked attacked(std::string attacker, std::string victim, std::string what, const Victim& on, Member& member,
                  const std::function<void(Member&)>& attack, const std::function<Ceiling(std::uint64_t said)>& most) {
  on.begin();
  member.forget_bytes();
  attack(member);
  member.leave();
  Attacked out{std::move(attacker), std::move(victim), std::move(what), member.bytes_said(), on.end(), {}};
  out.ceiling = most(out.said);
  return out;
}

constexpr const char* kBuild = "federation_bench";
const wire::Message kHello = wire::Hello{wire::kProtocolMin, wire::kProtocolMax, kBuild};
const wire::Message kWelcome = wire::Welcome{wire::kProtocolMax, kBuild, {}};

/// A connection of a member who is let in.
std::unique_ptr<Member> greeted(net::Credentials& credentials, std::uint16_t port) {
  auto member = std::make_unique<Member>(credentials, port);
  must(member->say(kHello), "a greeting");
  must(std::holds_alternative<wire::Welcome>(member->hear()), "a welcome");
  return member;
}

/// The same of one that is dialled.
std::unique_ptr<Member> welcoming(net::Credentials& credentials, const MembersPort& port) {
  auto member = std::make_unique<Member>(credentials, port);
  must(std::holds_alternative<wire::Hello>(member->hear()), "a greeting");
  must(member->say(kWelcome), "a welcome");
  return member;
}

}  // namespace

std::vector<Attacked> silo_attacks_coordinator(tests::Certificates& certificates, const AttackSize& size) {
  net::Credentials credentials = credentials_of(certificates, net::Side::Client, Role::Silo, "mallory");
  std::vector<Attacked> out;
  const auto attack = [&](std::string what, const std::function<void(Member&)>& says,
                          const std::function<Ceiling(std::uint64_t)>& most) {
    const tests::TemporaryFolder folder;
    const std::unique_ptr<Victim> hub = coordinator_victim(certificates, folder.path(), 0, size.settle);
    const std::unique_ptr<Member> member = greeted(credentials, hub->ports().members);
    out.push_back(attacked("silo", "coordinator", std::move(what), *hub, *member, says, most));
  };
  attack(
      "a vector of 2^24 elements for an invented run",
      [&](Member& member) { (void)member.say_bytes(vector_begun(largest_reply(invented(0)), size.mebibytes)); },
      of_thrown_vector);
  attack(
      "acceptances of invented runs, answers never read",
      [&](Member& member) {
        say_many(member, size.mebibytes, [](std::uint64_t i) { return wire::JobAnswer{invented(i), std::nullopt}; });
      },
      [](std::uint64_t said) {
        constexpr std::uint64_t kEndBytes = 128;  // of a JobEnded, and again of what remembers that it was told
        return of_small_messages(
            said, coordinator::JobService::kUnknownRunsMax * (net::Session::kMessageBytes + 2 * kEndBytes),
            "`JobService::kUnknownRunsMax` (job_service.hpp) answers of "
            "`Session::kMessageBytes` and their own");
      });
  const auto waiting = [](std::uint64_t said) {
    return of_small_messages(said, wire::kReceiptsMax * 1024,
                             "`kReceiptsMax` (messages.hpp) ledgers of a silo; `kFlush` (coordinator_host.cpp): "
                             "one commit a second");
  };
  attack(
      "receipts of one ledger with rising sequence",
      [&](Member& member) {
        say_many(member, size.mebibytes, [](std::uint64_t i) {
          return wire::ReceiptMessage{{sha256("ledger"), i + 1, sha256("head"), std::string(64, 's')}};
        });
      },
      waiting);
  attack(
      "receipts of invented ledgers",
      [&](Member& member) {
        say_many(member, size.mebibytes, [](std::uint64_t i) {
          return wire::ReceiptMessage{{sha256(std::to_string(i)), 1, sha256("head"), std::string(64, 's')}};
        });
      },
      waiting);
  const auto dropped = [](std::uint64_t said) {
    return of_small_messages(said, 0, "dropped: no run, no memory (`JobService::on_message`)");
  };
  attack(
      "ends of invented runs that it has seen",
      [&](Member& member) {
        say_many(member, size.mebibytes, [](std::uint64_t i) { return wire::JobEndedSeen{invented(i)}; });
      },
      dropped);
  attack(
      "hand-overs in invented runs",
      [&](Member& member) {
        say_many(member, size.mebibytes, [](std::uint64_t i) { return wire::ReplyHandedOver{invented(i), {i}}; });
      },
      dropped);
  attack(
      "small replies in invented runs",
      [&](Member& member) {
        say_many(member, size.mebibytes, [](std::uint64_t i) {
          return wire::ReplyMessage{invented(i),
                                    {},
                                    queries::ReplyType::I64,
                                    {{0}, -40, crypto::NoiseKind::Secure, queries::NoisedSums{{1, 2, 3}}}};
        });
      },
      dropped);
  attack(
      "one Welcome of 4 million empty receipts", [&](Member& member) { (void)member.say_bytes(amplified_welcome()); },
      [](std::uint64_t) { return of_refused_frame(); });
  // Many short connections: nothing is said on them but the greeting.
  constexpr int kConnections = 200;
  const tests::TemporaryFolder folder;
  const std::unique_ptr<Victim> hub = coordinator_victim(certificates, folder.path(), 0, size.settle);
  (void)greeted(credentials, hub->ports().members);
  hub->begin();
  for (int i = 0; i < kConnections; ++i) (void)greeted(credentials, hub->ports().members);
  out.push_back(
      {"silo", "coordinator", fmt::format("{} connections one after another", kConnections), 0, hub->end(), {}});
  constexpr double kHandshakeSeconds = 0.01;  // an ECDHE, a signature, a chain of one
  out.back().ceiling = {0, kHouseSeconds + kHandshakeSeconds * kConnections, kStretch, 2 * kMebibyte + kBesides,
                        "one session each (17 KiB of OpenSSL and more), closed when the next one greets"};
  return out;
}

std::vector<Attacked> silo_attacks_shuffler(tests::Certificates& certificates, const AttackSize& size) {
  net::Credentials credentials = credentials_of(certificates, net::Side::Client, Role::Silo, "mallory");
  std::vector<Attacked> out;
  const auto attack = [&](std::string what, const std::function<void(Member&)>& says,
                          const std::function<Ceiling(std::uint64_t)>& most) {
    const tests::TemporaryFolder folder;
    const std::unique_ptr<Victim> mixer = shuffler_victim(certificates, folder.path(), size.settle);
    const std::unique_ptr<Member> member = greeted(credentials, mixer->ports().members);
    out.push_back(attacked("silo", "shuffler", std::move(what), *mixer, *member, says, most));
  };
  const auto reply = [](std::uint64_t i, std::size_t bytes) {
    wire::SealedReply sealed;
    sealed.run = invented(i);
    sealed.unit_bytes = 8;
    sealed.units = std::string(bytes, 'u');
    return sealed;
  };
  attack(
      "2^27 bytes of units for an invented batch",
      [&](Member& member) {
        (void)member.say_bytes(vector_begun(reply(0, 8 * wire::Limits{}.dimension_max), size.mebibytes));
      },
      of_thrown_vector);
  std::uint64_t replies = 0;
  attack(
      "small units for invented batches, refusals never read",
      [&](Member& member) {
        say_many(member, size.mebibytes, [&](std::uint64_t i) {
          replies = i;
          return reply(i, 8);
        });
      },
      [&](std::uint64_t said) {
        constexpr std::uint64_t kRefusalBytes = 96;
        return of_small_messages(said, outbox(replies, kRefusalBytes),
                                 "a refusal for each, of `Session::kMessageBytes` and its own, up to "
                                 "`outbox_bytes_max`; closed after `stall_ms` beyond a quarter of that");
      });
  attack(
      "one Welcome of 4 million empty receipts", [&](Member& member) { (void)member.say_bytes(amplified_welcome()); },
      [](std::uint64_t) { return of_refused_frame(); });
  return out;
}

namespace {

/// One JSON text of the longest length that is no job, another for each number: a reader that looks at an array again
/// after each of its objects would take minutes.
std::string no_job(std::uint64_t number) {
  std::string text = fmt::format("{{\"format\":\"undertone.job/1\",\"name\":\"{}\",\"cohort\":[{{}}", number);
  while (text.size() + 5 < jobs::kJobBytesMax) text += ",{}";
  return text + "]}";
}

/// A job of many silos, no two alike, a part of whose records is drawn: each is planned by itself.
std::string expensive_job(int silos) {
  nlohmann::json job = nlohmann::json::parse(make_work(silos, 100, 5, 0.31).job);
  double epsilon = 1.0;
  for (nlohmann::json& member : job["cohort"]) member["epsilon"] = epsilon += 0.001;
  return job.dump();
}

/// Submits a job and waits until it is planned. @return what the coordinator said then
nlohmann::json submitted(const net::HttpClient& client, const std::string& job) {
  Result<net::HttpAnswer> answer = client.request("POST", "/api/v1/jobs", job);
  while (true) {
    must(answer.has_value(), "an answer over HTTP");
    nlohmann::json said = nlohmann::json::parse(answer->body);
    if (!said.contains("planning")) return said;
    answer = client.request("GET", "/api/v1/planning/" + said["planning"].get<std::string>(), "");
  }
}

}  // namespace

std::vector<Attacked> operator_attacks_coordinator(tests::Certificates& certificates, const AttackSize& size) {
  const tests::TemporaryFolder folder;
  std::unique_ptr<Victim> hub;
  std::vector<Attacked> out;
  std::uint64_t said = 0;
  const auto client = [&] {
    return net::HttpClient({false, "127.0.0.1", std::to_string(hub->ports().operators)}, nullptr, "", kOperatorsToken,
                           std::chrono::minutes(5));
  };
  const auto ask = [&](const char* method, const std::string& target, const std::string& body) {
    const Result<net::HttpAnswer> answer = client().request(method, target, body);
    must(answer.has_value(), "an answer over HTTP");
    said += body.size();
    return *answer;
  };
  const auto attack = [&](std::string what, const std::function<void()>& work, const Ceiling& most) {
    hub.reset();
    hub = coordinator_victim(certificates, folder.path(), 0, size.settle);
    (void)ask("GET", "/api/v1/runs", "");
    hub->begin();
    said = 0;
    work();
    out.push_back({"operator", "coordinator", std::move(what), said, hub->end(), most});
  };
  const std::string job = expensive_job(size.silos);
  const std::uint64_t plans = 4096 * static_cast<std::uint64_t>(size.silos);  // job and cohort, parsed twice, and plans
  attack(fmt::format("a legal job of {} silos that is expensive to plan, submitted and cancelled", size.silos),
         [&] {
           said += job.size();
           const auto said_back = submitted(client(), job);
           must(said_back.contains("run"), said_back.dump().c_str());
           const auto cancelled = ask("POST", "/api/v1/runs/" + said_back["run"].get<std::string>() + "/cancel", "");
           must(cancelled.status < 300, cancelled.body.c_str());
         },
         {0, 4 * kHouseSeconds, kStretch, 64 * kMebibyte + plans,
          "planned on threads of `PlanningDesk`, and never again: the figures stand with the run"});
  // Its store, after a death in between: the run is there, its result may not be.
  hub.reset();
  std::filesystem::remove_all(folder.path() / "results");
  const auto began = Clock::now();
  hub = coordinator_victim(certificates, folder.path(), 0, size.settle);
  const double start_seconds = seconds_since(began);
  out.push_back({"operator",
                 "coordinator",
                 "the start after that, its result still to be written",
                 0,
                 {start_seconds, start_seconds, 0, 0},
                 {0, 2.0, 2.0, 0, "nothing is planned before the ports are open (`CoordinatorHost::start`)"}});
  attack(fmt::format("{} texts of 1 MiB that are no jobs", size.mebibytes),
         [&] {
           for (std::size_t i = 0; i < size.mebibytes; ++i) {
             const std::string none = no_job(i);
             said += none.size();
             must(!submitted(client(), none).contains("run"), "a refusal");
           }
         },
         {0, kHouseSeconds + kTakenSeconds * static_cast<double>(size.mebibytes), kStretch, 64 * kMebibyte,
          "`kJobBytesMax` (job.hpp), read on a thread of `PlanningDesk`, one at a time"});
  const int keys = 10 * static_cast<int>(size.mebibytes);
  attack(fmt::format("{} sealing keys", keys),
         [&] {
           for (int i = 0; i < keys; ++i) (void)ask("POST", "/api/v1/sealing-keys", "");
         },
         {0, kHouseSeconds + 0.05 * keys, kStretch, kBesides,
          "a commit each, `kSealingKeysMax` (shuffled_tables.cpp) for ever"});
  const int pages = 20 * static_cast<int>(size.mebibytes);
  attack(fmt::format("{} times the list of runs", pages),
         [&] {
           for (int i = 0; i < pages; ++i) (void)ask("GET", "/api/v1/runs?limit=200", "");
         },
         {0, kHouseSeconds + 0.02 * pages, kStretch, kBesides, "`kListMax` (api.cpp) runs a page"});
  return out;
}

std::vector<Attacked> shuffler_attacks(tests::Certificates& certificates, const AttackSize& size) {
  net::Credentials credentials = credentials_of(certificates, net::Side::Server, Role::Shuffler, kMixersName);
  const Work work = make_work(1, 1, 2);
  std::vector<Attacked> out;
  const std::uint64_t vector_max = wire::kBytesPerElement * wire::Limits{}.dimension_max;
  const auto attack = [&](std::string what, const std::function<void(Member&)>& says,
                          const std::function<Ceiling(std::uint64_t)>& most) {
    const tests::TemporaryFolder folder;
    const MembersPort port;
    const std::unique_ptr<Victim> hub = coordinator_victim(certificates, folder.path(), port.number(), size.settle);
    const std::unique_ptr<Member> member = welcoming(credentials, port);
    out.push_back(attacked("shuffler", "coordinator", std::move(what), *hub, *member, says, most));
  };
  attack(
      "2^27 bytes of a batch that nobody asked for",
      [&](Member& member) {
        wire::BatchForward forward{invented(0), {0}, 2, std::string(vector_max, 'u')};
        (void)member.say_bytes(vector_begun(std::move(forward), size.mebibytes));
      },
      [&](std::uint64_t said) {
        return Ceiling{0, kHouseSeconds + kTakenSeconds * mebibytes(said), kStretch,
                       std::min(2 * said, vector_max) + kBesides,
                       "twice what came (`Assembly`), up to `kBytesPerElement` (messages.hpp) for each of "
                       "`dimension_max`"};
      });
  attack(
      "batches of invented runs that it has opened",
      [&](Member& member) {
        say_many(member, size.mebibytes, [](std::uint64_t i) { return wire::BatchOpened{invented(i), {0}, 0}; });
      },
      [](std::uint64_t said) { return of_small_messages(said, 0, "dropped: no run, no memory"); });
  attack(
      "one Welcome of 4 million empty receipts", [&](Member& member) { (void)member.say_bytes(amplified_welcome()); },
      [](std::uint64_t) { return of_refused_frame(); });

  const auto attack_silo = [&](std::string what, const std::function<void(Member&)>& says,
                               const std::function<Ceiling(std::uint64_t)>& most) {
    const tests::TemporaryFolder folder;
    const MembersPort port;
    const MembersPort hubs_port;  // where nobody answers
    const std::unique_ptr<Victim> silo =
        silo_victim(certificates, work, folder.path(), hubs_port.number(), port.number(), size.settle);
    const std::unique_ptr<Member> member = welcoming(credentials, port);
    out.push_back(attacked("shuffler", "silo", std::move(what), *silo, *member, says, most));
  };
  attack_silo(
      "receipts for replies that were never handed over",
      [&](Member& member) {
        say_many(member, size.mebibytes, [](std::uint64_t i) { return wire::SealedReplyTaken{invented(i), {0}}; });
      },
      [](std::uint64_t said) {
        return of_small_messages(said, 0, "dropped: no reply waits (`HandOver::on_message`)");
      });
  attack_silo(
      "one Welcome of 4 million empty receipts", [&](Member& member) { (void)member.say_bytes(amplified_welcome()); },
      [](std::uint64_t) { return of_refused_frame(); });
  return out;
}

std::vector<Attacked> coordinator_attacks_shuffler(tests::Certificates& certificates, const AttackSize& size) {
  std::vector<Attacked> out;
  net::Credentials credentials = credentials_of(certificates, net::Side::Client, Role::Coordinator, "hub");
  const auto attack = [&](std::string what, const std::function<void(Member&)>& says,
                          const std::function<Ceiling(std::uint64_t)>& most) {
    const tests::TemporaryFolder folder;
    const std::unique_ptr<Victim> mixer = shuffler_victim(certificates, folder.path(), size.settle);
    const std::unique_ptr<Member> member = greeted(credentials, mixer->ports().members);
    out.push_back(attacked("coordinator", "shuffler", std::move(what), *mixer, *member, says, most));
  };
  attack(
      "offers of 1 MiB that are no jobs",
      [&](Member& member) {
        for (std::size_t i = 0; i < size.mebibytes; ++i) {
          const std::string job = no_job(i);
          (void)member.say(wire::JobOffer{{sha256(job), {}}, job});
        }
      },
      [](std::uint64_t said) {
        return Ceiling{0, kHouseSeconds + kTakenSeconds * mebibytes(said), kStretch, 64 * kMebibyte,
                       "`kJobOfferBytesMax` (messages.hpp) at a time, parsed; `BatchGate::kJobsMax` digests"};
      });
  const std::string job = tests::ShuffledJob{}.json();
  const int batches = 20 * static_cast<int>(size.mebibytes);
  attack(
      fmt::format("{} batches of one job, answers never read", batches),
      [&](Member& member) {
        RunId run{sha256(job), {}};
        (void)member.say(wire::JobOffer{run, job});
        for (int i = 0; i < batches; ++i) {
          boost::endian::store_little_u32(run.nonce.data(), static_cast<std::uint32_t>(i));
          wire::BatchOpen open;
          open.run = run;
          for (int silo = 0; silo < 3; ++silo) open.expected.push_back(silo_id(silo));
          open.replies_min = 2;
          open.message_bytes = open.unit_bytes = 1024;
          open.deadline = std::chrono::minutes(1);
          (void)member.say(open);
        }
      },
      [&](std::uint64_t said) {
        constexpr double kCommitSeconds = 0.05;
        Ceiling most = of_small_messages(said, outbox(static_cast<std::uint64_t>(batches), 128),
                                         "`Limits::batches_max` (limits.hpp) batches, a commit each; "
                                         "others are refused");
        most.seconds += kCommitSeconds * static_cast<double>(shuffler::Limits{}.batches_max);
        return most;
      });
  std::uint64_t opens = 0;
  attack(
      "batches of unknown jobs, refusals never read",
      [&](Member& member) {
        say_many(member, size.mebibytes, [&](std::uint64_t i) {
          opens = i;
          wire::BatchOpen open;
          open.run = invented(i);
          open.expected = {silo_id(0), silo_id(1)};
          open.replies_min = 2;
          open.message_bytes = open.unit_bytes = 1024;
          open.deadline = std::chrono::minutes(1);
          return open;
        });
      },
      [&](std::uint64_t said) {
        return of_small_messages(said, outbox(opens, 96),
                                 "a refusal for each, up to `outbox_bytes_max`; closed after `stall_ms`");
      });
  attack(
      "one Welcome of 4 million empty receipts", [&](Member& member) { (void)member.say_bytes(amplified_welcome()); },
      [](std::uint64_t) { return of_refused_frame(); });
  return out;
}

std::vector<Attacked> coordinator_attacks_silo(tests::Certificates& certificates, const AttackSize& size) {
  std::vector<Attacked> out;
  const Work work = make_work(1, 8, 50);
  net::Credentials credentials = credentials_of(certificates, net::Side::Server, Role::Coordinator, "hub");
  const auto attack = [&](std::string what, const std::function<void(Member&)>& says,
                          const std::function<Ceiling(std::uint64_t)>& most) {
    const tests::TemporaryFolder folder;
    const MembersPort port;
    const std::unique_ptr<Victim> silo = silo_victim(certificates, work, folder.path(), port.number(), 0, size.settle);
    const std::unique_ptr<Member> member = welcoming(credentials, port);
    out.push_back(attacked("coordinator", "silo", std::move(what), *silo, *member, says, most));
  };
  const std::uint64_t dimension = size.mebibytes * kMebibyte / sizeof(double);
  attack(
      fmt::format("a question of {} numbers in an invented run", dimension),
      [&](Member& member) {
        Eigen::VectorXd point = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(dimension));
        (void)member.say(wire::QueryMessage{
            invented(0), queries::PointType::F64, {{0}, queries::GradientQuestion{std::move(point)}}, {}});
      },
      [&](std::uint64_t said) {
        return Ceiling{0, kHouseSeconds + kTakenSeconds * mebibytes(said), kStretch, 3 * said + kBesides,
                       "the vector, twice while it grows, and its point: 8 bytes for each of `dimension_max`"};
      });
  std::uint64_t ends = 0;
  attack(
      "ends of invented runs, answers never read",
      [&](Member& member) {
        say_many(member, size.mebibytes, [&](std::uint64_t i) {
          ends = i;
          return wire::JobEnded{invented(i), false};
        });
      },
      [&](std::uint64_t said) {
        constexpr std::uint64_t kSeenAndReceiptBytes = 320;
        return of_small_messages(said, 2 * outbox(ends, kSeenAndReceiptBytes),
                                 "two answers for each, of `Session::kMessageBytes` and their own, up to "
                                 "`outbox_bytes_max`; `kOverMax` (silo_machine.cpp) remembered");
      });
  attack(
      "offers of 1 MiB that are no jobs",
      [&](Member& member) {
        for (std::size_t i = 0; i < size.mebibytes; ++i) {
          const std::string job = no_job(i);
          (void)member.say(wire::JobOffer{{sha256(job), {}}, job});
        }
      },
      [](std::uint64_t said) {
        return Ceiling{0, kHouseSeconds + kTakenSeconds * mebibytes(said), kStretch, 64 * kMebibyte,
                       "`kJobOfferBytesMax` (messages.hpp), parsed on the worker, one at a time"};
      });
  constexpr int kRuns = 100;
  attack(
      fmt::format("one job in {} runs, 8 questions in each, asked twice", kRuns),
      [&](Member& member) {
        RunId run{sha256(work.job), {}};
        for (int i = 0; i < kRuns; ++i) {
          run.nonce[0] = static_cast<std::uint8_t>(i);
          (void)member.say(wire::JobOffer{run, work.job});
          for (std::uint64_t question = 0; question < 16; ++question) {
            (void)member.say(wire::QueryMessage{run,
                                                queries::PointType::F64,
                                                {{question / 2}, queries::GradientQuestion{Eigen::VectorXd::Zero(51)}},
                                                {}});
          }
        }
      },
      [](std::uint64_t said) {
        constexpr double kCommitSeconds = 0.05;
        Ceiling most = of_small_messages(said, 16 * kMebibyte,
                                         "64 open runs of a ledger (`Ledger::reserve`), two commits for each answer, "
                                         "once; asked again, the stored bytes");
        most.seconds += 2 * kCommitSeconds * 64 * 9;
        return most;
      });
  attack(
      "one Welcome of 4 million empty receipts", [&](Member& member) { (void)member.say_bytes(amplified_welcome()); },
      [](std::uint64_t) { return of_refused_frame(); });
  return out;
}

std::vector<Attacked> jobs_of_every_kind(tests::Certificates& certificates, const AttackSize& size) {
  std::vector<Attacked> out;
  const std::vector<DearJob> jobs = dearest_jobs({size.silos, size.tries, size.of_kinds});
  const auto row = [&](const char* who, const char* whom, const DearJob& job, const Victim& victim,
                       const std::function<void()>& attack) {
    victim.begin();
    attack();
    const Ceiling most{0, kHouseSeconds + kTakenSeconds * mebibytes(job.text.size()), kReadStretch,
                       64 * kMebibyte + 4096 * static_cast<std::uint64_t>(size.silos),
                       "read where it comes in, settled and planned on another thread, within `kCohortWorkMax`"};
    out.push_back({who, whom, fmt::format("{}: {:.2g} operations", job.name, static_cast<double>(job.operations)),
                   job.text.size(), victim.end(), most});
  };
  const tests::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "hub");
  const std::unique_ptr<Victim> hub = coordinator_victim(certificates, folder.path() / "hub", 0, size.settle);
  const net::HttpClient client({false, "127.0.0.1", std::to_string(hub->ports().operators)}, nullptr, "",
                               kOperatorsToken, std::chrono::minutes(5));
  for (const DearJob& job : jobs)
    row("operator", "coordinator", job, *hub, [&] {
      const auto said = submitted(client, job.text);
      if (!said.contains("run")) return;  // it names a shuffler that this coordinator has not got
      const std::string run = "/api/v1/runs/" + said["run"].get<std::string>();
      must(client.request("GET", run, "").has_value(), "an answer over HTTP");
      must(client.request("POST", run + "/cancel", "").has_value(), "an answer over HTTP");
    });
  const auto offer = [&](const DearJob& job, Member& member) {
    (void)member.say(wire::JobOffer{{sha256(job.text), {}}, job.text});
  };
  const Work work = make_work(1, 8, 50);
  net::Credentials server = credentials_of(certificates, net::Side::Server, Role::Coordinator, "hub");
  const MembersPort port;
  std::filesystem::create_directories(folder.path() / "silo");
  const std::unique_ptr<Victim> silo =
      silo_victim(certificates, work, folder.path() / "silo", port.number(), 0, size.settle);
  const std::unique_ptr<Member> to_silo = welcoming(server, port);
  for (const DearJob& job : jobs)
    row("coordinator", "silo", job, *silo, [&] {
      offer(job, *to_silo);
      (void)to_silo->hear();  // whether it takes part
    });
  net::Credentials dialled = credentials_of(certificates, net::Side::Client, Role::Coordinator, "hub");
  std::filesystem::create_directories(folder.path() / "mixer");
  const std::unique_ptr<Victim> mixer = shuffler_victim(certificates, folder.path() / "mixer", size.settle);
  const std::unique_ptr<Member> to_mixer = greeted(dialled, mixer->ports().members);
  for (const DearJob& job : jobs) row("coordinator", "shuffler", job, *mixer, [&] { offer(job, *to_mixer); });
  return out;
}

}  // namespace undertone::bench
