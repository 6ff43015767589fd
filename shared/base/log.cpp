#include "shared/base/log.hpp"

#include <csignal>
#include <spdlog/cfg/env.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "shared/base/event_fields.hpp"
#include "shared/base/plain_text.hpp"

namespace undertone {
namespace {

/// The payload as members of a JSON object.
class EventFields final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/, spdlog::memory_buf_t& out) override {
    const std::string payload(message.payload.data(), message.payload.size());
    const std::string text = event_fields(payload);
    out.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EventFields>();
  }
};

}  // namespace

void outlive_readers() { std::signal(SIGPIPE, SIG_IGN); }

void start_log(const std::string& program) {
  auto log = spdlog::stderr_color_mt(program);
  if (isatty(STDERR_FILENO) != 0) {
    log->set_pattern("%H:%M:%S %^%-7l%$ %n  %v");
  } else {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<EventFields>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","program":"%n",%*})");
    log->set_formatter(std::move(formatter));
  }
  spdlog::set_default_logger(std::move(log));
  spdlog::cfg::load_env_levels();  // SPDLOG_LEVEL
  spdlog::flush_on(spdlog::level::info);
}

void log_event(bool warning, const std::string& text) {
  const std::string event = plain_text(text);
  if (warning) {
    spdlog::warn("{}", event);
  } else {
    spdlog::info("{}", event);
  }
}

void log_within(LineBudget& budget, const std::string& event) {
  const LineBudget::Verdict verdict = budget.ask(std::chrono::steady_clock::now());
  if (verdict.left_out > 0) spdlog::warn("lines_left_out count={}", verdict.left_out);
  if (verdict.log) log_event(true, event);
}

}  // namespace undertone
