#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

#include "lab/draft/draft_command.hpp"
#include "lab/draft/synthetic_records.hpp"
#include "operator/moment_bound_command.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/schema_section.hpp"
#include "tests/support/repetitions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::lab {
namespace {

constexpr const char* kSchema = R"({"label": {"column": "sick", "negative": "no", "positive": "yes"},
  "features": [{"column": "age", "min": 0, "max": 120, "missing": {"texts": ["NA"], "value": 50, "indicator": true}},
               {"column": "ward", "categories": ["a", "b", "c"]}]})";

DraftFacts facts(const std::string& schema = kSchema, double epsilon = 8.0) {
  const config::JsonDocument document = config::parse_json(schema, "schema").value();
  config::Problems problems("schema");
  data::Schema parsed = jobs::parse_schema(config::Section(document.root, "", problems));
  EXPECT_TRUE(problems.none());
  DraftFacts out{"test", nlohmann::ordered_json::parse(schema), std::move(parsed), {}};
  for (const char* silo : {"b", "a"}) out.cohort.push_back({silo, silo[0] == 'a' ? 150 : 100, 20, true, epsilon, 1e-5});
  return out;
}

TEST(SyntheticWorldTest, RecordsLieInTheSchemasBoundsAndAreAFunctionOfTheSeed) {
  const DraftFacts known = facts();
  for (const SyntheticFamily& family : synthetic_families()) {
    SCOPED_TRACE(family.name);
    const SyntheticWorld world(known.schema, family, 7);
    const models::Records records = world.draw(2'000, 1);
    ASSERT_EQ(records.features.rows(), 5);  // age, age missing, three wards
    EXPECT_GE(records.features.row(0).minCoeff(), -1.0);
    EXPECT_LE(records.features.row(0).maxCoeff(), 1.0);
    EXPECT_GT(records.features.row(1).sum(), 0.0);
    EXPECT_TRUE((records.features.bottomRows(3).colwise().sum().array() == 1.0).all());  // one ward each
    // The threshold is a quantile of 2000 noisy scores, the share one of 2000 others: both have a standard deviation of
    // at most 0.0112, so that 0.1 is more than six of their difference's (a false alarm once in 10^9).
    EXPECT_NEAR((records.targets.array() > 0.0).cast<double>().mean(), family.positive_share, 0.1);
    EXPECT_EQ(world.draw(2'000, 1).features, records.features);
    EXPECT_NE(world.draw(2'000, 2).features, records.features);
    EXPECT_NE(SyntheticWorld(known.schema, family, 8).draw(2'000, 1).features, records.features);
  }
}

TEST(SyntheticWorldTest, PersonsHaveSeveralRecordsThatAreAlike) {
  const DraftFacts known = facts();
  const SyntheticWorld world(known.schema, synthetic_families().front(), 7);
  const models::Records persons = world.draw_persons(2'000, 1);
  ASSERT_EQ(persons.count(), 2'000);
  std::vector<std::int64_t> held;
  double apart = 0.0;   // of two records of one person
  double others = 0.0;  // of two records of different persons
  double pairs = 0.0;
  for (std::size_t i = 0; i + 1 < 2'000; ++i) {
    held.push_back(persons.starts[i + 1] - persons.starts[i]);
    if (held.back() < 2) continue;
    const double age = persons.features(0, persons.starts[i]);
    apart += std::pow(age - persons.features(0, persons.starts[i] + 1), 2);
    others += std::pow(age - persons.features(0, persons.starts[i + 1]), 2);
    pairs += 1.0;
  }
  std::nth_element(held.begin(), held.begin() + 1'000, held.end());
  EXPECT_EQ(held[1'000], 3);
  EXPECT_NEAR(apart / others, 0.5, 0.15);
  EXPECT_GT(pairs, 1'000.0);
  EXPECT_EQ(world.draw_persons(2'000, 1).features, persons.features);
}

TEST(JobDraftTest, WritesAWholeJobOfPersons) {
  DraftFacts known = facts();
  known.person_records_max = 8;
  const jobs::Job job = jobs::parse_job(drafted_job(known, {}).value(), "draft").value();
  EXPECT_EQ(job.unit, releases::Unit::Person);
  EXPECT_EQ(job.person->records_max, 8);
  EXPECT_EQ(job.cohort.front().facts.records, 150);
  EXPECT_TRUE(jobs::plans_of(job).has_value());
  // Statistics of persons have no contribution to choose, and several classes have one of their own.
  EXPECT_TRUE(jobs::parse_job(regression_job_of(known).dump(), "draft").has_value());
  EXPECT_TRUE(jobs::parse_job(moments_job_of(known, 0.1).dump(), "draft").has_value());
  DraftFacts several = facts(R"({"label": {"column": "kind", "classes": ["a", "b", "c"]},
    "features": [{"column": "age", "min": 0, "max": 120}]})");
  several.person_records_max = 8;
  EXPECT_EQ(jobs::parse_job(drafted_job(several, {}).value(), "draft").value().person->form,
            releases::PersonContribution::Form::MeanOfClipped);
}

TEST(JobDraftTest, OffersPublicRecordsWhereACohortHasThem) {
  DraftFacts known = facts();
  for (DraftFacts::Member& member : known.cohort) member.public_records = 10;
  const jobs::Job job = jobs::parse_job(drafted_job(known, {}).value(), "draft").value();
  ASSERT_TRUE(job.public_terms);
  EXPECT_TRUE(job.public_terms->at_silos);
  EXPECT_EQ(job.cohort.front().facts.public_records, 10);
  // The weight is that of open = C^2 / m and silos = noise / T + C^2 sum p_i^2 / n_i, to three digits.
  const auto plans = jobs::plans_of(job).value();
  double noise = 0.0;
  double sampling = 0.0;
  for (const jobs::CohortMember& member : job.cohort) {
    const double share = static_cast<double>(member.facts.records) / 250.0;
    const planning::Release& release = plans.at(member.facts.silo).segments().front().release;
    noise += std::pow(share * release.noise_stddev_of_mean(), 2) * static_cast<double>(release.ask.dimension);
    sampling += share * share / static_cast<double>(member.facts.records);
  }
  const double silos = noise / static_cast<double>(DraftChoice{}.rounds) + sampling;
  const double expected = (1.0 / 20.0) / (silos + 1.0 / 20.0);
  EXPECT_NEAR(*std::get<algorithms::MixedGradients>(job.public_terms->use).weight, expected, 1e-3);
  // With a file of the operator's nobody has to say a weight: it is found when the run begins.
  known.open_file = DraftFacts::OpenFile{"open.csv", sha256("records"), 40};
  const jobs::Job brought = jobs::parse_job(drafted_job(known, {}).value(), "draft").value();
  EXPECT_EQ(brought.public_terms->file->records, 40);
  EXPECT_TRUE(brought.public_terms->at_silos);
  EXPECT_FALSE(std::get<algorithms::MixedGradients>(brought.public_terms->use).weight);
  Tuned tuned;
  std::string reasons;
  for (const std::string& reason : reasons_of(known, tuned, true)) reasons += reason + "\n";
  EXPECT_NE(reasons.find("public: the 40 records of \"open.csv\" start the run"), std::string::npos) << reasons;
  EXPECT_NE(reasons.find("public: the silos answer for their 20 public records besides"), std::string::npos) << reasons;
}

TEST(TuningTest, InventsNoPublicRecords) {
  DraftFacts known = facts();
  for (DraftFacts::Member& member : known.cohort) member.public_records = 7;
  known.open_file = DraftFacts::OpenFile{"open.csv", sha256("records"), 40};
  const Tuned tuned = tune(known, 3).value();
  EXPECT_TRUE(jobs::parse_job(drafted_job(known, tuned.choice).value(), "draft").has_value());
}

TEST(TuningTest, PersonsAreTunedOnPersonsWithoutAStandardisation) {
  DraftFacts known = facts(R"({"label": {"column": "sick", "negative": "no", "positive": "yes"},
    "features": [{"column": "age", "min": 0, "max": 120}, {"column": "weight", "min": 0, "max": 300}]})");
  known.person_records_max = 4;
  const Tuned tuned = tune(known, 1, true).value();
  EXPECT_EQ(tuned.choice.bought, 0.0);
  EXPECT_EQ(tuned.choice.centre, 0.0);
  for (const FamilyScore& score : tuned.families) EXPECT_LT(score.error, score.trivial + 0.1) << score.family;
  const std::vector<std::string> said = reasons_of(known, tuned, false);
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const std::string& line) {
    return line.find("unit: a person with all of her records; 4 of them count at most") == 0;
  }));
}

TEST(JobDraftTest, WritesAWholeJobThatEverySiloCanPlan) {
  const std::string text = drafted_job(facts(), {}).value();
  EXPECT_EQ(jobs::full_job(text, "draft").value().find("unnamed"), std::string::npos);
  const jobs::Job job = jobs::parse_job(text, "draft").value();
  EXPECT_EQ(job.noise, crypto::NoiseKind::Secure);
  EXPECT_EQ(job.participation.quorum, 2U);
  const auto plans = jobs::plans_of(job).value();
  for (const auto& [silo, plan] : plans) {
    EXPECT_LE(plan.epsilon().value_rounded_up(), 8.0 + 1e-9);
    const double noise = plan.segments().front().release.noise_stddev_of_mean();
    EXPECT_LE(std::ldexp(1.0, job.reply_lattice.step_log2), noise / 32.0);
  }
  EXPECT_EQ(job.reply_lattice.type, queries::ReplyType::I32);
}

constexpr const char* kSigns = R"({"label": {"column": "sick", "negative": "no", "positive": "yes"},
  "features": [{"column": "dose", "min": 0, "max": 9, "missing": {"texts": [""], "value": 1, "indicator": true}},
               {"column": "ward", "categories": ["a", "b"]}, {"column": "shift", "min": -5, "max": 5},
               {"column": "loss", "min": -8, "max": 0},
               {"column": "born", "date": "YYYY-MM-DD", "min": "1970-01-01", "max": "2020-01-01"}]})";

TEST(JobDraftTest, ExpectsQuantitiesOfOneSignNearZeroAndNothingOfOthers) {
  Eigen::VectorXd expected(7);  // dose, dose missing, two wards, shift, loss, born
  expected << -0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0;
  EXPECT_EQ(expected_origin(facts(kSigns).schema, -0.5), expected);
  EXPECT_TRUE((expected_origin(facts(kSigns).schema, 0.0).array() == 0.0).all());
}

TEST(JobDraftTest, AnExpectedCentreIsAPublicMapThatCostsNothing) {
  const DraftFacts known = facts(kSigns);
  DraftChoice centred;
  centred.centre = -0.5;
  const jobs::Job plain = jobs::parse_job(drafted_job(known, {}).value(), "draft").value();
  const jobs::Job job = jobs::parse_job(drafted_job(known, centred).value(), "draft").value();
  EXPECT_FALSE(plain.projection.has_value());
  ASSERT_TRUE(job.projection.has_value());
  EXPECT_EQ(job.projection->origin, expected_origin(known.schema, -0.5));
  EXPECT_EQ(job.projection->directions, Eigen::MatrixXd::Identity(7, 7));
  const auto noise = [](const jobs::Job& of) {
    const auto plans = jobs::plans_of(of).value();
    return plans.begin()->second.segments().front().release.noise_stddev_of_mean();
  };
  EXPECT_EQ(noise(job), noise(plain));
  const std::string nobody = R"({"label": {"column": "y", "negative": "a", "positive": "b"},
    "features": [{"column": "x", "min": -1, "max": 1}]})";
  EXPECT_FALSE(jobs::parse_job(drafted_job(facts(nobody), centred).value(), "draft").value().projection.has_value());
}

/// Two jobs of one data set: their promises add up.
TEST(JobDraftTest, WhatIsBoughtAndWhatIsLearntSpendWhatWasAskedTogether) {
  const DraftFacts known = facts(kSigns);
  DraftChoice buying;
  buying.bought = 0.15;
  const jobs::Job moments = jobs::parse_job(moments_job_of(known, buying.bought).dump(), "moments").value();
  nlohmann::ordered_json model = nlohmann::ordered_json::parse(drafted_job(known, buying).value());
  // Nobody runs it as it is.
  EXPECT_TRUE(model["standardisation"].is_null());
  const Result<jobs::Job> blank = jobs::parse_job(model.dump(), "model");
  ASSERT_FALSE(blank);
  EXPECT_NE(blank.error().message.find("/standardisation: this job waits for one"), std::string::npos)
      << blank.error().message;
  model.erase("standardisation");
  const jobs::Job rest = jobs::parse_job(model.dump(), "model").value();
  for (std::size_t i = 0; i < known.cohort.size(); ++i) {
    const auto& first = moments.cohort[i].facts;
    const auto& second = rest.cohort[i].facts;
    EXPECT_LE(first.epsilon().value() + second.epsilon().value(), 8.0);
    EXPECT_GE(first.epsilon().value() + second.epsilon().value(), 8.0 - 1e-12);
    EXPECT_LE(first.delta() + second.delta(), 1e-5);
    EXPECT_NEAR(first.epsilon().value(), 0.15 * 8.0, 1e-12);
  }
  EXPECT_EQ(bought_columns(known.schema), 4U);  // dose, shift, loss, born
  EXPECT_EQ(jobs::plans_of(moments).value().begin()->second.rounds(), 4U);
}

constexpr const char* kNumber = R"({"label": {"column": "cost", "min": 0, "max": 10},
  "features": [{"column": "age", "min": 0, "max": 80}, {"column": "ward", "categories": ["a", "b"]}]})";

TEST(JobDraftTest, ABoundIsBoughtWithAPartOfWhatWasAsked) {
  DraftFacts known = facts(kNumber);
  known.label_guess = 2.5;  // of 0 to 10
  DraftChoice buying;
  buying.bought_bound = 0.2;
  const jobs::Job bound = jobs::parse_job(bound_job_of(known, buying.bought_bound).dump(), "bound").value();
  const jobs::Job rest = jobs::parse_job(drafted_job(known, buying).value(), "model").value();
  for (std::size_t i = 0; i < known.cohort.size(); ++i) {
    const double first = bound.cohort[i].facts.epsilon().value();
    const double second = rest.cohort[i].facts.epsilon().value();
    EXPECT_NEAR(first, 0.2 * 8.0, 1e-12);
    EXPECT_LE(first + second, 8.0);
    EXPECT_GE(first + second, 8.0 - 1e-12);
  }
  EXPECT_EQ(bound_job_of(known, 0.2)["statistics"]["questions"][0]["point"],
            nlohmann::ordered_json::parse("[0.0, 0.0, 0.0, -0.5]"));
  EXPECT_EQ(rest.algorithm->problem().start(), Eigen::Vector4d(0.0, 0.0, 0.0, -0.5));
  known.label_guess.reset();
  EXPECT_FALSE(bound_job_of(known, 0.2)["statistics"]["questions"][0].contains("point"));
}

/// The job that is submitted has the clip that follows from the bound, and replies and steps that fit it: 20 % of the
/// promise is spent by then, so that no bound may make it a job that nobody can plan.
TEST(JobDraftTest, WhateverTheBoundIsTheJobThatFollowsFromItIsPlanned) {
  const DraftFacts known = facts(kNumber);
  DraftChoice buying;
  buying.bought_bound = 0.2;
  const std::string drafted = drafted_job(known, buying).value();
  const jobs::Job before = jobs::parse_job(drafted, "drafted").value();
  const double longest = 1.5 / std::pow(jobs::record_norm(*before.model, before.schema), 2);
  // Exact metrics of tiny losses are told, too: not to a step of the gradients' noise.
  EXPECT_LE(before.reply_lattice.step_log2, -16);
  for (const double bound : {1e-4, 0.01, 0.3, 1.0, 40.0}) {
    SCOPED_TRACE(bound);
    operators::BoughtBound bought;
    bought.bound = bound;
    bought.loss = "squared";
    bought.intercept = true;
    bought.source = "a run";
    const std::string ready = operators::job_with_moments(drafted, "drafted", bought, true).value();
    const jobs::Job job = jobs::parse_job(ready, "ready").value();
    EXPECT_TRUE(jobs::plans_of(job));
    EXPECT_TRUE(job.moments);
    const auto steps = [](const std::string& text) {
      return nlohmann::json::parse(text)["algorithm"]["step_size"].get<double>();
    };
    const double ratio = job.clip().value() / before.clip().value();
    EXPECT_NEAR(steps(ready), std::min(steps(drafted) / std::min(ratio, 1.0), longest), 1e-9 * longest);
    const std::string unfitted = operators::job_with_moments(drafted, "drafted", bought, false).value();
    EXPECT_EQ(steps(unfitted), steps(drafted));
  }
  operators::BoughtBound other;
  other.bound = 1.0;
  other.loss = "logistic";
  EXPECT_FALSE(operators::job_with_moments(drafted, "drafted", other, true));
  EXPECT_FALSE(operators::job_with_moments("[]", "drafted", other, true));
}

TEST(JobDraftTest, ARegressionIsAskedAtAllThatIsPromised) {
  const DraftFacts known = facts(kNumber);
  const jobs::Job job = jobs::parse_job(regression_job_of(known).dump(), "regression").value();
  EXPECT_EQ(job.cohort.front().facts.epsilon().value(), 8.0);
  EXPECT_FALSE(job.model.has_value());
}

/// With very many records moments carry every coefficient, and descents have nothing more to find.
TEST(TuningTest, KnowsWhatLeastSquaresFromNoisedMomentsWouldReach) {
  if (!tests::whole()) GTEST_SKIP() << "most of a minute: UNDERTONE_TESTS_WHOLE=1 takes it";
  DraftFacts many = facts(kNumber, 2.0);
  for (DraftFacts::Member& member : many.cohort) member.records = 15'000;
  const Tuned tuned = tune(many, 1, true).value();
  ASSERT_TRUE(tuned.moments_error.has_value());
  EXPECT_LT(*tuned.moments_error, 1.05 * *tuned.chosen_error);
  // What may be bought was looked at, too.
  ASSERT_TRUE(tuned.bought_error.has_value());
  ASSERT_TRUE(tuned.plain_error.has_value());
  EXPECT_LT(*tuned.bought_error, 1.2 * *tuned.plain_error);
}

TEST(TuningTest, PrefersMomentsWhereTheyErrLess) {
  Tuned better;
  better.moments_error = 0.1;
  better.chosen_error = 0.2;
  EXPECT_TRUE(prefers_moments(better));
  better.moments_error = 0.3;
  EXPECT_FALSE(prefers_moments(better));
  EXPECT_FALSE(prefers_moments({}));
}

TEST(JobDraftTest, DeltaIsAHundredthOfOneInTheRecordsOrLess) {
  EXPECT_EQ(drafted_delta(100), 1e-4);
  EXPECT_EQ(drafted_delta(400), 2e-5);  // 2.5e-5, with one digit
  EXPECT_EQ(drafted_delta(1), 0.01);
  for (std::int64_t records = 1; records < 100'000; records = records * 7 / 3 + 1) {
    SCOPED_TRACE(records);
    EXPECT_LE(drafted_delta(records) * static_cast<double>(records), 0.01 * (1.0 + 1e-9));
    EXPECT_GE(drafted_delta(records) * static_cast<double>(records), 0.005 * (1.0 - 1e-9));
  }
}

TEST(JobDraftTest, MostSilosHaveToAnswer) {
  EXPECT_EQ(drafted_quorum(1), 1U);
  EXPECT_EQ(drafted_quorum(2), 2U);
  EXPECT_EQ(drafted_quorum(3), 2U);
  EXPECT_EQ(drafted_quorum(7), 5U);
}

TEST(TuningTest, IsAFunctionOfTheSeedAndLearnsWhatCanBeLearnt) {
  const Tuned tuned = tune(facts(), 3).value();
  ASSERT_EQ(tuned.families.size(), synthetic_families().size());
  const FamilyScore& strong = tuned.families.front();
  EXPECT_LT(strong.error, 0.8 * strong.trivial);
  for (const FamilyScore& score : tuned.families) EXPECT_GE(score.error, score.best) << score.family;
  EXPECT_EQ(tuned.simulated_records, 250);
  EXPECT_EQ(tuned.choice.bought, 0.0);            // nobody said that it may
  EXPECT_FALSE(tuned.moments_error.has_value());  // so few records carry no coefficients
  DraftFacts turned = facts();
  std::reverse(turned.cohort.begin(), turned.cohort.end());  // a cohort has no order
  EXPECT_EQ(drafted_job(facts(), tune(turned, 3)->choice).value(), drafted_job(facts(), tuned.choice).value());
}

/// Silos weigh as all their records do, of which fewer are simulated.
TEST(TuningTest, TakesManyRecordsOfSilosThatDiffer) {
  DraftFacts known = facts(R"({"label": {"column": "sick", "negative": "no", "positive": "yes"},
    "features": [{"column": "x", "min": -1, "max": 1}]})");
  // So many records that fewer are simulated take half a minute: continuous integration has a sixtieth of them.
  const std::int64_t times = tests::repetitions(1, 60);
  known.cohort = {{"a", times * 667, 20, true, 2.0, 1e-7},
                  {"b", times * 417, 20, true, 2.0, 1e-7},
                  {"c", times * 167, 20, true, 2.0, 1e-7}};
  const Tuned tuned = tune(known, 1).value();
  if (times > 1) {
    EXPECT_LT(tuned.simulated_records, 37'500);
  }
  EXPECT_LT(tuned.families.front().error, tuned.families.front().trivial);
  EXPECT_NE(drafted_job(known, tuned.choice).value().find("\"missing_silos\": \"scaled\""), std::string::npos);
}

/// With many columns, few records and much noise, what a model spends on undoing the bounds' offset is dear.
TEST(TuningTest, GuessesWhereQuantitiesAreWhereThatHelpsTheInventedRecords) {
  std::string columns;
  for (int i = 0; i < 16; ++i)
    columns += fmt::format(R"({}{{"column": "x{}", "min": 0, "max": 10}})", i == 0 ? "" : ", ", i);
  const std::string schema =
      R"({"label": {"column": "sick", "negative": "no", "positive": "yes"}, "features": [)" + columns + "]}";
  EXPECT_LT(tune(facts(schema, 2.0), 1)->choice.centre, 0.0);
}

TEST(TuningTest, TunesForNumbersAndForClassesToo) {
  const std::string number = R"({"label": {"column": "y", "min": 0, "max": 10},
    "features": [{"column": "x", "min": 0, "max": 1}]})";
  const Tuned tuned = tune(facts(number), 1).value();
  EXPECT_LT(tuned.families.front().error, tuned.families.front().trivial);
  const std::string classes = R"({"label": {"column": "y", "classes": ["a", "b", "c"]},
    "features": [{"column": "x", "min": 0, "max": 1}]})";
  const DraftFacts known = facts(classes);
  const Tuned of_classes = tune(known, 1).value();
  // Three classes around a circle, of which one column shows a part: what can be learnt of it is still better than the
  // most frequent one.
  EXPECT_LT(of_classes.families.front().error, of_classes.families.front().trivial);
  EXPECT_GT(of_classes.families.front().trivial, 0.5);
  const jobs::Job job = jobs::parse_job(drafted_job(known, of_classes.choice).value(), "draft").value();
  ASSERT_NE(job.model->network(), nullptr);
  EXPECT_EQ(job.model->network()->classes(), 3);
}

