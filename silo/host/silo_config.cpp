#include "silo/host/silo_config.hpp"

#include "shared/config/json_section.hpp"
#include "shared/config/schema_section.hpp"
#include "shared/net/session_config.hpp"

namespace undertone::silo {
namespace {

Policy parse_policy(config::Section section) {
  std::vector<std::string> models = section.texts("models");
  std::vector<std::string> algorithms = section.texts("algorithms");
  std::vector<std::string> units = section.texts("units");
  const std::int64_t records_min = section.integer("records_min", 1, std::int64_t{1} << 40);
  const double epsilon_max = section.number("epsilon_max", 0.0, 30.0, true);
  const double delta_max = section.number("delta_max", 0.0, 0.5, true);
  // Zero is a budget: nothing is allowed.
  const double epsilon_total = section.number("epsilon_total", 0.0, 1e6);
  const double delta_total = section.number("delta_total", 0.0, 1.0);
  section.finish();
  return {std::move(models),
          std::move(algorithms),
          std::move(units),
          records_min,
          *privacy::Epsilon::create(epsilon_max),
          *privacy::Delta::create(delta_max),
          {*privacy::EpsilonAmount::rounded_down(epsilon_total), *privacy::DeltaAmount::rounded_down(delta_total)}};
}

}  // namespace

Result<SiloConfig> load_silo_config(const std::filesystem::path& file) {
  const Result<config::JsonDocument> document = config::load_json(file, 4U << 20U);
  if (!document) return document.error();
  const std::filesystem::path folder = file.parent_path();
  config::Problems problems(file.string());
  config::Section root(document->root, "", problems);
  (void)root.choice<int>("format", {{"undertone.silo/1", 1}});
  const std::string name = root.text("silo");
  const Result<SiloId> id = SiloId::create(name);
  if (!id) root.problem("silo", id.error().message);
  const std::string consortium = root.text("consortium");

  config::Section coordinator = root.object("coordinator");
  const std::string host = coordinator.text("host");
  const auto port = static_cast<std::uint16_t>(coordinator.integer("port", 1, 65535));
  const std::int64_t first =
      coordinator.has("reconnect_first_ms") ? coordinator.integer("reconnect_first_ms", 1, 3'600'000) : 250;
  const std::int64_t most =
      coordinator.has("reconnect_most_ms") ? coordinator.integer("reconnect_most_ms", 1, 3'600'000) : 15'000;
  coordinator.finish();
  net::TlsFiles tls = net::parse_tls(root.object("tls"), folder);

  config::Section dataset = root.object("dataset");
  const std::string dataset_name = dataset.text("name");
  const std::filesystem::path csv = folder / dataset.text("csv");
  data::Schema schema = config::parse_schema(dataset.object("schema"));
  data::SplitRule split;
  split.holdout_fraction = dataset.number("holdout_fraction", 0.0, 0.9);
  split.seed = static_cast<std::uint64_t>(dataset.integer("holdout_seed", 0, INT64_MAX));
  if (dataset.has("records_published"))
    split.records_published = dataset.integer("records_published", 1, std::int64_t{1} << 40);
  const bool holdout_public = dataset.boolean("holdout_public");
  dataset.finish();

  Policy policy = parse_policy(root.object("policy"));
  config::Section ledger = root.object("ledger");
  const std::filesystem::path ledger_path = folder / ledger.text("path");
  const std::filesystem::path head_path = folder / ledger.text("head");
  const std::filesystem::path key_path = folder / ledger.text("key");
  std::set<Digest> replaced;
  if (ledger.has("replaces")) {
    for (const std::string& hex : ledger.texts("replaces")) {
      const Result<Digest> replaced_id = digest_from_hex(hex);
      if (!replaced_id) ledger.problem("replaces", "expected ledgers' ids, 64 hexadecimal digits each");
      if (replaced_id) replaced.insert(*replaced_id);
    }
  }
  const auto folder_of = [](const std::filesystem::path& path) {
    std::error_code unresolved;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path), unresolved).parent_path();
  };
  if (folder_of(head_path) == folder_of(ledger_path)) {
    ledger.problem("head", "expected another folder than the ledger's: one backup would restore both, and hide it");
  }
  ledger.finish();
  const std::filesystem::path statements = folder / root.text("statements");
  net::SessionLimits session;
  if (root.has("session")) session = net::parse_session(root.object("session"));
  root.finish();
  if (!problems.none() || !id) return problems.error();
  return SiloConfig{*id,
                    consortium,
                    host,
                    port,
                    std::move(tls),
                    dataset_name,
                    csv,
                    std::move(schema),
                    split,
                    holdout_public,
                    std::move(policy),
                    ledger_path,
                    head_path,
                    key_path,
                    std::move(replaced),
                    statements,
                    std::chrono::milliseconds(first),
                    std::chrono::milliseconds(most),
                    session};
}

}  // namespace undertone::silo
