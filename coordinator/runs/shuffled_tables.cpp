#include "coordinator/runs/shuffled_tables.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "shared/base/byte_stream.hpp"
#include "shared/wire/messages.hpp"

namespace undertone::coordinator {
namespace {

constexpr std::size_t kSealingKeysMax = 100'000;

std::string packed(const std::vector<SiloId>& silos) {
  ByteWriter writer;
  writer.u64(silos.size());
  for (const SiloId& silo : silos) writer.text(silo.name());
  return std::move(writer).bytes();
}

Result<std::vector<SiloId>> silos_in(const std::string& bytes) {
  ByteReader reader(bytes);
  const Result<std::uint64_t> count = reader.u64();
  if (!count || *count > wire::kBatchSilosMax) return Error{ErrorCode::StorageFailed, "a closed batch cannot be read"};
  std::vector<SiloId> out;
  for (std::uint64_t i = 0; i < *count; ++i) {
    UNDERTONE_TRY(const std::string name, reader.text());
    UNDERTONE_TRY(SiloId silo, SiloId::create(name));
    if (!out.empty() && !(out.back() < silo))
      return Error{ErrorCode::StorageFailed, "a batch's silos in the store are not in ascending order"};
    out.push_back(std::move(silo));
  }
  UNDERTONE_TRY(reader.end());
  return out;
}

}  // namespace

Status ShuffledTables::add_sealing_key(const Digest& fingerprint, std::string_view secret) {
  UNDERTONE_TRY(store::Statement count, database_->prepare("SELECT count(*) FROM sealing_keys"));
  if (const Result<bool> row = count.step(); !row) return row.error();
  if (count.integer(0) >= static_cast<std::int64_t>(kSealingKeysMax))
    return Error{ErrorCode::LimitExceeded, fmt::format("{} sealing keys are kept, which is the most", kSealingKeysMax)};
  UNDERTONE_TRY(store::Statement insert, database_->prepare("INSERT INTO sealing_keys VALUES (?, ?)"));
  return insert.bind_blob(1, as_bytes(fingerprint)).bind_blob(2, secret).run();
}

Result<std::optional<std::string>> ShuffledTables::sealing_secret(const Digest& fingerprint) {
  UNDERTONE_TRY(store::Statement row, database_->prepare("SELECT secret FROM sealing_keys WHERE fingerprint = ?"));
  row.bind_blob(1, as_bytes(fingerprint));
  UNDERTONE_TRY(const bool found, row.step());
  return found ? std::optional(std::string(row.bytes(0))) : std::nullopt;
}

Result<std::optional<ShuffledState>> ShuffledTables::state(const RunId& run) {
  UNDERTONE_TRY(
      store::Statement row,
      database_->prepare("SELECT mac_key, round, attempt, expected, closing FROM shuffled_runs WHERE run = ?"));
  row.bind_blob(1, run.bytes());
  UNDERTONE_TRY(const bool found, row.step());
  if (!found) return std::optional<ShuffledState>();
  const Result<Digest> mac_key = digest_from_bytes(row.bytes(0));
  if (!mac_key) return Error{ErrorCode::StorageFailed, "a run's reply key cannot be read"};
  ShuffledState state{*mac_key, RoundIndex{static_cast<std::uint64_t>(row.integer(1))}};
  if (const std::string expected(row.bytes(3)); !expected.empty()) {
    UNDERTONE_TRY(std::vector<SiloId> silos, silos_in(expected));
    const std::int64_t attempt = row.integer(2);
    if (attempt < 0 || attempt >= std::int64_t{Round::kAttemptsMax})
      return Error{ErrorCode::StorageFailed, fmt::format("a shuffled round's attempt is {} in the store", attempt)};
    state.committed = Round::Commit{static_cast<std::uint32_t>(attempt), std::move(silos), {}};
    if (const std::string closing(row.bytes(4)); !closing.empty()) {
      UNDERTONE_TRY(std::vector<SiloId> added, silos_in(closing));
      state.committed->closing = std::move(added);
    }
  }
  return std::optional(std::move(state));
}

Status ShuffledTables::set_state(const RunId& run, const ShuffledState& state) {
  UNDERTONE_TRY(store::Statement put,
                database_->prepare("INSERT OR REPLACE INTO shuffled_runs VALUES (?, ?, ?, ?, ?, ?)"));
  const std::optional<Round::Commit>& round = state.committed;
  put.bind_blob(1, run.bytes()).bind_blob(2, as_bytes(state.mac_key));
  put.bind(3, static_cast<std::int64_t>(state.round.value));
  put.bind(4, round ? static_cast<std::int64_t>(round->attempt) : 0);
  put.bind_blob(5, round ? packed(round->expected) : std::string());
  return put.bind_blob(6, round && round->closing ? packed(*round->closing) : std::string()).run();
}

}  // namespace undertone::coordinator
