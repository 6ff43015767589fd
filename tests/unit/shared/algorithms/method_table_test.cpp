#include <gtest/gtest.h>
#include <set>

#include "shared/algorithms/proximal/spider.hpp"
#include "shared/algorithms/sgd/local_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/algorithms/table.hpp"
#include "shared/config/json_section.hpp"

namespace undertone::algorithms {
namespace {

Problem in_ball() {
  Problem problem;
  problem.dimension = 2;
  problem.domain = geometry::Domain::l2_ball(1.0).value();
  return problem;
}

TEST(MethodTableTest, NamesAreDistinctAndEachParserMakesTheMethodOfItsName) {
  const nlohmann::json nothing = nlohmann::json::object();
  std::set<std::string_view> names;
  std::set<std::string_view> simulated;
  for (const NamedMethod& row : method_table()) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(names.insert(row.name).second);
    config::Problems problems = config::Problems::recording();
    config::Section section(nothing, "", problems);
    const ParsedMethod parsed = row.parse(section, in_ball());
    EXPECT_EQ(parsed.method->name(), row.name);
    EXPECT_EQ(problems.keys().empty(),
              row.name == "objective_perturbation" || row.name == "throw_away");  // everything of it follows
    EXPECT_FALSE(parsed.method->source().empty());
    EXPECT_EQ(parsed.method->traits().simulated_only, row.simulated_only);
    if (row.simulated_only) simulated.insert(row.name);
  }
  EXPECT_EQ(names.size(), algorithm_kinds().size());
  EXPECT_EQ(simulated, (std::set<std::string_view>{"scaffold", "stochastic_mirror_descent"}));
  // And statistics, which have no row; without what no silo answers, which no policy can allow.
  EXPECT_EQ(names.size() + 1 - simulated.size(), method_names().size());
  for (const std::string_view name : method_names()) EXPECT_FALSE(simulated.contains(name));
}

TEST(MethodTableTest, AParserTakesNoKeyOfAnotherAlgorithm) {
  const nlohmann::json written = {{"rounds", 3}, {"step_size", 0.5}, {"period", 2}, {"seed", 7}, {"pairs", 4}};
  config::Problems problems("job.json");
  config::Section section(written, "/algorithm", problems);
  const ParsedMethod parsed = Spider::parse(section, in_ball());
  section.finish();
  EXPECT_EQ(problems.error().message, "job.json: /algorithm/pairs: unknown key");
  const auto* spider = parsed.method.as<SpiderSettings>();
  ASSERT_NE(spider, nullptr);
  EXPECT_EQ(spider->rounds, 3U);
  EXPECT_EQ(spider->period, 2U);
  EXPECT_EQ(spider->seed, 7U);
  EXPECT_FALSE(spider->smoothness);
  EXPECT_EQ(parsed.draw_fraction, 1.0);
}

TEST(MethodTest, IsItsSettingsAndNoOthers) {
  const Method method = MinibatchSgdSettings{in_ball(), 3, 0.5, {}};
  const Method copy = method;  // NOLINT(performance-unnecessary-copy-initialization): what is tested
  EXPECT_EQ(copy.as<MinibatchSgdSettings>(), method.as<MinibatchSgdSettings>());  // one for both
  EXPECT_EQ(method.as<MinibatchSgdSettings>()->rounds, 3U);
  EXPECT_EQ(method.as<LocalSgdSettings>(), nullptr);
}

TEST(MethodTest, AnEmptyModelIsRefused) {
  const Method method = MinibatchSgdSettings{Problem{}, 3, 0.5, {}};
  const auto made = method->make();
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("a model of no numbers"), std::string::npos);
}

TEST(MethodTest, AWholeStepIsOneOfSizeOneWithoutAverage) {
  const Averaging last{Averaging::Kind::Last, 1.0};
  EXPECT_TRUE(Method(MinibatchSgdSettings{in_ball(), 1, 1.0, last})->traits().one_whole_step);
  EXPECT_FALSE(Method(MinibatchSgdSettings{in_ball(), 2, 1.0, last})->traits().one_whole_step);
  EXPECT_FALSE(Method(MinibatchSgdSettings{in_ball(), 1, 0.5, last})->traits().one_whole_step);
  EXPECT_FALSE(Method(MinibatchSgdSettings{in_ball(), 1, 1.0, {}})->traits().one_whole_step);
  EXPECT_FALSE(Method(SpiderSettings{in_ball(), 1, 1, 1.0, {}, 0})->traits().one_whole_step);
}

TEST(MethodTest, LocalRunsAreNotShuffledAndReportsAreOfMinibatchSgd) {
  const MethodTraits local = Method(LocalSgdSettings{in_ball(), 2, 5, 0.1})->traits();
  EXPECT_FALSE(local.shuffled);
  EXPECT_EQ(local.local_steps, 5U);
  const MethodTraits minibatch = Method(MinibatchSgdSettings{in_ball(), 2, 0.1, {}})->traits();
  EXPECT_TRUE(minibatch.shuffled && minibatch.shuffled_reports);
  const MethodTraits spider = Method(SpiderSettings{in_ball(), 2, 1, 0.1, {}, 0})->traits();
  EXPECT_TRUE(spider.shuffled);
  EXPECT_FALSE(spider.shuffled_reports);
}

TEST(MethodTest, ABoundNeedsAKnownModulusWhereTheAverageIsGeometric) {
  const releases::ClipNorm clip = *releases::ClipNorm::create(1.0);
  const Method uniform = MinibatchSgdSettings{in_ball(), 4, 0.5, {}};
  const Method geometric = MinibatchSgdSettings{in_ball(), 4, 0.5, {Averaging::Kind::Geometric, 0.9}};
  // D^2/(2 eta R) + eta/2 (G^2 + d s^2) = 1/4 + (1 + 2 0.25)/4.
  EXPECT_DOUBLE_EQ(uniform->predicted_risk(clip, 0.25, false).value().bound, 0.625);
  EXPECT_FALSE(geometric->predicted_risk(clip, 0.25, false));
  EXPECT_TRUE(geometric->predicted_risk(clip, 0.25, true));
  EXPECT_FALSE(Method(SpiderSettings{in_ball(), 4, 1, 0.5, {}, 0})->predicted_risk(clip, 0.25, true));
}

}  // namespace
}  // namespace undertone::algorithms
