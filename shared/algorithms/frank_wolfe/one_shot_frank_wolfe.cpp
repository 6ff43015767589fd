#include "shared/algorithms/frank_wolfe/one_shot_frank_wolfe.hpp"

#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/vertices_section.hpp"
#include "shared/config/section.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kOneShot = "one-shot Frank-Wolfe";

}  // namespace

std::string_view OneShotFrankWolfeSettings::name() const { return OneShotFrankWolfe::kName; }

std::string OneShotFrankWolfeSettings::source() const {
  return "one-shot averaging of private Frank-Wolfe, Algorithm 4 of Talwar, Thakurta and Zhang 2014 in every silo";
}

MethodNumbers OneShotFrankWolfeSettings::numbers() const {
  return {{"iterates", number(iterates)}, {"vertices", static_cast<double>(vertices.count())}};
}

MethodTraits OneShotFrankWolfeSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.bounded_in = MethodTraits::BoundedIn::EveryCoordinate;
  traits.linear_models = true;
  traits.local_steps = iterates == 0 ? 0 : iterates - 1;
  return traits;
}

ParsedMethod OneShotFrankWolfe::parse(config::Section& section, const Problem& problem) {
  const auto iterates = static_cast<std::uint64_t>(
      section.integer("iterates", 2, static_cast<std::int64_t>(releases::kRoundsMax) + 1,
                      "T: of T-1 steps 2/(t+1), each to a vertex or an extreme point of the domain"));
  geometry::Vertices vertices =
      parse_vertices(section.object("vertices",
                                    "of the private Frank-Wolfe methods: among which every silo chooses; of "
                                    "the constrained methods, where no domain names the polytope: listed"),
                     problem.dimension);
  return {OneShotFrankWolfeSettings{problem, std::move(vertices), iterates}};
}

Result<std::unique_ptr<OneShotFrankWolfe>> OneShotFrankWolfe::create(const OneShotFrankWolfeSettings& settings) {
  const auto refuse = [](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", kOneShot, what)};
  };
  if (settings.iterates < 2 || settings.iterates - 1 > kStepsMax)
    return refuse(fmt::format("from 2 to {} iterates, got {}", kStepsMax + 1, settings.iterates));
  if (settings.vertices.dimension() != settings.problem.dimension)
    return refuse(fmt::format("vertices of {} numbers, and a model of {}", settings.vertices.dimension(),
                              settings.problem.dimension));
  if (!settings.problem.regulariser.is_none())
    return refuse(fmt::format("silos choose by their losses alone: expected no regulariser, got {}",
                              settings.problem.regulariser.name()));
  UNDERTONE_TRY(check_domain_of(settings.vertices, settings.problem.domain, kOneShot));
  return std::unique_ptr<OneShotFrankWolfe>(new OneShotFrankWolfe(settings));
}

OneShotFrankWolfe::OneShotFrankWolfe(const OneShotFrankWolfeSettings& settings)
    : settings_(settings), mean_(settings_.problem.start()) {}

planning::Schedule OneShotFrankWolfe::schedule(const OneShotFrankWolfeSettings& settings, const GradientShape& shape) {
  const releases::LocalChoicesMap choices{settings.vertices, settings.iterates - 1};
  return {{releases::Ask{choices, {}, shape.bound, settings.problem.dimension}, 1}};
}

Step OneShotFrankWolfe::current() const {
  if (round_ > 0) return finished(mean_);
  return queries::Query{RoundIndex{0}, queries::LocalRunQuestion{mean_}};
}

Result<Step> OneShotFrankWolfe::advance(const folds::Gathered& gathered) {
  if (Status told = check_told(kOneShot, round_, 1, settings_.problem, gathered); !told) return told.error();
  mean_ = gathered.mean();
  if (Status converges = check_converges(kOneShot, round_, settings_.problem, mean_); !converges)
    return converges.error();
  queries::round_to(settings_.problem.point_type, mean_);
  ++round_;
  return current();
}

void OneShotFrankWolfe::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&mean_});
}

Status OneShotFrankWolfe::restore(ByteReader& state) {
  if (Status read = restore_count(state, 1, round_); !read) return read;
  return restore_vectors(state, {&mean_});
}

}  // namespace undertone::algorithms
