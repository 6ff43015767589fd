#include "simulation/dealt_data.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "operator/deployment.hpp"
#include "shared/base/files.hpp"
#include "simulation/simulate.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::simulation {
namespace {

/// Jobs over small tables of a folder: the column "x" tells records apart, "y" is one of three classes.
class DealtDataTest : public ::testing::Test {
 protected:
  DealtDataTest() {
    table("train.csv", 60, 0);
    table("test.csv", 30, 1000);
  }
  [[nodiscard]] std::filesystem::path in_folder(const std::string& name) const { return folder_.path() / name; }

  void table(const std::string& name, int records, int first) const {
    std::string text = "x,y\n";
    for (int i = 0; i < records; ++i) text += fmt::format("{},class {}\n", first + i, i % 3);
    write_file_atomically(in_folder(name), text).value();
  }

  /// A job of as many silos as there are sizes, of 6 holdout records each unless said otherwise.
  [[nodiscard]] static nlohmann::json job_of(const std::vector<int>& records, const nlohmann::json& simulation,
                                             int holdout = 6) {
    nlohmann::json job = nlohmann::json::parse(R"({"format":"undertone.job/1","name":"dealt",
"data":{"label":{"column":"y","classes":["class 0","class 1","class 2"]},
        "features":[{"column":"x","min":0,"max":2000}]},
"model":{"kind":"softmax"},"domain":{"kind":"whole_space"},"regulariser":{"kind":"none"},
"algorithm":{"kind":"noisy_minibatch_sgd","rounds":2,"step_size":0.5,"averaging":"last","draw_fraction":1},
"privacy":{"mode":"isrl","unit":"record","noise":"test","clip_norm":1},
"participation":{"quorum":1,"join_deadline_ms":1000,"round_deadline_ms":1000,"resend_ms":300},
"evaluation":{"every":0},"wire":{"points":"f64","replies":"i64","reply_step_log2":-30}})");
    for (std::size_t i = 0; i < records.size(); ++i) {
      job["cohort"].push_back({{"silo", fmt::format("silo-{:02}", i)},
                               {"records", records[i]},
                               {"holdout_records", holdout},
                               {"holdout_public", true},
                               {"epsilon", 4},
                               {"delta", 1e-3}});
    }
    job["simulation"] = simulation;
    return job;
  }
  static nlohmann::json with_test(nlohmann::json more = nlohmann::json::object()) {
    more.update(
        nlohmann::json::parse(R"({"csv":"train.csv","test":{"csv":"test.csv"},"partition_seed":3,"holdout_seed":5})"));
    return more;
  }
  [[nodiscard]] std::filesystem::path write_job(const nlohmann::json& job) const {
    write_file_atomically(in_folder("job.json"), job.dump()).value();
    return in_folder("job.json");
  }
  [[nodiscard]] Result<std::vector<SimulatedSilo>> silos(const nlohmann::json& job) const {
    const std::filesystem::path file = write_job(job);
    const Result<jobs::Job> parsed = jobs::parse_job(job.dump(), "job.json");
    if (!parsed) return parsed.error();
    return silos_of(*parsed, file);
  }
  [[nodiscard]] std::vector<std::filesystem::path> partition_of(const nlohmann::json& job) const {
    return partition(write_job(job), in_folder("out")).value();
  }
  void refused(const nlohmann::json& job, const std::string& problem) const {
    const auto dealt = silos(job);
    ASSERT_FALSE(dealt) << problem;
    EXPECT_NE(dealt.error().message.find(problem), std::string::npos) << dealt.error().message;
  }
  /// The record that column x says, undone from [-1, 1].
  static std::set<long> records_of(const models::Records& records) {
    std::set<long> out;
    for (Eigen::Index i = 0; i < records.count(); ++i)
      EXPECT_TRUE(out.insert(std::lround((records.features(0, i) + 1.0) * 1000.0)).second);
    return out;
  }
  tests::TemporaryFolder folder_;
};

