#include "verifier/evidence_pack.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <memory>
#include <minizip/unzip.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <set>

#include "verifier/ledger_entry.hpp"

namespace undertone::verifier {
namespace {

constexpr std::size_t kFilesMax = 4096;
constexpr std::size_t kFileBytesMax = std::size_t{1} << 30U;
constexpr std::size_t kAllBytesMax = std::size_t{4} << 30U;
constexpr std::size_t kLedgersMax = 64;
constexpr std::size_t kTextBytesMax = std::size_t{16} << 20U;  // of the manifest, and of the signatures
constexpr const char* kManifest = "manifest.json";
constexpr const char* kSignatures = "signatures.json";

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

/// @return nothing where it is not pairs of lower-case digits
std::optional<Bytes> bytes_of(std::string_view hex) {
  Bytes out;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (hex.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    if (digit(hex[i]) < 0 || digit(hex[i + 1]) < 0) return std::nullopt;
    out += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return out;
}

/// A name of a file in a pack: letters, digits, dots, dashes and underscores between single slashes, nothing upwards.
bool is_plain_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.back() == '/' || name.find("..") != std::string_view::npos ||
      name.find("//") != std::string_view::npos)
    return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == '/';
  });
}

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t out = 0;
  for (std::size_t i = size; i > 0; --i) out = out << 8U | static_cast<unsigned char>(bytes[at + i - 1]);
  return out;
}

/// Why an archive may be read in two ways: by its directory, as here, or by what stands before each file, as others do.
/// Empty where the files stand one after the other from the first byte, each under the name that the directory has for
/// it, as an ordinary file, and the directory ends the archive.
std::string second_reading(const std::filesystem::path& file) {
  constexpr std::size_t kEnd = 22;
  constexpr std::size_t kEntry = 46;
  constexpr std::size_t kLocal = 30;
  std::ifstream archive(file, std::ios::binary);
  archive.seekg(0, std::ios::end);
  const auto whole = static_cast<std::uint64_t>(archive.tellg());
  const auto read = [&archive](std::uint64_t at, std::size_t size) {
    std::string out(size, '\0');
    archive.clear();
    archive.seekg(static_cast<std::streamoff>(at));
    archive.read(out.data(), static_cast<std::streamsize>(size));
    out.resize(static_cast<std::size_t>(std::max<std::streamsize>(archive.gcount(), 0)));
    return out;
  };
  const std::string end = whole < kEnd ? std::string() : read(whole - kEnd, kEnd);
  if (end.size() != kEnd || end.substr(0, 4) != std::string_view("PK\5\6", 4) || number_at(end, 20, 2) != 0)
    return "something stands after its end";
  const std::uint64_t count = number_at(end, 10, 2);
  const std::uint64_t size = number_at(end, 12, 4);
  const std::uint64_t begin = number_at(end, 16, 4);
  if (begin + size + kEnd != whole || size > kTextBytesMax || number_at(end, 8, 2) != count ||
      number_at(end, 4, 4) != 0)
    return "its directory does not end it";
  const std::string directory = read(begin, static_cast<std::size_t>(size));
  std::size_t at = 0;
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (at + kEntry > directory.size() || directory.substr(at, 4) != std::string_view("PK\1\2", 4))
      return "its directory is damaged";
    const std::size_t name_size = static_cast<std::size_t>(number_at(directory, at + 28, 2));
    const std::size_t extra = static_cast<std::size_t>(number_at(directory, at + 30, 2));
    const std::size_t comment = static_cast<std::size_t>(number_at(directory, at + 32, 2));
    const std::uint64_t kind = number_at(directory, at + 38, 4) >> 28U;
    if (at + kEntry + name_size + extra > directory.size()) return "its directory is damaged";
    const std::string name = directory.substr(at + kEntry, name_size);
    if (comment != 0 || extra != 0 || !is_plain_name(name) || (kind != 0 && kind != 8))
      return "a file in it is no ordinary one";
    if ((number_at(directory, at + 8, 2) & ~std::uint64_t{6}) != 0)
      return "a file in it is encrypted, or has no size before it";
    if (number_at(directory, at + 42, 4) != next) return "there is a gap in it";
    const std::string local = read(next, kLocal + name_size);
    if (local.size() != kLocal + name_size || local.substr(0, 4) != std::string_view("PK\3\4", 4) ||
        number_at(local, 26, 2) != name_size || number_at(local, 28, 2) != 0 || local.substr(kLocal) != name ||
        local.substr(6, 20) != directory.substr(at + 8, 20))
      return "a file in it has two names, or two sizes";
    next += kLocal + name_size + number_at(directory, at + 20, 4);
    at += kEntry + name_size;
  }
  if (at != directory.size() || next != begin) return "there is a gap in it";
  return "";
}