class DraftRequestTest : public ::testing::Test {
 protected:
  std::string said(const std::string& schema, const std::vector<std::string>& cohort) {
    const std::filesystem::path file = folder_.path() / "s.json";
    std::ofstream(file) << schema;
    DraftRequest request;
    request.schema = file;
    request.cohort = cohort;
    request.epsilon = 2.0;
    const Result<DraftFacts> found = facts_of(request);
    return found ? "accepted" : found.error().message;
  }
  tests::TemporaryFolder folder_;
};

TEST_F(DraftRequestTest, ReadsPublicRecordsOnceAndSaysWhatIsWrongWithThem) {
  EXPECT_EQ(said(kSchema, {"a=100+20+5", "b=50+10"}), "accepted");
  for (const char* entry : {"a=100+20+", "a=100+20+0", "a=100+20+x", "a=100+20+5+5"})
    EXPECT_NE(said(kSchema, {entry}).find("--cohort: "), std::string::npos) << entry;
  const std::string several = R"({"label": {"column": "kind", "classes": ["a", "b", "c"]},
    "features": [{"column": "age", "min": 0, "max": 120}]})";
  EXPECT_NE(said(several, {"a=100+20+5"}).find("public records: expected none with a label of several values"),
            std::string::npos);
  DraftRequest request;
  request.schema = folder_.path() / "two.json";
  std::ofstream(request.schema) << R"({"label": {"column": "y", "negative": "no", "positive": "yes"},
    "features": [{"column": "x", "min": 0, "max": 1}]})";
  request.cohort = {"a=100+20"};
  request.epsilon = 2.0;
  request.open_records = folder_.path() / "open.csv";
  std::ofstream(request.open_records) << "x,y\n0.5,yes\n0.25,no\n1,yes\n";
  const DraftFacts found = facts_of(request).value();
  EXPECT_EQ(found.open_file->records, 3);
  EXPECT_EQ(found.open_file->name, "open.csv");
  EXPECT_EQ(found.open_file->sha256, sha256("x,y\n0.5,yes\n0.25,no\n1,yes\n"));
  std::ofstream(request.open_records) << "x,z\n0.5,yes\n";
  EXPECT_NE(facts_of(request).error().message.find("--public: "), std::string::npos);
  request.open_records = folder_.path() / "absent.csv";
  EXPECT_NE(facts_of(request).error().message.find("--public: "), std::string::npos);
}

