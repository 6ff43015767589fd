#include <benchmark/benchmark.h>
#include <chrono>
#include <sodium.h>

#include "shared/sealed/sealed_reply.hpp"

namespace undertone::sealed {
namespace {

const unsigned char* raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

struct SealingCase {
  explicit SealingCase(std::int64_t bytes)
      : body(static_cast<std::size_t>(bytes), 'x'),
        terms{{}, RoundIndex{1}, sha256("query"), ReplyLength::create(body.size()).value()} {}

  std::string body;
  RoundTerms terms;
  SealingKey key = SealingKey::generate();
  ReplyMacKey mac_key = ReplyMacKey::draw();
  Ticket ticket = Ticket::draw();
};

template <class Operation>
double seconds_of(const Operation& operation) {
  const auto begun = std::chrono::steady_clock::now();
  operation();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// Times ours; "ratio" is its time over the library's for as many bytes, the two taken in turns.
template <class Ours, class Library>
void compare(benchmark::State& state, const Ours& ours, const Library& library) {
  ours();  // as in a second round: the blocks of the first are there again
  library();
  double ours_seconds = 0.0;
  double library_seconds = 0.0;
  for (auto _ : state) {
    const double seconds = seconds_of(ours);
    state.SetIterationTime(seconds);
    ours_seconds += seconds;
    library_seconds += seconds_of(library);
  }
  state.counters["ratio"] = ours_seconds / library_seconds;
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

/// Against crypto_box_seal of the body alone into a new string.
void BM_SealReply(benchmark::State& state) {
  const SealingCase one(state.range(0));
  compare(
      state,
      [&] {
        benchmark::DoNotOptimize(seal(one.key.public_key(), one.mac_key, one.terms, one.ticket, one.body)->data());
      },
      [&] {
        std::string out(one.body.size() + crypto_box_SEALBYTES, '\0');
        benchmark::DoNotOptimize(
            crypto_box_seal(raw(out), raw(one.body), one.body.size(), raw(one.key.public_key().bytes())));
      });
}

/// Against crypto_box_seal of the body alone into memory that is there already: nothing but the cryptography.
void BM_SealReplyAgainstTheCipher(benchmark::State& state) {
  const SealingCase one(state.range(0));
  std::string out(one.body.size() + crypto_box_SEALBYTES, '\0');
  compare(
      state,
      [&] {
        benchmark::DoNotOptimize(seal(one.key.public_key(), one.mac_key, one.terms, one.ticket, one.body)->data());
      },
      [&] {
        benchmark::DoNotOptimize(
            crypto_box_seal(raw(out), raw(one.body), one.body.size(), raw(one.key.public_key().bytes())));
      });
}

/// Against crypto_box_seal_open of a box of the body alone into memory that is there already.
void BM_OpenReply(benchmark::State& state) {
  const SealingCase one(state.range(0));
  const std::string sealed = seal(one.key.public_key(), one.mac_key, one.terms, one.ticket, one.body).value();
  std::string box(one.body.size() + crypto_box_SEALBYTES, '\0');
  if (crypto_box_seal(raw(box), raw(one.body), one.body.size(), raw(one.key.public_key().bytes())) != 0) {
    state.SkipWithError("the library does not seal");
    return;
  }
  std::string body = one.body;
  double ours_seconds = 0.0;
  double library_seconds = 0.0;
  for (auto _ : state) {
    std::string received = sealed;
    const double seconds = seconds_of(
        [&] { benchmark::DoNotOptimize(open(one.key, one.mac_key, one.terms, std::move(received))->body().data()); });
    state.SetIterationTime(seconds);
    ours_seconds += seconds;
    library_seconds += seconds_of([&] {
      benchmark::DoNotOptimize(crypto_box_seal_open(raw(body), raw(box), box.size(), raw(one.key.public_key().bytes()),
                                                    raw(one.key.secret_bytes())));
    });
  }
  state.counters["ratio"] = ours_seconds / library_seconds;
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("bytes")->Arg(1000)->Arg(1'000'000)->Arg(100'000'000)->UseManualTime();
  bench->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_SealReply)->Apply(sizes);
BENCHMARK(BM_SealReplyAgainstTheCipher)->Apply(sizes);
BENCHMARK(BM_OpenReply)->Apply(sizes);

}  // namespace
}  // namespace undertone::sealed