/// Reads an archive's files one after the other.
class Archive {
 public:
  explicit Archive(const std::filesystem::path& file) : zip_(unzOpen64(file.c_str()), unzClose) {}
  [[nodiscard]] bool opened() const { return zip_ != nullptr; }

  /// @param take is given each file's name and its bytes, a piece at a time; the last piece of a file is empty
  /// @return why it cannot be read; empty where it was
  template <class Take>
  [[nodiscard]] std::string each(Take&& take) {
    std::size_t all = 0;
    std::size_t files = 0;
    for (int there = unzGoToFirstFile(zip_.get()); there != UNZ_END_OF_LIST_OF_FILE;
         there = unzGoToNextFile(zip_.get())) {
      std::array<char, 512> name{};
      if (there != UNZ_OK || ++files > kFilesMax ||
          unzGetCurrentFileInfo64(zip_.get(), nullptr, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) !=
              UNZ_OK ||
          unzOpenCurrentFile(zip_.get()) != UNZ_OK)
        return "its list of files cannot be read, or is too long";
      std::vector<char> piece(std::size_t{1} << 16U);
      std::size_t size = 0;
      while (true) {
        const int read = unzReadCurrentFile(zip_.get(), piece.data(), static_cast<unsigned>(piece.size()));
        if (read < 0) return fmt::format("the file {} cannot be read", printable(name.data()));
        size += static_cast<std::size_t>(read);
        all += static_cast<std::size_t>(read);
        if (size > kFileBytesMax || all > kAllBytesMax) return "it is too large";
        take(std::string(name.data()), std::string_view(piece.data(), static_cast<std::size_t>(read)));
        if (read == 0) break;
      }
      if (unzCloseCurrentFile(zip_.get()) != UNZ_OK)
        return fmt::format("the file {} is damaged", printable(name.data()));
    }
    return "";
  }

 private:
  std::unique_ptr<void, decltype(&unzClose)> zip_;
};

bool is_signature(std::string_view public_key, std::string_view message, std::string_view signature) {
  const auto octets = [](std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, octets(public_key), public_key.size()), EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return key && context && signature.size() == 64 &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(message), message.size()) == 1;
}

/// Bytes of a text that may be as long as it likes, up to where nobody reads on.
struct Text {
  std::string bytes;
  bool begun = false;
  void add(std::string_view piece) {
    begun = true;
    if (bytes.size() <= kTextBytesMax) bytes.append(piece);
  }
  [[nodiscard]] nlohmann::json read() const {
    if (bytes.size() > kTextBytesMax) return nlohmann::json::value_t::discarded;
    return nlohmann::json::parse(bytes, nullptr, false);
  }
};

std::string text_in(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

/// What was read of a pack.
struct Contents {
  Text manifest;
  Text signatures;
  std::map<std::string, std::string> digests;  // SHA-256 of every other file, hexadecimal, by its name
};

Contents read_contents(Archive& archive, const std::filesystem::path& folder, Problems& problems) {
  Contents out;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string current;
  std::ofstream kept;
  const std::string broken = archive.each([&](const std::string& name, std::string_view piece) {
    if (name == kManifest || name == kSignatures) {
      Text& text = name == kManifest ? out.manifest : out.signatures;
      if (name != current && text.begun) problems.add("the file {} stands twice", name);
      current = piece.empty() ? "" : name;
      text.add(piece);
      return;
    }
    if (name != current) {
      current = name;
      EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr);
      if (out.digests.contains(name)) problems.add("the file {} stands twice", printable(name));
      if (!is_plain_name(name)) problems.add("a file is called {}", printable(name));
      if (is_plain_name(name) && name.starts_with("ledgers/") &&
          (name.ends_with(".sqlite") || name.ends_with(".head.json"))) {
        std::error_code ignored;
        std::filesystem::create_directories((folder / name).parent_path(), ignored);
        kept.open(folder / name, std::ios::binary | std::ios::trunc);
      }
    }
    EVP_DigestUpdate(digest.get(), piece.data(), piece.size());
    if (kept.is_open()) kept.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (!piece.empty()) return;
    Bytes value(32, '\0');
    EVP_DigestFinal_ex(digest.get(), reinterpret_cast<unsigned char*>(value.data()), nullptr);
    out.digests[name] = hex_of(value);
    current.clear();
    if (kept.is_open()) kept.close();
  });
  if (!broken.empty()) problems.add("the pack: {}", broken);
  return out;
}

}  // namespace

