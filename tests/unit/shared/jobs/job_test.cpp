#include "shared/jobs/job.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

#include "coordinator/host/coordinator_config.hpp"
#include "lab/sweep/sweep_plan.hpp"
#include "operator/operator_commands.hpp"
#include "operator/operator_config.hpp"
#include "operator/provision.hpp"
#include "operator/round_lines.hpp"
#include "shared/algorithms/table.hpp"
#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/config/json_section.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/planning/plan_digest.hpp"
#include "shuffler/host/shuffler_config.hpp"
#include "silo/owner/silo_config.hpp"
#include "tests/support/shuffled_job.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::jobs {
namespace {

std::string with(const std::string& from, const std::string& to) {
  std::string job = tests::SmallFederation{}.job();
  const std::size_t at = job.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return job.replace(at, from.size(), to);
}

TEST(JobConfigTest, AShuffledJobsSilosMustLookAlikeAndItsShufflersBeToldApart) {
  const auto said = [](const std::string& from, const std::string& to, const tests::ShuffledJob& file = {}) {
    std::string job = file.json();
    EXPECT_NE(job.find(from), std::string::npos) << from;
    job.replace(job.find(from), from.size(), to);
    const Result<Job> parsed = parse_job(job, "job");
    return parsed ? std::string("accepted") : parsed.error().message;
  };
  const auto finds = [&](const std::string& problem, const std::string& from, const std::string& to,
                         const tests::ShuffledJob& file = {}) {
    const std::string message = said(from, to, file);
    EXPECT_NE(message.find(problem), std::string::npos) << message;
  };
  EXPECT_EQ(said("shuffled", "renamed"), "accepted");
  finds("those of \"silo-0\" and \"silo-1\" differ", R"("silo":"silo-1","records":40)",
        R"("silo":"silo-1","records":41)");
  finds("that of \"silo-0\" is private", R"("holdout_records":0,"holdout_public":true)",
        R"("holdout_records":5,"holdout_public":false)");
  finds("/privacy/shuffle/honest_min: expected at most the quorum of 2", R"("honest_min":2)", R"("honest_min":3)");
  finds("/participation/quorum: expected at least 2", R"("quorum":2)", R"("quorum":1)");
  finds("/privacy/shuffle/shufflers: expected 2 for the form \"shares\", got 1", R"("form":"counts")",
        R"("form":"shares")", tests::ShuffledJob::counts("mixer", std::string(64, 'a')));
  finds("/privacy/shuffle/coordinator_key: missing", R"("coordinator_key":)", R"("other_key":)");
  finds("/privacy/shuffle/shufflers/0/key: expected 64 hexadecimal digits", "aaaa", "zzzz",
        tests::ShuffledJob::counts("mixer", std::string(64, 'a')));
  tests::ShuffledJob twins;
  twins.form = "shares";
  twins.shufflers = fmt::format(R"([{{"name":"a","key":"{0}"}},{{"name":"b","key":"{0}"}}])", std::string(64, 'a'));
  finds("expected two parties with names and keys of their own", "shuffled", "renamed", twins);
  tests::ShuffledJob large = tests::ShuffledJob::counts("mixer", std::string(64, 'a'));
  finds("a binomial sum is for epsilon of at most 15", "\"epsilon\":1", "\"epsilon\":1", [&] {
    tests::ShuffledJob file = large;
    file.epsilon = 16.0;
    return file;
  }());
  finds("reports are of noisy_minibatch_sgd alone",
        R"("kind":"noisy_minibatch_sgd","rounds":4,"step_size":0.5,"averaging":"last","draw_fraction":1)",
        R"("kind":"spider","rounds":4,"period":2,"step_size":0.1,"smoothness":8,"seed":2)");
}

TEST(JobConfigTest, SaysWhereWhatWasExpectedAndWhatWasFound) {
  struct Case {
    const char* from;
    const char* to;
    const char* problem;
  };
  const Case cases[] = {
      {"\"rounds\":6", "\"rounds\":-1", "job.json: /algorithm/rounds: expected an integer from 1 to 1000000, got -1"},
      {"\"rounds\":6", "\"rounds\":2.7", "/algorithm/rounds: expected an integer from 1 to 1000000, got 2.7"},
      {"\"rounds\":6", "\"rounds\":99999999999999999999", "/algorithm/rounds: expected an integer"},
      {"\"clip_norm\":1", "\"clip_norm\":0", "/privacy/clip_norm: expected a finite number from 1e-09"},
      {"\"clip_norm\":1", "\"clip_norm\":\"1\"", "/privacy/clip_norm: expected a finite number from 1e-09"},
      {"\"clip_norm\":1", "\"clip_norm\":null", "got null"},
      {"\"clip_norm\":1", "\"clip\":1", "/privacy/clip: unknown key"},
      {"\"clip_norm\":1", "\"clip_nrom\":1", "/privacy/clip_nrom: unknown key; do you mean \"clip_norm\"?"},
      {"\"clip_norm\":1", "\"clip\":1", "/privacy/clip_norm: missing, expected a finite number"},
      {"\"clip_norm\":1", "\"clip_norm\":1,\"clip_norm\":2", "the key \"clip_norm\" stands twice"},
      {"\"epsilon\":4", "\"epsilon\":0", "/cohort/0/epsilon: expected a finite number from 1e-09"},
      {"\"epsilon\":4", "\"epsilon\":1e400", "not JSON"},
      {"\"silo\":\"silo-1\"", "\"silo\":\"silo-0\"", "/cohort: the silo \"silo-0\" stands twice"},
      {"\"silo\":\"silo-1\"", "\"silo\":\"Silo 1\"", "/cohort/1/silo: a silo's name"},
      {"\"mode\":\"isrl\"", "\"mode\":\"central\"",
       "/privacy/mode: expected one of \"isrl\", \"shuffle\", got \"central\""},
      {"\"unit\":\"record\"", "\"unit\":\"patient\"",
       "/privacy/unit: expected one of \"record\", \"person\", \"sensitive_attribute\", got \"patient\""},
      {"\"quorum\":2", "\"quorum\":6", "/participation/quorum: expected at most the 5 silos of the cohort, got 6"},
      {"\"kind\":\"logistic\"", "\"kind\":\"least_squares\"", "/model/kind: logistic and hinge need"},
      {"\"min\":-1,\"max\":1", "\"min\":1,\"max\":1", "/data/features/0/max: expected more than min 1, got 1"},
      {"\"column\":\"x1\"", "\"column\":\"x0\"", "/data/features/1/column: stands twice"},
      {"\"name\":\"small\"", "\"name\":\"a\\nguaranteed epsilon 0\"",
       "/name: expected a text without control characters"},
      {"\"format\":\"undertone.job/1\"", "\"format\":\"undertone.job/2\"", "/format: expected one of"},
      {"{\"format\"", "[{\"format\"", "job.json: not JSON: parse error at line 6, column"},
  };
  for (const Case& c : cases) {
    const Result<Job> job = parse_job(with(c.from, c.to), "job.json");
    ASSERT_FALSE(job) << c.to;
    EXPECT_NE(job.error().message.find(c.problem), std::string::npos) << job.error().message;
  }
}

TEST(JobConfigTest, ACoordinatorIsToldOfAMemberWithoutAPlan) {
  const Result<Job> job = parse_job(with("\"reply_step_log2\":-40", "\"reply_step_log2\":10"), "job.json");
  ASSERT_TRUE(job);
  const Result<PlausibleCohort> planned = PlausibleCohort::of(*job, "job.json");
  ASSERT_FALSE(planned);
  EXPECT_NE(planned.error().message.find("job.json: /cohort: silo silo-0: a wire step"), std::string::npos);
}

TEST(JobConfigTest, ReportsEveryProblemAtOnce) {
  std::string job = with("\"rounds\":6", "\"rounds\":0");
  job.replace(job.find("\"clip_norm\":1"), 13, "\"clip_norm\":-1");
  const Result<Job> parsed = parse_job(job, "job.json");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("/algorithm/rounds"), std::string::npos);
  EXPECT_NE(parsed.error().message.find("/privacy/clip_norm"), std::string::npos);
}

