#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include "silo/ledger/ledger.hpp"
#include "tests/support/memory_head.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

/// What a release costs beyond making it: charged to a ledger on disk, to one in memory, and the disk alone.
namespace undertone {
namespace {

constexpr std::size_t kReplyBytes = 4096;
constexpr std::size_t kSmallReplyBytes = 580;  // of 51 numbers

/// A run whose plan has rounds enough, charged round by round.
class Charges {
 public:
  Charges(store::Database& database, silo::HeadStore& head, std::size_t reply_bytes = kReplyBytes)
      : reply_(reply_bytes, 'r'),
        key_(SigningKey::from_seed(std::string(32, 'k')).value()),
        ledger_(silo::Ledger::open(database, head, key_, {"bench", {}, {}}, tests::generous_policy().total,
                                   crypto::NoiseKind::Secure, [] { return std::int64_t{0}; })
                    .value()) {
    tests::SmallFederation federation;
    federation.rounds = 100'000;
    federation.evaluation_every = 0;
    const std::string job = federation.job();
    const jobs::Job parsed = jobs::parse_job(job, "job").value();
    plan_ = jobs::plan_of(parsed, parsed.cohort.front()).value();
    run_.job = sha256(job);
    UNDERTONE_CHECK(ledger_.reserve(run_, *plan_, job));
  }
  void charge() {
    const RoundIndex round{next_++};
    Result<silo::SpendToken> token = ledger_.authorise(run_, round, *plan_->release(round), Digest{});
    UNDERTONE_CHECK(token && ledger_.commit(*std::move(token), reply_, crypto::NoiseKind::Secure));
  }

 private:
  std::string reply_;
  SigningKey key_;
  silo::Ledger ledger_;
  std::optional<planning::Plan> plan_;
  RunId run_{};
  std::uint64_t next_ = 0;
};

void BM_LedgerCharge(benchmark::State& state) {
  const tests::TemporaryFolder folder;
  store::Database database =
      store::Database::open(folder.path() / "ledger.sqlite", store::Database::Sync::Full).value();
  silo::FileHeadStore head(folder.path() / "head.json");
  Charges charges(database, head);
  for (auto _ : state) charges.charge();
}
BENCHMARK(BM_LedgerCharge)->Unit(benchmark::kMicrosecond)->UseRealTime();

void BM_LedgerChargeInMemory(benchmark::State& state) {
  store::Database database = store::Database::in_memory().value();
  tests::MemoryHead head;
  Charges charges(database, head);
  for (auto _ : state) charges.charge();
}
BENCHMARK(BM_LedgerChargeInMemory)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// What an agent does before it dials: a long ledger is read back, and everything of it compared.
void BM_LedgerOpen(benchmark::State& state) {
  const tests::TemporaryFolder folder;
  tests::MemoryHead head;
  {
    store::Database database = store::Database::in_memory().value();
    Charges charges(database, head, kSmallReplyBytes);
    for (std::int64_t i = 0; i < state.range(0); ++i) charges.charge();
    UNDERTONE_CHECK(database.copy_to(folder.path() / "ledger.sqlite"));
  }
  const SigningKey key = SigningKey::from_seed(std::string(32, 'k')).value();
  for (auto _ : state) {
    store::Database database =
        store::Database::open(folder.path() / "ledger.sqlite", store::Database::Sync::Full).value();
    const auto ledger = silo::Ledger::open(database, head, key, {"bench", {}, {}}, tests::generous_policy().total,
                                           crypto::NoiseKind::Secure, [] { return std::int64_t{0}; });
    UNDERTONE_CHECK(ledger.has_value());
  }
}
BENCHMARK(BM_LedgerOpen)->Arg(80'000)->Unit(benchmark::kMillisecond)->UseRealTime();

/// The least that a durable charge must do: append the reply's bytes to a file, and wait for the disk.
void BM_AppendAndSync(benchmark::State& state) {
  const tests::TemporaryFolder folder;
  const int file = ::open((folder.path() / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  UNDERTONE_CHECK(file >= 0);
  const std::string bytes(kReplyBytes, 'r');
  for (auto _ : state) {
    UNDERTONE_CHECK(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    UNDERTONE_CHECK(::fdatasync(file) == 0);
  }
  ::close(file);
}
BENCHMARK(BM_AppendAndSync)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace undertone
