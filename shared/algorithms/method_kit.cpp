#include "shared/algorithms/method_kit.hpp"

#include <string>
#include <utility>
#include <vector>

#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

Status restore_vector(ByteReader& state, Eigen::VectorXd& vector) {
  const Result<std::vector<double>> saved = state.doubles();
  if (!saved) return saved.error();
  if (saved->size() != static_cast<std::size_t>(vector.size())) {
    return Error{ErrorCode::Malformed,
                 fmt::format("a saved vector has {} numbers, the job {}", saved->size(), vector.size())};
  }
  vector = Eigen::Map<const Eigen::VectorXd>(saved->data(), vector.size());
  return {};
}

}  // namespace

Step finished(Eigen::VectorXd weights) {
  Outcome outcome;
  outcome.vectors["weights"] = std::move(weights);
  return Finished{std::move(outcome)};
}

Step ask_gradient(std::uint64_t round, const Eigen::VectorXd& at) {
  return queries::Query{RoundIndex{round}, queries::GradientQuestion{at}};
}

Step ask_difference(std::uint64_t round, const Eigen::VectorXd& at, const Eigen::VectorXd& from) {
  Eigen::VectorXd points(2 * at.size());
  points << at, from;
  return queries::Query{RoundIndex{round}, queries::GradientDifferenceQuestion{std::move(points)}};
}

Status check_told(std::string_view algorithm, std::uint64_t round, std::uint64_t rounds, const Problem& problem,
                  const folds::Gathered& gathered) {
  if (gathered.round.value == round && round != rounds && problem.fits(gathered)) return {};
  return Error{ErrorCode::Internal, fmt::format("{} stands at round {}, was told of round {} in dimension {}",
                                                algorithm, round, gathered.round.value, gathered.size())};
}

Status check_converges(std::string_view algorithm, std::uint64_t round, const Problem& problem,
                       const Eigen::VectorXd& iterate) {
  if (problem.representable(iterate)) return {};
  return Error{ErrorCode::Internal, fmt::format("{} diverged in round {}: a smaller step is needed", algorithm, round)};
}

Status check_step(std::string_view algorithm, std::uint64_t round, const Eigen::VectorXd& from,
                  const Eigen::VectorXd& direction, double step) {
  // Of a map whose state is no point of the same space, the step alone.
  const Eigen::VectorXd moved = step * direction;
  const bool finite =
      geometry::has_finite_norm(moved) && (from.size() != moved.size() || geometry::has_finite_norm(from - moved));
  if (finite) return {};
  return Error{ErrorCode::Internal, fmt::format("{} diverged in round {}: a smaller step is needed", algorithm, round)};
}

Result<ProximalDescent> ProximalDescent::create(std::string_view algorithm, const Problem& problem, double step_size) {
  if (Status step = geometry::check_positive(fmt::format("the step size of {}", algorithm), step_size); !step)
    return step.error();
  UNDERTONE_TRY(const geometry::ProximalStep proximal,
                geometry::ProximalStep::create(problem.domain, problem.regulariser, problem.dimension));
  return ProximalDescent(algorithm, step_size, proximal);
}

Status ProximalDescent::step(std::uint64_t round, const Problem& problem, const Eigen::VectorXd& gradient,
                             Eigen::VectorXd& iterate) const {
  iterate -= step_size_ * gradient;
  if (Status converges = check_converges(algorithm_, round, problem, iterate); !converges) return converges;
  proximal_.apply(step_size_, iterate);
  queries::round_to(problem.point_type, iterate);
  return {};
}

void save_vectors(ByteWriter& state, std::initializer_list<const Eigen::VectorXd*> vectors) {
  for (const Eigen::VectorXd* vector : vectors) state.doubles(vector->data(), static_cast<std::size_t>(vector->size()));
}

Status restore_vectors(ByteReader& state, std::initializer_list<Eigen::VectorXd*> vectors) {
  for (Eigen::VectorXd* vector : vectors)
    if (Status read = restore_vector(state, *vector); !read) return read;
  return {};
}

Status restore_count(ByteReader& state, std::uint64_t most, std::uint64_t& count) {
  const Result<std::uint64_t> saved = state.u64();
  if (!saved) return saved.error();
  if (*saved > most)
    return Error{ErrorCode::Malformed, fmt::format("a saved count is {}, the job has at most {}", *saved, most)};
  count = *saved;
  return {};
}

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace undertone::algorithms
