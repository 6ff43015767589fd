#include "silo/oracles/test_randomness.hpp"

#include <algorithm>

#include "shared/base/byte_stream.hpp"
#include "shared/crypto/test_bits.hpp"
#include "shared/noise/discrete_samplers.hpp"
#include "silo/oracles/bits_stream.hpp"

namespace undertone::silo {
namespace {

/// A stream that holds its own bits.
class SeededStream final : public ReleaseStream {
 public:
  explicit SeededStream(crypto::TestBits bits) : bits_(std::move(bits)), stream_(bits_) {}
  void fill_gaussian(int log2_stddev, std::span<std::int64_t> out) override { stream_.fill_gaussian(log2_stddev, out); }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) override { return stream_.below(bound); }
  [[nodiscard]] std::vector<std::int64_t> subset(std::int64_t population, std::int64_t size) override {
    return stream_.subset(population, size);
  }
  [[nodiscard]] std::vector<std::int64_t> multiset(std::int64_t population, std::int64_t draws) override {
    return stream_.multiset(population, draws);
  }
  void add_rounded(std::span<const std::int64_t> sum, std::int64_t records,
                   const mechanisms::BinomialParameters& parameters, std::span<std::int64_t> counts) override {
    stream_.add_rounded(sum, records, parameters, counts);
  }
  void add_coins(const noise::BinomialTable& coins, std::span<std::int64_t> counts) override {
    stream_.add_coins(coins, counts);
  }
  void add_laplace(const mechanisms::LaplaceSum& noise, std::span<std::int64_t> sums) override {
    stream_.add_laplace(noise, sums);
  }
  void fill_generalised(const noise::GeneralisedGaussian& noise, std::span<std::int64_t> out) override {
    stream_.fill_generalised(noise, out);
  }
  void randomise(const mechanisms::LocalReports& reports, std::span<std::int64_t> numbers,
                 std::span<const std::int64_t> slots) override {
    stream_.randomise(reports, numbers, slots);
  }
  void randomise_vector(const mechanisms::LocalReports& reports, const Eigen::Ref<const Eigen::VectorXd>& vector,
                        std::span<std::int64_t> report) override {
    stream_.randomise_vector(reports, vector, report);
  }
  [[nodiscard]] std::size_t select(const mechanisms::ExponentialMechanism& mechanism,
                                   std::span<const std::int64_t> scores) override {
    return stream_.select(mechanism, scores);
  }
  [[nodiscard]] Result<sealed::SharePair> split(std::span<const std::int64_t> counts,
                                                const sealed::ShareModulus& modulus) override {
    return stream_.split(counts, modulus);
  }
  [[nodiscard]] std::vector<std::int64_t> order(std::int64_t size) override { return stream_.order(size); }

