#include "coordinator/host/coordinator_config.hpp"

#include "shared/config/json_section.hpp"
#include "shared/net/session_config.hpp"

namespace undertone::coordinator {

Result<CoordinatorConfig> load_coordinator_config(const std::filesystem::path& file) {
  const Result<config::JsonDocument> document = config::load_json(file, 1U << 20U);
  if (!document) return document.error();
  const std::filesystem::path folder = file.parent_path();
  config::Problems problems(file.string());
  config::Section root(document->root, "", problems);
  (void)root.choice<int>("format", {{"undertone.coordinator/1", 1}});
  CoordinatorConfig out;
  out.consortium = root.text("consortium");
  config::Section listen = root.object("listen");
  out.host = listen.text("host");
  out.port = static_cast<std::uint16_t>(listen.integer("port", 0, 65535));
  out.connections_max =
      listen.has("connections_max") ? static_cast<std::size_t>(listen.integer("connections_max", 1, 100'000)) : 1024;
  listen.finish();
  out.tls = net::parse_tls(root.object("tls"), folder);
  out.store = folder / root.text("store");
  out.results = folder / root.text("results");
  if (root.has("session")) out.session = net::parse_session(root.object("session"));
  root.finish();
  if (!problems.none()) return problems.error();
  return out;
}

}  // namespace undertone::coordinator
