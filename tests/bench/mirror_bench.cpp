#include <algorithm>
#include <benchmark/benchmark.h>
#include <numeric>

#include "shared/base/random_source.hpp"
#include "shared/crypto/secure_bits.hpp"
#include "shared/geometry/mirror_map.hpp"
#include "shared/mechanisms/selection/exponential_mechanism.hpp"
#include "silo/oracles/record_sums.hpp"

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

constexpr Eigen::Index kFeatures = 128;
constexpr Eigen::Index kRecords = 20'000;

/// A silo's clipped sum of gradients, in l2 or in l_q besides: what the second clip costs on top of the pass.
/// @param exponent q of the dual norm, 0 of l2 alone
void BM_ClippedSum(benchmark::State& state) {
  static const models::Records records = [] {
    RandomSource random(4);
    models::Records out{Eigen::MatrixXd(kFeatures, kRecords), Eigen::VectorXd(kRecords)};
    for (double& number : out.features.reshaped()) number = 2.0 * random.unit() - 1.0;
    for (double& target : out.targets) target = random.below(2) == 0 ? 1.0 : -1.0;
    return out;
  }();
  std::vector<std::int64_t> everybody(static_cast<std::size_t>(kRecords));
  std::iota(everybody.begin(), everybody.end(), std::int64_t{0});
  const models::LinearModel model(models::Loss::Logistic, kFeatures, false);
  const std::unique_ptr<silo::RecordSums> sums = silo::make_record_sums(model);
  const Eigen::VectorXd point = Eigen::VectorXd::Constant(kFeatures, 0.05);
  const double exponent = state.range(0) == 1 ? HUGE_VAL : static_cast<double>(state.range(0));
  const mechanisms::Lattice lattice{std::int64_t{1} << 30U, 0x1p-27};
  std::vector<std::int64_t> sum(static_cast<std::size_t>(kFeatures));
  for (auto _ : state) {
    if (exponent == 0.0) {
      sums->gradients(point, lattice, {records, everybody}, sum);
    } else {
      sums->dual_gradients(point, {exponent, 0.4}, lattice, {records, everybody}, sum);  // which many are beyond
    }
    benchmark::DoNotOptimize(sum.data());
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
}
BENCHMARK(BM_ClippedSum)->ArgName("q, 1: infinity")->Arg(0)->Arg(1)->Arg(3);

/// Scores of as many vertices as a million coordinates have, of integers such as gradients add up to.
std::vector<std::int64_t> many_scores(std::size_t count) {
  RandomSource random(2);
  std::vector<std::int64_t> out(count);
  for (std::int64_t& score : out) score = static_cast<std::int64_t>(random.below(1U << 24U));
  return out;
}

/// One look at every score, for the best.
void BM_ScoresOnce(benchmark::State& state) {
  const std::vector<std::int64_t> scores = many_scores(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(*std::max_element(scores.begin(), scores.end()));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_ScoresOnce)->ArgName("vertices")->Arg(1'000'000);

/// A selection: it looks at every score once, and tries candidates until one is taken; how often is counted in the
/// second bench, which makes so many exact exponential draws and nothing else.
void BM_Selection(benchmark::State& state) {
  const std::vector<std::int64_t> scores = many_scores(static_cast<std::size_t>(state.range(0)));
  const auto range = mechanisms::ScoreRange::of_differences(1 << 22).value();
  const auto draw = mechanisms::ExponentialMechanism::create(releases::Epsilon::create(1.0).value(), range).value();
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  for (auto _ : state) benchmark::DoNotOptimize(draw.select(scores, bits));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Selection)->ArgName("vertices")->Arg(1'000'000);

void BM_ExponentialDraw(benchmark::State& state) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  RandomSource random(3);
  for (auto _ : state) {
    const auto behind = static_cast<releases::UInt128>(random.below(1U << 24U));
    benchmark::DoNotOptimize(noise::detail::bernoulli_exp(behind << 40U, releases::UInt128{1} << 62U, bits));
  }
}
BENCHMARK(BM_ExponentialDraw);

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
