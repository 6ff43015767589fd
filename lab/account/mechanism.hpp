#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/accounting/accountant.hpp"
#include "shared/base/result.hpp"

namespace undertone::lab {

enum class Adjacency : std::uint8_t { ReplaceOne, AddRemove };

enum class MechanismKind : std::uint8_t {
  Gaussian,
  DiscreteGaussian,
  Laplace,
  Exponential,
  RandomisedResponse,
  Approximate,
  GeneralisedGaussian,
  Zcdp
};

/// A part of a release with a sensitivity and noise of its own.
struct BlockText {
  std::optional<double> sigma;
  std::optional<double> sensitivity;
  std::optional<double> clip;
};

/// A release as a person describes it: what a calculator's command line or one entry of a file says.
struct MechanismText {
  MechanismKind kind = MechanismKind::Gaussian;
  std::optional<double> sigma;        // noise standard deviation, in the unit of the sensitivity
  std::optional<double> scale;        // of Laplace and generalised Gaussian noise
  std::optional<double> sensitivity;  // of the release under the declared adjacency
  std::optional<double> clip;         // or the norm that each record is clipped to
  std::optional<double> epsilon;      // of one release
  std::optional<double> delta;        // of one release
  std::optional<double> rho;          // of one release
  double norm = 2.0;                  // p of a generalised Gaussian
  std::vector<BlockText> blocks;      // of Gaussian noise, instead of one sigma and sensitivity
  std::string sampling = "none";
  std::uint64_t steps = 1;
  accounting::Footprint reads;
};

/// The event of one release, with every number checked. @param sigma stands in for the text's: for calibration
/// @return an error that names the parameter
[[nodiscard]] Result<accounting::PrivacyEvent> event_of(const MechanismText& text, Adjacency adjacency,
                                                        std::optional<double> sigma = {});

/// The sensitivity that the text states, or that its clip norm has under the adjacency.
[[nodiscard]] Result<double> sensitivity_of(const MechanismText& text, Adjacency adjacency);

[[nodiscard]] Result<MechanismKind> parse_mechanism(const std::string& name);

}  // namespace undertone::lab
