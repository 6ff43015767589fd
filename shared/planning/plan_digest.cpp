#include "shared/planning/plan_digest.hpp"

#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shared/base/overloaded.hpp"

namespace undertone::planning {
namespace {

/// To the last bit: the number's 64, in hexadecimal.
std::string exact(double value) { return fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value)); }

std::string mechanism_text(const mechanisms::Mechanism& mechanism) {
  return std::visit(
      Overloaded{
          [](const mechanisms::GaussianLattice& gaussian) {
            const std::string distance =
                gaussian.distance_squared ? ":" + releases::to_decimal(*gaussian.distance_squared) : "";
            return fmt::format("gaussian:{}:{}:{}{}", gaussian.lattice.clip, exact(gaussian.lattice.step),
                               gaussian.log2_stddev, distance);
          },
          [](const mechanisms::LaplaceLattice& laplace) {
            const noise::Rational scale = laplace.noise.scale();
            return fmt::format("laplace:{}:{}:{}:{}/{}", laplace.lattice.clip, exact(laplace.lattice.step),
                               laplace.noise.sensitivity().value(), scale.numerator, scale.denominator);
          },
          [](const mechanisms::GeneralisedGaussianLattice& noise) {
            return fmt::format("generalised:{}:{}:{}:{}:{}", noise.lattice.clip, exact(noise.lattice.step),
                               exact(noise.noise.norm()), exact(noise.noise.scale()), noise.cost.to_string());
          },
          [](const mechanisms::Selection& selection) {
            return fmt::format("selection:{}:{}:{}:{}:{}", exact(selection.lattice.bound()),
                               selection.lattice.log2_levels(), selection.lattice.records(),
                               selection.draw.range().value(), selection.draw.epsilon().to_string());
          },
          [](const mechanisms::PathSelection& selection) {
            std::string out =
                fmt::format("path:{}:{}", selection.draw.range().value(), selection.draw.epsilon().to_string());
            for (const mechanisms::ClampUnits& node : selection.lattice.nodes())
              out += fmt::format(":{}/{}/{}", exact(node.per_unit), node.levels, node.records);
            return out;
          },
          [](const mechanisms::PerturbedObjective& objective) {
            return fmt::format("objective:{}:{}:{}:{}:{}:{}:{}", objective.epsilon.to_string(),
                               objective.failure.to_string(), exact(objective.ideal.regularisation()),
                               exact(objective.ideal.noise_stddev()), objective.ideal.iterations(),
                               exact(objective.ideal.output().lattice.step), objective.ideal.output().log2_stddev);
          },
          [](const mechanisms::LocalReports& reports) {
            const std::string law =
                std::visit(Overloaded{[](const mechanisms::OneBit& bit) {
                                        return fmt::format("bit:{}:{}", bit.levels(), bit.contrast_units());
                                      },
                                      [](const mechanisms::LaplaceSum& noise) {
                                        return fmt::format("laplace:{}:{}/{}", noise.sensitivity().value(),
                                                           noise.scale().numerator, noise.scale().denominator);
                                      },
                                      [](const mechanisms::PrivUnit& direction) {
                                        return fmt::format("direction:{}:{}:{}:{}", direction.dimension(),
                                                           to_string(direction.adapter()), exact(direction.threshold()),
                                                           exact(direction.in_cap()));
                                      },
                                      [](const mechanisms::VectorNoise& noise) {
                                        return fmt::format("gaussian:{}:{}:{}:{}", noise.dimension(), noise.copies(),
                                                           noise.lattice().lattice.clip, noise.lattice().log2_stddev);
                                      },
                                      [&](const auto& strings) {
                                        return fmt::format("{}:{}:{}", to_string(reports.kind()),
                                                           strings.chance().levels(), exact(strings.chance().rate()));
                                      }},
                           reports.randomiser);
            return fmt::format("reports:{}:{}:{}:{}:{}:{}", reports.lattice.clip, exact(reports.lattice.step),
                               reports.low, reports.high, law,
                               reports.kind() == releases::Randomiser::Gaussian ? reports.cost().to_string()
                                                                                : reports.cost().pure.to_string());
          },
          [](const mechanisms::ExactPublicSum& exact_sum) {
            return fmt::format("exact:{}:{}", exact_sum.lattice.clip, exact(exact_sum.lattice.step));
          },
          [](const mechanisms::Unplanned& /*nothing*/) -> std::string { UNDERTONE_CHECK(false); },
          [](const mechanisms::BinomialSum& binomial) {
            const mechanisms::BinomialParameters& parameters = binomial.parameters;
            return fmt::format("binomial:{}:{}:{}:{}:{}/{}", binomial.lattice.clip, exact(binomial.lattice.step),
                               parameters.grid(), parameters.coins(), parameters.heads().numerator,
                               parameters.heads().denominator);
          }},
      mechanism);
}

