#include <algorithm>
#include <utility>

#include "coordinator/runs/run_machine.hpp"
#include "shared/sealed/round_layout.hpp"
#include "shared/sealed/seal_reply.hpp"

namespace undertone::coordinator {

Result<std::vector<RunMachine::Action>> RunMachine::on_shuffler_connected(const std::string& shuffler, TimePoint now) {
  Actions out;
  if (!job_->shuffle || job_->shuffle->party(shuffler) == nullptr) return out;
  send_to_shuffler(shuffler, wire::JobOffer{record_.run, record_.job}, out);
  if (shuffled_ != nullptr) {
    if (Status done = run_shuffled_actions(shuffled_->on_shuffler_connected(shuffler), now, out); !done)
      return done.error();
  }
  arm(out);
  return out;
}

Result<std::vector<RunMachine::Action>> RunMachine::on_shuffler_message(const std::string& shuffler,
                                                                        wire::Message message, TimePoint now) {
  Actions out;
  if (!job_->shuffle || job_->shuffle->party(shuffler) == nullptr || shuffled_ == nullptr) return out;
  if (Status done = run_shuffled_actions(shuffled_->on_shuffler_message(shuffler, std::move(message), now), now, out);
      !done)
    return done.error();
  arm(out);
  return out;
}

void RunMachine::send_to_shuffler(const std::string& shuffler, const wire::Message& message, Actions& out) {
  out.push_back(SendToShuffler{shuffler, std::make_shared<const std::string>(encoder_.encode(message))});
}

Status RunMachine::open_shuffled_round(const queries::Query& query, const Digest& digest, TimePoint now, Actions& out) {
  const jobs::Shuffle& shuffle = *job_->shuffle;
  if (!plan_) {
    Result<planning::Plan> plan = planner_(*job_, job_->cohort.front());  // all silos have the same
    if (!plan) return end(plan.error(), now, out);
    plan_ = *std::move(plan);
  }
  const planning::Release* release = plan_->release(query.round);
  UNDERTONE_CHECK(release != nullptr);
  const Result<sealed::RoundLayout> layout =
      sealed::RoundLayout::create(shuffle, *release, job_->reply_lattice, job_->cohort.size());
  if (!layout) return end(layout.error(), now, out);

  Result<std::optional<ShuffledState>> state = store_->shuffled_state(record_.run);
  if (!state) return state.error();
  if (!*state) {
    const sealed::ReplyMacKey drawn = sealed::ReplyMacKey::draw();
    *state = ShuffledState{*digest_from_bytes(drawn.bytes()), query.round, std::nullopt};
    if (Status stored = store_->set_shuffled_state(record_.run, **state); !stored) return stored;
  }
  wire::QueryMessage message{record_.run, job_->point_type, query};
  if (!shuffle.adds()) {
    if (!sealing_key_) {
      const Result<std::optional<std::string>> secret = store_->sealing_secret(shuffle.coordinator_key);
      if (!secret) return secret.error();
      if (!*secret) {
        return end(Error{ErrorCode::InvalidConfig, fmt::format("this coordinator has no sealing key of fingerprint {}",
                                                               to_hex(shuffle.coordinator_key))},
                   now, out);
      }
      Result<sealed::SealingKey> key = sealed::SealingKey::from_secret(**secret);
      if (!key) return key.error();
      sealing_key_ = *std::move(key);
    }
    if (!mac_key_) {
      Result<sealed::ReplyMacKey> mac_key = sealed::ReplyMacKey::from_bytes(as_bytes((*state)->mac_key));
      if (!mac_key) return mac_key.error();
      mac_key_ = *std::move(mac_key);
    }
    message.sealing = wire::SealingTerms{*digest_from_bytes(sealing_key_->public_key().bytes()), (*state)->mac_key};
  }
  const Result<sealed::Recipients> recipients =
      shuffle.adds() ? sealed::adders_of(shuffle, record_.run)
                     : sealed::coordinator_of(shuffle, sealing_key_->public_key().bytes(), mac_key_->bytes());
  if (!recipients) return end(recipients.error(), now, out);
  query_bytes_ = std::make_shared<const std::string>(encoder_.encode(message));

  // All silos have the same plan, so one speaks for all.
  const sealed::FoldedRound folded{
      record_.run, query, job_->noise,
      [cohort = plausible_, asked = plausible_->asked(query), any = job_->cohort.front().facts.silo](
          const std::vector<std::int64_t>& values) { return cohort->of_silo(any).admits(asked, values); }};
  ShuffledRound::Setup setup;
  setup.run = record_.run;
  setup.round = query.round;
  setup.query = digest;
  for (const jobs::Shuffle::Party& party : shuffle.shufflers) setup.shufflers.push_back(party.name);
  setup.terms = sealed::terms_of_messages(*layout, {record_.run, query.round, digest, *recipients});
  setup.receipt_secret = *digest_from_bytes(sealed::SecretBytes::draw().bytes());
  setup.adds = shuffle.adds();
  for (const jobs::CohortMember& member : job_->cohort) {
    if (takes_part(member.facts.silo)) setup.expected.insert(member.facts.silo);
  }
  setup.replies_min = job_->participation.quorum;
  setup.message_bytes = layout->message_bytes();
  setup.unit_bytes = layout->unit_bytes();
  setup.word_bytes = layout->word_bytes();
  setup.deadline = job_->participation.round_deadline;
  if ((*state)->round == query.round) setup.committed = (*state)->committed;
  setup.fold = shuffle.adds() ? sealed::make_added_fold(*layout, folded)
                              : sealed::make_mixed_fold(*layout, folded, {*sealing_key_, *mac_key_});
  shuffled_ = std::make_unique<ShuffledRound>(std::move(setup));
  return run_shuffled_actions(shuffled_->open(now), now, out);
}

Status RunMachine::run_shuffled_actions(std::vector<ShuffledRound::Action> actions, TimePoint now, Actions& out) {
  for (ShuffledRound::Action& action : actions) {
    Status done;
    if (auto* commit = std::get_if<ShuffledRound::Commit>(&action)) {
      Result<std::optional<ShuffledState>> state = store_->shuffled_state(record_.run);
      if (!state) return state.error();
      UNDERTONE_CHECK(state->has_value());
      (*state)->round = shuffled_->setup().round;
      (*state)->committed = std::move(*commit);
      done = store_->set_shuffled_state(record_.run, **state);
    } else if (const auto* send = std::get_if<ShuffledRound::ToShuffler>(&action)) {
      send_to_shuffler(send->shuffler, send->message, out);
    } else if (const auto* offered = std::get_if<ShuffledRound::OfferJob>(&action)) {
      send_to_shuffler(offered->shuffler, wire::JobOffer{record_.run, record_.job}, out);
    } else if (const auto* silos = std::get_if<ShuffledRound::AskSilos>(&action)) {
      for (const SiloId& silo : silos->silos) {
        // A batch's silos are fixed: one that has refused the job since is still among them.
        if (connected_.contains(silo) && takes_part(silo)) ask(silo, out);
      }
    } else if (const auto* armed = std::get_if<ShuffledRound::ArmDeadline>(&action)) {
      deadline_ = armed->at;
    } else if (auto* tell = std::get_if<ShuffledRound::Tell>(&action)) {
      out.push_back(Tell{tell->warning, std::move(tell->event)});
    } else if (const auto* aborted = std::get_if<ShuffledRound::AbortRound>(&action)) {
      done = end(aborted->reason, now, out);
    } else {
      done = close_round(now, out);
    }
    if (!done) return done;
  }
  return {};
}

}  // namespace undertone::coordinator
