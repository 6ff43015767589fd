#include "shared/statistics/moment_checks.hpp"

#include <cmath>

namespace undertone::statistics {

Status check_moments(const std::vector<SiloMoments>& silos, bool squares) {
  if (silos.empty()) return Error{ErrorCode::InvalidArgument, "moments: expected those of one silo or more"};
  double weights = 0.0;
  std::size_t place = 0;
  for (const SiloMoments& silo : silos) {
    const auto refused = [&](std::string_view what) {
      return Error{ErrorCode::InvalidArgument, fmt::format("moments of silo {}: {}", place, what)};
    };
    if (!std::isfinite(silo.mean.value)) return refused(fmt::format("the mean is {}", silo.mean.value));
    if (silo.square && !std::isfinite(silo.square->value))
      return refused(fmt::format("the mean square is {}", silo.square->value));
    if (squares && !silo.square) return refused("expected a mean square, there is none");
    if (silo.records < (squares ? 2 : 1))
      return refused(fmt::format("expected {} records or more, got {}", squares ? 2 : 1, silo.records));
    if (!(std::isfinite(silo.weight) && silo.weight > 0.0))
      return refused(fmt::format("expected a finite weight > 0, got {}", silo.weight));
    weights += silo.weight;
    ++place;
  }
  if (std::abs(weights - 1.0) <= 1e-9) return {};
  return Error{ErrorCode::InvalidArgument, fmt::format("moments: the silos' weights sum to {}, not to 1", weights)};
}

}  // namespace undertone::statistics
