#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <sodium.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "shared/sealed/adder_mac_key.hpp"
#include "shared/sealed/sealed_reply.hpp"
#include "shared/service/spawn.hpp"
#include "tests/support/process_image.hpp"
#include "tests/support/shuffled_job.hpp"
#include "tests/support/shuffler_peer.hpp"

/// Searches the memory, the store, its log and the log of the program that is shipped for what silos sealed.
namespace undertone {
namespace {

using certificates::Role;
using std::filesystem::path;
using tests::ProcessImage;
using tests::ShuffledJob;
using tests::ShufflerPeer;

/// The program lets no other process of its user look in, but root. In a user namespace of its own any user is root,
/// over whatever starts there.
void become_root() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (user == 0 || ::unshare(CLONE_NEWUSER) != 0) return;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << fmt::format("0 {} 1", user);
  std::ofstream("/proc/self/gid_map") << fmt::format("0 {} 1", group);
}

/// `undertone-shuffler run` in a folder of its own.
class ShufflerProcess {
 public:
  explicit ShufflerProcess(tests::Certificates& certificates) {
    become_root();
    const net::TlsFiles tls = certificates.party(Role::Shuffler, "mixer");
    std::ofstream(folder_.path() / "shuffler.json") << fmt::format(
        R"({{"format":"undertone.shuffler/1","consortium":"lakeside","name":"mixer",
"listen":{{"host":"127.0.0.1","port":0}},"store":"batches.sqlite","sealing_key":"sealing.key",
"tls":{{"certificate":"{}","key":"{}","authority":"{}","revoked":"{}"}}}})",
        tls.certificate.string(), tls.key.string(), tls.authority.string(), tls.revoked.string());
    int status = 0;
    const pid_t key = start({"key"}, "key.txt");
    UNDERTONE_CHECK(::waitpid(key, &status, 0) == key && status == 0);
    std::ifstream(folder_.path() / "key.txt") >> public_key_hex_;
    process_ = start({"run", "--ports-file", (folder_.path() / "port").string()}, "log.jsonl");
    while (!std::filesystem::exists(folder_.path() / "port")) {
      UNDERTONE_CHECK(::waitpid(process_, &status, WNOHANG) == 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::ifstream(folder_.path() / "port") >> port_;
  }
  ~ShufflerProcess() {
    ::kill(process_, SIGTERM);
    int status = 0;
    ::waitpid(process_, &status, 0);
  }
  ShufflerProcess(const ShufflerProcess&) = delete;
  ShufflerProcess& operator=(const ShufflerProcess&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const std::string& public_key_hex() const noexcept { return public_key_hex_; }
  [[nodiscard]] ProcessImage image() const { return ProcessImage(process_, folder_.path()); }

 private:
  pid_t start(std::vector<std::string> arguments, const std::string& output) {
    arguments.insert(arguments.begin(), path(UNDERTONE_BINARY_DIR) / "shuffler/undertone-shuffler");
    arguments.insert(arguments.end(), {"--config", (folder_.path() / "shuffler.json").string()});
    service::SpawnFiles files;
    files.append(folder_.path() / output, STDOUT_FILENO);
    files.redirect(STDOUT_FILENO, STDERR_FILENO);
    return service::spawn(arguments, files).value();
  }
  tests::TemporaryFolder folder_;
  std::string public_key_hex_;
  pid_t process_ = 0;
  std::uint16_t port_ = 0;
};

std::string random_bytes(std::size_t count) {
  sealed::start_sodium();
  std::string out(count, '\0');
  randombytes_buf(out.data(), out.size());
  return out;
}

/// A shuffler's process, and three silos.
class ShufflerPlaintextTest : public ::testing::Test {
 protected:
  ShufflerPeer silo(int number) {
    return ShufflerPeer::welcomed(shuffler_.port(), certificates_.silo(fmt::format("silo-{}", number)));
  }
  /// On a connection that stays.
  void hand_over(int number, const wire::SealedReply& reply) {
    silos_.push_back(silo(number));
    silos_.back().send(reply);
    (void)silos_.back().expect<wire::SealedReplyTaken>();
  }
  ShufflerPeer opened(const std::string& job, const wire::BatchOpen& open) {
    ShufflerPeer hub = ShufflerPeer::welcomed(shuffler_.port(), certificates_.hub());
    hub.send(wire::JobOffer{open.run, job});
    hub.send(open);
    (void)hub.expect<wire::BatchOpened>();
    return hub;
  }
  /// After it, the next message of the coordinator's was answered: this one was carried out.
  void deliver(ShufflerPeer& hub, const wire::BatchOpen& open) {
    hub.send(wire::BatchDelivered{open.run, open.round});
    hub.send(open);
    EXPECT_EQ(hub.expect<wire::BatchRefused>().refusal, wire::BatchRefusal::Past);
  }
  static wire::BatchOpen batch(const std::string& job) {
    wire::BatchOpen open;
    open.run = {sha256(job), Nonce{5}};
    for (int i = 0; i < 3; ++i) open.expected.push_back(SiloId::create(fmt::format("silo-{}", i)).value());
    open.replies_min = 2;
    open.query = sha256("query");
    open.deadline = std::chrono::minutes(1);
    return open;
  }
  void expect_nowhere(const ProcessImage& image, const std::vector<std::string>& texts, const char* what) {
    for (const std::string& text : texts) {
      for (const std::string& place : image.places_of(text)) ADD_FAILURE() << what << " in " << place;
    }
  }
  /// What silos sealed is there, sealed, or the search would find nothing whatever there is.
  void expect_in_memory_and_on_disk(const ProcessImage& image, const std::string& text, const char* what) {
    EXPECT_TRUE(image.in_memory(text)) << what;
    EXPECT_TRUE(image.on_disk(text)) << what;
  }

  tests::Certificates certificates_{"lakeside"};
  ShufflerProcess shuffler_{certificates_};
  std::vector<ShufflerPeer> silos_;
};

TEST_F(ShufflerPlaintextTest, WhatIsSealedToTheCoordinatorIsNowhereInAMixingShuffler) {
  constexpr std::size_t kMarkerBytes = 64;
  constexpr std::size_t kUnitsEach = 8;
  const std::string job = ShuffledJob{}.json();
  const sealed::SealingKey coordinator = sealed::SealingKey::generate();
  const sealed::ReplyMacKey mac = sealed::ReplyMacKey::draw();
  wire::BatchOpen open = batch(job);
  const sealed::RoundTerms terms{open.run, open.round, open.query, sealed::ReplyLength::create(kMarkerBytes).value()};
  open.unit_bytes = terms.length.sealed_bytes();
  open.message_bytes = kUnitsEach * open.unit_bytes;
  const Digest shown = sealed::terms_digest(coordinator.public_key(), mac, terms);
  std::vector<std::string> markers;
  std::vector<std::string> sealed;
  const auto seal_units = [&] {
    std::string units;
    for (std::size_t unit = 0; unit < kUnitsEach; ++unit) {
      markers.push_back(random_bytes(kMarkerBytes));
      sealed.push_back(
          sealed::seal(coordinator.public_key(), mac, terms, sealed::Ticket::draw(), markers.back()).value());
      units += sealed.back();
    }
    return units;
  };

  ShufflerPeer hub = opened(job, open);
  for (int i = 0; i < 2; ++i) {
    hand_over(i, tests::reply_to(open, shown, seal_units()));
  }
  /// Whether all seams between a silo's units are there, as in its message. In a secret order of 24 units that has a
  /// probability of 2e-10.
  const auto side_by_side = [&](const ProcessImage& image, std::size_t silo) {
    for (std::size_t unit = silo * kUnitsEach; unit + 1 < (silo + 1) * kUnitsEach; ++unit) {
      const std::string seam = sealed[unit].substr(open.unit_bytes - 8) + sealed[unit + 1].substr(0, 8);
      if (!image.in_memory(seam) && !image.on_disk(seam)) return false;
    }
    return true;
  };
  const ProcessImage collecting = shuffler_.image();
  ASSERT_GT(collecting.memory_bytes(), 1U << 20U) << "its memory cannot be read: run as root, or with user namespaces";
  expect_nowhere(collecting, markers, "a plaintext, while it is collected,");
  for (const std::string& unit : sealed) expect_in_memory_and_on_disk(collecting, unit, "a sealed unit");

  for (const std::size_t silo : {0U, 1U}) EXPECT_TRUE(side_by_side(collecting, silo));

  // A silo that does not seal gives itself away, and proves the search.
  const std::string unsealed = random_bytes(open.message_bytes);
  hand_over(2, tests::reply_to(open, shown, unsealed));
  EXPECT_EQ(hub.expect<wire::BatchForward>().replies, 3U);
  const ProcessImage forwarded = shuffler_.image();
  expect_nowhere(forwarded, markers, "a plaintext, once it was forwarded,");
  expect_in_memory_and_on_disk(forwarded, unsealed, "a unit that nobody sealed");
  for (const std::size_t silo : {0U, 1U}) EXPECT_FALSE(side_by_side(forwarded, silo));

  deliver(hub, open);
  const ProcessImage delivered = shuffler_.image();
  expect_nowhere(delivered, markers, "a plaintext, once it was delivered,");
  expect_nowhere(delivered, sealed, "a sealed unit, once it was delivered,");
  expect_nowhere(delivered, {unsealed}, "a unit that nobody sealed, once it was delivered,");
}

/// Shares of so many 64-bit words.
class AddingPlaintextTest : public ShufflerPlaintextTest, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(AddingPlaintextTest, AnAdderForgetsSharesWhenItHasAddedThemAndTheTotalWhenItIsDelivered) {
  const std::string job = ShuffledJob::counts("mixer", shuffler_.public_key_hex()).json();
  const std::string raw_key = from_hex(shuffler_.public_key_hex()).value();
  const sealed::SealingPublicKey key = sealed::SealingPublicKey::from_bytes(raw_key).value();
  wire::BatchOpen open = batch(job);
  const sealed::ReplyMacKey mac = sealed::adder_mac_key(open.run);
  const sealed::RoundTerms terms{open.run, open.round, open.query, sealed::ReplyLength::create(8 * GetParam()).value()};
  open.word_bytes = 8;
  open.message_bytes = open.unit_bytes = terms.length.sealed_bytes();
  std::vector<std::string> shares;
  std::vector<std::string> sealed;

  ShufflerPeer hub = opened(job, open);
  for (int i = 0; i < 3; ++i) {
    shares.push_back(random_bytes(8 * GetParam()));
    sealed.push_back(sealed::seal(key, mac, terms, sealed::Ticket::draw(), shares.back()).value());
    hand_over(i, tests::reply_to(open, sealed::terms_digest(key, mac, terms), sealed.back()));
  }
  const std::vector<SiloId> collected = hub.expect<wire::BatchCollected>().silos;
  ASSERT_EQ(collected.size(), 3U);
  const ProcessImage before = shuffler_.image();
  ASSERT_GT(before.memory_bytes(), 1U << 20U) << "its memory cannot be read: run as root, or with user namespaces";
  expect_nowhere(before, shares, "a share, before the batch is closed,");
  for (const std::string& share : sealed) expect_in_memory_and_on_disk(before, share, "a sealed share");

  hub.send(wire::BatchClose{open.run, open.round, 0, collected});
  const std::string total = hub.expect<wire::BatchForward>().units;
  ASSERT_EQ(total.size(), 8 * GetParam());
  const ProcessImage added = shuffler_.image();
  expect_nowhere(added, shares, "a share, once it was added,");
  expect_in_memory_and_on_disk(added, total, "the total");

  deliver(hub, open);
  const ProcessImage delivered = shuffler_.image();
  expect_nowhere(delivered, shares, "a share, once the total was delivered,");
  expect_nowhere(delivered, sealed, "a sealed share, once the total was delivered,");
  expect_nowhere(delivered, {total}, "the total, once it was delivered,");
}

// Blocks of the allocator's smallest kind, of its common kind, and of whole pages from the system.
INSTANTIATE_TEST_SUITE_P(Sizes, AddingPlaintextTest, ::testing::Values(8, 500, 40'000));

}  // namespace
}  // namespace undertone
