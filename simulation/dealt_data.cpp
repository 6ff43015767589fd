#include "simulation/dealt_data.hpp"

#include <algorithm>
#include <map>

#include "shared/data/persons.hpp"
#include "shared/data/record_encoder.hpp"
#include "shared/data/sized_partition.hpp"

namespace undertone::simulation {
namespace {

using jobs::DealtBy;

constexpr int kClassesMax = 1'000;
constexpr int kClassesOfPairs = 10;

/// The label of every record as the schema reads it.
Result<std::vector<double>> targets_of(const RecordTable& table, const data::Schema& schema) {
  const data::Schema alone{schema.label, {}, {}, schema.derived};
  Result<data::RecordEncoder> encoder = data::RecordEncoder::create(table.header(), alone, true);
  if (!encoder) return Error{encoder.error().code, fmt::format("{}:1: {}", table.name(), encoder.error().message)};
  std::vector<double> out(table.rows(), 0.0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t c = 0; c < table.header().size(); ++c) {
      if (!encoder->reads(c)) continue;
      const data::RecordEncoder::Expected expected = encoder->encode(c, table.cell(i, c), {nullptr, &out[i], nullptr});
      if (expected == nullptr) continue;
      return Error{ErrorCode::InvalidData, fmt::format("{}: record {}, column \"{}\": expected {}", table.name(), i + 1,
                                                       table.header()[c], *expected)};
    }
  }
  return out;
}

/// Deals the training file and the test file of a job alike.
class Dealer {
 public:
  Dealer(const jobs::Job& job, std::string job_file)
      : job_(job),
        how_(*job.simulation),
        job_file_(std::move(job_file)),
        column_(how_.partition_column.empty() ? data::label_column(job.schema) : how_.partition_column) {}

  /// @param table the first one's classes are those of both
  Result<data::Partition> deal(const RecordTable& table, const std::vector<std::size_t>& sizes) {
    if (how_.partition == DealtBy::Random) return told(table, data::deal(table.rows(), sizes, how_.partition_seed));
    RandomSource source(how_.partition_seed);
    if (how_.partition == DealtBy::Target) {
      UNDERTONE_TRY(const std::vector<double> targets, targets_of(table, job_.schema));
      return told(table, data::deal_sorted(targets, sizes, source));
    }
    const Result<std::vector<std::string>> cells = cells_of(table);
    if (!cells) return of_table(table, cells.error());
    if (how_.partition == DealtBy::Sorted) {
      const Result<std::vector<double>> numbers = numbers_in(*cells, column_);
      if (!numbers) return of_table(table, numbers.error());
      return told(table, data::deal_sorted(*numbers, sizes, source));
    }
    return deal_classes(table, *cells, sizes, source);
  }

 private:
  /// The cells that decide. A derived label, which no table has, is as the schema reads it.
  Result<std::vector<std::string>> cells_of(const RecordTable& table) const {
    const std::vector<data::DerivedColumn>& derived = job_.schema.derived;
    const bool made = std::any_of(derived.begin(), derived.end(),
                                  [this](const data::DerivedColumn& one) { return one.name == column_; });
    if (!made || column_ != data::label_column(job_.schema)) return table.column(column_);
    UNDERTONE_TRY(const std::vector<double> targets, targets_of(table, job_.schema));
    std::vector<std::string> out;
    out.reserve(targets.size());
    for (const double target : targets) out.push_back(fmt::format("{}", target));
    return out;
  }
  Result<data::Partition> deal_classes(const RecordTable& table, const std::vector<std::string>& cells,
                                       const std::vector<std::size_t>& sizes, RandomSource& source) {
    if (!classes_) classes_ = ColumnClasses::of(cells);
    const bool pairs = how_.partition == DealtBy::LabelPair;
    if (classes_->count() > kClassesMax || (pairs && classes_->count() != kClassesOfPairs)) {
      return of_field("partition",
                      fmt::format("expected {} classes in the column \"{}\" of {}, found {}",
                                  pairs ? fmt::format("{}", kClassesOfPairs) : fmt::format("at most {}", kClassesMax),
                                  column_, table.name(), classes_->count()));
    }
    const Result<std::vector<int>> labels = classes_->labels(cells);
    if (!labels) return of_table(table, labels.error());
    if (how_.partition == DealtBy::Label)
      return told(table, data::deal_by_label(*labels, classes_->count(), sizes, source));
    if (how_.partition == DealtBy::Dirichlet)
      return told(table, data::deal_by_dirichlet(*labels, classes_->count(), sizes, how_.concentration, source));
    if (sizes.front() % 2 != 0 ||
        std::any_of(sizes.begin(), sizes.end(), [&](std::size_t size) { return size != sizes.front(); })) {
      return of_field("partition", "label_pair expects the same even number of records of every silo, found others");
    }
    Result<data::PairPartition> dealt = data::partition_by_label_pair(
        *labels, sizes.front() / 2, how_.shared ? data::Sharing::Shared : data::Sharing::Disjoint, source);
    if (!dealt) return of_table(table, dealt.error());
    return std::move(dealt->silos);
  }

  Error of_field(const char* field, const std::string& problem) const {
    return {ErrorCode::InvalidConfig, fmt::format("{}: /simulation/{}: {}", job_file_, field, problem)};
  }
  static Error of_table(const RecordTable& table, const Error& error) {
    return {error.code, fmt::format("{}: {}", table.name(), error.message)};
  }
  static Result<data::Partition> told(const RecordTable& table, Result<data::Partition> dealt) {
    if (!dealt) return of_table(table, dealt.error());
    return dealt;
  }

