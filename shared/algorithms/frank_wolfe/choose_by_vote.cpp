#include "shared/algorithms/frank_wolfe/vertex_choice.hpp"

namespace undertone::algorithms {
namespace {

class Vote final : public VertexChoice {
 public:
  [[nodiscard]] std::string_view name() const override { return "vote"; }
  [[nodiscard]] std::string_view about() const override {
    return "of several silos the mean of the vertices that each chooses";
  }
  [[nodiscard]] MethodTraits traits() const override {
    MethodTraits traits;
    traits.shuffled = false;
    traits.bounded_in = MethodTraits::BoundedIn::EveryCoordinate;
    traits.linear_models = true;
    return traits;
  }
  [[nodiscard]] releases::Ask ask(const GradientShape& shape, const geometry::Vertices& vertices,
                                  std::uint64_t /*round*/, std::uint32_t /*silos*/) const override {
    return shape.selection(vertices);
  }
  [[nodiscard]] Result<VertexTally> votes(const folds::Gathered& gathered, const geometry::Vertices& /*vertices*/,
                                          const std::vector<Eigen::Index>& /*nominated*/,
                                          std::uint64_t /*round*/) const override {
    const auto* tally = std::get_if<folds::Tally>(&gathered.value);
    if (tally == nullptr) return Error{ErrorCode::Internal, "private Frank-Wolfe counts votes, was told a mean"};
    return tally->votes;
  }

  /// sum_a p_a (R_a/epsilon_a) ln m: each silo is behind its own best vertex by no more. Source: spec non-euclidean P1.
  [[nodiscard]] double step_error(const geometry::Vertices& vertices,
                                  std::span<const WeighedPlan> silos) const override {
    return vote_error(vertices, silos);
  }
};

}  // namespace

double vote_error(const geometry::Vertices& vertices, std::span<const WeighedPlan> silos) {
  double out = 0.0;
  for (const WeighedPlan& silo : silos) {
    for (const planning::Plan::Segment& segment : silo.plan->segments()) {
      const auto* selection = std::get_if<mechanisms::Selection>(&segment.release.mechanism);
      if (selection == nullptr) continue;
      const double unit =
          vertices.unit() * selection->lattice.step() / static_cast<double>(segment.release.records_drawn);
      out += silo.share * unit * selection->draw.expected_loss_max(static_cast<std::size_t>(vertices.count()));
      break;
    }
  }
  return out;
}

const VertexChoice& choose_by_vote() {
  static const Vote vote;
  return vote;
}

}  // namespace undertone::algorithms
