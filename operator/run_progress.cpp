#include "operator/run_progress.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <vector>

#include "operator/round_lines.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/service/clock.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kNoNews = 5;  // seconds by which a deadline may seem to move
constexpr std::size_t kBarLeast = 10;
constexpr std::size_t kBarMost = 30;

std::string plain(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? plain_text(object[key].get<std::string>()) : "";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

/// The beginning of a text, at most so many bytes of it, in whole characters.
std::string cut(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return text.substr(0, bytes);
}

/// The silos that something is missing of, with the reason.
std::vector<std::string> missing(const Json& run, bool also_computing) {
  std::vector<std::string> out;
  for (const Json& silo : run.at("silos")) {
    const std::string why = plain(silo, "why_missing");
    if (!why.empty() && (also_computing || why != "computing"))
      out.push_back(fmt::format("{} ({})", plain(silo, "silo"), why));
  }
  return out;
}

/// What the cohort's owners said to the offer.
struct OwnersAnswers {
  std::vector<std::string> accepted;
  std::vector<std::string> refused;
  std::vector<std::string> awaited;  // with what is known of why
};

OwnersAnswers answers_of(const Json& run) {
  OwnersAnswers out;
  for (const Json& silo : run.at("silos")) {
    const std::string name = plain(silo, "silo");
    const std::string answer = plain(silo, "answer");
    const std::string why = plain(silo, "why_missing");
    if (answer == "accepted") {
      out.accepted.push_back(name);
    } else if (answer.starts_with("refused: ")) {
      out.refused.push_back(fmt::format("{} ({})", name, answer.substr(9)));
    } else {
      out.awaited.push_back(why.empty() ? name : fmt::format("{} ({})", name, why));
    }
  }
  return out;
}

double largest_epsilon_of(const Json& run) {
  double largest = 0.0;
  for (const Json& silo : run.at("silos")) largest = std::max(largest, silo.at("epsilon").get<double>());
  return largest;
}

}  // namespace

std::string shown_duration(double seconds) {
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  const double minutes = std::round(seconds / 60.0);
  if (minutes < 100.0) return fmt::format("{:.0f} min", minutes);
  if (minutes < 48.0 * 60.0)
    return fmt::format("{:.0f} h {:.0f} min", std::floor(minutes / 60.0), std::fmod(minutes, 60.0));
  const double hours = std::round(seconds / 3600.0);
  return fmt::format("{:.0f} d {:.0f} h", std::floor(hours / 24.0), std::fmod(hours, 24.0));
}

std::string RunProgress::closed(const Json& round, const Json& run) {
  closed_ = round.at("round").get<std::uint64_t>() + 1;
  total_ = run.value("rounds_total", total_);
  answered_ = round.at("answered").size();
  recent_ms_.push_back(round.at("elapsed_ms").get<double>());
  silent_ms_ += recent_ms_.back();
  if (recent_ms_.size() > kRecentRounds) recent_ms_.pop_front();
  if (round.contains("metrics")) metrics_ = shown_metrics(round["metrics"]);
  std::string line = fmt::format("round {:>5}{}  silos {}/{}", closed_, total_ == 0 ? "" : fmt::format("/{}", total_),
                                 answered_, run.at("silos").size());
  for (const Json& silo : round.at("missing")) line += "  missing " + plain_text(silo.get<std::string>());
  if (round.contains("metrics")) line += metrics_;
  line += fmt::format("  epsilon <= {:.4g}", largest_epsilon_of(run));
  if (const std::optional<double> left = seconds_left(); left && *left > 0.0) line += "  ETA " + shown_duration(*left);
  return line;
}

bool RunProgress::is_line_due() {
  constexpr double kSilentMsMost = 1000.0;
  const std::uint64_t tenth = total_ == 0 ? 0 : 10 * closed_ / total_;
  const bool due = !has_lines_ || tenth > lined_tenth_ || silent_ms_ >= kSilentMsMost;
  if (due) {
    silent_ms_ = 0.0;
    lined_tenth_ = tenth;
    has_lines_ = true;
  }
  return due;
}

