#include "shared/releases/fixed_amount.hpp"

#include <algorithm>

namespace undertone::releases {

std::string to_decimal(UInt128 value) {
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

Result<UInt128> parse_decimal(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) {
    return Error{ErrorCode::Malformed, "expected a decimal integer without leading zeros"};
  }
  UInt128 value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return Error{ErrorCode::Malformed, "expected decimal digits"};
    if (__builtin_mul_overflow(value, UInt128{10}, &value) ||
        __builtin_add_overflow(value, static_cast<UInt128>(c - '0'), &value)) {
      return Error{ErrorCode::LimitExceeded, "an integer of more than 128 bits"};
    }
  }
  return value;
}

}  // namespace undertone::releases