TEST_F(DealtDataTest, TrainingAndHoldoutComeFromFilesOfTheirOwn) {
  const auto dealt = silos(job_of({20, 13, 7}, with_test())).value();
  std::set<long> seen;
  const std::vector<Eigen::Index> sizes = {20, 13, 7};
  for (std::size_t i = 0; i < dealt.size(); ++i) {
    EXPECT_EQ(dealt[i].dataset.training.count(), sizes[i]);
    EXPECT_EQ(dealt[i].dataset.holdout.count(), 6);
    for (const long record : records_of(dealt[i].dataset.training)) {
      EXPECT_LT(record, 60);
      EXPECT_TRUE(seen.insert(record).second);
    }
    for (const long record : records_of(dealt[i].dataset.holdout)) {
      EXPECT_GE(record, 1000);
      EXPECT_TRUE(seen.insert(record).second);
    }
  }
}

TEST_F(DealtDataTest, WhatIsWrittenForAFederationIsSplitAsItIsSimulated) {
  const nlohmann::json job = job_of({20, 13, 7}, with_test());
  const auto simulated = silos(job).value();
  const jobs::Job parsed = jobs::parse_job(job.dump(), "job.json").value();
  const auto files = partition(in_folder("job.json"), in_folder("out")).value();
  ASSERT_EQ(files.size(), 3U);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const data::CsvTable table = data::parse_csv(read_file(files[i], 1U << 20U).value(), "file").value();
    const data::Dataset own =
        data::split(data::to_records(table, parsed.schema, "file").value(), split_of(parsed, parsed.cohort[i])).value();
    EXPECT_EQ(own.training.features, simulated[i].dataset.training.features);
    EXPECT_EQ(own.training.targets, simulated[i].dataset.training.targets);
    EXPECT_EQ(own.holdout.features, simulated[i].dataset.holdout.features);
  }
}

/// A table as an institution writes it is dealt as one of the program's own, and what is written for the silos is one.
TEST_F(DealtDataTest, ATableOfAnotherDialectIsDealtAlike) {
  std::string plain = "x,y\n";
  std::string other = "sep=;\r\nx\u00a0;y\r\n";
  for (int i = 0; i < 60; ++i) {
    plain += fmt::format("{}.25,class {}\n", 1000 + i, i % 3);
    other += fmt::format("1.{:03},25;class {}\r\n", i, i % 3);
  }
  write_file_atomically(in_folder("plain.csv"), plain).value();
  write_file_atomically(in_folder("other.csv"), other).value();
  const auto job = [](const char* csv, const char* partition) {
    return job_of({20, 13, 9}, {{"csv", csv},
                                {"partition", partition},
                                {"partition_seed", 3},
                                {"holdout_seed", 5},
                                {"holdout_fraction", 0.3},
                                {"partition_column", "x"}});
  };
  for (const char* partition : {"sorted", "random"}) {
    nlohmann::json foreign = job("other.csv", partition);
    EXPECT_FALSE(silos(foreign));  // not told
    foreign["simulation"]["file"] = {{"separator", ";"}, {"decimal", "comma"}, {"grouped", true}};
    nlohmann::json own = job("plain.csv", partition);
    if (std::string_view(partition) == "random") {
      own["simulation"].erase("partition_column");
      foreign["simulation"].erase("partition_column");
    }
    const auto expected = silos(own).value();
    const auto dealt = silos(foreign).value();
    ASSERT_EQ(partition_of(foreign).size(), 3U);
    for (std::size_t i = 0; i < dealt.size(); ++i) {
      EXPECT_EQ(dealt[i].dataset.training.features, expected[i].dataset.training.features);
      EXPECT_EQ(dealt[i].dataset.holdout.targets, expected[i].dataset.holdout.targets);
    }
  }
  EXPECT_NE(read_file(in_folder("out/silo-00.csv"), 1U << 20U)->find("\"x\",\"y\"\n\"10"), std::string::npos);
}

