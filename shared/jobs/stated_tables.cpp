#include "shared/jobs/stated_tables.hpp"

#include <string>
#include <utility>

#include "shared/jobs/stated_survival.hpp"
#include "shared/statistics/contingency.hpp"
#include "shared/statistics/survival/table_models.hpp"

namespace undertone::jobs {
namespace {

constexpr int kDraws = 999;

/// Fowler, Noll and Vo's hash of a name: the same on every machine.
std::uint64_t seed_of(const std::string& name) {
  std::uint64_t out = 0xcbf29ce484222325ULL;
  for (const char letter : name) out = (out ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return out;
}

void put_ratios(const algorithms::TableAsked& asked, const statistics::NoisedTable& table,
                statistics::Confidence confidence, bool sampling, StatedQuestion& out) {
  const algorithms::TableAxis& group = asked.axes[0];
  const algorithms::TableAxis& event = asked.axes[1];
  // The second values' event in the second group against the first one.
  statistics::NoisedTable ordered = table;
  ordered.cells << table.cells[3], table.cells[2], table.cells[1], table.cells[0];
  const std::string of = fmt::format("of {}={} for {}={} against {}", event.column, event.values[1], group.column,
                                     group.values[1], group.values[0]);
  for (const auto& [kind, name] :
       {std::pair(statistics::Ratio::Odds, "odds ratio"), std::pair(statistics::Ratio::Risk, "risk ratio")})
    out.estimates.push_back(
        {fmt::format("{} {}", name, of), statistics::state_ratio(ordered, kind, confidence, sampling)});
}

void put_logistic(const algorithms::TableAsked& asked, const statistics::NoisedTable& table,
                  statistics::Confidence confidence, bool sampling, StatedQuestion& out) {
  std::vector<algorithms::TableAxis> covariates(asked.axes.begin(), asked.axes.end() - 1);
  const algorithms::TableAxis& response = asked.axes.back();
  const GroupDesigns designs = group_designs(covariates);
  Eigen::MatrixXd rows(designs.rows.rows(), designs.rows.cols() + 1);
  rows << Eigen::VectorXd::Ones(designs.rows.rows()), designs.rows;
  statistics::NoisedTable ordered = table;
  for (Eigen::Index pattern = 0; pattern < rows.rows(); ++pattern) {
    ordered.cells[2 * pattern] = table.cells[2 * pattern + 1];  // the second value is the event
    ordered.cells[2 * pattern + 1] = table.cells[2 * pattern];
  }
  const statistics::TableModel model = statistics::table_logistic(ordered, rows);
  for (std::size_t i = 0; i < model.coefficients.size(); ++i)
    out.estimates.push_back({fmt::format("log odds of {}={}: {}", response.column, response.values[1],
                                         i == 0 ? std::string("(intercept)") : designs.names[i - 1]),
                             statistics::state_coefficient(model, i, confidence, sampling)});
  out.rho = model.rho;
}

}  // namespace

void put_table_inference(const algorithms::TableAsked& asked, const std::string& name,
                         const statistics::NoisedTable& table, const statistics::NoiseLaw& law,
                         statistics::Confidence confidence, bool sampling, StatedQuestion& out) {
  if (asked.modelled) put_logistic(asked, table, confidence, sampling, out);
  if (!asked.tested) return;
  const auto rows = static_cast<std::int64_t>(asked.axes[0].values.size());
  const auto columns = static_cast<std::int64_t>(asked.axes[1].values.size());
  if (rows == 2 && columns == 2) put_ratios(asked, table, confidence, sampling, out);
  NamedTest& test = out.tests.emplace_back();
  test.name = fmt::format("independence of {} and {}", asked.axes[0].column, asked.axes[1].column);
  const Result<statistics::TestOutcome> found =
      statistics::independence_test(table, law, rows, columns, seed_of(name), kDraws);
  if (!found) {
    test.note = "refused: " + found.error().message;
    return;
  }
  test.statistic = found->statistic;
  test.degrees = found->degrees;
  test.p_value = found->p_value;
  test.note = fmt::format("by {} tables with the same noise: the statistic has no chi-squared law", kDraws);
}

}  // namespace undertone::jobs
