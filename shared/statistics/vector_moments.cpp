#include "shared/statistics/vector_moments.hpp"

#include <cmath>

namespace undertone::statistics {

Eigen::Index moments_dimension(Eigen::Index released) noexcept {
  for (Eigen::Index d = 1; d + d * (d + 1) / 2 <= released; ++d)
    if (d + d * (d + 1) / 2 == released) return d;
  return 0;
}

Result<VectorMoments> unpack_moments(const Eigen::VectorXd& released, std::int64_t records, double noise_stddev) {
  const Eigen::Index d = moments_dimension(released.size());
  if (d == 0 || !released.allFinite() || records < 1 || !(noise_stddev > 0.0 && std::isfinite(noise_stddev))) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("moments of a vector: expected d + d (d + 1) / 2 finite numbers over one record or more "
                             "with a noise stddev > 0, got {} over {} with {}",
                             released.size(), records, noise_stddev)};
  }
  const auto square = static_cast<double>(d);  // R^2
  const double radius = std::sqrt(square);
  VectorMoments out;
  out.records = records;
  out.first = radius * released.head(d);
  out.second.resize(d, d);
  Eigen::Index place = d;
  for (Eigen::Index j = 0; j < d; ++j) {
    for (Eigen::Index k = j; k < d; ++k, ++place) {
      // kappa = 1 / sqrt(2), and svec has sqrt(2) off the diagonal.
      const double factor = square * (j == k ? std::sqrt(2.0) : 1.0);
      out.second(j, k) = out.second(k, j) = factor * released[place];
    }
  }
  out.first_stddev = radius * noise_stddev;
  out.cross_stddev = square * noise_stddev;
  return out;
}

}  // namespace undertone::statistics
