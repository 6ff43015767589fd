#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <memory>
#include <sodium.h>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/crypto/secure_bits.hpp"
#include "shared/planning/plan.hpp"
#include "shared/sealed/seal_reply.hpp"
#include "silo/oracles/bits_stream.hpp"
#include "silo/oracles/counts_oracle.hpp"

namespace undertone {
namespace {

constexpr Eigen::Index kDimension = 100'000;
constexpr std::int64_t kBatch = 100;
constexpr std::size_t kSilos = 25;
constexpr queries::WireLattice kWire{queries::ReplyType::I32, -40};

const unsigned char* raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

/// A release of a plan for epsilon 1 over so many rounds, of all records of a silo. @param shuffled where at least 20
/// of 25 silos are honest
planning::Release release_of(std::uint64_t rounds, bool shuffled) {
  const releases::Ask shape{releases::GradientMap{},
                            {releases::Block::Training, 1.0},
                            releases::L2Bound{releases::ClipNorm::create(1.0).value()},
                            kDimension};
  const releases::SiloFacts facts{
      SiloId::create("a").value(), kBatch, 0, false,
      releases::ApproximateDp{releases::Epsilon::create(1.0).value(), releases::Delta::create(1e-6).value()}};
  const std::optional<planning::Shuffling> shuffling =
      shuffled ? std::optional(planning::Shuffling{20, true, std::int64_t{1} << 24U}) : std::nullopt;
  return planning::make_plan({{shape, rounds}}, facts, shuffling)->segments().front().release;
}

jobs::Shuffle shuffle_of(const sealed::SealingKey& first, const sealed::SealingKey& second) {
  jobs::Shuffle shuffle;
  shuffle.form = jobs::Shuffle::Form::Shares;
  shuffle.shufflers = {{"first", digest_from_bytes(first.public_key().bytes()).value()},
                       {"second", digest_from_bytes(second.public_key().bytes()).value()}};
  return shuffle;
}

struct ShuffledCase {
  std::uint64_t rounds;
  models::LinearModel model{models::Loss::Logistic, kDimension, false};
  data::Dataset dataset;
  queries::Query query{RoundIndex{0}, queries::GradientQuestion{Eigen::VectorXd::Zero(kDimension)}};
  planning::Release gaussian = release_of(rounds, false);
  planning::Release binomial = release_of(rounds, true);
  sealed::SealingKey first = sealed::SealingKey::generate();
  sealed::SealingKey second = sealed::SealingKey::generate();
  jobs::Shuffle shuffle = shuffle_of(first, second);
  sealed::RoundLayout layout = sealed::RoundLayout::create(shuffle, binomial, kWire, kSilos).value();
  RunId run;
  sealed::Recipients recipients = sealed::adders_of(shuffle, run).value();
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  silo::BitsStream<crypto::SecureBits> stream{bits};
  silo::BinomialCoins coins;
  std::unique_ptr<silo::RecordSums> sums;

