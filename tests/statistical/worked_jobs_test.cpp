#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "shared/base/files.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/stated_regression.hpp"
#include "simulation/simulate.hpp"
#include "tests/support/measured_page.hpp"

namespace undertone::lab {
namespace {

/// What a worked job reaches on seeds 1 to 120, by `undertone sweep`. Settings of spider and proximal were chosen by
/// configs/sweeps/breast-cancer-spider.json and breast-cancer-proximal.json: of the settings with the largest means,
/// which differ by less than their errors, the one with the least spread.
struct WorkedJob {
  const char* name;
  double accuracy;         // mean over seeds
  double accuracy_stddev;  // over seeds, of one run
};
constexpr WorkedJob kWorkedJobs[] = {{"breast-cancer", 0.952, 0.0166},
                                     {"breast-cancer-accelerated", 0.949, 0.0164},
                                     {"breast-cancer-local-sgd", 0.897, 0.0514},
                                     {"breast-cancer-localized", 0.929, 0.0182},
                                     {"breast-cancer-network", 0.961, 0.0149},
                                     {"breast-cancer-proximal", 0.879, 0.0644},
                                     {"breast-cancer-shuffle", 0.934, 0.0316},
                                     {"breast-cancer-softmax", 0.952, 0.0176},
                                     {"breast-cancer-spider", 0.923, 0.0208},
                                     {"breast-cancer-svrg", 0.875, 0.0587},
                                     {"breast-cancer-theorem", 0.954, 0.0134},
                                     {"breast-cancer-groups", 0.867, 0.0563},
                                     {"breast-cancer-low-rank", 0.934, 0.0167},
                                     {"breast-cancer-objective", 0.870, 0.0285},
                                     {"breast-cancer-open", 0.980, 0.0010},
                                     {"breast-cancer-semi-ldp", 0.941, 0.0463},
                                     {"visits", 0.782, 0.0120}};
constexpr double kSeedsStated = 120.0;

constexpr std::uint64_t kFirstSeed = 1001;  // none that a setting was chosen by
constexpr std::size_t kSeeds = 20;

/// Were the means of runs normal, one over kSeeds runs is below this by chance with probability 1e-9: 6 standard
/// deviations of its difference from the stated mean, which is one over kSeedsStated runs. The settings that stood here
/// before are caught: proximal with 6 rounds of step 1 has mean 0.734 where 0.786 is asked for, spider with step 2 has
/// 0.818 where 0.893 is.
double threshold_of(const WorkedJob& job) {
  return job.accuracy - 6.0 * job.accuracy_stddev * std::sqrt(1.0 / static_cast<double>(kSeeds) + 1.0 / kSeedsStated);
}

std::filesystem::path file_of(const std::string& name) {
  return std::filesystem::path(UNDERTONE_JOBS) / (name + ".json");
}

/// Where the accuracy stands in a job's metrics.
std::optional<std::size_t> accuracy_of(const std::filesystem::path& file) {
  const jobs::Job job = jobs::parse_job(read_file(file, jobs::kJobBytesMax).value(), file.filename().string()).value();
  if (!jobs::is_evaluated(job)) return std::nullopt;  // of statistics, and of a regression with intervals
  const std::vector<std::string_view> names = job.model->metric_names();
  const auto found = std::find(names.begin(), names.end(), "accuracy");
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

double mean_accuracy(const std::string& name) {
  simulation::SimulateOptions options;
  options.job = file_of(name);
  options.direct = true;
  const std::size_t accuracy = accuracy_of(options.job).value();
  double sum = 0.0;
  for (std::size_t i = 0; i < kSeeds; ++i) {
    options.seed = kFirstSeed + i;
    sum += simulation::simulate(options, std::nullopt, nullptr).value().metrics.back().values.at(accuracy);
  }
  return sum / static_cast<double>(kSeeds);
}

TEST(WorkedJobsTest, EveryOneLearnsWhatItIsSaidToOverSeeds) {
  for (const WorkedJob& job : kWorkedJobs) {
    SCOPED_TRACE(job.name);
    EXPECT_GT(mean_accuracy(job.name), threshold_of(job));
  }
}

void expect_law_held(const std::string& name, const std::map<std::string, double>& truth) {
  simulation::SimulateOptions options;
  options.job = file_of(name);
  options.direct = true;
  const jobs::Job job = jobs::parse_job(read_file(options.job, jobs::kJobBytesMax).value(), "job").value();
  std::size_t stated = 0;
  for (std::size_t i = 0; i < kSeeds; ++i) {
    options.seed = kFirstSeed + i;
    const algorithms::Outcome outcome = simulation::simulate(options, std::nullopt, nullptr).value();
    ASSERT_TRUE(outcome.regression.has_value());
    const jobs::StatedQuestion found =
        jobs::state_regression(job, *outcome.regression, *statistics::Confidence::create(0.999));
    for (const jobs::NamedEstimate& estimate : found.estimates) {
      const auto known = truth.find(estimate.name);
      if (known == truth.end() || !estimate.stated.value) continue;
      ++stated;
      // At .999 the intervals of three coefficients, all of one sample of patients, miss by chance once in hundreds of
      // laws.
      EXPECT_TRUE(estimate.stated.population->holds(known->second)) << estimate.name << " seed " << options.seed;
    }
  }
  EXPECT_GE(stated, truth.size() * (kSeeds - 2));
}

TEST(WorkedJobsTest, TheRegressionHoldsTheLawThatItsPatientsAreDrawnFrom) {
  // datasets/trial/make.py: .8 more with the new treatment, .7 less in the late stage, nothing by age.
  expect_law_held("trial-regression", {{"arm=new", 0.8}, {"stage=late", -0.7}, {"age", 0.0}});
}

TEST(WorkedJobsTest, TheRatesHoldTheLawThatTheirPatientsAreDrawnFrom) {
  // datasets/admissions/make.py
  expect_law_held("admissions-rates",
                  {{"smoker=yes", 0.6}, {"diabetes=yes", 0.4}, {"age", 0.02}, {"(intercept)", -0.4}});
}

TEST(WorkedJobsTest, PagesSayWhatIsStatedHere) {
  const auto stated = [](const std::string& name) {
    const auto* found = std::find_if(std::begin(kWorkedJobs), std::end(kWorkedJobs),
                                     [&](const WorkedJob& job) { return job.name == name; });
    return found == std::end(kWorkedJobs) ? 0.0 : found->accuracy;
  };
  tests::expect_on_page("geometry.md", "accuracy # in one round, # of 30 rounds of SGD (means of 120 seeds)",
                        {stated("breast-cancer-objective"), stated("breast-cancer")}, 3);
}

TEST(WorkedJobsTest, NoneIsLeftOut) {
  std::set<std::string> held;
  for (const WorkedJob& job : kWorkedJobs) held.insert(job.name);
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(UNDERTONE_JOBS)) {
    if (entry.path().extension() != ".json" || !accuracy_of(entry.path()))
      continue;  // of moments, statistics and numbers there is none
    ++seen;
    EXPECT_TRUE(held.contains(entry.path().stem().string())) << entry.path();
  }
  EXPECT_EQ(seen, held.size());
}

}  // namespace
}  // namespace undertone::lab
