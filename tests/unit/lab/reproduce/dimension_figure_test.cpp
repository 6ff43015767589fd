#include "lab/reproduce/dimension_figure.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/base/files.hpp"
#include "shared/jobs/job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::lab {
namespace {

TEST(DimensionFigureTest, TheExcessIsHalfTheMeanSquareOfWhatScoresAreOffBy) {
  for (const RecordKind kind : {RecordKind::Dense, RecordKind::Sparse}) {
    SCOPED_TRACE(std::string(to_string(kind)));
    Eigen::VectorXd weights = Eigen::VectorXd::Constant(20, 0.05);
    weights[0] = -0.1;
    const data::Dataset records = dimension_records(kind, 20, 20'000, 3);
    const Eigen::VectorXd off = records.training.features.transpose() * (weights - dimension_optimum(20));
    EXPECT_NEAR(dimension_excess(kind, weights), 0.5 * off.squaredNorm() / 20'000.0, 0.02 * off.squaredNorm() / 2e4);
    EXPECT_EQ(dimension_excess(kind, dimension_optimum(20)), 0.0);
    EXPECT_NEAR(dimension_excess(kind, Eigen::VectorXd::Zero(20)), 0.5 * 0.147, 1e-12);  // |w*|^2 = 0.147
    EXPECT_NEAR(dimension_optimum(20).lpNorm<1>(), 0.9, 1e-12);
    EXPECT_LE(records.training.targets.cwiseAbs().maxCoeff(), 1.0);
    const double length = records.training.features.col(0).squaredNorm();
    EXPECT_EQ(length, kind == RecordKind::Dense ? 20.0 : 14.0);
  }
}

TEST(DimensionFigureTest, ARepetitionsSettingIsPickedByTheOthers) {
  // Its own 0 would win for the second setting; the others' mean is less for the first.
  EXPECT_EQ(excess_of_others_best({{3.0, 0.0}, {1.0, 2.0}, {1.0, 2.5}}), (std::vector<double>{3.0, 2.0, 2.5}));
}

TEST(DimensionFigureTest, SlopesArePowers) {
  const std::vector<double> x = {16.0, 64.0, 1024.0};
  std::vector<double> values;
  values.reserve(x.size());
  for (const double one : x) values.push_back(7.0 * std::pow(one, 0.75));
  EXPECT_NEAR(log_log_slope(x, values), 0.75, 1e-12);
}

TEST(DimensionFigureTest, EveryMethodIsBoundedInTheSameRecords) {
  const DimensionFigure figure = dimension_figure(FigureSize::Quick);
  for (const DimensionMethod method :
       {DimensionMethod::MinibatchSgd, DimensionMethod::PrivateFrankWolfe, DimensionMethod::MirrorDescent,
        DimensionMethod::NoisyFrankWolfe, DimensionMethod::ConstrainedMirrorDescent}) {
    for (const std::string& bytes : dimension_jobs(figure, RecordKind::Dense, method, 64)) {
      const auto job = jobs::parse_job(bytes, "job");
      ASSERT_TRUE(job) << job.error().message;
      EXPECT_EQ(job->algorithm->name(), to_string(method));
      const auto plan = jobs::plan_of(*job, job->cohort.front());
      ASSERT_TRUE(plan) << plan.error().message;
      EXPECT_LE(plan->epsilon().value_rounded_up(), figure.epsilon * (1.0 + 1e-9));
    }
  }
}

TEST(DimensionFigureTest, MakesItsQuickFormTwiceAlike) {
  const tests::TemporaryFolder one;
  const tests::TemporaryFolder two;
  const DimensionFigure figure = dimension_figure(FigureSize::Quick);
  for (const auto& [folder, threads] : {std::pair(&one, 1), std::pair(&two, 2)}) {
    ReproduceRequest request;
    request.out = folder->path();
    request.threads = static_cast<std::size_t>(threads);
    const Status done = reproduce_dimensions(figure, request);
    ASSERT_TRUE(done) << done.error().message;
  }
  for (const char* name : {"figD.1.jsonl", "figD.1.md", "figD.1.table.csv", "figD_1.csv", "figD_1.svg"})
    EXPECT_EQ(read_file(one.path() / name, 1U << 22U).value(), read_file(two.path() / name, 1U << 22U).value()) << name;
  EXPECT_NE(read_file(one.path() / "figD.1.md", 1U << 20U).value().find("not judged"), std::string::npos);
}

}  // namespace
}  // namespace undertone::lab
