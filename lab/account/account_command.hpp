#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lab/account/mechanism.hpp"
#include "shared/config/section.hpp"

namespace undertone::lab {

/// What `undertone account` was asked.
struct AccountRequest {
  MechanismText mechanism;
  std::filesystem::path file;               // of mechanisms to compose, instead of one
  std::vector<MechanismText> several = {};  // the same, at hand
  bool shuffled = false;                    // one round through a shuffler, instead of a composition
  std::uint64_t silos = 0;                  // whose replies are shuffled
  std::int64_t records = 0;                 // of the smallest of them
  bool person = false;                      // a past run, as it looks to somebody with several records
  std::filesystem::path ledger = {};        // that the run is in
  std::string run = {};                     // the beginning of its id; empty: every run
  std::vector<std::int64_t> of_person = {2, 5, 10, 20};
  bool allocation = false;  // secret parts beside other draws, instead of a composition
  std::uint64_t parts = 0;  // of a pass
  std::uint64_t epochs = 1;
  std::string adjacency = "replace-one";
  std::string method = "numeric";
  std::optional<double> delta;
  std::optional<double> target_epsilon;  // then sigma is what is looked for
  std::optional<double> target_rho;
  bool json = false;
};

/// What `undertone account --json` prints. @return an error where the request is not good
[[nodiscard]] Result<std::string> account_of(const AccountRequest& request);
/// Says what one shuffled round guarantees, and whether that is a gain.
[[nodiscard]] Result<std::string> shuffled_account(const AccountRequest& request);
/// Says what the runs of a ledger promise a person who has several of the records.
[[nodiscard]] Result<std::string> person_account(const AccountRequest& request);
/// Says what secret parts of the records cost beside other draws.
[[nodiscard]] Result<std::string> allocation_account(const AccountRequest& request);

/// Prints epsilon by every accountant, or the smallest sigma for a target. @return the exit code
[[nodiscard]] int run_account(const AccountRequest& request);
/// Each prints what the function of that name above finds, as sentences. @return the exit code
[[nodiscard]] int run_shuffled(const AccountRequest& request);
[[nodiscard]] int run_person(const AccountRequest& request);
[[nodiscard]] int run_allocation(const AccountRequest& request);

/// Mechanisms from a file of the form {"format": "undertone.account/1", "mechanisms": [...]}.
[[nodiscard]] Result<std::vector<MechanismText>> load_mechanisms(const std::filesystem::path& file);
[[nodiscard]] Result<std::vector<MechanismText>> parse_mechanisms(const nlohmann::json& document,
                                                                  config::Problems& problems);

}  // namespace undertone::lab
