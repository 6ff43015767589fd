#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shared/config/job.hpp"

/// A job's file, as an operator or a lying coordinator might send it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto job = undertone::config::parse_job({reinterpret_cast<const char*>(data), size}, "job");
  if (job) (void)undertone::config::make_algorithm(*job)->start();
  return 0;
}
