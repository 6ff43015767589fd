#include "shared/mechanisms/local_reports/vector_noise.hpp"

#include "shared/mechanisms/laplace_sum/laplace_sum.hpp"

namespace undertone::mechanisms {

Result<VectorNoise> VectorNoise::create(releases::GaussianShift shift, Eigen::Index dimension, std::uint32_t copies) {
  if (dimension < 1 || copies < 1 || dimension > kNumbersMax / copies) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{} copies of {} numbers: a record reports at most {}", copies, dimension, kNumbersMax)};
  }
  // Each coordinate of each copy is cut toward zero to a unit; the copies of a record are cut alike.
  UNDERTONE_TRY(const GaussianLattice lattice,
                gaussian_values(2.0 * std::sqrt(static_cast<double>(copies)), shift, dimension * copies, 1));
  return VectorNoise(lattice, dimension, copies);
}

void VectorNoise::add(const Eigen::Ref<const Eigen::VectorXd>& vector, std::span<std::int64_t> out) const {
  const auto units = static_cast<double>(lattice_.lattice.clip);
  const double factor = std::ldexp(lattice_.lattice.step, -kValueStepLog2);
  // Cut to a length of 1 here, so that the cost does not rest on who computed the vector.
  const double length = std::max(vector.norm(), 1.0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double number = vector[static_cast<Eigen::Index>(i) % dimension_] / length;
    const auto own = std::isfinite(number) ? static_cast<std::int64_t>(std::clamp(number, -1.0, 1.0) * units) : 0;
    const double noised = std::nearbyint(static_cast<double>(own + out[i]) * factor);
    out[i] = std::clamp(static_cast<std::int64_t>(std::clamp(noised, -0x1p60, 0x1p60)), -kLargest, kLargest);
  }
}

}  // namespace undertone::mechanisms
