#include "shared/data/derived_column.hpp"

#include <fmt/format.h>

#include "shared/base/digest.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::data {

std::vector<std::string> sources_of(const DerivedColumn& column) {
  return std::visit(Overloaded{[](const TimeBetween& rule) {
                                 return std::vector<std::string>{rule.from, rule.to};
                               },
                               [](const auto& rule) { return std::vector<std::string>{rule.from}; }},
                    column.rule);
}

CellKind kind_of(const DerivedColumn& column) {
  return std::visit(
      Overloaded{[](const TimeBetween&) { return CellKind::Number; },
                 [](const DatePart&) { return CellKind::WholeNumber; },
                 [](const Logarithm&) { return CellKind::Number; }, [](const auto&) { return CellKind::Text; }},
      column.rule);
}

CellKind needed_kind(const DerivedColumn& column) {
  return std::visit(
      Overloaded{[](const Logarithm&) { return CellKind::Number; }, [](const Bins&) { return CellKind::Number; },
                 [](const auto&) { return CellKind::Text; }},
      column.rule);
}

std::vector<std::string> values_of(const DerivedColumn& column) {
  std::vector<std::string> out;
  if (const auto* bins = std::get_if<Bins>(&column.rule)) {
    out = bins->names;
  } else if (const auto* merged = std::get_if<Merged>(&column.rule); merged != nullptr && !merged->rest.empty()) {
    for (const Merged::Group& group : merged->groups) out.push_back(group.name);
    out.push_back(merged->rest);
  } else if (const auto* buckets = std::get_if<Buckets>(&column.rule)) {
    for (std::size_t i = 1; i <= buckets->buckets; ++i) out.push_back(fmt::format("bucket {}", i));
  }
  return out;
}

std::vector<std::string> names_of_bins(const std::vector<double>& edges) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i <= edges.size(); ++i) {
    if (i == 0) {
      out.push_back(edges.empty() ? "every" : fmt::format("below {}", edges.front()));
    } else if (i == edges.size()) {
      out.push_back(fmt::format("{} or more", edges.back()));
    } else {
      out.push_back(fmt::format("{} to below {}", edges[i - 1], edges[i]));
    }
  }
  return out;
}

std::size_t bucket_of(std::string_view text, std::size_t buckets) {
  const Digest digest = sha256(text);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8U | digest[i];
  return static_cast<std::size_t>(number % buckets);
}

}  // namespace undertone::data
