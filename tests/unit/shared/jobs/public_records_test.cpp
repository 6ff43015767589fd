#include "shared/jobs/public_records.hpp"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <memory>

#include "shared/base/files.hpp"
#include "shared/base/random_source.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::jobs {
namespace {

struct Brought {
  tests::TemporaryFolder folder;
  tests::SmallFederation federation;

  explicit Brought(const std::string& more = {}, models::Loss loss = models::Loss::Logistic, int records = 30) {
    federation.loss = loss;
    federation.open_records = tests::open_records_in(folder.path(), federation, records, more);
  }
  [[nodiscard]] Result<Job> job() const { return parse_job(federation.job(), "job.json"); }
  [[nodiscard]] std::string said() const {
    const Result<Job> read = job();
    return read ? "accepted" : read.error().message;
  }
  [[nodiscard]] Result<PublicSide> side() const { return public_side(job().value(), folder.path()); }
};

TEST(PublicRecordsTest, ChangeNothingOfWhatASiloPlans) {
  const Brought with;
  tests::SmallFederation without = with.federation;
  without.open_records.clear();
  const Job open = with.job().value();
  const Job plain = parse_job(without.job(), "job.json").value();
  for (const CohortMember& member : plain.cohort) {
    const planning::Plan one = plan_of(plain, member).value();
    const planning::Plan other = plan_of(open, *open.member(member.facts.silo)).value();
    EXPECT_EQ(one.epsilon().units(), other.epsilon().units());
    EXPECT_EQ(one.releases_text(releases::Block::Training), other.releases_text(releases::Block::Training));
    EXPECT_EQ(one.releases_text(releases::Block::Holdout), other.releases_text(releases::Block::Holdout));
  }
}

TEST(PublicRecordsTest, TheWeightChangesNoNoise) {
  std::optional<double> noise;
  for (const char* weight : {"", R"(,"weight":0)", R"(,"weight":0.5)", R"(,"weight":1)"}) {
    const Job job = Brought(weight).job().value();
    const planning::Plan plan = plan_of(job, job.cohort.front()).value();
    const double here = noise_of_gradient(plan.segments());
    EXPECT_GT(here, 0.0);
    EXPECT_EQ(noise.value_or(here), here);
    noise = here;
  }
}

TEST(PublicRecordsTest, WeighWhatVariesLeastAndStartAtTheirMinimiser) {
  const Brought brought;
  const PublicSide side = brought.side().value();
  EXPECT_EQ(side.why, "what varies least");
  ASSERT_TRUE(side.errors && side.start);
  // alpha and 1 - alpha are as the precisions of the two.
  EXPECT_NEAR(side.weight, side.errors->open / (side.errors->open + side.errors->silos), 1e-12);
  EXPECT_LT(side.errors->mixed(), std::min(side.errors->open, side.errors->silos));
  const Job job = brought.job().value();
  Job known = job;
  known.public_side = side;
  const auto algorithm = make_algorithm(known);
  const algorithms::Step step = algorithm->start();
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(step).question), *side.start);
}

TEST(PublicRecordsTest, TheMoreNoiseTheLessTheSilosWeigh) {
  double before = 1.0;
  for (const double multiplier : {60.0, 300.0, 3000.0}) {
    Brought brought;
    brought.federation.noise_multiplier = multiplier;
    brought.federation.averaging = "last";
    const double weight = brought.side().value().weight;
    EXPECT_LT(weight, before);
    before = weight;
  }
  EXPECT_LT(before, 0.1);
}

TEST(PublicRecordsTest, TooFewToKnowWhatTheyVaryByAreTakenToVaryAsMuchAsTheyCan) {
  const Brought brought({}, models::Loss::Logistic, 9);  // of five weights
  const PublicSide side = brought.side().value();
  const double clip = brought.job().value().clip().value();
  ASSERT_TRUE(side.errors);
  EXPECT_EQ(side.errors->variance, clip * clip);
  EXPECT_EQ(side.errors->open, clip * clip / 9.0);
  EXPECT_EQ(side.weight, side.errors->open / (side.errors->open + side.errors->silos));
  EXPECT_NE(side.why.find("9 public records are fewer than two for each of 5 weights"), std::string::npos) << side.why;
  EXPECT_EQ(Brought(R"(,"weight":0.25)", models::Loss::Logistic, 9).side().value().weight, 0.25);
}

