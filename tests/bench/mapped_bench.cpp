#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/random_source.hpp"
#include "shared/data/snapshot.hpp"
#include "shared/mechanisms/gaussian_sum/gaussian_sum.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "silo/owner/institution.hpp"
#include "tests/support/record_maps.hpp"
#include "tests/support/temporary_folder.hpp"

/// How much memory a data set takes that is served from its mapped snapshot, and how long an answer about all of its
/// records, beside the same data set in memory: `mapped_bench [ROWS]`, of 50 columns.
namespace undertone {
namespace {

constexpr int kDecimals = 30;  // of three digits behind the point
constexpr int kLong = 10;      // of five
constexpr int kListed = 10;
constexpr const char* kColours[] = {"red", "green", "blue", "brown"};

data::Schema schema() {
  data::Schema out;
  for (int i = 0; i < kDecimals + kLong; ++i) {
    data::NumericColumn column;
    column.name = fmt::format("x{}", i);
    column.min = -10;
    column.max = 10;
    out.features.emplace_back(column);
  }
  for (int i = 0; i < kListed - 1; ++i)
    out.features.emplace_back(
        data::CategoricalColumn{fmt::format("c{}", i), {std::begin(kColours), std::end(kColours)}, false});
  out.label = data::BinaryLabel{"y", "no", "yes"};
  return out;
}

void freeze(const std::filesystem::path& file, std::int64_t rows) {
  std::ofstream out(file, std::ios::binary);
  const std::vector<std::string> columns = data::columns_of_file(schema());
  data::SnapshotWriter writer(columns, {}, [&out](std::string_view bytes) {
    out << bytes;
    return Status();
  });
  data::TableProblems problems(file.string());
  UNDERTONE_CHECK(writer.begin(columns, rows).has_value());
  RandomSource random(1);
  std::array<char, 32> digits{};
  for (std::int64_t row = 0; row < rows; ++row) {
    std::size_t at = 0;
    for (; at < kDecimals + kLong; ++at) {
      const std::size_t scale = at < kDecimals ? 3 : 5;
      const auto range = static_cast<std::int64_t>(at < kDecimals ? 10'000 : 1'000'000);
      const auto value = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * range))) - range;
      writer.cell(at, data::write_decimal(value, scale, false, '.', digits), problems);
    }
    for (; at + 1 < columns.size(); ++at) {
      std::string colour = kColours[random.below(4)];
      writer.cell(at, colour, problems);
    }
    std::string label = random.chance(0.5) ? "yes" : "no";
    writer.cell(at, label, problems);
    writer.end_row(problems);
  }
  UNDERTONE_CHECK(problems.none() && writer.finish().has_value());
}

/// A line of /proc/self/status, in bytes.
std::int64_t of_status(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stoll(line.substr(key.size() + 1)) * 1024;
  return 0;
}

double seconds_of(const std::function<void()>& what) {
  const auto from = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

/// Of the gradients of all training records.
planning::Release full_gradient(Eigen::Index dimension, std::int64_t records) {
  const releases::ClipNorm clip = releases::ClipNorm::create(1.0).value();
  const releases::GaussianShift shift = releases::GaussianShift::create(0.5).value();
  planning::Release release{{tests::map_of(releases::QuestionKind::Gradient),
                             {releases::Block::Training, 1.0},
                             releases::L2Bound{clip},
                             dimension},
                            records,
                            records,
                            mechanisms::gaussian_lattice(clip, shift, dimension, records).value()};
  release.block_records = records;
  release.positions = {0, records};
  return release;
}

/// Loads the data set and answers about all of its training records three times.
void serve(const std::filesystem::path& file, bool mapped) {
  silo::DatasetConfig config;
  config.name = "large";
  config.snapshots = file.parent_path();
  config.schema = schema();
  config.split = {0.2, 0, std::nullopt};
  config.memory_max = mapped ? 0 : std::uint64_t{1} << 40U;
  const SigningKey key = SigningKey::from_seed(std::string(32, 'k')).value();
  std::optional<silo::LoadedDataset> loaded;
  const double load = seconds_of([&] { loaded = silo::load_table(config, file, key, nullptr).value(); });
  const std::int64_t loading = of_status("VmHWM:");
  const data::Dataset& dataset = loaded->dataset;
  const models::Model model{
      models::LinearModel(models::Loss::Logistic, dataset.read(releases::Block::Training).features(), true)};
  const planning::Release release = full_gradient(model.dimension(), dataset.count(releases::Block::Training));
  const auto sums = silo::make_record_sums(model);
  const silo::RecordPlaces places;
  const auto stream = silo::TestRandomness(1, SiloId::create("bench").value()).stream(RunId{}, RoundIndex{0});
  std::int64_t first = 0;
  double answer = 1e300;
  for (int i = 0; i < 3; ++i) {
    answer =
        std::min(answer, seconds_of([&] {
                   const queries::Query query{
                       RoundIndex{0}, queries::GradientQuestion{Eigen::VectorXd::Constant(model.dimension(), 0.01)}};
                   first = silo::draw_exact_sum(query, release, {dataset, places}, sums.get(), *stream).sum.front();
                 }));
  }
  const auto packed = static_cast<double>(std::filesystem::file_size(file));
  std::printf(
      "%-9s %9.1f MB packed, memory at most %.2f of it while loading and %.2f while serving (%.2f at the end); "
      "loaded in %.1f s, an answer in %.3f s (first number %lld)\n",
      mapped ? "mapped" : "in memory", packed / 1e6, static_cast<double>(loading) / packed,
      static_cast<double>(of_status("VmHWM:")) / packed, static_cast<double>(of_status("VmRSS:")) / packed, load,
      answer, static_cast<long long>(first));
}

/// In a process of its own, whose memory is then that of the one data set.
void serve_apart(const std::filesystem::path& file, bool mapped) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  UNDERTONE_CHECK(child >= 0);
  if (child == 0) {
    serve(file, mapped);
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  UNDERTONE_CHECK(::waitpid(child, &status, 0) == child && status == 0);
}

}  // namespace
}  // namespace undertone

int main(int arguments, char** values) {
  const std::int64_t rows = arguments > 1 ? std::stoll(values[1]) : 1'000'000;
  const undertone::tests::TemporaryFolder folder(arguments > 2 ? values[2] : "/tmp");
  const std::filesystem::path file = folder.path() / "large.0123456789abcdef.snapshot";
  undertone::freeze(file, rows);
  undertone::serve_apart(file, true);
  // What all records take in memory is shown where it can be had.
  if (rows <= 2'000'000) undertone::serve_apart(file, false);
  return 0;
}
