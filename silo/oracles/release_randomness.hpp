#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "shared/crypto/noise_kind.hpp"
#include "shared/mechanisms/binomial_sum/binomial_sum.hpp"
#include "shared/mechanisms/laplace_sum/laplace_sum.hpp"
#include "shared/mechanisms/local_reports/local_reports.hpp"
#include "shared/mechanisms/selection/exponential_mechanism.hpp"
#include "shared/noise/binomial_table.hpp"
#include "shared/noise/generalised_gaussian.hpp"
#include "shared/sealed/encoding_randomness.hpp"
#include "silo/ledger/spend_token.hpp"

namespace undertone::silo {

/// The randomness of one release, from the draw of its records to the encoding of what leaves.
class ReleaseStream : public sealed::EncodingRandomness {
 public:
  /// Independent rounded Gaussians of standard deviation 2^log2_stddev. @see noise::sample_rounded_gaussian
  virtual void fill_gaussian(int log2_stddev, std::span<std::int64_t> out) = 0;
  /// Uniform on 0 .. bound - 1.
  [[nodiscard]] virtual std::uint64_t below(std::uint64_t bound) = 0;
  /// @see noise::sample_without_replacement
  [[nodiscard]] virtual std::vector<std::int64_t> subset(std::int64_t population, std::int64_t size) = 0;
  /// @see noise::sample_with_replacement
  [[nodiscard]] virtual std::vector<std::int64_t> multiset(std::int64_t population, std::int64_t draws) = 0;
  /// Rounds an exact sum to the grid, without bias. @see mechanisms::add_rounded_sum
  virtual void add_rounded(std::span<const std::int64_t> sum, std::int64_t records,
                           const mechanisms::BinomialParameters& parameters, std::span<std::int64_t> counts) = 0;
  /// @see mechanisms::add_coins
  virtual void add_coins(const noise::BinomialTable& coins, std::span<std::int64_t> counts) = 0;
  /// @see mechanisms::LaplaceSum::add_noise
  virtual void add_laplace(const mechanisms::LaplaceSum& noise, std::span<std::int64_t> sums) = 0;
  /// A vector of generalised Gaussian noise. @see noise::GeneralisedGaussian::fill
  virtual void fill_generalised(const noise::GeneralisedGaussian& noise, std::span<std::int64_t> out) = 0;
  /// Makes a report of each record's number, for the slot that it stands in. @see mechanisms::LocalReports::randomise
  virtual void randomise(const mechanisms::LocalReports& reports, std::span<std::int64_t> numbers,
                         std::span<const std::int64_t> slots) = 0;
  /// The same of one record's vector. @see mechanisms::LocalReports::randomise_vector
  virtual void randomise_vector(const mechanisms::LocalReports& reports,
                                const Eigen::Ref<const Eigen::VectorXd>& vector, std::span<std::int64_t> report) = 0;
  /// @see mechanisms::ExponentialMechanism::select
  [[nodiscard]] virtual std::size_t select(const mechanisms::ExponentialMechanism& mechanism,
                                           std::span<const std::int64_t> scores) = 0;
};

/// Which permutation, or which draw of bins: a run has one permutation of each block, and one draw of bins for each
/// pass over it, the same again after a crash.
struct PermutationName {
  RunId run;
  releases::Block block = releases::Block::Training;
  Digest key{};  // that only the silo can derive, of the pass too
  std::uint64_t pass = 0;
};

/// Opens a stream for a release that the ledger has granted: no token, no noise, no answer.
class ReleaseRandomness {
 public:
  ReleaseRandomness() = default;
  ReleaseRandomness(const ReleaseRandomness&) = delete;
  ReleaseRandomness& operator=(const ReleaseRandomness&) = delete;
  virtual ~ReleaseRandomness() = default;
  [[nodiscard]] virtual crypto::NoiseKind kind() const noexcept = 0;
  [[nodiscard]] virtual std::unique_ptr<ReleaseStream> open(const SpendToken& token) = 0;
  /// A secret order of 0 .. count-1 that looks at no record. @see releases::Slice
  [[nodiscard]] virtual std::vector<std::int64_t> permutation(const PermutationName& name, std::int64_t count) = 0;
  /// A secret position of 0 .. count-1 for each of so many records, drawn uniformly and independently of each other and
  /// of every record. @see releases::Slice
  [[nodiscard]] virtual std::vector<std::int64_t> bins(const PermutationName& name, std::int64_t count) = 0;
};

}  // namespace undertone::silo
