#include <array>

#include "shared/data/csv_reader.hpp"
#include "shared/data/csv_table.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

using namespace data;

/// Every kind of column and of label.
std::array<Schema, 3> schemas() {
  const MissingRule missing{{"", "NA"}, 40.0, true};
  return {{{BinaryLabel{"y", "no", "yes"},
            {NumericColumn{"age", 0.0, 120.0, Outside::Clamp, missing, {}},
             CategoricalColumn{"sex", {"female", "male"}, true},
             NumericColumn{"since", 0.0, 30'000.0, Outside::Refuse, {}, DateFormat::YearMonthDay}}},
           {NumericLabel{{"y", -1.0, 1.0, Outside::Refuse, {}, {}}},
            {NumericColumn{"age", 0.0, 120.0, Outside::Refuse, {}, {}},
             NumericColumn{"since", -30'000.0, 30'000.0, Outside::Clamp, {}, DateFormat::DayMonthYear},
             NumericColumn{"until", -30'000.0, 30'000.0, Outside::Clamp, missing, DateFormat::MonthDayYear}}},
           {ClassLabel{"y", {"low", "middle", "high"}}, {CategoricalColumn{"sex", {"female", "male"}, false}}}}};
}

void check_bounds(const models::Records& records, const Schema& schema) {
  UNDERTONE_CHECK(records.features.rows() == static_cast<Eigen::Index>(encoded_width(schema)));
  UNDERTONE_CHECK(records.features.cols() == records.targets.size());
  UNDERTONE_CHECK((records.features.array() >= -1.0).all() && (records.features.array() <= 1.0).all());
  UNDERTONE_CHECK((records.targets.array() >= -1.0).all() && (records.targets.array() <= 2.0).all());
}

/// An institution's table: the first byte chooses the schema and whether it has labels. Whatever is read keeps the
/// public bounds; clipping and sensitivities rest on nothing else, but predictions do.
void csv(std::string_view input) {
  static const MemoryFile file;
  static const std::array<Schema, 3> kSchemas = schemas();
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  const std::string_view text = input.substr(1);
  const Schema& schema = kSchemas[choice % kSchemas.size()];
  CsvOptions options;
  options.with_label = choice < 128;
  std::size_t seen = 0;
  options.bytes = [&seen](std::string_view bytes) { seen += bytes.size(); };
  file.hold(text);
  if (const auto read = read_csv(file.path(), schema, options)) {
    UNDERTONE_CHECK(seen == text.size() && read->records.features.cols() > 0);
    check_bounds(read->records, schema);
  }
  const auto table = parse_csv(text, "table");
  if (!table) return;
  for (const std::string& name : table->header) UNDERTONE_CHECK(csv_cell(name).size() >= name.size() + 2);
  if (const auto records = to_records(*table, schema, "table")) check_bounds(*records, schema);
}

const Target kTarget("csv", csv);

}  // namespace
}  // namespace undertone::fuzz
