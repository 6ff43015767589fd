#include "shared/fairness/notion.hpp"

namespace undertone::fairness {

std::string_view to_string(Notion notion) noexcept {
  switch (notion) {
    case Notion::DemographicParity:
      return "demographic_parity";
    case Notion::EqualisedOdds:
      return "equalised_odds";
    case Notion::EqualOpportunity:
      return "equal_opportunity";
  }
  return "";
}

std::optional<Eigen::Index> Grouping::bucket_of(Eigen::Index label) const noexcept {
  if (label < 0 || label >= classes) return std::nullopt;
  switch (notion) {
    case Notion::DemographicParity:
      return 0;
    case Notion::EqualisedOdds:
      return label;
    case Notion::EqualOpportunity:
      if (label == advantaged) return 0;
      break;
  }
  return std::nullopt;
}

}  // namespace undertone::fairness
