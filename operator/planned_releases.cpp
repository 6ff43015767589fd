#include "operator/planned_releases.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "shared/base/overloaded.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNormalQuantile = 1.959964;  // of 0.975

/// How a record's contribution is bounded, and how the answer hides it.
void put_bound(const releases::Bound& bound, Json& out) {
  std::visit(Overloaded{[&](const releases::L2Bound& l2) { out["clip_norm"] = l2.clip.value(); },
                        [&](const releases::MaxBound& max) { out["coordinate_bound"] = max.bound.value(); },
                        [&](const releases::DualBound& dual) {
                          out["clip_norm"] = dual.clip().value();
                          out["clip_in"] = releases::norm_name(dual.exponent());
                        },
                        [&](const releases::RangeBound& range) {
                          out["range"] = {range.low, range.high};
                        },
                        [&](const releases::PairBound& pair) {
                          out["pair_norm"] = pair.norm == releases::PairBound::Norm::L1 ? "l1" : "l2";
                        }},
             bound);
}

void put_noise(const planning::Release& release, Json& out) {
  const releases::Cost cost = release.cost_of_draw();
  std::visit(
      Overloaded{
          [&](const mechanisms::GaussianLattice& /*noise*/) {
            out["noise_multiplier"] = 1.0 / std::sqrt(cost.gaussian.value_rounded_up());
          },
          [&](const mechanisms::BinomialSum& sum) {
            const noise::Rational heads = sum.parameters.heads();
            out["noise_multiplier"] = 1.0 / std::sqrt(cost.gaussian.value_rounded_up());
            out["binomial"] = {
                {"grid", sum.parameters.grid()},
                {"coins", sum.parameters.coins()},
                {"heads", static_cast<double>(heads.numerator) / static_cast<double>(heads.denominator)}};
          },
          [&](const mechanisms::LaplaceLattice& laplace) {
            out["laplace"] = {
                {"epsilon", cost.pure.value_rounded_up()},
                {"half_width_95", static_cast<double>(laplace.noise.half_width(0.05)) * laplace.lattice.step}};
          },
          [&](const mechanisms::GeneralisedGaussianLattice& generalised) {
            const double rho = cost.concentrated.value_rounded_up();
            out["noise_multiplier"] = 1.0 / std::sqrt(2.0 * rho);
            out["generalised_gaussian"] = {{"norm", generalised.noise.norm()}, {"rho", rho}};
          },
          [&](const mechanisms::Selection& /*draw*/) {
            const auto* own = std::get_if<releases::LocalChoicesMap>(&release.ask.map);
            out["selection"] = {{"epsilon", cost.ranged.value_rounded_up()},
                                {"candidates", own != nullptr ? own->vertices.count() : release.ask.candidate_count()}};
            if (own != nullptr) out["selection"]["choices"] = own->steps;
          },
          [&](const mechanisms::PathSelection& selection) {
            std::vector<double> nodes;
            for (std::size_t i = 0; i < selection.lattice.nodes().size(); ++i)
              nodes.push_back(selection.epsilon(i).value_rounded_up());
            out["selection"] = {{"epsilon", cost.ranged.value_rounded_up()},
                                {"epsilon_of_nodes", std::move(nodes)},
                                {"candidates", release.ask.candidate_count()}};
          },
          [&](const mechanisms::PerturbedObjective& objective) {
            const mechanisms::ObjectivePerturbation& ideal = objective.ideal;
            out["objective"] = {{"epsilon", cost.pure.value_rounded_up()},
                                {"failure", objective.failure.value_rounded_up()},
                                {"regularisation", ideal.regularisation()},
                                {"linear_term_stddev", ideal.noise_stddev()},
                                {"accuracy", ideal.accuracy()},
                                {"output_stddev", ideal.output().noise_stddev()},
                                {"passes", ideal.iterations()}};
          },
          [&](const mechanisms::LocalReports& reports) {
            const bool gaussian = reports.kind() == releases::Randomiser::Gaussian;
            out["reports"] = {{gaussian ? "mu" : "epsilon",
                               gaussian ? std::sqrt(cost.gaussian.value_rounded_up()) : cost.pure.value_rounded_up()},
                              {"randomiser", releases::to_string(reports.kind())},
                              {"leaves", releases::what_leaves(reports.kind())}};
          },
          [&](const mechanisms::ExactPublicSum& /*exact*/) { out["noise_multiplier"] = 0.0; },
          [](const mechanisms::Unplanned& /*nothing*/) { UNDERTONE_CHECK(false); }},
      release.mechanism);
}

