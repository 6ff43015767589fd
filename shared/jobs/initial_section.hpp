#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>

#include "shared/algorithms/problem.hpp"
#include "shared/base/digest.hpp"
#include "shared/config/json_section.hpp"
#include "shared/models/model.hpp"

namespace undertone::jobs {

/// Where a run starts, as a job says it. Public: every silo reads it in the job, and every first query shows it.
struct Initial {
  enum class Kind : std::uint8_t {
    Zero,    // the point of the domain nearest to 0
    Random,  // every number uniform on [-scale, scale), then the point of the domain nearest to that
    Weights  // the job's own numbers
  };
  Kind kind = Kind::Zero;
  std::uint64_t seed = 0;  // of Random
  double scale = 0.0;      // of Random
  Digest sha256 = {};      // of Weights, @see digest_of_weights
};

/// Reads a job's "initial" and makes `problem` start there. A problem is noted, and the start stays as it was.
[[nodiscard]] Initial parse_initial(config::Section section, const models::Model& model,
                                    const config::Problems& problems, algorithms::Problem& problem);

/// SHA-256 of the numbers as little-endian doubles, one after the other.
[[nodiscard]] Digest digest_of_weights(const Eigen::VectorXd& weights);

/// The "initial" of a job that starts at these weights. @param weights [d], finite
[[nodiscard]] nlohmann::ordered_json initial_of_weights(const Eigen::VectorXd& weights);

/// For people, after "starts from". Of weights it says who vouches for them.
[[nodiscard]] std::string to_string(const Initial& initial);

}  // namespace undertone::jobs