TEST(JobConfigTest, NothingIsOptionalThatPrivacyRestsOn) {
  for (const char* key : {"\"epsilon\":4,", "\"delta\":0.0001,", "\"unit\":\"record\",", "\"noise\":\"test\",",
                          "\"holdout_public\":true,"}) {
    EXPECT_FALSE(parse_job(with(key, ""), "job.json")) << key;
  }
}

TEST(JobConfigTest, NothingInAProblemMovesACursor) {
  for (const char* bad : {"\\u001b[2J", "\\u009b2J", "\\u202e", "\\n12:00 info"}) {
    for (const std::string& job : {with("\"name\":\"small\"", fmt::format("\"name\":\"{}\"", bad)),
                                   with("\"name\":", fmt::format("\"{}\":1,\"name\":", bad)),
                                   with("\"name\":", fmt::format("\"{0}\":1,\"{0}\":1,\"name\":", bad))}) {
      const Result<Job> parsed = parse_job(job, "job");
      ASSERT_FALSE(parsed) << bad;
      std::string lines = parsed.error().message;
      std::replace(lines.begin(), lines.end(), '\n', ' ');  // between problems
      EXPECT_TRUE(is_plain_text(lines)) << lines;
    }
  }
}

TEST(JobConfigTest, ThousandsOfProblemsAreNotAllTold) {
  std::string keys;
  for (int i = 0; i < 5000; ++i) keys += fmt::format("\"k{}\":1,", i);
  const Result<Job> parsed = parse_job(with("\"name\":", keys + "\"name\":"), "job");
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().message.size(), 5000U);
  EXPECT_NE(parsed.error().message.find("and more"), std::string::npos);
}

TEST(JobConfigTest, CountsAndWaitsOfAJobHaveBounds) {
  const auto says = [](const std::string& job, const std::string& problem) {
    const Result<Job> parsed = parse_job(job, "job");
    ASSERT_FALSE(parsed) << problem;
    EXPECT_NE(parsed.error().message.find(problem), std::string::npos) << parsed.error().message;
  };
  std::string crowd = tests::SmallFederation{}.job();
  const std::size_t from = crowd.find("\"cohort\":[");
  const std::size_t to = crowd.find(']', from);
  std::string silos = "\"cohort\":[{}";
  for (int i = 0; i < 10'000; ++i) silos += ",{}";
  crowd.replace(from, to - from, silos);
  says(crowd, "/cohort: expected an array of 1 to 10000 objects, got one of 10001");
  tests::SmallFederation often;
  often.rounds = 10'001;
  often.evaluation_every = 1;
  says(often.job(), "/evaluation/every: expected at most 10000 evaluations, got 10001");
  std::string hasty = tests::SmallFederation{}.job();
  const std::size_t resend = hasty.find("\"resend_ms\":");
  ASSERT_NE(resend, std::string::npos);
  hasty.replace(resend, hasty.find_first_of(",}", resend) - resend, "\"resend_ms\":99");
  says(hasty, "/resend_ms: expected");
}

/// The job with its cohort replaced and a quorum of 1.
std::string with_cohort(const std::string& cohort) {
  nlohmann::json job = nlohmann::json::parse(tests::SmallFederation{}.job());
  job["cohort"] = nlohmann::json::parse(cohort);
  job["participation"]["quorum"] = 1;
  return job.dump();
}

std::string alike(const std::string& silo, const std::string& count) {
  return fmt::format(
      R"({{"silo":"{}",{}"records":40,"holdout_records":5,"holdout_public":true,"epsilon":4,"delta":0.0001,"weight":3}})",
      silo, count.empty() ? "" : "\"count\":" + count + ",");
}

TEST(CohortConfigTest, ACountIsTheSameMembersWrittenOneByOne) {
  std::string long_form;
  for (const char* name : {"clinic-098-a", "clinic-099-a", "clinic-100-a", "hub"})
    long_form += (long_form.empty() ? "" : ",") + alike(name, "");
  const Job expected = parse_job(with_cohort("[" + long_form + "]"), "job").value();
  const Job job =
      parse_job(with_cohort("[" + alike("hub", "") + "," + alike("clinic-{098}-a", "3") + "]"), "job").value();
  ASSERT_EQ(job.cohort.size(), 4U);
  for (std::size_t i = 0; i < job.cohort.size(); ++i) {
    const CohortMember& a = job.cohort[i];
    const CohortMember& b = expected.cohort[i];
    EXPECT_EQ(a.facts.silo, b.facts.silo);
    EXPECT_EQ(a.facts.records, b.facts.records);
    EXPECT_EQ(a.facts.holdout_records, b.facts.holdout_records);
    EXPECT_EQ(a.facts.holdout_public, b.facts.holdout_public);
    EXPECT_EQ(a.facts.epsilon(), b.facts.epsilon());
    EXPECT_EQ(a.facts.delta(), b.facts.delta());
    EXPECT_EQ(a.weight, b.weight);
    EXPECT_EQ(job.member(b.facts.silo), &a);
  }
  EXPECT_EQ(job.member(SiloId::create("clinic-101-a").value()), nullptr);
}

TEST(CohortConfigTest, TenThousandAlikeSilosAreASmallFile) {
  const std::string bytes = with_cohort("[" + alike("clinic-{1}", "10000") + "]");
  EXPECT_LT(bytes.size(), 4096U);
  const Job job = parse_job(bytes, "job").value();
  ASSERT_EQ(job.cohort.size(), 10'000U);
  for (const char* name : {"clinic-1", "clinic-5000", "clinic-10000"})
    EXPECT_NE(job.member(SiloId::create(name).value()), nullptr) << name;
}

TEST(CohortConfigTest, ACountThatCannotBeExpandedIsRefused) {
  const auto finds = [](const std::string& cohort, const std::string& problem) {
    const Result<Job> parsed = parse_job(with_cohort("[" + cohort + "]"), "job");
    ASSERT_FALSE(parsed) << cohort;
    EXPECT_NE(parsed.error().message.find(problem), std::string::npos) << parsed.error().message;
  };
  finds(alike("clinic-{1}", "10001"), "/cohort/0/count: expected an integer from 1 to 10000, got 10001");
  finds(alike("clinic-{1}", "0"), "/cohort/0/count: expected an integer from 1 to 10000, got 0");
  finds(alike("a-{1}", "6000") + "," + alike("b-{1}", "4001"), "/cohort/1/count: expected at most 10000 silos in all");
  finds(alike("a-{1}", "10000") + "," + alike("b", ""), "expected at most 10000 silos in all");
  finds(alike("clinic", "2"), "/cohort/0/silo: expected a name with the first number in braces");
  for (const char* name : {"clinic-{}", "clinic-{a}", "clinic-{1", "clinic-1}", "}{", "clinic-{-1}", "c-{1234567890}"})
    finds(alike(name, "2"), "expected a name with the first number in braces");
  finds(alike("Clinic {1}", "2"), "/cohort/0/silo: a silo's name is 1 to 64");
  finds(alike("clinic-{1}-{1}", "2"), "/cohort/0/silo: a silo's name is 1 to 64");
  finds(alike("clinic-{1}", ""), "/cohort/0/silo: a silo's name is 1 to 64");  // no count, no pattern
  finds(alike("clinic-{1}", "3") + "," + alike("clinic-2", ""), "/cohort: the silo \"clinic-2\" stands twice");
  // A name that becomes too long on the way.
  finds(alike(std::string(62, 'a') + "{99}", "2"), "/cohort/0/silo: a silo's name is 1 to 64");
}

TEST(JobConfigTest, AMebibyteOfEmptyObjectsIsReadAtOnce) {
  std::string text = "[{}";
  while (text.size() + 4 < kJobBytesMax) text += ",{}";
  text += "]";
  const auto began = std::chrono::steady_clock::now();
  const Result<config::JsonDocument> document = config::parse_json(text, "many");
  // A tenth of a second; a reader that looks at an array again after each of its objects takes 90.
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root.size(), text.size() / 3);
}

TEST(JobConfigTest, RefusesDeepAndHugeDocuments) {
  EXPECT_FALSE(config::parse_json(std::string(100, '[') + std::string(100, ']'), "deep"));
  const auto nested = [](int depth, const std::string& core) {
    return std::string(static_cast<std::size_t>(depth), '[') + core + std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(config::parse_json(nested(16, "1"), "deep"));
  EXPECT_TRUE(config::parse_json(nested(16, "{}"), "deep"));
  EXPECT_EQ(config::parse_json(nested(17, "1"), "deep").error().message, "deep: more than 16 levels deep");
  EXPECT_EQ(config::parse_json(nested(17, "{}"), "deep").error().message, "deep: more than 16 levels deep");
  EXPECT_EQ(config::parse_json(nested(16, R"({"k":1})"), "deep").error().message, "deep: more than 16 levels deep");
  EXPECT_FALSE(config::parse_json(std::string(std::size_t{17} << 20U, ' '), "huge"));
}

TEST(ConfigsFolderTest, EveryExampleLoads) {
  const std::filesystem::path root = UNDERTONE_SOURCE_DIR;
  std::size_t loaded = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "configs")) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path());
    const std::string folder = entry.path().parent_path().filename();
    const bool sweeps =
        folder == "sweeps" || (folder == "experiments" && entry.path().stem().string().ends_with("-sweep"));
    if (folder == "omop") continue;  // its schema is read with its cohort, by tests/net/sources
    if (folder == "jobs" || folder == "statistics" || (folder == "experiments" && !sweeps)) {
      const auto job = parse_job(read_file(entry.path(), 1U << 20U).value(), entry.path());
      EXPECT_TRUE(job) << job.error().message;
    } else if (entry.path().filename() == "consortium.json") {
      const auto config = operators::load_consortium(entry.path());
      EXPECT_TRUE(config) << config.error().message;
    } else if (entry.path().filename() == "operator.json") {
      const auto config = operators::load_operator_config(entry.path());
      EXPECT_TRUE(config) << config.error().message;
    } else if (sweeps) {
      const auto sweep = lab::parse_sweep(read_file(entry.path(), 1U << 20U).value(), entry.path());
      ASSERT_TRUE(sweep) << sweep.error().message;
      EXPECT_TRUE(std::filesystem::exists(sweep->job));
    } else if (entry.path().filename() == "shuffler.json") {
      const auto config = shuffler::load_shuffler_config(entry.path());
      EXPECT_TRUE(config) << config.error().message;
    } else if (entry.path().filename() == "coordinator.json") {
      const auto config = coordinator::load_coordinator_config(entry.path());
      EXPECT_TRUE(config) << config.error().message;
    } else {
      const auto config = silo::load_silo_config(entry.path());
      EXPECT_TRUE(config) << config.error().message;
    }
    ++loaded;
  }
  EXPECT_GE(loaded, 5U);
}