TEST_F(DealtDataTest, EveryPartitionGivesTheSizesOfTheCohort) {
  for (const char* more :
       {R"({"partition":"random"})", R"({"partition":"by_target"})", R"({"partition":"sorted","partition_column":"x"})",
        R"({"partition":"label"})", R"({"partition":"dirichlet","concentration":0.3})"}) {
    SCOPED_TRACE(more);
    for (const bool apart : {true, false}) {
      nlohmann::json simulation = with_test(nlohmann::json::parse(more));
      if (!apart) {
        simulation.erase("test");
        simulation["holdout_fraction"] = 0.3;  // of 20: 6
      }
      const auto dealt = silos(job_of({14, 14, 14}, simulation)).value();
      std::set<long> seen;
      for (const SimulatedSilo& silo : dealt) {
        EXPECT_EQ(silo.dataset.training.count(), 14);
        EXPECT_EQ(silo.dataset.holdout.count(), 6);
        for (const models::Records* part : {&silo.dataset.training, &silo.dataset.holdout}) {
          for (const long record : records_of(*part)) EXPECT_TRUE(seen.insert(record).second);
        }
      }
    }
  }
}

TEST_F(DealtDataTest, ByLabelTrainingAndTestAreOfTheSameClass) {
  const auto dealt = silos(job_of({14, 14, 14}, with_test({{"partition", "label"}}))).value();
  for (std::size_t i = 0; i < dealt.size(); ++i) {
    for (const models::Records* part : {&dealt[i].dataset.training, &dealt[i].dataset.holdout})
      EXPECT_TRUE((part->targets.array() == static_cast<double>(i)).all());
  }
}

TEST_F(DealtDataTest, SortedByAColumnSilosAreSlices) {
  const auto dealt =
      silos(job_of({14, 14, 14}, with_test({{"partition", "sorted"}, {"partition_column", "x"}}))).value();
  long last = -1;
  for (const SimulatedSilo& silo : dealt) {
    const std::set<long> records = records_of(silo.dataset.training);
    EXPECT_GT(*records.begin(), last);
    last = *records.rbegin();
  }
}

/// Files of MNIST's form: ten digits in turn, of 2 x 2 pixels that spell the record's number.
void write_idx(const std::filesystem::path& folder, const std::string& name, int count, int first) {
  const auto header = [](std::initializer_list<std::uint32_t> dimensions) {
    std::string out{'\0', '\0', '\x08', static_cast<char>(dimensions.size())};
    for (const std::uint32_t dimension : dimensions) {
      for (unsigned shift = 32; shift != 0; shift -= 8) out += static_cast<char>(dimension >> (shift - 8) & 0xffU);
    }
    return out;
  };
  std::string images = header({static_cast<std::uint32_t>(count), 2, 2});
  std::string labels = header({static_cast<std::uint32_t>(count)});
  for (int i = 0; i < count; ++i) {
    labels += static_cast<char>(i % 10);
    for (const int value : {(first + i) / 256, (first + i) % 256, 7, 255}) images += static_cast<char>(value);
  }
  write_file_atomically(folder / (name + "-images"), images).value();
  write_file_atomically(folder / (name + "-labels"), labels).value();
}

/// A job of 25 silos over such files, whose labels are the digits.
nlohmann::json digits_job(nlohmann::json job, const std::string& sharing) {
  job["data"] = {{"label", {{"column", "label"}, {"classes", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}}}}};
  for (int pixel = 0; pixel < 4; ++pixel)
    job["data"]["features"].push_back({{"column", fmt::format("p{}", pixel)}, {"min", 0}, {"max", 255}});
  job["simulation"] = nlohmann::json::parse(
      R"({"idx":{"images":"train-images","labels":"train-labels"},"test":{"idx":{"images":"test-images",
          "labels":"test-labels"}},"partition":"label_pair","partition_seed":3,"holdout_seed":5})");
  job["simulation"]["sharing"] = sharing;
  return job;
}