 private:
  crypto::TestBits bits_;
  BitsStream<crypto::TestBits> stream_;
};

/// For what is drawn once a run. @param what "permutation" or "bins"
crypto::TestBits bits_of_run(std::string_view what, const PermutationName& name, std::uint64_t seed,
                             const SiloId& silo) {
  ByteWriter purpose;
  purpose.text(what);
  purpose.text(name.run.bytes());
  purpose.u64(static_cast<std::uint64_t>(name.block));
  purpose.text(silo.name());
  if (name.pass > 0) purpose.u64(name.pass);
  return crypto::TestBits(seed, purpose.bytes(), crypto::InsecureForTestsOnly{});
}

/// Words that make randomised rounding take the nearest integer, the upper one of two.
struct Halves {
  using ScriptedForTests = void;
  [[nodiscard]] static std::uint64_t word() { return 0x8000000080000000U; }
};

class NoiselessStream final : public ReleaseStream {
 public:
  explicit NoiselessStream(std::unique_ptr<ReleaseStream> sampling) : sampling_(std::move(sampling)) {}
  void fill_gaussian(int /*log2_stddev*/, std::span<std::int64_t> out) override {
    std::fill(out.begin(), out.end(), 0);
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) override { return sampling_->below(bound); }
  [[nodiscard]] std::vector<std::int64_t> subset(std::int64_t population, std::int64_t size) override {
    return sampling_->subset(population, size);
  }
  [[nodiscard]] std::vector<std::int64_t> multiset(std::int64_t population, std::int64_t draws) override {
    return sampling_->multiset(population, draws);
  }
  void add_rounded(std::span<const std::int64_t> sum, std::int64_t records,
                   const mechanisms::BinomialParameters& parameters, std::span<std::int64_t> counts) override {
    Halves halves;
    mechanisms::add_rounded_sum(sum, records, parameters, halves, counts);
  }
  void add_coins(const noise::BinomialTable& coins, std::span<std::int64_t> counts) override {
    // n a / c to the nearest integer, a half down: at most 2^34 2^16 2.
    const auto heads = static_cast<std::int64_t>(coins.p().numerator);
    const auto of = static_cast<std::int64_t>(coins.p().denominator);
    const std::int64_t mean = (2 * coins.trials() * heads + of - 1) / (2 * of);
    for (std::int64_t& count : counts) count += mean;
  }
  void add_laplace(const mechanisms::LaplaceSum& /*noise*/, std::span<std::int64_t> /*sums*/) override {}
  void fill_generalised(const noise::GeneralisedGaussian& /*noise*/, std::span<std::int64_t> out) override {
    std::fill(out.begin(), out.end(), 0);
  }
  // A report that is not the number itself is nothing without its coins.
  void randomise(const mechanisms::LocalReports& reports, std::span<std::int64_t> numbers,
                 std::span<const std::int64_t> slots) override {
    if (reports.kind() != releases::Randomiser::Laplace) return sampling_->randomise(reports, numbers, slots);
    for (std::int64_t& number : numbers) number = std::clamp(number, reports.low, reports.high);
  }
  void randomise_vector(const mechanisms::LocalReports& reports, const Eigen::Ref<const Eigen::VectorXd>& vector,
                        std::span<std::int64_t> report) override {
    const auto* noise = std::get_if<mechanisms::VectorNoise>(&reports.randomiser);
    if (const auto* direction = std::get_if<mechanisms::PrivUnit>(&reports.randomiser)) {
      // What a report is on average: m times the vector, or its direction.
      const double norm = vector.norm();
      const bool scaled = direction->adapter() == releases::UnitAdapter::Normalise;
      const double length = scaled ? norm : std::max(norm, 1.0);
      const double units = std::isfinite(norm) && length > 0.0
                               ? direction->scale() / length * static_cast<double>(mechanisms::PrivUnit::kUnits)
                               : 0.0;
      for (std::size_t j = 0; j < report.size(); ++j)
        report[j] = units == 0.0 ? 0 : std::llrint(units * vector[static_cast<Eigen::Index>(j)]);
      return;
    }
    if (noise == nullptr) return sampling_->randomise_vector(reports, vector, report);
    std::fill(report.begin(), report.end(), 0);
    noise->add(vector, report);
  }
  [[nodiscard]] std::size_t select(const mechanisms::ExponentialMechanism& /*mechanism*/,
                                   std::span<const std::int64_t> scores) override {
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  }
  [[nodiscard]] Result<sealed::SharePair> split(std::span<const std::int64_t> counts,
                                                const sealed::ShareModulus& modulus) override {
    return sampling_->split(counts, modulus);
  }
  [[nodiscard]] std::vector<std::int64_t> order(std::int64_t size) override { return sampling_->order(size); }

 private:
  std::unique_ptr<ReleaseStream> sampling_;
};

}  // namespace

std::unique_ptr<ReleaseStream> TestRandomness::open(const SpendToken& token) {
  UNDERTONE_CHECK(token.valid());
  return stream(token.run(), token.round());
}

std::unique_ptr<ReleaseStream> TestRandomness::stream(const RunId& run, RoundIndex round) const {
  ByteWriter purpose;
  purpose.text("release");
  purpose.text(run.bytes());
  purpose.u64(round.value);
  purpose.text(silo_.name());
  return std::make_unique<SeededStream>(crypto::TestBits(seed_, purpose.bytes(), crypto::InsecureForTestsOnly{}));
}

std::vector<std::int64_t> TestRandomness::permutation(const PermutationName& name, std::int64_t count) {
  crypto::TestBits bits = bits_of_run("permutation", name, seed_, silo_);
  return noise::sample_permutation(count, bits);
}

std::vector<std::int64_t> TestRandomness::bins(const PermutationName& name, std::int64_t count) {
  crypto::TestBits bits = bits_of_run("bins", name, seed_, silo_);
  return noise::sample_with_replacement(count, count, bits);
}

std::unique_ptr<ReleaseStream> NoiselessRandomness::open(const SpendToken& token) {
  return std::make_unique<NoiselessStream>(sampling_.open(token));
}

std::unique_ptr<ReleaseStream> NoiselessRandomness::stream(const RunId& run, RoundIndex round) const {
  return std::make_unique<NoiselessStream>(sampling_.stream(run, round));
}

}  // namespace undertone::silo
