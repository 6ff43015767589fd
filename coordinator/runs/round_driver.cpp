#include "coordinator/runs/round_driver.hpp"

#include <cmath>
#include <utility>

#include "shared/base/byte_stream.hpp"
#include "shared/base/contained.hpp"

namespace undertone::coordinator {
namespace {

RunFailure another_checkpoint(const std::string& what) {
  return RunFailure({ErrorCode::StorageFailed, "the store's checkpoint does not continue this job: " + what});
}

}  // namespace

RoundDriver::RoundDriver(const jobs::Job& job, const RunId& run, RunStore& store,
                         std::shared_ptr<const jobs::PlausibleCohort> plausible, MixedRounds mixed,
                         const jobs::AlgorithmMaker& make_algorithm, std::optional<Checkpoint> checkpoint)
    : run_(run),
      store_(&store),
      job_(&job),
      algorithm_(make_algorithm(job)),
      schedule_(jobs::schedule_of(job)),
      plausible_(std::move(plausible)),
      factory_(job, run, store, plausible_, std::move(mixed)),
      checkpoint_(std::move(checkpoint)) {
  for (const planning::ScheduledRounds& part : schedule_) rounds_total_ += part.rounds;
}

Status RoundDriver::restore() {
  if (!checkpoint_) return {};
  return contained("restoring the algorithm", [this]() -> Status {
    ByteReader reader(checkpoint_->algorithm_state);
    UNDERTONE_TRY(algorithm_->restore(reader));
    return reader.end();
  });
}

std::string RoundDriver::saved_state() const {
  ByteWriter writer;
  algorithm_->save(writer);
  return std::move(writer).bytes();
}

Result<algorithms::Outcome> RoundDriver::outcome() const {
  return contained("the algorithm's outcome", [this]() -> Result<algorithms::Outcome> {
    algorithms::Step step = algorithm_->start();
    if (auto* finished = std::get_if<algorithms::Finished>(&step)) return std::move(finished->outcome);
    return another_checkpoint("it is not at the end").reason;
  });
}

Result<std::variant<std::monostate, RunFailure>> RoundDriver::begin() {
  Result<Checkpoint> first = contained("the algorithm's first query", [this]() -> Result<Checkpoint> {
    const algorithms::Step step = algorithm_->start();
    const auto& query = std::get<queries::Query>(step);
    return Checkpoint{query.round, saved_state(), queries::query_digest(run_, query)};
  });
  if (!first) return {RunFailure(first.error())};
  UNDERTONE_TRY(store_->start_rounds(run_, *first));
  checkpoint_ = *std::move(first);
  return {std::monostate{}};
}

Result<std::variant<wire::QueryMessage, RunFailure>> RoundDriver::make_round(const std::set<SiloId>& participants,
                                                                             TimePoint now) {
  if (!checkpoint_) return {another_checkpoint("it is gone")};
  round_began_ = now;
  round_.reset();
  Result<RoundFactory::Asked> asked = contained("making the round", [this] { return asked_next(); });
  if (!asked) return {RunFailure(asked.error())};
  RoundFactory::Attempt made = factory_.make(*std::move(asked), participants);
  if (!made) return made.error();
  if (auto* failure = std::get_if<RunFailure>(&*made)) return {std::move(*failure)};
  auto& [round, message] = std::get<RoundFactory::Made>(*made);
  round_ = std::move(round);
  return {std::move(message)};
}

Result<RoundFactory::Asked> RoundDriver::asked_next() {
  algorithms::Step step = algorithm_->start();
  auto* query = std::get_if<queries::Query>(&step);
  if (query == nullptr) return another_checkpoint("it is at the end").reason;
  const Digest digest = queries::query_digest(run_, *query);
  if (digest != checkpoint_->query) return another_checkpoint("its query is another").reason;
  const releases::Ask* ask = planning::ask_of(schedule_, query->round);
  if (ask == nullptr) return another_checkpoint("its query is beyond the schedule").reason;
  spec_ = jobs::round_spec(*job_, *ask);
  plausibility_ = std::make_shared<const folds::PlausibleReplies::Asked>(plausible_->asked(*query));
  return RoundFactory::Asked{std::move(*query), digest, *ask, spec_, plausibility_};
}

Advance RoundDriver::close_round(TimePoint now) {
  UNDERTONE_CHECK(!is_advancing());
  round_took_ = std::chrono::duration_cast<std::chrono::milliseconds>(now - round_began_);
  folds::Gathered gathered = round_->gathered();
  if (spec_.noise_is_looked_at) gathered.noise_stddev = noise_stddev_of_mean();
  return {run_, std::move(algorithm_), std::move(gathered), nobody_waits_.get_token()};
}

Result<std::variant<RoundDriver::Closed, RunFailure>> RoundDriver::commit_round(Advanced advanced) {
  UNDERTONE_CHECK(is_advancing() && advanced.run == run_ && advanced.round == round_->index());
  algorithm_ = std::move(advanced.algorithm);
  if (!advanced.next) return {RunFailure(advanced.next.error())};  // it diverged, say
  Advanced::Next& next = *advanced.next;
  if (next.metrics) {
    const Result<double> noise =
        contained("the metrics' noise", [this]() -> Result<double> { return noise_stddev_of_mean(); });
    if (!noise) return {RunFailure(noise.error())};
    next.metrics->noise_stddev = *noise;
  }
  RoundRecord record{advanced.round, round_->digests(), round_->missing(), round_took_, std::move(next.metrics)};
  Checkpoint checkpoint{advanced.round.next(), std::move(next.algorithm_state), next.query};
  UNDERTONE_TRY(store_->close_round(run_, record, checkpoint, next.finished));
  checkpoint_ = std::move(checkpoint);
  checkpoint_->algorithm_state.clear();  // the store has it, and so has the algorithm
  return {Closed{std::move(record), advanced.replies, next.finished}};
}

Status RoundDriver::commit(Round::Commit committed) {
  UNDERTONE_TRY(std::optional<ShuffledState> state, store_->shuffled_state(run_));
  UNDERTONE_CHECK(state.has_value());
  state->round = round_->index();
  state->committed = std::move(committed);
  return store_->set_shuffled_state(run_, *state);
}

Participant RoundDriver::participant(const jobs::CohortMember& member) const { return participant_of(spec_, member); }

double RoundDriver::noise_stddev_of_mean() const {
  std::vector<folds::NoisePart> parts;
  for (const auto& [silo, digest] : round_->digests()) {
    const jobs::CohortMember* member = job_->member(silo);
    UNDERTONE_CHECK(member != nullptr);
    parts.push_back(
        {static_cast<double>(spec_.weight(*member)), plausible_->of_silo(silo).noise_stddev(*plausibility_)});
  }
  return folds::noise_stddev_of_mean(std::move(parts));
}

std::string RoundDriver::why_implausible(const SiloId& silo, const queries::Reply& reply) const {
  const folds::PlausibleReplies& plausible = plausible_->of_silo(silo);
  const std::vector<std::int64_t>& values = queries::values_of(reply.answer);
  const double length = plausible.length(*plausibility_, values);
  const double reach = plausible.reach(*plausibility_);
  if (length <= reach)
    return fmt::format("what it says of its public records has norm {:.4g}, the clip explains at most {:.4g}",
                       plausible.public_length(*plausibility_, values), plausible.public_reach(*plausibility_));
  return fmt::format("its answer has norm {:.4g}, its clip and noise explain at most {:.4g}", length, reach);
}

}  // namespace undertone::coordinator