TEST(AlgorithmConfigTest, EveryAlgorithmIsReadAndPlanned) {
  std::set<std::string_view> untried;
  for (const algorithms::NamedMethod& method : algorithms::method_table())
    if (!method.simulated_only) untried.insert(method.name);
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    untried.erase(std::string_view(name).substr(0, name.find(',')));
    const Result<Job> job = parse_job(federation.job(), "job.json");
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->algorithm->name(), name.substr(0, name.find(',')));
    const Result<PlausibleCohort> planned = PlausibleCohort::of(*job, "job.json");
    EXPECT_TRUE(planned) << planned.error().message;
  }
  untried.erase("throw_away");  // needs a file of public records: @see PublicSectionTest
  EXPECT_TRUE(untried.empty()) << *untried.begin();
}

TEST(ProjectionConfigTest, IsOfTheFeaturesAndTakesNoMoreThanStandsInTheFile) {
  tests::SmallFederation federation;
  const auto says = [&](const std::string& projection, const std::string& what) {
    federation.projection = projection;
    const Result<Job> job = parse_job(federation.job(), "job.json");
    ASSERT_FALSE(job);
    const std::string message = job.error().message;
    EXPECT_NE(message.find(what), std::string::npos) << message;
    EXPECT_LE(std::count(message.begin(), message.end(), '\n'), 1) << message;  // one direction's, not all
  };
  says(R"({"origin":[0,0,0],"directions":[{"weights":[1,0,0,0]}]})", "/projection/origin: expected 4 numbers");
  says(R"({"origin":[0,0,0,0],"directions":[{"weights":[1,0,0]},{"weights":[1]}]})",
       "/projection/directions/0/weights: expected 4 numbers");
  says(R"({"origin":[0,0,0,0],"directions":[{"weights":[1,0,0,1e7]}]})", "from -1000000 to 1000000");
  says(R"({"origin":[0,0,0,0],"directions":[{},{},{}]})", "/projection/directions/0/weights: missing");
  says(R"({"origin":[0,0,0,0],"directions":[]})", "/projection/directions");
  federation.projection = R"({"origin":[1,0,0,0],"directions":[{"weights":[0,0,2,0]}]})";
  const Job job = parse_job(federation.job(), "job.json").value();
  EXPECT_EQ(job.model->features(), 1);
  EXPECT_EQ(feature_names(job), std::vector<std::string>{"component 1"});
  models::Records records{Eigen::MatrixXd::Constant(4, 2, 0.5), Eigen::VectorXd::Ones(2)};
  EXPECT_EQ(job.projection->project({records, {}}).training.features, Eigen::MatrixXd::Constant(1, 2, 1.0));
}

std::string problems_of(const tests::SmallFederation& federation) {
  const Result<Job> job = parse_job(federation.job(), "job.json");
  return job ? "accepted" : job.error().message;
}

TEST(AlgorithmConfigTest, SettingsThatDoNotServeAreRefusedWithASentence) {
  const auto with_algorithm = [](std::string algorithm) {
    tests::SmallFederation federation;
    federation.algorithm = std::move(algorithm);
    return federation;
  };
  const auto says = [](const tests::SmallFederation& federation, const std::string& what) {
    const std::string problems = problems_of(federation);
    EXPECT_NE(problems.find(what), std::string::npos) << problems;
  };
  says(with_algorithm(R"({"kind":"adam"})"), "/algorithm/kind: expected one of");
  says(with_algorithm(R"({"kind":"proximal_sgd","rounds":5})"), "/algorithm/step_size: missing");
  says(with_algorithm(R"({"kind":"proximal_sgd","rounds":5,"step_size":1,"period":2})"), "/algorithm/period");
  tests::SmallFederation l1 = with_algorithm("");
  l1.regulariser = R"({"kind":"l1","strength":0.1})";
  says(l1, "is not smooth: use a proximal algorithm");
  tests::SmallFederation grouped = with_algorithm(R"({"kind":"proximal_sgd","rounds":5,"step_size":1})");
  grouped.domain = R"({"kind":"box","lower":-1,"upper":1})";
  grouped.regulariser = R"({"kind":"group_lasso","strength":0.1,"group_size":2})";
  says(grouped, "group lasso");
  tests::SmallFederation box;
  box.domain = R"({"kind":"box","lower":1,"upper":-1})";
  says(box, "/domain/kind");
  says(with_algorithm(
           R"({"kind":"accelerated_sgd","reads":"one_pass","proximity":0,"strong_convexity":0,"draw_fraction":0.5,
               "stages":[{"rounds":3,"upsilon":1}]})"),
       "/algorithm/draw_fraction");
  says(with_algorithm(R"({"kind":"proximal_sgd","rounds":5,"step_size":1,"sampling":"with_replacement"})"),
       "/algorithm/sampling: expected a theorem beside it");
}

