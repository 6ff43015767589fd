#pragma once

#include <string_view>

#include "shared/config/section.hpp"
#include "shared/geometry/domain.hpp"
#include "shared/geometry/vertices.hpp"

namespace undertone::algorithms {

/// The vertices of a polytope as jobs write them: of an l1 ball, of a simplex, or listed. A problem is noted, and
/// something harmless is returned, as everywhere in `Section`.
/// @param dimension of the model
[[nodiscard]] geometry::Vertices parse_vertices(config::Section section, Eigen::Index dimension);

/// Whether a domain says where vertices keep the model: their ball or simplex; of listed ones, which have no name as a
/// domain, the whole space.
/// @param method a literal, for the error
[[nodiscard]] Status check_domain_of(const geometry::Vertices& vertices, const geometry::Domain& domain,
                                     std::string_view method);

}  // namespace undertone::algorithms