/// Selections along paths differ in what they cost, often each from the next: one entry says the dearest, and in
/// "epsilon_min" the cheapest where that is another.
void merge_epsilons(const Json& other, Json& into) {
  const auto low = [](const Json& selection) {
    return selection.value("epsilon_min", selection.at("epsilon").get<double>());
  };
  const double least = std::min(low(other), low(into));
  if (other.at("epsilon").get<double>() > into.at("epsilon").get<double>()) into = other;
  if (least < into.at("epsilon").get<double>()) into["epsilon_min"] = least;
}

/// "epsilon 2 each", or "epsilon 0.5 to 2 each".
std::string describe_epsilons(const Json& selection) {
  const double most = selection["epsilon"].get<double>();
  return selection.contains("epsilon_min")
             ? fmt::format("epsilon {:.4g} to {:.4g} each", selection["epsilon_min"].get<double>(), most)
             : fmt::format("epsilon {:.4g} each", most);
}

}  // namespace

Json releases_of(const planning::Plan& plan) {
  std::vector<Json> out;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const planning::Release& release = segment.release;
    Json entry = {{"what", releases::to_string(release.ask.kind())},
                  {"block", releases::block_name(release.ask.records.block)},
                  {"times", segment.rounds},
                  {"numbers", release.ask.dimension},
                  {"records", release.records_drawn},
                  {"draws", release.draws()},
                  {"reads", release.ask.records.with_replacement ? "fresh draw with replacement"
                            : release.reads_bins()               ? "own bin"
                            : release.hides_part()               ? "own secret part"
                            : release.ask.records.slice          ? "own part"
                            : release.sampled()                  ? "fresh draw"
                                                                 : "all"}};
    if (release.reads_bins()) entry["rows"] = release.rows;
    put_bound(release.ask.bound, entry);
    entry["public_records"] = release.is_public();
    entry["noise_stddev_of_mean"] = release.noise_stddev_of_mean();
    put_noise(release, entry);
    const auto same = [&entry](const Json& other) {
      for (const char* key : {"what", "block", "numbers", "records", "reads", "noise_stddev_of_mean"}) {
        if (other.at(key) != entry.at(key)) return false;
      }
      return true;
    };
    const auto known = std::find_if(out.begin(), out.end(), same);
    if (known == out.end()) {
      out.push_back(std::move(entry));
    } else {
      (*known)["times"] = known->at("times").get<std::uint64_t>() + segment.rounds;
      if (entry.contains("selection")) merge_epsilons(entry["selection"], (*known)["selection"]);
    }
  }
  return out;
}

Json secret_parts_of(const planning::Plan& plan) {
  const planning::PartsCredit& credit = *plan.parts_credit();
  const bool bins = credit.assignment == releases::Slice::Assignment::Bins;
  Json out = {{"charged", "random_allocation"}, {"assignment", bins ? "bins" : "secret_permutation"}};
  if (bins) out["overflow_delta"] = credit.overflow.value_rounded_up();
  if (credit.gain) out["noise_of_parallel_composition"] = *credit.gain;
  const std::optional<double> told = plan.epsilon_of_known_draws();
  out["epsilon_if_told"] = told ? Json(*told) : Json(nullptr);
  return out;
}

std::string describe_secret_parts(const Json& parts) {
  std::string out =
      fmt::format("{}, and all parts of the pass are charged together as one random allocation",
                  parts["assignment"] == "bins"
                      ? "every record draws its bin in secret"
                      : "the records are permuted in secret, and one position at least is read by nobody");
  if (parts.contains("noise_of_parallel_composition"))
    out += fmt::format(": parallel composition would take {:.3g} times the noise",
                       parts["noise_of_parallel_composition"].get<double>());
  return out + (parts["epsilon_if_told"].is_null()
                    ? "; nothing is promised if the silo tells them"
                    : fmt::format("; epsilon {:.4g} if the silo tells them", parts["epsilon_if_told"].get<double>()));
}

