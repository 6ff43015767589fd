#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace undertone::operators {

/// Such as "45 s", "12 min", "5 h 20 min" or "3 d 4 h". @param seconds >= 0
[[nodiscard]] std::string shown_duration(double seconds);

/// What `watch` shows of a run, made of the coordinator's answers (docs/api.md): texts without IO. Times are seconds
/// since 1970.
class RunProgress {
 public:
  using Json = nlohmann::ordered_json;

  /// Rounds that the time to the end is estimated from: the newest, since early ones may have waited for silos that
  /// are gone, and evaluations take another time than steps.
  static constexpr std::size_t kRecentRounds = 20;

  /// Takes a closed round. @param run the run's state @return the round's line
  [[nodiscard]] std::string closed(const Json& round, const Json& run);
  /// Whether the round that was just taken is worth a line where none is drawn over: the first, the last, one that ends
  /// another tenth of the run, and one a second of the rounds' own time.
  [[nodiscard]] bool is_line_due();
  /// By the mean of the newest rounds. Nothing before the first round, and where the run's length is not known.
  [[nodiscard]] std::optional<double> seconds_left() const;

  /// What is waited for, as a line that changes only with what it says: silos that a round waits for, a queue, or,
  /// while owners are awaited, who has answered, who has not and until when. Empty: nothing to say.
  [[nodiscard]] std::string waiting(const Json& run, std::int64_t now);
  /// The whole state in one line of at most `columns` characters, to be drawn again and again.
  [[nodiscard]] std::string bar(const Json& run, std::int64_t now, std::size_t columns);

 private:
  /// When the coordinator stops waiting for owners. It is the coordinator that counts: what it says moves by the time
  /// that an answer takes, which is no news.
  [[nodiscard]] std::optional<std::int64_t> join_ends_at(const Json& run, std::int64_t now);

  std::uint64_t closed_ = 0;
  std::uint64_t total_ = 0;
  std::size_t answered_ = 0;      // of the newest round
  std::string metrics_;           // of the newest evaluation
  std::deque<double> recent_ms_;  // of the newest rounds, newest last
  std::optional<std::int64_t> join_ends_at_;
  double silent_ms_ = 0.0;         // of rounds since the last line
  std::uint64_t lined_tenth_ = 0;  // of the run, of the last line
  bool has_lines_ = false;
};

}  // namespace undertone::operators
