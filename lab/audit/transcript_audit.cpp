#include "lab/audit/transcript_audit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "shared/base/random_source.hpp"

namespace undertone::lab {
namespace {

/// ln of the densities' ratio of what was seen if the changed record leans to the other side than all the rest, over
/// the same side, where it took part with probability `rate`.
/// @param sum of shift times projection, in units of the noise @param square sum of shift^2
double log_ratio(double sum, double square, double rate) {
  const double drawn = sum - 0.5 * square;
  return rate >= 1.0 ? drawn : std::log((1.0 - rate) + rate * std::exp(drawn));
}

/// Ways to look at a transcript: with draws that are fresh in every round, as the plan says, or one for all rounds.
constexpr std::size_t kLooks = 2;
using Scores = std::array<double, kLooks>;

/// The releases of a plan in order.
std::vector<planning::Release> releases_of(const planning::Plan& plan) {
  std::vector<planning::Release> out;
  for (const planning::Plan::Segment& segment : plan.segments()) out.insert(out.end(), segment.rounds, segment.release);
  return out;
}

Result<Scores> score(AuditedSilo& silo, const std::vector<planning::Release>& releases, const WorstPair& pair,
                     bool first) {
  const Result<std::vector<Eigen::VectorXd>> means = silo.run(first ? pair.first : pair.second, pair.point);
  if (!means) return means.error();
  if (means->size() != releases.size())
    return Error{ErrorCode::Internal, fmt::format("{} replies for {} releases", means->size(), releases.size())};
  Scores scores{};
  double sum = 0.0;
  double square = 0.0;
  double rate = 1.0;
  for (std::size_t r = 0; r < releases.size(); ++r) {
    const planning::Release& release = releases[r];
    if (release.shape.block != pair.block) continue;
    const auto* gaussian = std::get_if<mechanisms::GaussianLattice>(&release.mechanism);  // audit_command saw to it
    UNDERTONE_CHECK(gaussian != nullptr);
    const double drawn = static_cast<double>(release.records_drawn);
    const double shift = std::sqrt(release.cost().value_rounded_up()) * pair.reach;
    // Zero in the second data set: where the records drawn all lean the same way, and where one does.
    const double lean = 0.5 * shift * (pair.others_lean * (drawn - 1.0) + 1.0);
    const double z = (*means)[r].dot(pair.direction) * drawn / gaussian->noise_stddev() + lean;
    const auto population = static_cast<double>(release.population);
    rate = release.shape.with_replacement ? -std::expm1(drawn * std::log1p(-1.0 / population)) : drawn / population;
    scores[0] += log_ratio(shift * z, shift * shift, rate);
    sum += shift * z;
    square += shift * shift;
  }
  scores[1] = log_ratio(sum, square, rate);
  return scores;
}

}  // namespace

Result<AuditFinding> audit_transcripts(AuditedSilo& silo, const planning::Plan& plan, const WorstPair& pair,
                                       const AuditSettings& settings) {
  if (settings.trials < 100 || settings.trials > 10'000'000)
    return Error{ErrorCode::InvalidArgument, fmt::format("trials must be in 100 .. 10000000, got {}", settings.trials)};
  const Result<releases::Delta> delta = releases::Delta::create(settings.delta);
  if (!delta) return delta.error();
  const std::vector<accounting::RepeatedEvent> events = plan.events(pair.block);
  if (!(pair.reach >= 0.1)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the changed record reaches {:.3g} of its largest influence: nothing would be seen", pair.reach)};
  }
  if (events.empty()) return Error{ErrorCode::InvalidArgument, "the plan releases nothing private of this block"};
  const Result<double> claimed = accounting::charged_epsilon(events, *delta);
  if (!claimed) return claimed.error();
  const std::vector<planning::Release> releases = releases_of(plan);
  std::array<std::vector<Scores>, 2> scores;
  for (const std::size_t which : {0U, 1U}) {
    for (std::int64_t i = 0; i < settings.trials; ++i) {
      const Result<Scores> one = score(silo, releases, pair, which == 0);
      if (!one) return one.error();
      scores[which].push_back(*one);
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
  finding.claimed = *claimed;
  finding.counts = counts_at(best_look, threshold, half, scores[0].size());
  finding.lower = epsilon_lower_bound(finding.counts, settings.delta, settings.error);
  finding.lower_told = epsilon_lower_bound(finding.counts, settings.delta, settings.error_told);
  return finding;
}

Result<CanaryFinding> audit_canaries(AuditedSilo& silo, const jobs::Job& job, const jobs::CohortMember& member,
                                     double delta, std::uint64_t coins) {
  data::Dataset dataset = plain_records(job, member);
  const auto features = static_cast<Eigen::Index>(job.model.features());
  CanaryFinding finding;
  finding.canaries = std::min<std::int64_t>(features, member.facts.records);
  RandomSource random(coins);
  std::vector<bool> heads;
  for (Eigen::Index i = 0; i < finding.canaries; ++i) {
    heads.push_back(random.chance(0.5));
    dataset.training.features(i, i) = 1.0;
    dataset.training.targets[i] = heads.back() ? 1.0 : -1.0;
  }
  const Eigen::VectorXd point = Eigen::VectorXd::Zero(job.model.dimension());
  // Which way a head's gradient points along its canary.
  const double sign =
      std::copysign(1.0, job.model.linear()->derivative(point, dataset.training, 0)) * (heads.front() ? 1.0 : -1.0);
  const Result<std::vector<Eigen::VectorXd>> means = silo.run(dataset, point);
  if (!means) return means.error();
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(job.model.dimension());
  for (const Eigen::VectorXd& mean : *means)
    if (mean.size() == sum.size()) sum += mean;  // evaluations are of other records
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
