#include "shared/service/clock.hpp"

#include <array>
#include <chrono>
#include <ctime>

namespace undertone::service {
namespace {

std::string utc(std::int64_t seconds, const char* format) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

}  // namespace

std::int64_t wall_clock() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_time(std::int64_t seconds) { return utc(seconds, "%Y-%m-%dT%H:%M:%SZ"); }

std::string utc_minute(std::int64_t seconds) { return utc(seconds, "%Y-%m-%d %H:%M UTC"); }

}  // namespace undertone::service
