#include "silo/owner/start_checks.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <unistd.h>

#include "shared/algorithms/table.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/jobs/model_section.hpp"
#include "shared/net/tls.hpp"
#include "silo/owner/disk_room.hpp"

namespace undertone::silo {
namespace {

constexpr std::array<std::string_view, 3> kUnits = {"record", "person", "sensitive_attribute"};

std::string at(const std::filesystem::path& file, std::string_view pointer) {
  return fmt::format("{}: {}", file.string(), pointer);
}

/// The folder itself, or the nearest one above it that there is: the rest would be made in it.
std::filesystem::path nearest_existing(std::filesystem::path path) {
  std::error_code error;
  path = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(path, error) && path.has_parent_path() && path != path.parent_path())
    path = path.parent_path();
  return path;
}

void check_folder(const std::filesystem::path& file, const std::string& pointer, const std::filesystem::path& folder,
                  std::vector<Finding>& out) {
  const std::filesystem::path there = nearest_existing(folder);
  std::error_code error;
  if (!std::filesystem::is_directory(there, error)) {
    out.push_back({true, fmt::format("{}: expected a folder that can be written, {} is none", at(file, pointer),
                                     there.string())});
  } else if (::access(there.c_str(), W_OK | X_OK) != 0) {
    out.push_back(
        {true, fmt::format("{}: expected a folder that can be written, {} cannot", at(file, pointer), there.string())});
  }
}

void check_folders(const std::filesystem::path& file, const SiloConfig& config, std::vector<Finding>& out) {
  for (std::size_t i = 0; i < config.datasets.size(); ++i) {
    const DatasetConfig& dataset = config.datasets[i];
    const std::string ledger = fmt::format("/datasets/{}/ledger/", i);
    check_folder(file, ledger + "path", dataset.ledger.parent_path(), out);
    check_folder(file, ledger + "head", dataset.ledger_head.parent_path(), out);
    check_folder(file, ledger + "key", dataset.ledger_key.parent_path(), out);
  }
  check_folder(file, "/desk", config.desk.parent_path(), out);
  for (const DatasetConfig& dataset : config.datasets) {
    for (const std::filesystem::path& written : {dataset.ledger, dataset.ledger_head}) {
      if (const Status room = check_room(written); !room) out.push_back({true, room.error().message});
    }
  }
  if (const Status room = check_room(config.desk); !room) out.push_back({true, room.error().message});
  check_folder(file, "/statements", config.statements, out);
}

void check_totals(const std::filesystem::path& file, const Policy& policy, std::vector<Finding>& out) {
  const double epsilon = policy.total.epsilon.value_rounded_down();
  const double delta = policy.total.delta.value_rounded_down();
  if (epsilon < policy.epsilon_max.value()) {
    out.push_back(
        {epsilon == 0.0,
         fmt::format("{}: expected at least epsilon_max, {}, found {}: a job that costs the most you allow is "
                     "refused for its budget",
                     at(file, "/policy/epsilon_total"), policy.epsilon_max.value(), epsilon)});
  }
  if (delta < policy.delta_max.value()) {
    out.push_back({delta == 0.0,
                   fmt::format("{}: expected at least delta_max, {}, found {}: a job that costs the most you allow is "
                               "refused for its budget",
                               at(file, "/policy/delta_total"), policy.delta_max.value(), delta)});
  }
}

/// A name that nothing has allows nothing: a slip, or a name that another version of the agent knows.
void check_names(const std::filesystem::path& file, std::string_view list, std::span<const std::string_view> known,
                 const std::vector<std::string>& allowed, std::vector<Finding>& out) {
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (std::find(known.begin(), known.end(), allowed[i]) != known.end()) continue;
    out.push_back({false, fmt::format("{}: expected one of {}, found \"{}\", which allows nothing",
                                      at(file, fmt::format("/policy/{}/{}", list, i)), fmt::join(known, ", "),
                                      plain_text(allowed[i]))});
  }
}

}  // namespace

std::vector<Finding> start_findings(const std::filesystem::path& file, const SiloConfig& config) {
  std::vector<Finding> out;
  const Result<net::Credentials> credentials = net::Credentials::load(config.tls, net::Side::Client, config.party());
  if (!credentials) out.push_back({true, credentials.error().message});
  check_folders(file, config, out);
  check_totals(file, config.policy, out);
  check_names(file, "models", jobs::model_names(), config.policy.models, out);
  check_names(file, "algorithms", algorithms::method_names(), config.policy.algorithms, out);
  check_names(file, "units", kUnits, config.policy.units, out);
  return out;
}

std::vector<Finding> content_findings(const DatasetIdentity& recorded, const DatasetIdentity& found) {
  if (recorded.public_records != found.public_records) {
    return {{true, fmt::format("the records of the data set \"{}\" that are declared public are not those that its "
                               "ledger was opened for: `run` does not start, and no amendment changes that",
                               found.name)}};
  }
  if (recorded.digest == found.digest && recorded.public_holdout == found.public_holdout) return {};
  return {
      {true, fmt::format("the content or the split of the data set \"{}\" is not what its ledger was opened for, so "
                         "that `run` does not start; if that is meant, run `undertone-silo dataset amend`, which "
                         "carries all spending over",
                         found.name)}};
}

std::vector<Finding> count_findings(const std::filesystem::path& file, const SiloConfig& config,
                                    const std::string& dataset, std::int64_t records) {
  const auto known = std::find_if(config.datasets.begin(), config.datasets.end(),
                                  [&](const DatasetConfig& one) { return one.name == dataset; });
  const bool persons = known != config.datasets.end() && known->person;
  const std::int64_t least = persons ? config.policy.persons_min : config.policy.records_min;
  if (records >= least) return {};
  return {{true, fmt::format("{}: expected at most the {} training {} of the data set \"{}\", found {}: every job on "
                             "it is refused",
                             at(file, persons ? "/policy/persons_min" : "/policy/records_min"), records,
                             persons ? "persons" : "records", dataset, least)}};
}

}  // namespace undertone::silo
