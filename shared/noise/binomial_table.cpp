#include "shared/noise/binomial_table.hpp"

#include <bit>
#include <boost/multiprecision/cpp_bin_float.hpp>

namespace undertone::noise {
namespace {

template <unsigned Bits>
using Float =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<Bits, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;

/// The law around its mode, with weights as parts of the mode's; beyond it lies less than 2^-(bits) of all.
template <class Real>
struct Weights {
  std::int64_t low = 0;
  std::vector<Real> weights;
  Real total = 0;
};

/// Every weight and their sum have a relative error below (5 weights + 2) units of the last place.
template <class Real>
Weights<Real> weights_of(std::int64_t trials, Rational p, int bits) {
  const std::uint64_t heads = p.numerator;
  const std::uint64_t tails = p.denominator - p.numerator;
  const auto mode = std::min<std::int64_t>(
      trials, static_cast<std::int64_t>(releases::UInt128{heads} * (static_cast<releases::UInt128>(trials) + 1) /
                                        p.denominator));
  // A weight of 2^-(bits + 40) is followed by at most n <= 2^34 smaller ones.
  const Real least = ldexp(Real(1), -(bits + 40));
  std::vector<Real> below;
  Real weight = 1;
  for (std::int64_t x = mode; x > 0; --x) {  // P[x - 1] / P[x] = x (1 - p) / ((n - x + 1) p): products below 2^51
    weight *= static_cast<std::uint64_t>(x) * tails;
    weight /= static_cast<std::uint64_t>(trials - x + 1) * heads;
    if (weight < least) break;
    below.push_back(weight);
  }
  Weights<Real> out;
  out.low = mode - static_cast<std::int64_t>(below.size());
  out.weights.assign(below.rbegin(), below.rend());
  out.weights.push_back(Real(1));
  weight = 1;
  for (std::int64_t x = mode; x < trials; ++x) {
    weight *= static_cast<std::uint64_t>(trials - x) * heads;
    weight /= static_cast<std::uint64_t>(x + 1) * tails;
    if (weight < least) break;
    out.weights.push_back(weight);
  }
  for (const Real& one : out.weights) out.total += one;
  return out;
}

}  // namespace

Result<BinomialTable> BinomialTable::create(std::int64_t trials, Rational p) {
  if (trials < 1 || trials > kTrialsMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("a binomial table is for 1 .. {} coins, got {}", kTrialsMax, trials)};
  }
  if (p.numerator < 1 || p.denominator > (std::uint64_t{1} << 16U) || p.numerator >= p.denominator) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a coin's probability must be in (0, 1), of a denominator of at most 65536, got {}/{}",
                             p.numerator, p.denominator)};
  }
  return BinomialTable(trials, p);
}

BinomialTable::BinomialTable(std::int64_t trials, Rational p) : trials_(trials), p_(p) {
  // 256 bits: with at most 2^24 weights every boundary has an error below 2^-225, far below the unit of 2^-128. What is
  // cut off is below 2^-132.
  const Weights<Float<256>> law = weights_of<Float<256>>(trials, p, 132);
  low_ = law.low;
  const releases::UInt128 last = ~releases::UInt128{0};
  const Float<256> scale = ldexp(Float<256>(1), 64) / law.total;
  Float<256> sum = 0;
  first_.reserve(law.weights.size() + 1);
  second_.reserve(law.weights.size() + 1);
  for (const Float<256>& weight : law.weights) {
    const Float<256> at = sum * scale;
    const Float<256> upper = floor(at);
    const Float<256> lower = floor(ldexp(Float<256>(at - upper), 64));
    const releases::UInt128 down =
        (releases::UInt128{upper.convert_to<std::uint64_t>()} << 64U) | lower.convert_to<std::uint64_t>();
    if (down >= last - 8) break;
    first_.push_back(static_cast<std::uint64_t>((down + 2) >> 64U));
    second_.push_back(static_cast<std::uint64_t>(down + 2));
    sum += weight;
  }
  first_.push_back(static_cast<std::uint64_t>(last));  // at least 1 - 9 2^-128: less than kOpen away
  second_.push_back(static_cast<std::uint64_t>(last));

  const auto guide_bits = static_cast<unsigned>(std::bit_width(2 * first_.size()));
  guide_shift_ = 64 - guide_bits;
  guide_.resize(std::size_t{1} << guide_bits);
  std::uint32_t i = 0;
  for (std::size_t cell = 0; cell < guide_.size(); ++cell) {
    while (first_[i] < (static_cast<std::uint64_t>(cell) << guide_shift_)) ++i;
    guide_[cell] = i;
  }
}

std::int64_t BinomialTable::invert(std::span<const std::uint64_t> words) const {
  using Wide = Float<1200>;
  const Weights<Wide> law = weights_of<Wide>(trials_, p_, 1050);
  Wide u = 0;
  int bits = 0;
  for (const std::uint64_t word : words) {
    bits += 64;
    u += ldexp(Wide(word), -bits);
  }
  // The true U is in [u, u + 2^-1024); the law is known to better than 2^-1030.
  const Wide open = ldexp(Wide(1), -1000);
  Wide sum = 0;
  for (std::size_t i = 0; i < law.weights.size(); ++i) {
    sum += law.weights[i];
    const bool last = i + 1 == law.weights.size();
    const Wide left = sum / law.total - u;
    UNDERTONE_CHECK(last || left > open || left < -open);
    if (last || left > 0) return law.low + static_cast<std::int64_t>(i);
  }
  return trials_;
}

}  // namespace undertone::noise
