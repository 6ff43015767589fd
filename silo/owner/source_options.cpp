#include "silo/owner/source_options.hpp"

#include "shared/base/plain_text.hpp"

namespace undertone::silo {
namespace {

Error refuse(const std::string& what) { return {ErrorCode::InvalidArgument, what}; }

Result<SqlSource> sql_of(const SourceOptions& options) {
  SqlSource out;
  out.query = options.query;
  if (options.connection.empty() == options.variable.empty())
    return refuse("--query needs --connection, a file, or --connection-variable, which holds what the file would");
  out.connection = options.connection;
  out.variable = options.variable;
  for (const std::string& parameter : options.parameters) {
    const std::size_t equals = parameter.find('=');
    if (equals == 0 || equals == std::string::npos)
      return refuse(fmt::format("--parameter: expected NAME=VALUE, found \"{}\"", plain_text(parameter)));
    if (!out.parameters.emplace(parameter.substr(0, equals), parameter.substr(equals + 1)).second)
      return refuse(fmt::format("--parameter: \"{}\" stands twice", plain_text(parameter.substr(0, equals))));
  }
  if (options.rows_max) out.rows_max = *options.rows_max;
  if (options.seconds_max) out.limit = std::chrono::seconds(*options.seconds_max);
  return out;
}

}  // namespace

Result<SourceEntry> source_of(const SourceOptions& options, const std::filesystem::path& folder) {
  const int named = (options.csv.empty() ? 0 : 1) + (options.parquet.empty() ? 0 : 1) + (options.query.empty() ? 0 : 1);
  if (named != 1) return refuse("name the data once: a CSV file, --parquet, or --query with --connection");
  const bool of_query = !options.connection.empty() || !options.variable.empty() || !options.parameters.empty() ||
                        options.rows_max || options.seconds_max;
  if (options.query.empty() && of_query) return refuse("a connection, parameters and limits go with --query");
  const auto relative = [&folder](const std::filesystem::path& path) {
    return std::filesystem::absolute(path).lexically_relative(folder).string();
  };
  if (!options.csv.empty()) return SourceEntry{CsvSource{options.csv}, {{"csv", relative(options.csv)}}};
  if (!options.parquet.empty())
    return SourceEntry{ParquetSource{options.parquet}, {{"parquet", relative(options.parquet)}}};
  UNDERTONE_TRY(SqlSource sql, sql_of(options));
  nlohmann::ordered_json entry = {{"query", relative(sql.query)}};
  if (sql.connection.empty()) {
    entry["connection"]["variable"] = sql.variable;
  } else {
    entry["connection"]["file"] = relative(sql.connection);
  }
  for (const auto& [name, value] : sql.parameters) entry["parameters"].push_back({{"name", name}, {"value", value}});
  if (options.rows_max) entry["rows_max"] = sql.rows_max;
  if (options.seconds_max) entry["seconds_max"] = sql.limit.count();
  return SourceEntry{std::move(sql), {{"sql", std::move(entry)}}};
}

Result<data::CsvSurvey> survey_of(const Source& source, const data::DialectOptions& dialect) {
  if (const auto* csv = std::get_if<CsvSource>(&source)) {
    return data::survey_csv(csv->file,
                            {dialect.separator_said(), dialect.decimal_comma_said(), dialect.encoding_said()});
  }
  data::TableSurvey survey;
  UNDERTONE_TRY(read_source_into(source, nullptr, survey));
  return survey.take();
}

}  // namespace undertone::silo
