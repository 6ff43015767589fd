#include "shared/jobs/initial_section.hpp"

#include <gtest/gtest.h>

#include "shared/jobs/job.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::jobs {
namespace {

/// A point well inside every domain of the small federations.
Eigen::VectorXd small_point(Eigen::Index d) {
  Eigen::VectorXd point(d);
  for (Eigen::Index i = 0; i < d; ++i) point[i] = (i % 2 == 0 ? 0.3 : -0.2) / static_cast<double>(d + i);
  return point;
}

std::string weights_section(const std::vector<double>& values) {
  const Eigen::VectorXd weights = Eigen::Map<const Eigen::VectorXd>(values.data(), std::ssize(values));
  return initial_of_weights(weights).dump();
}

std::string said_of(const std::string& initial, const std::string& domain = {}, const std::string& points = "f64") {
  tests::SmallFederation federation;
  federation.initial = initial;
  federation.points = points;
  if (!domain.empty()) federation.domain = domain;
  const Result<Job> job = parse_job(federation.job(), "job.json");
  return job ? "accepted" : job.error().message;
}

Eigen::VectorXd start_of(const tests::SmallFederation& federation) {
  const Result<Job> job = parse_job(federation.job(), "job.json");
  EXPECT_TRUE(job) << job.error().message;
  return job->algorithm->problem().start();
}

TEST(InitialTest, EveryAlgorithmStartsAtTheJobsWeightsOrSaysThatItStartsNowhereElse) {
  int started = 0;
  for (auto [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    const Result<Job> plain = parse_job(federation.job(), "job.json");
    ASSERT_TRUE(plain);
    if (!plain->model || plain->model->moments() != nullptr) continue;  // these start at 0
    const Eigen::Index d = plain->model->dimension();
    const Eigen::VectorXd point = small_point(d);
    federation.initial = initial_of_weights(point).dump();
    const Result<Job> job = parse_job(federation.job(), "job.json");
    if (!job) {  // a mirror map's own start is what its bounds are of
      EXPECT_NE(job.error().message.find("expected no other start"), std::string::npos) << job.error().message;
      continue;
    }
    ++started;
    const algorithms::Step step = make_algorithm(*job)->start();
    const queries::Question& question = std::get<queries::Query>(step).question;
    if (!releases::asked_at_point(queries::kind_of(question))) continue;  // of the records themselves first
    const Eigen::VectorXd asked = queries::point_of(question).head(d);
    // Accelerated methods ask at a convex combination of two iterates, here equal: a rounding or two of 2^-53.
    EXPECT_LE((asked - point).norm(), 1e-15 * point.norm() * 4);
  }
  EXPECT_GE(started, 10);
}

TEST(InitialTest, WithoutTheSectionOrWithZeroARunStartsWhereItDid) {
  tests::SmallFederation federation;
  const Eigen::VectorXd none = start_of(federation);
  federation.initial = R"({"kind":"zero"})";
  EXPECT_EQ(start_of(federation), none);
  EXPECT_EQ(none, Eigen::VectorXd::Zero(5));
  federation.initial.clear();
  federation.model = R"({"kind":"network","seed":7,"hidden":[{"kind":"dense","width":3,"activation":"tanh"}]})";
  EXPECT_GT(start_of(federation).norm(), 0.1);
  federation.initial = R"({"kind":"zero"})";
  const Result<Job> refused = parse_job(federation.job(), "job.json");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("/initial/kind: a network that starts at 0"), std::string::npos);
}

TEST(InitialTest, ARandomStartIsItsSeedsAndUniform) {
  tests::SmallFederation federation;
  federation.model = R"({"kind":"network","seed":7,"hidden":[{"kind":"dense","width":500,"activation":"tanh"}]})";
  federation.domain = R"({"kind":"whole_space"})";
  federation.initial = R"({"kind":"random","seed":3,"scale":0.5})";
  const Eigen::VectorXd start = start_of(federation);
  EXPECT_EQ(start_of(federation), start);
  // d = 500 (4 + 1) + 3 (500 + 1) = 4003. Uniform on [-1/2, 1/2): variance 1/12; of the mean's standard error 0.0046
  // and of the mean square's, 0.0745/sqrt(4003) = 0.0012, six each, which a normal law of scale 0.5 leaves by far.
  ASSERT_EQ(start.size(), 4003);
  EXPECT_LE(start.cwiseAbs().maxCoeff(), 0.5);
  EXPECT_NEAR(start.mean(), 0.0, 0.028);
  EXPECT_NEAR(start.squaredNorm() / 4003.0, 1.0 / 12.0, 0.0071);
  federation.initial = R"({"kind":"random","seed":4,"scale":0.5})";
  EXPECT_NE(start_of(federation), start);
  federation.domain = R"({"kind":"l2_ball","radius":2})";
  EXPECT_NEAR(start_of(federation).norm(), 2.0, 1e-12);  // the nearest point of the domain
}

TEST(InitialTest, RefusesWhatIsNoStartWithFileAndPointer) {
  EXPECT_EQ(said_of(weights_section({1, 2, 3, 2, 1})), "accepted");
  const auto says = [](const std::string& initial, const std::string& what, const std::string& domain = {},
                       const std::string& points = "f64") {
    const std::string message = said_of(initial, domain, points);
    EXPECT_NE(message.find("job.json: " + what), std::string::npos) << message;
  };
  says(weights_section({1, 2, 3, 2}), "/initial/values: expected 5 numbers, one for each of the model, got 4");
  says(weights_section({}), "/initial/values: expected 5 numbers, one for each of the model, got 0");
  // The centre's distance from the ball of radius 5: |(3, 4, 12, 0, 0)| - 5 = 8.
  says(weights_section({3, 4, 12, 0, 0}), "/initial/values: expected a point of the l2 ball");
  EXPECT_NE(said_of(weights_section({3, 4, 12, 0, 0})).find("got one at a distance of 8"), std::string::npos);
  says(weights_section({1, 0, 0, 0, 1e39}), "/initial/values: expected numbers of at most 3.40282e+38",
       R"({"kind":"whole_space"})", "f32");
  says(weights_section({1e200, 0, 0, 0, 1e308}), "/initial/values: expected numbers of at most 1e+100",
       R"({"kind":"l2_ball","radius":5})");
  says(weights_section({1.7e308, 1.7e308, 0, 0, 0}), "/initial/values: expected numbers of at most",
       R"({"kind":"whole_space"})");
  const std::string zeros = std::string(64, '0');
  says(R"({"kind":"weights","values":[0,0,0,0,null],"sha256":")" + zeros + "\"}",
       "/initial/values/4: expected a finite number, got null");
  for (const char* no_number : {"NaN", "Infinity", "1e400"}) {
    const std::string message =
        said_of(fmt::format(R"({{"kind":"weights","values":[0,0,0,0,{}],"sha256":"{}"}})", no_number, zeros));
    EXPECT_NE(message.find("job.json: not JSON"), std::string::npos) << message;
  }
  std::string edited = weights_section({1, 2, 3, 2, 1});
  edited.replace(edited.find("3.0"), 3, "3.5");
  says(edited, "/initial/sha256: expected ");
  says(R"({"kind":"weights","values":[0,0,0,0,0]})", "/initial/sha256: missing");
  says(R"({"kind":"weights","sha256":"00"})", "/initial/values: missing");
  says(R"({"kind":"random","seed":1,"scale":0})", "/initial/scale: expected a finite number > 0");
  says(R"({"kind":"random","seed":-1,"scale":1})", "/initial/seed: expected an integer from 0");
  says(R"({"kind":"random","scale":1})", "/initial/seed: missing");
  says(R"({"kind":"zero","seed":1})", "/initial/seed: unknown key");
  says(R"({"kind":"file"})", "/initial/kind: expected one of");
}

