#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "shared/data/csv_reader.hpp"
#include "shared/data/csv_survey.hpp"
#include "shared/data/csv_table.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

using namespace data;

/// Every rule of derived columns: from cells, and from one another.
Schema derived_schema() {
  const MissingRule missing{{""}, 40.0, true};
  Schema out;
  out.label = BinaryLabel{"y", "no", "yes"};
  out.derived = {{"age", TimeBetween{"since", "until", DateFormat::DateAndTime, TimeBetween::Unit::Years}, {"", "NA"}},
                 {"month", DatePart{"until", DateFormat::YearMonthDay, DatePart::Part::Month}, {"", "NA"}},
                 {"weekday", DatePart{"since", DateFormat::YearMonthDay, DatePart::Part::Weekday}, {"", "NA"}},
                 {"log", Logarithm{"crp", 0.5}, {""}},
                 {"group", Bins{"age", {18.0, 65.0}, names_of_bins({18.0, 65.0})}, {""}},
                 {"merged", Merged{"sex", {{"f", {"female"}, {"f", "fe"}}, {"m", {}, {"m"}}}, "other"}, {""}},
                 {"bucket", Buckets{"merged", 3}, {""}}};
  out.features = {NumericColumn{"age", 0.0, 120.0, Outside::Clamp, missing, {}},
                  NumericColumn{"weekday", 1.0, 7.0, Outside::Refuse, MissingRule{{""}, 1.0, false}, {}},
                  NumericColumn{"log", -5.0, 5.0, Outside::Clamp, MissingRule{{""}, 0.0, false}, {}},
                  NumericColumn{"crp", 0.0, 100.0, Outside::Clamp, missing, {}, Limits::AsBounds},
                  CategoricalColumn{"month", {"1", "2", "12"}, true},
                  CategoricalColumn{"group", names_of_bins({18.0, 65.0}), true},
                  CategoricalColumn{"bucket", {"bucket 1", "bucket 2", "bucket 3"}, true}};
  return out;
}

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
    UNDERTONE_CHECK(!plain || !parse_limit(text, {comma, false}));
  }
  double slowly = 0.0;  // what is read fast is what the library reads, to the bit
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), slowly);
  const bool whole = code == std::errc{} && end == text.data() + text.size() && std::isfinite(slowly);
  const std::optional<double> read = parse_number(text, {});
  if (text.find_first_of("+,") == std::string_view::npos)
    UNDERTONE_CHECK(read.has_value() == whole &&
                    (!whole || std::bit_cast<std::uint64_t>(*read) == std::bit_cast<std::uint64_t>(slowly)));
}

/// An institution's table: the first byte chooses the schema and whether it has labels, the second the dialect.
/// Whatever is read keeps the public bounds; clipping and sensitivities rest on nothing else, but predictions do.
void csv(std::string_view input) {
  static const MemoryFile file;
  static const std::array<Schema, 3> kSchemas = schemas();
  if (input.size() < 2) return;
  const auto choice = static_cast<unsigned char>(input.front());
  const std::string_view text = input.substr(2);
  static const Schema kDerived = derived_schema();
  const bool derived = choice % 64 >= 48;
  const Schema& schema = derived ? kDerived : kSchemas[choice % kSchemas.size()];
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