  explicit ShuffledCase(std::uint64_t of_rounds) : rounds(of_rounds) {
    dataset.training = {Eigen::MatrixXd(kDimension, kBatch), Eigen::VectorXd(kBatch)};
    RandomSource random(1);
    for (Eigen::Index j = 0; j < kBatch; ++j) {
      for (Eigen::Index f = 0; f < kDimension; ++f) dataset.training.features(f, j) = 2.0 * random.unit() - 1.0;
      dataset.training.targets[j] = j % 2 == 0 ? 1.0 : -1.0;
    }
    sums = silo::make_record_sums(models::Model(model));
  }
  [[nodiscard]] std::vector<std::int64_t> counts() {
    return silo::draw_and_count(query, binomial, {dataset, {}}, *sums, coins, stream);
  }
};

ShuffledCase& the_case(std::int64_t rounds) {
  static std::unique_ptr<ShuffledCase> one;
  const auto wanted = static_cast<std::uint64_t>(rounds);
  if (!one || one->rounds != wanted) {
    one.reset();
    one = std::make_unique<ShuffledCase>(wanted);
  }
  return *one;
}

template <class Operation>
double seconds_of(const Operation& operation) {
  const auto begun = std::chrono::steady_clock::now();
  operation();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// Times ours; "ratio" is the median of its time over the other's, the two taken in turns.
template <class Ours, class Other>
void compare(benchmark::State& state, const Ours& ours, const Other& other) {
  ours();  // as in a second round: blocks and tables of the first are there again
  other();
  std::vector<double> ratios;
  for (auto _ : state) {
    const double seconds = seconds_of(ours);
    state.SetIterationTime(seconds);
    ratios.push_back(seconds / seconds_of(other));
  }
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  state.counters["ratio"] = *middle;
}

/// A silo's randomised counts against the Gaussian release of the same records. "of_8_2_d": the bytes that it sends to
/// both shufflers, over two vectors of doubles.
void BM_DrawAndCount(benchmark::State& state) {
  ShuffledCase& one = the_case(state.range(0));
  compare(
      state, [&] { benchmark::DoNotOptimize(one.counts().data()); },
      [&] {
        benchmark::DoNotOptimize(
            silo::draw_and_sum(one.query, one.gaussian, {one.dataset, {}}, one.sums.get(), kWire, one.stream));
      });
  state.counters["of_8_2_d"] = 2.0 * static_cast<double>(one.layout.message_bytes()) / (16.0 * kDimension);
  state.counters["grid"] = static_cast<double>(one.layout.parameters().grid());
  state.counters["coins"] = static_cast<double>(one.layout.parameters().coins());
}

/// What the counts cost beside the sum, against the Gaussian release's noise: rounding and coins alone.
void BM_RoundAndAddCoins(benchmark::State& state) {
  ShuffledCase& one = the_case(state.range(0));
  const std::vector<std::int64_t> sum(static_cast<std::size_t>(kDimension), 12345);
  std::vector<std::int64_t> counts(sum.size());
  std::vector<std::int64_t> noise(sum.size());
  const mechanisms::BinomialParameters& parameters = one.layout.parameters();
  const int log2_stddev = std::get<mechanisms::GaussianLattice>(one.gaussian.mechanism).log2_stddev;
  compare(
      state,
      [&] {
        std::fill(counts.begin(), counts.end(), 0);
        one.stream.add_rounded(sum, kBatch, parameters, counts);
        one.stream.add_coins(one.coins.of(parameters, kBatch), counts);
        benchmark::DoNotOptimize(counts.data());
      },
      [&] {
        one.stream.fill_gaussian(log2_stddev, noise);
        benchmark::DoNotOptimize(noise.data());
      });
  state.SetItemsProcessed(state.iterations() * kDimension);
}

/// Sealing both shares against crypto_box_seal of as many bytes. @param with_split of the counts, too
void seal_shares(benchmark::State& state, bool with_split) {
  ShuffledCase& one = the_case(state.range(0));
  const std::vector<std::int64_t> counts = one.counts();
  const sealed::SealFor seal_for{one.run, one.query.round, queries::query_digest(one.run, one.query), one.recipients};
  const std::string body(one.layout.body_bytes(), 'x');
  const sealed::RoundTerms terms = one.layout.terms(seal_for.run, seal_for.round, seal_for.query);
  std::string out(body.size() + crypto_box_SEALBYTES, '\0');
  compare(
      state,
      [&] {
        if (with_split) {
          benchmark::DoNotOptimize(sealed::seal_counts(counts, one.layout, seal_for, one.stream)->data());
          return;
        }
        for (const sealed::SealingPublicKey& key : one.recipients.keys)
          benchmark::DoNotOptimize(
              sealed::seal(key, one.recipients.mac_key, terms, sealed::Ticket::draw(), body)->data());
      },
      [&] {
        for (const sealed::SealingPublicKey& key : one.recipients.keys)
          benchmark::DoNotOptimize(crypto_box_seal(raw(out), raw(body), body.size(), raw(key.bytes())));
      });
  state.SetBytesProcessed(state.iterations() * 2 * static_cast<std::int64_t>(body.size()));
}
void BM_SealShares(benchmark::State& state) { seal_shares(state, false); }
void BM_SplitAndSealShares(benchmark::State& state) { seal_shares(state, true); }

/// Of many rounds each is noisy and its grid coarse; of one it is fine, and the law of its coins wide.
void plans(benchmark::internal::Benchmark* bench) {
  bench->ArgName("rounds")->Arg(100)->Arg(1)->UseManualTime()->Unit(benchmark::kMicrosecond);
}
BENCHMARK(BM_DrawAndCount)->Apply(plans);
BENCHMARK(BM_RoundAndAddCoins)->Apply(plans);
BENCHMARK(BM_SealShares)->Apply(plans);
BENCHMARK(BM_SplitAndSealShares)->Apply(plans);

}  // namespace
}  // namespace undertone
