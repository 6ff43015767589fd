#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/rounds/round.hpp"
#include "shared/sealed/batch_fold.hpp"

namespace undertone::coordinator {

/// One round whose replies come through shufflers: opens a batch at each, lets the silos be asked once all have, and
/// folds what is forwarded. A round of which nothing was forwarded is asked again once, under a higher attempt. After
/// any forwarding there is no second attempt: the same batch plus one newcomer would identify him (decision 13).
///
/// A shuffler is asked again when it connects, and says where it stands.
class ShuffledRound final : public Round {
 public:
  /// Opening: not every shuffler has said that its batch is open. Closing: which shares are added is committed.
  /// Retracting: the attempt is given up, and not every shuffler has said that it forwarded nothing of it.
  enum class State { Opening, Collecting, Closing, Retracting, Closed, Aborted };

  static constexpr int kOffersMax = 3;  // in a round, to a shuffler that says it does not know the job

  struct Setup {
    RunId run;
    RoundIndex round;
    Digest query{};
    std::vector<std::string> shufflers;     // in the job's order
    std::vector<Digest> terms;              // that replies for each are made for: sealed::terms_of_messages
    Digest receipt_secret{};                // of this round and this process. @see sealed::receipt_key
    bool adds = false;                      // else the shufflers mix units unread
    std::set<SiloId> expected;              // unless something is committed
    std::size_t replies_min = 1;            // the job's quorum
    std::uint64_t message_bytes = 0;        // of a silo's sealed units
    std::uint64_t unit_bytes = 0;           // of each
    std::uint32_t word_bytes = 0;           // 0 where units are mixed
    std::chrono::milliseconds deadline{0};  // of a shuffler; the round waits twice as long for all of them
    std::optional<Commit> committed;        // the last Commit of this round, if it was opened before
    std::unique_ptr<sealed::BatchFold> fold;
  };
  explicit ShuffledRound(Setup setup);

  [[nodiscard]] Actions open(TimePoint now) override;
  /// Replies come from shufflers alone.
  [[nodiscard]] Actions on_reply(const SiloId& /*silo*/, const wire::ReplyMessage& /*message*/,
                                 std::optional<Reception>& /*reception*/) override {
    return {};
  }
  [[nodiscard]] std::optional<Reception> refuses(const SiloId& /*silo*/,
                                                 const wire::VectorHeader& /*header*/) const override {
    return Reception::Foreign;
  }
  /// The session is ready. What is still waited for is asked again, and what ended is acknowledged again.
  [[nodiscard]] Actions on_shuffler_connected(std::string_view shuffler) override;
  [[nodiscard]] Actions on_shuffler_message(std::string_view shuffler, wire::Message message, TimePoint now) override;
  /// Only a shuffler's own receipt shows that it had a reply which it does not have now; a silo that shows none is
  /// believed until the shuffler says otherwise, and is then left out.
  [[nodiscard]] Actions on_handed_over(const SiloId& silo, const std::map<std::string, Digest>& receipts) override;
  [[nodiscard]] Actions on_lost(const SiloId& silo) override;
  /// Asks those shufflers again that have not answered.
  [[nodiscard]] Actions on_resend() const override;
  [[nodiscard]] Actions on_deadline(TimePoint now) override;
  [[nodiscard]] Actions cancel() override;
  /// Those that forwarded may forget the round.
  [[nodiscard]] Actions delivered() override;

  [[nodiscard]] RoundIndex index() const noexcept override { return setup_.round; }
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool closed() const noexcept override { return state_ == State::Closed; }
  [[nodiscard]] std::uint32_t attempt() const noexcept { return current_.attempt; }
  [[nodiscard]] bool wants(const SiloId& silo) const override;
  /// Those that said that they handed over in this attempt, all once a mixer has as many; where shares are added,
  /// exactly those that are, once that is known.
  [[nodiscard]] std::set<SiloId> accepted() const override;
  [[nodiscard]] std::vector<SiloId> missing() const override;
  /// Who said what is not known: each is put down with what all said together.
  [[nodiscard]] std::map<SiloId, Digest> digests() const override;
  [[nodiscard]] folds::Gathered gathered() const override;
  [[nodiscard]] const Setup& setup() const noexcept { return setup_; }

