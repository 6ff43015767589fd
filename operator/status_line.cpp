#include "operator/status_line.hpp"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace undertone::operators {
namespace {

constexpr std::size_t kColumnsUnknown = 80;
constexpr const char* kErase = "\r\x1b[K";  // to the line's beginning, and away with what stands on it

bool draws_on_standard_output() {
  const char* kind = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

StatusLine::StatusLine() : terminal_(draws_on_standard_output()) {}

StatusLine::~StatusLine() { clear(); }

std::size_t StatusLine::columns() const {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return (known ? size.ws_col : kColumnsUnknown) - 1;
}

void StatusLine::draw(const std::string& text) {
  if (!terminal_ || text == drawn_) return;
  fmt::print("{}{}", kErase, text);
  std::fflush(stdout);
  drawn_ = text;
}

void StatusLine::print(const std::string& line) {
  const std::string below = drawn_;
  clear();
  fmt::print("{}\n", line);
  draw(below);
  std::fflush(stdout);
}

void StatusLine::clear() {
  if (drawn_.empty()) return;
  fmt::print("{}", kErase);
  std::fflush(stdout);
  drawn_.clear();
}

void StatusLine::keep() {
  if (!std::exchange(drawn_, {}).empty()) fmt::print("\n");
}

}  // namespace undertone::operators
