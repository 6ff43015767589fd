#include "shuffler/batch/sealed_adder.hpp"

#include <cstdint>
#include <limits>
#include <set>
#include <span>

#include "shared/sealed/adder_mac_key.hpp"
#include "shared/sealed/additive_shares.hpp"
#include "shared/sealed/sealed_reply.hpp"

namespace undertone::shuffler {
namespace {

/// Of words that take `word_bytes`, whatever total the job's plan allows: that is for the coordinator to check.
sealed::ShareModulus modulus_of(std::uint32_t word_bytes) {
  UNDERTONE_CHECK(word_bytes >= 1 && word_bytes <= 8);
  const std::int64_t total_max =
      word_bytes == 8 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (8U * word_bytes)) - 1;
  const Result<sealed::ShareModulus> modulus = sealed::ShareModulus::create(total_max);
  UNDERTONE_CHECK(modulus.has_value() && modulus->bytes() == word_bytes);
  return *modulus;
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Total SealedAdder::add(const BatchSpec& spec, const std::vector<std::string>& sealed) {
  const Result<sealed::ReplyLength> length = sealed::ReplyLength::create(total_bytes(spec));
  UNDERTONE_CHECK(length.has_value());
  const sealed::RoundTerms terms{spec.run, spec.round, spec.query, *length};
  const sealed::ReplyMacKey mac_key = sealed::adder_mac_key(spec.run);
  const sealed::ShareModulus modulus = modulus_of(spec.word_bytes);
  std::vector<std::uint64_t> total(total_bytes(spec) / spec.word_bytes, 0);
  std::set<sealed::Ticket> tickets;
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    const auto bad = [&](ErrorCode code, std::string_view what) {
      return BadShare{i, {code, fmt::format("round {}: a share {}", spec.round.value, what)}};
    };
    const Result<sealed::OpenedReply> share = sealed::open(key_, mac_key, terms, sealed[i]);
    // What `open` says quotes what the silo sealed.
    if (!share) return bad(share.error().code, fmt::format("does not open: {}", to_string(share.error().code)));
    if (!tickets.insert(share->ticket()).second) return bad(ErrorCode::Malformed, "has the ticket of another");
    if (Status added = sealed::add_share(bytes_of(share->body()), modulus, total); !added)
      return bad(ErrorCode::Malformed, "has another number of words than the batch");
  }
  const std::vector<std::uint8_t> packed = sealed::pack_share(total, modulus);
  return std::string(packed.begin(), packed.end());
}

}  // namespace undertone::shuffler
