#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "shared/algorithms/frank_wolfe/vertex_choice.hpp"

namespace undertone::algorithms {
namespace {

/// What of the vertices meets the noise: max over v of ||v||_2^2 and of ||v||_inf.
struct VertexLengths {
  double squared = 0.0;
  double largest = 0.0;
};

VertexLengths lengths_of(const geometry::Vertices& vertices) {
  if (vertices.l1_radius() || vertices.simplex_scale()) return {vertices.unit() * vertices.unit(), vertices.unit()};
  VertexLengths out;
  for (Eigen::Index j = 0; j < vertices.count(); ++j) {
    const Eigen::VectorXd vertex = vertices.vertex(j);
    out.squared = std::max(out.squared, vertex.squaredNorm());
    out.largest = std::max(out.largest, vertex.lpNorm<Eigen::Infinity>());
  }
  return out;
}

/// The noise on a coordinate of one silo's part of the weighted mean.
struct PartNoise {
  double stddev = 0.0;
  bool laplace = false;
};

std::vector<PartNoise> noise_of(std::span<const WeighedPlan> silos) {
  std::vector<PartNoise> out;
  for (const WeighedPlan& silo : silos) {
    for (const planning::Plan::Segment& segment : silo.plan->segments()) {
      const planning::Release& release = segment.release;
      if (release.ask.kind() != releases::QuestionKind::Gradient || release.ask.selects()) continue;
      out.push_back({silo.share * release.noise_stddev_of_mean(),
                     std::holds_alternative<mechanisms::LaplaceLattice>(release.mechanism)});
      break;
    }
  }
  return out;
}

/// At least ln E exp(t <v, noise>) of every vertex. Gaussian noise of this variance: t^2 s^2 ||v||^2/2. Of a Laplace
/// coordinate of scale b = s/sqrt 2, times v_j: -ln(1 - t^2 b^2 v_j^2), and as -ln(1 - u)/u grows with u, the sum over
/// j is at most -ln(1 - t^2 b^2 max v_j^2) ||v||^2/max v_j^2.
double cumulant_max(const VertexLengths& lengths, std::span<const PartNoise> parts, double t) {
  double out = 0.0;
  for (const PartNoise& part : parts) {
    const double variance = part.stddev * part.stddev;
    if (!part.laplace) {
      out += 0.5 * t * t * variance * lengths.squared;
      continue;
    }
    const double largest = 0.5 * t * t * variance * lengths.largest * lengths.largest;
    if (largest >= 1.0) return std::numeric_limits<double>::infinity();
    out += -std::log1p(-largest) * lengths.squared / (lengths.largest * lengths.largest);
  }
  return out;
}

class NoisedVector final : public VertexChoice {
 public:
  [[nodiscard]] std::string_view name() const override { return "vector"; }
  [[nodiscard]] std::string_view about() const override {
    return "in every step the best vertex for the mean of the silos' noised gradients";
  }
  [[nodiscard]] MethodTraits traits() const override {
    MethodTraits traits;
    traits.shuffled = false;
    traits.clip_exponent = std::numeric_limits<double>::infinity();
    traits.linear_models = true;
    return traits;
  }
  [[nodiscard]] releases::Ask ask(const GradientShape& shape, const geometry::Vertices& vertices,
                                  std::uint64_t /*round*/, std::uint32_t /*silos*/) const override {
    return shape.gradient(vertices.dimension());
  }
  [[nodiscard]] Result<VertexTally> votes(const folds::Gathered& gathered, const geometry::Vertices& vertices,
                                          const std::vector<Eigen::Index>& /*nominated*/,
                                          std::uint64_t /*round*/) const override {
    const auto* mean = std::get_if<folds::Mean>(&gathered.value);
    if (mean == nullptr || gathered.size() != vertices.dimension() || !gathered.mean().allFinite()) {
      return Error{ErrorCode::Internal,
                   fmt::format("private Frank-Wolfe expected a mean of {} numbers, was told {}", vertices.dimension(),
                               mean == nullptr ? std::string("votes") : fmt::format("{}", gathered.size()))};
    }
    return VertexTally{{vertices.minimiser(gathered.mean()), 1.0}};
  }

  /// E max over v of <v, noise> <= inf over t > 0 of (ln m + cumulant)/t; Gaussian, max ||v|| s sqrt(2 ln m). The noise
  /// is fresh, so that <v*, noise> of the best vertex v* has mean 0, and s, the best for gradient plus noise, is behind
  /// it by <v* - s, noise> at most. Source: spec constraint-geometry 4.2 (A), non-euclidean 3.2 A and C.
  [[nodiscard]] double step_error(const geometry::Vertices& vertices,
                                  std::span<const WeighedPlan> silos) const override {
    const VertexLengths lengths = lengths_of(vertices);
    const std::vector<PartNoise> parts = noise_of(silos);
    double variance = 0.0;
    double loudest = 0.0;  // b of the loudest Laplace part
    for (const PartNoise& part : parts) {
      variance += part.stddev * part.stddev;
      if (part.laplace) loudest = std::max(loudest, part.stddev / std::sqrt(2.0));
    }
    if (variance == 0.0) return 0.0;
    const double log_count = std::log(static_cast<double>(vertices.count()));
    const double gaussian = std::sqrt(2.0 * log_count / (variance * lengths.squared));  // the best t
    if (loudest == 0.0) return std::sqrt(2.0 * log_count * variance * lengths.squared);
    // (ln m + K(t))/t has one least point, as K is convex and 0 at 0; every t on the way bounds the error.
    const auto bound = [&](double t) { return (log_count + cumulant_max(lengths, parts, t)) / t; };
    const double most = std::min(gaussian, 1.0 / (loudest * lengths.largest));
    constexpr int kBits = 26;  // half of a double's: beyond them the bound is flat
    return boost::math::tools::brent_find_minima(bound, 1e-9 * most, most, kBits).second;
  }
};

}  // namespace

const VertexChoice& choose_by_vector() {
  static const NoisedVector vector;
  return vector;
}

}  // namespace undertone::algorithms
