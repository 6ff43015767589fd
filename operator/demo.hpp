#pragma once

#include "operator/deployment.hpp"

namespace undertone::operators {

/// A whole federation on this machine: a coordinator and every silo of the job as processes of their own over TLS,
/// restarted when they die; then the accuracy beside that without privacy, and every silo's privacy statement.
[[nodiscard]] Status run_demo(const DeploymentOptions& options);

}  // namespace undertone::operators
