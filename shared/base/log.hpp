#pragma once

#include <string>

namespace undertone {

/// Sets up the process's log on standard error: for people on a terminal, JSON lines otherwise.
void start_log(const std::string& program);

/// Logs an event that a machine told: `name key=value ...`. What is not plain text in it is replaced.
void log_event(bool warning, const std::string& event);

}  // namespace undertone
