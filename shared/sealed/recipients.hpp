#pragma once

#include <string_view>
#include <vector>

#include "shared/jobs/shuffle_section.hpp"
#include "shared/sealed/adder_mac_key.hpp"
#include "shared/sealed/reply_mac_key.hpp"
#include "shared/sealed/sealing_key.hpp"

namespace undertone::sealed {

/// Who opens a run's units: one key for each shuffler of the job, in the job's order. Where replies are mixed it is the
/// coordinator's; else it is the shuffler's own.
struct Recipients {
  std::vector<sealed::SealingPublicKey> keys;
  sealed::ReplyMacKey mac_key;
};

/// Of counts and shares. @return an error where a shuffler's key in the job is none
[[nodiscard]] Result<Recipients> adders_of(const jobs::Shuffle& shuffle, const RunId& run);
/// Of bits and reports. @param public_key, mac_key what the coordinator told the silo
/// @return an error unless the job holds the fingerprint of this very key
[[nodiscard]] Result<Recipients> coordinator_of(const jobs::Shuffle& shuffle, std::string_view public_key,
                                                std::string_view mac_key);

}  // namespace undertone::sealed
