#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/statistics/noise_law.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// What one silo's records reported on a number y in [0, 1], each by itself.
/// Bits: 1 with probability (1 - contrast) / 2 + contrast y. @see mechanisms::OneBit
struct ReportedBits {
  std::int64_t reports = 0;  // >= 1
  std::int64_t ones = 0;     // never refused: 0 .. reports
  double contrast = 0.0;     // in (0, 1)
};
/// The number with discrete Laplace noise.
struct ReportedNumbers {
  std::int64_t reports = 0;  // >= 1
  double total = 0.0;        // of the reports, in units of y
  LaplaceNoise noise;        // of each, in units of y
};
using ReportedTotal = std::variant<ReportedBits, ReportedNumbers>;

/// The mean of y as one silo's reports estimate it, without bias. @pre sound
[[nodiscard]] double mean_of_reports(const ReportedTotal& silo);
/// The largest variance that its error can have, which of the silo's records report included.
[[nodiscard]] double variance_of_reports(const ReportedTotal& silo);

/// Whose mean the reports are of: of the records that reported, or of all of which they are a secret uniform draw.
struct Reporting {
  bool drawn = false;
  /// Half the sum, over the silos, of how far a silo's share of the reports is from its share of the records: draws are
  /// of whole records. As much more may the mean be off, of numbers in [0, 1].
  double weights_apart = 0.0;
};

/// The mean of y over the records, from reports of one silo or several. It is unbiased but for weights apart, and never
/// cut to [0, 1]; both intervals are, and cover at every n, whatever the records:
///   bits of one contrast: over what one silo's records are drawn from they are alike, so that Clopper and Pearson's
///     interval of their mean is exact. Over these records, or over silos that differ, they are not, nor is it settled
///     which records report; but the number of ones has the strong Rayleigh property, and so the law of a sum of
///     independent coins, which is not farther from its mean than alike ones are, beyond one count on either side:
///     hence the interval for one more and one less.
///   anything else: by Chernoff's bound with the law of the noise, and Hoeffding's for bits and for which records they
///     are.
/// @param silos one or more @param sampling whether the interval for what the records are drawn from is stated too
/// @return an error where a number is out of range
/// Source: Clopper and Pearson 1934; Hoeffding 1956, Theorem 4; Hoeffding 1963, Theorems 2 and 4; Borcea, Branden and
/// Liggett 2009; spec noninteractive-ldp 2.1, 2.4 (b).
[[nodiscard]] Result<Stated> state_reported_mean(const std::vector<ReportedTotal>& silos, Reporting reporting,
                                                 Confidence confidence, bool sampling);

}  // namespace undertone::statistics
