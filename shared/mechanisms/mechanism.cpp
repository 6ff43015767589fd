#include "shared/mechanisms/mechanism.hpp"

#include <cmath>

#include "shared/base/exact_text.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/mechanisms/binomial_sum/binomial_report.hpp"

namespace undertone::mechanisms {

std::string_view name_of(const Mechanism& mechanism) noexcept {
  return std::visit(
      Overloaded{
          [](const GaussianLattice& /*noise*/) -> std::string_view { return "Gaussian, exactly rounded to a lattice"; },
          [](const GeneralisedGaussianLattice& /*noise*/) -> std::string_view {
            return "generalised Gaussian of an l_r norm, rounded to a lattice";
          },
          [](const BinomialSum& /*noise*/) -> std::string_view { return "binomial vector sum, shuffled"; },
          [](const LaplaceLattice& /*noise*/) -> std::string_view { return "discrete Laplace, exact, on integers"; },
          [](const Selection& /*draw*/) -> std::string_view { return "exponential mechanism, exact, on integers"; },
          [](const PerturbedObjective& /*noise*/) -> std::string_view {
            return "a random linear term in the objective, and Gaussian noise on where it is least, on a lattice";
          },
          [](const PathSelection& /*draw*/) -> std::string_view {
            return "exponential mechanism along a path of disjoint records, exact, on integers";
          },
          [](const LocalReports& reports) -> std::string_view {
            switch (reports.kind()) {
              case releases::Randomiser::Bit:
                return "a randomised bit of each record by itself, exact, on integers";
              case releases::Randomiser::Laplace:
                return "discrete Laplace on each record by itself, exact, on integers";
              case releases::Randomiser::StringBit:
                return "a randomised bit of each record by itself against a public string, on integers";
              case releases::Randomiser::Index:
                return "the number of a public string drawn by each record by itself, on integers";
              case releases::Randomiser::Direction:
                return "a direction near each record's own by itself, PrivUnit on integer vectors";
              case releases::Randomiser::Gaussian:
                return "Gaussian, exactly rounded to a lattice, on each record's vector by itself";
              case releases::Randomiser::GaussianDirection:
                return "a Gaussian vector that leans each record's own way by itself, PrivUnitG on integer vectors";
            }
            return "";
          },
          [](const DirectionSum& sum) -> std::string_view {
            return sum.reports.kind() == releases::Randomiser::Direction
                       ? "the sum of directions near the records' own, each by PrivUnit on integer vectors"
                       : "the sum of Gaussian vectors that lean the records' own ways, each by PrivUnitG on integer "
                         "vectors";
          },
          [](const ExactPublicSum& /*none*/) -> std::string_view { return "none: public records"; },
          [](const Unplanned& /*nothing*/) -> std::string_view { return "none planned"; }},
      mechanism);
}

releases::Cost cost_of(const Mechanism& mechanism) {
  return std::visit(
      Overloaded{
          [](const GaussianLattice& gaussian) {
            return releases::Cost{gaussian.shift_squared(), {}, {}};
          },
          [](const BinomialSum& binomial) {
            const double shift = binomial.shift.shift.value();
            return releases::Cost{*releases::ShiftSquaredAmount::rounded_up(shift * shift * (1.0 + 0x1p-50)), {}, {}};
          },
          [](const LaplaceLattice& laplace) {
            return releases::Cost{{}, laplace.noise.epsilon(), {}};
          },
          [](const GeneralisedGaussianLattice& noise) {
            return releases::Cost{{}, {}, {}, noise.cost};
          },
          [](const Selection& selection) {
            return releases::Cost{{}, {}, selection.draw.epsilon()};
          },
          [](const PathSelection& selection) {
            return releases::Cost{{}, {}, selection.draw.epsilon()};
          },
          [](const PerturbedObjective& objective) {
            return releases::Cost{{}, objective.epsilon, {}};
          },
          // Records are units of their own, each in one report: so many cost what one does.
          [](const LocalReports& reports) { return reports.cost(); },
          [](const DirectionSum& sum) { return sum.reports.cost(); },
          [](const ExactPublicSum& /*exact*/) { return releases::Cost{}; },
          [](const Unplanned& /*nothing*/) -> releases::Cost { UNDERTONE_CHECK(false); }},
      mechanism);
}

const Lattice* lattice_of(const Mechanism& mechanism) noexcept {
  return std::visit(Overloaded{[](const auto& sum) { return &sum.lattice; },
                               [](const Selection& /*none*/) -> const Lattice* { return nullptr; },
                               [](const PathSelection& /*none*/) -> const Lattice* { return nullptr; },
                               [](const PerturbedObjective& objective) { return &objective.ideal.output().lattice; },
                               [](const Unplanned& /*none*/) -> const Lattice* { return nullptr; }},
                    mechanism);
}

double noise_stddev_of_sum(const Mechanism& mechanism, std::int64_t records) {
  return std::visit(
      Overloaded{
          [](const GaussianLattice& gaussian) { return gaussian.noise_stddev(); },
          [&](const BinomialSum& binomial) {
            constexpr double kRoundingMax = 0.25;  // a silo rounds its sum once
            // The clip norm that the lattice stands for.
            const double clip = static_cast<double>(binomial.lattice.clip) * binomial.lattice.step;
            return std::sqrt(
                binomial_sum_variance(binomial.parameters, *releases::ClipNorm::create(clip), records, kRoundingMax));
          },
          [](const LaplaceLattice& laplace) { return std::sqrt(laplace.noise.variance()) * laplace.lattice.step; },
          [](const GeneralisedGaussianLattice& noise) { return noise.noise_stddev(); },
          [&](const LocalReports& reports) { return reports.stddev_max(records); },
          [&](const DirectionSum& sum) { return sum.stddev_max(records); },
          // Of the point itself, as if it were a mean: what the random term moves it by depends on the records.
          [&](const PerturbedObjective& objective) {
            return objective.ideal.output().noise_stddev() * static_cast<double>(records);
          },
          [](const Selection& /*none*/) { return 0.0; }, [](const PathSelection& /*none*/) { return 0.0; },
          [](const ExactPublicSum& /*exact*/) { return 0.0; },
          [](const Unplanned& /*nothing*/) -> double { UNDERTONE_CHECK(false); }},
      mechanism);
}

Mechanism with_step_scaled(Mechanism mechanism, double factor) {
  std::visit(Overloaded{[factor](auto& sum) { sum.lattice.step *= factor; },
                        [](Selection& /*none*/) { UNDERTONE_CHECK(false); },
                        [](PathSelection& /*none*/) { UNDERTONE_CHECK(false); },
                        [](PerturbedObjective& /*point*/) { UNDERTONE_CHECK(false); },
                        [](LocalReports& /*numbers*/) { UNDERTONE_CHECK(false); },
                        [](Unplanned& /*nothing*/) { UNDERTONE_CHECK(false); }},
             mechanism);
  return mechanism;
}

std::string canonical_text(const Mechanism& mechanism) {
  return std::visit(
      Overloaded{[](const Unplanned& /*nothing*/) -> std::string { UNDERTONE_CHECK(false); },
                 [](const ExactPublicSum& exact) {
                   return fmt::format("exact:{}:{}", exact.lattice.clip, exact_text(exact.lattice.step));
                 },
                 [](const BinomialSum& binomial) {
                   const BinomialParameters& parameters = binomial.parameters;
                   return fmt::format("binomial:{}:{}:{}:{}:{}/{}", binomial.lattice.clip,
                                      exact_text(binomial.lattice.step), parameters.grid(), parameters.coins(),
                                      parameters.heads().numerator, parameters.heads().denominator);
                 },
                 [](const Selection& selection) {
                   return fmt::format("selection:{}:{}:{}:{}:{}", exact_text(selection.lattice.bound()),
                                      selection.lattice.log2_levels(), selection.lattice.records(),
                                      selection.draw.range().value(), selection.draw.epsilon().to_string());
                 },
                 [](const auto& own) { return canonical_text(own); }},
      mechanism);
}

}  // namespace undertone::mechanisms
