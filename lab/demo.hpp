#pragma once

#include <filesystem>

#include "shared/base/result.hpp"

namespace undertone::lab {

struct DemoOptions {
  std::filesystem::path job;       // with a simulation section, which says where the data are
  std::filesystem::path folder;    // must not exist: data, keys and ledgers of the demo are made there
  std::filesystem::path programs;  // where undertone-coordinator and undertone-silo are
  std::filesystem::path make_certificates;
};

/// A whole federation on this machine: a coordinator and every silo of the job as processes of their own over TLS,
/// restarted when they die; then the accuracy beside that without privacy, and every silo's privacy statement.
[[nodiscard]] Status run_demo(const DemoOptions& options);

}  // namespace undertone::lab