bool is_pack(const std::filesystem::path& file) {
  std::array<char, 4> mark{};
  std::ifstream(file, std::ios::binary).read(mark.data(), mark.size());
  return std::string_view(mark.data(), mark.size()) == std::string_view("PK\3\4", 4);
}

PackFindings verify_pack(const std::filesystem::path& file, const std::filesystem::path& folder,
                         const std::string& public_key) {
  PackFindings out;
  Problems problems(out.problems);
  if (const std::string second = second_reading(file); !second.empty()) {
    problems.add("the pack: {}", second);
    return out;
  }
  Archive archive(file);
  if (!archive.opened()) {
    problems.add("the pack cannot be opened");
    return out;
  }
  const Contents contents = read_contents(archive, folder, problems);
  out.files = contents.digests.size();
  const nlohmann::json manifest = contents.manifest.read();
  const nlohmann::json signatures = contents.signatures.read();
  if (text_in(manifest, "format") != "undertone.evidence/1" || !manifest.contains("files") ||
      !manifest["files"].is_object() || !manifest.contains("ledgers") || !manifest["ledgers"].is_array()) {
    problems.add("{} is not the manifest of an evidence pack", kManifest);
    return out;
  }
  out.silo = printable(text_in(manifest, "silo"));
  out.made_at = printable(text_in(manifest, "made_at"));
  for (const auto& [name, digest] : manifest["files"].items()) {
    const auto found = contents.digests.find(name);
    if (found == contents.digests.end()) {
      problems.add("the file {} is missing", printable(name));
    } else if (!digest.is_string() || digest.get<std::string>() != found->second) {
      problems.add("the file {} is not the one of the manifest", printable(name));
    }
  }
  for (const auto& [name, digest] : contents.digests)
    if (!manifest["files"].contains(name)) problems.add("the manifest does not have the file {}", printable(name));
  const Bytes digest = sha256({contents.manifest.bytes});
  if (manifest["ledgers"].empty()) problems.add("the pack has no ledger, so that nobody has signed it");
  if (manifest["ledgers"].size() > kLedgersMax || !signatures.is_object() ||
      signatures.size() != manifest["ledgers"].size()) {
    problems.add("the pack has other signatures than ledgers, or too many");
    return out;
  }
  std::set<std::string> seen;
  for (const nlohmann::json& one : manifest["ledgers"]) {
    PackedLedger packed;
    packed.dataset = text_in(one, "dataset");
    if (!is_plain_name(packed.dataset) || packed.dataset.find('/') != std::string::npos ||
        !seen.insert(packed.dataset).second) {
      problems.add("a ledger is of the data set {}", printable(packed.dataset));
      continue;
    }
    LedgerExpectations expectations;
    expectations.head = folder / "ledgers" / (packed.dataset + ".head.json");
    expectations.dataset = packed.dataset;
    if (!public_key.empty()) expectations.public_key = public_key;
    packed.findings = verify_ledger(folder / "ledgers" / (packed.dataset + ".sqlite"), expectations);
    for (const std::string& problem : packed.findings.problems)
      problems.add("the ledger of {}: {}", printable(packed.dataset), problem);
    const std::optional<Bytes> key = bytes_of(packed.findings.public_key);
    const std::optional<Bytes> ledger = bytes_of(packed.findings.ledger);
    const std::optional<Bytes> signature = bytes_of(text_in(signatures, packed.dataset.c_str()));
    packed.is_signed =
        key && ledger && signature && is_signature(*key, "undertone evidence pack 1" + *ledger + digest, *signature);
    if (!packed.is_signed)
      problems.add("the manifest is not signed by the key of the ledger of {}", printable(packed.dataset));
    out.ledgers.push_back(std::move(packed));
  }
  return out;
}

}  // namespace undertone::verifier
