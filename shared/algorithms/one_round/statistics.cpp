#include "shared/algorithms/one_round/statistics.hpp"

#include <cmath>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::algorithms {
namespace {

Status check_question(const StatisticAsked& asked) {
  const auto* mean = std::get_if<MeanAsked>(&asked.what);
  if (mean == nullptr) return {};
  const double width = mean->high - mean->low;
  if (mean->low < mean->high && std::isfinite(width)) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("the {}: expected bounds with a finite difference > 0, got {} and {}", asked.name, mean->low,
                           mean->high)};
}

/// What the silos' totals say. @param total in real units of the release
Estimate estimate_of(const StatisticAsked& asked, double total, const folds::Gathered& gathered) {
  Estimate out;
  out.name = asked.name;
  out.replies = gathered.replies;
  out.records = gathered.records;
  out.round = gathered.round.value;
  const auto records = static_cast<double>(gathered.records);
  std::visit(Overloaded{[&](const CountAsked& count) {
                          const double held = std::nearbyint(total);  // an integer but for the fold's division
                          out.value = count.complement ? records - held : held;
                        },
                        [&](const MeanAsked& mean) {
                          const double half_width = (mean.high - mean.low) / 2.0;
                          out.mean = true;
                          out.per_unit = half_width / records;
                          out.value = mean.low + half_width * (1.0 + total / records);
                        }},
             asked.what);
  return out;
}

}  // namespace

std::string_view StatisticsSettings::name() const { return Statistics::kName; }

std::string StatisticsSettings::source() const {
  return "one-round statistics: totals with discrete Laplace noise (Ghosh, Roughgarden and Sundararajan 2009)";
}

MethodNumbers StatisticsSettings::numbers() const { return {{"questions", static_cast<double>(questions.size())}}; }

MethodTraits StatisticsSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.bounded_in = MethodTraits::BoundedIn::PublicRange;
  return traits;
}

Result<std::unique_ptr<Statistics>> Statistics::create(const StatisticsSettings& settings) {
  if (settings.questions.empty() || settings.questions.size() > kQuestionsMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("statistics: expected 1 to {} questions, got {}",
                                                         kQuestionsMax, settings.questions.size())};
  }
  for (const StatisticAsked& asked : settings.questions)
    if (Status sound = check_question(asked); !sound) return sound.error();
  return std::unique_ptr<Statistics>(new Statistics(settings));
}

planning::Schedule Statistics::schedule(const StatisticsSettings& settings, const GradientShape& /*shape*/) {
  planning::Schedule out;
  out.reserve(settings.questions.size());
  for (const StatisticAsked& asked : settings.questions) {
    const bool counted = std::holds_alternative<CountAsked>(asked.what);
    out.push_back({{releases::StatisticMap{{asked.coordinate}, counted},
                    {},
                    counted ? releases::RangeBound{0.0, 1.0} : releases::RangeBound{-1.0, 1.0},
                    1},
                   1});
  }
  return out;
}

Step Statistics::current() const {
  if (estimates_.size() < settings_.questions.size())
    return queries::Query{RoundIndex{estimates_.size()}, queries::StatisticQuestion{}};
  Outcome outcome;
  outcome.statistics = estimates_;
  return Finished{std::move(outcome)};
}

Result<Step> Statistics::advance(const folds::Gathered& gathered) {
  const std::size_t round = estimates_.size();
  if (round == settings_.questions.size() || gathered.round.value != round || gathered.size() != 1 ||
      gathered.replies < 1) {
    return Error{
        ErrorCode::Internal,
        fmt::format("statistics stand at round {} of {}, were told of {} numbers of {} silos in round {}", round,
                    settings_.questions.size(), gathered.size(), gathered.replies, gathered.round.value)};
  }
  if (gathered.records < 1) {
    return Error{ErrorCode::Internal,
                 fmt::format("statistics: nobody knows how many records round {} was over", round)};
  }
  const double total = gathered.mean()[0] * static_cast<double>(gathered.replies);
  if (!std::isfinite(total))
    return Error{ErrorCode::Internal, fmt::format("statistics: the total of round {} is not finite", round)};
  estimates_.push_back(estimate_of(settings_.questions[round], total, gathered));
  return current();
}

void Statistics::save(ByteWriter& state) const {
  state.u64(estimates_.size());
  for (const Estimate& estimate : estimates_) {
    state.f64(estimate.value);
    state.f64(estimate.per_unit);
    state.i64(estimate.replies);
    state.i64(estimate.records);
  }
}

Status Statistics::restore(ByteReader& state) {
  std::uint64_t count = 0;
  if (Status read = restore_count(state, settings_.questions.size(), count); !read) return read;
  estimates_.clear();
  for (std::uint64_t i = 0; i < count; ++i) {
    const Result<double> value = state.f64();
    const Result<double> per_unit = state.f64();
    const Result<std::int64_t> replies = state.i64();
    const Result<std::int64_t> records = state.i64();
    if (!value || !per_unit || !replies || !records)
      return Error{ErrorCode::Malformed, "the saved state of the statistics is cut short"};
    const StatisticAsked& asked = settings_.questions[i];
    estimates_.push_back(
        {asked.name, *value, *per_unit, std::holds_alternative<MeanAsked>(asked.what), *replies, *records, i});
  }
  return {};
}

}  // namespace undertone::algorithms
