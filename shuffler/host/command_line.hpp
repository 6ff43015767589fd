#pragma once

namespace undertone::shuffler {

/// The program's command line. @return its exit code. May throw what libraries throw.
[[nodiscard]] int shuffler_main(int argc, char** argv);

}  // namespace undertone::shuffler
