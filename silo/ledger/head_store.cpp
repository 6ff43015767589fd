#include "silo/ledger/head_store.hpp"

#include "shared/base/files.hpp"

namespace undertone::silo {

Result<std::optional<std::string>> FileHeadStore::read() {
  if (!std::filesystem::exists(path_)) return std::optional<std::string>();
  Result<std::string> text = read_file(path_, 1U << 20U);
  if (!text) return text.error();
  return std::optional<std::string>(*std::move(text));
}

Status FileHeadStore::write(std::string_view head) { return write_file_atomically(path_, head); }

}  // namespace undertone::silo
