#pragma once

#include <filesystem>
#include <string>

#include "shared/data/csv_dialect.hpp"

namespace undertone::operators {

struct PredictRequest {
  std::filesystem::path model;
  std::filesystem::path csv;
  data::CsvDialect dialect = {};   // of csv
  std::string id = {};             // a column of csv that names its records; empty: they are counted
  std::filesystem::path out = {};  // a CSV file; empty or "-" for standard output
  bool json = false;
};

/// Predictions of a model for the records of a CSV file: one line a record.
/// @return an exit code
[[nodiscard]] int predict(const PredictRequest& request);

}  // namespace undertone::operators
