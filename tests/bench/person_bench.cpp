#include <benchmark/benchmark.h>
#include <memory>
#include <numeric>
#include <vector>

#include "silo/oracles/person_sums.hpp"
#include "tests/bench/paired.hpp"

/// This times a pass over persons against one over as many single records. At most 1.3 was asked for.
namespace undertone::silo {
namespace {

constexpr std::int64_t kRecords = 20'000;

/// Holds a model's records, which are also those of persons with `each` of them.
struct Passes {
  Passes(Eigen::Index features, std::int64_t each, const models::Model& model)
      : draw(sha256("key"), std::min(each, releases::kPersonRecordsMax)),
        point(Eigen::VectorXd::Constant(
            model.linear() != nullptr ? model.linear()->dimension() : model.network()->dimension(), 0.01)),
        sum(static_cast<std::size_t>(point.size())) {
    records.features = Eigen::MatrixXd::Random(features, kRecords);
    records.targets = Eigen::VectorXd::Random(kRecords).array().sign();
    if (model.network() != nullptr) records.targets = records.targets.cwiseMax(0.0);
    persons = records;
    for (std::int64_t from = 0; from <= kRecords; from += each) persons.starts.push_back(from);
    all_records.resize(kRecords);
    std::iota(all_records.begin(), all_records.end(), std::int64_t{0});
    all_persons.assign(all_records.begin(), all_records.begin() + kRecords / each);
    of_records = make_record_sums(model);
    const bool network = model.network() != nullptr;
    using Form = releases::PersonContribution::Form;
    of_persons = make_person_sums(model, network ? Form::MeanOfClipped : Form::ClippedMean);
  }
  void over_records() { of_records->gradients(point, lattice, {records, all_records}, sum); }
  void over_persons() { of_persons->gradients(point, lattice, {persons, all_persons, std::nullopt, &draw}, sum); }

  models::Records records;
  models::Records persons;
  std::vector<std::int64_t> all_records;
  std::vector<std::int64_t> all_persons;
  PersonDraw draw;
  std::unique_ptr<RecordSums> of_records;
  std::unique_ptr<RecordSums> of_persons;
  Eigen::VectorXd point;
  mechanisms::Lattice lattice{std::int64_t{1} << 30U, 0x1p-30};
  std::vector<std::int64_t> sum;
};

/// Every slot is a person's record: what slots cost that are empty is padding, and a choice of the job.
void BM_LinearPass(benchmark::State& state) {
  const auto features = static_cast<Eigen::Index>(state.range(0));
  Passes passes(features, state.range(1), models::Model(models::LinearModel(models::Loss::Logistic, features, true)));
  bench::compare(
      state, [&] { passes.over_persons(); }, [&] { passes.over_records(); });
  state.SetItemsProcessed(state.iterations() * kRecords);
}

void BM_NetworkPass(benchmark::State& state) {
  const auto features = static_cast<Eigen::Index>(state.range(0));
  const models::NetworkShape shape{
      {1, 1, static_cast<int>(features)}, {models::DenseShape{16, models::Activation::Relu}}, 2};
  Passes passes(features, state.range(1), models::Model(models::Network::create(shape).value()));
  bench::compare(
      state, [&] { passes.over_persons(); }, [&] { passes.over_records(); });
  state.SetItemsProcessed(state.iterations() * kRecords);
}

/// This times a pass with a person of a hundred records against one with a person of one record, beside 200 others. Of
/// each 16 records may count. The ratio is what the time tells of her.
void BM_ManyRecordsAgainstOne(benchmark::State& state) {
  const auto features = static_cast<Eigen::Index>(state.range(0));
  constexpr std::int64_t kOthers = 200;
  const models::Model model(models::LinearModel(models::Loss::Logistic, features, true));
  const auto of = [&](std::int64_t held) {
    Passes out(features, 1, model);
    out.draw = PersonDraw(sha256("key"), 16);
    out.persons.starts = {0, held};
    for (std::int64_t other = 0; other < kOthers; ++other)
      out.persons.starts.push_back(out.persons.starts.back() + 1 + other % 7);
    out.persons.features.conservativeResize(Eigen::NoChange, out.persons.starts.back());
    out.persons.targets.conservativeResize(out.persons.starts.back());
    out.all_persons.resize(kOthers + 1);
    return out;
  };
  Passes many = of(100);
  Passes one = of(1);
  bench::compare(
      state, [&] { many.over_persons(); }, [&] { one.over_persons(); });
  state.SetItemsProcessed(state.iterations() * kOthers);
}

void passes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"features", "each"})->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (const std::int64_t features : {10, 100}) bench->Args({features, 4})->Args({features, 16});
}
BENCHMARK(BM_LinearPass)->Apply(passes);
BENCHMARK(BM_NetworkPass)->Apply(passes);
BENCHMARK(BM_ManyRecordsAgainstOne)
    ->ArgName("features")
    ->Arg(10)
    ->Arg(100)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace undertone::silo
