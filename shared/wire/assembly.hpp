#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/wire/codec.hpp"
#include "shared/wire/undertone.pb.h"

namespace undertone::wire {

/// The header of a vector on its way, and what has come of it, in its final form.
struct Decoder::Assembly {
  RunId run;
  v1::Envelope header;
  v1::ElementType element = v1::ELEMENT_TYPE_UNSPECIFIED;
  std::uint64_t dimension = 0;
  std::uint64_t received = 0;        // elements
  bool wanted = true;                // else nothing is stored
  Eigen::VectorXd point;             // of a query
  std::vector<std::int64_t> values;  // of a reply
  std::string bytes;                 // of sealed units

  /// @param more whole elements, no more of them than are still to come
  [[nodiscard]] Status append(std::string_view more);
  /// The message, once everything has been received. What has come is moved into it.
  [[nodiscard]] Result<Message> finish();

 private:
  template <class Wire>
  [[nodiscard]] Status append_point(std::string_view more);
  template <class Wire>
  [[nodiscard]] Status append_values(std::string_view more);
  [[nodiscard]] Status append_bytes(std::string_view more);
};

}  // namespace undertone::wire
