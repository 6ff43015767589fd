#include "lab/reproduce/tasks.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "shared/base/files.hpp"
#include "shared/base/random_source.hpp"
#include "shared/data/cifar_reader.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/data/idx_reader.hpp"
#include "shared/data/partition.hpp"
#include "shared/data/pca.hpp"
#include "shared/data/standardisation.hpp"

namespace undertone::lab {
namespace {

using data::Indices;

constexpr double kTrainFraction = 0.8;
constexpr std::size_t kCsvBytesMax = std::size_t{64} << 20U;
constexpr Eigen::Index kMnistComponents = 50;
constexpr std::size_t kMnistPerDigit = 774;

/// A table with a class or a number for each record.
struct Table {
  Eigen::MatrixXd features;  // [d, n]
  std::vector<double> targets;
  std::vector<Eigen::Index> codes;  // features that stand for a text
  [[nodiscard]] std::vector<int> labels() const {
    std::vector<int> out;
    out.reserve(targets.size());
    for (const double target : targets) out.push_back(static_cast<int>(target));
    return out;
  }
};

models::Records chosen(const Table& table, const Indices& indices) {
  models::Records out{Eigen::MatrixXd(table.features.rows(), static_cast<Eigen::Index>(indices.size())),
                      Eigen::VectorXd(static_cast<Eigen::Index>(indices.size()))};
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    out.features.col(at) = table.features.col(static_cast<Eigen::Index>(indices[i]));
    out.targets[at] = table.targets[indices[i]];
  }
  return out;
}

Indices joined(const std::vector<Indices>& parts) {
  Indices out;
  for (const Indices& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

/// Mean 0 and variance 1 over the training records; a constant feature and codes of texts are left alone.
Status standardise(Table& table, const Indices& train) {
  const models::Records records = chosen(table, train);
  const auto n = static_cast<double>(train.size());
  Eigen::VectorXd mean = records.features.rowwise().mean();
  Eigen::VectorXd scale = ((records.features.colwise() - mean).array().square().rowwise().sum() / n).sqrt();
  for (double& one : scale) one = one > 0.0 ? one : 1.0;
  for (const Eigen::Index code : table.codes) {
    mean[code] = 0.0;
    scale[code] = 1.0;
  }
  UNDERTONE_TRY(const data::Standardisation made, data::Standardisation::create(mean, scale));
  made.apply(table.features);
  return {};
}

/// A task whose silos hold disjoint records: every silo's are split for themselves.
Result<Task> disjoint_task(models::Model model, Table table, const data::Partition& silos, std::uint64_t split,
                           bool standardised) {
  RandomSource source(split);
  std::vector<Indices> train;
  std::vector<Indices> test;
  for (const Indices& silo : silos) {
    UNDERTONE_TRY(const data::TrainTest parts, data::split_indices(silo.size(), kTrainFraction, source));
    train.push_back(data::picked(silo, parts.train));
    test.push_back(data::picked(silo, parts.test));
  }
  if (standardised) {
    if (Status done = standardise(table, joined(train)); !done) return done.error();
  }
  Task task{std::move(model), {}, {}, chosen(table, joined(train)), chosen(table, joined(test)), {}};
  task.start = task.model.start(split);
  for (const Indices& silo : train) task.silos.push_back({chosen(table, silo), {}});
  return task;
}

std::optional<double> number_in(const std::string& cell) {
  double value = 0.0;
  const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Result<data::CsvTable> read_table(const std::filesystem::path& file) {
  UNDERTONE_TRY(const std::string text, read_file(file, kCsvBytesMax));
  return data::parse_csv(text, file.string());
}

Error without_column(const std::filesystem::path& file, const std::string& name) {
  return {ErrorCode::InvalidData,
          fmt::format("{}: the column \"{}\" is missing or holds no numbers", file.string(), name)};
}

/// Columns of numbers as they stand, others as codes 0, 1, ... of their values in order; `target` and `dropped` left
/// out.
Result<Table> encoded(const data::CsvTable& csv, const std::string& target, const std::set<std::string>& dropped,
                      const std::filesystem::path& file) {
  std::vector<std::vector<double>> columns;
  Table table;
  bool found = false;
  for (std::size_t c = 0; c < csv.header.size(); ++c) {
    if (csv.header[c].empty() || dropped.contains(csv.header[c])) continue;
    std::vector<std::optional<double>> numbers;
    std::map<std::string, std::size_t> values;
    for (const std::vector<std::string>& row : csv.rows) {
      numbers.push_back(number_in(row[c]));
      values.emplace(row[c], 0);
    }
    std::size_t next = 0;
    for (auto& [value, index] : values) index = next++;
    const bool numeric = std::all_of(numbers.begin(), numbers.end(), [](const auto& one) { return one.has_value(); });
    const auto code = [&](std::size_t r) {
      return numeric ? *numbers[r] : static_cast<double>(values.at(csv.rows[r][c]));
    };
    if (csv.header[c] == target) {
      found = true;
      for (std::size_t r = 0; r < csv.rows.size(); ++r) table.targets.push_back(code(r));
      continue;
    }
    if (!numeric) table.codes.push_back(static_cast<Eigen::Index>(columns.size()));
    columns.emplace_back();
    for (std::size_t r = 0; r < csv.rows.size(); ++r) columns.back().push_back(code(r));
  }
  if (!found || table.targets.empty()) return without_column(file, target);
  table.features.resize(static_cast<Eigen::Index>(columns.size()), static_cast<Eigen::Index>(table.targets.size()));
  for (std::size_t f = 0; f < columns.size(); ++f) {
    for (std::size_t r = 0; r < table.targets.size(); ++r)
      table.features(static_cast<Eigen::Index>(f), static_cast<Eigen::Index>(r)) = columns[f][r];
  }
  return table;
}

Result<models::Model> perceptron(Eigen::Index features, Eigen::Index hidden, Eigen::Index classes) {
  std::vector<models::LayerShape> layers;
  if (hidden > 0) layers.emplace_back(models::DenseShape{hidden, models::Activation::Relu});
  UNDERTONE_TRY(models::Network network, models::Network::create({{1, 1, features}, std::move(layers), classes}));
  return models::Model(std::move(network));
}

/// Training and test images of every digit, and who holds them.
struct MnistSplit {
  Table table;  // features: principal components
  std::vector<Indices> silo_train;
  Indices train;  // each image once
  Indices test;
};

Result<MnistSplit> split_mnist(const std::filesystem::path& folder, std::uint64_t split) {
  UNDERTONE_TRY(const data::LabelledImages read,
                data::read_idx(folder / "mnist-t10k-images-idx3-ubyte.gz", folder / "mnist-t10k-labels-idx1-ubyte.gz"));
  RandomSource source(split);
  std::vector<Indices> of_digit(10);
  const std::vector<std::size_t> order = source.permutation(read.labels.size());
  for (const std::size_t i : order) {
    const int digit = read.labels[i];
    if (digit < 0 || digit > 9)
      return Error{ErrorCode::InvalidData, fmt::format("{}: a label that is no digit", folder.string())};
    if (of_digit[static_cast<std::size_t>(digit)].size() < kMnistPerDigit)
      of_digit[static_cast<std::size_t>(digit)].push_back(i);
  }
  std::vector<Indices> train(10);
  std::vector<Indices> test(10);
  for (std::size_t digit = 0; digit < 10; ++digit) {
    if (of_digit[digit].size() < kMnistPerDigit) {
      return Error{ErrorCode::InvalidData, fmt::format("{}: {} images of {}, expected {}", folder.string(),
                                                       of_digit[digit].size(), digit, kMnistPerDigit)};
    }
    UNDERTONE_TRY(const data::TrainTest parts, data::split_indices(kMnistPerDigit, kTrainFraction, source));
    train[digit] = data::picked(of_digit[digit], parts.train);
    test[digit] = data::picked(of_digit[digit], parts.test);
  }
  MnistSplit out;
  out.train = joined(train);
  out.test = joined(test);
  Eigen::MatrixXd pixels(read.images.pixels.rows(), static_cast<Eigen::Index>(out.train.size()));
  for (std::size_t i = 0; i < out.train.size(); ++i)
    pixels.col(static_cast<Eigen::Index>(i)) = read.images.pixels.col(static_cast<Eigen::Index>(out.train[i]));
  UNDERTONE_TRY(const data::PrincipalComponents components, data::public_pca(pixels, kMnistComponents));
  out.table.features.resize(kMnistComponents, read.images.pixels.cols());
  components.project(read.images.pixels, out.table.features);
  for (const int label : read.labels) out.table.targets.push_back(static_cast<double>(label % 2));  // 1: odd
  for (std::size_t even = 0; even < 10; even += 2) {
    for (std::size_t odd = 1; odd < 10; odd += 2) out.silo_train.push_back(joined({train[even], train[odd]}));
  }
  return out;
}

Task mnist_task(models::Model model, const MnistSplit& mnist, std::uint64_t split) {
  Task task{std::move(model), {}, {}, chosen(mnist.table, mnist.train), chosen(mnist.table, mnist.test), {}};
  task.start = task.model.start(split);
  for (const Indices& silo : mnist.silo_train) task.silos.push_back({chosen(mnist.table, silo), {}});
  return task;
}

}  // namespace

Result<Task> mnist_logistic_task(const std::filesystem::path& data, const Cohort& /*cohort*/, std::uint64_t split) {
  UNDERTONE_TRY(MnistSplit mnist, split_mnist(data, split));
  for (double& target : mnist.table.targets) target = 2.0 * target - 1.0;
  models::LinearLoss::Options options;
  options.logit_max = 15.0;
  UNDERTONE_TRY(const models::LinearLoss loss, models::LinearLoss::create(models::Loss::Logistic, options));
  Task task = mnist_task(models::LinearModel(loss, kMnistComponents, false), mnist, split);
  // The source's L = 2 max |x|, "computed directly from the training data".
  task.clip = 2.0 * std::sqrt(task.train.features.colwise().squaredNorm().maxCoeff());
  return task;
}

Result<Task> mnist_network_task(const std::filesystem::path& data, const Cohort& /*cohort*/, std::uint64_t split) {
  UNDERTONE_TRY(const MnistSplit mnist, split_mnist(data, split));
  UNDERTONE_TRY(models::Model model, perceptron(kMnistComponents, 64, 2));
  return mnist_task(std::move(model), mnist, split);
}

Result<Task> insurance_task(const std::filesystem::path& data, const Cohort& cohort, std::uint64_t split) {
  const std::filesystem::path file = data / "insurance.csv";
  UNDERTONE_TRY(const data::CsvTable csv, read_table(file));
  UNDERTONE_TRY(Table table, encoded(csv, "charges", {}, file));
  if (table.features.rows() < 3) {
    return Error{ErrorCode::InvalidData, fmt::format("{}: expected age, sex and BMI first, found {} columns",
                                                     file.string(), table.features.rows())};
  }
  // The first and third column are age and BMI; the others are codes and stay as they are.
  for (const Eigen::Index row : {Eigen::Index{0}, Eigen::Index{2}}) {
    auto values = table.features.row(row).array();
    const double mean = values.mean();
    const double variance = (values - mean).square().mean();
    values = (values - mean) / std::sqrt(variance);
  }
  UNDERTONE_TRY(const data::Partition silos, data::partition_sorted(table.targets, cohort.silos));
  const Eigen::Index features = table.features.rows();
  return disjoint_task(models::LinearModel(models::Loss::LeastSquares, features, true), std::move(table), silos, split,
                       false);
}

Result<Task> obesity_task(const std::filesystem::path& data, const Cohort& cohort, std::uint64_t split) {
  const std::filesystem::path file = data / "obesity.csv";
  UNDERTONE_TRY(const data::CsvTable csv, read_table(file));
  UNDERTONE_TRY(Table table, encoded(csv, "NObeyesdad", {}, file));
  RandomSource source(split + 0x0be5);
  const auto classes = static_cast<int>(cohort.silos);
  UNDERTONE_TRY(const data::Partition silos, data::partition_by_label(table.labels(), classes, std::nullopt, source));
  UNDERTONE_TRY(models::Model model, perceptron(table.features.rows(), 0, classes));
  return disjoint_task(std::move(model), std::move(table), silos, split, true);
}

Result<Task> breast_cancer_task(const std::filesystem::path& data, const Cohort& cohort, std::uint64_t split) {
  const std::filesystem::path file = data / "wdbc.csv";
  UNDERTONE_TRY(const data::CsvTable csv, read_table(file));
  UNDERTONE_TRY(Table table, encoded(csv, "diagnosis", {"id"}, file));
  data::Partition silos(cohort.silos);
  for (std::size_t i = 0; i < table.targets.size(); ++i) {
    const double label = table.targets[i];
    if (!(label >= 0.0 && label < static_cast<double>(cohort.silos) && label == std::floor(label))) {
      return Error{ErrorCode::InvalidData,
                   fmt::format("{}: record {}: expected one of {} classes", file.string(), i + 1, cohort.silos)};
    }
    silos[static_cast<std::size_t>(label)].push_back(i);
  }
  UNDERTONE_TRY(models::Model model, perceptron(table.features.rows(), 5, 2));
  return disjoint_task(std::move(model), std::move(table), silos, split, true);
}

Result<Task> cifar_task(const std::filesystem::path& data, const Cohort& cohort, std::uint64_t split) {
  const std::filesystem::path folder = data / "cifar-10-batches-bin";
  std::vector<std::filesystem::path> files;
  for (int batch = 1; batch <= 5; ++batch) {
    const std::filesystem::path file = folder / fmt::format("data_batch_{}.bin", batch);
    if (batch == 1 || std::filesystem::exists(file)) files.push_back(file);
  }
  UNDERTONE_TRY(data::LabelledImages read, data::read_cifar10(files));
  // The network reads pixel by pixel, the file is channel by channel.
  const Eigen::Index pixels = read.images.rows * read.images.columns;
  Table table{Eigen::MatrixXd(read.images.pixels.rows(), read.images.pixels.cols()), {}, {}};
  for (Eigen::Index channel = 0; channel < read.images.channels; ++channel) {
    for (Eigen::Index pixel = 0; pixel < pixels; ++pixel)
      table.features.row(pixel * read.images.channels + channel) = read.images.pixels.row(channel * pixels + pixel);
  }
  for (const int label : read.labels) table.targets.push_back(label);
  RandomSource source(split + 0xc1fa);
  UNDERTONE_TRY(const data::Partition silos,
                data::partition_by_label(read.labels, static_cast<int>(cohort.silos), std::nullopt, source));
  const auto relu = models::Activation::Relu;
  UNDERTONE_TRY(
      models::Network network,
      models::Network::create({{read.images.channels, read.images.rows, read.images.columns},
                               {models::ConvolutionShape{6, 5, relu, true}, models::ConvolutionShape{16, 5, relu, true},
                                models::DenseShape{120, relu}, models::DenseShape{84, relu}},
                               10}));
  return disjoint_task(std::move(network), std::move(table), silos, split, true);
}

}  // namespace undertone::lab
