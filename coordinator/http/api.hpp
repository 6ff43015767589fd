#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/http/metrics.hpp"
#include "coordinator/jobs/job_service.hpp"

namespace undertone::coordinator {

/// An HTTP request, as far as the service cares.
struct ApiRequest {
  std::string method;  // GET stands for HEAD too
  std::string target;  // path and query
  std::string body;
  bool authorised = false;  // an operator's certificate or the token
  std::string who = {};     // "the operator alice", "whoever holds the token"
};

struct ApiReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow = {};  // of 405: the methods that the resource has
  std::string event = {};  // what it did, for the log: "job_queued run=... job=..."
};
/// {"error": {"code": ..., "message": ...}}, as every refusal says it.
[[nodiscard]] ApiReply error_reply(int status, std::string_view code, const std::string& message);

/// A silo's session, for people.
struct SiloSession {
  SiloId silo;
  std::string build;
  std::uint32_t protocol = 0;
  std::int64_t since = 0;  // seconds since 1970
};

/// What the API asks of the process around it.
struct ApiHooks {
  struct Submitted {
    RunId run;
    bool created = false;
  };
  std::function<Status(const RunId& run, const std::string& who)> cancel;
  std::function<Result<Digest>()> make_sealing_key;
  std::function<std::vector<SiloSession>()> sessions;
  std::function<Metrics::Gauges()> gauges;
  std::function<bool()> ready;
  std::function<bool(const RunId& run)> being_written = {};  // its results
  std::function<TimePoint()> now = {};                       // of the clock that the service is told of
  /// Why the last session of a silo that is away ended; empty where that is not known.
  std::function<std::string(const SiloId& silo)> why_away = {};
};

/// The coordinator's HTTP interface, version 1, without sockets: docs/api.md and docs/openapi.json describe it.
/// Errors are {"error": {"code", "message"}}.
class Api {
 public:
  Api(const JobService& service, std::filesystem::path results, Metrics& metrics, ApiHooks hooks);
  /// A request that concerns the planning of jobs. The planning desk answers it, and not this class.
  struct PlanningAsked {
    enum class What : std::uint8_t {
      Enter,  // an operator submits a job that no run is of
      Look,   // how far one is
      Cancel  // one is not wanted any more
    };
    What what = What::Enter;
    std::string id;      // of the planning, but for Enter
    bool again = false;  // of Enter
  };
  [[nodiscard]] std::optional<PlanningAsked> planning_of(const ApiRequest& request) const;
  /// The answer to a job that was planned and submitted, or refused. @param text the job's
  [[nodiscard]] ApiReply submitted(const std::string& text, const Result<ApiHooks::Submitted>& outcome) const;
  /// 202: it is not planned yet. @param before jobs that came before it
  [[nodiscard]] static ApiReply still_planning(const std::string& id, std::size_t before);
  [[nodiscard]] static ApiReply planning_cancelled(const std::string& id);
  [[nodiscard]] static ApiReply refusal(const Error& error);
  /// A reply that somebody else made, for the metrics.
  [[nodiscard]] ApiReply counted(ApiReply reply) const;

  [[nodiscard]] ApiReply handle(const ApiRequest& request);

 private:
  struct Target;
  [[nodiscard]] ApiReply route(const ApiRequest& request, const Target& target);
  [[nodiscard]] ApiReply known_run(const ApiRequest& request, const Target& target) const;
  [[nodiscard]] nlohmann::ordered_json never_seen(const std::string& text) const;
  [[nodiscard]] ApiReply list(const Target& target);
  [[nodiscard]] ApiReply of_run(const ApiRequest& request, const Target& target);
  [[nodiscard]] ApiReply one_run(const RunRecord& run);
  [[nodiscard]] ApiReply cancel(const RunRecord& run, const std::string& who);
  [[nodiscard]] ApiReply file_of(const RunRecord& run, const std::string& part);
  [[nodiscard]] ApiReply rounds(const RunRecord& run, const Target& target);
  /// The metrics of all runs that are under way: no more than run at once.
  [[nodiscard]] std::vector<Metrics::RunProgress> under_way();
  [[nodiscard]] ApiReply silos();

  const JobService* service_;
  std::filesystem::path results_;
  Metrics* metrics_;
  ApiHooks hooks_;
};

}  // namespace undertone::coordinator