TEST_F(DraftRequestTest, PromisesNoLargerDeltaThanANewSilosPolicyAllows) {
  DraftRequest request;
  request.schema = folder_.path() / "s.json";
  std::ofstream(request.schema) << kNumber;
  request.cohort = {"small=100+20", "large=4000+100"};
  request.epsilon = 1.0;
  const DraftFacts found = facts_of(request).value();
  EXPECT_EQ(found.cohort[0].delta, 1e-5);  // and not the 1e-4 that 100 records are
  EXPECT_EQ(found.cohort[1].delta, 2e-6);
}

TEST_F(DraftRequestTest, SaysWhereABoundCannotBeBought) {
  DraftRequest request;
  request.schema = folder_.path() / "s.json";
  request.cohort = {"a=100+20"};
  request.epsilon = 2.0;
  request.wide_bounds = true;
  const auto said_of = [&](const std::string& schema) {
    std::ofstream(request.schema) << schema;
    const Result<DraftFacts> found = facts_of(request);
    return found ? std::string("accepted") : found.error().message;
  };
  EXPECT_EQ(said_of(kNumber), "accepted");
  EXPECT_NE(said_of(kSigns).find("--wide-bounds: expected a label that is a number"), std::string::npos);
  request.label_guess = 11.0;
  EXPECT_NE(said_of(kNumber).find("--label-guess: expected a number within the label's bounds, from 0 to 10"),
            std::string::npos);
  request.label_guess = 3.0;
  EXPECT_EQ(said_of(kNumber), "accepted");
  const DraftFacts found = facts_of(request).value();
  EXPECT_TRUE(found.wide_bounds);
  EXPECT_NE(draft_job(found, 1, false, false, nullptr).error().message.find("--wide-bounds: expected --out"),
            std::string::npos);
  request.wide_bounds = false;
  EXPECT_NE(said_of(kNumber).find("--label-guess: expected none"), std::string::npos);
  request.wide_bounds = true;
  request.persons = true;
  EXPECT_NE(said_of(kNumber).find("--wide-bounds: expected records, not persons"), std::string::npos);
  request.persons = false;
  request.cohort = {"a=100+20+5"};
  EXPECT_NE(said_of(kNumber).find("--wide-bounds: expected no public records"), std::string::npos);
}

