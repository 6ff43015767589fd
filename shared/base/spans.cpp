#include "shared/base/spans.hpp"

namespace undertone {
namespace {

std::atomic<SpanTotals*> spans_counted_in{nullptr};
thread_local Span* innermost_span = nullptr;

}  // namespace

const char* name_of(Activity activity) noexcept {
  switch (activity) {
    case Activity::Signing:
      return "signing";
    case Activity::Hashing:
      return "hashing";
    case Activity::Querying:
      return "querying";
    case Activity::Committing:
      return "committing";
    case Activity::WritingHead:
      return "writing_head";
    case Activity::Encoding:
      return "encoding";
    case Activity::Decoding:
      return "decoding";
    case Activity::Computing:
      return "computing";
  }
  return "";
}

void count_spans_in(SpanTotals* totals) noexcept { spans_counted_in.store(totals, std::memory_order_relaxed); }

Span::Span(Activity activity) noexcept
    : totals_(spans_counted_in.load(std::memory_order_relaxed)), activity_(activity) {
  if (totals_ == nullptr) return;
  since_ = Clock::now();
  around_ = innermost_span;
  if (around_ != nullptr) around_->add_until(since_);
  innermost_span = this;
  totals_->of[static_cast<std::size_t>(activity_)].times.fetch_add(1, std::memory_order_relaxed);
}

Span::~Span() {
  if (totals_ == nullptr) return;
  const Clock::time_point now = Clock::now();
  add_until(now);
  innermost_span = around_;
  if (around_ != nullptr) around_->since_ = now;
}

void Span::add_until(Clock::time_point now) noexcept {
  const auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(now - since_).count();
  totals_->of[static_cast<std::size_t>(activity_)].nanoseconds.fetch_add(static_cast<std::uint64_t>(spent),
                                                                         std::memory_order_relaxed);
}

}  // namespace undertone
