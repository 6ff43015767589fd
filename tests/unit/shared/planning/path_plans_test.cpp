#include <cmath>
#include <gtest/gtest.h>

#include "shared/accounting/accountant.hpp"
#include "shared/accounting/renyi.hpp"
#include "shared/algorithms/frank_wolfe/private_poly_frank_wolfe.hpp"
#include "shared/algorithms/frank_wolfe/private_tree_frank_wolfe.hpp"
#include "shared/algorithms/frank_wolfe/staged_tree_frank_wolfe.hpp"
#include "shared/planning/plan.hpp"
#include "verifier/ledger_texts.hpp"

/// Plans of selections along paths: a record is charged for every one whose path goes through its node.
namespace undertone::planning {
namespace {

using algorithms::GradientShape;
using algorithms::PrivatePolyFrankWolfe;
using algorithms::PrivatePolyFrankWolfeSettings;
using algorithms::PrivateTreeFrankWolfe;
using algorithms::PrivateTreeFrankWolfeSettings;

constexpr double kLipschitz = 2.0;
constexpr double kSmoothness = 1.0;
constexpr double kDelta = 1e-6;

algorithms::Problem in_ball() {
  algorithms::Problem problem;
  problem.dimension = 8;
  problem.domain = geometry::Domain::l1_ball(1.0).value();
  return problem;
}
const geometry::Vertices& ball() {
  static const geometry::Vertices vertices = geometry::Vertices::of_l1_ball(8, 1.0).value();  // D = 2
  return vertices;
}
GradientShape shape() { return {releases::MaxBound{releases::CoordinateBound::create(kLipschitz).value()}, 1.0}; }

Schedule tree(std::uint64_t depth) {
  return PrivateTreeFrankWolfe::schedule(PrivateTreeFrankWolfeSettings{in_ball(), ball(), depth, kSmoothness}, shape());
}
Schedule chain(std::uint64_t rounds, double eta) {
  return PrivatePolyFrankWolfe::schedule(PrivatePolyFrankWolfeSettings{in_ball(), ball(), rounds, eta, kSmoothness},
                                         shape());
}

releases::SiloFacts silo_of(std::int64_t records, const releases::Target& target) {
  return {SiloId::create("one").value(), records, 0, false, target};
}
releases::Target pure(double epsilon) { return releases::PureDp{releases::Epsilon::create(epsilon).value()}; }
releases::Target approximate(double epsilon) {
  return releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(kDelta).value()};
}
releases::Target concentrated(double rho_value) {
  const auto rho = releases::Rho::create(rho_value).value();
  const auto delta = releases::Delta::create(kDelta).value();
  return releases::ConcentratedDp{
      rho, delta, releases::Epsilon::create(accounting::epsilon_of_zcdp(rho, delta) * (1.0 + 1e-9)).value()};
}

/// What a record at every position of n is charged, from the paths themselves: of each selection whose path goes
/// through its node what the node's levels can move, summed or as rho.
std::vector<double> charged_by_hand(const Plan& plan, std::int64_t records, bool squares) {
  std::vector<double> out(static_cast<std::size_t>(records), 0.0);
  for (const Plan::Segment& segment : plan.segments()) {
    const auto& selection = std::get<mechanisms::PathSelection>(segment.release.mechanism);
    const auto& nodes = segment.release.ask.path()->nodes;
    const double whole = selection.draw.epsilon().value_rounded_up();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const double part = static_cast<double>(selection.lattice.nodes()[i].levels) /
                          static_cast<double>(selection.lattice.levels_max());
      const double each = whole * part;
      const releases::Slice::Positions at = nodes[i].slice.positions(records);
      for (std::int64_t position = at.from; position < at.to; ++position)
        out[static_cast<std::size_t>(position)] +=
            static_cast<double>(segment.rounds) * (squares ? each * each / 8.0 : each);
    }
  }
  return out;
}

/// The parts that the records of a tree of this depth are cut into.
std::int64_t parts_of(std::uint64_t depth) {
  return (std::int64_t{1} << (depth - 1)) * static_cast<std::int64_t>(2 * depth + depth * (depth + 1) / 2);
}

