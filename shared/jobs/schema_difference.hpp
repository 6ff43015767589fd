#pragma once

#include <string>

#include "shared/data/schema.hpp"

namespace undertone::jobs {

/// Says why a job's schema is no part of a data set's, with the first few differences: "the feature \"age\" has max 120
/// in the job, and 110 in the data set". @return an empty text where it is one. @see data::part_of
[[nodiscard]] std::string schema_difference(const data::Schema& of_job, const data::Schema& of_dataset);

}  // namespace undertone::jobs
