#pragma once

#include <cstdint>

#include "shared/base/ids.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// Seeded randomness: a function of (seed, run, round, silo), never of a position in a stream, so that a release
/// done again after a crash is the same. Linked by `undertone`, `undertone-silo-test` and tests only; what it draws
/// voids the privacy statement.
class TestRandomness final : public ReleaseRandomness {
 public:
  TestRandomness(std::uint64_t seed, SiloId silo) : seed_(seed), silo_(std::move(silo)) {}
  [[nodiscard]] crypto::NoiseKind kind() const noexcept override { return crypto::NoiseKind::Test; }
  [[nodiscard]] std::unique_ptr<ReleaseStream> open(const SpendToken& token) override;
  /// The same stream without a ledger: for simulations that keep none.
  [[nodiscard]] std::unique_ptr<ReleaseStream> stream(const RunId& run, RoundIndex round) const;
  [[nodiscard]] std::vector<std::int64_t> permutation(const PermutationName& name, std::int64_t count) override;
  [[nodiscard]] std::vector<std::int64_t> bins(const PermutationName& name, std::int64_t count) override;

 private:
  std::uint64_t seed_;
  SiloId silo_;
};

/// No noise at all, for baselines and for comparison with textbook methods. Sampling, shares and orders stay seeded.
/// A binomial sum is rounded to the nearest grid integer, and its coins come up exactly as often as on average, rounded
/// down where that is a half: what the analyzer makes of a coordinate is then off by at most 1 grid unit a silo. A
/// selection takes the best candidate, of several the first.
class NoiselessRandomness final : public ReleaseRandomness {
 public:
  NoiselessRandomness(std::uint64_t seed, SiloId silo) : sampling_(seed, std::move(silo)) {}
  [[nodiscard]] crypto::NoiseKind kind() const noexcept override { return crypto::NoiseKind::Test; }
  [[nodiscard]] std::unique_ptr<ReleaseStream> open(const SpendToken& token) override;
  [[nodiscard]] std::unique_ptr<ReleaseStream> stream(const RunId& run, RoundIndex round) const;
  [[nodiscard]] std::vector<std::int64_t> permutation(const PermutationName& name, std::int64_t count) override {
    return sampling_.permutation(name, count);
  }
  [[nodiscard]] std::vector<std::int64_t> bins(const PermutationName& name, std::int64_t count) override {
    return sampling_.bins(name, count);
  }

 private:
  TestRandomness sampling_;
};

}  // namespace undertone::silo
