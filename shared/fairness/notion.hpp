#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string_view>

namespace undertone::fairness {

/// Which independence of prediction and group is asked for. Source: spec fair-learning 1; thesis Definitions 13, 71.
enum class Notion : std::uint8_t {
  DemographicParity,  // the prediction does not depend on the group
  EqualisedOdds,      // nor does it among the records of any one label
  EqualOpportunity    // nor among those of one label, the advantaged one
};
/// "demographic_parity", "equalised_odds", "equal_opportunity"
[[nodiscard]] std::string_view to_string(Notion notion) noexcept;

/// Into which buckets a notion sorts records, each with a W of its own, and how large these are.
struct Grouping {
  Notion notion = Notion::DemographicParity;
  Eigen::Index groups = 2;      // k, >= 2
  Eigen::Index classes = 2;     // l, >= 2: of labels and of predictions
  Eigen::Index advantaged = 1;  // of EqualOpportunity, below classes

  [[nodiscard]] Eigen::Index buckets() const noexcept { return notion == Notion::EqualisedOdds ? classes : 1; }
  /// Returns the bucket of a record with this label; none where its part is not asked for.
  [[nodiscard]] std::optional<Eigen::Index> bucket_of(Eigen::Index label) const noexcept;
  /// Groups of all buckets.
  [[nodiscard]] Eigen::Index cells() const noexcept { return buckets() * groups; }
  /// Numbers of all W.
  [[nodiscard]] Eigen::Index weights() const noexcept { return cells() * classes; }
  friend bool operator==(const Grouping&, const Grouping&) = default;
};

}  // namespace undertone::fairness
