#include <benchmark/benchmark.h>
#include <numeric>
#include <random>

#include "shared/accounting/calibration.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/random_source.hpp"
#include "shared/folds/fold.hpp"
#include "shared/mechanisms/clipped_sum.hpp"
#include "shared/mechanisms/gaussian_sum/gaussian_sum.hpp"
#include "shared/models/linear_model.hpp"
#include "shared/noise/discrete_samplers.hpp"
#include "shared/noise/rounded_gaussian.hpp"

namespace undertone {
namespace {

void BM_RoundedGaussian(benchmark::State& state) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  std::vector<std::int64_t> out(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    noise::fill_rounded_gaussian(bits, 20, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_RoundedGaussian)->ArgName("dim")->Arg(4096)->Arg(1'000'000);

/// What it is compared with: the standard library's, which is neither exact nor secret.
void BM_StandardNormal(benchmark::State& state) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  std::vector<double> out(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    for (double& value : out) value = normal(generator);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_StandardNormal)->ArgName("dim")->Arg(4096)->Arg(1'000'000);

void BM_DiscreteGaussian(benchmark::State& state) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  for (auto _ : state) benchmark::DoNotOptimize(noise::sample_discrete_gaussian({std::uint64_t{1} << 32U, 1}, bits));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_DiscreteGaussian);

void BM_AddClipped(benchmark::State& state) {
  const Eigen::Index dimension = state.range(0);
  const mechanisms::GaussianLattice lattice = *mechanisms::gaussian_lattice(
      *releases::ClipNorm::create(1.0), *releases::GaussianShift::create(0.1), dimension, 1000);
  const Eigen::VectorXd gradient = Eigen::VectorXd::LinSpaced(dimension, -1.0, 1.0);
  Eigen::VectorXd scratch(dimension);
  std::vector<std::int64_t> sum(static_cast<std::size_t>(dimension), 0);
  for (auto _ : state) {
    scratch = gradient;
    mechanisms::add_clipped(scratch, lattice.lattice, sum);
    benchmark::DoNotOptimize(sum.data());
  }
  state.SetBytesProcessed(state.iterations() * dimension * static_cast<std::int64_t>(sizeof(double)));
}
BENCHMARK(BM_AddClipped)->ArgName("dim")->Arg(31)->Arg(4096);

/// 10^5 records of a logistic model: the clipped, quantised sum of gradients against the two products that a gradient
/// without any privacy costs.
struct GradientCase {
  models::LinearModel model{models::Loss::Logistic, 1000, false};
  models::Records records;
  Eigen::VectorXd point = Eigen::VectorXd::Constant(1000, 0.01);
  explicit GradientCase(Eigen::Index count) : records{Eigen::MatrixXd(1000, count), Eigen::VectorXd(count)} {
    RandomSource random(1);
    for (Eigen::Index j = 0; j < count; ++j) {
      for (Eigen::Index f = 0; f < 1000; ++f) records.features(f, j) = 2.0 * random.unit() - 1.0;
      records.targets[j] = j % 2 == 0 ? 1.0 : -1.0;
    }
  }
};

void BM_GradientUnclipped(benchmark::State& state) {
  const GradientCase given(state.range(0));
  Eigen::VectorXd gradient(1000);
  for (auto _ : state) {
    const Eigen::ArrayXd scores = (given.records.features.transpose() * given.point).array();
    const Eigen::VectorXd factors =
        (-given.records.targets.array() / (1.0 + (given.records.targets.array() * scores).exp())).matrix();
    gradient.noalias() = given.records.features * factors;
    benchmark::DoNotOptimize(gradient.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_GradientUnclipped)->ArgName("n")->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_GradientClipped(benchmark::State& state) {
  const GradientCase given(state.range(0));
  const mechanisms::GaussianLattice lattice = *mechanisms::gaussian_lattice(
      *releases::ClipNorm::create(1.0), *releases::GaussianShift::create(0.1), 1000, state.range(0));
  std::vector<std::int64_t> all(static_cast<std::size_t>(state.range(0)));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  std::vector<double> factors(all.size());
  std::vector<double> norms_squared(all.size());
  for (auto _ : state) {
    mechanisms::ClippedSum sum(lattice.lattice, 1000);
    given.model.derivatives(given.point, given.records, all, factors, norms_squared);
    sum.add(factors, norms_squared, given.records.features, all);
    std::vector<std::int64_t> out(1000);
    sum.take(out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_GradientClipped)->ArgName("n")->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_Fold(benchmark::State& state) {
  folds::LatticeFold fold(state.range(0), -20, queries::ReplyType::I64);
  const std::vector<std::int64_t> reply(static_cast<std::size_t>(state.range(0)), 12345);
  for (auto _ : state) {
    if (fold.replies() == 1000) fold = folds::LatticeFold(state.range(0), -20, queries::ReplyType::I64);
    fold.add(reply, 7);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * static_cast<std::int64_t>(sizeof(std::int64_t)));
}
BENCHMARK(BM_Fold)->ArgName("dim")->Arg(1 << 16);

void BM_Calibration(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(
        accounting::gaussian_shift_for(*releases::Epsilon::create(1.0), *releases::Delta::create(1e-5)));
}
BENCHMARK(BM_Calibration);

/// Epsilon of 10^4 releases in 50 classes, both ends.
void BM_ComposedEpsilon(benchmark::State& state) {
  std::vector<accounting::RepeatedLaw> laws;
  laws.reserve(50);
  for (int i = 0; i < 50; ++i)
    laws.push_back(
        {*accounting::subset_gaussian_law(0.01 + 0.001 * i, *releases::GaussianShift::create(0.5 + 0.01 * i)), 200});
  for (auto _ : state) benchmark::DoNotOptimize(accounting::composed_epsilon(laws, *releases::Delta::create(1e-6)));
}
BENCHMARK(BM_ComposedEpsilon)->Unit(benchmark::kMillisecond);

/// The smallest noise of 10^3 rounds that read a hundredth of the records.
void BM_SampledCalibration(benchmark::State& state) {
  const auto event = [](double multiplier) -> Result<accounting::PrivacyEvent> {
    return accounting::PrivacyEvent(
        accounting::SubsetGaussianEvent{0.01, *releases::GaussianShift::create(1.0 / multiplier)});
  };
  for (auto _ : state) {
    benchmark::DoNotOptimize(accounting::calibrate_gaussian(accounting::CalibrationMethod::Numeric, 1000,
                                                            *releases::Epsilon::create(1.0),
                                                            *releases::Delta::create(1e-5), event));
  }
}
BENCHMARK(BM_SampledCalibration)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace undertone
