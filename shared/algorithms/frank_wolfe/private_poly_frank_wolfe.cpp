#include "shared/algorithms/frank_wolfe/private_poly_frank_wolfe.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/mirror/frank_wolfe_section.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/algorithms/vertices_section.hpp"
#include "shared/config/section.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kPrivatePoly = "private recursive Frank-Wolfe";

/// Node i of the chain: half of the records, then a part of the other half.
releases::Slice chain_slice(std::uint64_t rounds, std::uint64_t i) {
  releases::Slice slice{releases::Slice::Cut::Equal, i == 0 ? 0 : rounds + i - 1, 2 * rounds};
  slice.span = i == 0 ? rounds : 1;
  return slice;
}

double chain_risk_of_one(const PrivatePolyFrankWolfeSettings& settings, const planning::Plan& plan) {
  const double across = l1_diameter(settings.vertices);
  const double eta = settings.step_size;
  const double kept = 1.0 - eta;
  const auto count = static_cast<std::size_t>(settings.vertices.count());
  const double coordinates = 2.0 * static_cast<double>(settings.problem.dimension);
  double excess = 0.0;
  double proxy = 0.0;
  bool first = true;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const auto* selection = std::get_if<mechanisms::PathSelection>(&segment.release.mechanism);
    if (selection == nullptr) continue;
    const double lipschitz = segment.release.ask.path()->nodes.front().bound.value();
    const double squared = lipschitz * lipschitz;
    const auto records = static_cast<double>(selection->lattice.nodes().front().records);
    if (first) {
      excess = lipschitz * across;
      proxy = squared / records;
    } else {
      // A part has 1/W of the first half's records. One record is in both of its terms, (1 - eta) times a difference
      // and eta times a gradient, so that their sizes add up and not their squares.
      const double ratio = std::min(2.0, settings.smoothness * eta * across / lipschitz);
      const double size = kept * ratio + eta;
      proxy = kept * kept * proxy + size * size * number(settings.rounds) * squared / records;
    }
    first = false;
    const double behind =
        selection->draw.expected_loss_max(count) * selection->lattice.unit() * settings.vertices.unit();
    excess = kept * excess + eta * (behind + across * std::sqrt(2.0 * std::log(coordinates) * proxy)) +
             0.5 * eta * eta * settings.smoothness * across * across;
  }
  return excess;
}

}  // namespace

std::optional<RiskBound> PrivatePolyFrankWolfeSettings::planned_risk(std::span<const WeighedPlan> silos) const {
  double bound = 0.0;
  for (const WeighedPlan& silo : silos) bound += silo.share * chain_risk_of_one(*this, *silo.plan);
  return RiskBound{bound, "excess risk over the population",
                   "recursive Frank-Wolfe, each silo selecting, spec non-euclidean B1"};
}

std::string_view PrivatePolyFrankWolfeSettings::name() const { return PrivatePolyFrankWolfe::kName; }

std::string PrivatePolyFrankWolfeSettings::source() const {
  return "private recursive Frank-Wolfe, Algorithm 1 of Bassily, Guzman and Nandi 2021, each silo selecting";
}

MethodNumbers PrivatePolyFrankWolfeSettings::numbers() const {
  return {{"rounds", number(rounds)},
          {"step_size", step_size},
          {"smoothness", smoothness},
          {"vertices", static_cast<double>(vertices.count())},
          {"diameter", l1_diameter(vertices)}};
}

Extent PrivatePolyFrankWolfeSettings::extent() const {
  const std::uint64_t all = saturating_sum(rounds, 1);
  return {all, all};
}

ParsedMethod PrivatePolyFrankWolfe::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const double smoothness = parse_needed_smoothness(section);
  geometry::Vertices vertices =
      parse_vertices(section.object("vertices",
                                    "of the private Frank-Wolfe methods: among which every silo chooses; of "
                                    "the constrained methods, where no domain names the polytope: listed"),
                     problem.dimension);
  return {PrivatePolyFrankWolfeSettings{problem, std::move(vertices), rounds, step_size, smoothness}};
}

Result<std::unique_ptr<PrivatePolyFrankWolfe>> PrivatePolyFrankWolfe::create(
    const PrivatePolyFrankWolfeSettings& settings) {
  const auto refuse = [](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", kPrivatePoly, what)};
  };
  if (settings.rounds < 1 || settings.rounds > kRoundsMax)
    return refuse(
        fmt::format("from 1 to {} rounds, whose points every question brings, got {}", kRoundsMax, settings.rounds));
  if (!(settings.step_size > 0.0 && settings.step_size < 1.0))
    return refuse(fmt::format("a step must be in (0, 1), got {}", settings.step_size));
  UNDERTONE_TRY(check_path_problem(kPrivatePoly, settings.vertices, settings.smoothness,
                                   settings.step_size * l1_diameter(settings.vertices), settings.problem));
  return std::unique_ptr<PrivatePolyFrankWolfe>(new PrivatePolyFrankWolfe(settings));
}

PrivatePolyFrankWolfe::PrivatePolyFrankWolfe(const PrivatePolyFrankWolfeSettings& settings)
    : settings_(settings),
      iterate_(settings_.problem.start()),
      points_(settings_.rounds + 1, Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule PrivatePolyFrankWolfe::schedule(const PrivatePolyFrankWolfeSettings& settings,
                                                   const GradientShape& shape) {
  const double eta = settings.step_size;
  const double moved = eta * l1_diameter(settings.vertices);
  const double part =
      (1.0 - eta) * difference_bound(shape, settings.smoothness, moved).value() + eta * gradient_bound(shape).value();
  planning::Schedule out;
  for (std::uint64_t t = 0; t <= settings.rounds; ++t) {
    std::vector<releases::PathNode> nodes;
    for (std::uint64_t i = 0; i <= t; ++i) {
      nodes.push_back(
          {chain_slice(settings.rounds, i),
           i == 0 ? gradient_bound(shape) : *releases::CoordinateBound::create(std::max(part, kTermBoundMin)),
           std::pow(1.0 - eta, number(t - i)), i == 0 ? 0.0 : 1.0 - eta});
    }
    releases::Slice hull{releases::Slice::Cut::Equal, 0, 2 * settings.rounds};
    hull.span = settings.rounds + t;
    out.push_back({path_selection(settings.vertices, std::move(nodes), hull), 1});
  }
  return out;
}

Step PrivatePolyFrankWolfe::current() {
  if (round_ == settings_.extent().rounds) return finished(iterate_);
  points_[round_] = iterate_;
  std::vector<const Eigen::VectorXd*> points;
  for (std::uint64_t i = 0; i <= round_; ++i) points.push_back(&points_[i]);
  return ask_path(round_, points);
}

Result<Step> PrivatePolyFrankWolfe::advance(const folds::Gathered& gathered) {
  UNDERTONE_TRY(step_to_selected(kPrivatePoly, gathered, round_, settings_.vertices, settings_.step_size, iterate_));
  queries::round_to(settings_.problem.point_type, iterate_);
  ++round_;
  return current();
}

void PrivatePolyFrankWolfe::save(ByteWriter& state) const {
  state.u64(round_);
  save_path(state, iterate_, points_);
}

Status PrivatePolyFrankWolfe::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.extent().rounds, round_); !read) return read;
  return restore_path(state, iterate_, points_);
}

}  // namespace undertone::algorithms
