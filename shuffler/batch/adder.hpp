#pragma once

#include <boost/system/result.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "shuffler/batch/batch.hpp"

namespace undertone::shuffler {

/// The first share of a batch that is not one, or not one of this batch.
struct BadShare {
  std::size_t index = 0;
  Error why;  // says nothing of what a silo sealed
};
using Total = boost::system::result<std::string, BadShare>;

/// Opens sealed shares and adds them up.
class Adder {
 public:
  virtual ~Adder() = default;
  /// @param spec of an adding batch within a machine's limits
  /// @param sealed shares of different silos, `spec.unit_bytes` each
  /// @return total_bytes(spec) bytes: little-endian words of `spec.word_bytes`, sums modulo 2^(8 word_bytes). The same
  /// shares have the same total.
  [[nodiscard]] virtual Total add(const BatchSpec& spec, const std::vector<std::string>& sealed) = 0;
};

/// Bytes of a share once it is opened, and of the total. @pre `spec` is of an adding batch within a machine's limits
[[nodiscard]] std::size_t total_bytes(const BatchSpec& spec);

}  // namespace undertone::shuffler
