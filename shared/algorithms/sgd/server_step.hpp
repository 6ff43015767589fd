#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>

#include "shared/base/byte_stream.hpp"
#include "shared/base/result.hpp"

namespace undertone::algorithms {

/// How long the steps are: eta times a factor of the round r = 0 .. R-1. Post-processing: silos do not see it.
///   constant 1, inverse_sqrt 1/sqrt(r+1), inverse_time 1/(r+1), cosine (1 + cos(pi r/R))/2
/// Source of the last: Loshchilov and Hutter 2017, equation 5, without restarts.
struct StepSchedule {
  enum class Kind : std::uint8_t { Constant, InverseSqrt, InverseTime, Cosine };
  Kind kind = Kind::Constant;

  /// In (0, 1]. @pre round < rounds
  [[nodiscard]] double factor(std::uint64_t round, std::uint64_t rounds) const;
};

/// What the coordinator makes of a noised gradient g before it steps along it. Post-processing, too.
///   momentum  m <- beta m + g, along m. Source: Polyak 1964
///   adam      m <- beta1 m + (1 - beta1) g, v <- beta2 v + (1 - beta2) g^2, along m^/(sqrt(v^) + epsilon), with
///             m^ = m/(1 - beta1^(r+1)), v^ = v/(1 - beta2^(r+1)). Source: Kingma and Ba 2015, Algorithm 1
struct ServerOptimiser {
  enum class Kind : std::uint8_t { None, Momentum, Adam };
  Kind kind = Kind::None;
  double beta = 0.0;     // of momentum; beta1 of adam: in [0, 1)
  double beta2 = 0.0;    // in [0, 1)
  double epsilon = 0.0;  // > 0 of adam, in the gradient's unit

  [[nodiscard]] Status check() const;
};

/// The server optimiser at work, with what it remembers.
class ServerStep {
 public:
  ServerStep(const ServerOptimiser& optimiser, Eigen::Index dimension);

  /// @param round r @param gradient g: [d], replaced by the direction that is stepped along
  void direct(std::uint64_t round, Eigen::VectorXd& gradient);
  /// Nothing at all of an optimiser that remembers nothing.
  void save(ByteWriter& state) const;
  [[nodiscard]] Status restore(ByteReader& state);

 private:
  ServerOptimiser optimiser_;
  Eigen::VectorXd first_;   // m: [d], empty where there is none
  Eigen::VectorXd second_;  // v: [d], of adam
};

[[nodiscard]] std::string to_string(const StepSchedule& schedule);
[[nodiscard]] std::string to_string(const ServerOptimiser& optimiser);

}  // namespace undertone::algorithms