std::optional<double> RunProgress::seconds_left() const {
  if (recent_ms_.empty() || total_ < closed_) return std::nullopt;
  const double sum_ms = std::accumulate(recent_ms_.begin(), recent_ms_.end(), 0.0);
  return sum_ms / 1000.0 / static_cast<double>(recent_ms_.size()) * static_cast<double>(total_ - closed_);
}

std::optional<std::int64_t> RunProgress::join_ends_at(const Json& run, std::int64_t now) {
  if (!run.contains("join_left_ms")) return std::nullopt;
  const std::int64_t at = now + run["join_left_ms"].get<std::int64_t>() / 1000;
  if (!join_ends_at_ || std::abs(at - *join_ends_at_) > kNoNews) join_ends_at_ = at;
  return join_ends_at_;
}

std::string RunProgress::waiting(const Json& run, std::int64_t now) {
  const std::string state = plain(run, "state");
  if (state == "queued") return "queued: other runs are under way";
  if (state != "joining") {
    const std::vector<std::string> silos = missing(run, true);
    return silos.empty() ? "" : fmt::format("{}: waiting for {}", state, joined(silos));
  }
  const OwnersAnswers owners = answers_of(run);
  std::string line = state;
  if (const std::optional<std::int64_t> at = join_ends_at(run, now)) line += " until " + service::utc_minute(*at);
  line += fmt::format(": {} of {} accepted", owners.accepted.size(), run.at("silos").size());
  if (!owners.accepted.empty()) line += fmt::format(" ({})", joined(owners.accepted));
  if (run.contains("quorum")) line += fmt::format(", quorum {}", run["quorum"].get<std::uint64_t>());
  if (!owners.refused.empty()) line += "; refused: " + joined(owners.refused);
  if (!owners.awaited.empty()) line += "; waiting for " + joined(owners.awaited);
  return line;
}

std::string RunProgress::bar(const Json& run, std::int64_t now, std::size_t columns) {
  const std::string state = plain(run, "state");
  if (state == "queued") return cut(waiting(run, now), columns);
  if (state == "joining") {
    const OwnersAnswers owners = answers_of(run);
    const std::size_t silos = run.at("silos").size();
    std::string line = fmt::format("joining: {}/{} answered", silos - owners.awaited.size(), silos);
    if (const std::optional<std::int64_t> at = join_ends_at(run, now))
      line += fmt::format(", {} left", shown_duration(static_cast<double>(std::max<std::int64_t>(*at - now, 0))));
    if (!owners.awaited.empty()) line += ", waiting for " + joined(owners.awaited);
    return cut(line, columns);
  }
  // A run that was over before its first look may not say how many rounds it was to have.
  const std::uint64_t total = run.value("rounds_total", total_ == 0 && state == "succeeded" ? closed_ : total_);
  const double share = total == 0 ? 0.0 : std::min(1.0, static_cast<double>(closed_) / static_cast<double>(total));
  const std::string head = total == 0 ? fmt::format("round {} ", closed_) : fmt::format("round {}/{} ", closed_, total);
  std::string tail = fmt::format(" {:.0f} %", std::floor(100.0 * share));
  if (const std::optional<double> left = seconds_left(); left && *left > 0.0) tail += "  ETA " + shown_duration(*left);
  if (closed_ > 0) tail += fmt::format("  silos {}/{}", answered_, run.at("silos").size());
  tail += metrics_;
  if (const std::vector<std::string> silos = missing(run, false); !silos.empty())
    tail += "  waiting for " + joined(silos);
  const std::size_t used = head.size() + tail.size() + 2;
  const std::size_t width = std::clamp(columns > used ? columns - used : 0, kBarLeast, kBarMost);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
  return cut(fmt::format("{}[{}{}]{}", head, std::string(filled, '#'), std::string(width - filled, '-'), tail),
             columns);
}

}  // namespace undertone::operators
