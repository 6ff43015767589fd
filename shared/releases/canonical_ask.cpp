#include "shared/releases/canonical_ask.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shared/base/digest.hpp"
#include "shared/base/exact_text.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::releases {
namespace {

std::string slice_text(const Slice& slice) {
  std::string out = fmt::format(":slice:{}:{}:{}", static_cast<int>(slice.cut), slice.index, slice.of);
  if (slice.span != 1) out += fmt::format(":span:{}", slice.span);
  if (slice.assignment == Slice::Assignment::Bins) out += ":bins";
  if (slice.assignment == Slice::Assignment::SecretPermutation) out += ":secret";
  return out;
}

std::string grouping_text(const fairness::Grouping& grouping) {
  return fmt::format("{}:{}:{}:{}", static_cast<int>(grouping.notion), grouping.groups, grouping.classes,
                     grouping.advantaged);
}

}  // namespace

std::string canonical_text(const Bound& bound) {
  return std::visit(
      Overloaded{
          [](const L2Bound& l2) { return exact_text(l2.clip.value()); },
          [](const MaxBound& max) { return fmt::format("max:{}", exact_text(max.bound.value())); },
          [](const DualBound& dual) {
            return fmt::format("dual:{}:{}", exact_text(dual.exponent()), exact_text(dual.clip().value()));
          },
          [](const InfluenceBound& influence) {
            return fmt::format("influence:{}:{}:{}", to_string(influence.influence()),
                               exact_text(influence.threshold()), influence.groups());
          },
          [](const RangeBound& range) {
            return fmt::format("range:{}:{}", exact_text(range.low), exact_text(range.high));
          },
          [](const PairBound& pair) { return fmt::format("pair:l{}", pair.norm == PairBound::Norm::L1 ? 1 : 2); }},
      bound);
}

std::string canonical_text(const RecordMap& map) {
  return std::visit(
      Overloaded{[](const GradientMap& /*map*/) { return std::string(); },
                 [](const GradientDifferenceMap& /*map*/) { return std::string(); },
                 [](const MetricsMap& /*map*/) { return std::string(); },
                 [](const LocalRunMap& run) {
                   std::string out = fmt::format(":local:{}:{}", run.steps.steps, exact_text(run.steps.step_size));
                   if (run.steps.records != 1) out += fmt::format(":of:{}", run.steps.records);
                   if (run.steps.proximal != 0.0) out += fmt::format(":proximal:{}", exact_text(run.steps.proximal));
                   return out;  // controlled runs are another kind
                 },
                 [](const StatisticMap& statistic) {
                   return fmt::format(":{}:{}", statistic.indicators ? "indicators" : "values",
                                      fmt::join(statistic.coordinates, ","));
                 },
                 [](const FeaturesMap& own) { return ":" + statistics::canonical_text(own.features); },
                 [](const PathMap& path) {
                   std::string out = ":path";
                   for (const PathNode& node : path.nodes)
                     out += fmt::format(":{}/{}/{}/{}/{}/{}/{}", static_cast<int>(node.slice.cut), node.slice.index,
                                        node.slice.of, node.slice.span, exact_text(node.bound.value()),
                                        exact_text(node.factor), exact_text(node.carried));
                   return out;
                 },
                 [](const ScoresMap& scores) {
                   return fmt::format(":scores:{}:{}", scores.asked, to_hex(scores.vertices.digest()));
                 },
                 [](const LocalChoicesMap& choices) {
                   return fmt::format(":choices:{}:{}", choices.steps, to_hex(choices.vertices.digest()));
                 },
                 [](const MinimiserMap& minimiser) {
                   std::string out = fmt::format(":minimiser:{}", geometry::canonical_text(minimiser.domain));
                   for (const double number : minimiser.start) out += ":" + exact_text(number);
                   return out;
                 },
                 [](const FairGradientMap& fair) {
                   const fairness::FairTerms& terms = fair.terms;
                   std::string out = fmt::format(":fair:{}:{}:{}:{}:{}", grouping_text(terms.grouping),
                                                 exact_text(terms.lambda), exact_text(terms.clip),
                                                 exact_text(terms.model_share), exact_text(terms.share_floor));
                   if (terms.attribute_alone) out += fmt::format(":attribute:{}", exact_text(terms.record_norm));
                   return out;
                 },
                 [](const GroupSharesMap& shares) { return ":shares:" + grouping_text(shares.grouping); },
                 [](const ScoreMomentsMap& scores) {
                   std::string out = fmt::format(":score_moments:{}", exact_text(scores.terms.record_norm));
                   for (const statistics::Covariate& covariate : scores.terms.of)
                     out += fmt::format(":{}{}", covariate.coordinate, covariate.two_valued ? "/2" : "");
                   if (scores.terms.link == statistics::ScoreLink::Log) out += ":log";
                   if (const auto& exposure = scores.terms.exposure)
                     out += fmt::format(":exposure:{}:{}", exposure->coordinate, exact_text(exposure->least));
                   return out;
                 }},
      map);
}

std::string canonical_text(const Form& form) {
  return std::visit(
      Overloaded{[](const SumForm& sum) {
                   std::string out = sum.noise_norm ? fmt::format(":noise:{}", exact_text(*sum.noise_norm)) : "";
                   if (sum.of_reports) out += ":sum" + canonical_text(Form(*sum.of_reports));
                   return out;
                 },
                 [](const SelectionForm& selection) {
                   return std::visit(
                       Overloaded{[](const geometry::Vertices& vertices) {
                                    return fmt::format(":selection:{}", to_hex(vertices.digest()));
                                  },
                                  [](const LeastTotal& /*totals*/) { return std::string(":selection:least"); },
                                  [](const QuantileCell& cell) {
                                    return fmt::format(":selection:quantile:{}/{}", cell.numerator, cell.denominator);
                                  }},
                       selection.candidates);
                 },
                 [](const ReportsForm& reports) {
                   std::string out = fmt::format(":reports:{}", to_string(reports.randomiser));
                   if (reads_strings(reports.randomiser)) out += fmt::format(":{}", reports.seed);
                   if (of_directions(reports.randomiser)) out += fmt::format(":{}", to_string(reports.adapter));
                   if (reports.copies != 1) out += fmt::format(":{}", reports.copies);
                   return out;
                 }},
      form);
}

std::string canonical_text(const std::optional<PersonContribution>& persons) {
  return persons ? fmt::format(":persons:{}:{}", to_string(persons->form), persons->records_max) : "";
}

std::string canonical_text(const Ask& ask) {
  const RecordSet& records = ask.records;
  std::string out = fmt::format("{}:{}:{}:{}:{}:{}", static_cast<int>(ask.kind()), static_cast<int>(records.block),
                                exact_text(records.draw_fraction), ask.dimension, canonical_text(ask.bound),
                                records.with_replacement);
  if (records.slice) out += slice_text(*records.slice);
  out += canonical_text(records.persons);
  if (records.attribute_alone) out += ":attribute";
  if (const std::optional<double> smoothness = ask.smoothness())
    out += fmt::format(":smoothness:{}", exact_text(*smoothness));
  if (ask.beside_public) out += ":beside_public";
  return out + canonical_text(ask.map) + canonical_text(ask.form);
}

}  // namespace undertone::releases
