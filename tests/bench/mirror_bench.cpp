#include <benchmark/benchmark.h>

#include "shared/base/random_source.hpp"
#include "shared/geometry/mirror_map.hpp"

namespace undertone::geometry {
namespace {

/// Noised gradients: Gaussian would be as good, uniform ones are cheaper to make.
std::vector<Eigen::VectorXd> gradients(Eigen::Index dimension) {
  RandomSource random(1);
  std::vector<Eigen::VectorXd> out(4, Eigen::VectorXd(dimension));
  for (Eigen::VectorXd& gradient : out)
    for (double& value : gradient) value = 2.0 * random.unit() - 1.0;
  return out;
}

/// Steps that stay at the boundary, each followed by its point, as an algorithm makes them.
void step_along(benchmark::State& state, const MirrorMap& map, double step_size) {
  const std::vector<Eigen::VectorXd> asked = gradients(map.dimension());
  Eigen::VectorXd at = map.start();
  Eigen::VectorXd point(map.dimension());
  std::size_t next = 0;
  for (auto _ : state) {
    map.step(asked[next++ % asked.size()], {step_size, 1.0}, at);
    map.point(at, point);
    benchmark::DoNotOptimize(point.data());
  }
  state.SetItemsProcessed(state.iterations() * map.dimension());
}

/// What the others are compared with: a step along the gradient and back into the l1 ball, or the simplex.
void BM_GradientStepL1(benchmark::State& state) {
  step_along(state, MirrorMap(EuclideanMap(Domain::l1_ball(1.0).value(), state.range(0))), 0.1);
}
BENCHMARK(BM_GradientStepL1)->ArgName("dim")->Arg(4096)->Arg(1'000'000);

void BM_GradientStepSimplex(benchmark::State& state) {
  step_along(state, MirrorMap(EuclideanMap(Domain::simplex(1.0).value(), state.range(0))), 0.1);
}
BENCHMARK(BM_GradientStepSimplex)->ArgName("dim")->Arg(4096)->Arg(1'000'000);

/// Within 4 times BM_GradientStepL1.
void BM_PNormStepL1(benchmark::State& state) {
  step_along(state, MirrorMap(PNormMap::create(1.0, L1Ball{1.0}, state.range(0)).value()), 1.0);
}
BENCHMARK(BM_PNormStepL1)->ArgName("dim")->Arg(4096)->Arg(1'000'000);

/// Within twice BM_GradientStepSimplex.
void BM_EntropyStepSimplex(benchmark::State& state) {
  step_along(state, MirrorMap(EntropyMap::create(1.0, state.range(0)).value()), 1.0);
}
BENCHMARK(BM_EntropyStepSimplex)->ArgName("dim")->Arg(4096)->Arg(1'000'000);

/// Of twice as many weights.
void BM_EntropyStepL1(benchmark::State& state) {
  step_along(state, MirrorMap(LiftedEntropyMap::create(1.0, state.range(0)).value()), 1.0);
}
BENCHMARK(BM_EntropyStepL1)->ArgName("dim")->Arg(4096)->Arg(1'000'000);

}  // namespace
}  // namespace undertone::geometry