  const jobs::Job& job_;
  const jobs::SimulationData& how_;
  std::string job_file_;
  std::string column_;
  std::optional<ColumnClasses> classes_;
};

/// Deals persons, each with all of her rows. @param sizes how many persons each silo gets
Result<data::Partition> deal_persons(const RecordTable& table, const std::string& column,
                                     const std::vector<std::size_t>& sizes, std::uint64_t seed) {
  UNDERTONE_TRY(const std::vector<std::string> cells, table.column(column));
  std::map<std::string, std::size_t> number;  // in the order of the ids, not of the file
  for (const std::string& cell : cells) number.emplace(data::id_in(cell), 0);
  if (number.contains(""))
    return Error{ErrorCode::InvalidData,
                 fmt::format("{}: expected an id in every row of \"{}\", found none in one", table.name(), column)};
  std::size_t next = 0;
  for (auto& [id, place] : number) place = next++;
  std::vector<data::Indices> rows_of(number.size());
  for (std::size_t row = 0; row < cells.size(); ++row)
    rows_of[number.at(std::string(data::id_in(cells[row])))].push_back(row);
  const Result<data::Partition> persons = data::deal(number.size(), sizes, seed);
  if (!persons) return Error{persons.error().code, fmt::format("{}: {}", table.name(), persons.error().message)};
  data::Partition out;
  for (const data::Indices& of_silo : *persons) {
    data::Indices& rows = out.emplace_back();
    for (const std::size_t person : of_silo) rows.insert(rows.end(), rows_of[person].begin(), rows_of[person].end());
  }
  return out;
}

}  // namespace

data::SplitRule split_of(const jobs::Job& job, const jobs::CohortMember& member) {
  UNDERTONE_CHECK(job.simulation.has_value());
  if (!job.simulation->test) return {job.simulation->holdout_fraction, job.simulation->holdout_seed, std::nullopt};
  return {jobs::holdout_fraction_of(member.facts), job.simulation->holdout_seed, std::nullopt};
}

Result<DealtData> DealtData::deal(const jobs::Job& job, const std::filesystem::path& job_file) {
  if (!job.simulation) {
    return Error{
        ErrorCode::InvalidConfig,
        fmt::format(
            "{}: /simulation: missing; it says where the data to simulate with are. `undertone simulate` takes it "
            "beside the file: --set '/simulation={{\"csv\": \"patients.csv\", \"partition_seed\": 1, "
            "\"holdout_fraction\": 0.2, \"holdout_seed\": 1}}'",
            job_file.string())};
  }
  const std::filesystem::path folder = job_file.parent_path();
  UNDERTONE_TRY(RecordTable table, RecordTable::read(job.simulation->files, folder));
  table.conform_to(job.schema);
  std::optional<RecordTable> test;
  if (job.simulation->test) {
    UNDERTONE_TRY(RecordTable read, RecordTable::read(*job.simulation->test, folder));
    read.conform_to(job.schema);
    if (read.header() != table.header()) {
      return Error{ErrorCode::InvalidData,
                   fmt::format("{}:1: expected the columns of {}, found others", read.name(), table.name())};
    }
    test = std::move(read);
  }
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> test_sizes;
  for (const jobs::CohortMember& member : job.cohort) {
    const std::int64_t in_table =
        member.facts.records + member.facts.public_records + (test ? 0 : member.facts.holdout_records);
    sizes.push_back(static_cast<std::size_t>(in_table));
    test_sizes.push_back(static_cast<std::size_t>(member.facts.holdout_records));
  }
  DealtData out(std::move(table), std::move(test));
  for (const jobs::CohortMember& member : job.cohort)
    out.public_.push_back(static_cast<std::size_t>(member.facts.public_records));
  out.holdout_seed_ = job.simulation->holdout_seed;
  if (job.unit == releases::Unit::Person) {
    UNDERTONE_TRY(data::Partition persons,
                  deal_persons(out.table_, job.simulation->person_column, sizes, job.simulation->partition_seed));
    out.rows_ = std::move(persons);
    return out;
  }
  Dealer dealer(job, job_file.string());
  UNDERTONE_TRY(data::Partition rows, dealer.deal(out.table_, sizes));
  out.rows_ = std::move(rows);
  if (out.test_) {
    UNDERTONE_TRY(data::Partition test_rows, dealer.deal(*out.test_, test_sizes));
    out.test_rows_ = std::move(test_rows);
  }
  return out;
}

data::CsvTable DealtData::public_file_of(std::size_t silo) const {
  data::CsvTable out{table_.header(), {}};
  const data::Indices& rows = rows_[silo];
  for (std::size_t i = rows.size() - public_[silo]; i < rows.size(); ++i) out.rows.push_back(table_.row(rows[i]));
  return out;
}

data::CsvTable DealtData::file_of(std::size_t silo) const {
  data::CsvTable out{table_.header(), {}};
  const std::size_t own = rows_[silo].size() - public_[silo];
  if (!test_) {
    for (std::size_t i = 0; i < own; ++i) out.rows.push_back(table_.row(rows_[silo][i]));
    return out;
  }
  const data::Indices& held_out = test_rows_[silo];
  const std::size_t records = own + held_out.size();
  RandomSource source(holdout_seed_);
  const std::vector<std::size_t> order = source.permutation(records);  // as data::split draws it
  out.rows.resize(records);
  for (std::size_t i = 0; i < records; ++i) {
    out.rows[order[i]] = i < held_out.size() ? test_->row(held_out[i]) : table_.row(rows_[silo][i - held_out.size()]);
  }
  return out;
}

}  // namespace undertone::simulation
