#include "shared/planning/answer_work.hpp"

#include <algorithm>

#include "shared/base/overloaded.hpp"

namespace undertone::planning {
namespace {

constexpr double kProductsMax = 0x1p42;    // an hour or so
constexpr double kDirectionsMax = 0x1p26;  // numbers: half a gigabyte
constexpr double kRecordsMax = 0x1p32;     // numbers of records, in memory anyway
constexpr double kProductsADraw = 1e5;     // as long as a number of generalised Gaussian noise takes

constexpr double kProductsAnInfluence = 300.0;  // four exponentials and two error functions
constexpr double kProductsANumber = 100.0;      // as long as drawing a number's noise takes

/// Rows of work of a unit: of a person every slot is worked through, whether there is a record in it or not.
double slots_of(const Release& release) {
  const std::optional<releases::PersonContribution>& persons = release.ask.records.persons;
  return static_cast<double>(persons ? persons->records_max : 1);
}

AnswerWork work_of_map(const Release& release) {
  const auto width = static_cast<double>(release.ask.dimension);
  const auto records = static_cast<double>(release.records_drawn);
  const double rows = records * slots_of(release);
  const auto one_pass = [](const auto& /*map*/) { return AnswerWork{}; };
  return std::visit(
      Overloaded{[&](const releases::LocalChoicesMap& choices) {
                   return AnswerWork{2.0 * width * static_cast<double>(choices.steps) * rows, 0.0, kDirectionsMax};
                 },
                 [&](const releases::ScoresMap& scores) {
                   const auto dimension = static_cast<double>(scores.vertices.dimension());
                   // A person's mean gradient is made first, and is scored once.
                   const double means = release.ask.records.persons ? 2.0 * dimension * rows : 0.0;
                   return AnswerWork{width * dimension * records + means, width * dimension, kDirectionsMax};
                 },
                 [&](const releases::MinimiserMap& /*map*/) {
                   const auto* objective = std::get_if<mechanisms::PerturbedObjective>(&release.mechanism);
                   UNDERTONE_CHECK(objective != nullptr);
                   const auto passes = static_cast<double>(objective->ideal.iterations());
                   return AnswerWork{2.0 * width * passes * records, width * records, kRecordsMax};
                 },
                 [&](const releases::GradientMap& map) { return one_pass(map); },
                 [&](const releases::GradientDifferenceMap& map) { return one_pass(map); },
                 [&](const releases::MetricsMap& map) { return one_pass(map); },
                 [&](const releases::LocalRunMap& run) {
                   // The first of its steps is what every answer is counted with.
                   const auto others = static_cast<double>(run.steps.steps - 1);
                   return AnswerWork{others * width * (2.0 * rows + kProductsANumber), 0.0, kRecordsMax};
                 },
                 [&](const releases::StatisticMap& map) { return one_pass(map); },
                 [&](const releases::FeaturesMap& map) {
                   return release.ask.records.persons ? AnswerWork{width * rows, 0.0, kRecordsMax} : one_pass(map);
                 },
                 [&](const releases::PathMap& map) { return one_pass(map); },
                 [&](const releases::FairGradientMap& map) { return one_pass(map); },
                 [&](const releases::GroupSharesMap& map) { return one_pass(map); },
                 // Each number of a record is a product, and is made an integer.
                 [&](const releases::ScoreMomentsMap& /*map*/) {
                   return AnswerWork{2.0 * width * records, 0.0, kRecordsMax};
                 }},
      release.ask.map);
}

}  // namespace

AnswerWork work_of(const Release& release) {
  AnswerWork work = work_of_map(release);
  // A report draws vectors again and again until one is in its cap and one is outside.
  if (const auto* sum = std::get_if<mechanisms::DirectionSum>(&release.mechanism))
    work.products += kProductsANumber * static_cast<double>(release.records_drawn) *
                     static_cast<double>(release.ask.dimension + 1) * sum->direction().attempts();
  if (const auto* influence = std::get_if<releases::InfluenceBound>(&release.ask.bound);
      influence != nullptr && influence->influence() == releases::Influence::Smooth)
    work.products += kProductsAnInfluence * static_cast<double>(release.records_drawn * release.ask.dimension);
  if (std::holds_alternative<mechanisms::GeneralisedGaussianLattice>(release.mechanism))
    work.products += kProductsADraw * static_cast<double>(release.answer_size());
  return work;
}

double products_of_answer(const Release& release, std::size_t width) {
  const Eigen::Index candidates =
      std::holds_alternative<releases::SelectionForm>(release.ask.form) ? release.ask.candidate_count() : 1;
  const auto numbers =
      static_cast<double>(std::max<Eigen::Index>({release.ask.dimension, release.answer_size(), candidates, 1}));
  const bool blocks = release.ask.beside_public || release.ask.groups() > 1;  // of which a record is in one
  const double worked_on = blocks ? static_cast<double>(release.ask.dimension) : numbers;
  // A gradient of d numbers reads d of a record's; a feature may be a function of all of them.
  const bool features = std::holds_alternative<releases::FeaturesMap>(release.ask.map);
  const double each = features ? worked_on * static_cast<double>(std::max<std::size_t>(width, 1)) : 2.0 * worked_on;
  // Whatever is drawn, all records of the block are looked at: for a permutation, or for which of them are drawn.
  const double records = static_cast<double>(std::max(release.records_drawn, release.rows)) * slots_of(release);
  const double open = each * static_cast<double>(release.public_records);  // of a block beside the noised one
  return each * records + open + static_cast<double>(release.block_records) + kProductsANumber * numbers +
         work_of(release).products;
}

Status check_work(const Release& release, const releases::SiloFacts& facts) {
  const AnswerWork work = work_of(release);
  if (work.products <= kProductsMax && work.held <= work.held_max) return {};
  return Error{
      ErrorCode::LimitExceeded,
      fmt::format("silo {}: an answer takes {:.3g} products and holds {:.3g} numbers, at most {:.3g} and {:.3g} "
                  "are allowed: fewer steps, vertices, features or records",
                  facts.silo.name(), work.products, work.held, kProductsMax, work.held_max)};
}

}  // namespace undertone::planning
