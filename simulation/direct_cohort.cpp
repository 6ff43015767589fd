#include "simulation/direct_cohort.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "shared/base/in_parallel.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/mechanisms/binomial_sum/binomial_report.hpp"
#include "silo/oracles/person_sums.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"

namespace undertone::simulation {
namespace {

constexpr std::size_t kRepliesHeld = 16;  // for each thread

/// The release that a round asks for; null beyond the last.
const planning::Release* release_of(const DirectCohort::Member& member, RoundIndex round) {
  std::uint64_t first = 0;
  for (const planning::Plan::Segment& segment : member.releases) {
    if (round.value < first + segment.rounds) return &segment.release;
    first += segment.rounds;
  }
  return nullptr;
}

/// As a silo puts its training records, the only ones that slices are cut from. @param pass of bins
silo::RecordPlaces places_of(const DirectCohort::Setup& setup, const DirectCohort::Member& member, std::uint64_t pass) {
  const auto slice = std::find_if(
      member.releases.begin(), member.releases.end(),
      [](const planning::Plan::Segment& segment) { return segment.release.ask.records.slice.has_value(); });
  if (slice == member.releases.end()) return {};
  silo::TestRandomness randomness(setup.seed, member.id);
  const silo::PermutationName name{setup.run, releases::Block::Training, {}, pass};
  const std::int64_t records = member.dataset->count(releases::Block::Training);
  return slice->release.reads_bins() ? silo::RecordPlaces::binned(randomness.bins(name, records))
                                     : silo::RecordPlaces::permuted(randomness.permutation(name, records));
}

/// What the members' sums are made with. @pre their plans are of one job
std::unique_ptr<silo::RecordSums> sums_of(const models::Model& model, const DirectCohort::Member& member) {
  const std::optional<releases::PersonContribution>& persons = member.releases.front().release.ask.records.persons;
  return persons ? silo::make_person_sums(model, persons->form) : silo::make_record_sums(model);
}

/// Which of a person's records a round looks at: as secret as everything here, which is not at all.
std::optional<silo::PersonDraw> person_draw(const DirectCohort::Setup& setup, const SiloId& silo,
                                            const releases::RecordSet& records, RoundIndex round) {
  if (!records.persons) return std::nullopt;
  const Digest key = sha256(fmt::format("undertone simulated person draw {} {} {} {} {}", setup.seed, setup.run.hex(),
                                        silo.name(), releases::block_name(records.block), round.value));
  return silo::PersonDraw(key, records.persons->records_max);
}

bool fits(const DirectCohort::Member& member) {
  return std::all_of(member.releases.begin(), member.releases.end(), [&](const planning::Plan::Segment& segment) {
    return segment.release.block_records == member.dataset->count(segment.release.ask.records.block);
  });
}

}  // namespace

Result<DirectCohort> DirectCohort::create(const Setup& setup, std::vector<Member> members) {
  if (setup.threads == 0 || setup.threads > 1024)
    return Error{ErrorCode::InvalidArgument, fmt::format("threads must be in 1 .. 1024, got {}", setup.threads)};
  if (members.empty() || setup.answering > members.size()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} silos cannot answer a round of a cohort of {}", setup.answering, members.size())};
  }
  DirectCohort cohort(setup);
  for (const Member& member : members) {
    if (!fits(member))
      return Error{ErrorCode::InvalidArgument, fmt::format("{}: releases of other records", member.id.name())};
    cohort.places_.push_back(places_of(setup, member, 0));
  }
  cohort.members_ = std::move(members);
  cohort.passes_.assign(cohort.members_.size(), 0);
  for (std::size_t thread = 0; thread < setup.threads; ++thread)
    cohort.scratch_.push_back({setup.model ? sums_of(*setup.model, cohort.members_.front()) : nullptr, {}});
  return cohort;
}

Result<PlannedCohort> plan_cohort(const jobs::Job& job, const std::vector<SimulatedSilo>& silos) {
  PlannedCohort out;
  std::map<jobs::PlannedFacts, planning::Plan> planned;
  for (const SimulatedSilo& silo : silos) {
    const jobs::CohortMember* member = job.member(silo.id);
    if (member == nullptr)
      return Error{ErrorCode::InvalidArgument, fmt::format("the job's cohort has no silo \"{}\"", silo.id.name())};
    if (silo.dataset.count(releases::Block::Training) != member->facts.records ||
        silo.dataset.count(releases::Block::Holdout) != member->facts.holdout_records ||
        silo.dataset.count(releases::Block::Public) != member->facts.public_records) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("the job counts on {} and {} {} of {}, there are {} and {}", member->facts.records,
                      member->facts.holdout_records, releases::plural_of(job.unit), silo.id.name(),
                      silo.dataset.count(releases::Block::Training), silo.dataset.count(releases::Block::Holdout))};
    }
    const jobs::PlannedFacts facts = jobs::planned_facts(member->facts);
    auto alike = planned.find(facts);
    if (alike == planned.end()) {
      UNDERTONE_TRY(planning::Plan made, jobs::plan_of(job, *member));
      alike = planned.emplace(facts, std::move(made)).first;
    }
    const planning::Plan& plan = alike->second;
    const auto holdout = static_cast<std::uint64_t>(std::max<std::int64_t>(member->facts.holdout_records, 1));
    DirectCohort::Member& made = out.members.emplace_back(DirectCohort::Member{
        silo.id, &silo.dataset, plan.segments(), member->weight, std::min(holdout, folds::LatticeFold::kWeightMax)});
    if (job.projection) {
      made.projected = std::make_shared<const data::Dataset>(job.projection->project(silo.dataset));
      made.dataset = made.projected.get();
    }
    out.epsilon = std::max(out.epsilon, plan.epsilon().value_rounded_up());
    out.noise.emplace(facts, jobs::noise_of_gradient(plan.segments()));
  }
  return out;
}

