#include "lab/audit/selection_distinguisher.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "silo/oracles/sum_oracle.hpp"

namespace undertone::lab {
namespace {

/// ln(first / second); a probability that no double holds counts as the least that a long double does.
double log_of_ratio(long double first, long double second) {
  constexpr long double kLeast = 1e-4000L;
  return static_cast<double>(std::log(std::max(first, kLeast)) - std::log(std::max(second, kLeast)));
}

/// What a round's only reply folds into.
folds::Gathered folded(const queries::Query& query, const SeenRound& seen, std::int64_t records) {
  folds::Gathered out{query.round, 1, folds::Mean{seen.values}, records};
  if (releases::QuestionKind::Gradient == queries::kind_of(query.question))
    out.value = folds::Tally{{{static_cast<Eigen::Index>(seen.values[0]), 1.0}}};
  return out;
}

}  // namespace

SelectionDistinguisher::SelectionDistinguisher(const jobs::Job& job, const planning::Plan& plan, Neighbours neighbours)
    : job_(job),
      rounds_(rounds_of(plan, neighbours.block)),
      neighbours_(std::move(neighbours)),
      sums_(silo::make_record_sums(*job.model)),
      start_(asker()({})) {
  for (const auto& release : rounds_) {
    if (!release) continue;
    UNDERTONE_CHECK(std::holds_alternative<mechanisms::Selection>(release->mechanism));
    if (opening_ == nullptr) opening_ = release.get();
  }
  UNDERTONE_CHECK(opening_ != nullptr);
}

NextPoint SelectionDistinguisher::asker() const {
  const std::shared_ptr<algorithms::FederatedAlgorithm> algorithm = jobs::make_algorithm(job_);
  return [algorithm, step = algorithm->start(), told = std::size_t{0},
          records = static_cast<std::int64_t>(neighbours_.first.training.count())](const Transcript& so_far) mutable {
    for (; told < so_far.size(); ++told) {
      Result<algorithms::Step> next = algorithm->advance(folded(std::get<queries::Query>(step), so_far[told], records));
      UNDERTONE_CHECK(next.has_value());
      step = *std::move(next);
    }
    return queries::point_of(std::get<queries::Query>(step).question);
  };
}

std::vector<std::int64_t> SelectionDistinguisher::scores_of(const planning::Release& release,
                                                            const data::Dataset& dataset,
                                                            const Eigen::VectorXd& point) const {
  const models::Records& block = neighbours_.records(dataset);
  std::vector<std::int64_t> all(static_cast<std::size_t>(block.count()));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  const geometry::Vertices& candidates = *release.ask.candidates();
  std::vector<std::int64_t> scores(static_cast<std::size_t>(candidates.count()));
  candidates.scores(silo::exact_sum(queries::GradientQuestion{point}, release, block, all, sums_.get()), scores);
  return scores;
}

SelectionDistinguisher::Laws SelectionDistinguisher::laws_at(const planning::Release& release,
                                                             const Eigen::VectorXd& point) const {
  const mechanisms::ExponentialMechanism& draw = std::get<mechanisms::Selection>(release.mechanism).draw;
  return {draw.law(scores_of(release, neighbours_.first, point)),
          draw.law(scores_of(release, neighbours_.second, point))};
}

Scores SelectionDistinguisher::score(const Transcript& transcript) const {
  UNDERTONE_CHECK(transcript.size() == rounds_.size());
  Scores scores{};
  double ratio_before = 0.0;
  std::size_t chosen_before = 0;
  bool first = true;
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (!rounds_[r]) continue;
    const Laws laws = laws_at(*rounds_[r], transcript[r].point);
    const auto chosen = static_cast<std::size_t>(transcript[r].values[0]);
    UNDERTONE_CHECK(chosen < laws.first.size());
    const double ratio = log_of_ratio(laws.first[chosen], laws.second[chosen]);
    scores[0] += ratio;
    if (!first && chosen != chosen_before) scores[1] += ratio_before;
    ratio_before = ratio;
    chosen_before = chosen;
    first = false;
  }
  return scores;
}

double SelectionDistinguisher::reach() const {
  const std::vector<std::int64_t> first = scores_of(*opening_, neighbours_.first, start_);
  const std::vector<std::int64_t> second = scores_of(*opening_, neighbours_.second, start_);
  double least = 0.0;
  double most = 0.0;
  for (std::size_t j = 0; j < first.size(); ++j) {
    const double moved = static_cast<double>(first[j]) - static_cast<double>(second[j]);
    least = j == 0 ? moved : std::min(least, moved);
    most = j == 0 ? moved : std::max(most, moved);
  }
  const std::int64_t range = std::get<mechanisms::Selection>(opening_->mechanism).draw.range().value();
  return (most - least) / static_cast<double>(range);
}

double SelectionDistinguisher::first_choice() const {
  const Laws laws = laws_at(*opening_, start_);
  long double out = 0.0L;
  for (std::size_t j = 0; j < laws.first.size(); ++j)
    if (laws.first[j] > laws.second[j]) out += laws.first[j];
  return static_cast<double>(out);
}

}  // namespace undertone::lab
