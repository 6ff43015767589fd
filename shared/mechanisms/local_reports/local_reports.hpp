#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "shared/base/overloaded.hpp"
#include "shared/base/result.hpp"
#include "shared/mechanisms/laplace_sum/laplace_sum.hpp"
#include "shared/mechanisms/lattice.hpp"
#include "shared/mechanisms/local_reports/one_bit.hpp"
#include "shared/mechanisms/local_reports/priv_unit.hpp"
#include "shared/mechanisms/local_reports/string_reports.hpp"
#include "shared/mechanisms/local_reports/vector_noise.hpp"
#include "shared/releases/ask.hpp"
#include "shared/releases/cost.hpp"

namespace undertone::mechanisms {

/// What one report can be.
struct ReportValues {
  std::int64_t low = 0;
  std::int64_t high = 0;  // > low
};
/// Of a bit 0 or 1; of a noised number 2^36 units and less, to which it is cut: so many reports as a reply has then add
/// up to less than 2^61. Of an index the number of a string; of a vector each of its numbers, in units of 2^-20.
[[nodiscard]] ReportValues report_values(releases::Randomiser randomiser) noexcept;
/// As many reports as a reply may have; of vectors their numbers together.
inline constexpr std::int64_t kReportsMax = std::int64_t{1} << 24U;

/// Each record of a release reports by itself: its number, in whole units of a public range, is randomised with an
/// epsilon that holds for any two numbers that the record may have. Every report is a function of one record and of
/// randomness of its own, so replacing a record changes the law of one report, by a factor of e^epsilon at most: a
/// release of however many reports costs a record epsilon, once, and so does any part of it that anybody ever sees.
/// Source: spec noninteractive-ldp 2.1, 2.4 (b), 4.
struct LocalReports {
  Lattice lattice;        // of the numbers: `clip` units are the largest magnitude of the range
  std::int64_t low = 0;   // the range's ends in units
  std::int64_t high = 0;  // > low
  std::variant<OneBit, LaplaceSum, StringBit, StringIndex, PrivUnit, VectorNoise> randomiser;

  [[nodiscard]] releases::Randomiser kind() const noexcept;
  /// What a report costs the record that it is about: an epsilon, of Gaussian noise mu^2.
  [[nodiscard]] releases::Cost cost() const;
  /// Of the error of a sum over so many records as their reports estimate it, in real units: the largest that it can
  /// be, whatever the records hold. @param records >= 1
  [[nodiscard]] double stddev_max(std::int64_t records) const;

  /// Makes reports of numbers, each by itself. A number outside the range is cut to it here, so that the epsilon does
  /// not rest on who computed it. @param numbers in units; out: reports @param slots [numbers] in which they stand
  /// @pre of numbers
  template <crypto::NoiseBits Bits>
  void randomise(std::span<std::int64_t> numbers, std::span<const std::int64_t> slots, Bits& bits) const {
    UNDERTONE_CHECK(numbers.size() == slots.size());
    const auto cut = [this](std::int64_t number) { return std::clamp(number, low, high); };
    const auto against_strings = [&](const auto& own) {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = own.report(cut(numbers[i]) - low, static_cast<std::uint64_t>(slots[i]), bits);
    };
    std::visit(Overloaded{[&](const OneBit& bit) {
                            for (std::int64_t& number : numbers) number = bit.report(cut(number) - low, bits);
                          },
                          [&](const LaplaceSum& noise) {
                            for (std::int64_t& number : numbers) number = cut(number);
                            noise.add_noise(numbers, bits);
                            const ReportValues values = report_values(releases::Randomiser::Laplace);
                            for (std::int64_t& number : numbers) number = std::clamp(number, values.low, values.high);
                          },
                          [&](const StringBit& bit) { against_strings(bit); },
                          [&](const StringIndex& index) { against_strings(index); },
                          [](const auto& /*of vectors*/) { UNDERTONE_CHECK(false); }},
               randomiser);
  }

  /// Makes the report of one record's vector. @param vector of length at most 1 @param out [report's numbers]
  /// @pre of vectors
  template <crypto::NoiseBits Bits>
  void randomise_vector(const Eigen::Ref<const Eigen::VectorXd>& vector, std::span<std::int64_t> out,
                        Bits& bits) const {
    std::visit(Overloaded{[&](const PrivUnit& direction) { direction.report(vector, bits, out); },
                          [&](const VectorNoise& noise) { noise.report(vector, bits, out); },
                          [](const auto& /*of numbers*/) { UNDERTONE_CHECK(false); }},
               randomiser);
  }
};

/// Reports on numbers in a public range, in units of 2^-20, or on indicators, whose unit is 1.
/// @param range whose ends are multiples of 2^-20 of magnitude at most 2; of indicators [0, 1]
/// @param records that report, 1 .. kReportsMax
/// @return an error where a randomiser has none for that epsilon
[[nodiscard]] Result<LocalReports> local_reports(const releases::RangeBound& range, bool indicators,
                                                 const releases::ReportsForm& form, releases::Epsilon epsilon,
                                                 std::int64_t records);

/// Reports of directions of vectors of length at most 1, each by PrivUnit or PrivUnitG, as the form says.
/// @return an error where there are too many numbers, or no cap
[[nodiscard]] Result<LocalReports> direction_reports(Eigen::Index dimension, const releases::ReportsForm& form,
                                                     releases::Epsilon epsilon, std::int64_t records);
/// Reports of such vectors, or of copies of them, with Gaussian noise.
[[nodiscard]] Result<LocalReports> gaussian_reports(Eigen::Index dimension, const releases::ReportsForm& form,
                                                    releases::GaussianShift shift, std::int64_t records);

/// Every number of it, to the last bit: what makes it one that no other is taken for. Digests are of it, so it never
/// changes.
[[nodiscard]] std::string canonical_text(const LocalReports& reports);

}  // namespace undertone::mechanisms
