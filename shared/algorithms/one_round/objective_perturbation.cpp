#include "shared/algorithms/one_round/objective_perturbation.hpp"

#include "shared/algorithms/method_kit.hpp"
#include "shared/config/section.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kObjective = "objective perturbation";

}  // namespace

std::string_view ObjectivePerturbationSettings::name() const { return ObjectivePerturbation::kName; }

std::string ObjectivePerturbationSettings::source() const {
  return "objective perturbation, Algorithm 2 of Talwar, Thakurta and Zhang 2014, with its noise corrected, one-shot";
}

MethodTraits ObjectivePerturbationSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.linear_models = true;
  traits.twice_differentiable = true;
  traits.local_steps = 1;  // what answers is a model
  return traits;
}

ParsedMethod ObjectivePerturbation::parse(config::Section& /*section*/, const Problem& problem) {
  return {ObjectivePerturbationSettings{problem}};
}

Result<std::unique_ptr<ObjectivePerturbation>> ObjectivePerturbation::create(
    const ObjectivePerturbationSettings& settings) {
  if (!settings.problem.regulariser.is_none()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: what a silo minimises has a regulariser of its own: expected none, got {}",
                             kObjective, settings.problem.regulariser.name())};
  }
  return std::unique_ptr<ObjectivePerturbation>(new ObjectivePerturbation(settings));
}

ObjectivePerturbation::ObjectivePerturbation(const ObjectivePerturbationSettings& settings)
    : settings_(settings), mean_(settings_.problem.start()) {}

planning::Schedule ObjectivePerturbation::schedule(const ObjectivePerturbationSettings& settings,
                                                   const GradientShape& shape) {
  const releases::MinimiserMap map{settings.problem.domain, settings.problem.start()};
  return {{releases::Ask{map, {}, releases::L2Bound{shape.clip()}, settings.problem.dimension}, 1}};
}

Step ObjectivePerturbation::current() const {
  if (round_ > 0) return finished(mean_);
  return queries::Query{RoundIndex{0}, queries::LocalRunQuestion{mean_}};
}

Result<Step> ObjectivePerturbation::advance(const folds::Gathered& gathered) {
  if (Status told = check_told(kObjective, round_, 1, settings_.problem, gathered); !told) return told.error();
  mean_ = gathered.mean();
  if (Status converges = check_converges(kObjective, round_, settings_.problem, mean_); !converges)
    return converges.error();
  settings_.problem.settle(mean_);
  ++round_;
  return current();
}

void ObjectivePerturbation::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&mean_});
}

Status ObjectivePerturbation::restore(ByteReader& state) {
  if (Status read = restore_count(state, 1, round_); !read) return read;
  return restore_vectors(state, {&mean_});
}

}  // namespace undertone::algorithms
