#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <sys/types.h>

#include "shared/net/link.hpp"
#include "tests/bench/federation/parts.hpp"

namespace undertone::bench {

/// What an attack cost a program.
struct Suffered {
  double busy_seconds = 0.0;     // of its protocol thread, all handlers together, disk included
  double longest_seconds = 0.0;  // one handler: nobody else was served meanwhile
  std::int64_t most_bytes = 0;   // resident memory above what it had before, at its highest
  std::int64_t kept_bytes = 0;   // the same when the attacker was gone
};

/// The tokens, jobs and shufflers that victims are made with.
inline constexpr const char* kOperatorsToken = "0123456789abcdef0123456789abcdef";
inline constexpr const char* kMixersName = "mixer";

/// A program's core over real sockets and a store on disk, in a process of its own, whose loop and memory are watched
/// between `begin` and `end`. Logs are formatted and thrown away.
class Victim {
 public:
  struct Ports {
    std::uint16_t members = 0;    // 0 where it dials
    std::uint16_t operators = 0;  // 0: none
  };
  /// @param settle how long it is let be after an attack, for what it does later: a commit once a second, say
  /// @param body its process: makes the program and calls `serve`
  Victim(std::chrono::milliseconds settle, const std::function<void(const Victim&)>& body);
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  // In the attacker's process:
  [[nodiscard]] Ports ports() const noexcept { return ports_; }
  /// From here on its costs count.
  void begin() const;
  [[nodiscard]] Suffered end() const;

  // In its own:
  /// Tells its ports, and serves until it is killed.
  void serve(boost::asio::io_context& context, Ports ports) const;

 private:
  std::chrono::milliseconds settle_;
  Pipe orders_;
  Pipe told_;
  Ports ports_;
  pid_t process_ = 0;
};

/// @param shuffler's port, which it dials; 0: none
[[nodiscard]] std::unique_ptr<Victim> coordinator_victim(tests::Certificates& certificates,
                                                         const std::filesystem::path& folder, std::uint16_t shuffler,
                                                         std::chrono::milliseconds settle);
[[nodiscard]] std::unique_ptr<Victim> shuffler_victim(tests::Certificates& certificates,
                                                      const std::filesystem::path& folder,
                                                      std::chrono::milliseconds settle);
/// The first silo of the work. @param shuffler as above
[[nodiscard]] std::unique_ptr<Victim> silo_victim(tests::Certificates& certificates, const Work& work,
                                                  const std::filesystem::path& folder, std::uint16_t coordinator,
                                                  std::uint16_t shuffler, std::chrono::milliseconds settle);

}  // namespace undertone::bench
