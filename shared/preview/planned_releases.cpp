#include "shared/preview/planned_releases.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "shared/base/overloaded.hpp"

namespace undertone::preview {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNormalQuantile = 1.959964;  // of 0.975

/// How a record's contribution is bounded: for programs, and in a line.
struct BoundSaid {
  Json json;
  std::string line;
};

BoundSaid said_of(const releases::Bound& bound) {
  return std::visit(Overloaded{[](const releases::L2Bound& l2) -> BoundSaid {
                                 return {{{"clip_norm", l2.clip.value()}}, fmt::format("clip {:.4g}", l2.clip.value())};
                               },
                               [](const releases::MaxBound& max) -> BoundSaid {
                                 return {{{"coordinate_bound", max.bound.value()}},
                                         fmt::format("coordinates clamped to {:.4g}", max.bound.value())};
                               },
                               [](const releases::DualBound& dual) -> BoundSaid {
                                 const std::string norm = releases::norm_name(dual.exponent());
                                 return {{{"clip_norm", dual.clip().value()}, {"clip_in", norm}},
                                         fmt::format("{} clip {:.4g}", norm, dual.clip().value())};
                               },
                               [](const releases::InfluenceBound& influence) -> BoundSaid {
                                 Json json = {{"coordinate_threshold", influence.threshold()},
                                              {"influence", statistics::to_string(influence.influence())}};
                                 if (influence.groups() > 1) json["groups"] = influence.groups();
                                 return {std::move(json), releases::described(influence)};
                               },
                               [](const releases::RangeBound& range) -> BoundSaid {
                                 return {{{"range", {range.low, range.high}}},
                                         fmt::format("each in [{:.4g}, {:.4g}]", range.low, range.high)};
                               },
                               [](const releases::PairBound& pair) -> BoundSaid {
                                 const bool l1 = pair.norm == releases::PairBound::Norm::L1;
                                 return {{{"pair_norm", l1 ? "l1" : "l2"}}, "as its map allows"};
                               }},
                    bound);
}

/// What a mechanism does, each in one place: for programs, and as the end of a line.
struct NoiseSaid {
  Json json;
  std::string line;
};

/// The line of sums with noise, whose standard deviation says all.
std::string clipped_line(const planning::Release& release, double multiplier, const std::string& besides = {}) {
  const auto* dual = std::get_if<releases::DualBound>(&release.ask.bound);
  const std::optional<double> smoothness = release.ask.smoothness();
  return fmt::format(
      ", {}{}, sigma of the {} {:.4g} (noise multiplier {:.4g}{}){}",
      dual == nullptr ? said_of(release.ask.bound).line : fmt::format("clip {:.4g}", dual->clip().value()),
      smoothness ? fmt::format(" or {:.4g} times the points' distance, if that is less", *smoothness) : "",
      release.ask.groups() > 1 ? "groups' median" : "mean", release.noise_stddev_of_mean(), multiplier, besides,
      smoothness ? ", and as much less where the clip is" : "");
}

NoiseSaid said_of(const mechanisms::GaussianLattice& /*noise*/, const PlannedRelease& planned) {
  const planning::Release& release = planned.release;
  const double multiplier = 1.0 / std::sqrt(release.cost_of_draw().gaussian.value_rounded_up());
  if (!std::holds_alternative<releases::PairBound>(release.ask.bound))
    return {{{"noise_multiplier", multiplier}}, clipped_line(release, multiplier)};
  return {{{"noise_multiplier", multiplier}},
          fmt::format(", Gaussian noise: a silo's total within {:.4g} with probability 0.95 (noise multiplier {:.4g})",
                      kNormalQuantile * release.noise_stddev_of_mean() * static_cast<double>(release.records_drawn),
                      multiplier)};
}

NoiseSaid said_of(const mechanisms::BinomialSum& sum, const PlannedRelease& planned) {
  const noise::Rational rational = sum.parameters.heads();
  const double heads = static_cast<double>(rational.numerator) / static_cast<double>(rational.denominator);
  const double multiplier = 1.0 / std::sqrt(planned.release.cost_of_draw().gaussian.value_rounded_up());
  return {{{"noise_multiplier", multiplier},
           {"binomial", {{"grid", sum.parameters.grid()}, {"coins", sum.parameters.coins()}, {"heads", heads}}}},
          clipped_line(planned.release, multiplier,
                       fmt::format(" of the total; grid {}, {} coins of heads {} a record", sum.parameters.grid(),
                                   sum.parameters.coins(), heads))};
}

NoiseSaid said_of(const mechanisms::LaplaceLattice& laplace, const PlannedRelease& planned) {
  const double epsilon = planned.release.cost_of_draw().pure.value_rounded_up();
  const double half_width = static_cast<double>(laplace.noise.half_width(0.05)) * laplace.lattice.step;
  return {{{"laplace", {{"epsilon", epsilon}, {"half_width_95", half_width}}}},
          fmt::format(", discrete Laplace noise: epsilon {:.4g} each, a silo's total within {:.4g} with "
                      "probability 0.95",
                      epsilon, half_width)};
}

NoiseSaid said_of(const mechanisms::GeneralisedGaussianLattice& generalised, const PlannedRelease& planned) {
  const planning::Release& release = planned.release;
  const double rho = release.cost_of_draw().concentrated.value_rounded_up();
  return {{{"noise_multiplier", 1.0 / std::sqrt(2.0 * rho)},
           {"generalised_gaussian", {{"norm", generalised.noise.norm()}, {"rho", rho}}}},
          fmt::format(", {}, generalised Gaussian noise of the norm l_{:.4g}, sigma of the mean {:.4g} (rho {:.4g} "
                      "each)",
                      said_of(release.ask.bound).line, generalised.noise.norm(), release.noise_stddev_of_mean(), rho)};
}

/// One of so many candidates, whichever way its scores are made.
NoiseSaid chosen(const PlannedRelease& planned, std::int64_t candidates, Json besides) {
  const double epsilon = planned.dearest.cost_of_draw().ranged.value_rounded_up();
  Json json = {{"epsilon", epsilon}};
  json.update(besides);
  json["candidates"] = candidates;
  std::string cost = fmt::format("epsilon {:.4g} each", epsilon);
  if (planned.least_epsilon < epsilon) {
    json["epsilon_min"] = planned.least_epsilon;
    cost = fmt::format("epsilon {:.4g} to {:.4g} each", planned.least_epsilon, epsilon);
  }
  const bool vertices = std::holds_alternative<releases::MaxBound>(planned.release.ask.bound);
  return {{{"selection", std::move(json)}},
          vertices
              ? fmt::format(", {}: one vertex of {}, {}", said_of(planned.release.ask.bound).line, candidates, cost)
              : fmt::format(": one of {} candidates, {}", candidates, cost)};
}

NoiseSaid said_of(const mechanisms::Selection& /*draw*/, const PlannedRelease& planned) {
  const auto* own = std::get_if<releases::LocalChoicesMap>(&planned.dearest.ask.map);
  NoiseSaid out =
      chosen(planned, own != nullptr ? own->vertices.count() : planned.dearest.ask.candidate_count(), Json::object());
  if (own != nullptr) out.json["selection"]["choices"] = own->steps;
  return out;
}

NoiseSaid said_of(const mechanisms::PathSelection& /*draw*/, const PlannedRelease& planned) {
  const auto& dearest = std::get<mechanisms::PathSelection>(planned.dearest.mechanism);
  std::vector<double> nodes;
  for (std::size_t i = 0; i < dearest.lattice.nodes().size(); ++i)
    nodes.push_back(dearest.epsilon(i).value_rounded_up());
  return chosen(planned, planned.dearest.ask.candidate_count(), {{"epsilon_of_nodes", std::move(nodes)}});
}

NoiseSaid said_of(const mechanisms::PerturbedObjective& objective, const PlannedRelease& planned) {
  const planning::Release& release = planned.release;
  const mechanisms::ObjectivePerturbation& ideal = objective.ideal;
  const double epsilon = release.cost_of_draw().pure.value_rounded_up();
  const double failure = objective.failure.value_rounded_up();
  return {{{"objective",
            {{"epsilon", epsilon},
             {"failure", failure},
             {"regularisation", ideal.regularisation()},
             {"linear_term_stddev", ideal.noise_stddev()},
             {"accuracy", ideal.accuracy()},
             {"output_stddev", ideal.output().noise_stddev()},
             {"passes", ideal.iterations()}}}},
          fmt::format(", records of norm {:.4g}: linear term of {:.4g} a number, regularisation {:.4g}, noise on "
                      "the minimum {:.4g}, epsilon {:.4g} but for {:.3g}, {} passes",
                      release.ask.clip().value(), ideal.noise_stddev(), ideal.regularisation(),
                      ideal.output().noise_stddev(), epsilon, failure, ideal.iterations())};
}

NoiseSaid said_of(const mechanisms::LocalReports& reports, const PlannedRelease& planned) {
  const planning::Release& release = planned.release;
  const releases::Cost cost = release.cost_of_draw();
  const bool gaussian = reports.kind() == releases::Randomiser::Gaussian;
  const char* loss = gaussian ? "mu" : "epsilon";
  const double amount = gaussian ? std::sqrt(cost.gaussian.value_rounded_up()) : cost.pure.value_rounded_up();
  return {{{"reports",
            {{loss, amount},
             {"randomiser", releases::to_string(reports.kind())},
             {"leaves", releases::what_leaves(release.ask)}}}},
          fmt::format(": a report of each by itself, {}, in a secret order: {} {:.4g} each, whoever sees it; a "
                      "silo's mean has a standard deviation of at most {:.4g}",
                      releases::what_leaves(release.ask), loss, amount, release.noise_stddev_of_mean())};
}

NoiseSaid said_of(const mechanisms::DirectionSum& sum, const PlannedRelease& planned) {
  const planning::Release& release = planned.release;
  const double epsilon = release.cost_of_draw().pure.value_rounded_up();
  const mechanisms::PrivUnit& direction = sum.direction();
  return {{{"summed_reports",
            {{"epsilon", epsilon},
             {"randomiser", releases::to_string(sum.reports.kind())},
             {"adapter", releases::to_string(direction.adapter())},
             {"threshold", direction.threshold()},
             {"in_cap", direction.in_cap()},
             {"scale", direction.scale()}}}},
          fmt::format(", {}: a report of each record by itself, added up: epsilon {:.4g} each; the mean's error has a "
                      "standard deviation of at most {:.4g} on a number",
                      said_of(release.ask.bound).line, epsilon, release.noise_stddev_of_mean())};
}

NoiseSaid said_of(const mechanisms::ExactPublicSum& /*exact*/, const PlannedRelease& /*planned*/) {
  return {{{"noise_multiplier", 0.0}}, ", exact: declared public"};
}

NoiseSaid said_of(const mechanisms::Unplanned& /*nothing*/, const PlannedRelease& /*planned*/) {
  UNDERTONE_CHECK(false);
}

NoiseSaid said_of(const PlannedRelease& planned) {
  return std::visit([&](const auto& mechanism) { return said_of(mechanism, planned); }, planned.release.mechanism);
}

/// Which records a release reads, and how that is said in a line.
struct ReadSaid {
  const char* json;
  const char* line;
};

ReadSaid read_of(const planning::Release& release) {
  if (release.ask.records.with_replacement) return {"fresh draw with replacement", ", drawn afresh with replacement"};
  if (release.reads_bins()) return {"own bin", " on average, each those that drew a bin of its own"};
  if (release.hides_part()) return {"own secret part", ""};
  if (release.ask.records.slice && !release.ask.records.slice->whole()) return {"own part", ", each a part of its own"};
  if (release.sampled()) return {"fresh draw", ", drawn afresh"};
  return {"all", ""};
}

/// This says in a few words what a person contributes, of a model or of a statistic.
std::string counted_of(const releases::PersonContribution& person) {
  using Form = releases::PersonContribution::Form;
  const bool counts = person.form == Form::Any || person.form == Form::Total || person.form == Form::Number;
  if (counts) return releases::counted_by(person);
  return fmt::format("each by {} record{} at most", person.records_max, person.records_max == 1 ? "" : "s");
}

bool are_alike(const planning::Release& one, const planning::Release& other) {
  return one.ask.kind() == other.ask.kind() && one.ask.records.block == other.ask.records.block &&
         one.ask.dimension == other.ask.dimension && one.records_drawn == other.records_drawn &&
         one.ask.records.persons == other.ask.records.persons &&
         std::string_view(read_of(one).json) == read_of(other).json &&
         one.noise_stddev_of_mean() == other.noise_stddev_of_mean();
}

}  // namespace

