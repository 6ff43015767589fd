#include "verifier/tilted_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace undertone::verifier {
namespace {

using Complex = std::complex<double>;

/// Allowance for errors of a transform: root mean square over the frequencies, per doubling of the length, where the
/// squares of the values add up to 1. At most a tenth of it is seen.
constexpr double kFrequencyError = 16 * std::numeric_limits<double>::epsilon();

/// Without scaling; the length is a power of two.
void transform(std::vector<Complex>& values) {
  const std::size_t length = values.size();
  for (std::size_t i = 1, reversed = 0; i < length; ++i) {
    std::size_t bit = length >> 1;
    for (; reversed & bit; bit >>= 1) reversed ^= bit;
    reversed ^= bit;
    if (i < reversed) std::swap(values[i], values[reversed]);
  }
  std::vector<Complex> roots(length / 2);
  for (std::size_t half = 1; half < length; half *= 2) {
    for (std::size_t i = 0; i < half; ++i) {
      roots[i] = std::polar(1.0, -std::numbers::pi * static_cast<double>(i) / static_cast<double>(half));
    }
    for (std::size_t start = 0; start < length; start += 2 * half) {
      for (std::size_t i = start; i < start + half; ++i) {
        const Complex turned = values[i + half] * roots[i - start];
        values[i + half] = values[i] - turned;
        values[i] += turned;
      }
    }
  }
}

/// Adds to values[0], values[1], ... and, from the end, to what stands for -1, -2, ...
void place(const LossLaw& law, long double tilt, long double step, Complex part, std::vector<Complex>& values) {
  const long double moment = law.log_moment(tilt);
  const auto add = [&](long double loss, long double mass, long double exponent) {
    const auto index = static_cast<std::size_t>(std::llround(loss / step)) & (values.size() - 1);
    values[index] += part * static_cast<double>(mass * std::exp(exponent - moment));
  };
  add(0, law.at_zero, 0);
  for (const auto& [loss, mass] : law.atoms) {
    add(loss, mass, (1 + tilt) * loss);
    add(-loss, mass, -tilt * loss);
  }
}

/// The transform of a sum, up to the middle frequency, of which the others are the conjugates.
struct Spectrum {
  std::vector<Complex> values;
  double slope_squares = 0;  // of the powers: how much an error of a frequency grows

  void multiply(std::size_t frequency, Complex base, double exponent) {
    const double log_size = std::log(std::max(std::abs(base), 1e-300));
    const double slope = exponent * std::exp((exponent - 1) * log_size);
    slope_squares += slope * slope;
    values[frequency] *= std::polar(std::exp(exponent * log_size), exponent * std::arg(base));
  }
};

}  // namespace

TiltedSums tilted_sums(const std::vector<SampledRelease>& releases, const std::vector<LossLaw>& above,
                       const std::vector<LossLaw>& below, long double tilt, long double step, std::size_t points) {
  const std::size_t middle = points / 2;
  Spectrum real{std::vector<Complex>(middle + 1, 1)};
  Spectrum imaginary = real;
  std::vector<Complex> values;
  for (std::size_t i = 0; i < releases.size(); ++i) {
    values.assign(points, 0);
    place(above[i], tilt, step, {1, 0}, values);
    place(below[i], tilt, step, {0, 1}, values);
    transform(values);
    const auto rounds = static_cast<double>(releases[i].rounds);
    for (std::size_t f = 0; f <= middle; ++f) {
      const Complex mirrored = std::conj(values[(points - f) % points]);
      real.multiply(f, 0.5 * (values[f] + mirrored), rounds);
      imaginary.multiply(f, Complex(0, -0.5) * (values[f] - mirrored), rounds);
    }
  }
  for (std::size_t f = 0; f <= middle; ++f) {  // conjugates, to transform back
    values[(points - f) % points] = real.values[f] - Complex(0, 1) * imaginary.values[f];
    values[f] = std::conj(real.values[f] + Complex(0, 1) * imaginary.values[f]);
  }
  transform(values);
  const auto scale = static_cast<double>(points);
  for (Complex& value : values) value = std::conj(value) / scale;
  const double growth = 2 * (real.slope_squares + imaginary.slope_squares) * static_cast<double>(releases.size());
  const auto doublings = static_cast<double>(std::bit_width(points));
  return {std::move(values), kFrequencyError * doublings * std::sqrt(growth / scale)};
}

}  // namespace undertone::verifier
