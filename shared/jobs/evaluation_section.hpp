#pragma once

#include <cstdint>

#include "shared/config/json_section.hpp"
#include "shared/data/schema.hpp"
#include "shared/models/model.hpp"
#include "shared/releases/unit.hpp"

namespace undertone::jobs {

/// When a run's model is evaluated, and by what.
struct Evaluation {
  std::uint64_t every = 0;  // steps; 0: after the last alone
  models::MetricDetail detail = {};
  bool one_record = false;  // of persons: of each one of her records is evaluated, and not the mean over several
};

/// A job's "evaluation", which may be left out. @param rounds of the algorithm
[[nodiscard]] Evaluation parse_evaluation(config::Section& root, const models::Model& model, const data::Schema& schema,
                                          releases::Unit unit, std::uint64_t rounds, config::Problems& problems);

}  // namespace undertone::jobs
