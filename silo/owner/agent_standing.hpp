#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::silo {

/// What a running agent says of itself to its owner's `health`.
struct AgentStanding {
  bool connected = false;                  // the coordinator has welcomed it, and the connection stands
  std::string why_not;                     // in words, where it is not
  std::optional<std::int64_t> busy_since;  // seconds since 1970: it computes, or holds an answer back
  std::string unable = {};                 // in words: why it answers nothing at all, where it is so

  /// One line of JSON.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static Result<AgentStanding> read(std::string_view text);

  friend bool operator==(const AgentStanding&, const AgentStanding&) = default;
};

}  // namespace undertone::silo