TEST(AlgorithmConfigTest, BinsAreOfMethodsThatReadPartsAndOfSumsThatHideHowFullTheyAre) {
  const std::string one_pass = R"({"kind":"proximal_sgd","rounds":5,"step_size":1,"parts":"bins"})";
  tests::SmallFederation federation;
  federation.algorithm = one_pass;
  EXPECT_EQ(parse_job(federation.job(), "job.json").value().parts, releases::Slice::Assignment::Bins);
  const auto says = [&](const std::string& algorithm, const std::string& model, const std::string& what) {
    tests::SmallFederation other;
    other.algorithm = algorithm;
    other.model = model;
    const std::string problems = problems_of(other);
    EXPECT_NE(problems.find(what), std::string::npos) << problems;
  };
  says(R"({"kind":"proximal_sgd","rounds":5,"step_size":1,"parts":"boxes"})", "", "/algorithm/parts");
  says(R"({"kind":"noisy_minibatch_sgd","rounds":5,"step_size":1,"averaging":"last","draw_fraction":1,"parts":"bins"})",
       "", "/algorithm/parts: noisy_minibatch_sgd reads no parts");
  says(one_pass, R"({"kind":"softmax"})", "/algorithm/parts: expected \"permutation\"");
  // Of parts that all have as many records no time tells.
  tests::SmallFederation fixed;
  fixed.algorithm = R"({"kind":"proximal_sgd","rounds":5,"step_size":1,"parts":"secret_permutation"})";
  fixed.model = R"({"kind":"softmax"})";
  EXPECT_EQ(problems_of(fixed).find("/algorithm/parts"), std::string::npos) << problems_of(fixed);
  says(R"({"kind":"localized_accelerated_sgd","draw_fraction":0.5,"parts":"bins","phases":[
           {"proximity":0.5,"strong_convexity":0.5,"stages":[{"rounds":3,"upsilon":6}]}]})",
       "", "none are drawn from it");
}

TEST(AlgorithmConfigTest, PassesReadPartsOfTheRecords) {
  const auto schedule = [](const std::string& rest) {
    tests::SmallFederation federation;
    federation.algorithm =
        R"({"kind":"noisy_minibatch_sgd","rounds":6,"step_size":1,"averaging":"last","draw_fraction":1)" + rest + "}";
    planning::Schedule asked = schedule_of(parse_job(federation.job(), "job.json").value());
    std::erase_if(asked, [](const planning::ScheduledRounds& part) {  // evaluations come in between
      return part.ask.records.block != releases::Block::Training;
    });
    return asked;
  };
  std::uint64_t rounds = 0;
  for (const planning::ScheduledRounds& part : schedule("")) {
    EXPECT_FALSE(part.ask.records.slice);
    rounds += part.rounds;
  }
  EXPECT_EQ(rounds, 6U);
  const planning::Schedule again = schedule(R"(,"passes":2)");
  const planning::Schedule anew = schedule(R"(,"passes":2,"parts":"bins")");
  ASSERT_EQ(again.size(), 6U);
  ASSERT_EQ(anew.size(), 6U);
  for (std::uint64_t r = 0; r < 6; ++r) {
    const releases::Slice& permuted = *again[r].ask.records.slice;
    const releases::Slice& binned = *anew[r].ask.records.slice;
    EXPECT_EQ(permuted.of, 3U);
    EXPECT_EQ(permuted.index, r % 3);
    EXPECT_EQ(permuted.pass(), 0U);
    EXPECT_EQ(binned.pass(), r / 3);
    EXPECT_EQ(binned.positions(90), permuted.positions(90));
  }
  const auto says = [&](const std::string& rest, const std::string& what) {
    tests::SmallFederation other;
    other.algorithm = R"({"kind":"noisy_minibatch_sgd","rounds":6,"step_size":1,"averaging":"last")" + rest + "}";
    const std::string problems = problems_of(other);
    EXPECT_NE(problems.find(what), std::string::npos) << problems;
  };
  says(R"(,"draw_fraction":1,"passes":4)", "/algorithm/passes: expected a divisor of the 6 rounds");
  says(R"(,"draw_fraction":0.5,"passes":2)", "/algorithm/draw_fraction: expected 1 with passes");
  says(R"(,"draw_fraction":1,"passes":0)", "/algorithm/passes");
}

TEST(AlgorithmConfigTest, ThePermutationIsWhatAJobThatSaysNothingAsksFor) {
  tests::SmallFederation silent;
  silent.algorithm = R"({"kind":"proximal_sgd","rounds":5,"step_size":1})";
  tests::SmallFederation said = silent;
  said.algorithm = R"({"kind":"proximal_sgd","rounds":5,"step_size":1,"parts":"permutation"})";
  const Job one = parse_job(silent.job(), "job.json").value();
  const Job other = parse_job(said.job(), "job.json").value();
  EXPECT_EQ(planning::plan_digest(plan_of(one, one.cohort.front()).value()),
            planning::plan_digest(plan_of(other, other.cohort.front()).value()));
}

TEST(ModelConfigTest, MomentsAreWhatOneWholeStepLeadsTo) {
  const std::string step =
      R"({"kind":"noisy_minibatch_sgd","rounds":1,"step_size":1,"averaging":"last","draw_fraction":1})";
  tests::SmallFederation federation;
  federation.model = R"({"kind":"moments"})";
  federation.domain = R"({"kind":"whole_space"})";
  federation.regulariser = R"({"kind":"none"})";
  federation.algorithm = step;
  EXPECT_TRUE(parse_job(federation.job(), "job"));
  const auto says = [&](std::string tests::SmallFederation::*field, const std::string& value, const std::string& what) {
    tests::SmallFederation other = federation;
    other.*field = value;
    const std::string problems = problems_of(other);
    EXPECT_NE(problems.find(what), std::string::npos) << value << ": " << problems;
  };
  using Federation = tests::SmallFederation;
  const auto with_step = [&](const std::string& from, const std::string& to) {
    std::string other = step;
    return other.replace(other.find(from), from.size(), to);
  };
  const std::string algorithm = "/algorithm: moments are what one step leads to";
  says(&Federation::algorithm, with_step("\"rounds\":1", "\"rounds\":2"), algorithm);
  says(&Federation::algorithm, with_step("\"step_size\":1", "\"step_size\":0.5"), algorithm);
  says(&Federation::algorithm, with_step("last", "uniform"), algorithm);
  says(&Federation::algorithm, R"({"kind":"local_sgd","rounds":1,"local_steps":1,"step_size":1})", algorithm);
  says(&Federation::regulariser, R"({"kind":"l2","strength":0.1})", "/regulariser/kind: expected \"none\"");
  says(&Federation::domain, R"({"kind":"l2_ball","radius":2})", "/domain/kind: expected \"whole_space\"");
}

