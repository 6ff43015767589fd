#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::silo {

/// A silo's reply for the shufflers of a job, by name: the frames for each.
using ShuffledReply = std::map<std::string, std::shared_ptr<const std::string>>;

/// As the ledger keeps it, with 32 random bytes that never leave. Format: docs/ledger-format.md.
[[nodiscard]] std::string pack(const ShuffledReply& reply);
/// Whether stored bytes are such a reply: else they are frames for the coordinator.
[[nodiscard]] bool is_shuffled(std::string_view stored) noexcept;
[[nodiscard]] Result<ShuffledReply> unpack(std::string_view stored);

}  // namespace undertone::silo
