#pragma once

#include "silo/sources/source.hpp"

namespace undertone::silo {

/// Runs the source's query and hands its rows on, every value as the text that the database makes of it: numbers with
/// all their digits, dates as YYYY-MM-DD, times in UTC. What takes longer than the limit is given up, and so is what
/// has more rows than `rows_max`. The query of PostgreSQL and SQLite stands within a SELECT of ours, in a transaction
/// that may only read and is never committed; a text that is no single SELECT is refused by the database. ODBC's
/// drivers have no cast and no such transaction in common: a query that begins with SELECT or WITH is run as it is, on
/// a connection that asks to read alone, and is rolled back; the driver decides what a value is; a text that it may
/// have cut is refused; and the limit is looked at between rows alone.
[[nodiscard]] Status read_sql_into(const SqlSource& source, data::TableSink& sink);

}  // namespace undertone::silo