TEST(PathPlansTest, TheDearestPositionOfAPureTargetCostsTheTargetWhateverTheDepth) {
  for (std::uint64_t depth = 1; depth <= 6; ++depth) {
    SCOPED_TRACE(depth);
    const std::int64_t records = 3 * parts_of(depth) + 1;
    const Plan plan = make_plan(tree(depth), silo_of(records, pure(1.5))).value();
    EXPECT_LE(plan.epsilon().value_rounded_up(), 1.5);
    const std::vector<double> charged = charged_by_hand(plan, records, false);
    const double most = *std::max_element(charged.begin(), charged.end());
    EXPECT_LE(most, 1.5);
    EXPECT_GE(most, 1.5 * (1.0 - 1e-3));  // of which parts of 4096 are rounded up
    EXPECT_EQ(charged.back(), 0.0);       // of the record that no part has
    EXPECT_EQ(plan.rounds(), (std::uint64_t{2} << depth) - 2);
  }
}

TEST(PathPlansTest, EveryPhaseSpendsAllOfItOnRecordsOfItsOwn) {
  const std::int64_t records = 10 * parts_of(4);
  const Plan plan = make_plan(tree(4), silo_of(records, concentrated(0.2))).value();
  const std::vector<double> rho = charged_by_hand(plan, records, true);
  EXPECT_LE(*std::max_element(rho.begin(), rho.end()), 0.2);
  for (std::uint64_t phase = 1; phase <= 4; ++phase) {
    const auto first = (std::uint64_t{1} << phase) - 2;
    const auto& hull = *plan.release(RoundIndex{first + (std::uint64_t{1} << phase) - 1})->ask.records.slice;
    const releases::Slice::Positions all = hull.positions(records);
    double most = 0.0;
    for (std::int64_t position = all.from; position < all.to; ++position)
      most = std::max(most, rho[static_cast<std::size_t>(position)]);
    EXPECT_NEAR(most, 0.2, 0.2 * 2e-3) << phase;
  }
  EXPECT_LE(plan.epsilon().value_rounded_up(),
            accounting::epsilon_of_zcdp(releases::Rho::create(0.2).value(), releases::Delta::create(kDelta).value()) *
                (1.0 + 1e-8));
}

Schedule stages(std::vector<algorithms::TreeStage> of) {
  return algorithms::StagedTreeFrankWolfe::schedule({in_ball(), std::move(of), kSmoothness}, shape());
}

TEST(PathPlansTest, OneStageIsTheTreeAndSmallerBallsNeedLessNoise) {
  const releases::SiloFacts silo = silo_of(10 * parts_of(3), approximate(1.0));
  const Plan tree_plan = make_plan(tree(3), silo).value();
  EXPECT_EQ(make_plan(stages({{3, 1.0}}), silo).value().releases_text(releases::Block::Training),
            tree_plan.releases_text(releases::Block::Training));
  // Scores are of the vertices' own length, and differences of gradients of the points' own distance.
  const auto scale_of = [&](double radius) {
    const Plan plan = make_plan(stages({{3, radius}}), silo).value();
    const auto& selection = std::get<mechanisms::PathSelection>(plan.release({13})->mechanism);
    return radius * static_cast<double>(selection.draw.range().value()) * selection.lattice.unit() /
           selection.draw.epsilon().value_rounded_up();
  };
  EXPECT_LE(scale_of(0.25), 0.26 * scale_of(1.0));
}

TEST(PathPlansTest, EveryStageSpendsAllOfItOnABlockOfItsOwn) {
  const std::vector<algorithms::TreeStage> of{{2, 1.0}, {3, 0.5}, {3, 0.25}};
  const algorithms::TreeStageTiling tiling = algorithms::tile_tree_stages(of);
  ASSERT_EQ(tiling.first.size(), 3U);
  const auto size_of = [&](std::size_t i) {
    return static_cast<double>(tiling.units[i]) * static_cast<double>(parts_of(of[i].depth));
  };
  EXPECT_NEAR(size_of(1) / size_of(0), 2.0, 0.2);
  EXPECT_NEAR(size_of(2) / size_of(1), 2.0, 1e-12);
  const std::int64_t records = 5 * static_cast<std::int64_t>(tiling.parts) + 3;
  for (const releases::Target& target : {pure(1.0), concentrated(0.2)}) {
    const bool squares = std::holds_alternative<releases::ConcentratedDp>(target);
    const double most = squares ? 0.2 : 1.0;
    const Plan plan = make_plan(stages(of), silo_of(records, target)).value();
    EXPECT_EQ(plan.rounds(), 6U + 14U + 14U);
    const std::vector<double> charged = charged_by_hand(plan, records, squares);
    EXPECT_LE(*std::max_element(charged.begin(), charged.end()), most);
    for (std::size_t i = 0; i < of.size(); ++i) {
      const auto from = charged.begin() + 5 * static_cast<std::ptrdiff_t>(tiling.first[i]);
      EXPECT_NEAR(*std::max_element(from, from + 5 * static_cast<std::ptrdiff_t>(size_of(i))), most, 2e-3 * most) << i;
    }
    EXPECT_EQ(charged.back(), 0.0);
  }
}