TEST(PublicRecordsTest, AnotherFileIsRefusedInWords) {
  const Brought brought;
  const Job job = brought.job().value();
  const auto says = [&](const std::string& what) {
    const auto loaded = load_public_records(job, brought.folder.path());
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().message.find(what), std::string::npos) << loaded.error().message;
  };
  EXPECT_TRUE(load_public_records(job, brought.folder.path()));
  EXPECT_FALSE(load_public_records(job, std::nullopt));
  const std::filesystem::path file = brought.folder.path() / "open.csv";
  const std::string text = read_file(file, 1U << 20U).value();
  ASSERT_TRUE(write_file_atomically(file, text + "yes,0,0,0,0\n"));
  says("this one is another");
  ASSERT_TRUE(write_file_atomically(file, "y,x0,x1\nyes,0,0\n"));
  says("this one is another");
  ASSERT_TRUE(write_file_atomically(file, ""));
  says("expected a file that is not empty");
  std::filesystem::remove(file);
  says("expected a file that is not empty");
  std::filesystem::create_directory(file);
  says("expected a file that is not empty");
}

// The operator is told nothing of the folder, nor of a file that is another.
TEST(PublicRecordsTest, AFileThatTheSchemaDoesNotReadIsRefusedByItsNameAlone) {
  Brought brought;
  const std::string text = "y,x0,x1\nyes,0,0\n";
  ASSERT_TRUE(write_file_atomically(brought.folder.path() / "open.csv", text));
  std::string& section = brought.federation.open_records;
  section.replace(section.find("sha256\":\"") + 9, 64, to_hex(sha256(text)));
  const auto side = brought.side();
  ASSERT_FALSE(side);
  EXPECT_NE(side.error().message.find("x2"), std::string::npos) << side.error().message;
  EXPECT_EQ(side.error().message.find(brought.folder.path().string()), std::string::npos) << side.error().message;
}

TEST(PublicRecordsTest, AFileOfManyMoreLinesIsRefusedBeforeMemoryIsTaken) {
  Brought brought;
  const std::string text = "y,x0,x1,x2,x3\n" + std::string(100, '\n');
  ASSERT_TRUE(write_file_atomically(brought.folder.path() / "open.csv", text));
  std::string& section = brought.federation.open_records;
  section.replace(section.find("sha256\":\"") + 9, 64, to_hex(sha256(text)));
  const auto side = brought.side();
  ASSERT_FALSE(side);
  EXPECT_NE(side.error().message.find("102 lines, expected 30 records"), std::string::npos) << side.error().message;
}

TEST(PublicRecordsTest, AnotherNumberOfRecordsIsRefused) {
  Brought brought;
  brought.federation.open_records.replace(brought.federation.open_records.find("\"records\":30"), 12, "\"records\":31");
  const auto side = brought.side();
  ASSERT_FALSE(side);
  EXPECT_NE(side.error().message.find("the job says 31 records, the file holds 30"), std::string::npos);
}

TEST(PublicRecordsTest, WhatIsKeptOfThemIsReadAgainToTheBit) {
  const Brought brought;
  const Job job = brought.job().value();
  const PublicSide side = brought.side().value();
  const std::string kept = save(side);
  const std::optional<PublicSide> again = read_public_side(kept, job).value();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->weight, side.weight);
  EXPECT_EQ(again->why, side.why);
  EXPECT_EQ(*again->start, *side.start);
  for (std::size_t cut = 0; cut < kept.size(); ++cut) EXPECT_FALSE(read_public_side(kept.substr(0, cut), job)) << cut;
  EXPECT_FALSE(read_public_side(kept + "x", job));
  tests::SmallFederation plain = brought.federation;
  plain.open_records.clear();
  const Job without = parse_job(plain.job(), "job.json").value();
  EXPECT_FALSE(read_public_side(kept, without));
  EXPECT_FALSE(read_public_side("", without).value().has_value());
}

TEST(PublicRecordsTest, AKeptStartThatIsNoPointOfTheJobIsDamaged) {
  const Job job = Brought().job().value();
  PublicSide side = Brought().side().value();
  for (const double wrong : {1e200, std::numeric_limits<double>::infinity(), std::nan("")}) {
    side.start->setConstant(wrong);
    EXPECT_FALSE(read_public_side(save(side), job)) << wrong;
  }
  side.start = Eigen::VectorXd::Zero(side.start->size() + 1);
  EXPECT_FALSE(read_public_side(save(side), job));
}