TEST_F(DraftRequestTest, SaysWhatIsWrongWithASchemaOrACohort) {
  EXPECT_EQ(said(kSchema, {"a=100+20", "b=50+10"}), "accepted");
  EXPECT_EQ(said(std::string(R"({"note": "a draft", "data": )") + kSchema + "}", {"a=100+20"}), "accepted");
  for (const char* entry :
       {"a", "a=100", "a=100+", "a=0+5", "a=-1+5", "a=100+0", "=1+1", "A B=1+1", "a=9999999999999+1"})
    EXPECT_NE(said(kSchema, {entry}).find("--cohort: "), std::string::npos) << entry;
  EXPECT_NE(said(kSchema, {}).find("--cohort: expected at least one"), std::string::npos);
  const std::string blank = R"({"data": {"label": {"column": "y", "min": null, "max": null},
    "features": [{"column": "x", "min": 0, "max": 1}]}})";
  EXPECT_NE(said(blank, {"a=100+20"}).find("s.json: what only you can say is still blank for \"y\":"),
            std::string::npos);
  const std::string two = R"({"label": {"column": "y", "negative": "a", "positive": "b"},
    "features": [{"column": "x", "min": 0, "max": null},
                 {"column": "z", "min": 0, "max": 1, "missing": {"texts": ["NA"], "value": null}}]})";
  EXPECT_NE(said(two, {"a=100+20"}).find("still blank for \"x\", \"z\": replace each null"), std::string::npos);
  EXPECT_NE(said("[]", {"a=100+20"}), "accepted");
}