TEST_F(DealtDataTest, ImagesAreDealtByPairsOfDigits) {
  write_idx(folder_.path(), "train", 500, 0);
  write_idx(folder_.path(), "test", 200, 5000);
  for (const char* sharing : {"disjoint", "shared"}) {
    SCOPED_TRACE(sharing);
    const auto dealt = silos(digits_job(job_of(std::vector<int>(25, 20), {}), sharing)).value();
    ASSERT_EQ(dealt.size(), 25U);
    std::map<long, int> held;
    for (std::size_t i = 0; i < dealt.size(); ++i) {
      const models::Records& training = dealt[i].dataset.training;
      for (Eigen::Index r = 0; r < training.count(); ++r) {
        const auto byte = [&](Eigen::Index p) { return std::lround((training.features(p, r) + 1.0) * 127.5); };
        EXPECT_EQ(byte(2), 7);
        EXPECT_EQ(byte(3), 255);
        ++held[byte(0) * 256 + byte(1)];
        const auto digit = static_cast<std::size_t>(training.targets[r]);
        EXPECT_TRUE(digit == 2 * (i / 5) || digit == 2 * (i % 5) + 1) << digit << " at silo " << i;
      }
    }
    const int times = sharing == std::string("shared") ? 5 : 1;
    for (const auto& [record, count] : held) {
      EXPECT_EQ(count, times);
      EXPECT_LT(record, 500);
    }
    EXPECT_EQ(held.size(), 500U / static_cast<std::size_t>(times));
  }
}

TEST_F(DealtDataTest, EveryStatementOfSharedRecordsSaysThatTheyAreShared) {
  write_idx(folder_.path(), "train", 500, 0);
  write_idx(folder_.path(), "test", 200, 5000);
  for (const char* sharing : {"disjoint", "shared"}) {
    SCOPED_TRACE(sharing);
    const auto file = write_job(digits_job(job_of(std::vector<int>(25, 20), {}), sharing));
    const std::filesystem::path out = in_folder(std::string("result-") + sharing);
    SimulateOptions options;
    options.job = file;
    options.direct = true;
    const auto outcome = simulate(options, out, {});
    ASSERT_TRUE(outcome) << outcome.error().message;
    const nlohmann::json result = nlohmann::json::parse(read_file(out / "result.json", 16U << 20U).value());
    ASSERT_EQ(result.at("privacy").size(), 25U);
    for (const nlohmann::json& silo : result.at("privacy")) {
      const bool said = silo.at("statement").get<std::string>().find(jobs::kSharedRecords) != std::string::npos;
      EXPECT_EQ(said, sharing == std::string("shared"));
    }
  }
}

TEST_F(DealtDataTest, SilosOfTheirOwnAreNotDealtSharedRecords) {
  const auto file = write_job(digits_job(job_of(std::vector<int>(25, 20), {}), "shared"));
  operators::DeploymentOptions options;
  options.job = file;
  options.folder = in_folder("federation");
  const auto deployment = operators::Deployment::prepare(options);
  ASSERT_FALSE(deployment);
  EXPECT_NE(deployment.error().message.find("/simulation/sharing: expected \"disjoint\""), std::string::npos)
      << deployment.error().message;
  EXPECT_FALSE(std::filesystem::exists(options.folder));
}