// The parser takes numbers from 1e-120 and labels to 1e50: their least squares are no model.
TEST(PublicRecordsTest, AMinimiserThatNoPointCanHaveEndsTheJobInWords) {
  RandomSource random(3);
  models::Records records{Eigen::MatrixXd(5, 9), Eigen::VectorXd(9)};
  for (double& number : records.features.reshaped()) number = 1e-120 * (random.unit() - 0.5);
  for (double& number : records.targets) number = 1e50 * random.unit();
  const models::PublicLoss loss = models::PublicLoss::create({models::Loss::LeastSquares, 5, false}, records).value();
  for (const char* domain : {R"({"kind":"whole_space"})", R"({"kind":"l2_ball","radius":5})"}) {
    Brought brought(R"(,"warm_ridge":0,"weight":0.5)", models::Loss::LeastSquares);
    brought.federation.domain = domain;
    const Result<PublicSide> side = public_side_of(brought.job().value(), loss, {});
    ASSERT_FALSE(side);
    EXPECT_NE(side.error().message.find("which is more than a point may have"), std::string::npos)
        << side.error().message;
  }
}

TEST(PublicRecordsTest, WithoutThemTheAlgorithmRefusesItsFirstAdvance) {
  const Job job = Brought().job().value();
  const auto algorithm = make_algorithm(job);
  const algorithms::Step step = algorithm->start();
  const auto& query = std::get<queries::Query>(step);
  const auto next = algorithm->advance({query.round, 1, folds::Mean{Eigen::VectorXd::Zero(5)}});
  ASSERT_FALSE(next);
  EXPECT_NE(next.error().message.find("public records, which are not here"), std::string::npos);
}

TEST(PublicSectionTest, RefusesWhatPublicRecordsCannotServe) {
  const auto said = [](auto change, const std::string& more = {}, models::Loss loss = models::Loss::Logistic) {
    Brought brought(more, loss);
    change(brought.federation);
    return brought.said();
  };
  const auto nothing = [](tests::SmallFederation& /*of*/) {};
  EXPECT_EQ(said(nothing), "accepted");
  EXPECT_EQ(said(nothing, R"(,"use":"mirror_map","mirror_ridge":0.1)", models::Loss::LeastSquares), "accepted");
  EXPECT_NE(said(nothing, R"(,"use":"mirror_map")").find("/public/use: "), std::string::npos);
  EXPECT_NE(said(nothing, R"(,"weight":1.5)").find("/public/weight"), std::string::npos);
  EXPECT_NE(said(nothing, R"(,"weight":-0.1)").find("/public/weight"), std::string::npos);
  EXPECT_NE(said(nothing, R"(,"mirror_ridge":1)").find("/public/mirror_ridge"), std::string::npos);
  EXPECT_NE(
      said([](auto& of) { of.loss = models::Loss::Absolute; }).find("/public: expected none: the loss has a kink"),
      std::string::npos);
  EXPECT_NE(said([](auto& of) { of.initial = R"({"kind":"zero"})"; }).find("/public/warm_start"), std::string::npos);
  EXPECT_NE(said([](auto& of) {
              of.regulariser = R"({"kind":"none"})";
              of.algorithm =
                  R"({"kind":"local_minibatch_sgd","rounds":3,"local_steps":4,"local_batch":3,"step_size":0.1})";
            }).find("/public: expected none: local_minibatch_sgd"),
            std::string::npos);
  for (const char* file : {"../open.csv", "/etc/passwd", "", "..", "a/b.csv", "a\\\\b.csv"}) {
    const std::string one = said([&](auto& of) { of.open_records.replace(of.open_records.find("open.csv"), 8, file); });
    EXPECT_NE(one.find("/public/file"), std::string::npos) << file << ": " << one;
  }
  EXPECT_NE(said([](auto& of) {
              of.open_records.replace(of.open_records.find("sha256\":\"") + 9, 2, "zz");
            }).find("/public/sha256"),
            std::string::npos);
  EXPECT_NE(said([](auto& of) {
              of.open_records.replace(of.open_records.find("\"records\":30"), 12, "\"records\":0");
            }).find("/public/records"),
            std::string::npos);
  // What a file would take is known from the text: 2^23 numbers of five a record.
  EXPECT_NE(said([](auto& of) {
              of.open_records.replace(of.open_records.find("\"records\":30"), 12, "\"records\":1677722");
            }).find("/public/records: expected at most 1677721"),
            std::string::npos);
}