TEST(DraftReasonsTest, AModelThatLearnsNothingIsSaidWithTheEpsilonAtWhichItWould) {
  Tuned tuned;
  tuned.families = {{"one", 0.5, 0.5, 0.4}, {"other", 0.498, 0.5, 0.4}};
  EXPECT_FALSE(learns(tuned));
  tuned.families[1].error = 0.3;
  EXPECT_TRUE(learns(tuned));
  DraftFacts facts;
  facts.cohort = {{"a", 100, 0, false, 0.25, 1e-4}};
  const auto from = [](double epsilon) {
    return [epsilon](const DraftFacts& more) -> Result<Tuned> {
      Tuned out;
      out.families = {{"one", more.cohort.front().epsilon >= epsilon ? 0.2 : 0.5, 0.5, 0.1}};
      return out;
    };
  };
  EXPECT_NE(idle_draft_warning(facts, from(2.0)).find("With 8 times the epsilon"), std::string::npos);
  EXPECT_NE(idle_draft_warning(facts, from(5.0)).find("no better with 16 times"), std::string::npos);
  // What was not tried is not said: a silo is promised no more than so much.
  const auto refused_from = [&](double most) {
    return [&, most](const DraftFacts& more) -> Result<Tuned> {
      if (more.cohort.front().epsilon > most) return Error{ErrorCode::InvalidArgument, "too large"};
      return from(99.0)(more);
    };
  };
  EXPECT_NE(idle_draft_warning(facts, refused_from(1.0)).find("no better with 4 times"), std::string::npos);
  EXPECT_EQ(idle_draft_warning(facts, refused_from(0.3)).find("times"), std::string::npos);
}

TEST(DraftReasonsTest, SayThatNoDataWereReadAndWarnOfADeltaThatIsTooLarge) {
  DraftFacts known = facts();
  const Tuned tuned{{}, {{"some", 0.2, 0.5, 0.1}}, {}, {}, {}, {}, 12, 250};
  const auto has = [&](const std::string& what, bool delta_given) {
    const std::vector<std::string> reasons = reasons_of(known, tuned, delta_given);
    return std::any_of(reasons.begin(), reasons.end(),
                       [&](const std::string& line) { return line.find(what) != std::string::npos; });
  };
  EXPECT_TRUE(has("No data were read: it cost no privacy", false));
  EXPECT_FALSE(has("NOT far below", true));
  EXPECT_TRUE(has("quorum 2 of 2: the run ends if a silo is away", true));
  known.cohort.push_back({"c", 100, 20, true, 8.0, 1e-5});
  EXPECT_TRUE(has("quorum 2 of 3: one silo that is away does not end the run", true));
  known.cohort.front().delta = 0.01;
  EXPECT_TRUE(has("NOT far below one in a silo's records", true));
}

}  // namespace
}  // namespace undertone::lab
