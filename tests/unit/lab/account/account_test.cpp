#include <fstream>
#include <gtest/gtest.h>

#include "lab/account/account_command.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::lab {
namespace {

using accounting::GaussianEvent;

MechanismText gaussian(double sigma, double sensitivity, const std::string& sampling = "none") {
  MechanismText text;
  text.sigma = sigma;
  text.sensitivity = sensitivity;
  text.sampling = sampling;
  return text;
}

std::string refusal(const MechanismText& text, Adjacency adjacency = Adjacency::ReplaceOne) {
  const auto event = event_of(text, adjacency);
  return event ? "accepted" : event.error().message;
}

TEST(MechanismTest, AClipNormIsHalfTheSensitivityWhereARecordIsReplaced) {
  MechanismText text = gaussian(4.0, 1.0);
  text.sensitivity.reset();
  text.clip = 1.0;
  const auto replaced = event_of(text, Adjacency::ReplaceOne).value();
  const auto removed = event_of(text, Adjacency::AddRemove).value();
  EXPECT_DOUBLE_EQ(std::get<GaussianEvent>(replaced).shift.value(), 0.5);
  EXPECT_DOUBLE_EQ(std::get<GaussianEvent>(removed).shift.value(), 0.25);
}

TEST(MechanismTest, SamplingIsReadAndBelongsToItsAdjacency) {
  const auto subset = event_of(gaussian(1.0, 1.0, "wor:10/1000"), Adjacency::ReplaceOne).value();
  EXPECT_DOUBLE_EQ(std::get<accounting::SubsetGaussianEvent>(subset).rate, 0.01);
  const auto multiset = event_of(gaussian(1.0, 1.0, "wr:10/1000"), Adjacency::ReplaceOne).value();
  EXPECT_EQ(std::get<accounting::MultisetGaussianEvent>(multiset).draws, 10);
  const auto poisson = event_of(gaussian(1.0, 1.0, "poisson:0.01"), Adjacency::AddRemove).value();
  EXPECT_DOUBLE_EQ(std::get<accounting::PoissonGaussianEvent>(poisson).rate, 0.01);
  // Under replace-one the profile of subsets of the same rate holds for it.
  const auto replaced = event_of(gaussian(1.0, 1.0, "poisson:0.01"), Adjacency::ReplaceOne).value();
  EXPECT_DOUBLE_EQ(std::get<accounting::SubsetGaussianEvent>(replaced).rate, 0.01);
  EXPECT_NE(refusal(gaussian(1.0, 1.0, "wor:0.01"), Adjacency::AddRemove).find("replace-one"), std::string::npos);
  EXPECT_NE(refusal(gaussian(1.0, 1.0, "wr:1/10"), Adjacency::AddRemove).find("replace-one"), std::string::npos);
}

TEST(MechanismTest, NamesWhatIsWrong) {
  const auto names = [](const MechanismText& text, const char* what) {
    const std::string why = refusal(text);
    EXPECT_NE(why.find(what), std::string::npos) << why;
  };
  for (const double bad : {0.0, -1.0, std::nan(""), static_cast<double>(INFINITY)}) {
    names(gaussian(bad, 1.0), "sigma");
    names(gaussian(1.0, bad), "sensitivity");
  }
  names(gaussian(1e-300, 1.0), "sigma");
  names(gaussian(1e300, 1.0), "sigma");
  for (const char* bad : {"wor:1.5", "wor:0", "wor:", "wor", "wor:a", "wor:11/10", "wr:0.1", "wr:0/10", "poisson:-1",
                          "wor:1e999", "shuffle:0.1", "wor:1/0"}) {
    SCOPED_TRACE(bad);
    names(gaussian(1.0, 1.0, bad), "sampling");
  }
  MechanismText both = gaussian(1.0, 1.0);
  both.clip = 1.0;
  names(both, "clip");
  MechanismText laplace;
  laplace.kind = MechanismKind::Laplace;
  laplace.sensitivity = 1.0;
  names(laplace, "scale");
  MechanismText approximate;
  approximate.kind = MechanismKind::Approximate;
  approximate.epsilon = 1.0;
  approximate.delta = 1.0;
  names(approximate, "delta");
  MechanismText lattice = gaussian(1.0, 1.5);
  lattice.kind = MechanismKind::DiscreteGaussian;
  names(lattice, "integer");
  EXPECT_FALSE(parse_mechanism("gauss"));
}

TEST(MechanismsFileTest, IsReadWholeOrRefusedWithEveryProblem) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "plan.json";
  std::ofstream(file) << R"({"format":"undertone.account/1","mechanisms":[
    {"mechanism":"gaussian","sigma":4,"sensitivity":1,"sampling":"wor:0.01","steps":1000},
    {"mechanism":"laplace","scale":10,"sensitivity":1,"reads_from":0.5,"reads_to":1}]})";
  const std::vector<MechanismText> good = load_mechanisms(file).value();
  ASSERT_EQ(good.size(), 2U);
  EXPECT_EQ(good[0].steps, 1000U);
  EXPECT_EQ(good[1].reads.from, 0.5);
  std::ofstream(file) << R"({"format":"undertone.account/1","mechanisms":[
    {"mechanism":"gaussian","sigmas":4,"sensitivity":"one","steps":0},{"mechanism":"none"}]})";
  const auto bad = load_mechanisms(file);
  ASSERT_FALSE(bad);
  for (const char* problem :
       {"/mechanisms/0/sigmas", "/mechanisms/0/sensitivity", "/mechanisms/0/steps", "/mechanisms/1/mechanism"}) {
    EXPECT_NE(bad.error().message.find(problem), std::string::npos) << bad.error().message;
  }
}

TEST(AccountTest, BlocksReleasedTogetherAreOneGaussian) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "blocks.json";
  std::ofstream(file) << R"({"format":"undertone.account/1","mechanisms":[
    {"mechanism":"gaussian","blocks":[{"sensitivity":3,"sigma":10},{"clip":2,"sigma":10}]},
    {"mechanism":"gaussian","sigma":2,"blocks":[{"sensitivity":3,"sigma":10}]},
    {"mechanism":"gaussian","blocks":[{"sensitivity":3}]},
    {"mechanism":"laplace","scale":1,"sensitivity":1,"blocks":[{"sensitivity":3,"sigma":1}]}]})";
  const std::vector<MechanismText> texts = load_mechanisms(file).value();
  const accounting::PrivacyEvent event = event_of(texts[0], Adjacency::ReplaceOne).value();
  // (3/10)^2 + (2 2/10)^2 = 0.5^2
  EXPECT_NEAR(std::get<accounting::GaussianEvent>(event).shift.value(), 0.5, 1e-12);
  EXPECT_GE(std::get<accounting::GaussianEvent>(event).shift.value(), 0.5);
  EXPECT_NE(event_of(texts[1], Adjacency::ReplaceOne).error().message.find("got both"), std::string::npos);
  EXPECT_NE(event_of(texts[2], Adjacency::ReplaceOne).error().message.find("sigma of a block"), std::string::npos);
  EXPECT_NE(event_of(texts[3], Adjacency::ReplaceOne).error().message.find("blocks"), std::string::npos);
}

}  // namespace
}  // namespace undertone::lab
