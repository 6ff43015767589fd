#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

namespace undertone::tests {

/// One fault of one life of a process, as the driver writes it and the preloaded library (fault_points.cpp) obeys it.
/// A process' order file has one line a life; the library adds the life's number to FILE.fired when it strikes.
struct FaultOrder {
  enum class Call { Write, Sync, Rename, Send };  // to a file; fsync and fdatasync; onto a file; to a peer
  enum class Side { Before, During, After };      // during: half of the bytes are written or sent
  enum class Fault {
    None,
    Kill,       // SIGKILL
    PowerLoss,  // what was not synced is lost, wholly or in part; then SIGKILL
    FullDisk,   // from this call on nothing can be written: ENOSPC
    ReadOnly,   // from this call on nothing can be written or opened for it: EROFS
    DiskError,  // from this call on nothing can be written or synced: EIO
  };
  Call call = Call::Write;
  Side side = Side::Before;
  Fault fault = Fault::None;
  std::uint64_t count = 1;  // which of the life's calls of this kind; from 1
  std::uint64_t seed = 0;   // of what a power loss leaves
  std::string files = "*";  // a glob of absolute paths; of no meaning for Send

  [[nodiscard]] std::string to_line() const {
    std::ostringstream line;
    line << static_cast<int>(call) << ' ' << static_cast<int>(side) << ' ' << static_cast<int>(fault) << ' ' << count
         << ' ' << seed << ' ' << files;
    return line.str();
  }
  [[nodiscard]] static std::optional<FaultOrder> from_line(const std::string& text) {
    std::istringstream line(text);
    FaultOrder out;
    int call = 0;
    int side = 0;
    int fault = 0;
    if (!(line >> call >> side >> fault >> out.count >> out.seed >> out.files)) return std::nullopt;
    out.call = static_cast<Call>(call);
    out.side = static_cast<Side>(side);
    out.fault = static_cast<Fault>(fault);
    return out;
  }
};

}  // namespace undertone::tests
