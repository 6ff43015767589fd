#include "shared/store/wiped_memory.hpp"

#include <algorithm>
#include <cstring>
#include <sqlite3.h>

namespace undertone::store {
namespace {

/// SQLite's own allocator, which does the work.
sqlite3_mem_methods& own() {
  static sqlite3_mem_methods methods{};
  return methods;
}

void wipe_and_free(void* memory) {
  ::explicit_bzero(memory, static_cast<std::size_t>(own().xSize(memory)));
  own().xFree(memory);
}

/// Always to another place: the allocator's own way would leave the old one as it is.
void* resize(void* memory, int bytes) {
  void* out = own().xMalloc(bytes);
  if (out == nullptr) return nullptr;
  std::memcpy(out, memory, static_cast<std::size_t>(std::min(bytes, own().xSize(memory))));
  wipe_and_free(memory);
  return out;
}

}  // namespace

Status wipe_freed_memory() {
  int code = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &own());
  if (code == SQLITE_OK) {
    sqlite3_mem_methods wiping = own();
    wiping.xFree = wipe_and_free;
    wiping.xRealloc = resize;
    code = sqlite3_config(SQLITE_CONFIG_MALLOC, &wiping);
  }
  // Pages one by one, of the allocator: SQLite's own blocks of pages take a page back as it is.
  if (code == SQLITE_OK) code = sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 0);
  if (code == SQLITE_OK) return {};
  return Error{ErrorCode::StorageFailed, fmt::format("SQLite does not wipe its memory: {}", sqlite3_errstr(code))};
}

}  // namespace undertone::store
