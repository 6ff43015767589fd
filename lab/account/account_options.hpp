#pragma once

#include "lab/account/account_command.hpp"

namespace CLI {
class App;
}

namespace undertone::lab {

/// Adds `account` and its options. @return the command: once it is chosen, `run_account(request)` is what it does
[[nodiscard]] CLI::App* add_account_command(CLI::App& app, AccountRequest& request);

}  // namespace undertone::lab
