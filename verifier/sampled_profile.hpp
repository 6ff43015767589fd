#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "verifier/loss_law.hpp"
#include "verifier/symmetric_profile.hpp"

namespace undertone::verifier {

/// Equal Gaussian releases that read one block, each from a fresh uniform subset of `drawn` of its `population` records
/// (drawn == population: from all of them), or from as many draws with replacement. Or equal epsilon-DP releases, to
/// which no draw is credited.
struct SampledGroup {
  /// Sensitivity under replacement of one record, of one occurrence, over the standard deviation of the noise, of the
  /// sum over what was drawn.
  long double mu;
  std::uint64_t rounds;
  std::int64_t drawn;
  std::int64_t population;
  bool with_replacement = false;
  long double pure_epsilon = 0;  // of epsilon-DP releases, whose mu is 0
};

/// The exact value lies between the two.
struct DeltaBracket {
  long double lower;
  long double upper;
};

/// Both ends of the delta of all groups together, each release represented by the symmetric dominating profile of
/// sampling without or with replacement (the Gaussian's own where everything is read once). The bracket is of the
/// composition of these profiles; that they dominate the releases is the theorem of privacy-core.md, section D.2.
/// @param epsilon finite and >= 0
/// @return ends that a change of epsilon by 0.2 %, or of delta by 0.1 %, would close; of a delta below 1e-15 possibly
///     only 0 and an upper bound below that; nothing where an argument is out of range (so are more than 10^6 sampled
///     rounds and, if any is sampled, a mu of one sampled release outside 1e-6 to 40, of all others together above 40
///     or a pure epsilon above 100), or the ends do not close with 2^20 points (rates below 1e-4 together with mu above
///     1, some draws with replacement of mu above 8)
[[nodiscard]] std::optional<DeltaBracket> sampled_delta(const std::vector<SampledGroup>& groups, long double epsilon);

/// The upper end alone, which is certified whether or not the lower one comes near it.
/// @return nothing where an argument is out of range
[[nodiscard]] std::optional<long double> delta_above(const std::vector<SampledGroup>& groups, long double epsilon);

/// Delta of releases of these profiles and of all groups together, from above.
/// @return nothing where an argument is out of range
[[nodiscard]] std::optional<long double> delta_above(const std::vector<SampledRelease>& releases,
                                                     const std::vector<SampledGroup>& groups, long double epsilon);

/// Delta of equal releases of this profile, from above.
/// @return nothing where an argument is out of range
[[nodiscard]] std::optional<long double> profile_delta(std::shared_ptr<const SymmetricProfile> profile,
                                                       std::uint64_t rounds, long double epsilon);
/// The same, together with a Gaussian release of shift plain_mu that reads the record too; 0 where there is none.
[[nodiscard]] std::optional<long double> profile_delta(std::shared_ptr<const SymmetricProfile> profile,
                                                       std::uint64_t rounds, long double plain_mu, long double epsilon);

}  // namespace undertone::verifier
