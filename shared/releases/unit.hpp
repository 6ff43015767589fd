#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::releases {

/// What is protected: a data set may differ from its neighbour in one of these. A person is all records with one id in
/// the data set, however many there are. Source: spec person-unit 1. Of a record whose sensitive attribute alone is
/// protected, neighbours differ in which group it is in: its features and its label are not protected. Source: thesis
/// Definition 72; spec fair-learning 2.5.
enum class Unit : std::uint8_t { Record = 1, Person = 2, SensitiveAttribute = 3 };

/// A person contributes a mean, a sum or the largest number, over as many of her records as may count, or how many
/// these are. Where she has more, they are drawn afresh for each release and in secret. But for `Any` and `Total`, of
/// which `pair_distance` says how far two persons are apart, she moves a sum as far as one record would. Source: spec
/// person-unit 3.1, 6.
struct PersonContribution {
  enum class Form : std::uint8_t {
    ClippedMean = 1,    // of gradients, clipped once: of linear models
    MeanOfClipped = 2,  // of gradients, each clipped: of networks, which write no gradient out
    Mean = 3,           // of a feature map, which is bounded by itself: of statistics
    CappedSum = 4,      // of gradients, each clipped and divided by `records_max`: a sum, which grows with her records
    Any = 5,            // of cells: 1 of each cell that a record of hers is in
    Total = 6,          // of cells and counted sums: the sum over her records
    Number = 7          // of cells of a number: the one that her number of records is in, whatever is in them
  };
  std::int64_t records_max = 16;  // s: public, and fixed before anybody looks at the data
  Form form = Form::ClippedMean;
  friend bool operator==(const PersonContribution&, const PersonContribution&) = default;
};
inline constexpr std::int64_t kPersonRecordsMax = 64;

/// "clipped_mean", "mean_of_clipped", "mean", "capped_sum", "any", "total", "number"
[[nodiscard]] std::string_view to_string(PersonContribution::Form form) noexcept;
/// Says for people how a person counts in a statistic: "each by the mean over 16 of her records at most".
[[nodiscard]] std::string counted_by(const PersonContribution& person);

/// "record", "person", "sensitive_attribute"
[[nodiscard]] std::string_view to_string(Unit unit) noexcept;
/// The same for sentences: "sensitive attribute".
[[nodiscard]] std::string_view noun_of(Unit unit) noexcept;
/// "records", "persons", "sensitive attributes"
[[nodiscard]] std::string_view plural_of(Unit unit) noexcept;
/// The inverse of `to_string`. @return an error that says what was expected
[[nodiscard]] Result<Unit> parse_unit(std::string_view text);

}  // namespace undertone::releases