TEST(PathPlansTest, StagesThatAreNoneAreRefused) {
  using algorithms::StagedTreeFrankWolfe;
  const auto made = [](std::vector<algorithms::TreeStage> of, double smoothness = kSmoothness) {
    return StagedTreeFrankWolfe::create({in_ball(), std::move(of), smoothness}).has_value();
  };
  EXPECT_TRUE(made({{1, 1.0}, {8, 1e-6}}));
  EXPECT_FALSE(made({}));
  EXPECT_FALSE(made({9, {1, 1.0}}));
  EXPECT_FALSE(made({{0, 1.0}}));
  EXPECT_FALSE(made({{9, 1.0}}));
  EXPECT_FALSE(made({{1, 0.0}}));
  EXPECT_FALSE(made({{1, std::nan("")}}));
  EXPECT_FALSE(made({{1, 1.0}}, 0.0));
  EXPECT_FALSE(made({{1, 1e-60}}, 1e-60));  // a difference of gradients that is nothing
}

TEST(PathPlansTest, TheScalesAreTheFormulas) {
  // Pure: lambda_t = (2^t D/(b epsilon)) max(2 L, min(4 L, 2 beta D)) with default steps: a selection's range over its
  // epsilon. Spec non-euclidean A3, with the gradient's sensitivity 2 L/b and D = 2.
  constexpr std::uint64_t kDepth = 3;
  const std::int64_t unit = 50;
  const Plan plan = make_plan(tree(kDepth), silo_of(unit * parts_of(kDepth), pure(2.0))).value();
  const double root = static_cast<double>(unit << kDepth);
  for (std::uint64_t phase = 1; phase <= kDepth; ++phase) {
    const std::uint64_t last = (std::uint64_t{2} << phase) - 3;
    const auto& selection = std::get<mechanisms::PathSelection>(plan.release(RoundIndex{last})->mechanism);
    const double scale = static_cast<double>(selection.draw.range().value()) * selection.lattice.unit() /
                         selection.draw.epsilon().value_rounded_up();
    // A record of a node of depth j is in 2^(t-j) paths, at min(4 L, 2 beta (2 D 2^-j)) 2^j/b each; one of the root in
    // 2^t. The dearest position decides.
    double dearest = std::ldexp(2.0 * kLipschitz, static_cast<int>(phase));
    for (std::uint64_t j = 1; j <= phase; ++j) {
      const double moved = 2.0 * 2.0 * std::ldexp(1.0, -static_cast<int>(j));
      const double each = std::ldexp(std::min(4.0 * kLipschitz, 2.0 * kSmoothness * moved), static_cast<int>(j));
      dearest = std::max(dearest, std::ldexp(each, static_cast<int>(phase - j)));
    }
    EXPECT_NEAR(scale, 2.0 * dearest / (root * 2.0), 1e-3 * scale) << phase;
  }
}

TEST(PathPlansTest, AChainsOldRecordsCostLessAndLessAndAreChargedForAll) {
  const std::int64_t records = 4000;
  for (const double eta : {0.1, 0.5}) {
    const Plan plan = make_plan(chain(10, eta), silo_of(records, approximate(1.0))).value();
    EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
    EXPECT_GE(plan.epsilon().value_rounded_up(), 0.99);
    const std::vector<double> rho = charged_by_hand(plan, records, true);
    const accounting::Rho most = accounting::Rho::create(*std::max_element(rho.begin(), rho.end())).value();
    // Numeric composition is no worse than zCDP's conversion, and not far below it.
    EXPECT_GE(accounting::epsilon_of_zcdp(most, releases::Delta::create(kDelta).value()), 0.98);
    // A record of the last part is charged once, at less than the first part's are together.
    EXPECT_LT(rho[3999], rho[2000]);
    EXPECT_GT(rho[3999], 0.0);
  }
}

