#include "verifier/clones_bound.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "verifier/gaussian_profile.hpp"
#include "verifier/sampled_profile.hpp"

namespace undertone::verifier {
namespace {

using Real = long double;

constexpr std::uint64_t kOthersMax = 100'000;
constexpr Real kEpsilonMax = 50;
constexpr Real kNegligible = 1e-45L;
constexpr Real kSumsError = 1e-9L;  // relative, of sums of lgamma and of ten thousands of products
constexpr std::size_t kCorners = 600;

/// Tells the probabilities of Bin(trials, chance) from `from` on, up or down, until they are negligible.
/// @return at least what was not told in this direction
template <class Told>
Real tell(Real trials, Real chance, Real from, bool up, Told told) {
  const Real log_ways = std::lgamma(trials + 1) - std::lgamma(from + 1) - std::lgamma(trials - from + 1);
  Real mass = std::exp(log_ways + from * std::log(chance) + (trials - from) * std::log1p(-chance));
  const Real odds = chance / (1 - chance);
  for (Real count = from; count >= 0 && count <= trials;) {
    const Real ratio = up ? (trials - count) / (count + 1) * odds : count / ((trials - count + 1) * odds);
    // Ratios fall on the way out, so that the rest is less than a geometric series.
    if (mass < kNegligible && ratio < 1) return mass / (1 - ratio);
    told(count, mass);
    mass *= ratio;
    count += up ? 1 : -1;
  }
  return 0;
}

/// Masses of the losses between two corners, by the corner below.
struct Masses {
  std::vector<Real> first = std::vector<Real>(kCorners + 1, 0);
  std::vector<Real> second = std::vector<Real>(kCorners + 1, 0);
  Real omitted = 0;
};

Real corner_loss(std::size_t index, Real largest) {
  const Real part = static_cast<Real>(index) / kCorners;
  return largest * part * part;
}

/// Adds what a number of clones does, for all losses above 0: ones of its clones + 1 messages, more than half of them.
void add_clones(Real clones, Real mass, const Mixing& mixing, Masses& masses) {
  const Real likely = 1 / (1 + std::exp(-mixing.record_epsilon));
  const Real unlikely = std::exp(-mixing.record_epsilon) * likely;
  const auto add = [&](Real ones, Real one_more_clone) {
    // By D = 1 from one clone less, of which there are ones / (clones - ones + 1) times as many, or by D = 0.
    const Real one_less = one_more_clone * ones / (clones - ones + 1);
    const Real first = mass * (likely * one_less + unlikely * one_more_clone);
    const Real second = mass * (unlikely * one_less + likely * one_more_clone);
    if (!(first > second)) return;
    const Real place = std::sqrt(std::log(first / second) / mixing.record_epsilon) * kCorners;
    const auto corner = static_cast<std::size_t>(std::clamp<Real>(std::ceil(place) - 1, 0, kCorners - 1));
    masses.first[corner] += first;
    masses.second[corner] += second;
  };
  masses.omitted += mass * tell(clones, 0.5L, std::floor(clones / 2), true, add);
  // All clones are ones and so is the message itself.
  const Real all = mass * std::exp2(-clones);
  masses.first[kCorners - 1] += all * likely;
  masses.second[kCorners - 1] += all * unlikely;
}

}  // namespace

std::optional<Polygon> mixed_profile(const Mixing& mixing) {
  const auto sound = [](Real epsilon) { return epsilon > 0 && epsilon <= kEpsilonMax; };
  if (mixing.others > kOthersMax || !sound(mixing.record_epsilon) || !sound(mixing.silo_epsilon)) return std::nullopt;
  const auto others = static_cast<Real>(mixing.others);
  const Real chance = std::exp(-mixing.silo_epsilon);
  const Real middle = std::floor(others * chance);
  Masses masses;
  const auto add = [&](Real clones, Real mass) { add_clones(clones, mass, mixing, masses); };
  masses.omitted += tell(others, chance, middle, false, add);
  if (middle < others) masses.omitted += tell(others, chance, middle + 1, true, add);
  Polygon corners(kCorners + 1);
  Real first = 0;
  Real second = 0;
  for (std::size_t i = kCorners + 1; i-- > 0;) {
    first += masses.first[i];
    second += masses.second[i];
    const Real loss = corner_loss(i, mixing.record_epsilon);
    corners[i] = {loss, std::max<Real>(0, first - std::exp(loss) * second) * (1 + kSumsError) + masses.omitted};
  }
  return corners;
}

Real mixed_variation(const Mixing& mixing, const MixedReports& reports) {
  const Real rate = static_cast<Real>(reports.drawn) / static_cast<Real>(reports.population);
  const Real record = rate * gaussian_profile(std::log1p(std::expm1(mixing.record_epsilon) / rate), reports.mu);
  const Real silo = gaussian_profile(mixing.silo_epsilon, reports.mu * static_cast<Real>(reports.drawn));
  return record / (1 + std::exp(mixing.record_epsilon)) +
         static_cast<Real>(mixing.others) * silo * std::exp(-mixing.silo_epsilon);
}

std::optional<Real> mixed_delta(const Mixing& mixing, std::uint64_t rounds, Real epsilon) {
  std::optional<Polygon> profile = mixed_profile(mixing);
  if (!profile) return std::nullopt;
  return profile_delta(std::make_shared<PolygonProfile>(*std::move(profile)), rounds, epsilon);
}

}  // namespace undertone::verifier
