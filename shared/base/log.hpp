#pragma once

#include <string>

#include "shared/base/line_budget.hpp"

namespace undertone {

/// Sets up the process's log on standard error: for people on a terminal, JSON lines otherwise,
/// whose members are the event's fields (@see event_fields). The environment's SPDLOG_LEVEL, such as "debug", says what
/// is shown; without it what is "info" or worse.
void start_log(const std::string& program);

/// From here on the process goes on where whoever reads its log or its output goes away, as the other side of a pipe
/// may. For services; commands end then, as their users expect.
void outlive_readers();

/// Logs an event that a machine told: `name key=value ...`. What is not plain text in it is replaced.
void log_event(bool warning, const std::string& event);

/// Logs a warning about somebody who is not known, as long as the budget lasts.
void log_within(LineBudget& budget, const std::string& event);

}  // namespace undertone
