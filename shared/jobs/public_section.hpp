#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/public/with_public_records.hpp"
#include "shared/base/digest.hpp"
#include "shared/config/json_section.hpp"
#include "shared/data/csv_dialect.hpp"
#include "shared/models/model.hpp"

namespace undertone::jobs {

/// Records that the operator brings, which need no protection and stay where the coordinator is. Public: every silo
/// reads in the job that there are some, and none ever sees one.
struct PublicTerms {
  std::string file;          // its name, without folders: @see load_public_records
  Digest sha256{};           // of its bytes
  std::int64_t records = 0;  // > 0
  data::CsvDialect dialect = {};
  algorithms::PublicUse use;
  bool warm_start = true;                 // the run starts at the minimiser of the records' mean loss
  std::optional<double> warm_ridge = {};  // of that loss; without it the regulariser's strength times n / n_pub
};

/// A job's "public".
[[nodiscard]] PublicTerms parse_public(config::Section section);

/// What else a job with public records says.
struct AroundPublic {
  const algorithms::Method& method;
  const models::Model& model;
  bool theorem = false;
  bool persons = false;
  bool initial = false;
  bool shuffled = false;
};
/// Whether public records can serve the job: an algorithm that asks for gradients alone, of a smooth linear loss.
void check_public(const PublicTerms& terms, const AroundPublic& job, config::Problems& problems);

/// For people: "60 public records at the coordinator ("open.csv", SHA-256 ...)".
[[nodiscard]] std::string to_string(const PublicTerms& terms);

}  // namespace undertone::jobs
