#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "coordinator/host/advance_pool.hpp"
#include "coordinator/host/coordinator_config.hpp"
#include "coordinator/host/planning_desk.hpp"
#include "coordinator/host/result_writer.hpp"
#include "coordinator/host/round_log.hpp"
#include "coordinator/host/work_marks.hpp"
#include "coordinator/http/api.hpp"
#include "coordinator/jobs/job_service.hpp"
#include "shared/base/line_budget.hpp"
#include "shared/http/aside.hpp"
#include "shared/http/server.hpp"
#include "shared/net/listener.hpp"
#include "shared/net/session.hpp"

namespace undertone::coordinator {

/// Sockets and a clock around the job service: reads messages, feeds the service, does what it says, writes results.
class CoordinatorHost {
 public:
  using Watch = std::function<void(const JobService::OfRun&)>;
  /// @param watch sees what the runs do, as it happens, and their ends when their results are written; may be null
  /// @param make_algorithm empty: each job's own, with the public records of the configuration's folder
  CoordinatorHost(boost::asio::io_context& context, const CoordinatorConfig& config, RunStore& store, Watch watch,
                  jobs::AlgorithmMaker make_algorithm = {});
  ~CoordinatorHost();
  CoordinatorHost(const CoordinatorHost&) = delete;
  CoordinatorHost& operator=(const CoordinatorHost&) = delete;

  /// Binds, resumes what the store holds and begins to accept.
  struct Ports {
    std::uint16_t silos = 0;
    std::uint16_t http = 0;  // 0: no HTTP service
  };
  [[nodiscard]] Result<Ports> start();
  /// Stops accepting and lets every session say what it has to say.
  void stop();

  /// Plans and queues a job; nothing else happens meanwhile.
  [[nodiscard]] Result<JobService::Submitted> submit(const std::string& job, const std::string& file,
                                                     const Nonce& nonce, bool again);
  /// Whether results of runs that have ended are still to be written.
  [[nodiscard]] bool is_writing() const noexcept { return !being_written_.empty() || !missing_results_.empty(); }
  [[nodiscard]] const JobService& service() const noexcept { return service_; }
  /// An error that stopped the host itself: its store failed.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  [[nodiscard]] std::filesystem::path results_of(const RunId& run) const { return config_.results / run.hex(); }

 private:
  using SessionPtr = std::shared_ptr<net::Session>;
  struct Peer {
    SessionPtr session;
    SiloSession facts;
  };
  struct Greeted {
    SiloId silo;
    std::string build;
    std::uint32_t protocol = 0;
    std::int64_t certificate_ends = 0;
  };
  [[nodiscard]] Status load_credentials();
  [[nodiscard]] boost::asio::awaitable<void> accept();
  [[nodiscard]] boost::asio::awaitable<void> serve(SessionPtr session);
  [[nodiscard]] boost::asio::awaitable<Result<Greeted>> greet(SessionPtr session);
  /// Whether a run waits for a large vector of the silo. One that none waits for is counted and logged.
  [[nodiscard]] bool expects(const SiloId& silo, const wire::VectorHeader& header);
  /// Renewed certificates and revocations, warnings before expiry, results that a crash kept from being written.
  [[nodiscard]] boost::asio::awaitable<void> keep_house();
  /// One commit a second, whatever the silos say.
  [[nodiscard]] boost::asio::awaitable<void> write_what_silos_said();
  void handle(Result<JobService::Actions> actions);
  void handle(const JobService::OfRun& said);
  /// Has the result written; whoever watches hears of the end when it is.
  void write_result(const RunId& run, const RunMachine::Ended& ended);
  void on_written(const RunId& run, const ResultWriter::OutcomePtr& outcome, const std::string& state,
                  const Status& written);
  /// Results that a crash kept from being written, one after the other.
  void write_missing_results();
  void write_next_missing();
  [[nodiscard]] bool is_being_written(const RunId& run) const;
  void arm(TimePoint at);
  /// Keeps a session with each configured shuffler.
  void dial_shufflers();
  [[nodiscard]] Metrics::Gauges gauges() const;
  [[nodiscard]] ApiHooks hooks();
  /// Answers a request. A job that is submitted is planned on the planning desk's threads, where no other request
  /// waits for it. Every other request is answered at once.
  [[nodiscard]] boost::asio::awaitable<http::Reply> answer(http::Request request);
  [[nodiscard]] boost::asio::awaitable<http::Reply> answer_planning(http::Request request, Api::PlanningAsked asked);
  [[nodiscard]] Result<JobService::Submitted> submit(const PlannedJob& planned, const std::string& file,
                                                     const Nonce& nonce, bool again);

  boost::asio::io_context* context_;
  CoordinatorConfig config_;
  RunStore* store_;
  Watch watch_;
  bool stopped_ = false;
  std::set<RunId> being_written_;      // results
  std::deque<RunId> missing_results_;  // still to be written
  ResultWriter writer_;
  WorkMarks marks_;
  AdvancePool advances_;  // joined once the service is gone, which waits for none of them then
  JobService service_;
  Metrics metrics_;
  http::Changes changes_;
  RoundLog round_log_;
  Api api_;
  PlanningDesk planning_;  // its threads are joined before anything that it submits to goes
  std::optional<net::Credentials> credentials_;
  std::optional<net::Credentials> http_credentials_;
  std::optional<net::Credentials> dialling_;  // to shufflers, the client's side
  std::optional<http::Server> http_;
  http::Aside aside_;  // reads results and makes reports
  std::shared_ptr<net::AssemblyGate> gate_;
  net::Listener listener_;
  LineBudget refusals_;
  LineBudget refused_vectors_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer housekeeping_;
  boost::asio::steady_timer flushing_;
  std::map<SiloId, Peer> peers_;
  std::map<SiloId, std::string> why_away_;                   // of silos that had a session, by certificate
  std::map<std::string, std::unique_ptr<net::Link>> links_;  // to shufflers
  std::int64_t started_at_ = 0;
  std::optional<Error> failure_;
};

/// A nonce from the operating system.
[[nodiscard]] Nonce draw_nonce();

}  // namespace undertone::coordinator
