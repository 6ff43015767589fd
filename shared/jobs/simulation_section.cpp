#include "shared/jobs/simulation_section.hpp"

#include <filesystem>
#include <set>

#include "shared/data/dirichlet.hpp"
#include "shared/jobs/dialect_section.hpp"

namespace undertone::jobs {
namespace {

constexpr std::size_t kBatchesMax = 64;
constexpr std::size_t kPairedSilos = 25;

/// Takes exactly one of csv, idx and cifar.
RecordFiles parse_files(config::Section& section) {
  RecordFiles files;
  int given = 0;
  if (section.has("csv")) {
    CsvRecords records{section.text("csv", "a table with a header, relative to the job's file")};
    if (section.has("file")) records.dialect = parse_dialect(section.object("file", "how csv is written"));
    files = std::move(records);
    ++given;
  }
  if (section.has("idx")) {
    config::Section idx =
        section.object("idx",
                       "instead of csv: images as MNIST has them, plain or compressed with gzip; their "
                       "columns are label, p0, p1, ... of 0 to 255, row by row");
    IdxRecords records;
    records.images = idx.text("images", "relative to the job's file");
    records.labels = idx.text("labels", "relative to the job's file");
    idx.finish();
    files = std::move(records);
    ++given;
  }
  if (section.has("cifar")) {
    CifarRecords records{section.texts("cifar",
                                       "instead of csv: binary batches of CIFAR-10, relative to the job's file; "
                                       "columns label, p0, p1, ... of 0 to 255, pixel by pixel, row by row",
                                       {1, kBatchesMax})};
    files = std::move(records);
    ++given;
  }
  if (given != 1 && !section.recording())
    section.problem("csv", fmt::format("expected one of csv, idx and cifar, got {} of them", given));
  return files;
}

void parse_partition(config::Section& section, SimulationData& out, std::size_t silos) {
  if (section.has("partition")) {
    out.partition = section.choice<DealtBy>(
        "partition",
        {{"random", DealtBy::Random},
         {"by_target", DealtBy::Target},
         {"sorted", DealtBy::Sorted},
         {"label", DealtBy::Label},
         {"label_pair", DealtBy::LabelPair},
         {"dirichlet", DealtBy::Dirichlet}},
        "which records a silo gets, the cohort says how many. by_target: slices in the order of the label; sorted: in "
        "the order of a column's number; label: silo i has class i mod C alone; label_pair: of ten classes silo 5a + b "
        "has 2a and 2b + 1, where silos count from 0 in the order of their names, so that a cohort's pattern wants "
        "digits enough, as in {01}; dirichlet: class proportions drawn for each silo (default random)");
  }
  if (section.has("partition_column"))
    out.partition_column = section.text("partition_column",
                                        "the class or number that a partition goes by (default: the "
                                        "label's column)");
  const bool pairs = out.partition == DealtBy::LabelPair;
  if (section.has("sharing"))
    out.shared = section.choice<bool>("sharing", {{"disjoint", false}, {"shared", true}},
                                      "of label_pair, with test: five silos hold the same records, as in the source, "
                                      "and no silo's epsilon bounds what all of them say of one (default disjoint)");
  if (section.has("concentration"))
    out.concentration = section.number("concentration", data::kConcentrationMin, data::kConcentrationMax,
                                       "of dirichlet: the less, the less alike the silos are");
  if (section.recording()) return;
  const bool by_column = out.partition != DealtBy::Random && out.partition != DealtBy::Target;
  if (section.has("partition_column") && !by_column)
    section.problem("partition_column", "expected none: this partition does not go by a column");
  if (pairs && silos != kPairedSilos)
    section.problem("partition", fmt::format("label_pair expects a cohort of {} silos, got {}", kPairedSilos, silos));
  if (section.has("sharing") && !pairs) section.problem("sharing", "expected none: it is of label_pair");
  if (out.shared && !section.has("test"))
    section.problem("sharing", "expected \"disjoint\" without test: a silo would train on what another holds out");
  if (section.has("concentration") != (out.partition == DealtBy::Dirichlet))
    section.problem("concentration", out.partition == DealtBy::Dirichlet
                                         ? "missing, expected the concentration of dirichlet"
                                         : "expected none: it is of dirichlet");
}

/// Of a job of persons: they are dealt at random, each with all of her rows, and divided by a hash of their ids.
void parse_persons(config::Section& section, releases::Unit unit, SimulationData& out) {
  if (unit != releases::Unit::Person && !section.recording()) {
    section.refuse("person_column", "expected none: the unit is not a person");
    return;
  }
  out.person_column = section.text("person_column", "of unit person: the column of csv that holds a person's id");
  if (section.recording()) return;
  section.refuse("holdout_seed", "expected none: a hash of their ids chooses which persons are held out");
  if (out.partition != DealtBy::Random)
    section.problem("partition", "expected \"random\": persons are dealt with all of their rows");
  if (!std::holds_alternative<CsvRecords>(out.files) || out.test)
    section.problem("csv", "expected one csv and no test of its own: persons stand in a table with their ids");
}

std::set<std::filesystem::path> paths_of(const RecordFiles& files) {
  std::vector<std::string> names;
  if (const auto* csv = std::get_if<CsvRecords>(&files)) names = {csv->file};
  if (const auto* idx = std::get_if<IdxRecords>(&files)) names = {idx->images, idx->labels};
  if (const auto* cifar = std::get_if<CifarRecords>(&files)) names = cifar->batches;
  std::set<std::filesystem::path> out;
  for (const std::string& name : names) out.insert(std::filesystem::path(name).lexically_normal());
  return out;
}

/// Refuses a test set that a silo would train on, and holdouts that no silo's own file can be split into.
void check_test(config::Section& section, const SimulationData& data, const std::vector<releases::SiloFacts>& silos) {
  const std::set<std::filesystem::path> training = paths_of(data.files);
  for (const std::filesystem::path& path : paths_of(*data.test)) {
    if (training.contains(path))
      section.problem("test",
                      fmt::format("expected files of its own, found \"{}\" among those to train on", path.string()));
  }
  for (const releases::SiloFacts& facts : silos) {
    if (facts.holdout_records == 0) {
      section.problem("test", "expected holdout_records of at least 1 for every silo, got 0 for one");
      return;
    }
    if (holdout_fraction_of(facts) > kHoldoutFractionMax) {
      section.problem("test",
                      fmt::format("expected a holdout of at most {} of a silo's records, {} has {} beside {}",
                                  kHoldoutFractionMax, facts.silo.name(), facts.holdout_records, facts.records));
      return;
    }
  }
}

}  // namespace

double holdout_fraction_of(const releases::SiloFacts& facts) {
  const auto holdout = static_cast<double>(facts.holdout_records);
  return (holdout + 0.5) / (holdout + static_cast<double>(facts.records));
}

std::optional<SimulationData> parse_simulation(config::Section& root, const std::vector<releases::SiloFacts>& silos,
                                               releases::Unit unit) {
  if (!root.has("simulation")) return std::nullopt;
  config::Section section =
      root.object("simulation", "where undertone simulate and partition find data; silos ignore it");
  SimulationData out;
  out.files = parse_files(section);
  if (section.has("test")) {
    config::Section test = section.object("test",
                                          "records of their own to evaluate on, with csv, idx or cifar as above: each "
                                          "silo gets its holdout_records of them, by the same partition");
    out.test = parse_files(test);
    test.finish();
  }
  out.partition_seed =
      static_cast<std::uint64_t>(section.integer("partition_seed", 0, INT64_MAX, "deals the rows to the silos"));
  parse_partition(section, out, silos.size());
  const bool fraction_given = section.has("holdout_fraction");
  if (fraction_given || !out.test)
    out.holdout_fraction =
        section.number("holdout_fraction", 0.0, kHoldoutFractionMax, "of each silo's rows; none with test");
  if (out.test) {
    if (fraction_given)
      section.problem("holdout_fraction", "expected none: with test, holdout_records of the cohort says how many");
    if (!section.recording()) check_test(section, out, silos);
  }
  if (unit != releases::Unit::Person || section.recording())
    out.holdout_seed = static_cast<std::uint64_t>(
        section.integer("holdout_seed", 0, INT64_MAX, "chooses them; with test, where they stand in a silo's file"));
  parse_persons(section, unit, out);
  section.finish();
  return out;
}

}  // namespace undertone::jobs
