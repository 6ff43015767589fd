#pragma once

#include <filesystem>

#include "shared/sealed/sealing_key.hpp"

namespace undertone::shuffler {

/// This shuffler's long-term key: a file of the secret's 32 bytes and nothing else, which its owner alone may read.
/// Jobs name its public part. Whoever has the file can open every share that was sealed to it and recorded on the way.
/// @return an error that names the file and says what is wrong: missing, open to others, not 32 bytes; never its
/// content
[[nodiscard]] Result<sealed::SealingKey> load_sealing_key(const std::filesystem::path& file);

/// The key of the file; where there is no file, a new key, in the file before this returns.
[[nodiscard]] Result<sealed::SealingKey> load_or_make_sealing_key(const std::filesystem::path& file);

/// The public part as jobs hold it: its 32 bytes.
[[nodiscard]] Digest public_key_of(const sealed::SealingKey& key);

}  // namespace undertone::shuffler
