#include "lab/audit/transcript_audit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "shared/base/random_source.hpp"

namespace undertone::lab {
namespace {

Result<Scores> score(AuditedSilo& silo, const planning::Plan& plan, const WorstPair& pair, bool first) {
  UNDERTONE_TRY(const Transcript transcript, silo.run(first ? pair.first : pair.second, pair.test->asker()));
  if (transcript.size() != plan.rounds())
    return Error{ErrorCode::Internal, fmt::format("{} replies for {} releases", transcript.size(), plan.rounds())};
  return pair.test->score(transcript);
}

}  // namespace

Result<AuditFinding> audit_transcripts(AuditedSilo& silo, const planning::Plan& plan, const WorstPair& pair,
                                       const AuditSettings& settings) {
  if (settings.trials < 100 || settings.trials > 10'000'000)
    return Error{ErrorCode::InvalidArgument, fmt::format("trials must be in 100 .. 10000000, got {}", settings.trials)};
  UNDERTONE_TRY(const releases::Delta delta, releases::Delta::create(settings.delta));
  if (plan.events(pair.block).empty())
    return Error{ErrorCode::InvalidArgument, "the plan releases nothing private of this block"};
  if (const double reach = pair.test->reach(); !(reach >= 0.1)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the changed record reaches {:.3g} of its largest influence: nothing would be seen", reach)};
  }
  UNDERTONE_TRY(const double claimed, plan.epsilon_at(pair.block, delta));
  std::array<std::vector<Scores>, 2> scores;
  for (const std::size_t which : {0U, 1U}) {
    for (std::int64_t i = 0; i < settings.trials; ++i) {
      UNDERTONE_TRY(const Scores one, score(silo, plan, pair, which == 0));
      scores[which].push_back(one);
    }
  }
  // The look and the threshold that do best on the first half are judged on the second.
  const auto half = static_cast<std::size_t>(settings.trials / 2);
  const auto counts_at = [&](std::size_t look, double threshold, std::size_t from, std::size_t to) {
    TestCounts counts;
    counts.positives = counts.negatives = static_cast<std::int64_t>(to - from);
    for (std::size_t i = from; i < to; ++i) {
      counts.true_positives += scores[0][i][look] >= threshold ? 1 : 0;
      counts.false_positives += scores[1][i][look] >= threshold ? 1 : 0;
    }
    return counts;
  };
  double threshold = 0.0;
  double best = -1.0;
  std::size_t best_look = 0;
  for (std::size_t look = 0; look < kLooks; ++look) {
    std::vector<double> candidates;
    for (std::size_t i = 0; i < half; ++i) candidates.push_back(scores[0][i][look]);
    std::sort(candidates.begin(), candidates.end());
    const std::size_t step = std::max<std::size_t>(1, candidates.size() / 100);
    for (std::size_t i = 0; i < candidates.size(); i += step) {
      const double bound = epsilon_lower_bound(counts_at(look, candidates[i], 0, half), settings.delta, settings.error);
      if (bound <= best) continue;
      best = bound;
      best_look = look;
      threshold = candidates[i];
    }
  }
  AuditFinding finding;
  finding.claimed = claimed;
  finding.counts = counts_at(best_look, threshold, half, scores[0].size());
  finding.lower = epsilon_lower_bound(finding.counts, settings.delta, settings.error);
  finding.lower_told = epsilon_lower_bound(finding.counts, settings.delta, settings.error_told);
  return finding;
}

Result<CanaryFinding> audit_canaries(AuditedSilo& silo, const jobs::Job& job, const jobs::CohortMember& member,
                                     double delta, std::uint64_t coins) {
  data::Dataset dataset = plain_records(job, member);
  const auto features = static_cast<Eigen::Index>(job.model->features());
  CanaryFinding finding;
  finding.canaries = std::min<std::int64_t>(features, member.facts.records);
  RandomSource random(coins);
  std::vector<bool> heads;
  for (Eigen::Index i = 0; i < finding.canaries; ++i) {
    heads.push_back(random.chance(0.5));
    dataset.training.features(i, i) = 1.0;
    dataset.training.targets[i] = heads.back() ? 1.0 : -1.0;
  }
  const Eigen::VectorXd point = Eigen::VectorXd::Zero(job.model->dimension());
  // Which way a head's gradient points along its canary.
  const double sign =
      std::copysign(1.0, job.model->linear()->derivative(point, dataset.training, 0)) * (heads.front() ? 1.0 : -1.0);
  UNDERTONE_TRY(const Transcript transcript, silo.run(dataset, always_at(point)));
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(job.model->dimension());
  for (const SeenRound& seen : transcript)
    if (seen.values.size() == sum.size()) sum += seen.values;  // evaluations are of other records
  // Guess where the replies lean most, a third of the canaries; abstain on the others.
  std::vector<Eigen::Index> order(static_cast<std::size_t>(finding.canaries));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::sort(order.begin(), order.end(),
            [&](Eigen::Index a, Eigen::Index b) { return std::abs(sum[a]) > std::abs(sum[b]); });
  finding.guesses = std::max<std::int64_t>(1, finding.canaries / 3);
  for (std::int64_t g = 0; g < finding.guesses; ++g) {
    const Eigen::Index i = order[static_cast<std::size_t>(g)];
    const bool guess = sign * sum[i] > 0.0;
    finding.correct += guess == heads[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  finding.epsilon_lower = one_run_epsilon(finding.canaries, finding.guesses, finding.correct, delta, 0.05);
  return finding;
}

}  // namespace undertone::lab
