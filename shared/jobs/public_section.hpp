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

/// A file of records that the operator brings, which stays where the coordinator is: no silo ever sees one of them.
struct PublicFile {
  std::string name;          // without folders: @see load_public_records
  Digest sha256{};           // of its bytes
  std::int64_t records = 0;  // > 0
  data::CsvDialect dialect = {};
};
/// Records that need no protection and better what silos' protected ones say: the operator's, those that silos' owners
/// declared public, or both.
struct PublicTerms {
  std::optional<PublicFile> file;
  bool at_silos = false;  // they answer for their public records besides. @see releases::Ask::beside_public
  algorithms::PublicUse use;
  /// How the weight of use gradients is found where the job says none: every record counts alike, or a step varies
  /// least. The method has its own way where the job says neither.
  enum class WeighedBy : std::uint8_t { Records = 1, Variance };
  std::optional<WeighedBy> weighed_by = {};
  bool counts_alike = false;  // its weight is the protected records' share of all records
  /// What the model of the file is: where a run starts, and what throw_away ends with.
  enum class Solver : std::uint8_t { Minimiser, OnePass };
  Solver solver = Solver::Minimiser;
  bool warm_start = true;                 // the run starts at the model of the file
  std::optional<double> warm_ridge = {};  // of that loss; without it the regulariser's strength times n / n_pub
};

/// Reads a job's section "public".
[[nodiscard]] PublicTerms parse_public(config::Section section);

/// These are the other parts of a job that its public records have to fit.
struct AroundPublic {
  const algorithms::Method& method;
  const models::Model& model;
  bool theorem = false;
  bool persons = false;
  bool initial = false;
  bool shuffled = false;
  bool robust = false;
  std::int64_t width = 0;              // numbers of an encoded record
  std::int64_t silo_records = 0;       // public ones of all silos together
  std::int64_t protected_records = 0;  // of all silos together
  bool capped_sums = false;            // persons contribute the sum of their records' gradients
};
/// Adds a problem where public records cannot serve the job. They serve an algorithm that asks for gradients alone, of
/// a smooth linear loss.
void check_public(const PublicTerms& terms, const AroundPublic& job, config::Problems& problems);
/// Sets the weight with which every record counts alike, the protected and the public ones, where the job or else the
/// method has it so and no weight is said. @pre checked
void count_alike(PublicTerms& terms, const AroundPublic& job);

}  // namespace undertone::jobs
