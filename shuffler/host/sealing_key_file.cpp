#include "shuffler/host/sealing_key_file.hpp"

#include <algorithm>
#include <openssl/crypto.h>

#include "shared/base/files.hpp"

namespace undertone::shuffler {

Result<sealed::SealingKey> load_sealing_key(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: there is no key; `undertone-shuffler key` makes one", file.string())};
  }
  UNDERTONE_TRY(check_private_file(file));
  UNDERTONE_TRY(std::string bytes, read_file(file, sealed::SealingPublicKey::kBytes));
  Result<sealed::SealingKey> key = sealed::SealingKey::from_secret(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  if (!key) return Error{key.error().code, fmt::format("{}: {}", file.string(), key.error().message)};
  return key;
}

Result<sealed::SealingKey> load_or_make_sealing_key(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::exists(file, error) || error) return load_sealing_key(file);
  UNDERTONE_TRY(make_folder_for(file));
  sealed::SealingKey key = sealed::SealingKey::generate();
  UNDERTONE_TRY(write_file_atomically(file, key.secret_bytes()));
  return key;
}

Digest public_key_of(const sealed::SealingKey& key) {
  Digest out{};
  const std::string_view bytes = key.public_key().bytes();
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

}  // namespace undertone::shuffler
