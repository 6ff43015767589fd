#include "shared/algorithms/frank_wolfe/vertex_choice.hpp"

namespace undertone::algorithms {

std::span<const VertexChoice* const> vertex_choices() {
  static const VertexChoice* const kChoices[] = {&choose_by_vote(), &choose_by_vector(), &choose_by_scores(),
                                                 &choose_by_nomination()};
  return kChoices;
}

}  // namespace undertone::algorithms
