#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/http/metrics.hpp"
#include "coordinator/jobs/job_service.hpp"
#include "shared/http/message.hpp"

namespace undertone::coordinator {

/// A silo's session, for people.
struct SiloSession {
  SiloId silo;
  std::string build;
  std::uint32_t protocol = 0;
  std::int64_t since = 0;  // seconds since 1970
  std::int64_t certificate_ends = 0;
  std::int64_t last_answer = 0;  // 0: none on this connection
};

/// Says why a job is planned.
enum class PlanningPurpose : std::uint8_t { Submit, SubmitAgain, Show };

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
  /// The shufflers that this coordinator dials, and whether each is connected.
  std::function<std::map<std::string, bool>()> shufflers = {};
  /// Pages are told of these; it is null where there are no pages.
  http::Changes* changes = nullptr;
};

/// The coordinator's HTTP interface, version 1, without sockets: docs/api.md and docs/openapi.json describe it.
/// Errors are {"error": {"code", "message"}}.
class Api {
 public:
  Api(const JobService& service, std::filesystem::path results, Metrics& metrics, ApiHooks hooks);
  /// A request that concerns the planning of jobs. The planning desk answers it, and not this class.
  struct PlanningAsked {
    enum class What : std::uint8_t {
      Enter,  // an operator submits a job that no run is of, or wants to see its plan
      Look,   // how far one is
      Cancel  // one is not wanted any more
    };
    What what = What::Enter;
    std::string id;                                     // of the planning, but for Enter
    PlanningPurpose purpose = PlanningPurpose::Submit;  // of Enter
    std::string page = {};                              // that shows plans: its newer one takes the older one's place
  };
  [[nodiscard]] std::optional<PlanningAsked> planning_of(const http::Request& request) const;
  /// The answer to a job that was planned and submitted, or refused. @param text the job's
  [[nodiscard]] http::Reply submitted(const std::string& text, const Result<ApiHooks::Submitted>& outcome) const;
  /// The answer to a job whose plan somebody wanted to see. @param plan as `undertone plan --json` prints it
  [[nodiscard]] static http::Reply shown_plan(const Result<std::string>& plan);
  /// 202: it is not planned yet. @param before jobs that came before it
  [[nodiscard]] static http::Reply still_planning(const std::string& id, std::size_t before);
  [[nodiscard]] static http::Reply planning_cancelled(const std::string& id);
  [[nodiscard]] static http::Reply refusal(const Error& error);
  /// A reply that somebody else made, for the metrics.
  [[nodiscard]] http::Reply counted(http::Reply reply) const;

  [[nodiscard]] http::Reply handle(const http::Request& request);

 private:
  struct Target;
  [[nodiscard]] http::Reply route(const http::Request& request, const Target& target);
  [[nodiscard]] http::Reply known_run(const http::Request& request, const Target& target) const;
  [[nodiscard]] nlohmann::ordered_json never_seen(const std::string& text) const;
  [[nodiscard]] http::Reply list(const Target& target);
  [[nodiscard]] http::Reply of_run(const http::Request& request, const Target& target);
  [[nodiscard]] http::Reply one_run(const RunRecord& run);
  [[nodiscard]] http::Reply cancel(const RunRecord& run, const std::string& who);
  /// The rest of an answer that is made of a run's result, by any thread. @param part of the path
  [[nodiscard]] http::Reply of_result(const RunRecord& run, const std::string& part, const Target& target) const;
  [[nodiscard]] http::Reply rounds(const RunRecord& run, const Target& target);
  /// The metrics of all runs that are under way: no more than run at once.
  [[nodiscard]] std::vector<Metrics::RunProgress> under_way();
  [[nodiscard]] http::Reply silos();

  const JobService* service_;
  std::filesystem::path results_;
  Metrics* metrics_;
  ApiHooks hooks_;
};

}  // namespace undertone::coordinator
