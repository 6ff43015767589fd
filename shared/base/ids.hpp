#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/digest.hpp"
#include "shared/base/result.hpp"

namespace undertone {

/// A silo's public name: 1 to 64 of [a-z0-9-]. It is the common name of the silo's certificate.
class SiloId {
 public:
  [[nodiscard]] static Result<SiloId> create(std::string_view name);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  friend auto operator<=>(const SiloId&, const SiloId&) = default;

 private:
  explicit SiloId(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

/// Position of a query in its run, from 0. The r-th query asks for the r-th release of the plan.
struct RoundIndex {
  std::uint64_t value = 0;
  [[nodiscard]] RoundIndex next() const noexcept { return RoundIndex{value + 1}; }
  friend auto operator<=>(const RoundIndex&, const RoundIndex&) = default;
};

using Nonce = std::array<std::uint8_t, 16>;

/// One execution of a job: the job's identity and a nonce that the coordinator drew, so that a file can be run again.
struct RunId {
  static constexpr std::size_t kBytes = 48;
  Digest job{};
  Nonce nonce{};

  [[nodiscard]] std::string bytes() const;
  [[nodiscard]] std::string hex() const;
  [[nodiscard]] static Result<RunId> from_bytes(std::string_view bytes);
  [[nodiscard]] static Result<RunId> from_hex(std::string_view hex);
  friend auto operator<=>(const RunId&, const RunId&) = default;
};

}  // namespace undertone
