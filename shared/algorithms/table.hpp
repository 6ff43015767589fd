#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

/// One algorithm as jobs and policies name it, and what reads its keys. A problem is noted in the section, and
/// something harmless is returned, as everywhere in `Section`.
struct NamedMethod {
  std::string_view name;
  ParsedMethod (*parse)(config::Section& section, const Problem& problem);
  bool simulated_only = false;  // as its traits say
  /// Where its job says nothing else, it minimises the loss alone, over the whole space.
  bool unconstrained = false;
};

/// Every algorithm that a job's `algorithm.kind` may name, in the order of the reference. Nothing else lists them.
[[nodiscard]] std::span<const NamedMethod> method_table();
/// Their names.
[[nodiscard]] std::vector<std::string_view> algorithm_kinds();

/// Whether the method that is named so is unconstrained. False of a name that no method has.
[[nodiscard]] bool is_unconstrained(std::string_view name);

/// The names of all methods that a silo may answer, as policies allow them: those but of simulations alone, and that of
/// statistics, which have a section of their own.
[[nodiscard]] std::vector<std::string_view> method_names();

}  // namespace undertone::algorithms