TEST(PublicSectionTest, ThrowAwayNeedsAFileAndItsModel) {
  const auto said = [](auto change, const std::string& more = {}) {
    Brought brought(more);
    brought.federation.algorithm = R"({"kind":"throw_away"})";
    change(brought.federation);
    return brought.said();
  };
  EXPECT_EQ(said([](auto& /*of*/) {}), "accepted");
  EXPECT_EQ(said([](auto& /*of*/) {}, R"(,"solver":"one_pass")"), "accepted");
  EXPECT_NE(said([](auto& of) { of.open_records.clear(); }).find("/algorithm/kind: throw_away is the model of"),
            std::string::npos);
  EXPECT_NE(said([](auto& /*of*/) {}, R"(,"warm_start":false)").find("/public/warm_start"), std::string::npos);
  EXPECT_NE(
      said([](auto& of) { of.domain = R"({"kind":"whole_space"})"; }, R"(,"solver":"one_pass")").find("/public/solver"),
      std::string::npos);
}

TEST(PublicSectionTest, SemiLdpSgdNeedsThemAndCountsEveryRecordAlike) {
  struct BroughtToSemiLdp : Brought {
    explicit BroughtToSemiLdp(const std::string& more) : Brought(more) {
      federation.algorithm = R"({"kind":"semi_ldp_sgd","rounds":4,"step_size":0.1,"averaging":"uniform"})";
    }
  };
  BroughtToSemiLdp without("");
  without.federation.open_records.clear();
  EXPECT_NE(without.said().find("/algorithm/kind: semi_ldp_sgd steps along public records' gradients"),
            std::string::npos)
      << without.said();
  const auto weight_of = [](const Job& job) {
    return std::get<algorithms::MixedGradients>(job.public_terms->use).weight;
  };
  const Job job = BroughtToSemiLdp("").job().value();
  std::int64_t records = 0;  // that report: the last ones of a silo that four parts of one size leave over do not
  for (const CohortMember& member : job.cohort) records += member.facts.records / 4 * 4;
  EXPECT_EQ(weight_of(job), static_cast<double>(records) / static_cast<double>(records + 30));
  EXPECT_EQ(weight_of(BroughtToSemiLdp(R"(,"weight":0.25)").job().value()), 0.25);
  EXPECT_NE(BroughtToSemiLdp(R"(,"weight_end":0.25)").said().find("/public/weight_end: expected a weight beside it"),
            std::string::npos);
  // Or the weight is found, as for other methods: between what counts alike and the public records alone.
  const BroughtToSemiLdp by_variance(R"(,"weighed_by":"variance","gradients":"clipped")");
  EXPECT_FALSE(weight_of(by_variance.job().value()));
  const PublicSide found = by_variance.side().value();
  EXPECT_EQ(found.why, "what varies least");
  EXPECT_GT(found.weight, 0.0);
  EXPECT_LT(found.weight, *weight_of(job));
  EXPECT_NE(BroughtToSemiLdp(R"(,"weighed_by":"variance","weight":0.5)").said().find("/public/weighed_by"),
            std::string::npos);
  // Silos' own public records count, too, and no weight has to be said.
  BroughtToSemiLdp at_silos("");
  at_silos.federation.open_records = R"({"silos":true})";
  at_silos.federation.public_records = 5;
  const Job own = at_silos.job().value();
  std::int64_t open = 0;
  for (const CohortMember& member : own.cohort) open += member.facts.public_records;
  ASSERT_GT(open, 0);
  EXPECT_EQ(weight_of(own), static_cast<double>(records) / static_cast<double>(records + open));
  at_silos.federation.open_records = R"({"silos":true,"weighed_by":"variance"})";
  EXPECT_NE(at_silos.said().find("/public/weight: missing"), std::string::npos) << at_silos.said();
  // And every method can count alike.
  EXPECT_EQ(Brought(R"(,"weighed_by":"records")").side().value().why, "every record counts alike");
  EXPECT_NE(BroughtToSemiLdp(R"(,"use":"mirror_map")").said().find("/public/use"), std::string::npos);
  // What is chosen by noise on sums does not fit reports, and is refused before anybody is asked.
  BroughtToSemiLdp moments("");
  moments.federation.moments = R"({"order":4,"bound":0.5,"source":"a pilot"})";
  EXPECT_NE(moments.said().find("of semi_ldp_sgd each record is randomised by itself"), std::string::npos)
      << moments.said();
  BroughtToSemiLdp by_hand("");
  by_hand.federation.noise_multiplier = 2.0;
  EXPECT_NE(by_hand.said().find("/privacy/calibration/by: expected \"accountant\""), std::string::npos)
      << by_hand.said();
}

