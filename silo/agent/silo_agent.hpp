#pragma once

#include <memory>
#include <vector>

#include "silo/agent/silo_machine.hpp"

namespace undertone::silo {

/// All data sets of an institution behind one name: sends each message to the machine of the data set that it is about.
/// A job goes to the first data set, in the configuration's order, that the policy lets take part in it.
/// Where there is none, the nearest one refuses it, with the reasons of all.
class SiloAgent {
 public:
  /// @param machines at least one
  explicit SiloAgent(std::vector<std::unique_ptr<SiloMachine>> machines);

  [[nodiscard]] std::vector<Action> on_message(const wire::Message& message);
  /// Whether answering would take so little that a thread of its own is not worth its wake-up: at most about 10^5
  /// products.
  [[nodiscard]] bool answers_quickly(const wire::Message& message) const;
  /// In words: why some data set is not answered about, whatever is asked; empty where there is none.
  [[nodiscard]] std::string unable() const;
  /// Writes what could not be written before, if it can be now: nobody may ask for a long time.
  void make_whole();
  /// The machine whose ledger knows the run, else null.
  [[nodiscard]] SiloMachine* machine_of(const RunId& run) const;
  [[nodiscard]] const std::vector<std::unique_ptr<SiloMachine>>& machines() const noexcept { return machines_; }

 private:
  [[nodiscard]] std::vector<Action> on(const wire::JobOffer& offer);
  std::vector<std::unique_ptr<SiloMachine>> machines_;
};

}  // namespace undertone::silo
