#pragma once

#include <string>
#include <string_view>

namespace undertone {

/// The members of a JSON object that a log line says, without braces: `round_closed round=7 silo="a b"` is
/// `"event":"round_closed","round":7,"silo":"a b"`. Whole numbers are numbers, but for names of runs, jobs, silos and
/// operators, which may look like some. A line of another form is one text: `"event":"..."`.
/// @param line an event's name, then ` key=value` pairs; a value is quoted (@see quoted_text) or has no blank
[[nodiscard]] std::string event_fields(std::string_view line);

}  // namespace undertone
