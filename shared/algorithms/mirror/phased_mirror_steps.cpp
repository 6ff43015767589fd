#include "shared/algorithms/mirror/phased_mirror_steps.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {

double phased_mirror_power(double norm, Eigen::Index dimension) {
  return std::max(norm, geometry::l1_setup_exponent(dimension));
}

Result<PhasedMirrorSteps> PhasedMirrorSteps::create(std::string_view algorithm, const Problem& problem, double norm,
                                                    std::vector<MirrorPhase> phases) {
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", algorithm, what)};
  };
  const auto* ball = std::get_if<geometry::L1Ball>(&problem.domain.set());
  if (ball == nullptr && !std::holds_alternative<geometry::WholeSpace>(problem.domain.set())) {
    return refuse(fmt::format("it has an exact step around any centre of l1_ball and whole_space, got {}",
                              problem.domain.name()));
  }
  if (!(norm >= 1.0 && norm <= 2.0)) return refuse(fmt::format("a norm must be in [1, 2], got {}", norm));
  if (!problem.regulariser.is_none()) {
    return refuse(fmt::format("its phases are on the silos' losses alone: expected no regulariser, got {}",
                              problem.regulariser.name()));
  }
  if (phases.empty()) return refuse("no phase, expected at least 1");
  const std::optional<double> l1_radius = ball == nullptr ? std::nullopt : std::optional<double>(ball->radius);
  std::vector<geometry::LocalPNorm> maps;
  std::uint64_t rounds = 0;
  for (const MirrorPhase& phase : phases) {
    if (phase.rounds == 0) return refuse("a phase of no rounds");
    UNDERTONE_TRY(
        geometry::check_positive(fmt::format("the relative convexity of {}", algorithm), phase.relative_convexity));
    UNDERTONE_TRY(const geometry::LocalPNorm map,
                  geometry::LocalPNorm::create(phased_mirror_power(norm, problem.dimension), phase.radius, l1_radius));
    maps.push_back(map);
    rounds = saturating_sum(rounds, phase.rounds);
  }
  if (rounds > releases::kRoundsMax)
    return refuse(fmt::format("at most {} rounds in all, got {}", releases::kRoundsMax, rounds));
  return PhasedMirrorSteps(algorithm, problem, std::move(phases), std::move(maps), rounds);
}

PhasedMirrorSteps::PhasedMirrorSteps(std::string_view algorithm, Problem problem, std::vector<MirrorPhase> phases,
                                     std::vector<geometry::LocalPNorm> maps, std::uint64_t rounds)
    : algorithm_(algorithm),
      problem_(std::move(problem)),
      phases_(std::move(phases)),
      maps_(std::move(maps)),
      rounds_(rounds),
      iterate_(problem_.start()),
      average_(Eigen::VectorXd::Zero(problem_.dimension)),
      centre_(iterate_) {}

Step PhasedMirrorSteps::current() const {
  return phase_ < phases_.size() ? ask_gradient(round_, iterate_) : finished(candidate());
}

Result<Step> PhasedMirrorSteps::advance(const folds::Gathered& gathered) {
  if (Status told = check_told(algorithm_, round_, rounds_, problem_, gathered); !told) return told.error();
  const MirrorPhase& phase = phases_[phase_];
  const geometry::LocalPNorm& map = maps_[phase_];
  const double k = number(step_);
  average_ += (iterate_ - average_) * (2.0 / (k + 1.0));
  const Eigen::VectorXd dual = (k - 1.0) / (k + 1.0) * map.gradient(iterate_, centre_) -
                               2.0 / (phase.relative_convexity * (k + 1.0)) * gathered.mean();
  if (Status converges = check_converges(algorithm_, round_, problem_, dual); !converges) return converges.error();
  iterate_ = map.minimiser(dual, centre_);
  ++round_;
  if (++step_ > phase.rounds) {
    queries::round_to(problem_.point_type, average_);
    centre_ = iterate_ = average_;
    step_ = 1;
    ++phase_;
  }
  queries::round_to(problem_.point_type, iterate_);
  return current();
}

Eigen::VectorXd PhasedMirrorSteps::candidate() const {
  if (step_ == 1) return centre_;
  Eigen::VectorXd out = average_;
  queries::round_to(problem_.point_type, out);
  return out;
}

void PhasedMirrorSteps::save(ByteWriter& state) const {
  for (const std::uint64_t count : {round_, phase_, step_}) state.u64(count);
  save_vectors(state, {&iterate_, &average_, &centre_});
}

Status PhasedMirrorSteps::restore(ByteReader& state) {
  if (Status read = restore_count(state, rounds_, round_); !read) return read;
  if (Status read = restore_count(state, phases_.size(), phase_); !read) return read;
  const std::uint64_t steps = phase_ < phases_.size() ? phases_[phase_].rounds : 1;
  if (Status read = restore_count(state, steps, step_); !read) return read;
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < phase_; ++i) before += phases_[i].rounds;
  if (step_ == 0 || round_ != before + step_ - 1)
    return Error{ErrorCode::Malformed, fmt::format("round {} is not step {} of phase {}", round_, step_, phase_)};
  return restore_vectors(state, {&iterate_, &average_, &centre_});
}

}  // namespace undertone::algorithms
