#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace undertone::tests {

/// What stands at both ends of a shuffler sees of one round, and the log that the shuffler wrote in it.
struct RoundSeen {
  /// A silo's message, on a connection that its certificate names.
  struct Arrival {
    std::size_t silo = 0;
    double at_ms = 0.0;
    std::size_t bytes = 0;
    std::uint64_t connection = 0;
  };
  struct Departure {
    double at_ms = 0.0;
    std::uint64_t connection = 0;
    std::string unit;
  };
  std::vector<Arrival> arrivals;      // one a silo, as they came
  std::vector<Departure> departures;  // as they left
  std::vector<std::string> log;       // lines
};

/// And what an attack wants to know.
struct RoundPlayed {
  RoundSeen seen;
  std::vector<std::size_t> senders;  // of each departure
};

/// Where the units of a round lead an attacker to look for their senders. Everything is all of these together.
enum class Trace { Order, Size, Time, Connection, Log, Everything };
inline constexpr std::size_t kTraces = 5;  // that are seen
[[nodiscard]] const char* to_string(Trace trace);

/// How often the attacks are right.
struct Accuracy {
  std::map<Trace, double> found;  // of all units in the rounds that were attacked, the share whose sender was named
  std::size_t rounds = 0;         // that were attacked
};

/// Learns, from the first half of the rounds, how a unit that leaves and the message that it came in look together:
/// each trace of the two is a clue, and what is learned is how often a pair with that clue belongs together. In the
/// second half each unit is said to be of the silo whose pairs with it have the best odds. Everything adds up the logs
/// of the odds of all traces (naive Bayes).
/// @param silos in every round, each with as many units as the others
[[nodiscard]] Accuracy attack(const std::vector<RoundPlayed>& rounds, std::size_t silos);

/// An accuracy that attacks on units in a uniform secret order, each with its own rule, reach with this probability at
/// most. Let a round have u units, u/s of each of s silos. Whatever a rule names, each name is right with probability
/// 1/s, and two right names have covariance (u/s)^2 / (u (u - 1)) - 1/s^2 = 1 / (s^2 (u - 1)) if they differ, a
/// negative one if not: the share of right names has variance at most 1 / (u s). Rounds are independent: Bernstein's
/// inequality for the mean, and a union over the attacks.
[[nodiscard]] double chance_at_most(std::size_t silos, std::size_t units, std::size_t rounds, std::size_t attacks,
                                    double false_alarm_probability);

}  // namespace undertone::tests