Result<std::unique_ptr<algorithms::FederatedAlgorithm>> algorithm_of(const jobs::Job& job, const PlannedCohort& planned,
                                                                     const std::filesystem::path& folder) {
  if (!jobs::brings_file(job)) return jobs::make_algorithm(job);
  UNDERTONE_TRY(const std::shared_ptr<const models::PublicGradientSource> loss, jobs::load_public_records(job, folder));
  jobs::Job known = job;
  UNDERTONE_TRY(known.public_side, jobs::public_side_of(job, *loss, planned.noise));
  return jobs::make_algorithm_with(
      known, [loss]() -> Result<std::shared_ptr<const models::PublicGradientSource>> { return loss; });
}

std::vector<std::size_t> DirectCohort::answering(RoundIndex round) const {
  std::vector<std::size_t> all(members_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (setup_.answering == 0 || setup_.answering == members_.size()) return all;
  // Through a word of its own: neighbouring seeds would share a stream, shifted.
  RandomSource random(RandomSource(setup_.seed).word() ^ RandomSource(~round.value).word());
  std::vector<std::size_t> order = random.permutation(members_.size());
  order.resize(setup_.answering);
  return order;
}

std::vector<std::int64_t> DirectCohort::answer(const queries::Query& query, std::size_t member,
                                               Scratch& scratch) const {
  const Member& one = members_[member];
  const std::unique_ptr<silo::ReleaseStream> stream =
      setup_.noise == SimulatedNoise::None
          ? silo::NoiselessRandomness(setup_.seed, one.id).stream(setup_.run, query.round)
          : silo::TestRandomness(setup_.seed, one.id).stream(setup_.run, query.round);
  const planning::Release& release = *release_of(one, query.round);
  if (release.ask.kind() == releases::QuestionKind::ControlledRun) {
    return silo::local_run(controlled_start(query, member), release, one.dataset->read(releases::Block::Training),
                           nullptr, setup_.wire, *scratch.sums, *stream);
  }
  const std::optional<silo::PersonDraw> draw = person_draw(setup_, one.id, release.ask.records, query.round);
  const silo::OracleData data{*one.dataset, places_[member], draw ? &*draw : nullptr};
  if (std::holds_alternative<mechanisms::BinomialSum>(release.mechanism))
    return silo::draw_and_count(query, release, data, *scratch.sums, scratch.coins, *stream);
  return queries::values_of(silo::draw_and_sum(query, release, data, scratch.sums.get(), setup_.wire, *stream));
}

silo::LocalStart DirectCohort::controlled_start(const queries::Query& query, std::size_t member) const {
  const std::vector<queries::NamedPoint> points = queries::named_points(query.question);
  UNDERTONE_CHECK(points.size() == 2);
  const Eigen::VectorXd& variate = variates_[member];
  return {points[0].value, points[1].value,
          variate.size() > 0 ? variate : Eigen::VectorXd(Eigen::VectorXd::Zero(points[1].value.size()))};
}

void DirectCohort::answer_all(const queries::Query& query, const std::vector<std::size_t>& asked, const Take& take) {
  // Integers are folded, so the order does not matter; a few replies for each thread are held at a time.
  const std::size_t workers = std::min(setup_.threads, asked.size());
  std::vector<std::vector<std::int64_t>> replies(std::min(kRepliesHeld * workers, asked.size()));
  for (std::size_t from = 0; from < asked.size(); from += replies.size()) {
    const std::size_t count = std::min(replies.size(), asked.size() - from);
    in_parallel(workers, [&](std::size_t worker) {
      for (std::size_t k = worker; k < count; k += workers)
        replies[k] = answer(query, asked[from + k], scratch_[worker]);
    });
    for (std::size_t k = 0; k < count; ++k) take(asked[from + k], replies[k]);
  }
}

Result<folds::Gathered> DirectCohort::ask(const queries::Query& query) {
  if (setup_.stop && setup_.stop()) return Error{ErrorCode::Cancelled, "the simulation was stopped"};
  const bool metrics = queries::kind_of(query.question) == releases::QuestionKind::Metrics;
  std::vector<std::size_t> asked = answering(query.round);
  if (metrics) {
    asked.resize(members_.size());
    std::iota(asked.begin(), asked.end(), std::size_t{0});
  }
  for (const std::size_t i : asked) {
    const planning::Release* release = release_of(members_[i], query.round);
    if (release == nullptr || release->ask.kind() != queries::kind_of(query.question))
      return Error{ErrorCode::Internal, fmt::format("round {} asks another question than the plan", query.round.value)};
    const std::optional<releases::Slice>& slice = release->ask.records.slice;
    if (!slice || slice->pass() == passes_[i]) continue;
    passes_[i] = slice->pass();
    places_[i] = places_of(setup_, members_[i], passes_[i]);
  }
  const planning::Release& first = *release_of(members_.front(), query.round);
  if (const auto* binomial = std::get_if<mechanisms::BinomialSum>(&first.mechanism)) {
    std::vector<std::int64_t> total(static_cast<std::size_t>(first.ask.dimension));
    answer_all(query, asked, [&](std::size_t, const std::vector<std::int64_t>& counts) {
      for (std::size_t j = 0; j < total.size(); ++j) total[j] += counts[j];
    });
    const releases::ClipNorm clip =
        first.scaled_to(queries::distance_of(query.question, first.ask.distance_exponent())).ask.clip();
    UNDERTONE_TRY(mechanisms::BinomialEstimate estimate,
                  mechanisms::estimate_of(total, binomial->parameters, clip,
                                          static_cast<std::int64_t>(asked.size()) * first.records_drawn));
    return folds::Gathered{query.round, static_cast<Eigen::Index>(asked.size()), folds::Mean{std::move(estimate.mean)}};
  }
  const jobs::RoundSpec spec = jobs::round_spec(first.ask, setup_.wire, setup_.aggregation);
  folds::RoundFold fold = spec.fold();
  const bool controlled = first.ask.kind() == releases::QuestionKind::ControlledRun;
  std::int64_t records = 0;
  std::map<SiloId, std::vector<std::int64_t>> each;
  std::vector<folds::NoisePart> noise;
  answer_all(query, asked, [&](std::size_t i, const std::vector<std::int64_t>& reply) {
    if (controlled) {
      variates_[i] = silo::variate_after(controlled_start(query, i), *first.ask.local(), reply, setup_.wire);
    }
    const data::Dataset& dataset = *members_[i].dataset;
    const auto open = static_cast<std::uint64_t>(spec.beside_public ? dataset.count(releases::Block::Public) : 0);
    fold.add(reply, spec.in_totals ? 1 : metrics ? members_[i].holdout_weight : members_[i].weight, open);
    records += dataset.count(spec.of_public ? releases::Block::Public : releases::Block::Training);
    if (spec.statistic) each.emplace(members_[i].id, spec.kept(reply));
    if (const auto* gaussian =
            std::get_if<mechanisms::GaussianLattice>(&release_of(members_[i], query.round)->mechanism);
        spec.noise_is_looked_at && gaussian != nullptr)
      noise.push_back({1.0, gaussian->noise_stddev()});
  });
  return folds::Gathered{query.round, fold.replies(),  fold.value(),
                         records,     std::move(each), folds::noise_stddev_of_mean(std::move(noise))};
}

Result<algorithms::Outcome> DirectCohort::train(algorithms::FederatedAlgorithm& algorithm, const Watch& watch) {
  variates_.assign(members_.size(), Eigen::VectorXd());
  UNDERTONE_TRY(algorithms::Outcome outcome, algorithms::AlgorithmDriver(algorithm).finish(
                                                 [this](const queries::Query& query) { return ask(query); }, watch));
  const double noise = metrics_noise();
  for (algorithms::MetricsRow& row : outcome.metrics) row.noise_stddev = noise;
  return outcome;
}

double DirectCohort::metrics_noise() const {
  if (setup_.noise == SimulatedNoise::None) return 0.0;
  double weights = 0.0;
  double variance = 0.0;
  for (const Member& member : members_) {
    const auto metrics =
        std::find_if(member.releases.begin(), member.releases.end(), [](const planning::Plan::Segment& segment) {
          return segment.release.ask.kind() == releases::QuestionKind::Metrics;
        });
    if (metrics == member.releases.end()) continue;
    const auto weight = static_cast<double>(member.holdout_weight);
    weights += weight;
    if (!metrics->release.is_public()) variance += std::pow(weight * metrics->release.noise_stddev_of_mean(), 2);
  }
  return weights > 0.0 ? std::sqrt(variance) / weights : 0.0;
}

}  // namespace undertone::simulation
