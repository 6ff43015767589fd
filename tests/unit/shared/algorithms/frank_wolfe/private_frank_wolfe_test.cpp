#include "shared/algorithms/frank_wolfe/private_frank_wolfe.hpp"

#include <gtest/gtest.h>

#include "shared/algorithms/table.hpp"
#include "shared/config/json_section.hpp"

namespace undertone::algorithms {
namespace {

using geometry::Domain;
using geometry::Vertices;

Problem in_l1_ball(double radius, Eigen::Index dimension = 3) {
  Problem problem;
  problem.dimension = dimension;
  problem.domain = Domain::l1_ball(radius).value();
  return problem;
}

PrivateFrankWolfeSettings settings_of(std::uint64_t iterates, double radius = 2.0) {
  return {in_l1_ball(radius), Vertices::of_l1_ball(3, radius).value(), iterates};
}

std::string refusal_of(const PrivateFrankWolfeSettings& settings) {
  const auto made = Method(settings)->make();
  return made ? "accepted" : made.error().message;
}

std::string problems_of(const nlohmann::json& algorithm, const Problem& problem) {
  config::Problems problems("job.json");
  config::Section section(algorithm, "/algorithm", problems);
  (void)PrivateFrankWolfe::parse(section, problem);
  section.finish();
  return problems.none() ? "accepted" : problems.error().message;
}

PrivateFrankWolfeSettings parsed(const nlohmann::json& algorithm, const Problem& problem) {
  config::Problems problems("job.json");
  config::Section section(algorithm, "/algorithm", problems);
  const ParsedMethod method = PrivateFrankWolfe::parse(section, problem);
  section.finish();
  EXPECT_TRUE(problems.none());
  EXPECT_EQ(method.draw_fraction, 1.0);
  return *method.method.as<PrivateFrankWolfeSettings>();
}

/// Votes of three silos of weights 2, 1 and 1, another tally every round.
folds::Gathered votes(std::uint64_t round) {
  const auto vertex = [&](std::uint64_t silo) { return static_cast<Eigen::Index>((5 * round + 2 * silo) % 6); };
  VertexTally tally;
  tally[vertex(0)] += 2.0;
  tally[vertex(1)] += 1.0;
  tally[vertex(3)] += 1.0;  // the same vertex as of silo 0
  return {RoundIndex{round}, 3, folds::Tally{tally}, 90};
}

TEST(PrivateFrankWolfeTest, ReadsVerticesAndIterates) {
  const auto ball = parsed({{"iterates", 7}, {"vertices", {{"kind", "l1_ball"}, {"radius", 2}}}}, in_l1_ball(2.0));
  EXPECT_EQ(ball.iterates, 7U);
  EXPECT_EQ(ball.vertices.l1_radius(), 2.0);
  EXPECT_EQ(ball.vertices.count(), 6);
  const auto simplex = parsed({{"iterates", 2}, {"vertices", {{"kind", "simplex"}, {"scale", 0.5}}}}, in_l1_ball(1.0));
  EXPECT_EQ(simplex.vertices.simplex_scale(), 0.5);
  const auto listed =
      parsed({{"iterates", 2}, {"vertices", {{"kind", "listed"}, {"points", {{1, 0, 0}, {0, -2, 0}, {0, 0, 0.5}}}}}},
             in_l1_ball(1.0));
  EXPECT_EQ(listed.vertices.count(), 3);
  EXPECT_EQ(listed.vertices.vertex(1), Eigen::Vector3d(0, -2, 0));
  EXPECT_FALSE(listed.vertices.l1_radius() || listed.vertices.simplex_scale());
}

TEST(PrivateFrankWolfeTest, RefusesWhatIsNoPolytope) {
  const auto finds = [](const nlohmann::json& vertices, const std::string& problem) {
    const std::string said = problems_of({{"iterates", 5}, {"vertices", vertices}}, in_l1_ball(1.0));
    EXPECT_NE(said.find(problem), std::string::npos) << said;
  };
  finds({{"kind", "cube"}}, "/algorithm/vertices/kind: expected one of \"l1_ball\", \"simplex\", \"listed\"");
  finds({{"kind", "l1_ball"}}, "/algorithm/vertices/radius: missing");
  finds({{"kind", "l1_ball"}, {"radius", 0}}, "/algorithm/vertices/radius: expected a finite number > 0");
  finds({{"kind", "l1_ball"}, {"radius", 1}, {"scale", 1}}, "/algorithm/vertices/scale: unknown key");
  finds({{"kind", "simplex"}, {"scale", -1}}, "/algorithm/vertices/scale: expected a finite number > 0");
  finds({{"kind", "listed"}}, "/algorithm/vertices/points: missing, expected an array of arrays of numbers");
  finds({{"kind", "listed"}, {"points", 3}}, "points: expected an array of arrays of numbers, got 3");
  finds({{"kind", "listed"}, {"points", {1, 2}}}, "points/0: expected an array of numbers, got 1");
  finds({{"kind", "listed"}, {"points", {{1, 0, 0}, {0, 1}}}},
        "points/1: expected 3 numbers, one for each of the model, got 2");
  finds({{"kind", "listed"}, {"points", {{1, 0, 0}, {0, "a", 0}}}}, "points/1/1: expected a finite number, got \"a\"");
  // Of what is empty no memory is asked for, however often it stands there.
  finds({{"kind", "listed"}, {"points", nlohmann::json(100'000, nlohmann::json::array())}},
        "points/0: expected 3 numbers, one for each of the model, got 0");
  finds({{"kind", "listed"}, {"points", {{1, 0, 0}}}}, "points: from 2 to 4096 vertices may be listed, got 1");
  finds({{"kind", "listed"}, {"points", {{1, 0, 0}, {1, 0, 0}}}}, "points: vertex 1 repeats vertex 0");
  const std::string single =
      problems_of({{"iterates", 5}, {"vertices", {{"kind", "simplex"}, {"scale", 1}}}}, in_l1_ball(1.0, 1));
  EXPECT_NE(single.find("the dimension of a simplex must be in 2"), std::string::npos) << single;
  const std::string few =
      problems_of({{"iterates", 1}, {"vertices", {{"kind", "l1_ball"}, {"radius", 1}}}}, in_l1_ball(1.0));
  EXPECT_NE(few.find("/algorithm/iterates: expected an integer from 2 to 1000001, got 1"), std::string::npos) << few;
}

TEST(PrivateFrankWolfeTest, TheDomainSaysWhatTheVerticesSay) {
  EXPECT_EQ(refusal_of(settings_of(5)), "accepted");
  PrivateFrankWolfeSettings other = settings_of(5);
  other.problem.domain = Domain::l1_ball(1.0).value();
  EXPECT_NE(refusal_of(other).find("expected the l1 ball of radius 2, got the l1 ball"), std::string::npos)
      << refusal_of(other);
  other.problem.domain = Domain::whole_space();
  EXPECT_NE(refusal_of(other).find("expected the l1 ball of radius 2"), std::string::npos);
  other.vertices = Vertices::of_simplex(3, 2.0).value();
  EXPECT_NE(refusal_of(other).find("expected the simplex of scale 2"), std::string::npos);
  other.problem.domain = Domain::simplex(2.0).value();
  EXPECT_EQ(refusal_of(other), "accepted");
  other.vertices = Vertices::listed(Eigen::Matrix3d::Identity()).value();
  EXPECT_NE(refusal_of(other).find("expected the whole space"), std::string::npos);
  other.problem.domain = Domain::whole_space();
  EXPECT_EQ(refusal_of(other), "accepted");
}

TEST(PrivateFrankWolfeTest, RefusesWhatItCannotRun) {
  PrivateFrankWolfeSettings regularised = settings_of(5);
  regularised.problem.regulariser = geometry::Regulariser::l1(0.1, 3).value();
  EXPECT_NE(refusal_of(regularised).find("expected no regulariser"), std::string::npos);
  PrivateFrankWolfeSettings wide = settings_of(5);
  wide.problem.dimension = 4;
  EXPECT_NE(refusal_of(wide).find("vertices of 3 numbers, and a model of 4"), std::string::npos);
  EXPECT_NE(refusal_of(settings_of(1)).find("from 2 to"), std::string::npos);
  // 10^6 choices among 2^17 vertices are some 2^37.
  PrivateFrankWolfeSettings much = settings_of(1'000'001);
  much.problem = in_l1_ball(2.0, 1 << 16);
  much.vertices = Vertices::of_l1_ball(1 << 16, 2.0).value();
  EXPECT_NE(refusal_of(much).find("1000000 choices among 131072 vertices: a run has at most 68719476736 candidates"),
            std::string::npos)
      << refusal_of(much);
  much.iterates = 500'001;
  EXPECT_EQ(refusal_of(much), "accepted");
}

TEST(PrivateFrankWolfeTest, AsksForItsVerticesOnceLessThanItHasIterates) {
  const GradientShape shape{releases::MaxBound{*releases::CoordinateBound::create(0.5)}, 1.0};
  const Method method = settings_of(6);
  const planning::Schedule schedule = method->schedule(shape);
  ASSERT_EQ(schedule.size(), 1U);
  EXPECT_EQ(schedule.front().rounds, 5U);
  EXPECT_EQ(method->extent().rounds, 5U);
  const releases::Ask& ask = schedule.front().ask;
  EXPECT_EQ(ask.kind(), releases::QuestionKind::Gradient);
  ASSERT_NE(ask.candidates(), nullptr);
  EXPECT_EQ(ask.candidates()->digest(), settings_of(6).vertices.digest());
  EXPECT_EQ(std::get<releases::MaxBound>(ask.bound).bound.value(), 0.5);
  EXPECT_EQ(ask.records.block, releases::Block::Training);
  EXPECT_EQ(ask.records.draw_fraction, 1.0);
  EXPECT_EQ(ask.answer_size(), 1);
}

TEST(PrivateFrankWolfeTest, SaysWhatOtherSectionsMust) {
  const MethodTraits traits = Method(settings_of(6))->traits();
  EXPECT_EQ(traits.bounded_in, MethodTraits::BoundedIn::EveryCoordinate);
  EXPECT_TRUE(traits.linear_models);
  EXPECT_FALSE(traits.shuffled || traits.shuffled_reports || traits.takes_subgradients);
}

TEST(PrivateFrankWolfeTest, IsTheIterateOfItsTallies) {
  constexpr std::uint64_t kIterates = 9;
  const PrivateFrankWolfeSettings settings = settings_of(kIterates);
  FrankWolfeIterate by_hand = FrankWolfeIterate::create(settings.vertices, kIterates, Eigen::Vector3d::Zero()).value();
  const auto algorithm = Method(settings)->make().value();
  Step step = algorithm->start();
  for (std::uint64_t round = 0; round + 1 < kIterates; ++round) {
    const auto* query = std::get_if<queries::Query>(&step);
    ASSERT_NE(query, nullptr);
    EXPECT_EQ(query->round.value, round);
    EXPECT_EQ(std::get<queries::GradientQuestion>(query->question).point, by_hand.point());
    const folds::Gathered gathered = votes(round);
    ASSERT_TRUE(by_hand.advance(std::get<folds::Tally>(gathered.value).votes));
    step = algorithm->advance(gathered).value();
  }
  ASSERT_TRUE(std::holds_alternative<Finished>(step));
  const Eigen::VectorXd weights = std::get<Finished>(step).outcome.vectors.at("weights");
  EXPECT_EQ(weights, by_hand.point());
  EXPECT_LE(weights.lpNorm<1>(), 2.0 * (1.0 + 1e-12));
}

TEST(PrivateFrankWolfeTest, OfTheStartNothingStaysButWhereTheFirstQuestionIsAsked) {
  PrivateFrankWolfeSettings started = settings_of(2);
  ASSERT_TRUE(started.problem.start_at(Eigen::Vector3d(0.5, -0.25, 1.0)));
  const auto algorithm = Method(started)->make().value();
  const Step first = algorithm->start();
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(first).question), Eigen::Vector3d(0.5, -0.25, 1.0));
  // One vote for vertex 3, which is -2 e_1; mu_1 = 1.
  const Step last = algorithm->advance({RoundIndex{0}, 1, folds::Tally{{{3, 1.0}}}, 10}).value();
  EXPECT_EQ(std::get<Finished>(last).outcome.vectors.at("weights"), Eigen::Vector3d(0, -2, 0));
}

TEST(PrivateFrankWolfeTest, RestoredAtAnyRoundItEndsTheSameToTheBit) {
  for (const queries::PointType type : {queries::PointType::F64, queries::PointType::F32}) {
    PrivateFrankWolfeSettings settings = settings_of(9, 0.3);
    settings.problem.point_type = type;
    const auto run = [&](std::uint64_t restart) {
      auto algorithm = Method(settings)->make().value();
      Step step = algorithm->start();
      for (std::uint64_t round = 0; round < 8; ++round) {
        if (round == restart) {
          ByteWriter saved;
          algorithm->save(saved);
          algorithm = Method(settings)->make().value();
          ByteReader reader(saved.bytes());
          EXPECT_TRUE(algorithm->restore(reader));
          EXPECT_TRUE(reader.end());
          EXPECT_EQ(std::get<queries::Query>(algorithm->start()).round.value, round);
        }
        step = algorithm->advance(votes(round)).value();
      }
      return std::get<Finished>(step).outcome.vectors.at("weights");
    };
    const Eigen::VectorXd straight = run(UINT64_MAX);
    for (std::uint64_t round = 0; round < 8; ++round) EXPECT_EQ(run(round), straight) << round;
    Eigen::VectorXd rounded = straight;
    queries::round_to(type, rounded);
    EXPECT_EQ(rounded, straight);
  }
}

TEST(PrivateFrankWolfeTest, RefusesADamagedState) {
  const auto algorithm = Method(settings_of(4))->make().value();
  ByteWriter saved;
  algorithm->save(saved);
  const std::string bytes = saved.bytes();
  for (std::size_t cut = 0; cut < bytes.size(); cut += 3) {
    ByteReader reader(std::string_view(bytes).substr(0, cut));
    EXPECT_FALSE(Method(settings_of(4))->make().value()->restore(reader)) << cut;
  }
  for (const std::uint64_t at : {0U, 5U}) {  // of iterates 1 .. 4
    ByteWriter other;
    other.u64(at);
    const Eigen::Vector3d zero = Eigen::Vector3d::Zero();
    other.doubles(zero.data(), 3);
    ByteReader reader(other.bytes());
    EXPECT_FALSE(Method(settings_of(4))->make().value()->restore(reader)) << at;
  }
}

TEST(PrivateFrankWolfeTest, RefusesAFoldThatIsNotThisRoundsTally) {
  const auto algorithm = Method(settings_of(3))->make().value();
  EXPECT_FALSE(algorithm->advance({RoundIndex{1}, 1, folds::Tally{{{0, 1.0}}}, 1}));
  EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::Vector3d::Zero()}, 1}));
  EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 1, folds::Tally{{{6, 1.0}}}, 1}));
  EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 1, folds::Tally{}, 1}));
  EXPECT_TRUE(algorithm->advance({RoundIndex{0}, 1, folds::Tally{{{0, 1.0}}}, 1}));
  EXPECT_TRUE(algorithm->advance({RoundIndex{1}, 1, folds::Tally{{{5, 1.0}}}, 1}));
  EXPECT_FALSE(algorithm->advance({RoundIndex{2}, 1, folds::Tally{{{5, 1.0}}}, 1}));
}

}  // namespace
}  // namespace undertone::algorithms
