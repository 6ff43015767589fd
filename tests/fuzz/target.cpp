#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {

Target::Target(std::string_view its_name, Run its_run) : name(its_name), run(its_run) { targets().push_back(*this); }

std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

}  // namespace undertone::fuzz
