#include "silo/agent/shuffled_reply.hpp"

#include "shared/base/byte_stream.hpp"
#include "shared/sealed/secret_bytes.hpp"

namespace undertone::silo {
namespace {

constexpr std::string_view kBegin = "undertone shuffled reply 1";

}  // namespace

std::string pack(const ShuffledReply& reply) {
  ByteWriter writer;
  // Whoever sees a mixed unit and the head of the ledger could else try which silo's entry it makes.
  writer.text(sealed::SecretBytes::draw().bytes());
  for (const auto& [shuffler, frames] : reply) {
    writer.text(shuffler);
    writer.text(*frames);
  }
  return std::string(kBegin) + std::move(writer).bytes();
}

bool is_shuffled(std::string_view stored) noexcept { return stored.starts_with(kBegin); }

Result<ShuffledReply> unpack(std::string_view stored) {
  if (!is_shuffled(stored)) return Error{ErrorCode::LedgerCorrupt, "a stored reply is for no shuffler"};
  ByteReader reader(stored.substr(kBegin.size()));
  if (const Result<std::string> salt = reader.text(); !salt)
    return Error{ErrorCode::LedgerCorrupt, "a stored reply for shufflers cannot be read"};
  ShuffledReply out;
  while (!reader.end()) {
    const Result<std::string> shuffler = reader.text();
    Result<std::string> frames = shuffler ? reader.text() : Result<std::string>(shuffler.error());
    if (!frames) return Error{ErrorCode::LedgerCorrupt, "a stored reply for shufflers cannot be read"};
    out.emplace(*shuffler, std::make_shared<const std::string>(*std::move(frames)));
  }
  return out;
}

}  // namespace undertone::silo
