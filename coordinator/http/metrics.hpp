#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/rounds/round.hpp"
#include "coordinator/runs/run_store.hpp"

namespace undertone::coordinator {

/// Counters of this process, and what is read from the store when they are shown. Nothing here is a silo's secret: it
/// is what the coordinator was sent, which was noised before it left.
class Metrics {
 public:
  void round_closed(std::chrono::milliseconds elapsed, std::size_t missing);
  void reply(Round::Reception reception) { ++replies_[static_cast<std::size_t>(reception)]; }
  void connection_refused(const std::string& code) { ++refused_[code]; }
  void http(int status) { ++http_[status]; }
  void bytes(std::uint64_t received, std::uint64_t sent) {
    bytes_received_ += received;
    bytes_sent_ += sent;
  }

  /// A run that is under way.
  struct RunProgress {
    std::string id;    // 12 digits
    std::string name;  // the job's
    std::uint64_t rounds_closed = 0;
    std::uint64_t rounds_total = 0;
    std::vector<std::pair<std::string, double>> last_metrics;  // of its newest evaluation
  };
  /// What changes without being counted.
  struct Gauges {
    std::map<RunState, std::int64_t> runs;
    std::map<SiloId, bool> silos;  // known ones, and whether they are connected
    std::map<SiloId, Charge> charges;
    std::int64_t store_bytes = 0;
    std::int64_t certificate_expires_at = 0;  // seconds since 1970
    std::int64_t started_at = 0;
    std::uint64_t open_bytes_received = 0;  // of connections that still stand
    std::uint64_t open_bytes_sent = 0;
    std::vector<RunProgress> under_way;
  };
  /// In Prometheus' text format, version 0.0.4.
  [[nodiscard]] std::string render(const Gauges& gauges) const;

 private:
  static constexpr std::array kBucketsMs = {1, 5, 10, 50, 100, 500, 1'000, 5'000, 30'000, 120'000};
  std::array<std::uint64_t, kBucketsMs.size()> round_buckets_{};
  std::uint64_t rounds_ = 0;
  double round_seconds_ = 0.0;
  std::uint64_t lost_ = 0;
  std::array<std::uint64_t, 6> replies_{};  // by Reception
  std::map<std::string, std::uint64_t> refused_;
  std::map<int, std::uint64_t> http_;
  std::uint64_t bytes_received_ = 0;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace undertone::coordinator
