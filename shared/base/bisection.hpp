#pragma once

#include <concepts>

namespace undertone {

/// Two ends of an interval, low < high. A search keeps: the predicate does not hold at `low` and holds at `high`.
template <class T>
struct SearchRange {
  T low;
  T high;
};

/// Halves a range as long as `go_on(range)`. The predicate is false up to some edge and true beyond it (one that
/// falls is negated); where rounding makes it waver near the edge, the contract below still holds, for some crossing.
/// @param range the caller answers for its ends: they are not tried
/// @param holds of a point
/// @param middle of a range: strictly between its ends while `go_on`
/// @return ends within the given ones, such that each is the given one or was tried: false at `low`, true at `high`.
/// The caller takes the end that is on the safe side.
template <class T, class Holds, class GoOn, class Middle>
[[nodiscard]] SearchRange<T> bisect(SearchRange<T> range, const Holds& holds, const GoOn& go_on, const Middle& middle) {
  while (go_on(range)) {
    const T at = middle(range);
    (holds(at) ? range.high : range.low) = at;
  }
  return range;
}

/// The same on the integers, exactly: the ends returned are neighbours.
template <std::integral T, class Holds>
[[nodiscard]] SearchRange<T> bisect_integers(SearchRange<T> range, const Holds& holds) {
  return bisect(
      range, holds, [](const SearchRange<T>& at) { return at.high - at.low > 1; },
      [](const SearchRange<T>& at) { return at.low + (at.high - at.low) / 2; });
}

/// The same on doubles, by the arithmetic middle.
/// @param halvings at most so many
/// @param accuracy it is done once high - low <= accuracy * high; 0: all halvings are made
template <class Holds>
[[nodiscard]] SearchRange<double> bisect_reals(SearchRange<double> range, const Holds& holds, int halvings,
                                               double accuracy = 0.0) {
  return bisect(
      range, holds,
      [&](const SearchRange<double>& at) {
        return halvings-- > 0 && (accuracy == 0.0 || at.high - at.low > accuracy * at.high);
      },
      [](const SearchRange<double>& at) { return 0.5 * (at.low + at.high); });
}

}  // namespace undertone
