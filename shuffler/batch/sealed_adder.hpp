#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shared/sealed/sealing_key.hpp"
#include "shuffler/batch/adder.hpp"

namespace undertone::shuffler {

/// Adds shares that were sealed to a shuffler's own key, for the batch's run, round, query and length.
/// It reads every share: a silo's counts where there is one adder, uniform words where there are two.
/// @see sealed::adder_mac_key, sealed::ShareModulus
class SealedAdder final : public Adder {
 public:
  explicit SealedAdder(sealed::SealingKey key) : key_(std::move(key)) {}
  /// @return a BadShare also for a share that came before in the batch, under another silo's name
  [[nodiscard]] Total add(const BatchSpec& spec, const std::vector<std::string>& sealed) override;

 private:
  sealed::SealingKey key_;
};

}  // namespace undertone::shuffler
