#include "lab/reproduce/semi_local_figure.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "lab/reproduce/softmax_figure.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/lab/reproduce/twice_alike.hpp"

namespace undertone::lab {
namespace {

TEST(SemiLocalFigureTest, StepNoneIsWhereEveryMethodStarts) {
  const SemiLocalFigure figure = semi_local_figure(FigureSize::Quick);
  for (const SemiLocalStart& start : semi_local_starts(figure)) {
    SCOPED_TRACE(start.warm);
    const double origin = semi_local_losses(figure, SemiLocalMethod::ThrowAway, start, 4.0, 1).value().front();
    for (const SemiLocalMethod method :
         {SemiLocalMethod::LdpSgd, SemiLocalMethod::SemiLdpSgd, SemiLocalMethod::Weighed}) {
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
  expect_twice_alike("figA.6", [](const ReproduceRequest& request) {
    return reproduce_semi_local(semi_local_figure(FigureSize::Quick), request);
  });
}

TEST(SoftmaxFigureTest, LearnsMoreThanGuessingAndIsMadeTwiceAlike) {
  const SoftmaxFigure figure = softmax_figure(FigureSize::Quick);
  const std::vector<double> errors = softmax_errors(figure, SoftmaxMethod::MixedGradients, 0.1, 1.0, 1).value();
  ASSERT_EQ(errors.size(), figure.steps.size() * figure.weights.size());
  EXPECT_LT(*std::min_element(errors.begin(), errors.end()), 0.6);  // of three classes
  expect_twice_alike("figA.2", [&](const ReproduceRequest& request) { return reproduce_softmax(figure, request); });
}

TEST(SoftmaxFigureTest, ReadsTheImagesThatThereAre) {
  const tests::TemporaryFolder folder;
  SoftmaxFigure figure = softmax_figure(FigureSize::Quick);
  figure.records = 60;
  figure.tests = 30;
  EXPECT_EQ(with_images(figure, folder.path())->images, nullptr);
  std::filesystem::create_directories(folder.path() / "cifar-10-batches-bin");
  const auto write = [&](int images) {
    std::ofstream file(folder.path() / "cifar-10-batches-bin" / "data_batch_1.bin", std::ios::binary);
    for (int image = 0; image < images; ++image) {
      file.put(static_cast<char>(image % 10));
      for (int byte = 0; byte < 3072; ++byte) file.put(static_cast<char>((image * 7 + byte) % 251));
    }
  };
  write(80);
  EXPECT_NE(with_images(figure, folder.path()).error().message.find("80 images"), std::string::npos);
  write(100);
  const SoftmaxFigure real = with_images(figure, folder.path()).value();
  EXPECT_EQ(real.dimension, 3072U);
  EXPECT_EQ(real.classes, 10U);
  const SoftmaxProblem problem = softmax_problem(real, 0.1, 1);
  EXPECT_EQ(problem.open.targets.size(), 6);
  EXPECT_EQ(problem.hidden.targets.size(), 54);
  EXPECT_EQ(problem.tests.targets.size(), 30);
  EXPECT_NE(softmax_problem(real, 0.1, 2).open.features, problem.open.features);
}

}  // namespace
}  // namespace undertone::lab
