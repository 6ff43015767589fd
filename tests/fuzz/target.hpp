#pragma once

#include <string_view>
#include <vector>

namespace undertone::fuzz {

/// Something that strangers can send bytes to. It returns whatever they are: what must not happen stops the process.
/// A program links one of them for libFuzzer, or all of them to replay what was found.
struct Target {
  using Run = void (*)(std::string_view input);
  /// Enters itself in the list. @param name of its file and its corpus
  Target(std::string_view name, Run run);
  std::string_view name;
  Run run;
};

/// Those that are linked.
[[nodiscard]] std::vector<Target>& targets();

}  // namespace undertone::fuzz