/// A set by its name and every number of it.
std::string domain_text(const geometry::Domain& domain) {
  const std::string numbers = std::visit(
      Overloaded{
          [](const geometry::WholeSpace& /*set*/) { return std::string(); },
          [](const geometry::Box& box) { return fmt::format("{}/{}", exact(box.lower), exact(box.upper)); },
          [](const geometry::Simplex& simplex) { return exact(simplex.scale); },
          [](const geometry::GroupBall& ball) { return fmt::format("{}/{}", exact(ball.radius), ball.group_size); },
          [](const geometry::MixedBall& ball) { return fmt::format("{}/{}", exact(ball.radius), exact(ball.share)); },
          [](const geometry::NuclearBall& ball) { return fmt::format("{}/{}", exact(ball.radius), ball.rows); },
          [](const geometry::L2Ball& ball) { return exact(ball.radius()); },
          [](const geometry::L1Ball& ball) { return exact(ball.radius); }},
      domain.set());
  return fmt::format("{}:{}", domain.set().index(), numbers);
}

std::string bound_text(const releases::Bound& bound) {
  return std::visit(
      Overloaded{[](const releases::L2Bound& l2) { return exact(l2.clip.value()); },
                 [](const releases::MaxBound& max) { return fmt::format("max:{}", exact(max.bound.value())); },
                 [](const releases::DualBound& dual) {
                   return fmt::format("dual:{}:{}", exact(dual.exponent()), exact(dual.clip().value()));
                 },
                 [](const releases::RangeBound& range) {
                   return fmt::format("range:{}:{}", exact(range.low), exact(range.high));
                 },
                 [](const releases::PairBound& pair) {
                   return fmt::format("pair:l{}", pair.norm == releases::PairBound::Norm::L1 ? 1 : 2);
                 }},
      bound);
}

std::string cells_text(const statistics::Cells& cells) {
  return std::visit(
      Overloaded{
          [](const statistics::IndicatorCells& own) { return fmt::format("indicators/{}/{}", own.first, own.count); },
          [](const statistics::SignCells& own) { return fmt::format("sign/{}", own.coordinate); },
          [](const statistics::ClassCells& own) { return fmt::format("class/{}/{}", own.coordinate, own.count); },
          [](const statistics::BinnedCells& own) {
            std::string out = fmt::format("bins/{}", own.coordinate);
            for (const double edge : own.edges) out += "/" + exact(edge);
            return out;
          }},
      cells);
}

/// A feature map by its kind and every number of it.
std::string features_text(const statistics::FeatureMap& features) {
  const std::string numbers = std::visit(
      Overloaded{
          [](const statistics::CountMap& map) { return fmt::format("{}:{}", cells_text(map.cells), map.cell); },
          [](const statistics::CellsMap& map) {
            std::string out;
            for (const statistics::Cells& axis : map.axes) out += (out.empty() ? "" : ":") + cells_text(axis);
            return out;
          },
          [](const statistics::SumMap& map) { return fmt::format("{}", map.coordinate); },
          [](const statistics::MomentsMap& map) { return fmt::format("{}:{}", map.coordinate, map.laplace); },
          [](const statistics::FourMomentsMap& map) { return fmt::format("{}", map.coordinate); },
          [](const statistics::GroupMomentsMap& map) {
            return fmt::format("{}:{}:{}", cells_text(map.cells), map.coordinate, map.squares);
          },
          [](const statistics::VectorMomentsMap& map) { return fmt::format("{}", fmt::join(map.coordinates, ",")); },
          [](const statistics::TreeMap& map) { return cells_text(map.leaves); },
          [](const statistics::ConjunctionsMap& map) {
            std::string out = fmt::format("{}", map.degree);
            for (const statistics::Literal& literal : map.literals)
              out += fmt::format(":{}={}", cells_text(literal.cells), literal.cell);
            return out;
          },
          [](const statistics::CosinesMap& map) {
            return fmt::format("{}:{}", fmt::join(map.coordinates, ","), map.terms);
          },
          [](const statistics::BallMap& map) {
            return fmt::format("{}:{}:{}:{}:{}", fmt::join(map.coordinates, ","), exact(map.radius),
                               map.sign ? fmt::format("{}", *map.sign) : "", map.constant,
                               static_cast<int>(map.besides));
          },
          [](const statistics::LossesMap& map) {
            return fmt::format("{}:{}:{}:{}:{}:{}", statistics::to_string(map.loss), fmt::join(map.coordinates, ","),
                               map.label, map.intercept, exact(map.half_width), map.degree);
          }},
      features);
  return fmt::format(":{}:{}", statistics::name_of(features), numbers);
}

