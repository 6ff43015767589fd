#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::algorithms {

/// One silo as the closed forms see it. No bound is a default.
struct NoiseFacts {
  double records = 0.0;  // n_i, of the training block: a whole number >= 1
  double drawn = 0.0;    // K_i of them in a sampled release: a whole number in 1 .. n_i
  double epsilon = 0.0;  // of the whole run, > 0
  double delta = 0.0;    // of the whole run, in (0, 1)
};

/// The noise that a source prints, misprints and loose constants included: a target for reproduction, no guarantee. The
/// accountant decides whether it holds. As Gaussian shifts, sensitivity / noise standard deviation under replacement of
/// one record, of ONE release for a record that is in it once. Dimensionless: the clip norm L cancels. The noise of a
/// mean over K records follows as 2L/(K shift) for gradients and as 2c/(K shift) for differences whose records are
/// clipped to c, be c the constant 2L or beta times the distance of the points.
struct NoiseShifts {
  std::vector<double> gradients;     // one for all gradient releases; one per phase where records are used in phases
  std::optional<double> difference;  // of all differences, where the algorithm asks for any
};

/// The conditions under which a source prints its noise. Each refusal says where, and both numbers.
/// In what follows l1 = ln(1/delta), l2 = ln(2/delta), and variances are per coordinate of one silo's mean.
class NoiseConditions {
 public:
  /// @param where the theorem, a literal
  NoiseConditions(std::string_view where, const NoiseFacts& facts) : where_(where), facts_(facts) {}

  [[nodiscard]] Error refuse(std::string what) const;
  /// Whether every fact is a number of its kind.
  [[nodiscard]] Status plausible() const;
  [[nodiscard]] Status epsilon_at_most(std::string_view bound, double most) const;
  [[nodiscard]] Status some_rounds(std::uint64_t rounds) const;
  /// The least batch of the minibatch theorems, or all records. A silo draws the floor of its share, so that up to one
  /// record of the least batch may be missing: K + 1 is compared.
  [[nodiscard]] Status batch(double rounds) const;

  /// Minibatch noise, a shift for each group of rounds, as of a phase: variance 256 L^2 R ln(2.5R/delta) l2 /
  /// (n^2 eps^2), K >= eps n / (4 sqrt(2 R l2)), eps <= 2 l2. Source: Theorems 34, 104, 129.
  [[nodiscard]] Result<NoiseShifts> composed(const std::vector<double>& rounds) const;

  [[nodiscard]] double log_one() const noexcept;  // l1
  [[nodiscard]] double log_two() const noexcept;  // l2

 private:
  std::string_view where_;
  NoiseFacts facts_;
};

/// The least batch of the minibatch theorems, eps n / (4 sqrt(2 R l2)), before rounding up; it may exceed n, where
/// every record is read and nothing is left to amplify.
/// @param rounds R, of all restarts together
[[nodiscard]] double least_batch(double rounds, double records, double epsilon, double delta);

}  // namespace undertone::algorithms
