#include "shared/sealed/hand_over_receipt.hpp"

#include <sodium.h>
#include <string>

namespace undertone::sealed {
namespace {

constexpr std::string_view kKeyOf = "undertone receipts of ";
constexpr std::string_view kReceipt = "undertone hand-over receipt 1";

void append_number(std::string& text, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) text.push_back(static_cast<char>(value >> (8 * i) & 0xffU));
}

}  // namespace

Digest receipt_key(const Digest& secret, std::string_view shuffler) {
  return hmac_sha256(as_bytes(secret), std::string(kKeyOf).append(shuffler));
}

Digest receipt_of(const Digest& key, const TakenReply& taken) {
  std::string text(kReceipt);
  text.append(taken.run.bytes());
  append_number(text, taken.round.value);
  append_number(text, taken.attempt);
  text.append(as_bytes(taken.terms));
  text.append(taken.silo.name());  // last, since its length is all that varies
  return hmac_sha256(as_bytes(key), text);
}

bool is_receipt_of(const Digest& key, const TakenReply& taken, const Digest& shown) {
  const Digest expected = receipt_of(key, taken);
  return sodium_memcmp(expected.data(), shown.data(), expected.size()) == 0;
}

}  // namespace undertone::sealed
