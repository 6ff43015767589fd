#include "silo/ledger/room_reserve.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace undertone::silo {
namespace {

constexpr std::uint64_t kSlack = std::uint64_t{256} << 10U;  // given back at once, so that few answers wait for it

}  // namespace

std::uint64_t RoomReserve::kept() const {
  std::error_code none;
  const std::uintmax_t size = std::filesystem::file_size(file_, none);
  return none ? 0 : size;
}

Status RoomReserve::keep(std::uint64_t bytes) const {
  const std::uint64_t before = kept();
  if (bytes > before) return grow(before, bytes);
  if (bytes == before && bytes > 0) return {};
  std::error_code failed;
  if (bytes == 0) {
    std::filesystem::remove(file_, failed);
  } else {
    std::filesystem::resize_file(file_, bytes - std::min(bytes, kSlack), failed);
  }
  if (failed) return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", file_.string(), failed.message())};
  return {};
}

Status RoomReserve::grow(std::uint64_t from, std::uint64_t to) const {
  struct statvfs disk {};
  const bool known = ::statvfs(file_.has_parent_path() ? file_.parent_path().c_str() : ".", &disk) == 0;
  const std::uint64_t free = known ? std::uint64_t{disk.f_bavail} * disk.f_frsize : 0;
  const Error none{
      ErrorCode::NoRoom,
      fmt::format("{}: its disk has no room for the answers to come: {} bytes more are needed, {} are free",
                  file_.string(), to - from, free)};
  if (known && to - from > free) return none;
  const int descriptor = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  const int allocated = descriptor < 0 ? errno : ::posix_fallocate(descriptor, 0, static_cast<off_t>(to));
  if (allocated != 0 && descriptor >= 0) (void)::ftruncate(descriptor, static_cast<off_t>(from));
  if (descriptor >= 0) ::close(descriptor);
  if (allocated == 0) return {};
  if (allocated == ENOSPC || allocated == EFBIG || allocated == EDQUOT) return none;
  return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", file_.string(), std::strerror(allocated))};
}

}  // namespace undertone::silo
