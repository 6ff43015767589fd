#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shared/config/json_section.hpp"
#include "shared/data/csv_dialect.hpp"
#include "shared/releases/silo_facts.hpp"
#include "shared/releases/unit.hpp"

namespace undertone::jobs {

/// Files of public records, each relative to the job's.
struct CsvRecords {
  std::string file;
  data::CsvDialect dialect = {};
};
struct IdxRecords {
  std::string images;
  std::string labels;
};
struct CifarRecords {
  std::vector<std::string> batches;  // one or more
};
using RecordFiles = std::variant<CsvRecords, IdxRecords, CifarRecords>;

/// Which records a silo gets; how many, the cohort says.
enum class DealtBy : std::uint8_t {
  Random,
  Target,     // slices in the order of the label, as the schema reads it
  Sorted,     // slices in the order of a column's number
  Label,      // one class each
  LabelPair,  // of ten classes an even and an odd one each
  Dirichlet   // class proportions drawn for each silo
};

/// Where `undertone simulate` and `undertone partition` find data for a job. Silos ignore it.
struct SimulationData {
  RecordFiles files;
  std::optional<RecordFiles> test;  // where holdouts are dealt from; without it they are split off each silo's records
  std::uint64_t partition_seed = 0;
  DealtBy partition = DealtBy::Random;
  std::string partition_column;   // empty: the label's
  bool shared = false;            // of LabelPair: five silos hold the same records
  double concentration = 1.0;     // of Dirichlet
  double holdout_fraction = 0.0;  // without test
  std::uint64_t holdout_seed = 0;
  std::string person_column;  // of a job of persons: whose each row is
};

/// What every statement of a job with shared records has to add (decision 14).
inline constexpr const char* kSharedRecords =
    "each record is in five silos, and no silo's epsilon bounds what all of them say of it";

inline constexpr double kHoldoutFractionMax = 0.9;  // of a silo's records

/// The fraction of a silo's file that gives exactly its holdout's records: half a record more than they are, so that
/// the product is rounded down to what is meant.
[[nodiscard]] double holdout_fraction_of(const releases::SiloFacts& facts);

/// A job's "simulation", which may be left out. @param silos in SiloId order @param unit what the job protects: persons
/// are dealt whole, with all of their rows
[[nodiscard]] std::optional<SimulationData> parse_simulation(config::Section& root,
                                                             const std::vector<releases::SiloFacts>& silos,
                                                             releases::Unit unit);

}  // namespace undertone::jobs
