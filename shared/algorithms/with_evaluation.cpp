#include "shared/algorithms/with_evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace undertone::algorithms {

WithEvaluation::WithEvaluation(std::unique_ptr<FederatedAlgorithm> inner, models::Model model, std::uint64_t every)
    : inner_(std::move(inner)), model_(std::move(model)), every_(every) {}

planning::Schedule WithEvaluation::schedule(const planning::Schedule& inner, const models::Model& model,
                                            std::uint64_t every) {
  const auto metrics = static_cast<Eigen::Index>(model.metric_scales().size());
  // No record's vector is longer; the clip enforces what that says.
  const releases::ClipNorm clip = *releases::ClipNorm::create(model.metric_norm());
  const planning::ScheduledRounds evaluation{
      {releases::MetricsMap{}, {releases::Block::Holdout}, releases::L2Bound{clip}, metrics}, 1};
  planning::Schedule out;
  std::uint64_t since = 0;
  for (const planning::ScheduledRounds& part : inner) {
    for (std::uint64_t left = part.rounds; left > 0;) {
      const std::uint64_t take = every == 0 ? left : std::min(left, every - since);
      out.push_back({part.ask, take});
      left -= take;
      since += take;
      if (since == every) {
        out.push_back(evaluation);
        since = 0;
      }
    }
  }
  if (out.empty() || out.back().ask.kind() != releases::QuestionKind::Metrics) out.push_back(evaluation);
  return out;
}

Step WithEvaluation::start() { return current(); }

Step WithEvaluation::current() {
  Step step = inner_->start();
  const bool finished = std::holds_alternative<Finished>(step);
  const bool news = inner_rounds_ > evaluated_at_ || metrics_.empty();  // a method may ask nothing at all
  const bool due = news && (finished || (every_ != 0 && inner_rounds_ - evaluated_at_ == every_));
  if (due) return queries::Query{RoundIndex{round_}, queries::MetricsQuestion{inner_->candidate()}};
  if (finished) {
    auto outcome = std::get<Finished>(std::move(step)).outcome;
    outcome.metrics = metrics_;
    return Finished{std::move(outcome)};
  }
  std::get<queries::Query>(step).round = RoundIndex{round_};
  return step;
}

Result<Step> WithEvaluation::advance(const folds::Gathered& gathered) {
  const Step asked = current();
  const auto* query = std::get_if<queries::Query>(&asked);
  if (query == nullptr || gathered.round != query->round) {
    return Error{ErrorCode::Internal,
                 fmt::format("evaluation stands at round {}, was told of round {}", round_, gathered.round.value)};
  }
  if (std::holds_alternative<queries::MetricsQuestion>(query->question)) {
    const std::vector<double> scales = model_.metric_scales();
    if (gathered.size() != static_cast<Eigen::Index>(scales.size())) {
      return Error{ErrorCode::Internal,
                   fmt::format("{} metrics were told where {} were asked", gathered.size(), scales.size())};
    }
    MetricsRow row{inner_rounds_, gathered.replies, {}};
    const std::size_t named = model_.metric_names().size();
    for (std::size_t m = 0; m < scales.size(); ++m) {
      const double centre = m < named ? 0.5 : 0.0;
      row.values.push_back((gathered.mean()[static_cast<Eigen::Index>(m)] + centre) * scales[m]);
    }
    metrics_.push_back(std::move(row));
    evaluated_at_ = inner_rounds_;
  } else {
    folds::Gathered inner = gathered;
    inner.round = std::get<queries::Query>(inner_->start()).round;
    UNDERTONE_TRY(inner_->advance(inner));
    ++inner_rounds_;
  }
  ++round_;
  return current();
}

void WithEvaluation::save(ByteWriter& state) const {
  state.u64(round_);
  state.u64(inner_rounds_);
  state.u64(evaluated_at_);
  state.u64(metrics_.size());
  for (const MetricsRow& row : metrics_) {
    state.u64(row.steps);
    state.i64(row.replies);
    state.doubles(row.values.data(), row.values.size());
  }
  inner_->save(state);
}

Status WithEvaluation::restore(ByteReader& state) {
  const Error cut_short{ErrorCode::Malformed, "the saved state of the evaluation is cut short"};
  const Result<std::uint64_t> round = state.u64();
  const Result<std::uint64_t> inner_rounds = state.u64();
  const Result<std::uint64_t> evaluated_at = state.u64();
  const Result<std::uint64_t> rows = state.u64();
  if (!round || !inner_rounds || !evaluated_at || !rows) return cut_short;
  metrics_.clear();
  for (std::uint64_t i = 0; i < *rows; ++i) {
    const Result<std::uint64_t> steps = state.u64();
    const Result<std::int64_t> replies = state.i64();
    Result<std::vector<double>> values = state.doubles();
    if (!steps || !replies || !values) return cut_short;
    if (values->size() != model_.metric_scales().size())
      return Error{ErrorCode::Malformed, "a saved evaluation has other metrics than the job's model"};
    metrics_.push_back({*steps, *replies, *std::move(values)});
  }
  if (*evaluated_at > *inner_rounds || *inner_rounds > *round)
    return Error{ErrorCode::Malformed, "the saved state of the evaluation counts more steps than rounds"};
  round_ = *round;
  inner_rounds_ = *inner_rounds;
  evaluated_at_ = *evaluated_at;
  return inner_->restore(state);
}

}  // namespace undertone::algorithms
