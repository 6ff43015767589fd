#include <benchmark/benchmark.h>
#include <numeric>

#include "shared/base/random_source.hpp"
#include "shared/models/layered_model.hpp"

namespace undertone {
namespace {

using models::Activation;
using models::LayeredModel;

struct ModelCase {
  LayeredModel model;
  models::Records records;
  std::vector<std::int64_t> drawn;
  Eigen::VectorXd weights;
  Eigen::VectorXd reference;
  Eigen::VectorXd sum;

  ModelCase(const models::NetworkShape& shape, Eigen::Index batch)
      : model(models::Network::create(shape).value()),
        records{Eigen::MatrixXd(model.features(), batch), Eigen::VectorXd(batch)},
        drawn(static_cast<std::size_t>(batch)),
        weights(model.dimension()),
        reference(model.dimension()),
        sum(model.dimension()) {
    RandomSource random(1);
    for (double& value : records.features.reshaped()) value = 2.0 * random.unit() - 1.0;
    for (Eigen::Index j = 0; j < batch; ++j) records.targets[j] = static_cast<double>(j % model.classes());
    std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
    model.network().initialise(random, weights);
    model.network().initialise(random, reference);
  }
};

models::NetworkShape perceptron() { return {{1, 1, 50}, {models::DenseShape{64, Activation::Relu}}, 2}; }

models::NetworkShape convolutional() {
  return {
      {3, 32, 32},
      {models::ConvolutionShape{6, 5, Activation::Relu, true}, models::ConvolutionShape{16, 5, Activation::Relu, true},
       models::DenseShape{120, Activation::Relu}, models::DenseShape{84, Activation::Relu}},
      10};
}

void run_plain(benchmark::State& state, const models::NetworkShape& shape) {
  ModelCase given(shape, state.range(0));
  for (auto _ : state) {
    given.model.gradient_sum(given.weights, given.records, given.drawn, given.sum);
    benchmark::DoNotOptimize(given.sum.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void run_clipped(benchmark::State& state, const models::NetworkShape& shape) {
  ModelCase given(shape, state.range(0));
  for (auto _ : state) {
    given.model.clipped_gradient_sum(given.weights, given.records, given.drawn, 0.5, given.sum);
    benchmark::DoNotOptimize(given.sum.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void run_difference(benchmark::State& state, const models::NetworkShape& shape) {
  ModelCase given(shape, state.range(0));
  for (auto _ : state) {
    given.model.clipped_difference_sum(given.weights, given.reference, given.records, given.drawn, 0.5, given.sum);
    benchmark::DoNotOptimize(given.sum.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// What the perceptron's are compared with: three products over the whole batch, in place, nothing per record.
void BM_PerceptronProducts(benchmark::State& state) {
  const ModelCase given(perceptron(), state.range(0));
  const Eigen::Index batch = state.range(0);
  const Eigen::MatrixXd first = given.model.layers()[0].matrix(given.weights).leftCols(50);
  const Eigen::MatrixXd second = given.model.layers()[1].matrix(given.weights).leftCols(64);
  Eigen::MatrixXd hidden(64, batch);
  Eigen::MatrixXd scores(2, batch);
  Eigen::MatrixXd hidden_errors(64, batch);
  Eigen::MatrixXd first_sum(64, 50);
  Eigen::MatrixXd second_sum(2, 64);
  Eigen::VectorXd first_biases(64);
  Eigen::VectorXd second_biases(2);
  for (auto _ : state) {
    hidden.noalias() = first * given.records.features;
    hidden = hidden.cwiseMax(0.0);
    scores.noalias() = second * hidden;
    for (Eigen::Index j = 0; j < batch; ++j) {
      auto errors = scores.col(j);
      errors.array() = (errors.array() - errors.maxCoeff()).exp();
      errors /= errors.sum();
      errors[static_cast<Eigen::Index>(given.records.targets[j])] -= 1.0;
    }
    hidden_errors.noalias() = second.transpose() * scores;
    hidden_errors = (hidden.array() > 0.0).select(hidden_errors, 0.0);
    first_sum.noalias() = hidden_errors * given.records.features.transpose();
    second_sum.noalias() = scores * hidden.transpose();
    first_biases = hidden_errors.rowwise().sum();
    second_biases = scores.rowwise().sum();
    benchmark::DoNotOptimize(first_sum.data());
    benchmark::DoNotOptimize(second_sum.data());
    benchmark::DoNotOptimize(first_biases.data());
    benchmark::DoNotOptimize(second_biases.data());
  }
  state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(BM_PerceptronProducts)->ArgName("batch")->Arg(1000)->Unit(benchmark::kMillisecond);

void BM_PerceptronPlain(benchmark::State& state) { run_plain(state, perceptron()); }
BENCHMARK(BM_PerceptronPlain)->ArgName("batch")->Arg(1000)->Unit(benchmark::kMillisecond);

void BM_PerceptronClipped(benchmark::State& state) { run_clipped(state, perceptron()); }
BENCHMARK(BM_PerceptronClipped)->ArgName("batch")->Arg(1000)->Unit(benchmark::kMillisecond);

void BM_PerceptronDifference(benchmark::State& state) { run_difference(state, perceptron()); }
BENCHMARK(BM_PerceptronDifference)->ArgName("batch")->Arg(1000)->Unit(benchmark::kMillisecond);

void BM_ConvolutionPlain(benchmark::State& state) { run_plain(state, convolutional()); }
BENCHMARK(BM_ConvolutionPlain)->ArgName("batch")->Arg(64)->Unit(benchmark::kMillisecond);

void BM_ConvolutionClipped(benchmark::State& state) { run_clipped(state, convolutional()); }
BENCHMARK(BM_ConvolutionClipped)->ArgName("batch")->Arg(64)->Unit(benchmark::kMillisecond);

void BM_ConvolutionDifference(benchmark::State& state) { run_difference(state, convolutional()); }
BENCHMARK(BM_ConvolutionDifference)->ArgName("batch")->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace undertone
