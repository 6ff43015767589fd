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

std::string describe_column(const std::vector<std::string>& columns, std::size_t at) {
  return fmt::format("column {} \"{}\"", at + 1, plain_text(columns[at]));
}

}  // namespace undertone::data