 private:
  /// How far a shuffler is in this attempt, as it says.
  enum class Standing { Asked, Opened, Collected, Forwarded, Failed };
  struct Shuffler {
    std::string name;
    Standing standing = Standing::Asked;
    Digest terms{};
    Digest receipt_key{};
    int offers = 0;
    std::set<SiloId> acknowledged;  // who showed its receipt, in this attempt
    std::set<SiloId> collected;
    std::uint64_t replies = 0;  // forwarded
  };

  [[nodiscard]] Actions on(Shuffler& shuffler, const wire::BatchOpened& opened, TimePoint now);
  [[nodiscard]] Actions on(Shuffler& shuffler, const wire::BatchRefused& refused, TimePoint now);
  [[nodiscard]] Actions on(Shuffler& shuffler, const wire::BatchCollected& said, TimePoint now);
  [[nodiscard]] Actions on(Shuffler& shuffler, wire::BatchForward forward, TimePoint now);
  [[nodiscard]] Actions on(Shuffler& shuffler, const wire::BatchFailed& failed, TimePoint now);

  [[nodiscard]] Shuffler* find(std::string_view name);
  [[nodiscard]] bool any(Standing standing) const;
  [[nodiscard]] bool all(Standing standing) const;
  [[nodiscard]] bool expects(const SiloId& silo) const;
  [[nodiscard]] bool ended() const noexcept { return state_ == State::Closed || state_ == State::Aborted; }

  [[nodiscard]] Action opening(const Shuffler& shuffler) const;
  [[nodiscard]] Action closing(const Shuffler& shuffler) const;
  [[nodiscard]] Action abandonment(const Shuffler& shuffler) const;
  [[nodiscard]] Action delivery(const Shuffler& shuffler) const;
  /// What makes a shuffler give up a batch that it is known to hold.
  [[nodiscard]] Actions retraction(const Shuffler& shuffler) const;

  void open_everywhere(TimePoint now, Actions& out);
  void arm(TimePoint now, Actions& out);
  void maybe_ask(TimePoint now, Actions& out);
  void maybe_add(TimePoint now, Actions& out);
  [[nodiscard]] Actions give_up_attempt(const std::string& reason, TimePoint now);
  [[nodiscard]] Actions ask_again(TimePoint now);
  /// What the shuffler left out of the replies that it gave receipts for, if anything.
  [[nodiscard]] std::optional<std::string> dropped(const Shuffler& shuffler) const;
  /// Who says that it handed over and shows no receipt, where the shuffler does not have as many.
  [[nodiscard]] std::vector<SiloId> unproven(const Shuffler& shuffler) const;
  /// One of two did not do what it says, and nobody can tell which: both are named, and the round goes on without them.
  void leave_out_unproven(Actions& out);
  /// What the shuffler has not done yet; empty if the others are waited for.
  [[nodiscard]] std::string_view waited_for(const Shuffler& shuffler) const;
  [[nodiscard]] Actions too_few();
  /// One shuffler forwarded, another did not.
  [[nodiscard]] Actions torn();
  [[nodiscard]] Actions abort(ErrorCode code, const std::string& reason);

  Setup setup_;
  Commit current_;
  std::vector<Shuffler> shufflers_;
  State state_ = State::Opening;
  std::set<SiloId> handed_over_;  // in this attempt
  std::set<SiloId> left_out_;     // in this attempt: said so, and did not show it
  std::set<SiloId> lost_;
  std::optional<folds::Gathered> gathered_;
  TimePoint due_{};
  bool delivered_ = false;
};

}  // namespace undertone::coordinator
