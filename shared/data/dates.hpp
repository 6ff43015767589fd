#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace undertone::data {

/// How a date is written.
enum class DateFormat { YearMonthDay, DayMonthYear, MonthDayYear, DayMonthYearSlashed, Compact, DateAndTime };

/// A form of dates and the pattern that names it in schemas.
struct DateForm {
  DateFormat format;
  const char* pattern;
};

/// Every form, in the order in which a draft tries them. Where the day or the month stands first, 7 may be written for
/// 07. A date and its time have a T or a blank between them; a fraction of a second may follow, and a time zone
/// (2026-11-21T08:30:00+01:00), which is counted to UTC. A date without a time is its midnight.
inline constexpr std::array<DateForm, 6> kDateForms = {{{DateFormat::YearMonthDay, "YYYY-MM-DD"},
                                                        {DateFormat::DayMonthYear, "DD.MM.YYYY"},
                                                        {DateFormat::MonthDayYear, "MM/DD/YYYY"},
                                                        {DateFormat::DayMonthYearSlashed, "DD/MM/YYYY"},
                                                        {DateFormat::Compact, "YYYYMMDD"},
                                                        {DateFormat::DateAndTime, "YYYY-MM-DDThh:mm:ss"}}};

[[nodiscard]] const char* pattern_of(DateFormat format);

/// The first day of the year 1 and the last one of the year 9999, as days since 1970-01-01.
inline constexpr double kDaysMin = -719'162.0;
inline constexpr double kDaysMax = 2'932'896.0;

/// Days since 1970-01-01, or nothing where the text is no date of this form in the years 1 to 9999.
[[nodiscard]] std::optional<double> parse_date(std::string_view text, DateFormat format);
/// @param days from kDaysMin on; what is beyond is shown as the nearest day that there is
[[nodiscard]] std::string show_date(double days, DateFormat format);

}  // namespace undertone::data
