#include "shared/data/dates.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

#include "shared/base/result.hpp"

namespace undertone::data {
namespace {

constexpr double kMinutesOfDay = 1440.0;
constexpr double kSecondsOfDay = 86'400.0;

/// Reads a text from its beginning on.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  /// A number of so many digits.
  std::optional<int> number(std::size_t least, std::size_t most) {
    std::size_t size = 0;
    int value = 0;
    while (size < most && size < rest_.size() && rest_[size] >= '0' && rest_[size] <= '9')
      value = 10 * value + (rest_[size++] - '0');
    if (size < least) return std::nullopt;
    rest_.remove_prefix(size);
    return value;
  }
  bool skip(char mark) {
    if (rest_.empty() || rest_.front() != mark) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_digits() {
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') rest_.remove_prefix(1);
  }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }
  [[nodiscard]] bool done() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<double> days_of(std::optional<int> year, std::optional<int> month, std::optional<int> day) {
  if (!year || !month || !day || *year < 1) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

std::optional<double> year_first(Scanner& text, bool dashed) {
  const auto year = text.number(4, 4);
  if (dashed && !text.skip('-')) return std::nullopt;
  const auto month = text.number(2, 2);
  if (dashed && !text.skip('-')) return std::nullopt;
  return days_of(year, month, text.number(2, 2));
}

std::optional<double> year_last(Scanner& text, char mark, bool month_first) {
  const auto first = text.number(1, 2);
  if (!text.skip(mark)) return std::nullopt;
  const auto second = text.number(1, 2);
  if (!text.skip(mark)) return std::nullopt;
  const auto year = text.number(4, 4);
  return month_first ? days_of(year, first, second) : days_of(year, second, first);
}

/// The part of a day: hh:mm, then perhaps :ss, a fraction and a zone.
std::optional<double> time_of_day(Scanner& text) {
  const auto hour = text.number(2, 2);
  if (!hour || *hour > 23 || !text.skip(':')) return std::nullopt;
  const auto minute = text.number(2, 2);
  if (!minute || *minute > 59) return std::nullopt;
  double seconds = 0.0;
  if (text.skip(':')) {
    const std::string_view from = text.rest();
    const auto whole = text.number(2, 2);
    if (!whole || *whole > 59) return std::nullopt;
    if (text.skip('.')) text.skip_digits();
    const std::string_view read = from.substr(0, from.size() - text.rest().size());
    if (std::from_chars(read.data(), read.data() + read.size(), seconds).ec != std::errc{}) return std::nullopt;
  }
  double offset = 0.0;  // minutes ahead of UTC
  const bool ahead = text.skip('+');
  if (ahead || text.skip('-')) {
    const auto hours = text.number(2, 2);
    (void)text.skip(':');
    const auto minutes = text.done() ? std::optional(0) : text.number(2, 2);
    if (!hours || !minutes || *hours > 14 || *minutes > 59) return std::nullopt;
    offset = (ahead ? 1.0 : -1.0) * (60.0 * *hours + *minutes);
  } else {
    (void)text.skip('Z');
  }
  return (60.0 * *hour + *minute - offset) / kMinutesOfDay + seconds / kSecondsOfDay;
}

}  // namespace

const char* pattern_of(DateFormat format) {
  const auto* const found = std::find_if(kDateForms.begin(), kDateForms.end(),
                                         [format](const DateForm& form) { return form.format == format; });
  UNDERTONE_CHECK(found != kDateForms.end());
  return found->pattern;
}

std::optional<double> parse_date(std::string_view text, DateFormat format) {
  Scanner scanner(text);
  std::optional<double> days;
  switch (format) {
    case DateFormat::YearMonthDay:
    case DateFormat::DateAndTime:
      days = year_first(scanner, true);
      break;
    case DateFormat::Compact:
      days = year_first(scanner, false);
      break;
    case DateFormat::DayMonthYear:
      days = year_last(scanner, '.', false);
      break;
    case DateFormat::MonthDayYear:
    case DateFormat::DayMonthYearSlashed:
      days = year_last(scanner, '/', format == DateFormat::MonthDayYear);
      break;
  }
  if (days && format == DateFormat::DateAndTime && !scanner.done()) {
    if (!scanner.skip('T') && !scanner.skip(' ')) return std::nullopt;
    const std::optional<double> part = time_of_day(scanner);
    if (!part) return std::nullopt;
    *days += *part;
  }
  return scanner.done() ? days : std::nullopt;
}

std::string show_date(double days, DateFormat format) {
  days = std::clamp(days, kDaysMin, kDaysMax + 1.0 - 1.0 / kSecondsOfDay);
  const double whole = std::floor(days);
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(static_cast<int>(whole)))};
  const int year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month());
  const auto day = static_cast<unsigned>(date.day());
  switch (format) {
    case DateFormat::YearMonthDay:
      return fmt::format("{:04}-{:02}-{:02}", year, month, day);
    case DateFormat::DayMonthYear:
      return fmt::format("{:02}.{:02}.{:04}", day, month, year);
    case DateFormat::MonthDayYear:
      return fmt::format("{:02}/{:02}/{:04}", month, day, year);
    case DateFormat::DayMonthYearSlashed:
      return fmt::format("{:02}/{:02}/{:04}", day, month, year);
    case DateFormat::Compact:
      return fmt::format("{:04}{:02}{:02}", year, month, day);
    case DateFormat::DateAndTime: {
      const auto seconds =
          std::min(static_cast<int>(std::round((days - whole) * kSecondsOfDay)), static_cast<int>(kSecondsOfDay) - 1);
      return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", year, month, day, seconds / 3600, seconds / 60 % 60,
                         seconds % 60);
    }
  }
  return {};
}

}  // namespace undertone::data
