#include "shared/algorithms/table.hpp"

#include <algorithm>

#include "shared/algorithms/fair/dp_fermi.hpp"
#include "shared/algorithms/frank_wolfe/constrained_frank_wolfe.hpp"
#include "shared/algorithms/frank_wolfe/one_shot_frank_wolfe.hpp"
#include "shared/algorithms/frank_wolfe/private_frank_wolfe.hpp"
#include "shared/algorithms/frank_wolfe/private_poly_frank_wolfe.hpp"
#include "shared/algorithms/frank_wolfe/private_tree_frank_wolfe.hpp"
#include "shared/algorithms/frank_wolfe/staged_tree_frank_wolfe.hpp"
#include "shared/algorithms/mirror/constrained_mirror_descent.hpp"
#include "shared/algorithms/mirror/localized_mirror_descent.hpp"
#include "shared/algorithms/mirror/mirror_descent.hpp"
#include "shared/algorithms/mirror/noisy_frank_wolfe.hpp"
#include "shared/algorithms/mirror/noisy_mirror_descent.hpp"
#include "shared/algorithms/mirror/poly_frank_wolfe.hpp"
#include "shared/algorithms/mirror/staged_mirror_descent.hpp"
#include "shared/algorithms/mirror/stochastic_mirror_descent.hpp"
#include "shared/algorithms/mirror/tree_frank_wolfe.hpp"
#include "shared/algorithms/one_round/objective_perturbation.hpp"
#include "shared/algorithms/one_round/statistics.hpp"
#include "shared/algorithms/proximal/prox_svrg.hpp"
#include "shared/algorithms/proximal/proximal_sgd.hpp"
#include "shared/algorithms/proximal/spider.hpp"
#include "shared/algorithms/public/throw_away.hpp"
#include "shared/algorithms/scoring/fisher_scoring.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/algorithms/sgd/local_sgd.hpp"
#include "shared/algorithms/sgd/localized_subgradient.hpp"
#include "shared/algorithms/sgd/lp_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/algorithms/sgd/scaffold.hpp"
#include "shared/algorithms/sgd/strongly_convex_sgd.hpp"

namespace undertone::algorithms {
namespace {

constexpr NamedMethod kMethods[] = {
    {MinibatchSgd::kName, MinibatchSgd::parse},
    {MinibatchSgd::kLdpName, MinibatchSgd::parse_ldp},
    {MinibatchSgd::kSemiLdpName, MinibatchSgd::parse_semi_ldp},
    {AcceleratedSgd::kName, AcceleratedSgd::parse},
    {AcceleratedSgd::kLocalizedName, AcceleratedSgd::parse_localized},
    {StronglyConvexSgd::kName, StronglyConvexSgd::parse},
    {LocalizedSubgradient::kRegularisedName, LocalizedSubgradient::parse_regularised},
    {LocalizedSubgradient::kName, LocalizedSubgradient::parse},
    {LocalizedSubgradient::kStagedName, LocalizedSubgradient::parse_staged},
    {ProximalSgd::kName, ProximalSgd::parse},
    {ProxSvrg::kName, ProxSvrg::parse},
    {Spider::kName, Spider::parse},
    {SpiderAlternate::kName, SpiderAlternate::parse},
    {LocalSgd::kName, LocalSgd::parse},
    {LocalSgd::kMinibatchName, LocalSgd::parse_minibatch},
    {LocalSgd::kFedProxName, LocalSgd::parse_fedprox},
    {Scaffold::kName, Scaffold::parse, true},
    {PrivateFrankWolfe::kName, PrivateFrankWolfe::parse},
    {PrivateTreeFrankWolfe::kName, PrivateTreeFrankWolfe::parse},
    {StagedTreeFrankWolfe::kName, StagedTreeFrankWolfe::parse},
    {PrivatePolyFrankWolfe::kName, PrivatePolyFrankWolfe::parse},
    {OneShotFrankWolfe::kName, OneShotFrankWolfe::parse},
    {ConstrainedFrankWolfe::kName, ConstrainedFrankWolfe::parse},
    {ConstrainedMirrorDescent::kName, ConstrainedMirrorDescent::parse},
    {ConstrainedMirrorDescent::kStronglyConvexName, ConstrainedMirrorDescent::parse_strongly_convex},
    {MirrorDescent::kName, MirrorDescent::parse},
    {LocalizedMirrorDescent::kName, LocalizedMirrorDescent::parse},
    {ObjectivePerturbation::kName, ObjectivePerturbation::parse},
    {StagedMirrorDescent::kName, StagedMirrorDescent::parse},
    {StochasticMirrorDescent::kName, StochasticMirrorDescent::parse, true},
    {LpSgd::kName, LpSgd::parse},
    {NoisyMirrorDescent::kName, NoisyMirrorDescent::parse},
    {NoisyFrankWolfe::kName, NoisyFrankWolfe::parse},
    {PolyFrankWolfe::kName, PolyFrankWolfe::parse},
    {TreeFrankWolfe::kName, TreeFrankWolfe::parse},
    {ThrowAway::kName, ThrowAway::parse},
    {DpFermi::kName, DpFermi::parse},
    {FisherScoring::kName, FisherScoring::parse, false, true},
};

}  // namespace

std::span<const NamedMethod> method_table() { return kMethods; }

std::vector<std::string_view> algorithm_kinds() {
  std::vector<std::string_view> names;
  for (const NamedMethod& method : kMethods) names.push_back(method.name);
  return names;
}

bool is_unconstrained(std::string_view name) {
  return std::any_of(std::begin(kMethods), std::end(kMethods),
                     [&](const NamedMethod& method) { return method.name == name && method.unconstrained; });
}

std::vector<std::string_view> method_names() {
  std::vector<std::string_view> names;
  for (const NamedMethod& method : kMethods)
    if (!method.simulated_only) names.push_back(method.name);
  names.push_back(Statistics::kName);
  return names;
}

}  // namespace undertone::algorithms
