#include "shared/algorithms/sgd/server_step.hpp"

#include <cmath>
#include <numbers>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"

namespace undertone::algorithms {
namespace {

bool is_decay(double value) { return value >= 0.0 && value < 1.0; }

}  // namespace

double StepSchedule::factor(std::uint64_t round, std::uint64_t rounds) const {
  switch (kind) {
    case Kind::Constant:
      return 1.0;
    case Kind::InverseSqrt:
      return 1.0 / std::sqrt(number(round) + 1.0);
    case Kind::InverseTime:
      return 1.0 / (number(round) + 1.0);
    case Kind::Cosine:
      return 0.5 * (1.0 + std::cos(std::numbers::pi * number(round) / number(rounds)));
  }
  return 1.0;
}

Status ServerOptimiser::check() const {
  if (kind == Kind::None) return {};
  if (!is_decay(beta) || !is_decay(beta2))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the server's betas must be in [0, 1), got {} and {}", beta, beta2)};
  if (kind == Kind::Adam && !(std::isfinite(epsilon) && epsilon > 0.0))
    return Error{ErrorCode::InvalidArgument, fmt::format("adam's epsilon must be finite and > 0, got {}", epsilon)};
  return {};
}

ServerStep::ServerStep(const ServerOptimiser& optimiser, Eigen::Index dimension) : optimiser_(optimiser) {
  if (optimiser.kind != ServerOptimiser::Kind::None) first_ = Eigen::VectorXd::Zero(dimension);
  if (optimiser.kind == ServerOptimiser::Kind::Adam) second_ = Eigen::VectorXd::Zero(dimension);
}

void ServerStep::direct(std::uint64_t round, Eigen::VectorXd& gradient) {
  switch (optimiser_.kind) {
    case ServerOptimiser::Kind::None:
      return;
    case ServerOptimiser::Kind::Momentum:
      first_ = optimiser_.beta * first_ + gradient;
      gradient = first_;
      return;
    case ServerOptimiser::Kind::Adam: {
      first_ = optimiser_.beta * first_ + (1.0 - optimiser_.beta) * gradient;
      second_ = optimiser_.beta2 * second_ + (1.0 - optimiser_.beta2) * gradient.cwiseAbs2();
      const double steps = number(round) + 1.0;
      const double first = 1.0 - std::pow(optimiser_.beta, steps);
      const double second = 1.0 - std::pow(optimiser_.beta2, steps);
      gradient = (first_ / first).array() / ((second_ / second).array().sqrt() + optimiser_.epsilon);
      return;
    }
  }
}

void ServerStep::save(ByteWriter& state) const {
  if (optimiser_.kind != ServerOptimiser::Kind::None) save_vectors(state, {&first_});
  if (optimiser_.kind == ServerOptimiser::Kind::Adam) save_vectors(state, {&second_});
}

Status ServerStep::restore(ByteReader& state) {
  if (optimiser_.kind == ServerOptimiser::Kind::None) return {};
  if (optimiser_.kind == ServerOptimiser::Kind::Adam) return restore_vectors(state, {&first_, &second_});
  return restore_vectors(state, {&first_});
}

std::string to_string(const StepSchedule& schedule) {
  switch (schedule.kind) {
    case StepSchedule::Kind::Constant:
      return "constant";
    case StepSchedule::Kind::InverseSqrt:
      return "inverse_sqrt";
    case StepSchedule::Kind::InverseTime:
      return "inverse_time";
    case StepSchedule::Kind::Cosine:
      return "cosine";
  }
  return "";
}

std::string to_string(const ServerOptimiser& optimiser) {
  switch (optimiser.kind) {
    case ServerOptimiser::Kind::None:
      return "none";
    case ServerOptimiser::Kind::Momentum:
      return fmt::format("momentum, beta {}", optimiser.beta);
    case ServerOptimiser::Kind::Adam:
      return fmt::format("adam, beta1 {}, beta2 {}, epsilon {}", optimiser.beta, optimiser.beta2, optimiser.epsilon);
  }
  return "";
}

}  // namespace undertone::algorithms
