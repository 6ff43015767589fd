#include "shared/base/work_meter.hpp"

#include <utility>

namespace undertone {
namespace {

thread_local WorkMeter* innermost = nullptr;

}  // namespace

WorkMeter::WorkMeter(std::uint64_t most, const std::atomic<bool>* cancelled) noexcept
    : most_(most), cancelled_(cancelled), outer_(std::exchange(innermost, this)) {}

WorkMeter::~WorkMeter() { innermost = outer_; }

void WorkMeter::charge(std::uint64_t operations) noexcept {
  for (WorkMeter* meter = innermost; meter != nullptr; meter = meter->outer_) {
    const std::uint64_t sum = meter->done_ + operations;
    meter->done_ = sum < operations ? UINT64_MAX : sum;
  }
}

bool WorkMeter::stopped() noexcept {
  for (const WorkMeter* meter = innermost; meter != nullptr; meter = meter->outer_)
    if (meter->exhausted() || meter->cancelled()) return true;
  return false;
}

}  // namespace undertone
