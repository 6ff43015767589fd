#include <benchmark/benchmark.h>

#include "shared/privacy/gaussian_accountant.hpp"
#include "shared/privacy/lattice.hpp"
#include "shared/privacy/rounded_gaussian.hpp"
#include "shared/queries/fold.hpp"

namespace undertone {
namespace {

void BM_RoundedGaussian(benchmark::State& state) {
  privacy::SecureBits bits = privacy::SecureBits::from_os();
  std::vector<std::int64_t> out(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    privacy::fill_rounded_gaussian(bits, 20, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_RoundedGaussian)->ArgName("dim")->Arg(4096);

void BM_AddClipped(benchmark::State& state) {
  const Eigen::Index dimension = state.range(0);
  const privacy::GaussianLattice lattice = *privacy::gaussian_lattice(
      *privacy::ClipNorm::create(1.0), *privacy::GaussianShift::create(0.1), dimension, 1000);
  const Eigen::VectorXd gradient = Eigen::VectorXd::LinSpaced(dimension, -1.0, 1.0);
  Eigen::VectorXd scratch(dimension);
  std::vector<std::int64_t> sum(static_cast<std::size_t>(dimension), 0);
  for (auto _ : state) {
    scratch = gradient;
    privacy::add_clipped(scratch, lattice.lattice, sum);
    benchmark::DoNotOptimize(sum.data());
  }
  state.SetBytesProcessed(state.iterations() * dimension * static_cast<std::int64_t>(sizeof(double)));
}
BENCHMARK(BM_AddClipped)->ArgName("dim")->Arg(31)->Arg(4096);

void BM_Fold(benchmark::State& state) {
  queries::LatticeFold fold(state.range(0), -20);
  const std::vector<std::int64_t> reply(static_cast<std::size_t>(state.range(0)), 12345);
  for (auto _ : state) {
    if (fold.replies() == 1000) fold = queries::LatticeFold(state.range(0), -20);
    fold.add(reply, 7);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * static_cast<std::int64_t>(sizeof(std::int64_t)));
}
BENCHMARK(BM_Fold)->ArgName("dim")->Arg(1 << 16);

void BM_Calibration(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(
        privacy::gaussian_shift_for(*privacy::Epsilon::create(1.0), *privacy::Delta::create(1e-5)));
}
BENCHMARK(BM_Calibration);

}  // namespace
}  // namespace undertone
