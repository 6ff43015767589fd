#pragma once

#include <string>

#include "silo/agent/silo_machine.hpp"

namespace undertone::silo {

/// Whether the job says how much noise its releases have, and the accountant only what that costs.
[[nodiscard]] bool names_its_noise(const planning::Plan& plan);

/// What taking part in a job would release and cost, in plain words for the owner who decides.
/// @param reserved what the data set's ledger has reserved so far, of `budget`
[[nodiscard]] std::string describe_job(const RunId& run, const SiloMachine::Accepted& considered, const SiloId& silo,
                                       const std::string& dataset, const Budget& reserved, const Budget& budget,
                                       const silo::GaussianFilter* filter);

}  // namespace undertone::silo
