#pragma once

namespace undertone::coordinator {

/// The program's command line. @return its exit code. May throw what libraries throw.
[[nodiscard]] int coordinator_main(int argc, char** argv);

}  // namespace undertone::coordinator