std::string describe_release(const Json& release) {
  const std::string reads = release["reads"].get<std::string>();
  std::string out = fmt::format("{} x {} of {} numbers over {} {} records{}", release["times"].get<std::uint64_t>(),
                                release["what"].get<std::string>(), release["numbers"].get<std::int64_t>(),
                                release["records"].get<std::int64_t>(), release["block"].get<std::string>(),
                                reads == "own part"     ? ", each a part of its own"
                                : reads == "own bin"    ? " on average, each those that drew a bin of its own"
                                : reads == "fresh draw" ? ", drawn afresh"
                                : reads == "fresh draw with replacement" ? ", drawn afresh with replacement"
                                                                         : "");
  if (release["draws"].get<std::uint64_t>() > 1)
    out += fmt::format(" in each of {} steps", release["draws"].get<std::uint64_t>());
  if (release["public_records"].get<bool>()) return out + ", exact: declared public";
  if (release.contains("selection")) {
    const Json& selection = release["selection"];
    if (!release.contains("coordinate_bound"))
      return out + fmt::format(": one of {} candidates, {}", selection["candidates"].get<std::int64_t>(),
                               describe_epsilons(selection));
    return out + fmt::format(", coordinates clamped to {:.4g}: one vertex of {}, {}",
                             release["coordinate_bound"].get<double>(), selection["candidates"].get<std::int64_t>(),
                             describe_epsilons(selection));
  }
  if (release.contains("reports")) {
    const Json& reports = release["reports"];
    const char* loss = reports.contains("mu") ? "mu" : "epsilon";
    return out + fmt::format(
                     ": a report of each by itself, {}, in a secret order: {} {:.4g} each, whoever sees it; a "
                     "silo's mean has a standard deviation of at most {:.4g}",
                     reports["leaves"].get<std::string>(), loss, reports[loss].get<double>(),
                     release["noise_stddev_of_mean"].get<double>());
  }
  if (release.contains("laplace")) {
    const Json& laplace = release["laplace"];
    return out + fmt::format(
                     ", discrete Laplace noise: epsilon {:.4g} each, a silo's total within {:.4g} with "
                     "probability 0.95",
                     laplace["epsilon"].get<double>(), laplace["half_width_95"].get<double>());
  }
  if (release.contains("pair_norm")) {
    return out +
           fmt::format(", Gaussian noise: a silo's total within {:.4g} with probability 0.95 (noise multiplier {:.4g})",
                       kNormalQuantile * release["noise_stddev_of_mean"].get<double>() *
                           static_cast<double>(release["records"].get<std::int64_t>()),
                       release["noise_multiplier"].get<double>());
  }
  if (release.contains("objective")) {
    const Json& objective = release["objective"];
    return out + fmt::format(
                     ", records of norm {:.4g}: linear term of {:.4g} a number, regularisation {:.4g}, noise on "
                     "the minimum {:.4g}, epsilon {:.4g} but for {:.3g}, {} passes",
                     release["clip_norm"].get<double>(), objective["linear_term_stddev"].get<double>(),
                     objective["regularisation"].get<double>(), objective["output_stddev"].get<double>(),
                     objective["epsilon"].get<double>(), objective["failure"].get<double>(),
                     objective["passes"].get<std::int64_t>());
  }
  if (release.contains("generalised_gaussian")) {
    const Json& generalised = release["generalised_gaussian"];
    return out + fmt::format(
                     ", {} clip {:.4g}, generalised Gaussian noise of the norm l_{:.4g}, sigma of the mean {:.4g} "
                     "(rho {:.4g} each)",
                     release["clip_in"].get<std::string>(), release["clip_norm"].get<double>(),
                     generalised["norm"].get<double>(), release["noise_stddev_of_mean"].get<double>(),
                     generalised["rho"].get<double>());
  }
  return out + fmt::format(", clip {:.4g}, sigma of the mean {:.4g} (noise multiplier {:.4g}{})",
                           release["clip_norm"].get<double>(), release["noise_stddev_of_mean"].get<double>(),
                           release["noise_multiplier"].get<double>(),
                           release.contains("binomial")
                               ? fmt::format(" of the total; grid {}, {} coins of heads {} a record",
                                             release["binomial"]["grid"].get<std::int64_t>(),
                                             release["binomial"]["coins"].get<std::int64_t>(),
                                             release["binomial"]["heads"].get<double>())
                               : "");
}

}  // namespace undertone::operators
