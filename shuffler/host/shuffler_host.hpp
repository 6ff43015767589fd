#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/line_budget.hpp"
#include "shared/net/listener.hpp"
#include "shared/net/session.hpp"
#include "shuffler/batch/batch_gate.hpp"
#include "shuffler/batch/batch_machine.hpp"
#include "shuffler/batch/batch_store.hpp"
#include "shuffler/host/deadlines.hpp"
#include "shuffler/host/shuffler_config.hpp"

namespace undertone::shuffler {

/// What it tells peers and people that it is.

/// Sockets and a clock around the batch machine. Silos and the coordinator dial in; the newest session of each stands.
///
/// Whoever reads its log, now or later, learns nothing of who sent what and when: of silos there are lines only for a
/// connection that was refused or whose certificate ended, never for a session that began or ended, a message, or what
/// was said to it. A batch has lines when it is opened, collected, forwarded or failed, with counts alone. There are no
/// metrics. There are two exceptions, since somebody must mend it: the silo whose share could not be opened and made
/// its batch fail, and those that were left out of a batch since theirs were made for other terms, are named. What else
/// a silo did wrong it is told itself, and its own log says it.
class ShufflerHost {
 public:
  /// What the host works with; all of it outlives the host.
  struct Parts {
    BatchStore& store;
    Permuter& permuter;
    Adder& adder;
    Digest public_key{};  // what shares for this shuffler are sealed to
  };
  ShufflerHost(boost::asio::io_context& context, const ShufflerConfig& config, const Parts& parts);

  /// Binds, goes on with what the store holds and begins to accept. @return the port
  [[nodiscard]] Result<std::uint16_t> start();
  /// Stops accepting and lets every session say what it has to say. No event is taken from here on.
  void stop();

  /// An error that stopped the host itself: its store failed. What is on disk may be less than what it holds, so it
  /// must not go on: another process starts from the disk.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  using SessionPtr = std::shared_ptr<net::Session>;
  [[nodiscard]] boost::asio::awaitable<void> accept();
  [[nodiscard]] boost::asio::awaitable<void> serve(SessionPtr session);
  [[nodiscard]] boost::asio::awaitable<Result<certificates::Party>> greet(SessionPtr session);
  [[nodiscard]] boost::asio::awaitable<void> serve_silo(SessionPtr session, SiloId silo);
  /// Whether a batch waits for a large vector of the silo; else the silo is told why not.
  [[nodiscard]] bool expects(const SiloId& silo, const wire::VectorHeader& header);
  [[nodiscard]] boost::asio::awaitable<void> serve_coordinator(SessionPtr session, std::string name);
  /// Renewed certificates and revocations, warnings before expiry.
  [[nodiscard]] boost::asio::awaitable<void> keep_house();

  /// @return whether it is something that a coordinator says to a shuffler
  [[nodiscard]] bool take(wire::Message message);
  void take(const wire::JobOffer& offer);
  void take(const wire::BatchOpen& open);

  void carry_out(std::vector<BatchMachine::Action> actions);
  void carry_out(BatchMachine::Store& store);
  void carry_out(BatchMachine::Opened& opened);
  void carry_out(BatchMachine::RefuseBatch& refused);
  void carry_out(BatchMachine::Collected& collected);
  void carry_out(BatchMachine::Forward& forward);
  void carry_out(BatchMachine::Failed& failed);
  void carry_out(BatchMachine::ShareRefused& refused);
  void carry_out(BatchMachine::TermsDiffer& differing);
  void carry_out(BatchMachine::Acknowledge& acknowledged);
  void carry_out(BatchMachine::Refuse& refused);
  void carry_out(BatchMachine::ArmDeadline& armed);
  void tell_coordinator(const wire::Message& message);
  void tell(const SiloId& silo, const wire::Message& message);

  boost::asio::io_context* context_;
  ShufflerConfig config_;
  BatchStore* store_;
  BatchMachine machine_;
  BatchGate gate_;
  std::optional<net::Credentials> credentials_;
  std::shared_ptr<net::AssemblyGate> assembly_gate_;
  net::Listener listener_;
  LineBudget refusals_;
  Deadlines deadlines_;
  boost::asio::steady_timer housekeeping_;
  std::map<SiloId, SessionPtr> silos_;
  SessionPtr coordinator_;  // may be null
  std::optional<Error> failure_;
  bool stopped_ = false;
};

}  // namespace undertone::shuffler
