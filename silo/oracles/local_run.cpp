#include "silo/oracles/local_run.hpp"

namespace undertone::silo {

std::vector<std::int64_t> local_run(const Eigen::VectorXd& start, const planning::Release& release,
                                    const models::Records& block, const queries::WireLattice& wire, RecordSums& sums,
                                    ReleaseStream& stream) {
  const mechanisms::GaussianLattice& gaussian = std::get<mechanisms::GaussianLattice>(release.mechanism);
  UNDERTONE_CHECK(release.ask.local() && release.records_drawn == 1 && release.population == block.count());
  const double scale = release.ask.local()->step_size * gaussian.lattice.step;
  Eigen::VectorXd iterate = start;
  std::vector<std::int64_t> gradient(static_cast<std::size_t>(start.size()));
  std::vector<std::int64_t> noise(gradient.size());
  for (std::uint64_t step = 0; step < release.ask.local()->steps; ++step) {
    const auto drawn = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(release.population)));
    sums.gradients(iterate, gaussian.lattice, {block, {&drawn, 1}}, gradient);
    stream.fill_gaussian(gaussian.log2_stddev, noise);
    for (std::size_t j = 0; j < gradient.size(); ++j)
      iterate[static_cast<Eigen::Index>(j)] -= scale * static_cast<double>(gradient[j] + noise[j]);
  }
  return queries::to_wire(iterate, wire);
}

}  // namespace undertone::silo
