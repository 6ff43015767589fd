#include "shared/algorithms/frank_wolfe/vertex_choice.hpp"

namespace undertone::algorithms {

std::span<const VertexChoice* const> vertex_choices() {
  static const VertexChoice* const kChoices[] = {&choose_by_vote(), &choose_by_vector()};
  return kChoices;
}

}  // namespace undertone::algorithms
