#pragma once

#include "silo/sources/source.hpp"

namespace undertone::silo {

/// Runs the source's query and hands its rows on, every value as the text that the database makes of it: numbers with
/// all their digits, dates as YYYY-MM-DD, times in UTC. The query stands within a SELECT of ours, in a transaction that
/// may only read and is never committed; a text that is no single SELECT is refused by the database. What takes longer
/// than the limit is given up, and so is what has more rows than `rows_max`.
[[nodiscard]] Status read_sql_into(const SqlSource& source, data::TableSink& sink);

}  // namespace undertone::silo
