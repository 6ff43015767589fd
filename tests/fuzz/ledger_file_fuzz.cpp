#include "shared/base/files.hpp"
#include "silo/ledger/ledger.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/temporary_folder.hpp"
#include "verifier/verification.hpp"

namespace undertone::fuzz {
namespace {

using namespace silo;

/// Any file in a ledger's place, and any beside it in its head's: a zero byte, two bytes of the head's length and the
/// head, or another first byte and no head; then the database. Whatever they hold, the verifier says what is wrong, and
/// what it finds nothing wrong with the silo reads.
void ledger_file(std::string_view bytes) {
  static const tests::TemporaryFolder folder(std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp");
  static const SigningKey key = SigningKey::from_seed(std::string(32, 'k')).value();
  const std::filesystem::path ledger = folder.path() / "ledger.sqlite";
  const std::filesystem::path head = folder.path() / "head.json";
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    std::filesystem::remove_all(entry.path());
  Input input(bytes);
  const std::uint8_t form = input.byte();
  if (form == 0) {
    const std::size_t low = input.byte();
    const std::size_t length = low + std::size_t{256} * input.byte();
    UNDERTONE_CHECK(write_file_atomically(head, input.take(length)).has_value());
  } else if (form == 1) {
    std::filesystem::create_directory(head);
  }
  if (form != 2) UNDERTONE_CHECK(write_file_atomically(ledger, input.rest()).has_value());
  const verifier::LedgerExpectations expected{form == 3 ? std::optional<std::filesystem::path>() : head,
                                              form == 4 ? std::optional<std::string>("kidney") : std::nullopt,
                                              form == 5 ? std::optional(std::string(64, 'a')) : std::nullopt};
  const verifier::LedgerFindings findings = verifier::verify_ledger(ledger, expected);
  for (const std::string& problem : findings.problems) UNDERTONE_CHECK(!problem.starts_with("the check of"));
  // A silo asks for the head, which the verifier was not told of.
  if (form == 3 || !findings.problems.empty() || findings.public_key != to_hex(key.public_key())) return;
  Result<store::Database> database = store::Database::open(ledger, store::Database::Sync::Normal);
  UNDERTONE_CHECK(database.has_value());
  FileHeadStore heads(head);
  const auto noise = findings.noise == "test" ? crypto::NoiseKind::Test : crypto::NoiseKind::Secure;
  UNDERTONE_CHECK(Ledger::inspect(*database, heads, key, {}, noise).has_value());
}

const Target kTarget("ledger_file", ledger_file);

}  // namespace
}  // namespace undertone::fuzz
