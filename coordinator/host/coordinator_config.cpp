#include "coordinator/host/coordinator_config.hpp"

#include "shared/jobs/job.hpp"
#include "shared/net/session_config.hpp"

namespace undertone::coordinator {
namespace {

http::ServerConfig parse_http(config::Section section, const std::filesystem::path& folder) {
  http::ServerConfig out;
  out.program = "undertone-coordinator";
  out.body_max = jobs::kJobBytesMax;
  out.host = section.text("host", "an address; anything but loopback needs tls");
  out.port = static_cast<std::uint16_t>(section.integer("port", 0, 65535, "0: any free one"));
  out.tls =
      section.boolean("tls", "true: HTTPS with this coordinator's certificate; operators' certificates are let in");
  if (section.has("token_file"))
    out.token_file = folder / section.text("token_file", "a file with a token of 32 characters or more that is let in");
  if (section.has("viewer_token_file"))
    out.viewer_token_file =
        folder /
        section.text("viewer_token_file", "a file with another such token; who has it looks, and changes nothing");
  if (section.has("names"))
    out.names = section.texts("names",
                              "hosts that browsers may call this service by where it has no tls, beside addresses and "
                              "localhost: of a proxy in front of it (default none)");
  if (section.has("connections_max"))
    out.connections_max =
        static_cast<std::size_t>(section.integer("connections_max", 1, 10'000, "at once (default 64)"));
  if (section.has("timeout_ms"))
    out.timeout = std::chrono::milliseconds(
        section.integer("timeout_ms", 10, 600'000, "for a request, and for its answer to be taken (default 10000)"));
  if (!section.recording() && !out.tls && out.token_file.empty())
    section.problem("tls", "expected tls or a token_file: otherwise nobody could be let in");
  section.finish();
  return out;
}

ServiceLimits parse_limits(config::Section section) {
  ServiceLimits out;
  const auto count = [&section](const char* key, std::size_t& value, std::int64_t most, const char* about) {
    if (section.has(key)) value = static_cast<std::size_t>(section.integer(key, 1, most, about));
  };
  count("runs_at_once", out.runs_at_once, 64, "runs under way at a time; the others wait (default 4)");
  count("runs_queued_max", out.runs_queued_max, 100'000, "runs that may wait (default 1000)");
  count("runs_kept_max", out.runs_kept_max, 1'000'000, "ended runs that are kept, with their results (default 10000)");
  if (section.has("runs_kept_days")) {
    out.runs_kept = std::chrono::hours(
        24 * section.integer("runs_kept_days", 1, 36'500, "how long ended runs are kept (default 365)"));
  }
  section.finish();
  return out;
}

}  // namespace

Result<CoordinatorConfig> parse_coordinator_config(const nlohmann::json& document, const std::filesystem::path& folder,
                                                   config::Problems& problems) {
  config::Section root(document, "", problems);
  (void)root.choice<int>("format", {{"undertone.coordinator/1", 1}}, "what this file is");
  CoordinatorConfig out;
  out.consortium = root.text("consortium", "the consortium's name: the O of its certificates");
  if (root.has("name"))
    out.name = root.text("name", "the CN of this coordinator's certificate (default: what it says)");
  config::Section listen = root.object("listen", "for silos");
  out.host = listen.text("host", "an address of this machine; 0.0.0.0 for all");
  out.port = static_cast<std::uint16_t>(listen.integer("port", 0, 65535, "0: any free one"));
  out.connections_max = listen.has("connections_max")
                            ? static_cast<std::size_t>(listen.integer("connections_max", 1, 100'000,
                                                                      "at once, authenticated or not (default 1024)"))
                            : 1024;
  listen.finish();
  out.tls = net::parse_tls(root.object("tls", "PEM files; renewed ones serve without a restart"), folder);
  out.store = folder / root.text("store", "the file that everything is kept in");
  out.results = folder / root.text("results", "a folder; each run gets one in it");
  if (root.has("public_folder"))
    out.public_folder =
        folder / root.text("public_folder",
                           "a folder of CSV files with public records that jobs may name (default: none, and such jobs "
                           "are refused)");
  out.shufflers = net::parse_shufflers(root);
  if (root.has("http")) out.http = parse_http(root.object("http", "the HTTP service (default: none)"), folder);
  if (root.has("limits")) out.limits = parse_limits(root.object("limits", "of the queue and of what is kept"));
  if (root.has("session")) out.session = net::parse_session(root.object("session", "limits of the silos' connections"));
  root.finish();
  if (!problems.none()) return problems.error();
  return out;
}

Result<CoordinatorConfig> load_coordinator_config(const std::filesystem::path& file) {
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(file, 1U << 20U));
  config::Problems problems(file.string());
  return parse_coordinator_config(document.root, file.parent_path(), problems);
}

}  // namespace undertone::coordinator
