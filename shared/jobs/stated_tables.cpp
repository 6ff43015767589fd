#include "shared/jobs/stated_tables.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "shared/jobs/stated_survival.hpp"
#include "shared/statistics/contingency.hpp"
#include "shared/statistics/survival/table_models.hpp"

namespace undertone::jobs {
namespace {

constexpr int kDraws = 999;
constexpr std::size_t kTestedSilosMax = 256;   // draws of a test and steps of a ratio's scan go over every silo
constexpr std::size_t kModelledSilosMax = 64;  // each has a constant, and the model solves for all of them at once

/// Fowler, Noll and Vo's hash of a name: the same on every machine.
std::uint64_t seed_of(const std::string& name) {
  std::uint64_t out = 0xcbf29ce484222325ULL;
  for (const char letter : name) out = (out ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return out;
}

/// Every silo's cells in another order.
std::vector<statistics::NoisedTable> reordered(std::span<const statistics::Stratum> silos,
                                               const std::vector<Eigen::Index>& order) {
  std::vector<statistics::NoisedTable> out;
  for (const statistics::Stratum& silo : silos) {
    statistics::NoisedTable& table = out.emplace_back(silo.table);
    for (std::size_t i = 0; i < order.size(); ++i)
      table.cells[static_cast<Eigen::Index>(i)] = silo.table.cells[order[i]];
  }
  return out;
}
/// This stands behind a name, since each of several silos is a stratum.
std::string by_silo(std::size_t silos) { return silos > 1 ? ", within silos" : ""; }

void put_ratios(const algorithms::TableAsked& asked, std::span<const statistics::Stratum> silos,
                statistics::Confidence confidence, bool sampling, StatedQuestion& out) {
  const algorithms::TableAxis& group = asked.axes[0];
  const algorithms::TableAxis& event = asked.axes[1];
  // The second values' event in the second group against the first one.
  const std::vector<statistics::NoisedTable> strata = reordered(silos, {3, 2, 1, 0});
  const std::string of = fmt::format("of {}={} for {}={} against {}{}", event.column, event.values[1], group.column,
                                     group.values[1], group.values[0], by_silo(silos.size()));
  for (const auto& [kind, name] :
       {std::pair(statistics::Ratio::Odds, "odds ratio"), std::pair(statistics::Ratio::Risk, "risk ratio")})
    out.estimates.push_back(
        {fmt::format("{} {}", name, of), statistics::state_ratio(strata, kind, confidence, sampling)});
}

void put_logistic(const algorithms::TableAsked& asked, std::span<const statistics::Stratum> silos,
                  statistics::Confidence confidence, bool sampling, StatedQuestion& out) {
  const std::vector<algorithms::TableAxis> covariates(asked.axes.begin(), asked.axes.end() - 1);
  const algorithms::TableAxis& response = asked.axes.back();
  const GroupDesigns designs = group_designs(covariates);
  if (silos.size() > kModelledSilosMax) {
    constexpr double kAll = std::numeric_limits<double>::infinity();
    for (const std::string& of : designs.names) {
      statistics::Stated& stated =
          out.estimates
              .emplace_back(NamedEstimate{
                  fmt::format("log odds of {}={}: {}", response.column, response.values[1], of + by_silo(silos.size())),
                  {}})
              .stated;
      stated.noise = {-kAll, kAll};
      if (sampling) stated.population = stated.noise;
      stated.note = fmt::format("refused: expected at most {} silos, got {}", kModelledSilosMax, silos.size());
    }
    return;
  }
  std::vector<Eigen::Index> order;
  for (Eigen::Index pattern = 0; pattern < designs.rows.rows(); ++pattern) {
    order.push_back(2 * pattern + 1);  // the second value is the event
    order.push_back(2 * pattern);
  }
  const statistics::TableModel model = statistics::table_logistic(reordered(silos, order), designs.rows);
  const auto put = [&](const std::string& of, std::size_t coefficient) {
    out.estimates.push_back({fmt::format("log odds of {}={}: {}", response.column, response.values[1], of),
                             statistics::state_coefficient(model, coefficient, confidence, sampling)});
  };
  // Several silos have a constant each, and none of these speaks for all.
  if (silos.size() == 1) put("(intercept)", 0);
  for (std::size_t i = 0; i < designs.names.size(); ++i)
    put(designs.names[i] + by_silo(silos.size()), silos.size() + i);
  out.rho = model.rho;
}

}  // namespace

void put_table_inference(const algorithms::TableAsked& asked, const std::string& name,
                         std::span<const statistics::Stratum> silos, statistics::Confidence confidence, bool sampling,
                         StatedQuestion& out) {
  if (asked.modelled) put_logistic(asked, silos, confidence, sampling, out);
  if (!asked.tested) return;
  const auto rows = static_cast<std::int64_t>(asked.axes[0].values.size());
  const auto columns = static_cast<std::int64_t>(asked.axes[1].values.size());
  if (silos.size() <= kTestedSilosMax && rows == 2 && columns == 2) put_ratios(asked, silos, confidence, sampling, out);
  NamedTest& test = out.tests.emplace_back();
  test.name =
      fmt::format("independence of {} and {}{}", asked.axes[0].column, asked.axes[1].column, by_silo(silos.size()));
  if (silos.size() > kTestedSilosMax) {
    test.note = fmt::format("refused: expected at most {} silos, got {}", kTestedSilosMax, silos.size());
    return;
  }
  const Result<statistics::TestOutcome> found =
      statistics::independence_test(silos, rows, columns, seed_of(name), kDraws);
  if (!found) {
    test.note = "refused: " + found.error().message;
    return;
  }
  test.statistic = found->statistic;
  test.degrees = found->degrees;
  test.p_value = found->p_value;
  test.note = fmt::format("by {} tables with the same noise, so that p is {:.3g} at least", kDraws, 1.0 / (kDraws + 1));
}

}  // namespace undertone::jobs
