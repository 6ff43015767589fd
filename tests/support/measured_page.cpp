#include "tests/support/measured_page.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <regex>

#include "shared/base/files.hpp"

namespace undertone::tests {
namespace {

constexpr std::size_t kPageBytesMax = std::size_t{1} << 20U;

/// One unit of the last digit of a number as it is written.
double last_unit(const std::string& written) {
  const std::size_t point = written.find('.');
  return point == std::string::npos ? 1.0 : std::pow(10.0, -static_cast<double>(written.size() - point - 1));
}

/// The text as a pattern: blanks match any blanks, a # matches a number.
std::regex pattern_of(const std::string& text) {
  std::string out;
  bool blank = false;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\n';
    if (is_blank && !blank) out += "(\\s+)";
    blank = is_blank;
    if (is_blank) continue;
    if (c == '#')
      out += "(-?[0-9]+(?:\\.[0-9]+)?)";
    else if (std::string("\\^$.|?*+()[]{}").find(c) != std::string::npos)
      out += std::string("\\") + c;
    else
      out += c;
  }
  return std::regex(out);
}

}  // namespace

void expect_on_page(const std::string& page, const std::string& text, const std::vector<double>& measured,
                    int decimals) {
  const std::filesystem::path file = std::filesystem::path(UNDERTONE_SOURCE_DIR) / "docs" / page;
  const Result<std::string> bytes = read_file(file, kPageBytesMax);
  ASSERT_TRUE(bytes) << bytes.error().message;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(*bytes, found, pattern_of(text))) << "docs/" << page << " does not have: " << text;
  std::string written;
  std::string said;
  std::size_t next = 0;
  bool right = true;
  for (std::size_t group = 1, at = 0; group < found.size(); ++group) {
    const auto begin = static_cast<std::size_t>(found.position(group) - found.position(0));
    written += found.str(0).substr(at, begin - at);
    at = begin + found.str(group).size();
    const bool number = found.str(group).find_first_of("0123456789") != std::string::npos;
    if (number) {
      ASSERT_LT(next, measured.size()) << text;
      const double value = measured[next++];
      right = right && std::abs(std::stod(found.str(group)) - value) <= 1.01 * last_unit(found.str(group));
      written += fmt::format("{:.{}f}", value, decimals);
      said += fmt::format("{:.{}f}", value, decimals) + " ";
    } else {
      written += found.str(group);
    }
    if (group + 1 == found.size()) written += found.str(0).substr(at);
  }
  ASSERT_EQ(next, measured.size()) << text;
  if (std::getenv("UNDERTONE_WRITE_PAGES") != nullptr) {  // NOLINT(concurrency-mt-unsafe): no thread writes it
    std::string out = *bytes;
    out.replace(static_cast<std::size_t>(found.position(0)), found.str(0).size(), written);
    ASSERT_TRUE(write_file_atomically(file, out));
    return;
  }
  EXPECT_TRUE(right) << "docs/" << page << " says \"" << found.str(0) << "\", and measured is " << said
                     << ": UNDERTONE_WRITE_PAGES=1 writes it";
}

}  // namespace undertone::tests