TEST(PublicSectionTest, NetworksTakeAFileAtAWeightThatTheJobSays) {
  const auto softmax = [](const std::string& more) {
    tests::SmallFederation federation;
    for (auto& [name, one] : tests::federations_of_every_algorithm())
      if (name == "noisy_minibatch_sgd, softmax") federation = one;
    auto folder = std::make_unique<tests::TemporaryFolder>();
    federation.open_records = tests::open_records_in(folder->path(), federation, 30, more);
    return std::pair(std::move(folder), federation);
  };
  const auto said = [&](const std::string& more) {
    const auto [folder, federation] = softmax(more);
    const Result<Job> job = parse_job(federation.job(), "job.json");
    return job ? std::string("accepted") : job.error().message;
  };
  EXPECT_EQ(said(R"(,"warm_start":false,"weight":0.5)"), "accepted");
  EXPECT_NE(said(R"(,"weight":0.5)").find("/public/warm_start: expected false: of a network"), std::string::npos);
  EXPECT_NE(said(R"(,"warm_start":false)").find("/public/weight: missing: what the gradients of a network vary by"),
            std::string::npos);
  EXPECT_NE(said(R"(,"warm_start":false,"use":"mirror_map")").find("/public/use"), std::string::npos);
  // A step goes along the weighted mean.
  const auto [folder, federation] = softmax(R"(,"warm_start":false,"weight":0.25,"gradients":"rescaled")");
  Job job = parse_job(federation.job(), "job.json").value();
  const auto source = load_public_records(job, folder->path()).value();
  EXPECT_EQ(source->linear(), nullptr);
  EXPECT_EQ(source->records(), 30);
  job.public_side = public_side(job, folder->path()).value();
  EXPECT_EQ(job.public_side->weight, 0.25);
  const auto algorithm = algorithms_with(folder->path())(job);
  const algorithms::Step step = algorithm->start();
  const auto& query = std::get<queries::Query>(step);
  const Eigen::VectorXd& start = queries::point_of(query.question);
  const Eigen::VectorXd silos = Eigen::VectorXd::LinSpaced(start.size(), -0.1, 0.1);
  const algorithms::Step next = algorithm->advance({query.round, 1, folds::Mean{silos}}).value();
  const Eigen::VectorXd along =
      0.25 * silos + 0.75 * source->mean_gradient(start, models::PublicGradients::Rescaled, job.clip().value());
  const Eigen::VectorXd moved = start - queries::point_of(std::get<queries::Query>(next).question);
  EXPECT_GT(moved.dot(along), 0.99 * moved.norm() * along.norm());
}

// Every algorithm takes public records, or says that it does not.
TEST(PublicSectionTest, EveryAlgorithmTakesThemOrSaysWhyNot) {
  int taken = 0;
  for (auto [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    if (!federation.model.empty() || !federation.projection.empty()) continue;
    const tests::TemporaryFolder folder;
    federation.open_records = tests::open_records_in(folder.path(), federation, 30);
    Result<Job> job = parse_job(federation.job(), "job.json");
    if (!job) {
      EXPECT_NE(job.error().message.find("/public: "), std::string::npos) << job.error().message;
      continue;
    }
    const Result<PublicSide> side = public_side(*job, folder.path());
    if (!side) {
      EXPECT_NE(side.error().message.find("expected"), std::string::npos) << side.error().message;
      continue;
    }
    ++taken;
    job->public_side = *side;
    const auto algorithm = algorithms_with(folder.path())(*job);
    const algorithms::Step step = algorithm->start();
    const auto& query = std::get<queries::Query>(step);
    EXPECT_TRUE(algorithm->advance({query.round, 1, folds::Mean{Eigen::VectorXd::Zero(5)}}));
  }
  EXPECT_GE(taken, 6);
}

}  // namespace
}  // namespace undertone::jobs
