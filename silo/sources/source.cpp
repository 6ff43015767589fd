#include "silo/sources/source.hpp"

#include "shared/base/overloaded.hpp"
#include "shared/data/csv_reader.hpp"
#include "silo/sources/parquet_source.hpp"
#include "silo/sources/sql_source.hpp"

namespace undertone::silo {

Status read_source_into(const Source& source, const SourceProgress& progress, data::TableSink& sink) {
  return std::visit(Overloaded{[&](const CsvSource& csv) {
                                 data::CsvReading reading;
                                 reading.dialect = csv.dialect;
                                 reading.progress = progress;
                                 return data::read_csv_into(csv.file, reading, sink);
                               },
                               [&](const SqlSource& sql) { return read_sql_into(sql, sink); },
                               [&](const ParquetSource& parquet) { return read_parquet_into(parquet, sink); }},
                    source);
}

}  // namespace undertone::silo
