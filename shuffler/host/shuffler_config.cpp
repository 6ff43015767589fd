#include "shuffler/host/shuffler_config.hpp"

#include "shared/certificates/party.hpp"
#include "shared/net/session_config.hpp"

namespace undertone::shuffler {
namespace {

constexpr std::int64_t kSilosMax = static_cast<std::int64_t>(wire::kBatchSilosMax);
constexpr std::int64_t kDeadlineMillisecondsMax = 86'400'000;  // a job's longest round

Limits parse_limits(config::Section section) {
  Limits out;
  const auto count = [&section](const char* key, std::size_t& value, std::int64_t least, std::int64_t most,
                                const char* about) {
    if (section.has(key)) value = static_cast<std::size_t>(section.integer(key, least, most, about));
  };
  count("replies_min", out.replies_min, 2, kSilosMax,
        "no batch is opened that would do with fewer replies, whatever its job says (default 2)");
  count("silos_max", out.silos_max, 2, kSilosMax, "that a batch may expect (default 4096)");
  count("message_bytes_max", out.message_bytes_max, 1024, std::int64_t{1} << 33, "of a silo's reply (default 2^26)");
  count("batches_max", out.batches_max, 1, 10'000, "collected or forwarded at a time (default 64)");
  count("held_bytes_max", out.held_bytes_max, 1024, std::int64_t{1} << 40,
        "of all batches' replies together; memory can reach three times this (default 2^29)");
  count("held_units_max", out.held_units_max, 2, std::int64_t{1} << 32,
        "sealed units in all batches' replies together; a hundred bytes each besides (default 2^22)");
  count("runs_max", out.runs_max, 1, 10'000'000,
        "remembered for good, so that no round is batched twice (default 100000)");
  if (section.has("deadline_max_ms")) {
    out.deadline_max = std::chrono::milliseconds(
        section.integer("deadline_max_ms", 1, kDeadlineMillisecondsMax, "of a batch (default 86400000, a day)"));
  }
  if (section.has("undelivered_max_hours")) {
    out.undelivered_max = std::chrono::hours(section.integer(
        "undelivered_max_hours", 1, 24 * 365, "then a batch that the coordinator never took is wiped (default 168)"));
  }
  section.finish();
  return out;
}

}  // namespace

Result<ShufflerConfig> parse_shuffler_config(const nlohmann::json& document, const std::filesystem::path& folder,
                                             config::Problems& problems) {
  config::Section root(document, "", problems);
  (void)root.choice<int>("format", {{"undertone.shuffler/1", 1}}, "what this file is");
  ShufflerConfig out;
  out.consortium = root.text("consortium", "the consortium's name: the O of its certificates");
  out.name = root.text("name", "the CN of this shuffler's certificate; jobs name it so");
  const Status good = certificates::check_party({out.consortium, certificates::Role::Shuffler, out.name});
  if (!good && !out.name.empty() && !out.consortium.empty()) root.problem("name", good.error().message);
  config::Section listen = root.object("listen", "for silos and the coordinator");
  out.host = listen.text("host", "an address of this machine; 0.0.0.0 for all");
  out.port = static_cast<std::uint16_t>(listen.integer("port", 0, 65535, "0: any free one"));
  listen.finish();
  out.tls = net::parse_tls(root.object("tls", "PEM files; renewed ones serve without a restart"), folder);
  out.store = folder / root.text("store",
                                 "the file that batches are kept in: on an encrypted volume of its own that no "
                                 "backup or snapshot reads");
  out.sealing_key = folder / root.text("sealing_key",
                                       "the secret that shares are opened with; undertone-shuffler key "
                                       "makes it");
  out.connections_max = root.has("connections_max")
                            ? static_cast<std::size_t>(root.integer("connections_max", 1, 100'000,
                                                                    "at once, authenticated or not (default 1024)"))
                            : 1024;
  if (out.store == out.sealing_key && !root.recording())
    root.problem("sealing_key", "expected another file than the store");
  if (root.has("limits")) out.limits = parse_limits(root.object("limits", "of what others can make it hold"));
  if (root.has("session")) out.session = net::parse_session(root.object("session", "limits of the connections"));
  if (out.session.protocol_max < kProtocolMin) {
    root.problem("session",
                 fmt::format("expected protocol_max of {} or more, before which there were no shufflers, got {}",
                             kProtocolMin, out.session.protocol_max));
  }
  root.finish();
  if (!problems.none()) return problems.error();
  return out;
}

Result<ShufflerConfig> load_shuffler_config(const std::filesystem::path& file) {
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(file, 1U << 20U));
  config::Problems problems(file.string());
  return parse_shuffler_config(document.root, file.parent_path(), problems);
}

}  // namespace undertone::shuffler
