#include "verifier/ledger_entry.hpp"

#include <fstream>
#include <ios>
#include <memory>
#include <openssl/evp.h>
#include <string>
#include <system_error>
#include <utility>

#include "verifier/ledger_body.hpp"

namespace undertone::verifier {
namespace {

constexpr std::size_t kHeadBytesMax = 2 * kBodyBytesMax + 4096;
constexpr std::size_t kHeadFileBytesMax = std::size_t{8} << 20U;

/// 8 bytes, little-endian.
Bytes sequence_bytes(const Entry& entry) {
  Bytes bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(entry.sequence >> shift & 0xff);
  return bytes;
}

}  // namespace

Bytes sha256(std::initializer_list<std::string_view> parts) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) return {};
  for (const std::string_view part : parts) {
    if (EVP_DigestUpdate(context.get(), part.data(), part.size()) != 1) return {};
  }
  Bytes digest(kHashBytes, '\0');
  if (EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr) != 1) return {};
  return digest;
}

Bytes content_hash(const Entry& entry) {
  return sha256({"undertone ledger entry 1", sequence_bytes(entry), entry.previous, entry.body});
}

bool is_signed(std::string_view public_key, std::string_view ledger, const Entry& entry) {
  const auto octets = [](std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, octets(public_key), public_key.size()), EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!key || !context || entry.signature.size() != kSignatureBytes) return false;
  if (EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1) return false;
  const Bytes message = "undertone ledger head 1" + Bytes(ledger) + sequence_bytes(entry) + entry.hash;
  return EVP_DigestVerify(context.get(), octets(entry.signature), entry.signature.size(), octets(message),
                          message.size()) == 1;
}

Head read_head(const std::filesystem::path& path, Problems& problems) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {true, std::nullopt};
  Bytes text(kHeadFileBytesMax + 1, '\0');
  std::ifstream file;
  if (std::filesystem::is_regular_file(path, error)) file.open(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad() || text.size() > kHeadFileBytesMax) {
    problems.add("the head file {}: expected a readable file of at most {} bytes, found another thing",
                 printable(path.string()), kHeadFileBytesMax);
    return {};
  }
  // The last line that begins with { and ends with }.
  while (!text.empty()) {
    const std::size_t before = text.rfind('\n');
    const Bytes line = before == Bytes::npos ? text : text.substr(before + 1);
    if (line.size() >= 2 && line.front() == '{' && line.back() == '}') {
      text = line;
      break;
    }
    text.resize(before == Bytes::npos ? 0 : before);
  }
  if (text.size() > kHeadBytesMax) {
    problems.add("the head file {}: expected a last line of at most {} bytes, found {}", printable(path.string()),
                 kHeadBytesMax, text.size());
    return {};
  }
  const auto fields = parse_fields(text, "the head file", problems);
  const Keys keys = {"format", "sequence", "previous", "body", "signature"};
  if (!fields || !has_exactly(*fields, keys, Format::Two, "the head file", problems)) return {};
  if (fields->at("format") != "undertone.ledger-head/1") {
    problems.add("the head file: expected the format \"undertone.ledger-head/1\", found {}",
                 printable(fields->at("format")));
    return {};
  }
  const auto bytes = [&](const char* key) { return *from_hex(fields->at(key), 0); };
  Entry entry{*parse_index(fields->at("sequence")), bytes("previous"), bytes("body"), {}, bytes("signature")};
  entry.hash = content_hash(entry);
  return {false, std::move(entry)};
}

}  // namespace undertone::verifier
