#pragma once

#include "shared/mechanisms/binomial_sum/binomial_report.hpp"
#include "shared/noise/discrete_samplers.hpp"
#include "shared/noise/rounded_gaussian.hpp"
#include "shared/sealed/additive_shares.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// A release's randomness from a bit source, by the exact samplers. @param bits outlives this
template <crypto::NoiseBits Bits>
class BitsStream final : public ReleaseStream {
 public:
  explicit BitsStream(Bits& bits) : bits_(&bits) {}
  void fill_gaussian(int log2_stddev, std::span<std::int64_t> out) override {
    noise::fill_rounded_gaussian(*bits_, log2_stddev, out);
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) override { return crypto::uniform_below(*bits_, bound); }
  [[nodiscard]] std::vector<std::int64_t> subset(std::int64_t population, std::int64_t size) override {
    return noise::sample_without_replacement(*bits_, population, size);
  }
  [[nodiscard]] std::vector<std::int64_t> multiset(std::int64_t population, std::int64_t draws) override {
    return noise::sample_with_replacement(population, draws, *bits_);
  }
  void add_rounded(std::span<const std::int64_t> sum, std::int64_t records,
                   const mechanisms::BinomialParameters& parameters, std::span<std::int64_t> counts) override {
    mechanisms::add_rounded_sum(sum, records, parameters, *bits_, counts);
  }
  void add_coins(const noise::BinomialTable& coins, std::span<std::int64_t> counts) override {
    mechanisms::add_coins(coins, *bits_, counts);
  }
  void add_laplace(const mechanisms::LaplaceSum& noise, std::span<std::int64_t> sums) override {
    noise.add_noise(sums, *bits_);
  }
  void fill_generalised(const noise::GeneralisedGaussian& noise, std::span<std::int64_t> out) override {
    noise.fill(*bits_, out);
  }
  void randomise(const mechanisms::LocalReports& reports, std::span<std::int64_t> numbers,
                 std::span<const std::int64_t> slots) override {
    reports.randomise(numbers, slots, *bits_);
  }
  void randomise_vector(const mechanisms::LocalReports& reports, const Eigen::Ref<const Eigen::VectorXd>& vector,
                        std::span<std::int64_t> report) override {
    reports.randomise_vector(vector, report, *bits_);
  }
  [[nodiscard]] std::size_t select(const mechanisms::ExponentialMechanism& mechanism,
                                   std::span<const std::int64_t> scores) override {
    return mechanism.select(scores, *bits_);
  }
  [[nodiscard]] Result<sealed::SharePair> split(std::span<const std::int64_t> counts,
                                                const sealed::ShareModulus& modulus) override {
    return sealed::split_counts(counts, modulus, *bits_);
  }
  [[nodiscard]] std::vector<std::int64_t> order(std::int64_t size) override {
    return noise::sample_permutation(size, *bits_);
  }

 private:
  Bits* bits_;
};

}  // namespace undertone::silo