TEST(InitialTest, MomentsStartAtZeroAlone) {
  for (auto [name, federation] : tests::federations_of_every_algorithm()) {
    if (federation.model != R"({"kind":"moments"})") continue;
    federation.initial = R"({"kind":"zero"})";
    EXPECT_TRUE(parse_job(federation.job(), "job.json"));
    federation.initial = R"({"kind":"random","seed":1,"scale":1})";
    const Result<Job> job = parse_job(federation.job(), "job.json");
    ASSERT_FALSE(job);
    EXPECT_NE(job.error().message.find("/initial/kind: expected \"zero\""), std::string::npos) << job.error().message;
  }
}

TEST(InitialTest, TheDigestIsThatOfLittleEndianDoubles) {
  // SHA-256 of 00 00 00 00 00 00 f0 3f 00 00 00 00 00 00 00 c0, by sha256sum.
  EXPECT_EQ(to_hex(digest_of_weights(Eigen::Vector2d(1.0, -2.0))),
            "7886fe67ba4484d889aa8ec41f0b242f914fbf6bae1be2ed23f56a007e3547b0");
  tests::SmallFederation federation;
  federation.initial = weights_section({1, 2, 3, 2, 1});
  const Result<Job> job = parse_job(federation.job(), "job.json");
  ASSERT_TRUE(job && job->initial);
  const std::string text = to_string(*job->initial);
  Eigen::VectorXd weights(5);
  weights << 1, 2, 3, 2, 1;
  EXPECT_NE(text.find(to_hex(digest_of_weights(weights))), std::string::npos) << text;
  EXPECT_NE(text.find("as far as its author states"), std::string::npos) << text;
}

}  // namespace
}  // namespace undertone::jobs
