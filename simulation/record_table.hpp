#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/data/labelled_images.hpp"
#include "shared/jobs/simulation_section.hpp"

namespace undertone::simulation {

/// Of a CSV file that an experiment reads.
inline constexpr std::size_t kTableBytesMax = std::size_t{4} << 30U;

/// Public records from files of any form, as rows of texts under named columns. Images have the columns label, p0, p1,
/// ... of whole numbers from 0 to 255: pixel by pixel, row by row, the channels of a pixel side by side, as a network
/// reads an image.
class RecordTable {
 public:
  /// @param folder that relative paths start from
  [[nodiscard]] static Result<RecordTable> read(const jobs::RecordFiles& files, const std::filesystem::path& folder);

  /// Writes the names of columns as the schema does, and the numbers of its columns with a decimal point, so that
  /// nothing later has to know how the file was written.
  void conform_to(const data::Schema& schema);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }  // of its first file, for errors
  [[nodiscard]] const std::vector<std::string>& header() const noexcept { return header_; }
  [[nodiscard]] std::size_t rows() const noexcept;
  [[nodiscard]] std::vector<std::string> row(std::size_t index) const;
  [[nodiscard]] std::string cell(std::size_t row, std::size_t column) const;
  /// Every row's cell. @return an error where there is no such column
  [[nodiscard]] Result<std::vector<std::string>> column(const std::string& name) const;

 private:
  RecordTable(std::string name, std::vector<std::string> header,
              std::variant<data::CsvTable, data::LabelledImages> content, data::NumberForm numbers = {});

  std::string name_;
  std::vector<std::string> header_;
  std::variant<data::CsvTable, data::LabelledImages> content_;
  data::NumberForm numbers_;  // as its cells write them
};

/// The different values of a column, numbered in their order: numbers first, "10" after "9", then texts.
class ColumnClasses {
 public:
  [[nodiscard]] static ColumnClasses of(const std::vector<std::string>& cells);
  [[nodiscard]] int count() const noexcept { return static_cast<int>(known_.size()); }
  /// Of cells of this column or of the same one in another table.
  /// @return an error that names the first record, from 1, whose value is none of these
  [[nodiscard]] Result<std::vector<int>> labels(const std::vector<std::string>& cells) const;

 private:
  std::map<std::tuple<bool, double, std::string>, int> known_;
};

/// Every cell as a number. @param column its name, for the error where one is no finite number
[[nodiscard]] Result<std::vector<double>> numbers_in(const std::vector<std::string>& cells, const std::string& column);

}  // namespace undertone::simulation
