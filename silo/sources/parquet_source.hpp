#pragma once

#include "silo/sources/source.hpp"

namespace undertone::silo {

/// Hands the rows of a Parquet or Feather file on. Another process reads the file, Python with the package pyarrow,
/// which $UNDERTONE_PYTHON names (default: python3), and writes its rows as text: no reader of that format is part of
/// this program. @return an error that says what is missing where there is no such Python
[[nodiscard]] Status read_parquet_into(const ParquetSource& source, data::TableSink& sink);

}  // namespace undertone::silo
