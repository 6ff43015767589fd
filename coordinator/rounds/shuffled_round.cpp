#include "coordinator/rounds/shuffled_round.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include "shared/base/plain_text.hpp"
#include "shared/sealed/hand_over_receipt.hpp"

namespace undertone::coordinator {
namespace {

template <class Silos>
std::string names_of(const Silos& silos) {
  std::string names;
  for (const SiloId& silo : silos) names += (names.empty() ? "" : ", ") + silo.name();
  return names;
}

bool ascending(const std::vector<SiloId>& silos) {
  return std::adjacent_find(silos.begin(), silos.end(), std::greater_equal<>()) == silos.end();
}

template <class From, class Without>
std::vector<SiloId> difference(const From& from, const Without& without) {
  std::vector<SiloId> out;
  std::set_difference(from.begin(), from.end(), without.begin(), without.end(), std::back_inserter(out));
  return out;
}

template <class Body>
constexpr bool kFromShuffler = std::is_same_v<Body, wire::BatchOpened> || std::is_same_v<Body, wire::BatchRefused> ||
                               std::is_same_v<Body, wire::BatchCollected> || std::is_same_v<Body, wire::BatchForward> ||
                               std::is_same_v<Body, wire::BatchFailed>;

}  // namespace

ShuffledRound::ShuffledRound(Setup setup) : setup_(std::move(setup)) {
  UNDERTONE_CHECK(!setup_.shufflers.empty() && setup_.fold != nullptr && setup_.replies_min > 0);
  if (setup_.committed) {
    current_ = *setup_.committed;
    UNDERTONE_CHECK(current_.attempt < kAttemptsMax && (setup_.adds || !current_.closing));
    if (current_.closing) state_ = State::Closing;
  } else {
    current_.expected.assign(setup_.expected.begin(), setup_.expected.end());
  }
  UNDERTONE_CHECK(setup_.terms.size() == setup_.shufflers.size());
  for (std::size_t i = 0; i < setup_.shufflers.size(); ++i) {
    Shuffler& shuffler = shufflers_.emplace_back();
    shuffler.name = setup_.shufflers[i];
    shuffler.terms = setup_.terms[i];
    shuffler.receipt_key = sealed::receipt_key(setup_.receipt_secret, shuffler.name);
  }
}

ShuffledRound::Actions ShuffledRound::open(TimePoint now) {
  if (current_.expected.size() < setup_.replies_min) return too_few();
  Actions out;
  if (!setup_.committed) out.emplace_back(current_);
  open_everywhere(now, out);
  return out;
}

ShuffledRound::Actions ShuffledRound::on_shuffler_connected(std::string_view name) {
  const Shuffler* shuffler = find(name);
  if (shuffler == nullptr) return {};
  switch (shuffler->standing) {
    case Standing::Forwarded:
      return delivered_ ? Actions{delivery(*shuffler)} : Actions{};
    case Standing::Failed:
      return {};
    case Standing::Asked:
    case Standing::Opened:
    case Standing::Collected:
      break;
  }
  // Where a batch is given up this asks again too: a shuffler that never heard of it has nothing to abandon.
  return {ended() ? abandonment(*shuffler) : opening(*shuffler)};
}

ShuffledRound::Actions ShuffledRound::on_shuffler_message(std::string_view name, wire::Message message, TimePoint now) {
  Shuffler* shuffler = find(name);
  const std::string_view kind = wire::name_of(message);
  const auto ignore = [&](std::string_view reason) {
    return Actions{
        LogEvent{true, fmt::format("message_ignored shuffler={} kind={} reason={}", name, kind, quoted_text(reason))}};
  };
  if (shuffler == nullptr) return ignore("not a shuffler of the job");
  return std::visit(
      [&](auto& body) -> Actions {
        using Body = std::remove_reference_t<decltype(body)>;
        if constexpr (!kFromShuffler<Body>) {
          return ignore("not what a shuffler says");
        } else {
          if (body.run != setup_.run || body.round > setup_.round) return ignore("of another run or round");
          if constexpr (std::is_same_v<Body, wire::BatchForward>) {
            // This round is open because the store has what followed from the earlier ones.
            if (body.round < setup_.round)
              return {ToShuffler{shuffler->name, wire::BatchDelivered{body.run, body.round}}};
            return on(*shuffler, std::move(body), now);
          } else {
            if (body.round < setup_.round || body.attempt != current_.attempt || ended()) return {};
            return on(*shuffler, body, now);
          }
        }
      },
      message);
}

ShuffledRound::Actions ShuffledRound::on(Shuffler& shuffler, const wire::BatchOpened&, TimePoint now) {
  if (shuffler.standing == Standing::Asked && state_ != State::Closing) shuffler.standing = Standing::Opened;
  if (state_ == State::Retracting) return retraction(shuffler);
  Actions out;
  maybe_ask(now, out);
  return out;
}

ShuffledRound::Actions ShuffledRound::on(Shuffler& shuffler, const wire::BatchRefused& refused, TimePoint) {
  if (shuffler.standing == Standing::Forwarded || shuffler.standing == Standing::Failed) return {};
  if (refused.refusal == wire::BatchRefusal::UnknownJob && shuffler.offers < kOffersMax) {
    ++shuffler.offers;
    return {OfferJob{shuffler.name}, opening(shuffler)};
  }
  const std::string_view reason = wire::to_string(refused.refusal);
  if (refused.refusal == wire::BatchRefusal::Busy) {
    return {LogEvent{
        true, fmt::format("batch_refused shuffler={} round={} reason={}", shuffler.name, setup_.round.value, reason)}};
  }
  return abort(ErrorCode::InvalidArgument,
               fmt::format("shuffler {} does not open its batch: {}", shuffler.name, reason));
}

ShuffledRound::Actions ShuffledRound::on(Shuffler& shuffler, const wire::BatchCollected& said, TimePoint now) {
  if (!setup_.adds) {
    return {LogEvent{true, fmt::format("message_ignored shuffler={} kind=batch_collected reason=\"it does not add\"",
                                       shuffler.name)}};
  }
  if (shuffler.standing == Standing::Forwarded || shuffler.standing == Standing::Failed) return {};
  if (state_ == State::Retracting) {
    shuffler.standing = Standing::Collected;
    return retraction(shuffler);
  }
  if (!ascending(said.silos) || !difference(said.silos, current_.expected).empty()) {
    return abort(ErrorCode::Malformed,
                 fmt::format("shuffler {} says that it collected replies which were not expected", shuffler.name));
  }
  std::set<SiloId> collected(said.silos.begin(), said.silos.end());
  if (shuffler.standing == Standing::Collected && shuffler.collected != collected) {
    return abort(ErrorCode::Malformed,
                 fmt::format("shuffler {} says that it collected other replies than it said before", shuffler.name));
  }
  shuffler.standing = Standing::Collected;
  shuffler.collected = std::move(collected);
  if (const std::optional<std::string> drop = dropped(shuffler)) return abort(ErrorCode::Malformed, *drop);
  Actions out;
  leave_out_unproven(out);
  if (current_.closing) {
    const std::vector<SiloId> gone = difference(*current_.closing, shuffler.collected);
    if (gone.empty()) {
      out.push_back(closing(shuffler));
      return out;
    }
    return abort(ErrorCode::Malformed, fmt::format("shuffler {} no longer has the replies of {} silos: {}",
                                                   shuffler.name, gone.size(), names_of(gone)));
  }
  maybe_ask(now, out);
  maybe_add(now, out);
  return out;
}

ShuffledRound::Actions ShuffledRound::on(Shuffler& shuffler, wire::BatchForward forward, TimePoint) {
  if (shuffler.standing == Standing::Forwarded || ended()) {
    shuffler.standing = Standing::Forwarded;
    return delivered_ ? Actions{delivery(shuffler)} : Actions{};
  }
  shuffler.standing = Standing::Forwarded;
  shuffler.replies = forward.replies;
  const auto wrong = [&](const std::string& what) {
    return abort(ErrorCode::Malformed, fmt::format("shuffler {} forwarded {}", shuffler.name, what));
  };
  if (setup_.adds && !current_.closing) return wrong("a total before it was told what to add");
  if (state_ == State::Retracting) return torn();
  if (current_.closing && forward.replies != current_.closing->size())
    return wrong(fmt::format("{} replies, was told to add {}", forward.replies, current_.closing->size()));
  if (forward.replies < setup_.replies_min)
    return wrong(fmt::format("{} replies, minimum is {}", forward.replies, setup_.replies_min));
  if (forward.replies > current_.expected.size())
    return wrong(fmt::format("{} replies, {} were expected", forward.replies, current_.expected.size()));
  if (const std::optional<std::string> drop = dropped(shuffler)) return abort(ErrorCode::Malformed, *drop);
  const auto index = static_cast<std::size_t>(&shuffler - shufflers_.data());
  if (Status taken = setup_.fold->take(index, forward.replies, std::move(forward.units)); !taken) {
    const Error& error = taken.error();
    return abort(error.code, fmt::format("shuffler {} forwarded a wrong batch: {}", shuffler.name, error.message));
  }
  Actions out;
  leave_out_unproven(out);
  if (!all(Standing::Forwarded)) return out;
  Result<folds::Gathered> gathered = setup_.fold->gathered();
  if (!gathered) return abort(gathered.error().code, "what the shufflers forwarded: " + gathered.error().message);
  const std::uint64_t refused = setup_.fold->refused();
  if (static_cast<std::uint64_t>(gathered->replies) < setup_.replies_min) {
    return abort(ErrorCode::QuorumMissed,
                 fmt::format("{} of {} reports are longer than clip and noise explain, quorum is {}", refused,
                             forward.replies, setup_.replies_min));
  }
  gathered_ = *std::move(gathered);
  state_ = State::Closed;
  if (refused != 0) {
    out.emplace_back(
        LogEvent{true, fmt::format("reports_refused round={} reports={} reason=\"longer than clip and noise explain\"",
                                   setup_.round.value, refused)});
  }
  out.emplace_back(CloseRound{});
  return out;
}

ShuffledRound::Actions ShuffledRound::on(Shuffler& shuffler, const wire::BatchFailed& failed, TimePoint now) {
  if (shuffler.standing == Standing::Forwarded || shuffler.standing == Standing::Failed) return {};
  shuffler.standing = Standing::Failed;
  if (any(Standing::Forwarded)) return torn();
  if (state_ != State::Retracting) {
    return give_up_attempt(fmt::format("shuffler {} forwarded nothing, with {} replies, minimum is {}", shuffler.name,
                                       failed.replies, setup_.replies_min),
                           now);
  }
  return all(Standing::Failed) ? ask_again(now) : Actions{};
}

ShuffledRound::Actions ShuffledRound::on_handed_over(const SiloId& silo,
                                                     const std::map<std::string, Digest>& receipts) {
  if (ended() || state_ == State::Retracting || !expects(silo)) return {};
  // What a silo says carries no attempt. Before this one is open everywhere it can only speak of an earlier one.
  if (state_ == State::Opening && current_.attempt > 0) return {};
  for (Shuffler& shuffler : shufflers_) {
    const auto shown = receipts.find(shuffler.name);
    if (shown == receipts.end()) continue;
    const sealed::TakenReply taken{setup_.run, setup_.round, current_.attempt, silo, shuffler.terms};
    if (sealed::is_receipt_of(shuffler.receipt_key, taken, shown->second)) shuffler.acknowledged.insert(silo);
  }
  for (const Shuffler& shuffler : shufflers_) {
    if (const std::optional<std::string> drop = dropped(shuffler)) return abort(ErrorCode::Malformed, *drop);
  }
  if (left_out_.contains(silo)) return {};
  handed_over_.insert(silo);
  lost_.erase(silo);
  Actions out;
  leave_out_unproven(out);
  return out;
}

ShuffledRound::Actions ShuffledRound::on_lost(const SiloId& silo) {
  if (ended() || !expects(silo) || handed_over_.contains(silo)) return {};
  lost_.insert(silo);
  // Once something is collected the shufflers may hold its reply and say so; else nobody need wait for the deadline.
  const bool early = state_ == State::Opening || state_ == State::Collecting;
  if (!early || any(Standing::Collected) || any(Standing::Forwarded)) return {};
  return difference(current_.expected, lost_).size() < setup_.replies_min ? too_few() : Actions{};
}

ShuffledRound::Actions ShuffledRound::on_resend() const {
  Actions out;
  if (ended()) return out;
  for (const Shuffler& shuffler : shufflers_) {
    if (shuffler.standing == Standing::Asked) {
      out.push_back(opening(shuffler));
    } else if (state_ == State::Retracting) {
      for (Action& action : retraction(shuffler)) out.push_back(std::move(action));
    }
  }
  return out;
}

ShuffledRound::Actions ShuffledRound::on_deadline(TimePoint now) {
  if (ended() || now < due_) return {};
  std::string silent;
  for (const Shuffler& shuffler : shufflers_) {
    const std::string_view what = waited_for(shuffler);
    if (!what.empty()) silent += fmt::format("{}shuffler {} {}", silent.empty() ? "" : ", ", shuffler.name, what);
  }
  return abort(ErrorCode::Unreachable, silent + " until the deadline");
}

ShuffledRound::Actions ShuffledRound::delivered() {
  UNDERTONE_CHECK(ended());
  delivered_ = true;
  Actions out;
  for (const Shuffler& shuffler : shufflers_) {
    if (shuffler.standing == Standing::Forwarded) out.push_back(delivery(shuffler));
  }
  return out;
}

bool ShuffledRound::wants(const SiloId& silo) const {
  return state_ == State::Collecting && !any(Standing::Forwarded) && expects(silo) && !handed_over_.contains(silo) &&
         !left_out_.contains(silo) && !lost_.contains(silo);
}

std::set<SiloId> ShuffledRound::accepted() const {
  if (current_.closing) return {current_.closing->begin(), current_.closing->end()};
  // As many as are expected: a mixer's word comes before that of some silos. Reports that are refused are somebody's,
  // too.
  const bool whole = std::all_of(shufflers_.begin(), shufflers_.end(),
                                 [&](const Shuffler& mixer) { return mixer.replies == current_.expected.size(); });
  if (state_ == State::Closed && whole) return {current_.expected.begin(), current_.expected.end()};
  return handed_over_;
}

std::vector<SiloId> ShuffledRound::missing() const { return difference(current_.expected, accepted()); }

folds::Gathered ShuffledRound::gathered() const {
  UNDERTONE_CHECK(state_ == State::Closed);
  return *gathered_;
}

std::map<SiloId, Digest> ShuffledRound::digests() const {
  UNDERTONE_CHECK(state_ == State::Closed);
  const Digest together = setup_.fold->digest();
  std::map<SiloId, Digest> out;
  for (const SiloId& silo : accepted()) out.emplace_hint(out.end(), silo, together);
  return out;
}

ShuffledRound::Shuffler* ShuffledRound::find(std::string_view name) {
  const auto found = std::find_if(shufflers_.begin(), shufflers_.end(), [&](const auto& s) { return s.name == name; });
  return found == shufflers_.end() ? nullptr : &*found;
}

bool ShuffledRound::any(Standing standing) const {
  return std::any_of(shufflers_.begin(), shufflers_.end(), [&](const auto& s) { return s.standing == standing; });
}

bool ShuffledRound::all(Standing standing) const {
  return std::all_of(shufflers_.begin(), shufflers_.end(), [&](const auto& s) { return s.standing == standing; });
}

bool ShuffledRound::expects(const SiloId& silo) const {
  return std::binary_search(current_.expected.begin(), current_.expected.end(), silo);
}

ShuffledRound::Action ShuffledRound::opening(const Shuffler& shuffler) const {
  return ToShuffler{shuffler.name,
                    wire::BatchOpen{setup_.run, setup_.round, current_.attempt, current_.expected, setup_.replies_min,
                                    setup_.message_bytes, setup_.unit_bytes, setup_.word_bytes, setup_.query,
                                    setup_.deadline, shuffler.receipt_key}};
}

ShuffledRound::Action ShuffledRound::closing(const Shuffler& shuffler) const {
  return ToShuffler{shuffler.name, wire::BatchClose{setup_.run, setup_.round, current_.attempt, *current_.closing}};
}

ShuffledRound::Action ShuffledRound::abandonment(const Shuffler& shuffler) const {
  return ToShuffler{shuffler.name, wire::BatchAbandon{setup_.run, setup_.round}};
}

ShuffledRound::Action ShuffledRound::delivery(const Shuffler& shuffler) const {
  return ToShuffler{shuffler.name, wire::BatchDelivered{setup_.run, setup_.round}};
}

ShuffledRound::Actions ShuffledRound::retraction(const Shuffler& shuffler) const {
  const bool holds = shuffler.standing == Standing::Opened || shuffler.standing == Standing::Collected;
  return holds ? Actions{abandonment(shuffler)} : Actions{};
}

void ShuffledRound::open_everywhere(TimePoint now, Actions& out) {
  for (const Shuffler& shuffler : shufflers_) out.push_back(opening(shuffler));
  arm(now, out);
}

void ShuffledRound::arm(TimePoint now, Actions& out) {
  due_ = now + 2 * setup_.deadline;
  out.emplace_back(ArmDeadline{due_});
}

void ShuffledRound::maybe_ask(TimePoint now, Actions& out) {
  if (state_ != State::Opening || any(Standing::Asked)) return;
  state_ = State::Collecting;
  arm(now, out);
  if (!any(Standing::Opened)) return;
  AskSilos ask;
  for (const SiloId& silo : current_.expected) {
    if (wants(silo)) ask.silos.push_back(silo);
  }
  if (!ask.silos.empty()) out.emplace_back(std::move(ask));
}

void ShuffledRound::maybe_add(TimePoint now, Actions& out) {
  if (state_ != State::Collecting || !all(Standing::Collected)) return;
  std::vector<SiloId> common = current_.expected;
  for (const Shuffler& shuffler : shufflers_) common = difference(common, difference(common, shuffler.collected));
  if (common.size() < setup_.replies_min) {
    for (Action& action : give_up_attempt(
             fmt::format("the shufflers have {} replies in common, minimum is {}", common.size(), setup_.replies_min),
             now))
      out.push_back(std::move(action));
    return;
  }
  for (const Shuffler& shuffler : shufflers_) {
    const std::vector<SiloId> left_out = difference(shuffler.collected, common);
    if (left_out.empty()) continue;
    out.emplace_back(LogEvent{true, fmt::format("replies_left_out round={} shuffler={} silos=\"{}\"",
                                                setup_.round.value, shuffler.name, names_of(left_out))});
  }
  current_.closing = std::move(common);
  state_ = State::Closing;
  out.emplace_back(current_);
  for (const Shuffler& shuffler : shufflers_) out.push_back(closing(shuffler));
}

std::optional<std::string> ShuffledRound::dropped(const Shuffler& shuffler) const {
  std::size_t missed = 0;
  std::string names;
  if (shuffler.standing == Standing::Collected) {
    const std::vector<SiloId> silos = difference(shuffler.acknowledged, shuffler.collected);
    missed = silos.size();
    names = ": " + names_of(silos);
  } else if (shuffler.standing == Standing::Forwarded && !setup_.adds &&
             shuffler.replies < shuffler.acknowledged.size()) {
    missed = shuffler.acknowledged.size() - static_cast<std::size_t>(shuffler.replies);
  }
  if (missed == 0) return std::nullopt;
  return fmt::format("shuffler {} dropped the replies of {} silos{}", shuffler.name, missed, names);
}

std::vector<SiloId> ShuffledRound::unproven(const Shuffler& shuffler) const {
  if (shuffler.standing == Standing::Collected) return difference(handed_over_, shuffler.collected);
  const bool has_fewer =
      shuffler.standing == Standing::Forwarded && !setup_.adds && shuffler.replies < handed_over_.size();
  return has_fewer ? difference(handed_over_, shuffler.acknowledged) : std::vector<SiloId>();
}

void ShuffledRound::leave_out_unproven(Actions& out) {
  for (const Shuffler& shuffler : shufflers_) {
    const std::vector<SiloId> silos = unproven(shuffler);
    if (silos.empty()) continue;
    for (const SiloId& silo : silos) {
      handed_over_.erase(silo);
      left_out_.insert(silo);
    }
    out.emplace_back(
        LogEvent{true, fmt::format("hand_over_unproven round={} shuffler={} silos=\"{}\" reason=\"they say that "
                                   "it took their replies, it does not have them, and they show no receipt\"",
                                   setup_.round.value, shuffler.name, names_of(silos))});
  }
}

std::string_view ShuffledRound::waited_for(const Shuffler& shuffler) const {
  switch (shuffler.standing) {
    case Standing::Forwarded:
    case Standing::Failed:
      return "";
    case Standing::Collected:
      if (state_ == State::Opening || state_ == State::Collecting) return "";
      break;
    case Standing::Asked:
      if (state_ == State::Opening) return "did not open its batch";
      break;
    case Standing::Opened:
      if (state_ == State::Opening) return "";
      if (state_ == State::Collecting && setup_.adds) return "did not say what it collected";
      break;
  }
  return state_ == State::Retracting ? "did not give up its batch" : "did not forward its batch";
}

ShuffledRound::Actions ShuffledRound::cancel() {
  if (ended()) return {};
  Actions out = abort(ErrorCode::Cancelled, "the run was ended");
  out.pop_back();  // whoever cancels knows why
  return out;
}

ShuffledRound::Actions ShuffledRound::give_up_attempt(const std::string& reason, TimePoint now) {
  if (current_.attempt + 1 >= kAttemptsMax)
    return abort(ErrorCode::QuorumMissed, fmt::format("{}; missing: {}", reason, names_of(missing())));
  state_ = State::Retracting;
  Actions out{LogEvent{true, fmt::format("attempt_given_up round={} attempt={} reason={}", setup_.round.value,
                                         current_.attempt, quoted_text(reason))}};
  for (const Shuffler& shuffler : shufflers_) {
    for (Action& action : retraction(shuffler)) out.push_back(std::move(action));
  }
  if (all(Standing::Failed)) {
    for (Action& action : ask_again(now)) out.push_back(std::move(action));
  }
  return out;
}

ShuffledRound::Actions ShuffledRound::ask_again(TimePoint now) {
  std::vector<SiloId> left = difference(current_.expected, lost_);
  if (left.size() < setup_.replies_min) return too_few();
  current_ = Commit{current_.attempt + 1, std::move(left), std::nullopt};
  state_ = State::Opening;
  handed_over_.clear();
  left_out_.clear();
  for (Shuffler& shuffler : shufflers_) {
    shuffler.standing = Standing::Asked;
    shuffler.acknowledged.clear();
    shuffler.collected.clear();
  }
  Actions out{current_};
  open_everywhere(now, out);
  return out;
}

ShuffledRound::Actions ShuffledRound::too_few() {
  return abort(ErrorCode::QuorumMissed,
               fmt::format("{} silos can still answer, minimum is {}{}{}", difference(current_.expected, lost_).size(),
                           setup_.replies_min, lost_.empty() ? "" : "; will not answer: ", names_of(lost_)));
}

ShuffledRound::Actions ShuffledRound::torn() {
  std::string forwarded;
  std::string failed;
  for (const Shuffler& shuffler : shufflers_) {
    if (shuffler.standing == Standing::Forwarded) forwarded += (forwarded.empty() ? "" : ", ") + shuffler.name;
    if (shuffler.standing == Standing::Failed) failed += (failed.empty() ? "" : ", ") + shuffler.name;
  }
  return abort(ErrorCode::QuorumMissed,
               fmt::format("shuffler {} forwarded nothing, and shuffler {} has forwarded its batch, which is final",
                           failed, forwarded));
}

ShuffledRound::Actions ShuffledRound::abort(ErrorCode code, const std::string& reason) {
  state_ = State::Aborted;
  Actions out;
  for (const Shuffler& shuffler : shufflers_) {
    if (shuffler.standing != Standing::Forwarded && shuffler.standing != Standing::Failed)
      out.push_back(abandonment(shuffler));
  }
  out.emplace_back(AbortRound{{code, fmt::format("round {}: {}", setup_.round.value, reason)}});
  return out;
}

}  // namespace undertone::coordinator
