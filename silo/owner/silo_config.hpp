#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/config/json_section.hpp"
#include "shared/data/record_gatherer.hpp"
#include "shared/data/schema.hpp"
#include "shared/data/split.hpp"
#include "shared/net/dial.hpp"
#include "shared/net/link.hpp"
#include "shared/net/session.hpp"
#include "silo/policy/permit.hpp"
#include "silo/policy/policy.hpp"
#include "silo/sources/mapped_table.hpp"
#include "silo/sources/source.hpp"

namespace undertone::silo {

/// A data set of the institution and the ledger that stands for it.
struct DatasetConfig {
  std::string name;  // 1 to 64 of [a-z0-9-]
  Source source;
  /// The folder of what is served, a copy of the source's rows as they were when the data set was added or amended.
  /// None: the source is a file that is read at every start, and has to stay as it is.
  std::optional<std::filesystem::path> snapshots = {};
  /// Records that take more bytes of memory than this, as numbers, are made of the snapshot whenever they are read.
  std::uint64_t memory_max = std::uint64_t{2048} << 20U;
  /// How the source's columns become the schema's, when a snapshot is made.
  std::vector<ColumnMapping> map = {};
  data::Schema schema;
  data::SplitRule split;
  bool holdout_public = false;
  /// Whose each record is, where persons are protected and not records. The data set is of the one or the other for
  /// good.
  std::optional<data::PersonColumn> person = {};
  /// Which group a record is in is protected, and nothing else of it.
  bool attribute_alone = false;
  /// Which records beside these the owner declares public: those of another file, or those of this one with a mark.
  std::variant<std::monostate, std::filesystem::path, data::RowMark> declared_public = {};
  /// The leave without which the data set may not be used.
  std::optional<Permit> permit = {};
  std::filesystem::path ledger;
  std::filesystem::path ledger_head;
  std::filesystem::path ledger_key;
  std::set<Digest> replaced_ledgers;  // older ledgers of this data set that were replaced on purpose

  [[nodiscard]] releases::Unit unit() const noexcept {
    if (person) return releases::Unit::Person;
    return attribute_alone ? releases::Unit::SensitiveAttribute : releases::Unit::Record;
  }
};

/// A data set that is not served any more. Its ledger is kept: its records have spent what they have spent.
struct RemovedDataset {
  std::string name;
  std::filesystem::path source;  // its file
  std::filesystem::path ledger;
  std::filesystem::path ledger_head;
  std::filesystem::path ledger_key;
  Digest id{};  // of the ledger
};

/// What the institution's file says.
struct SiloConfig {
  SiloId id;
  std::string consortium;
  std::string host;
  std::uint16_t port = 0;
  std::optional<net::Proxy> proxy;          // to the coordinator
  std::vector<net::LinkAddress> shufflers;  // dialled directly
  net::TlsFiles tls;
  std::vector<DatasetConfig> datasets;  // at least one
  std::vector<RemovedDataset> removed;
  Policy policy;
  std::filesystem::path desk;
  std::filesystem::path statements;
  std::chrono::milliseconds reconnect_first{0};
  std::chrono::milliseconds reconnect_most{0};
  net::SessionLimits session;

  [[nodiscard]] certificates::Party party() const { return {consortium, certificates::Role::Silo, id.name()}; }
};

/// As many as a coordinator's receipts allow, half of them for ledgers that were replaced.
inline constexpr std::size_t kDatasetsMax = 8;
inline constexpr std::size_t kRemovedMax = 64;

/// Paths in the file are relative to it. A policy, a ledger and a head outside it must be named; none has a default.
[[nodiscard]] Result<SiloConfig> load_silo_config(const std::filesystem::path& file);
/// The parser behind it. @param problems may be a recording one
[[nodiscard]] Result<SiloConfig> parse_silo_config(const nlohmann::json& document, const std::filesystem::path& folder,
                                                   config::Problems& problems);

}  // namespace undertone::silo