TEST(AlgorithmConfigTest, AHostileJobIsRefusedBeforeMemoryIsSpentOnIt) {
  // 64 stages of a million parts each; a restart of a million epochs of a million rounds.
  std::string stages;
  for (int i = 0; i < 64; ++i) stages += std::string(i == 0 ? "" : ",") + R"({"rounds":1000000,"upsilon":1})";
  tests::SmallFederation federation;
  federation.algorithm = R"({"kind":"accelerated_sgd","reads":"one_pass","proximity":0,"strong_convexity":0,
      "draw_fraction":1,"stages":[)" +
                         stages + "]}";
  EXPECT_NE(problems_of(federation).find("rounds in all"), std::string::npos);
  federation.algorithm = R"({"kind":"proximal_sgd","rounds":1000000,"step_size":1})";
  EXPECT_NE(problems_of(federation).find("expected at most 1000000 and 4000"), std::string::npos);
  federation.algorithm = R"({"kind":"prox_svrg","restarts":1000000,"epochs":1000000,"inner":1000000,"step_size":1,
      "draw_fraction":1,"seed":1})";
  EXPECT_NE(problems_of(federation).find("/algorithm/kind"), std::string::npos);
}

TEST(AlgorithmConfigTest, KinkedLossesNeedSmoothingWhereAnAlgorithmDoes) {
  tests::SmallFederation federation;
  const std::string plain = federation.job();
  const auto with_loss = [&](const std::string& job, const std::string& model) {
    std::string out = job;
    const std::string from = R"("model":{"kind":"logistic","intercept":true})";
    return out.replace(out.find(from), from.size(), "\"model\":" + model);
  };
  EXPECT_TRUE(parse_job(with_loss(plain, R"({"kind":"hinge","intercept":true})"), "job.json"));
  federation.algorithm = R"({"kind":"proximal_sgd","rounds":5,"step_size":1})";
  const Result<Job> kinked = parse_job(with_loss(federation.job(), R"({"kind":"hinge","intercept":true})"), "job.json");
  ASSERT_FALSE(kinked);
  EXPECT_NE(kinked.error().message.find("/model/smoothing: missing"), std::string::npos) << kinked.error().message;
  EXPECT_TRUE(parse_job(with_loss(federation.job(), R"({"kind":"hinge","intercept":true,"smoothing":2})"), "job.json"));
  const Result<Job> numeric =
      parse_job(with_loss(plain, R"({"kind":"huber","threshold":1,"intercept":true})"), "job.json");
  ASSERT_FALSE(numeric);
  EXPECT_NE(numeric.error().message.find("/model/kind"), std::string::npos);
  EXPECT_FALSE(parse_job(with_loss(plain, R"({"kind":"logistic","intercept":true,"smoothing":2})"), "job.json"));
  EXPECT_TRUE(parse_job(with_loss(plain, R"({"kind":"logistic","intercept":true,"logit_max":15})"), "job.json"));
}

/// A job with another model and, where it needs them, classes.
std::string with_model(const std::string& model, const std::string& label = R"({"column":"y","classes":["a","b"]})") {
  std::string out = tests::SmallFederation{}.job();
  const std::string plain = R"({"kind":"logistic","intercept":true})";
  const std::string binary = R"({"column":"y","negative":"no","positive":"yes"})";
  out.replace(out.find(plain), plain.size(), model);
  return out.replace(out.find(binary), binary.size(), label);
}

TEST(ModelConfigTest, NetworksAreReadAndRefusedWithASentence) {
  const auto says = [](const std::string& job, const std::string& what) {
    const Result<Job> parsed = parse_job(job, "job.json");
    const std::string found = parsed ? "accepted" : parsed.error().message;
    EXPECT_NE(found.find(what), std::string::npos) << found;
  };
  const Result<Job> softmax = parse_job(with_model(R"({"kind":"softmax"})"), "job.json");
  ASSERT_TRUE(softmax) << softmax.error().message;
  EXPECT_EQ(softmax->model->dimension(), 10);  // 2 classes of 4 features and a bias
  EXPECT_EQ(softmax->model->name(), "softmax");
  const std::string hidden = R"({"kind":"network","seed":1,"hidden":[)";
  says(with_model(R"({"kind":"softmax"})", R"({"column":"y","negative":"no","positive":"yes"})"), "label with classes");
  says(with_model(R"({"kind":"logistic","intercept":true})"), "/model/kind");
  says(with_model(R"({"kind":"softmax"})", R"({"column":"y","classes":["a","a"]})"),
       "/data/label/classes/1: expected different texts, \"a\" stands twice");
  says(with_model(R"({"kind":"softmax"})", R"({"column":"y","classes":["a"]})"), "expected an array of 2 to");
  says(with_model(R"({"kind":"network","seed":1,"hidden":[]})"), "/model/hidden");
  says(with_model(hidden + R"({"kind":"dense","width":0,"activation":"relu"}]})"), "/model/hidden/0/width");
  says(with_model(hidden + R"({"kind":"dense","width":9,"activation":"step"}]})"), "/model/hidden/0/activation");
  says(with_model(hidden + R"({"kind":"convolution","channels":1,"kernel":3,"activation":"relu"}]})"),
       "kernel of 3 pixels");
  says(with_model(hidden + R"({"kind":"dense","width":4194304,"activation":"relu"}]})"), "a network has at most");
  says(with_model(R"({"kind":"network","seed":1,"image":{"channels":1,"height":2,"width":3},"hidden":[
      {"kind":"dense","width":2,"activation":"relu"}]})"),
       "/model/image: expected 4 values");
  const Result<Job> image =
      parse_job(with_model(R"({"kind":"network","seed":1,"image":{"channels":1,"height":2,"width":2},
      "hidden":[{"kind":"convolution","channels":2,"kernel":2,"activation":"tanh"}]})"),
                "job.json");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->model->dimension(), 2 * 5 + 2 * 3);
  // The start is public and the seed's.
  const auto start = [](const Job& job) { return job.algorithm->problem().initial; };
  EXPECT_EQ(start(*image), start(*parse_job(with_model(R"({"kind":"network","seed":1,"image":{"channels":1,"height":2,
      "width":2},"hidden":[{"kind":"convolution","channels":2,"kernel":2,"activation":"tanh"}]})"),
                                            "job.json")));
  EXPECT_GT(start(*image).norm(), 0.1);
}

TEST(TheoremConfigTest, ATheoremChoosesTheAlgorithmAndSaysWhatItNeeds) {
  tests::SmallFederation federation;
  federation.algorithm = R"({"theorem":"accelerated_convex","smoothness":1.25})";
  const Result<Job> job = parse_job(federation.job(), "job.json");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->algorithm->name(), "accelerated_sgd");
  ASSERT_TRUE(job->theorem);
  EXPECT_EQ(job->theorem->source, "Theorem 129, Remark 143");  // silos differ
  EXPECT_TRUE(PlausibleCohort::of(*job, "job.json"));
  const auto says = [&](const char* algorithm, const std::string& what) {
    federation.algorithm = algorithm;
    const std::string problems = problems_of(federation);
    EXPECT_NE(problems.find(what), std::string::npos) << problems;
  };
  says(R"({"theorem":"nesterov","smoothness":2})", "/algorithm/theorem: expected one of");
  says(R"({"theorem":"accelerated_convex","smoothness":2,"rounds":3})", "/algorithm/rounds");
  says(R"({"theorem":"accelerated_convex","smoothness":2,"answering":6})", "6");
  says(R"({"theorem":"accelerated_convex","smoothness":2,"sampling":"poisson"})",
       "/algorithm/sampling: expected one of");
  says(R"({"theorem":"proximal_sgd","smoothness":1.25,"strong_convexity":1.25,"gap":1,"sampling":"with_replacement"})",
       "are read whole");
  says(R"({"theorem":"one_pass_convex","smoothness":1.25,"sampling":"with_replacement"})", "are read whole");
  says(R"({"kind":"proximal_sgd","rounds":2,"step_size":1,"sampling":"with_replacement"})", "/algorithm/sampling");
  federation.algorithm = R"({"theorem":"accelerated_convex","smoothness":1.25,"sampling":"with_replacement"})";
  const Result<Job> multiset = parse_job(federation.job(), "job.json");
  ASSERT_TRUE(multiset) << multiset.error().message;
  EXPECT_TRUE(plan_of(*multiset, multiset->cohort.front())->draws_with_replacement());
  EXPECT_FALSE(plan_of(*job, job->cohort.front())->draws_with_replacement());
  tests::SmallFederation network = federation;
  network.algorithm = R"({"theorem":"accelerated_convex","smoothness":2})";
  network.regulariser = R"({"kind":"none"})";
  network.model = R"({"kind":"network","seed":1,"hidden":[{"kind":"dense","width":2,"activation":"relu"}]})";
  const std::string refused = problems_of(network);
  EXPECT_NE(refused.find("is of convex losses"), std::string::npos) << refused;
  EXPECT_NE(refused.find("is of smooth losses"), std::string::npos) << refused;
  federation.regulariser = R"({"kind":"none"})";
  says(R"({"theorem":"minibatch_strongly_convex","smoothness":2})", "strong");
  federation.domain = R"({"kind":"whole_space"})";
  says(R"({"theorem":"accelerated_convex","smoothness":2})", "/algorithm/gap: missing");
  says(R"({"theorem":"accelerated_convex","smoothness":2,"gap":1})", "no diameter");
}

