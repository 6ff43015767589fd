#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lab/account/mechanism.hpp"

namespace undertone::lab {

/// What `undertone account` was asked.
struct AccountRequest {
  MechanismText mechanism;
  std::filesystem::path file;  // of mechanisms to compose, instead of one
  std::string adjacency = "replace-one";
  std::string method = "numeric";
  std::optional<double> delta;
  std::optional<double> target_epsilon;  // then sigma is what is looked for
  std::optional<double> target_rho;
  bool json = false;
};

/// Prints epsilon by every accountant, or the smallest sigma for a target. @return the exit code
[[nodiscard]] int run_account(const AccountRequest& request);

/// Mechanisms from a file of the form {"format": "undertone.account/1", "mechanisms": [...]}.
[[nodiscard]] Result<std::vector<MechanismText>> load_mechanisms(const std::filesystem::path& file);

}  // namespace undertone::lab