std::vector<PlannedRelease> releases_of(const planning::Plan& plan) {
  std::vector<PlannedRelease> out;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const planning::Release& release = segment.release;
    const double epsilon = release.cost_of_draw().ranged.value_rounded_up();
    const auto known = std::find_if(out.begin(), out.end(),
                                    [&](const PlannedRelease& other) { return are_alike(other.release, release); });
    if (known == out.end()) {
      out.push_back({release, segment.rounds, release, epsilon});
      continue;
    }
    known->times += segment.rounds;
    known->least_epsilon = std::min(known->least_epsilon, epsilon);
    if (epsilon > known->dearest.cost_of_draw().ranged.value_rounded_up()) known->dearest = release;
  }
  return out;
}

Json to_json(const PlannedRelease& planned) {
  const planning::Release& release = planned.release;
  Json out = {{"what", releases::to_string(release.ask.kind())},
              {"block", releases::block_name(release.ask.records.block)},
              {"times", planned.times},
              {"numbers", static_cast<Eigen::Index>(release.ask.groups()) * release.ask.dimension},
              {"records", release.records_drawn},
              {"draws", release.draws()},
              {"unit", releases::to_string(release.ask.unit())},
              {"reads", read_of(release).json}};
  if (release.reads_bins()) out["rows"] = release.rows;
  if (const std::optional<releases::PersonContribution>& persons = release.ask.records.persons)
    out.update(
        {{"person_contributes", releases::to_string(persons->form)}, {"person_records_max", persons->records_max}});
  out.update(said_of(release.ask.bound).json);
  if (const std::optional<double> smoothness = release.ask.smoothness())
    out["clip_at_most_distance_times"] = *smoothness;
  out["public_records"] = release.is_public();
  if (release.ask.beside_public) out["beside_public_records"] = release.public_records;
  out["noise_stddev_of_mean"] = release.noise_stddev_of_mean();
  if (release.ask.groups() > 1) out["noise_stddev_of_group"] = release.noise_stddev_of_answer();
  out.update(said_of(planned).json);
  return out;
}