TEST(TheoremConfigTest, SmoothnessIsWhatTheModelProvesOrMore) {
  tests::SmallFederation federation;  // four features in [-1, 1] and an intercept: |x|^2 <= 5; logistic: beta = 5/4
  federation.algorithm = R"({"theorem":"accelerated_convex"})";
  const Result<Job> job = parse_job(federation.job(), "job.json");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_DOUBLE_EQ(job->theorem->facts.smoothness, 1.25);
  federation.algorithm = R"({"theorem":"accelerated_convex","smoothness":1.2})";
  const std::string low = problems_of(federation);
  EXPECT_NE(low.find("/algorithm/smoothness: expected at least 1.25"), std::string::npos) << low;
  EXPECT_NE(low.find("got 1.2"), std::string::npos) << low;
  federation.algorithm = R"({"theorem":"accelerated_convex","smoothness":3})";
  EXPECT_EQ(parse_job(federation.job(), "job.json")->theorem->facts.smoothness, 3.0);
  federation.projection = R"({"origin":[0,0,0,0],"directions":[{"weights":[1,0,0,0]}]})";
  federation.algorithm = R"({"theorem":"accelerated_convex"})";  // of projected records nothing is proven
  const std::string unknown = problems_of(federation);
  EXPECT_NE(unknown.find("/algorithm/smoothness: missing"), std::string::npos) << unknown;
}

TEST(TheoremConfigTest, AKinkedLossGetsTheTheoremsEnvelope) {
  tests::SmallFederation federation;
  federation.equal = true;  // n = 40, epsilon 1, delta 1e-4, N = 5; the ball of radius 5: D = 10; L = 1, d = 5
  federation.loss = models::Loss::Absolute;
  federation.algorithm = R"({"theorem":"accelerated_convex"})";
  const Result<Job> job = parse_job(federation.job(), "job.json");
  ASSERT_TRUE(job) << job.error().message;
  // Theorem 131: beta = eps n sqrt(M) L/(sqrt(d) D) = 40 sqrt 5/(sqrt 5 10) = 4; L^2/(2 beta) = 1/8.
  EXPECT_NEAR(job->theorem->facts.smoothness, 4.0, 1e-12);
  EXPECT_NEAR(*job->model->constants(2.0).smoothness, 4.0, 1e-12);
  EXPECT_NEAR(job->theorem->envelope_gap(), 0.125, 1e-12);
  EXPECT_EQ(job->theorem->reasons.back().name, "smoothing");
  federation.algorithm = R"({"theorem":"minibatch_convex"})";
  // (L sqrt M/D)/(1/sqrt n + sqrt(d ln(1/delta))/(eps n)) = 0.223607/(0.158114 + sqrt(46.0517)/40) = 0.682221.
  EXPECT_NEAR(*parse_job(federation.job(), "job.json")->model->constants(2.0).smoothness,
              std::sqrt(5.0) / 10.0 / (1.0 / std::sqrt(40.0) + std::sqrt(5.0 * std::log(1e4)) / 40.0), 1e-12);
  federation.algorithm = R"({"theorem":"accelerated_convex","smoothness":4})";
  EXPECT_NE(problems_of(federation).find("the loss has a kink"), std::string::npos);
  federation.algorithm = R"({"theorem":"spider"})";
  EXPECT_NE(problems_of(federation).find("/algorithm/theorem"), std::string::npos);
}

TEST(TheoremConfigTest, FewerThanAllSilosNeedAHeterogeneity) {
  tests::SmallFederation federation;
  federation.algorithm = R"({"theorem":"accelerated_convex","answering":3})";
  const std::string missing = problems_of(federation);
  EXPECT_NE(missing.find("/algorithm/heterogeneity: missing: 3 of 5 silos"), std::string::npos) << missing;
  federation.algorithm = R"({"theorem":"accelerated_convex","answering":3,"heterogeneity":0})";
  const Result<Job> alike = parse_job(federation.job(), "job.json");
  ASSERT_TRUE(alike) << alike.error().message;
  EXPECT_FALSE(alike->theorem->facts.heterogeneity_assumed);
}

TEST(TheoremConfigTest, AnInterceptIsNamedAsTheCauseOfNoStrongConvexity) {
  tests::SmallFederation federation;  // a squared regulariser of 0.01 and a model with an intercept
  federation.algorithm = R"({"theorem":"accelerated_strongly_convex"})";
  const std::string refused = problems_of(federation);
  EXPECT_NE(refused.find("got 0: the intercept is not regularised"), std::string::npos) << refused;
  federation.regulariser = R"({"kind":"none"})";
  EXPECT_EQ(problems_of(federation).find("the intercept"), std::string::npos);
}

TEST(TheoremConfigTest, ManyEpochsArePlannedAndMoreThanALedgerListsAreNot) {
  tests::SmallFederation federation;
  // 2,052 entries, as of Theorem 148 at kappa 7.75 and n = 91: epochs of an anchor and its differences.
  const auto epochs = [&](int count) {
    federation.algorithm = fmt::format(
        R"({{"kind":"prox_svrg","restarts":1,"epochs":{},"inner":2,"step_size":0.1,"draw_fraction":0.5,"seed":1}})",
        count);
    return parse_job(federation.job(), "job.json");
  };
  EXPECT_TRUE(epochs(1026));
  EXPECT_TRUE(epochs(2000));
  EXPECT_FALSE(epochs(2001));
}

TEST(TheoremConfigTest, SilosThatDifferAreGivenAsTheyAre) {
  tests::SmallFederation federation;
  federation.algorithm = R"({"theorem":"accelerated_convex"})";
  const Result<Job> job = parse_job(federation.job(), "job.json");
  ASSERT_TRUE(job) << job.error().message;
  ASSERT_EQ(job->theorem->facts.members.size(), 5U);
  EXPECT_EQ(job->theorem->facts.members[2].records, 60.0);
  EXPECT_EQ(job->theorem->facts.members[2].epsilon, 8.0);
  federation.equal = true;
  EXPECT_TRUE(parse_job(federation.job(), "job.json")->theorem->facts.members.empty());
}

