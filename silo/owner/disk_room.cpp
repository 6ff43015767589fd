#include "silo/owner/disk_room.hpp"

#include <sys/statvfs.h>

namespace undertone::silo {

Status check_room(const std::filesystem::path& file, std::uintmax_t bytes) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  while (!std::filesystem::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  struct statvfs facts {};
  if (::statvfs(folder.c_str(), &facts) != 0) return {};  // a file system that does not say
  if ((facts.f_flag & ST_RDONLY) != 0) {
    return Error{ErrorCode::StorageFailed,
                 fmt::format("{}: its disk is mounted read-only: nothing can be answered", file.string())};
  }
  const std::uintmax_t free = std::uintmax_t{facts.f_bavail} * facts.f_frsize;
  if (free >= bytes) return {};
  return Error{ErrorCode::StorageFailed,
               fmt::format("{}: its disk is full: {} bytes are free, an answer needs {}; nothing is answered until "
                           "there is room",
                           file.string(), free, bytes)};
}

}  // namespace undertone::silo
