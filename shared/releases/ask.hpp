#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string_view>

#include "shared/releases/quantities.hpp"
#include "shared/releases/records.hpp"

namespace undertone::releases {

/// Which map of a record is added up. Source: spec README 2.1.
enum class QuestionKind : std::uint8_t { Gradient = 1, Metrics = 2, GradientDifference = 3, LocalRun = 4 };

/// "gradient", "metrics", "difference", "local_run"
[[nodiscard]] std::string_view to_string(QuestionKind kind) noexcept;

/// A silo's own noisy descent between two messages: each step reads one record, drawn afresh, and adds noise to its
/// clipped gradient; the iterate after the last one leaves. Source: federated-core 3.6.
struct LocalSteps {
  std::uint64_t steps = 1;  // K
  double step_size = 0.0;   // eta
};

/// What one release computes, before anybody has chosen its noise.
struct ReleaseShape {
  QuestionKind kind = QuestionKind::Gradient;
  Block block = Block::Training;
  double draw_fraction = 1.0;  // of the records that it may read: 1 is all of them, less is drawn afresh
  Eigen::Index dimension = 0;
  ClipNorm clip;
  std::optional<Slice> slice = {};  // without it the release reads the whole block
  /// Of differences of gradients at two points: a record's is clipped to min(clip, smoothness x the points' distance),
  /// and the noise is as much less. Public, never read off records. Source: federated-core 2, way 1.
  std::optional<double> smoothness = {};
  std::optional<LocalSteps> local = {};     // of a LocalRun, and of nothing else
  std::optional<GaussianShift> shift = {};  // of the noise, where a theorem or a person chose it: then it is checked
  /// The draw is a multiset, of so many independent uniform records, as the source's theorems have it; without it a
  /// subset. A record may then be in a sum more than once, and moves it as much more.
  bool with_replacement = false;
};

}  // namespace undertone::releases
