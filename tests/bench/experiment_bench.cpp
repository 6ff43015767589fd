#include <benchmark/benchmark.h>
#include <numeric>

#include "shared/algorithms/sgd/local_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/crypto/test_bits.hpp"
#include "shared/noise/rounded_gaussian.hpp"
#include "simulation/direct_cohort.hpp"

/// One training of the MNIST experiment (25 silos of 1238 records, d = 50, R = 35, K = 443), against the arithmetic
/// that nobody could do without; and many small silos.
namespace undertone {
namespace {

struct Silos {
  std::vector<data::Dataset> datasets;
  std::vector<simulation::DirectCohort::Member> members;
  algorithms::Method settings;

  Silos(std::size_t silos, Eigen::Index records, Eigen::Index d, double draw_fraction, algorithms::Method asked)
      : settings(std::move(asked)) {
    RandomSource random(1);
    datasets.resize(silos);
    const planning::Schedule schedule =
        settings->schedule({releases::L2Bound{releases::ClipNorm::create(10.0).value()}, draw_fraction});
    const auto target = releases::Epsilon::create(3.0).value();
    const auto delta = releases::Delta::create(1e-6).value();
    std::vector<planning::Plan::Segment> releases;
    for (std::size_t i = 0; i < silos; ++i) {
      models::Records& training = datasets[i].training;
      training = {Eigen::MatrixXd(d, records), Eigen::VectorXd(records)};
      for (double& value : training.features.reshaped()) value = 2.0 * random.unit() - 1.0;
      for (double& value : training.targets) value = random.chance(0.5) ? 1.0 : -1.0;
      const SiloId id = SiloId::create(fmt::format("silo-{}", i)).value();
      if (i == 0)
        releases = planning::make_plan(schedule, {id, records, 0, false, releases::ApproximateDp{target, delta}})
                       .value()
                       .segments();
      members.push_back({id, &datasets[i], releases, 1, 1});
    }
  }
  Eigen::VectorXd train(Eigen::Index d, std::size_t threads) const {
    auto cohort = simulation::DirectCohort::create({models::LinearModel(models::Loss::Logistic, d, false),
                                                    {queries::ReplyType::I64, -40},
                                                    {},
                                                    1,
                                                    simulation::SimulatedNoise::Seeded,
                                                    0,
                                                    threads},
                                                   members)
                      .value();
    return cohort.train(*settings->make().value()).value().vectors.at("weights");
  }
};

algorithms::Problem problem_of(Eigen::Index d) {
  return {d, geometry::Domain::whole_space(), geometry::Regulariser::none(), queries::PointType::F64};
}

constexpr Eigen::Index kDimension = 50;
constexpr std::int64_t kBatch = 443;
constexpr std::uint64_t kRounds = 35;

void BM_MnistCell(benchmark::State& state) {
  const Silos silos(25, 1238, kDimension, 443.5 / 1238.0,
                    algorithms::MinibatchSgdSettings{problem_of(kDimension), kRounds, 0.1, {}});
  for (auto _ : state) benchmark::DoNotOptimize(silos.train(kDimension, 1).data());
}
BENCHMARK(BM_MnistCell)->Unit(benchmark::kMillisecond);

/// Gathers, products, logistic derivatives and noise of the same cell, of records drawn beforehand; without draws,
/// clipping, lattices or messages.
void BM_MnistCellBare(benchmark::State& state) {
  const Silos silos(25, 1238, kDimension, 443.5 / 1238.0,
                    algorithms::MinibatchSgdSettings{problem_of(kDimension), kRounds, 0.1, {}});
  crypto::TestBits bits(1, "bench", {});
  std::vector<std::vector<std::int64_t>> drawn(kRounds);  // what a round draws, before the clock starts
  for (std::vector<std::int64_t>& positions : drawn) positions = noise::sample_without_replacement(bits, 1238, kBatch);
  Eigen::MatrixXd batch(kDimension, kBatch);
  Eigen::VectorXd targets(kBatch);
  Eigen::VectorXd slopes(kBatch);
  Eigen::VectorXd gradient(kDimension);
  std::vector<std::int64_t> noise(kDimension);
  for (auto _ : state) {
    Eigen::VectorXd weights = Eigen::VectorXd::Zero(kDimension);
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      Eigen::VectorXd mean = Eigen::VectorXd::Zero(kDimension);
      for (const data::Dataset& silo : silos.datasets) {
        for (Eigen::Index i = 0; i < kBatch; ++i) {
          const Eigen::Index j = drawn[round][static_cast<std::size_t>(i)];
          batch.col(i) = silo.training.features.col(j);
          targets[i] = silo.training.targets[j];
        }
        slopes.noalias() = batch.transpose() * weights;
        slopes = -targets.array() / (1.0 + (targets.array() * slopes.array()).exp());
        gradient.noalias() = batch * slopes;
        noise::fill_rounded_gaussian(bits, 16, noise);
        for (Eigen::Index j = 0; j < kDimension; ++j)
          mean[j] += gradient[j] + 1e-5 * static_cast<double>(noise[static_cast<std::size_t>(j)]);
      }
      weights -= 0.1 / 25.0 / static_cast<double>(kBatch) * mean;
    }
    benchmark::DoNotOptimize(weights.data());
  }
}
BENCHMARK(BM_MnistCellBare)->Unit(benchmark::kMillisecond);

/// 443 noisy steps of one record a round: what the experiments' grids take longest for.
void BM_MnistLocalCell(benchmark::State& state) {
  const Silos silos(25, 1238, kDimension, 1.0,
                    algorithms::LocalSgdSettings{problem_of(kDimension), kRounds, kBatch, 0.01});
  for (auto _ : state) benchmark::DoNotOptimize(silos.train(kDimension, 1).data());
  state.counters["steps"] =
      benchmark::Counter(static_cast<double>(25 * kRounds * kBatch), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_MnistLocalCell)->Unit(benchmark::kMillisecond);

/// Its noise alone.
void BM_MnistLocalNoise(benchmark::State& state) {
  crypto::TestBits bits(1, "bench", {});
  std::vector<std::int64_t> noise(kDimension);
  for (auto _ : state) {
    for (std::uint64_t step = 0; step < 25 * kRounds * kBatch; ++step) {
      noise::fill_rounded_gaussian(bits, 16, noise);
      benchmark::DoNotOptimize(noise.data());
    }
  }
}
BENCHMARK(BM_MnistLocalNoise)->Unit(benchmark::kMillisecond);

void BM_ManySilos(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const Silos silos(count, 100, kDimension, 1.0,
                    algorithms::MinibatchSgdSettings{problem_of(kDimension), 100, 0.1, {}});
  for (auto _ : state) benchmark::DoNotOptimize(silos.train(kDimension, 2).data());
  state.counters["silo_rounds"] =
      benchmark::Counter(static_cast<double>(count) * 100.0, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_ManySilos)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace undertone
