#include "coordinator/runs/round_driver.hpp"

#include <utility>

#include "shared/base/byte_stream.hpp"

namespace undertone::coordinator {
namespace {

RunFailure another_checkpoint(const std::string& what) {
  return RunFailure({ErrorCode::StorageFailed, "the store's checkpoint does not continue this job: " + what});
}

}  // namespace

RoundDriver::RoundDriver(const jobs::Job& job, const RunId& run, RunStore& store,
                         std::shared_ptr<const jobs::PlausibleCohort> plausible, jobs::Planner planner,
                         std::optional<Checkpoint> checkpoint)
    : run_(run),
      store_(&store),
      job_(&job),
      algorithm_(jobs::make_algorithm(job)),
      plausible_(std::move(plausible)),
      factory_(job, run, store, plausible_, std::move(planner)),
      checkpoint_(std::move(checkpoint)) {
  for (const planning::ScheduledRounds& part : jobs::schedule_of(job)) rounds_total_ += part.rounds;
}

Status RoundDriver::restore() {
  if (!checkpoint_) return {};
  ByteReader reader(checkpoint_->algorithm_state);
  UNDERTONE_TRY(algorithm_->restore(reader));
  return reader.end();
}

std::string RoundDriver::saved_state() const {
  ByteWriter writer;
  algorithm_->save(writer);
  return std::move(writer).bytes();
}

Result<algorithms::Outcome> RoundDriver::outcome() const {
  algorithms::Step step = algorithm_->start();
  if (auto* finished = std::get_if<algorithms::Finished>(&step)) return std::move(finished->outcome);
  return another_checkpoint("it is not at the end").reason;
}

Status RoundDriver::begin() {
  const algorithms::Step step = algorithm_->start();
  const auto& query = std::get<queries::Query>(step);
  const Checkpoint first{query.round, saved_state(), queries::query_digest(run_, query)};
  UNDERTONE_TRY(store_->start_rounds(run_, first));
  checkpoint_ = first;
  return {};
}

Result<std::variant<wire::QueryMessage, RunFailure>> RoundDriver::make_round(const std::set<SiloId>& participants,
                                                                             TimePoint now) {
  UNDERTONE_CHECK(checkpoint_.has_value());
  algorithms::Step step = algorithm_->start();
  auto* query = std::get_if<queries::Query>(&step);
  if (query == nullptr) return {another_checkpoint("it is at the end")};
  const Digest digest = queries::query_digest(run_, *query);
  if (digest != checkpoint_->query) return {another_checkpoint("its query is another")};

  round_began_ = now;
  round_.reset();
  spec_ = jobs::round_spec(*job_, queries::kind_of(query->question));
  plausibility_ = std::make_shared<const folds::PlausibleReplies::Asked>(plausible_->asked(*query));
  RoundFactory::Attempt made = factory_.make({std::move(*query), digest, spec_, plausibility_}, participants);
  if (!made) return made.error();
  if (auto* failure = std::get_if<RunFailure>(&*made)) return {std::move(*failure)};
  auto& [round, message] = std::get<RoundFactory::Made>(*made);
  round_ = std::move(round);
  return {std::move(message)};
}

Result<std::variant<RoundDriver::Closed, RunFailure>> RoundDriver::close_round(TimePoint now) {
  const folds::Gathered gathered = round_->gathered();
  const std::size_t rows_before = algorithm_->metrics().size();
  const Result<algorithms::Step> next = algorithm_->advance(gathered);
  if (!next) return {RunFailure(next.error())};  // it diverged, say
  const auto* query = std::get_if<queries::Query>(&*next);
  RoundRecord record{gathered.round, round_->digests(), round_->missing(),
                     std::chrono::duration_cast<std::chrono::milliseconds>(now - round_began_), std::nullopt};
  if (std::vector<algorithms::MetricsRow> rows = algorithm_->metrics(); rows.size() > rows_before)
    record.metrics = std::move(rows.back());
  Checkpoint checkpoint{gathered.round.next(), saved_state(),
                        query != nullptr ? queries::query_digest(run_, *query) : Digest{}};
  UNDERTONE_TRY(store_->close_round(run_, record, checkpoint, query == nullptr));
  checkpoint_ = std::move(checkpoint);
  checkpoint_->algorithm_state.clear();  // the store has it, and so has the algorithm
  return {Closed{std::move(record), gathered.replies, query == nullptr}};
}

Status RoundDriver::commit(Round::Commit committed) {
  Result<std::optional<ShuffledState>> state = store_->shuffled_state(run_);
  if (!state) return state.error();
  UNDERTONE_CHECK(state->has_value());
  (*state)->round = round_->index();
  (*state)->committed = std::move(committed);
  return store_->set_shuffled_state(run_, **state);
}

Participant RoundDriver::participant(const jobs::CohortMember& member) const {
  return {spec_.weight(member), spec_.exact(member)};
}

std::string RoundDriver::why_implausible(const SiloId& silo, const queries::Reply& reply) const {
  const folds::PlausibleReplies& plausible = plausible_->of_silo(silo);
  return fmt::format("its answer has norm {:.4g}, its clip and noise explain at most {:.4g}",
                     plausible.length(*plausibility_, queries::values_of(reply.answer)),
                     plausible.reach(*plausibility_));
}

}  // namespace undertone::coordinator