TEST(OperatorConfigTest, ATokenGoesToLoopbackAloneWhereNothingHidesIt) {
  const auto url = [](const std::string& said) {
    config::Problems problems("operator.json");
    const nlohmann::json document = {
        {"format", "undertone.operator/1"}, {"consortium", "lakeside"}, {"url", said}, {"token_file", "token"}};
    const auto config = operators::parse_operator_config(document, ".", problems);
    return config ? std::string() : config.error().message;
  };
  for (const char* near : {"http://127.0.0.1:7444", "http://[::1]:7444", "http://localhost:7444"})
    EXPECT_EQ(url(near), "");
  for (const char* far : {"http://192.0.2.7:7444", "http://hub.example:7444", "http://localhost.example:1"})
    EXPECT_NE(url(far).find("/url: expected https:// for a host that is not loopback"), std::string::npos) << far;
}

TEST(RoundLinesTest, WhatACoordinatorNamesBecomesNeitherAFormulaNorACell) {
  const auto round = nlohmann::ordered_json::parse(R"({"round": 3, "answered": ["a", "b"], "elapsed_ms": 17,
    "missing": ["=cmd|' /C calc'!A0", "x,y\n\"z"], "metrics": {"=loss": 0.5, "after_steps": 4}})");
  EXPECT_EQ(operators::rounds_csv_line(round), "3,2,\"'=cmd|' /C calc'!A0 x,y?\"\"z\",17,\"'  =loss 0.5000\"\n");
  const auto honest =
      nlohmann::ordered_json::parse(R"({"round": 0, "answered": [], "elapsed_ms": 1, "missing": ["clinic-1"]})");
  EXPECT_EQ(operators::rounds_csv_line(honest), "0,0,\"clinic-1\",1,\"\"\n");
}

TEST(RoundLinesTest, ACoordinatorWhosePagesDoNotGoOnIsNotAskedForEver) {
  const auto rounds = [](std::uint64_t next, std::uint64_t from) {
    return operators::next_rounds({{"rounds", {1}}, {"next", next}}, from);
  };
  EXPECT_EQ(rounds(1000, 0).value(), 1000U);
  EXPECT_FALSE(rounds(1000, 1000));
  EXPECT_FALSE(rounds(0, 1000));
  EXPECT_FALSE(rounds(std::uint64_t{1} << 40U, 1000));
  const auto runs = [](std::int64_t next, std::optional<std::int64_t> before) {
    return operators::next_runs({{"runs", {1}}, {"next_before", next}}, before);
  };
  EXPECT_EQ(*runs(201, std::nullopt).value(), 201);
  EXPECT_EQ(*runs(1, 201).value(), 1);
  EXPECT_FALSE(runs(201, 201));
  EXPECT_FALSE(runs(-5, 201));
  EXPECT_EQ(operators::next_runs({{"runs", {1}}}, 201).value(), std::nullopt);
}

TEST(CompareTest, NothingThatAResultNamesReachesTheTerminalAsACommand) {
  const tests::TemporaryFolder folder;
  const auto result = nlohmann::json::parse(
      R"({"job": {"name": "j\u001b[31m"}, "succeeded": true, "rounds": 1, "privacy": [],
          "settings": {"k\u001b]0;t": "v\u001b[2J", "list": ["\u202e"]}, "metrics": [{"m\u001b[1m": 1}]})");
  write_file_atomically(folder.path() / "result.json", result.dump()).value();
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(operators::compare_runs({}, {folder.path().string()}), 0);
  const std::string shown = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(shown.find("k?]0;t"), std::string::npos) << shown;
  EXPECT_EQ(shown.find('\033'), std::string::npos);
  EXPECT_EQ(shown.find("\u202e"), std::string::npos);
}

TEST(AggregationConfigTest, IsTheMeanUnlessAJobAsksForWhatItsOtherSectionsAllow) {
  using Kind = folds::Aggregation::Kind;
  tests::SmallFederation federation;
  const auto parsed = [&](const std::string& aggregation) {
    federation.aggregation = aggregation;
    return parse_job(federation.job(), "job.json");
  };
  EXPECT_EQ(parsed("")->aggregation.kind, Kind::Mean);
  EXPECT_EQ(parsed(R"({"kind":"mean"})")->aggregation.kind, Kind::Mean);
  EXPECT_EQ(parsed(R"({"kind":"geometric_median"})")->aggregation.kind, Kind::GeometricMedian);
  const Result<Job> trimmed = parsed(R"({"kind":"trimmed_mean","trim":0.25})");
  EXPECT_EQ(trimmed->aggregation.kind, Kind::TrimmedMean);
  EXPECT_EQ(trimmed->aggregation.trim, 0.25);
  const auto says = [&](const std::string& aggregation, const std::string& expected) {
    const Result<Job> job = parsed(aggregation);
    ASSERT_FALSE(job);
    EXPECT_NE(job.error().message.find(expected), std::string::npos) << job.error().message;
  };
  says(R"({"kind":"krum"})", "/aggregation/kind: expected one of");
  says(R"({"kind":"trimmed_mean"})", "/aggregation/trim: missing");
  says(R"({"kind":"trimmed_mean","trim":0.5})", "/aggregation/trim");
  says(R"({"kind":"geometric_median","trim":0.1})", "/aggregation/trim");
  std::string shuffled = tests::ShuffledJob::counts("mixer", std::string(64, 'a')).json();
  const std::size_t at = shuffled.find("\"evaluation\"");
  ASSERT_NE(at, std::string::npos);
  const Result<Job> added = parse_job(shuffled.insert(at, R"("aggregation":{"kind":"geometric_median"},)"), "job.json");
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message.find("can only be added"), std::string::npos) << added.error().message;
}

TEST(AggregationConfigTest, TheMeanIsScaledToTheCohortWhereAJobOrItsTheoremAsksForIt) {
  tests::SmallFederation federation;  // weights 40, 30, 60, 7, 33
  const auto parsed = [&](const std::string& aggregation) {
    federation.aggregation = aggregation;
    return parse_job(federation.job(), "job.json");
  };
  const char* scaled = R"({"kind":"mean","missing_silos":"scaled"})";
  const char* renormalised = R"({"kind":"mean","missing_silos":"renormalised"})";
  EXPECT_FALSE(parsed("")->aggregation.scaled_to);
  EXPECT_FALSE(parsed(renormalised)->aggregation.scaled_to);
  ASSERT_TRUE(parsed(scaled)->aggregation.scaled_to);
  EXPECT_EQ(parsed(scaled)->aggregation.scaled_to->silos, 5U);
  EXPECT_EQ(parsed(scaled)->aggregation.scaled_to->weights, 170U);
  const auto of = [](const Job& job, releases::QuestionKind kind) {
    for (const planning::ScheduledRounds& part : schedule_of(job))
      if (part.ask.kind() == kind) return round_spec(job, part.ask);
    return RoundSpec();
  };
  EXPECT_TRUE(of(*parsed(scaled), releases::QuestionKind::Gradient).aggregation.scaled_to);
  EXPECT_FALSE(of(*parsed(scaled), releases::QuestionKind::Metrics).aggregation.scaled_to);
  const auto says = [&](const std::string& aggregation, const std::string& expected) {
    const Result<Job> job = parsed(aggregation);
    ASSERT_FALSE(job);
    EXPECT_NE(job.error().message.find(expected), std::string::npos) << job.error().message;
  };
  says(R"({"kind":"mean","missing_silos":"ignored"})", "/aggregation/missing_silos: expected one of");
  says(R"({"kind":"geometric_median","missing_silos":"scaled"})", "/aggregation/missing_silos");

  federation.equal = true;  // both means are the same
  EXPECT_FALSE(parsed(scaled)->aggregation.scaled_to);
  federation.equal = false;
  federation.algorithm = R"({"kind":"local_sgd","rounds":4,"local_steps":5,"step_size":0.1})";
  federation.regulariser = R"({"kind":"none"})";
  says(scaled, "local runs answer with models");
  federation.algorithm = R"({"theorem":"accelerated_convex","smoothness":1.25})";
  EXPECT_TRUE(parsed("")->aggregation.scaled_to);
  EXPECT_FALSE(parsed(renormalised)->aggregation.scaled_to);
}

