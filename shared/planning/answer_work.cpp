#include "shared/planning/answer_work.hpp"

#include "shared/base/overloaded.hpp"

namespace undertone::planning {
namespace {

constexpr double kProductsMax = 0x1p42;    // an hour or so
constexpr double kDirectionsMax = 0x1p26;  // numbers: half a gigabyte
constexpr double kRecordsMax = 0x1p32;     // numbers of records, in memory anyway
constexpr double kProductsADraw = 1e5;     // as long as a number of generalised Gaussian noise takes

AnswerWork work_of_map(const Release& release) {
  const auto width = static_cast<double>(release.ask.dimension);
  const auto records = static_cast<double>(release.records_drawn);
  const auto one_pass = [](const auto& /*map*/) { return AnswerWork{}; };
  return std::visit(
      Overloaded{[&](const releases::LocalChoicesMap& choices) {
                   return AnswerWork{2.0 * width * static_cast<double>(choices.steps) * records, 0.0, kDirectionsMax};
                 },
                 [&](const releases::ScoresMap& scores) {
                   const double numbers = width * static_cast<double>(scores.vertices.dimension());
                   return AnswerWork{numbers * records, numbers, kDirectionsMax};
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
                 [&](const releases::LocalRunMap& map) { return one_pass(map); },
                 [&](const releases::StatisticMap& map) { return one_pass(map); },
                 [&](const releases::FeaturesMap& map) { return one_pass(map); },
                 [&](const releases::PathMap& map) { return one_pass(map); }},
      release.ask.map);
}

}  // namespace

AnswerWork work_of(const Release& release) {
  AnswerWork work = work_of_map(release);
  if (std::holds_alternative<mechanisms::GeneralisedGaussianLattice>(release.mechanism))
    work.products += kProductsADraw * static_cast<double>(release.answer_size());
  return work;
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
