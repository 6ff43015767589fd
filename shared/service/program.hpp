#pragma once

#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::service {

/// One of the programs, by the name that it is installed under.
class Program {
 public:
  explicit constexpr Program(std::string_view name) noexcept : name_(name) {}

  [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }
  /// Name and version, such as "undertone-silo 1.0.0": what handshakes, `--version` and the HTTP API's sessions say.
  [[nodiscard]] std::string build() const;
  /// Prints the sentence on standard error. @return the code
  [[nodiscard]] int fail(const Error& error, int code) const;
  /// Ends a command: what it printed has to leave the process first.
  /// @param code that it ended with @return another one, with a sentence, where its output could not be written
  [[nodiscard]] int finished(int code) const;

 private:
  std::string_view name_;
};

inline constexpr Program kUndertone{"undertone"};
inline constexpr Program kCoordinator{"undertone-coordinator"};
inline constexpr Program kSilo{"undertone-silo"};
inline constexpr Program kShuffler{"undertone-shuffler"};

}  // namespace undertone::service
