#include <array>
#include <cmath>

#include "shared/data/csv_reader.hpp"
#include "shared/data/csv_survey.hpp"
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

/// How the file is written, by the second byte.
CsvDialect dialect_of(unsigned char choice) {
  CsvDialect out;
  out.separator = kSeparators[choice % kSeparators.size()].mark;
  out.numbers = {choice % 2 == 1, choice % 4 > 1};
  out.encoding = kTextEncodings[choice / 64].encoding;
  return out;
}

/// A day of every form lies in the years 1 to 9999, and is written as it is read.
void check_cell(std::string_view text) {
  constexpr double kDaysMost = 3.0e6;
  for (const DateForm& form : kDateForms) {
    const std::optional<double> days = parse_date(text, form.format);
    UNDERTONE_CHECK(!days || std::abs(*days) < kDaysMost);
    if (days && form.format != DateFormat::DateAndTime)
      UNDERTONE_CHECK(parse_date(show_date(*days, form.format), form.format) == days);
  }
  for (const bool comma : {false, true}) {
    const std::optional<double> plain = parse_number(text, {comma, false});
    UNDERTONE_CHECK(!plain || parse_number(text, {comma, true}) == plain);
  }
}

/// An institution's table: the first byte chooses the schema and whether it has labels, the second the dialect.
/// Whatever is read keeps the public bounds; clipping and sensitivities rest on nothing else, but predictions do.
void csv(std::string_view input) {
  static const MemoryFile file;
  static const std::array<Schema, 3> kSchemas = schemas();
  if (input.size() < 2) return;
  const auto choice = static_cast<unsigned char>(input.front());
  const std::string_view text = input.substr(2);
  const Schema& schema = kSchemas[choice % kSchemas.size()];
  CsvOptions options;
  options.with_label = choice < 128;
  options.dialect = dialect_of(static_cast<unsigned char>(input[1]));
  std::size_t seen = 0;
  options.bytes = [&seen](std::string_view bytes) { seen += bytes.size(); };
  constexpr std::size_t kCellMax = 40;
  check_cell(text.substr(0, kCellMax));
  file.hold(text);
  if (const auto read = read_csv(file.path(), schema, options)) {
    UNDERTONE_CHECK(seen == text.size() && read->records.features.cols() > 0);
    check_bounds(read->records, schema);
  }
  const auto survey = survey_csv(file.path());
  UNDERTONE_CHECK(!survey || survey->records > 0);
  const auto table = parse_csv(text, "table");
  if (!table) return;
  for (const std::string& name : table->header) UNDERTONE_CHECK(csv_cell(name).size() >= name.size() + 2);
  if (const auto records = to_records(*table, schema, "table")) check_bounds(*records, schema);
}

const Target kTarget("csv", csv);

}  // namespace
}  // namespace undertone::fuzz
