#include "tests/support/linking_attack.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <initializer_list>
#include <limits>
#include <unordered_map>

#include "shared/base/digest.hpp"

namespace undertone::tests {
namespace {

/// Several numbers as one; two clues are one with probability 2^-64.
std::uint64_t clue(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t out = 0;
  for (const std::uint64_t part : parts) {
    out = (out ^ part) * 0x9e3779b97f4a7c15ULL;
    out ^= out >> 29U;
  }
  return out;
}

/// A duration up to a factor of two, with its sign.
std::uint64_t magnitude(double ms) {
  const double size = std::max(std::abs(ms), 1e-3);
  const auto power = static_cast<std::int64_t>(std::floor(std::log2(size))) + 16;
  return static_cast<std::uint64_t>(ms < 0.0 ? -power : power);
}

/// A round, with what each clue needs made once.
class Round {
 public:
  Round(const RoundSeen& seen, std::size_t silos) : seen_(&seen), rank_(silos), first_line_(silos, 0) {
    for (std::size_t rank = 0; rank < seen.arrivals.size(); ++rank) rank_[seen.arrivals[rank].silo] = rank;
    for (std::size_t line = 0; line < seen.log.size(); ++line) {
      for (std::size_t silo = 0; silo < silos; ++silo) {
        if (first_line_[silo] == 0 && names_silo(seen.log[line], silo)) first_line_[silo] = line + 1;
      }
    }
    for (const RoundSeen::Departure& departure : seen.departures)
      identities_.push_back(to_hex(sha256(departure.unit)).substr(0, 8));
  }

  [[nodiscard]] std::size_t units() const { return seen_->departures.size(); }
  [[nodiscard]] std::array<std::uint64_t, kTraces> clues(std::size_t unit, std::size_t silo) const {
    const RoundSeen::Departure& left = seen_->departures[unit];
    const std::size_t rank = rank_[silo];
    const RoundSeen::Arrival& came = seen_->arrivals[rank];
    return {clue({unit, silo, rank}), clue({left.unit.size(), came.bytes, silo}),
            clue({magnitude(left.at_ms - came.at_ms), rank, silo}),
            clue({left.connection == came.connection ? 1U : 0U, left.connection < came.connection ? 1U : 0U, silo}),
            log_clue(unit, silo)};
  }

 private:
  /// Whether the text is in the line and no digit follows.
  static bool says(const std::string& line, const std::string& text) {
    const std::size_t at = line.find(text);
    return at != std::string::npos && line.find_first_of("0123456789", at + text.size()) != at + text.size();
  }
  static bool names_silo(const std::string& line, std::size_t silo) {
    return says(line, fmt::format("silo-{}", silo)) || says(line, fmt::format("slot={}", silo));
  }
  [[nodiscard]] bool names_unit(const std::string& line, std::size_t unit) const {
    return line.find(identities_[unit]) != std::string::npos || says(line, fmt::format("place={}", unit));
  }
  /// Whether a line names both, and where the silo comes up.
  [[nodiscard]] std::uint64_t log_clue(std::size_t unit, std::size_t silo) const {
    if (seen_->log.empty()) return 0;
    const bool both = std::any_of(seen_->log.begin(), seen_->log.end(), [&](const std::string& line) {
      return names_silo(line, silo) && names_unit(line, unit);
    });
    return clue({both ? 1U : 0U, first_line_[silo], unit, silo, seen_->log.size()});
  }
  const RoundSeen* seen_;
  std::vector<std::size_t> rank_;        // by silo, of its message
  std::vector<std::size_t> first_line_;  // by silo, that names it, from 1; 0: none
  std::vector<std::string> identities_;  // by unit: what a log would call it
};

struct Odds {
  double together = 0.0;
  double pairs = 0.0;
};
using Learned = std::array<std::unordered_map<std::uint64_t, Odds>, kTraces>;

}  // namespace

const char* to_string(Trace trace) {
  switch (trace) {
    case Trace::Order:
      return "order";
    case Trace::Size:
      return "size";
    case Trace::Time:
      return "time";
    case Trace::Connection:
      return "connection";
    case Trace::Log:
      return "log";
    case Trace::Everything:
      return "everything";
  }
  return "";
}

Accuracy attack(const std::vector<RoundPlayed>& rounds, std::size_t silos) {
  const std::size_t half = rounds.size() / 2;
  Learned learned;
  for (std::size_t i = 0; i < half; ++i) {
    const Round round(rounds[i].seen, silos);
    for (std::size_t unit = 0; unit < round.units(); ++unit) {
      for (std::size_t silo = 0; silo < silos; ++silo) {
        const std::array<std::uint64_t, kTraces> clues = round.clues(unit, silo);
        for (std::size_t trace = 0; trace < kTraces; ++trace) {
          Odds& odds = learned[trace][clues[trace]];
          odds.pairs += 1.0;
          odds.together += rounds[i].senders[unit] == silo ? 1.0 : 0.0;
        }
      }
    }
  }
  const auto log_odds = [&](std::size_t trace, std::uint64_t of) {
    const auto known = learned[trace].find(of);
    const Odds odds = known == learned[trace].end() ? Odds{} : known->second;
    return std::log((odds.together + 1.0) / (odds.pairs + static_cast<double>(silos)));  // Laplace's rule
  };
  std::array<double, kTraces + 1> right{};
  for (std::size_t i = half; i < rounds.size(); ++i) {
    const Round round(rounds[i].seen, silos);
    for (std::size_t unit = 0; unit < round.units(); ++unit) {
      std::array<double, kTraces + 1> best{};
      best.fill(-std::numeric_limits<double>::infinity());
      std::array<std::size_t, kTraces + 1> named{};
      for (std::size_t silo = 0; silo < silos; ++silo) {
        const std::array<std::uint64_t, kTraces> clues = round.clues(unit, silo);
        std::array<double, kTraces + 1> scores{};
        for (std::size_t trace = 0; trace < kTraces; ++trace) {
          scores[trace] = log_odds(trace, clues[trace]);
          scores[kTraces] += scores[trace];
        }
        for (std::size_t trace = 0; trace <= kTraces; ++trace) {
          if (scores[trace] <= best[trace]) continue;
          best[trace] = scores[trace];
          named[trace] = silo;
        }
      }
      for (std::size_t trace = 0; trace <= kTraces; ++trace) {
        if (named[trace] == rounds[i].senders[unit]) right[trace] += 1.0 / static_cast<double>(round.units());
      }
    }
  }
  Accuracy out;
  out.rounds = rounds.size() - half;
  for (std::size_t trace = 0; trace <= kTraces; ++trace)
    out.found[static_cast<Trace>(trace)] = right[trace] / static_cast<double>(out.rounds);
  return out;
}

double chance_at_most(std::size_t silos, std::size_t units, std::size_t rounds, std::size_t attacks,
                      double false_alarm_probability) {
  const double mean = 1.0 / static_cast<double>(silos);
  const double variance = mean / static_cast<double>(units);
  const double largest = 1.0 - mean;
  const auto count = static_cast<double>(rounds);
  // exp(-n t^2 / (2 variance + 2/3 largest t)) at the probability, solved for t.
  const double log_inverse = std::log(static_cast<double>(attacks) / false_alarm_probability);
  const double linear = largest * log_inverse / (3.0 * count);
  return mean + linear + std::sqrt(linear * linear + 2.0 * variance * log_inverse / count);
}

}  // namespace undertone::tests