TEST_F(DealtDataTest, ColourImagesAreReadPixelByPixel) {
  std::string batch;
  for (int i = 0; i < 20; ++i) {
    batch += static_cast<char>(i % 10);
    for (int channel = 0; channel < 3; ++channel) {
      for (int pixel = 0; pixel < 1024; ++pixel) batch += static_cast<char>(80 * channel + pixel % 80);
    }
  }
  write_file_atomically(in_folder("batch.bin"), batch).value();
  const RecordTable table = RecordTable::read(jobs::CifarRecords{{"batch.bin"}}, folder_.path()).value();
  EXPECT_EQ(table.rows(), 20U);
  ASSERT_EQ(table.header().size(), 3073U);
  EXPECT_EQ(table.header()[3072], "p3071");
  const std::vector<std::string> row = table.row(13);
  EXPECT_EQ(row[0], "3");
  // Pixel 5: red 5, green 85, blue 165, side by side.
  EXPECT_EQ((std::vector<std::string>{row[16], row[17], row[18]}), (std::vector<std::string>{"5", "85", "165"}));
}

TEST_F(DealtDataTest, SaysWhichFileAndFieldAndWhatWasFound) {
  refused(job_of({14, 14, 14}, with_test({{"partition", "label_pair"}})),
          "/simulation/partition: label_pair expects a cohort of 25 silos, got 3");
  refused(job_of(std::vector<int>(25, 2), with_test({{"partition", "label_pair"}}), 1),
          "job.json: /simulation/partition: expected 10 classes in the column \"y\"");
  refused(job_of({20, 10}, with_test(), 100),  // 100.5 of 110 records are more than 0.9 of them
          "/simulation/test: expected a holdout of at most 0.9 of a silo's records, silo-01 has 100 beside 10");
  nlohmann::json same = with_test();
  same["test"]["csv"] = "./train.csv";
  refused(job_of({14}, same), "/simulation/test: expected files of its own, found \"train.csv\"");
  refused(job_of({14}, with_test({{"partition", "dirichlet"}})), "/simulation/concentration: missing");
  refused(job_of({14}, with_test({{"concentration", 1}})), "/simulation/concentration: expected none");
  refused(job_of({14}, with_test({{"partition_column", "x"}})), "/simulation/partition_column: expected none");
  refused(job_of({14}, with_test({{"sharing", "disjoint"}})), "/simulation/sharing: expected none");
  refused(job_of({14}, with_test({{"holdout_fraction", 0.1}})), "/simulation/holdout_fraction: expected none");
  refused(job_of({14}, with_test(), 0), "/simulation/test: expected holdout_records of at least 1");
  refused(job_of({14}, with_test({{"cifar", {"batch.bin"}}})),
          "/simulation/csv: expected one of csv, idx and cifar, got 2 of them");
  refused(job_of({14}, with_test({{"partition", "sorted"}, {"partition_column", "z"}})),
          "train.csv: there is no column \"z\"");
  refused(job_of({14}, with_test({{"partition", "sorted"}})),
          "train.csv: record 1: the column \"y\" holds no finite number");
  refused(job_of({21}, with_test({{"partition", "label"}})),
          "train.csv: silo 0: expected at most 20 records, as are left of class 0, found 21 asked for");
  refused(job_of({61}, with_test()), "train.csv: silo 0: expected 1 to 60 records");
  nlohmann::json none = with_test();
  none.erase("csv");
  refused(job_of({14}, none), "/simulation/csv: expected one of csv, idx and cifar, got 0 of them");
  nlohmann::json shared = with_test({{"partition", "label_pair"}, {"sharing", "shared"}});
  shared.erase("test");
  shared["holdout_fraction"] = 0.3;
  refused(job_of(std::vector<int>(25, 14), shared), "/simulation/sharing: expected \"disjoint\" without test");
  nlohmann::json fraction = with_test();
  fraction.erase("test");
  refused(job_of({14}, fraction), "/simulation/holdout_fraction: missing");
  write_file_atomically(in_folder("test.csv"), "x,z\n1,2\n").value();
  refused(job_of({14}, with_test()), "test.csv:1: expected the columns of");
  write_file_atomically(in_folder("test.csv"), "x,y\n1,class 7\n").value();
  refused(job_of({14}, with_test({{"partition", "label"}}), 1),
          "test.csv: record 1: expected one of the 3 classes, found another");
}

}  // namespace
}  // namespace undertone::simulation