TEST(PathPlansTest, TooFewRecordsAndNodesThatOverlapAreRefused) {
  const std::int64_t needed = parts_of(5);
  EXPECT_TRUE(make_plan(tree(5), silo_of(needed, pure(1.0))));
  const Result<Plan> fewer = make_plan(tree(5), silo_of(needed - 1, pure(1.0)));
  ASSERT_FALSE(fewer);
  EXPECT_NE(fewer.error().message.find("leaves none for"), std::string::npos) << fewer.error().message;
  const auto refused = [&](const auto& change) {
    Schedule schedule = tree(2);
    auto& nodes = std::get<releases::PathMap>(schedule.back().ask.map).nodes;
    change(nodes);
    return !make_plan(schedule, silo_of(1000, approximate(1.0)));
  };
  EXPECT_FALSE(refused([](auto& /*nodes*/) {}));
  EXPECT_TRUE(refused([](auto& nodes) { nodes.back().slice = nodes.front().slice; }));
  EXPECT_TRUE(refused([](auto& nodes) { nodes.back().slice.index = 0; }));
  EXPECT_TRUE(refused([](auto& nodes) { nodes.clear(); }));
  EXPECT_TRUE(refused([](auto& nodes) { nodes.front().carried = 0.5; }));
  EXPECT_TRUE(refused([](auto& nodes) { nodes.back().carried = 0.0; }));
  EXPECT_TRUE(refused([](auto& nodes) { nodes.back().factor = 1.5; }));
  EXPECT_TRUE(refused([](auto& nodes) { nodes.back().factor = std::nan(""); }));
  EXPECT_TRUE(refused([](auto& nodes) { nodes.back().bound = releases::CoordinateBound::create(1e3).value(); }));
  EXPECT_TRUE(refused([](auto& nodes) { nodes.back().slice.assignment = releases::Slice::Assignment::Bins; }));
}

TEST(PathPlansTest, TheListNamesEveryNodeAndWhatItCosts) {
  const Plan plan = make_plan(tree(2), silo_of(1000, approximate(1.0))).value();
  const std::string text = plan.releases_text(releases::Block::Training);
  const auto groups = verifier::parse_release_groups(text, verifier::Format::Two);
  ASSERT_TRUE(groups) << text;
  std::size_t nodes = 0;
  std::size_t own = 0;
  for (const Plan::Segment& segment : plan.segments()) nodes += segment.release.ask.path()->nodes.size();
  for (const verifier::ReleaseGroup& group : *groups) own += group.beside ? 0 : 1;
  EXPECT_EQ(groups->size(), nodes);
  EXPECT_EQ(own, plan.rounds());
}

TEST(PathPlansTest, SelectionsAndSumsOfOnePromiseAreEquallyLoud) {
  const releases::Ask vote{releases::GradientMap{},
                           {},
                           releases::MaxBound{releases::CoordinateBound::create(1.0).value()},
                           8,
                           releases::SelectionForm{ball()}};
  const releases::Ask sum{releases::GradientMap{}, {}, releases::L2Bound{releases::ClipNorm::create(1.0).value()}, 8};
  for (const releases::Target& target : {approximate(1.0), concentrated(0.1)}) {
    const Plan plan = make_plan({{vote, 3}, {sum, 5}, {vote, 1}}, silo_of(500, target)).value();
    const double ranged = plan.release({0})->cost().ranged.value_rounded_up();
    const double shift = std::sqrt(plan.release({3})->cost().gaussian.value_rounded_up());
    EXPECT_NEAR(ranged, 2.0 * shift, 0.02 * ranged);  // epsilon^2/8 = mu^2/2, but for the lattice
    EXPECT_LE(plan.epsilon().value_rounded_up(), releases::epsilon_of(target).value());
    EXPECT_GE(plan.epsilon().value_rounded_up(), 0.9 * releases::epsilon_of(target).value());
  }
}

}  // namespace
}  // namespace undertone::planning
