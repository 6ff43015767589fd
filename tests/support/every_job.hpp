#pragma once

#include <string>
#include <utility>
#include <vector>

namespace undertone::tests {

/// One valid job of every algorithm, every question, every way to shuffle, and every worked job of `configs/jobs`: its
/// name and its text. Tests that hold for every kind walk this list, so that a kind that forgets one of its parts fails
/// by name.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> every_job();

}  // namespace undertone::tests
