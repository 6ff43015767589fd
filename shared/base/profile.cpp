#include "shared/base/profile.hpp"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

namespace undertone {
namespace {

double milliseconds(const timeval& time) {
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
}

}  // namespace

Profile::Profile(bool wanted)
    : totals_(wanted ? std::make_unique<SpanTotals>() : nullptr), since_(std::chrono::steady_clock::now()) {
  if (totals_) count_spans_in(totals_.get());
}

Profile::~Profile() {
  if (!totals_) return;
  count_spans_in(nullptr);
  for (std::size_t i = 0; i < kActivities; ++i) {
    const SpanTotals::Total& total = totals_->of[i];
    spdlog::info("profile activity={} times={} us={}", name_of(static_cast<Activity>(i)), total.times.load(),
                 total.nanoseconds.load() / 1000);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  spdlog::info("profile user_ms={:.0f} system_ms={:.0f} wall_ms={:.0f}", milliseconds(usage.ru_utime),
               milliseconds(usage.ru_stime),
               std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since_).count());
}

}  // namespace undertone
