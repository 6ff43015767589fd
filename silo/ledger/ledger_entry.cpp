#include "silo/ledger/ledger_entry.hpp"

namespace undertone::silo {

Status each_entry(store::Database& database, const std::function<Status(LedgerEntry&)>& each) {
  UNDERTONE_TRY(store::Statement rows,
                database.prepare("SELECT sequence, previous, body, hash, signature FROM entries ORDER BY sequence"));
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) return {};
    LedgerEntry entry;
    entry.sequence = static_cast<std::uint64_t>(rows.integer(0));
    entry.body = rows.bytes(2);
    entry.signature = rows.bytes(4);
    const Result<Digest> previous = digest_from_bytes(rows.bytes(1));
    const Result<Digest> hash = digest_from_bytes(rows.bytes(3));
    if (!previous || !hash) return corrupt(entry.sequence, "has a hash that is not 32 bytes");
    entry.previous = *previous;
    entry.hash = *hash;
    UNDERTONE_TRY(each(entry));
  }
}

Digest entry_hash(std::uint64_t sequence, const Digest& previous, std::string_view body) {
  std::string material = "undertone ledger entry 1";
  for (int i = 0; i < 8; ++i) material.push_back(static_cast<char>((sequence >> (8 * i)) & 0xffU));
  material.append(as_bytes(previous));
  material.append(body);
  return sha256(material);
}

std::string head_message(const Digest& ledger, std::uint64_t sequence, const Digest& hash) {
  std::string message = "undertone ledger head 1";
  message.append(as_bytes(ledger));
  for (int i = 0; i < 8; ++i) message.push_back(static_cast<char>((sequence >> (8 * i)) & 0xffU));
  return message.append(as_bytes(hash));
}

std::string head_text(const LedgerEntry& entry) {
  return fmt::format(
      R"({{"body":"{}","format":"undertone.ledger-head/1","previous":"{}","sequence":"{}","signature":"{}"}})",
      to_hex(entry.body), to_hex(entry.previous), entry.sequence, to_hex(entry.signature));
}

const char* noise_name(crypto::NoiseKind noise) { return noise == crypto::NoiseKind::Secure ? "secure" : "test"; }

Error corrupt(std::uint64_t sequence, const std::string& what) {
  return {ErrorCode::LedgerCorrupt, fmt::format("ledger entry {}: {}", sequence, what)};
}

}  // namespace undertone::silo
