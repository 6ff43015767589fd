#pragma once

#include <string>

namespace CLI {
class App;
}

namespace undertone::service {

/// A sentence that names the command that was probably meant, where the first argument is none of the program's.
/// @return empty where it is one, or nothing is near it
[[nodiscard]] std::string suggestion(const CLI::App& app, int argc, const char* const* argv);

}  // namespace undertone::service
