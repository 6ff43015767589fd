#include "coordinator/runs/round_factory.hpp"

#include <type_traits>
#include <utility>

#include "coordinator/rounds/round_machine.hpp"
#include "shared/base/contained.hpp"
#include "shared/sealed/seal_reply.hpp"

namespace undertone::coordinator {

static_assert(!std::is_constructible_v<std::variant<RoundFactory::Made, RunFailure>, Error>);

Participant participant_of(const jobs::RoundSpec& spec, const jobs::CohortMember& member) {
  return {spec.weight(member), spec.exact(member), spec.records(member), spec.public_weight(member)};
}

RoundFactory::RoundFactory(const jobs::Job& job, const RunId& run, RunStore& store,
                           std::shared_ptr<const jobs::PlausibleCohort> plausible, MixedRounds mixed)
    : job_(&job), run_(run), store_(&store), plausible_(std::move(plausible)), mixed_(std::move(mixed)) {}

RoundFactory::Attempt RoundFactory::make(Asked asked, const std::set<SiloId>& participants) {
  const bool mixed = job_->shuffle && !asked.spec.evaluation;  // evaluations are public
  if (mixed) return make_shuffled(std::move(asked), participants);
  return {make_plain(std::move(asked), participants)};
}

RoundFactory::Made RoundFactory::make_plain(Asked asked, const std::set<SiloId>& participants) const {
  RoundMachine::Setup setup;
  setup.run = run_;
  setup.round = asked.query.round;
  setup.query = asked.digest;
  setup.shape = {asked.spec.dimension, asked.spec.lattice,       job_->noise,       asked.spec.candidates,
                 asked.spec.reports,   asked.spec.beside_public, asked.spec.groups, asked.spec.statistic};
  setup.aggregation = asked.spec.aggregation;
  setup.plausible = [cohort = plausible_, asked = asked.plausibility](const SiloId& silo,
                                                                      const std::vector<std::int64_t>& values) {
    return cohort->of_silo(silo).admits(*asked, values);
  };
  setup.quorum = job_->participation.quorum;
  setup.deadline = job_->participation.round_deadline;
  setup.grace = job_->participation.grace;
  for (const jobs::CohortMember& member : job_->cohort) {
    const SiloId& silo = member.facts.silo;
    if (participants.contains(silo)) setup.expected.emplace(silo, participant_of(asked.spec, member));
  }
  return {std::make_unique<RoundMachine>(std::move(setup)), {run_, job_->point_type, std::move(asked.query)}};
}

RoundFactory::Attempt RoundFactory::make_shuffled(Asked asked, const std::set<SiloId>& participants) {
  const jobs::Shuffle& shuffle = *job_->shuffle;
  const Result<sealed::RoundLayout> layout =
      contained("laying out the round", [&] { return mixed_.layout(*job_, asked.ask, asked.query.round); });
  if (!layout) return {RunFailure(layout.error())};

  UNDERTONE_TRY(const ShuffledState state, state_from(asked.query.round));
  if (state.round == asked.query.round && state.committed && state.committed->closing && !shuffle.adds())
    return {RunFailure({ErrorCode::StorageFailed,
                        "the store says that this round is closing by totals, and its shufflers add nothing: the store "
                        "is damaged"})};
  std::optional<wire::SealingTerms> sealing;
  if (!shuffle.adds()) {
    UNDERTONE_TRY(const bool known, read_keys(state.mac_key));
    if (!known) {
      return {RunFailure({ErrorCode::InvalidConfig, fmt::format("this coordinator has no sealing key of fingerprint {}",
                                                                to_hex(shuffle.coordinator_key))})};
    }
    sealing = wire::SealingTerms{*digest_from_bytes(sealing_key_->public_key().bytes()), state.mac_key};
  }
  const Result<sealed::Recipients> recipients =
      shuffle.adds() ? sealed::adders_of(shuffle, run_)
                     : sealed::coordinator_of(shuffle, sealing_key_->public_key().bytes(), mac_key_->bytes());
  if (!recipients) return {RunFailure(recipients.error())};
  Made made{shuffled_round(asked, *layout, *recipients, participants, state), {run_, job_->point_type, {}, sealing}};
  made.message.query = std::move(asked.query);
  return {std::move(made)};
}

std::unique_ptr<ShuffledRound> RoundFactory::shuffled_round(const Asked& asked, const sealed::RoundLayout& layout,
                                                            const sealed::Recipients& recipients,
                                                            const std::set<SiloId>& participants,
                                                            const ShuffledState& state) const {
  const jobs::Shuffle& shuffle = *job_->shuffle;
  const RoundIndex round = asked.query.round;
  // All silos have the same plan, so one speaks for all.
  const sealed::FoldedRound folded{
      run_, asked.query, job_->noise,
      [cohort = plausible_, asked = asked.plausibility, any = job_->cohort.front().facts.silo](
          const std::vector<std::int64_t>& values) { return cohort->of_silo(any).admits(*asked, values); }};
  ShuffledRound::Setup setup;
  setup.run = run_;
  setup.round = round;
  setup.query = asked.digest;
  for (const jobs::Shuffle::Party& party : shuffle.shufflers) setup.shufflers.push_back(party.name);
  setup.terms = sealed::terms_of_messages(layout, {run_, round, asked.digest, recipients});
  setup.receipt_secret = *digest_from_bytes(sealed::SecretBytes::draw().bytes());
  setup.adds = shuffle.adds();
  setup.expected = participants;
  setup.replies_min = job_->participation.quorum;
  setup.message_bytes = layout.message_bytes();
  setup.unit_bytes = layout.unit_bytes();
  setup.word_bytes = layout.word_bytes();
  setup.deadline = job_->participation.round_deadline;
  if (state.round == round) setup.committed = state.committed;
  setup.fold = shuffle.adds() ? sealed::make_added_fold(layout, folded)
                              : sealed::make_mixed_fold(layout, folded, {*sealing_key_, *mac_key_});
  return std::make_unique<ShuffledRound>(std::move(setup));
}

Result<ShuffledState> RoundFactory::state_from(RoundIndex round) {
  UNDERTONE_TRY(std::optional<ShuffledState> known, store_->shuffled_state(run_));
  if (known) return *std::move(known);
  const sealed::ReplyMacKey drawn = sealed::ReplyMacKey::draw();
  const ShuffledState begun{*digest_from_bytes(drawn.bytes()), round, std::nullopt};
  UNDERTONE_TRY(store_->set_shuffled_state(run_, begun));
  return begun;
}

Result<bool> RoundFactory::read_keys(const Digest& mac_key) {
  if (!sealing_key_) {
    UNDERTONE_TRY(const std::optional<std::string> secret, store_->sealing_secret(job_->shuffle->coordinator_key));
    if (!secret) return false;
    UNDERTONE_TRY(sealed::SealingKey key, sealed::SealingKey::from_secret(*secret));
    sealing_key_ = std::move(key);
  }
  if (!mac_key_) {
    UNDERTONE_TRY(sealed::ReplyMacKey key, sealed::ReplyMacKey::from_bytes(as_bytes(mac_key)));
    mac_key_ = std::move(key);
  }
  return true;
}

}  // namespace undertone::coordinator
