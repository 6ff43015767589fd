#pragma once

#include "shared/config/json_section.hpp"
#include "shared/queries/query.hpp"
#include "shared/queries/wire_lattice.hpp"

namespace undertone::jobs {

/// In what numbers points and answers cross.
struct Wire {
  queries::PointType points = queries::PointType::F64;
  queries::WireLattice replies;
};

/// A job's "wire", which may be left out.
[[nodiscard]] Wire parse_wire(config::Section& root);

}  // namespace undertone::jobs