TEST(ServerStepConfigTest, IsOfMinibatchSgdAloneAndNoTheorems) {
  tests::SmallFederation federation;
  const auto parsed = [&](const std::string& algorithm) {
    federation.algorithm = algorithm;
    return parse_job(federation.job(), "job.json");
  };
  const auto minibatch = [&](const std::string& more, const char* averaging = "last") {
    return parsed(fmt::format(
        R"({{"kind":"noisy_minibatch_sgd","rounds":6,"step_size":0.5,"averaging":"{}","draw_fraction":1{}}})",
        averaging, more));
  };
  EXPECT_TRUE(minibatch(R"(,"schedule":"cosine","server":{"kind":"adam","beta1":0.9,"beta2":0.99,"epsilon":1e-3})"));
  EXPECT_TRUE(minibatch(R"(,"server":{"kind":"momentum","beta":0.9},"tail":0.5)", "tail"));
  const auto says = [](const Result<Job>& job, const std::string& expected) {
    ASSERT_FALSE(job) << expected;
    EXPECT_NE(job.error().message.find(expected), std::string::npos) << job.error().message;
  };
  says(minibatch(R"(,"schedule":"linear")"), "/algorithm/schedule: expected one of");
  says(minibatch(R"(,"server":{"kind":"momentum","beta":1})"), "/algorithm/server/beta");
  says(minibatch(R"(,"server":{"kind":"momentum","beta":0.9,"beta2":0.9})"), "/algorithm/server/beta2");
  says(minibatch(R"(,"tail":0.5)"), "/algorithm/tail");
  says(minibatch(R"(,"tail":0)", "tail"), "/algorithm/tail");
  says(minibatch(R"(,"schedule":"cosine")", "geometric"), "geometric averaging");
  for (const char* more : {R"("schedule":"cosine")", R"("server":{"kind":"none"})", R"("tail":0.5)"})
    says(parsed(fmt::format(R"({{"theorem":"minibatch_convex","smoothness":0.25,{}}})", more)), "/algorithm/");
}

TEST(AggregationConfigTest, WhatARoundHoldsIsBounded) {
  // 5,000 silos of 5 numbers, then of 843.
  nlohmann::json job = nlohmann::json::parse(tests::SmallFederation{}.job());
  job["aggregation"] = {{"kind", "geometric_median"}};
  nlohmann::json silo = job["cohort"][0];
  job["cohort"] = nlohmann::json::array();
  for (int i = 0; i < 5000; ++i) {
    silo["silo"] = "silo-" + std::to_string(i);
    job["cohort"].push_back(silo);
  }
  EXPECT_TRUE(parse_job(job.dump(), "job.json"));
  job["data"]["label"] = {{"column", "y"}, {"classes", {"a", "b", "c"}}};
  job["model"] = nlohmann::json::parse(
      R"({"kind":"network","seed":7,"hidden":[{"kind":"dense","width":105,"activation":"tanh"}]})");
  const Result<Job> large = parse_job(job.dump(), "job.json");
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("a coordinator holds at most 4194304 numbers"), std::string::npos)
      << large.error().message;
}

TEST(NoiseConfigTest, WhatIsChosenByHandIsChargedAndRefusedWhereItCostsTooMuch) {
  const auto with = [](const std::string& calibration) {
    std::string out = tests::SmallFederation{}.job();
    const std::string from = R"("clip_norm":1)";
    return out.replace(out.find(from), from.size(), from + ",\"calibration\":" + calibration);
  };
  const Result<Job> loud = parse_job(with(R"({"by":"hand","noise_multiplier":0.5})"), "job.json");
  ASSERT_TRUE(loud);
  const Result<PlausibleCohort> refused = PlausibleCohort::of(*loud, "job.json");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the noise that was chosen costs epsilon"), std::string::npos);
  const Result<Job> quiet = parse_job(with(R"({"by":"hand","noise_multiplier":40})"), "job.json");
  ASSERT_TRUE(quiet);
  for (const CohortMember& member : quiet->cohort) {
    const Result<planning::Plan> plan = plan_of(*quiet, member);
    ASSERT_TRUE(plan) << plan.error().message;
    const auto& gaussian = std::get<mechanisms::GaussianLattice>(plan->release({0})->mechanism);
    EXPECT_NEAR(std::ldexp(1.0, gaussian.log2_stddev) / (2.0 * static_cast<double>(gaussian.lattice.clip)), 40.0, 0.01);
    if (member.facts.holdout_public) {
      // What a plan costs is what its releases cost, not what was promised.
      EXPECT_LT(plan->epsilon().value_rounded_up(), 0.9 * member.facts.epsilon().value());
    }
  }
  EXPECT_FALSE(parse_job(with(R"({"by":"hand"})"), "job.json"));
  EXPECT_FALSE(parse_job(with(R"({"by":"hand","noise_multiplier":0})"), "job.json"));
  EXPECT_FALSE(parse_job(with(R"({"by":"accountant","noise_multiplier":1})"), "job.json"));
  // The printed noise of Theorem 34 is sound: the accountant charges much less than it promises.
  const Result<Job> theorem = parse_job(with(R"({"by":"theorem"})"), "job.json");
  ASSERT_TRUE(theorem);
  const Result<planning::Plan> plan = plan_of(*theorem, theorem->cohort[4]);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_LT(plan->epsilon().value_rounded_up(), 0.25 * theorem->cohort[4].facts.epsilon().value());
}

TEST(ModelConfigTest, ASmallJobCannotAskForMuchMemoryOrTime) {
  std::string hidden;
  for (int i = 0; i < 20; ++i)
    hidden += R"({"kind":"convolution","channels":65536,"kernel":1,"activation":"relu"},)"
              R"({"kind":"convolution","channels":1,"kernel":1,"activation":"relu"},)";
  hidden.pop_back();
  const Result<Job> values =
      parse_job(with_model(R"({"kind":"network","seed":1,"image":{"channels":1,"height":2,"width":2},"hidden":[)" +
                           hidden + "]}"),
                "job.json");
  ASSERT_FALSE(values);
  EXPECT_NE(values.error().message.find("values for one record"), std::string::npos) << values.error().message;
  tests::SmallFederation federation;
  federation.regulariser = R"({"kind":"none"})";
  federation.algorithm = R"({"kind":"local_sgd","rounds":2,"local_steps":100001,"step_size":1})";
  EXPECT_NE(problems_of(federation).find("/algorithm/local_steps"), std::string::npos);
  federation.algorithm = R"({"kind":"local_sgd","rounds":11,"local_steps":100000,"step_size":1})";
  const Result<Job> many = parse_job(federation.job(), "job.json");
  ASSERT_TRUE(many) << many.error().message;
  const Result<PlausibleCohort> planned = PlausibleCohort::of(*many, "job.json");
  ASSERT_FALSE(planned);
  EXPECT_NE(planned.error().message.find("draws of records"), std::string::npos);
  for (const char* clip : {"1e-200", "0", "5e-324"}) {
    std::string job = tests::SmallFederation{}.job();
    const std::string from = R"("clip_norm":1)";
    job.replace(job.find(from), from.size(), R"("clip_norm":)" + std::string(clip));
    EXPECT_FALSE(parse_job(job, "job.json")) << clip;
  }
}

}  // namespace
}  // namespace undertone::jobs