std::string describe(const PlannedRelease& planned) {
  const planning::Release& release = planned.release;
  const std::optional<releases::PersonContribution>& persons = release.ask.records.persons;
  std::string out = fmt::format(
      "{} x {} of {} numbers over {} {} {}{}", planned.times, releases::to_string(release.ask.kind()),
      static_cast<Eigen::Index>(release.ask.groups()) * release.ask.dimension, release.records_drawn,
      releases::block_name(release.ask.records.block), persons ? "persons" : "records", read_of(release).line);
  if (persons) out += fmt::format(", {}", counted_of(*persons));
  if (release.draws() > 1) out += fmt::format(" in each of {} steps", release.draws());
  out += said_of(planned).line;
  if (release.ask.beside_public) out += fmt::format("; beside it {} public records, exactly", release.public_records);
  return out;
}

SecretParts secret_parts_of(const planning::Plan& plan) {
  return {*plan.parts_credit(), plan.epsilon_of_known_draws()};
}

Json to_json(const SecretParts& parts) {
  const bool bins = parts.credit.assignment == releases::Slice::Assignment::Bins;
  Json out = {{"charged", "random_allocation"}, {"assignment", bins ? "bins" : "secret_permutation"}};
  if (bins) out["overflow_delta"] = parts.credit.overflow.value_rounded_up();
  if (parts.credit.gain) out["noise_of_parallel_composition"] = *parts.credit.gain;
  out["epsilon_if_told"] = parts.epsilon_if_told ? Json(*parts.epsilon_if_told) : Json(nullptr);
  return out;
}

std::string describe(const SecretParts& parts) {
  std::string out =
      fmt::format("{}, and all parts of the pass are charged together as one random allocation",
                  parts.credit.assignment == releases::Slice::Assignment::Bins
                      ? "every record draws its bin in secret"
                      : "the records are permuted in secret, and one position at least is read by nobody");
  if (parts.credit.gain)
    out += fmt::format(": parallel composition would take {:.3g} times the noise", *parts.credit.gain);
  return out + (parts.epsilon_if_told ? fmt::format("; epsilon {:.4g} if the silo tells them", *parts.epsilon_if_told)
                                      : std::string("; nothing is promised if the silo tells them"));
}

}  // namespace undertone::preview
