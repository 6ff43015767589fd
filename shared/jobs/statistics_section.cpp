#include "shared/jobs/statistics_section.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "shared/jobs/statistic_columns.hpp"
#include "shared/jobs/statistic_question.hpp"

namespace undertone::jobs {
namespace {

using algorithms::CountAsked;
using algorithms::StatisticAsked;

/// How noise is chosen and shared, and what intervals are stated.
void parse_noise(config::Section& section, bool single, AskedStatistics& out) {
  using Law = StatisticsNoise::Law;
  using Budget = StatisticsNoise::Budget;
  section.otherwise("noise", single ? "laplace" : "cheaper");
  out.noise.law = section.choice<Law>(
      "noise", {{"cheaper", Law::Cheaper}, {"laplace", Law::Laplace}, {"gaussian", Law::Gaussian}},
      "laplace: discrete, of a pure epsilon, the default of single counts and means; gaussian: rounded to a lattice, "
      "needs a delta; cheaper, the default of everything else: the one with less noise at the silos' promises");
  section.otherwise("budget", "equal");
  out.noise.budget = section.choice<Budget>(
      "budget", {{"equal", Budget::Equal}, {"weights", Budget::Weights}, {"half_widths", Budget::HalfWidths}},
      "equal (default): every question has the same part of what is promised; weights: the parts that make the "
      "weighted "
      "variance of all numbers least; half_widths: what each needs for its half_width, and the rest is not spent");
  section.otherwise("confidence", 0.95);
  out.settings.confidence =
      section.number("confidence", 0.5, 0.999, "how often each interval covers, at least (default 0.95)");
  section.otherwise("sampling_intervals", false);
  out.settings.sampling = section.boolean(
      "sampling_intervals",
      "besides the intervals for the records themselves, whose only error is noise, state those for what the records "
      "are drawn from (default false)");
}

}  // namespace

AskedStatistics parse_statistics(config::Section section, const data::Schema& schema) {
  AskedStatistics out;
  std::map<std::tuple<std::size_t, std::size_t, bool, releases::PersonContribution::Form, bool>, std::size_t> places;
  std::size_t place = 0;
  std::size_t of_gradients = 0;  // questions
  const ColumnIndex known(schema);
  for (config::Section question : section.objects("questions", 1, algorithms::Statistics::kQuestionsMax,
                                                  "each a release of its own: together they spend what is promised")) {
    for (StatisticAsked& asked : parse_question(question, known)) {
      // Its point is as long as a record is wide without a byte of the job, and one bound is what a job needs.
      if (algorithms::kind_of(asked) == "gradient_norms" && ++of_gradients > 1)
        question.problem("kind", "expected one question of kind gradient_norms in a job");
      // Sums beside the number of records are totals of the same two numbers, whichever of them is asked for.
      if (algorithms::is_single(asked) || std::holds_alternative<algorithms::CountedSumAsked>(asked.what)) {
        const auto* count = std::get_if<CountAsked>(&asked.what);
        const auto [first, is_new] =
            places.emplace(std::tuple(asked.coordinate, asked.what.index(), count != nullptr && count->complement,
                                      asked.persons, asked.one_record),
                           place);
        if (!is_new) question.problem("column", fmt::format("question {} asks for the same", first->second));
      }
      out.settings.questions.push_back(std::move(asked));
    }
    ++place;
  }
  const bool single = std::all_of(out.settings.questions.begin(), out.settings.questions.end(), algorithms::is_single);
  parse_noise(section, single, out);
  section.finish();
  return out;
}

}  // namespace undertone::jobs
