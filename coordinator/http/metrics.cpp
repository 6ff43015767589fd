#include "coordinator/http/metrics.hpp"

#include <fmt/format.h>

#include "shared/base/plain_text.hpp"

namespace undertone::coordinator {
namespace {

/// One family: its help, its type and then its samples.
class Family {
 public:
  Family(std::string& out, const char* name, const char* type, const char* help) : out_(&out), name_(name) {
    out += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  template <class Value>
  void add(const std::string& labels, Value value, const char* suffix = "") const {
    *out_ += fmt::format("{}{}{} {}\n", name_, suffix, labels.empty() ? "" : "{" + labels + "}", value);
  }

 private:
  std::string* out_;
  const char* name_;
};

void add_progress(std::string& out, const std::vector<Metrics::RunProgress>& under_way) {
  const auto labels = [](const Metrics::RunProgress& run) {
    return fmt::format("run=\"{}\",name={}", run.id, quoted_text(run.name));
  };
  const Family closed(out, "undertone_run_rounds_closed", "gauge", "Closed rounds of a run that is under way.");
  for (const Metrics::RunProgress& run : under_way) closed.add(labels(run), run.rounds_closed);
  const Family total(out, "undertone_run_rounds_planned", "gauge", "All rounds of the same run.");
  for (const Metrics::RunProgress& run : under_way) total.add(labels(run), run.rounds_total);
  const Family last(out, "undertone_run_last_metric", "gauge", "Of the same run's newest evaluation.");
  for (const Metrics::RunProgress& run : under_way) {
    for (const auto& [metric, value] : run.last_metrics)
      last.add(fmt::format("{},metric=\"{}\"", labels(run), metric), value);
  }
}

}  // namespace

void Metrics::round_closed(std::chrono::milliseconds elapsed, std::size_t missing) {
  ++rounds_;
  round_seconds_ += static_cast<double>(elapsed.count()) / 1000.0;
  lost_ += missing;
  for (std::size_t i = 0; i < kBucketsMs.size(); ++i) {
    if (elapsed.count() <= kBucketsMs[i]) ++round_buckets_[i];
  }
}

std::string Metrics::render(const Gauges& gauges) const {
  std::string out;
  const Family rounds(out, "undertone_round_seconds", "histogram", "Time from a query's broadcast to the round's end.");
  for (std::size_t i = 0; i < kBucketsMs.size(); ++i)
    rounds.add(fmt::format("le=\"{}\"", static_cast<double>(kBucketsMs[i]) / 1000.0), round_buckets_[i], "_bucket");
  rounds.add("le=\"+Inf\"", rounds_, "_bucket");
  rounds.add("", round_seconds_, "_sum");
  rounds.add("", rounds_, "_count");
  Family(out, "undertone_rounds_total", "counter", "Rounds that closed.").add("", rounds_);
  const Family replies(out, "undertone_replies_total", "counter", "Replies that came, by what became of them.");
  for (std::size_t i = 0; i < replies_.size(); ++i)
    replies.add(fmt::format("reception=\"{}\"", to_string(static_cast<Round::Reception>(i))), replies_[i]);
  Family(out, "undertone_replies_lost_total", "counter", "Answers that a closed round had to do without.")
      .add("", lost_);
  const Family bytes(out, "undertone_bytes_total", "counter", "Bytes of messages with silos, before TLS.");
  bytes.add("direction=\"received\"", bytes_received_ + gauges.open_bytes_received);
  bytes.add("direction=\"sent\"", bytes_sent_ + gauges.open_bytes_sent);
  const Family refused(out, "undertone_connections_refused_total", "counter", "Connections that were turned away.");
  for (const auto& [code, count] : refused_) refused.add(fmt::format("reason=\"{}\"", code), count);
  const Family http(out, "undertone_http_requests_total", "counter", "Requests to the HTTP service.");
  for (const auto& [status, count] : http_) http.add(fmt::format("status=\"{}\"", status), count);
  const Family runs(out, "undertone_runs", "gauge", "Runs in the store, by state.");
  for (const auto& [state, count] : gauges.runs) runs.add(fmt::format("state=\"{}\"", to_string(state)), count);
  add_progress(out, gauges.under_way);
  const Family connected(out, "undertone_silo_connected", "gauge", "Whether a silo is connected.");
  for (const auto& [silo, up] : gauges.silos) connected.add(fmt::format("silo=\"{}\"", silo.name()), up ? 1 : 0);
  const Family epsilon(out, "undertone_silo_epsilon_accepted", "gauge",
                       "Epsilon of all runs that a silo said it accepted; its own ledger is what counts.");
  for (const auto& [silo, charge] : gauges.charges)
    epsilon.add(fmt::format("silo=\"{}\"", silo.name()), charge.epsilon);
  const Family delta(out, "undertone_silo_delta_accepted", "gauge", "Delta of the same runs.");
  for (const auto& [silo, charge] : gauges.charges) delta.add(fmt::format("silo=\"{}\"", silo.name()), charge.delta);
  Family(out, "undertone_store_bytes", "gauge", "Size of the store.").add("", gauges.store_bytes);
  Family(out, "undertone_certificate_expiry_timestamp_seconds", "gauge", "When this coordinator's certificate ends.")
      .add("", gauges.certificate_expires_at);
  Family(out, "undertone_start_timestamp_seconds", "gauge", "When this process started.").add("", gauges.started_at);
  return out;
}

}  // namespace undertone::coordinator
