#pragma once

#include <string>
#include <vector>

#include "shared/http/message.hpp"
#include "silo/owner/owner_commands.hpp"

namespace undertone::silo {

/// What the owner's page asks, without sockets: the owner's commands by another face. It reads the agent's files anew
/// for each answer, as the commands do, and the agent meets it in them alone. Errors are {"error": {"code",
/// "message"}}.
class DeskApi {
 public:
  explicit DeskApi(OwnerOptions options) : options_(std::move(options)) {}

  /// @return an answer, or one whose `work` makes it: whatever reads files is made aside
  [[nodiscard]] http::Reply handle(const http::Request& request) const;

 private:
  OwnerOptions options_;
};

/// How an adversary's guess may change who knows everything but one record and has two equally likely values for it:
/// the largest chance to be right, (e^epsilon + delta) / (e^epsilon + 1). Source: Kairouz, Oh and Viswanath 2015,
/// theorem 2.1.
[[nodiscard]] double largest_right_guess(double epsilon, double delta);

}  // namespace undertone::silo
