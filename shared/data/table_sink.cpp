#include "shared/data/table_sink.hpp"

#include "shared/base/plain_text.hpp"

namespace undertone::data {
namespace {

constexpr std::size_t kProblemsMax = 20;

}  // namespace

void TableProblems::add(const std::string& what, bool stop) {
  if (lines_.size() < kProblemsMax) lines_.push_back(fmt::format("{}:{}: {}", name_, line_, what));
  stopped_ = stopped_ || stop || lines_.size() >= kProblemsMax;
}

Error TableProblems::error() const {
  std::string all;
  for (const std::string& line : lines_) all += (all.empty() ? "" : "\n") + line;
  if (lines_.size() >= kProblemsMax) all += "\nand perhaps more";
  return {ErrorCode::InvalidData, all};
}

void TableSink::take_rows(const PackedRows& rows, std::int64_t before, TableProblems& problems) {
  PackedTexts texts(rows.mark);
  for (std::size_t row = 0; row < rows.count && !problems.stopped(); ++row) {
    problems.at(before + static_cast<std::int64_t>(row) + 1);
    for (std::size_t i = 0; i < rows.columns.size(); ++i) {
      const std::uint64_t value = rows.columns[i].value(row);
      if (value == rows.columns[i].nothing()) {
        missing(i, problems);
      } else {
        cell(i, texts.copy_of(rows.columns[i], value), problems);
      }
    }
    end_row(problems);
  }
}

std::string describe_column(const std::vector<std::string>& columns, std::size_t at) {
  return fmt::format("column {} \"{}\"", at + 1, plain_text(columns[at]));
}

}  // namespace undertone::data
