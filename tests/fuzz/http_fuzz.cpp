#include <nlohmann/json.hpp>
#include <optional>

#include "coordinator/http/api.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::fuzz {
namespace {

using namespace coordinator;

/// A coordinator with a run under way, one that is queued and one that was cancelled; nothing that is asked changes it.
class Service {
 public:
  Service() : database_(store::Database::in_memory().value()), store_(RunStore::open(database_).value()) {
    service_.emplace(store_, wire::Limits{}, ServiceLimits{.runs_at_once = 1}, [] { return 1'763'716'143; });
    (void)service_->start(now_).value();
    const tests::SmallFederation federation;
    const PlannedJob planned = PlannedJob::plan(federation.job(), "job").value();
    const auto submit = [&](std::uint8_t nonce) {
      return service_->submit(planned, Nonce{nonce}, true, now_).value().run;
    };
    cancelled_ = submit(1);
    (void)service_->cancel(cancelled_, "enough", now_).value();
    under_way_ = submit(2);
    const auto silos = federation.cohort();
    for (const auto& silo : silos) {
      (void)service_->on_connected(silo.id, now_).value();
      (void)service_->on_message(silo.id, wire::JobAnswer{under_way_, std::nullopt}, now_).value();
    }
    UNDERTONE_CHECK(service_->machine(under_way_)->phase() == RunMachine::Phase::Round);
    ApiHooks hooks;
    hooks.cancel = [this](const RunId& run, const std::string& /*who*/) -> Status {
      if (run == under_way_) return {};
      return Error{run == cancelled_ ? ErrorCode::InvalidArgument : ErrorCode::UnknownRun, "no"};
    };
    hooks.make_sealing_key = [] { return Result<Digest>(Digest{}); };
    hooks.sessions = [silos] {
      return std::vector<SiloSession>{{silos.front().id, "build", 3, 1}, {SiloId::create("else").value(), "", 1, 0}};
    };
    hooks.gauges = [] { return Metrics::Gauges{}; };
    hooks.ready = [this] { return ready; };
    api_.emplace(*service_, folder_.path(), metrics_, std::move(hooks));
  }
  /// "@1" and "@2" stand for the runs, which no input hits by chance.
  [[nodiscard]] std::string with_runs(std::string target) const {
    for (const auto& [mark, run] : {std::pair("@1", &cancelled_), std::pair("@2", &under_way_)}) {
      for (std::size_t at = target.find(mark); at != std::string::npos; at = target.find(mark))
        target.replace(at, 2, run->hex());
    }
    return target;
  }
  [[nodiscard]] http::Reply handle(http::Request& request) {
    using What = Api::PlanningAsked::What;
    const std::optional<Api::PlanningAsked> asked = api_->planning_of(request);
    if (!asked) {
      http::Reply reply = api_->handle(request);
      return reply.work ? reply.work() : reply;
    }
    if (asked->what == What::Look) return Api::still_planning(asked->id, 1);
    if (asked->what == What::Cancel) return Api::planning_cancelled(asked->id);
    // No plan is made: an input's own would take long.
    const Result<jobs::ReadJob> read = jobs::read_job(request.body, "job");
    if (!read) return Api::refusal(read.error());
    return api_->submitted(request.body,
                           ApiHooks::Submitted{under_way_, asked->purpose == PlanningPurpose::SubmitAgain});
  }

  bool ready = true;

 private:
  TimePoint now_{};
  store::Database database_;
  RunStore store_;
  std::optional<JobService> service_;
  RunId cancelled_;
  RunId under_way_;
  tests::TemporaryFolder folder_;
  Metrics metrics_;
  std::optional<Api> api_;
};

/// A request as far as it is ours: Beast has parsed it, or refused it. First whether its sender is authorised, then
/// method and target, a line each, and the body.
void http(std::string_view bytes) {
  static Service service;
  Input input(bytes);
  const std::uint8_t flags = input.byte();
  service.ready = (flags & 2U) == 0;
  const std::string method(input.take_until('\n'));
  const std::string target = service.with_runs(std::string(input.take_until('\n')));
  http::Request request{method, target, std::string(input.rest()),
                        (flags & 1U) == 0 ? http::Rights::Change : http::Rights::None};
  const http::Reply reply = service.handle(request);
  UNDERTONE_CHECK(reply.status >= 200 && reply.status < 600);
  UNDERTONE_CHECK(reply.content_type.find_first_of("\r\n") == std::string::npos);
  if (reply.content_type == "application/json") UNDERTONE_CHECK(nlohmann::json::accept(reply.body));
  if (request.rights == http::Rights::None && reply.status != 401) {
    UNDERTONE_CHECK(reply.content_type == "text/plain" && reply.body.size() < 16);  // healthz and readyz
  }
}

const Target kTarget("http", http);

}  // namespace
}  // namespace undertone::fuzz