std::string map_text(const releases::RecordMap& map) {
  if (const auto* run = std::get_if<releases::LocalRunMap>(&map)) {
    std::string out = fmt::format(":local:{}:{}", run->steps.steps, exact(run->steps.step_size));
    if (run->steps.records != 1) out += fmt::format(":of:{}", run->steps.records);
    if (run->steps.proximal != 0.0) out += fmt::format(":proximal:{}", exact(run->steps.proximal));
    return out;  // controlled runs are another kind
  }
  if (const auto* statistic = std::get_if<releases::StatisticMap>(&map))
    return fmt::format(":{}:{}", statistic->indicators ? "indicators" : "values",
                       fmt::join(statistic->coordinates, ","));
  if (const auto* features = std::get_if<releases::FeaturesMap>(&map)) return features_text(features->features);
  if (const auto* path = std::get_if<releases::PathMap>(&map)) {
    std::string out = ":path";
    for (const releases::PathNode& node : path->nodes)
      out += fmt::format(":{}/{}/{}/{}/{}/{}/{}", static_cast<int>(node.slice.cut), node.slice.index, node.slice.of,
                         node.slice.span, exact(node.bound.value()), exact(node.factor), exact(node.carried));
    return out;
  }
  if (const auto* scores = std::get_if<releases::ScoresMap>(&map))
    return fmt::format(":scores:{}:{}", scores->asked, to_hex(scores->vertices.digest()));
  if (const auto* choices = std::get_if<releases::LocalChoicesMap>(&map))
    return fmt::format(":choices:{}:{}", choices->steps, to_hex(choices->vertices.digest()));
  if (const auto* minimiser = std::get_if<releases::MinimiserMap>(&map)) {
    std::string out = fmt::format(":minimiser:{}", domain_text(minimiser->domain));
    for (const double number : minimiser->start) out += ":" + exact(number);
    return out;
  }
  return "";
}

/// Candidates by what they are, to the last number; reports by how they are drawn.
std::string form_text(const releases::Ask& ask) {
  if (const releases::ReportsForm* reports = ask.reports()) {
    std::string out = fmt::format(":reports:{}", to_string(reports->randomiser));
    if (releases::reads_strings(reports->randomiser)) out += fmt::format(":{}", reports->seed);
    if (reports->randomiser == releases::Randomiser::Direction) out += fmt::format(":{}", to_string(reports->adapter));
    if (reports->copies != 1) out += fmt::format(":{}", reports->copies);
    return out;
  }
  if (const std::optional<double> norm = ask.noise_norm()) return fmt::format(":noise:{}", exact(*norm));
  const auto* selection = std::get_if<releases::SelectionForm>(&ask.form);
  if (selection == nullptr) return "";
  return std::visit(Overloaded{[](const geometry::Vertices& vertices) {
                                 return fmt::format(":selection:{}", to_hex(vertices.digest()));
                               },
                               [](const releases::LeastTotal& /*totals*/) { return std::string(":selection:least"); },
                               [](const releases::QuantileCell& cell) {
                                 return fmt::format(":selection:quantile:{}/{}", cell.numerator, cell.denominator);
                               }},
                    selection->candidates);
}

std::string ask_text(const releases::Ask& ask) {
  const releases::RecordSet& records = ask.records;
  std::string out =
      fmt::format("{}:{}:{}:{}:{}:{}", static_cast<int>(ask.kind()), static_cast<int>(records.block),
                  exact(records.draw_fraction), ask.dimension, bound_text(ask.bound), records.with_replacement);
  if (records.slice) {
    out +=
        fmt::format(":slice:{}:{}:{}", static_cast<int>(records.slice->cut), records.slice->index, records.slice->of);
    if (records.slice->span != 1) out += fmt::format(":span:{}", records.slice->span);
    if (records.slice->assignment == releases::Slice::Assignment::Bins) out += ":bins";
    if (records.slice->assignment == releases::Slice::Assignment::SecretPermutation) out += ":secret";
  }
  if (records.persons)
    out += fmt::format(":persons:{}:{}", to_string(records.persons->form), records.persons->records_max);
  if (const std::optional<double> smoothness = ask.smoothness())
    out += fmt::format(":smoothness:{}", exact(*smoothness));
  return out + map_text(ask.map) + form_text(ask);
}

}  // namespace

Digest plan_digest(const Plan& plan) {
  Sha256 hash;
  hash.update(fmt::format("undertone plan 1\n{}:{}:{}:{}\n", plan.epsilon().to_string(), plan.delta().to_string(),
                          plan.mechanism_delta_amount().to_string(), plan.failure_delta().to_string()));
  if (const std::optional<Shuffling>& shuffling = plan.shuffling()) {
    hash.update(fmt::format("shuffled:{}:{}:{}\n", shuffling->honest_silos, shuffling->binomial, shuffling->coins_max));
  }
  if (const std::optional<accounting::ShufflerCredit>& credit = plan.credit()) {
    hash.update(fmt::format("credit:{}:{}:{}\n", credit->record_epsilon.to_string(), credit->silo_epsilon.to_string(),
                            credit->failure.to_string()));
  }
  if (const std::optional<PartsCredit>& credit = plan.parts_credit();
      credit && credit->assignment == releases::Slice::Assignment::Bins)
    hash.update(fmt::format("bins:{}\n", credit->overflow.to_string()));
  for (const Plan::Segment& segment : plan.segments()) {
    const Release& release = segment.release;
    if (release.reads_bins()) hash.update(fmt::format("rows:{}\n", release.rows));
    hash.update(fmt::format("{}*{};{}/{}/{};{}:{};{}\n", segment.rounds, ask_text(release.ask), release.records_drawn,
                            release.population, release.block_records, release.positions.from, release.positions.to,
                            mechanism_text(release.mechanism)));
  }
  return hash.finish();
}

}  // namespace undertone::planning
