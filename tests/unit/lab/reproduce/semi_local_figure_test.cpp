#include "lab/reproduce/semi_local_figure.hpp"

#include <gtest/gtest.h>

#include "shared/base/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::lab {
namespace {

TEST(SemiLocalFigureTest, StepNoneIsWhereEveryMethodStarts) {
  const SemiLocalFigure figure = semi_local_figure(FigureSize::Quick);
  for (const SemiLocalStart& start : semi_local_starts(figure)) {
    SCOPED_TRACE(start.warm);
    const double origin = semi_local_losses(figure, SemiLocalMethod::ThrowAway, start, 4.0, 1).value().front();
    for (const SemiLocalMethod method : {SemiLocalMethod::LdpSgd, SemiLocalMethod::SemiLdpSgd}) {
      const std::vector<double> losses = semi_local_losses(figure, method, start, 4.0, 1).value();
      ASSERT_EQ(losses.size(), figure.steps.size());
      EXPECT_EQ(losses.front(), origin) << to_string(method);
      EXPECT_NE(losses.back(), origin) << to_string(method);
    }
  }
}

// One record a round is the source's order: so many parts as there are protected records.
TEST(SemiLocalFigureTest, PartsOfOneRecordLearnAsPartsOfTenDo) {
  SemiLocalFigure figure = semi_local_figure(FigureSize::Quick);
  figure.records = 500;
  figure.epsilons = {6.0};
  figure.steps = {0.05};
  const SemiLocalStart start{false, 50};
  const double origin = public_problem(figure.dimension, 50, 450, 1).optimum.squaredNorm();
  for (const std::uint64_t rounds : {450U, 45U}) {
    figure.rounds = rounds;
    figure.steps = {rounds == 450U ? 0.05 : 0.5};  // a step of ten records' mean goes as far as ten steps of one's
    double mean = 0.0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      mean += semi_local_losses(figure, SemiLocalMethod::SemiLdpSgd, start, 6.0, seed).value().front() / 4.0;
    EXPECT_LT(mean, 0.25 * origin) << rounds;
  }
}

TEST(SemiLocalFigureTest, MakesItsQuickFormTwiceAlike) {
  const tests::TemporaryFolder one;
  const tests::TemporaryFolder two;
  for (const auto& [folder, threads] : {std::pair(&one, 1), std::pair(&two, 2)}) {
    ReproduceRequest request;
    request.out = folder->path();
    request.threads = static_cast<std::size_t>(threads);
    const Status done = reproduce_semi_local(semi_local_figure(FigureSize::Quick), request);
    ASSERT_TRUE(done) << done.error().message;
  }
  for (const char* name : {"figA.6.jsonl", "figA.6.md", "figA.6.table.csv", "figA_6.csv", "figA_6.svg"})
    EXPECT_EQ(read_file(one.path() / name, 1U << 22U).value(), read_file(two.path() / name, 1U << 22U).value()) << name;
  EXPECT_NE(read_file(one.path() / "figA.6.md", 1U << 20U).value().find("not judged"), std::string::npos);
}

}  // namespace
}  // namespace undertone::lab
