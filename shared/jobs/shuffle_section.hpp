#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/base/digest.hpp"
#include "shared/config/json_section.hpp"

namespace undertone::jobs {

/// How a job's private replies reach the coordinator: through shufflers, which hide who said what.
struct Shuffle {
  /// What crosses. Reports: each silo's noised sum, sealed to the coordinator, mixed unread. The others are one
  /// binomial vector sum in three encodings, which give the coordinator the same numbers. Bits: one sealed message for
  /// each bit, mixed unread. Counts: a silo's counts, sealed to a shuffler that is trusted to read and add them.
  /// Shares: counts as additive shares, for two shufflers that do not collude, each of which sees uniform noise.
  enum class Form : std::uint8_t { Reports, Bits, Counts, Shares };
  struct Party {
    std::string name;  // the CN of its certificate
    Digest key{};      // X25519 public key that it opens with, where it adds; else zero
  };

  Form form = Form::Shares;
  std::vector<Party> shufflers;  // two for Shares, else one
  Digest coordinator_key{};      // fingerprint of the key that replies are sealed to, where they are mixed; else zero
  std::size_t honest_min = 1;    // silos in any closed batch that neither collude nor leave out their noise

  /// Whether shufflers open what they get and add it up, rather than mix it unread.
  [[nodiscard]] bool adds() const noexcept { return form == Form::Counts || form == Form::Shares; }
  [[nodiscard]] const Party* party(std::string_view name) const;
};

/// "reports", "bits", "counts", "shares"
[[nodiscard]] std::string_view to_string(Shuffle::Form form) noexcept;

/// A job's "privacy.shuffle".
[[nodiscard]] Shuffle parse_shuffle(config::Section section);

}  // namespace undertone::jobs
