#pragma once

#include <string>

#include "shared/config/json_section.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::jobs {

/// A job whose file has a section "statistics". @param root whose other sections are read here
[[nodiscard]] Result<ReadJob> read_statistics_job(config::Section& root, std::string name, data::Schema schema,
                                                  config::Problems& problems);

}  // namespace undertone::jobs
