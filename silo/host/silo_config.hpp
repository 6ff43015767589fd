#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "shared/base/ids.hpp"
#include "shared/data/schema.hpp"
#include "shared/data/split.hpp"
#include "shared/net/session.hpp"
#include "silo/policy/policy.hpp"

namespace undertone::silo {

/// What the institution's file says.
struct SiloConfig {
  SiloId id;
  std::string consortium;
  std::string host;
  std::uint16_t port = 0;
  net::TlsFiles tls;
  std::string dataset_name;
  std::filesystem::path csv;
  data::Schema schema;
  data::SplitRule split;
  bool holdout_public = false;
  Policy policy;
  std::filesystem::path ledger;
  std::filesystem::path ledger_head;
  std::filesystem::path ledger_key;
  std::set<Digest> replaced_ledgers;  // older ledgers of this silo that were replaced on purpose
  std::filesystem::path statements;
  std::chrono::milliseconds reconnect_first{0};
  std::chrono::milliseconds reconnect_most{0};
  net::SessionLimits session;
};

/// Paths in the file are relative to it. A policy, a ledger and a head outside it must be named; none has a default.
[[nodiscard]] Result<SiloConfig> load_silo_config(const std::filesystem::path& file);

}  // namespace undertone::silo
