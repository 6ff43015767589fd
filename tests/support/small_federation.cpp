#include "tests/support/small_federation.hpp"

#include <cmath>

#include "shared/base/random_source.hpp"

namespace undertone::tests {
namespace {

constexpr int kFeatures = 4;

/// Training records, holdout records, epsilon, delta, weight: unequal in everything.
struct Member {
  int records;
  int holdout;
  bool holdout_public;
  double epsilon;
  double delta;
  int weight;
};
constexpr Member kMembers[] = {{40, 10, true, 4.0, 1e-4, 40},
                               {25, 6, false, 1.0, 1e-3, 30},
                               {60, 12, true, 8.0, 1e-5, 60},
                               {12, 4, false, 2.5, 1e-3, 7},
                               {33, 9, true, 0.7, 5e-4, 33}};

double normal(RandomSource& random) {
  return std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(6.283185307179586 * random.unit());
}

models::Records synthetic(RandomSource& random, models::Loss loss, int count) {
  models::Records records{Eigen::MatrixXd(kFeatures, count), Eigen::VectorXd(count)};
  for (int i = 0; i < count; ++i) {
    double score = 0.3;
    for (int f = 0; f < kFeatures; ++f) {
      records.features(f, i) = 2.0 * random.unit() - 1.0;
      score += (f % 2 == 0 ? 1.0 : -0.7) * records.features(f, i);
    }
    score += 0.3 * normal(random);
    records.targets[i] = loss == models::Loss::Logistic ? (score > 0.0 ? 1.0 : -1.0) : score / 3.0;
  }
  return records;
}

}  // namespace

std::string SmallFederation::job() const {
  std::string features;
  for (int f = 0; f < kFeatures; ++f)
    features += fmt::format("{}{{\"column\":\"x{}\",\"min\":-1,\"max\":1}}", f == 0 ? "" : ",", f);
  std::string members;
  for (int i = 0; i < silos; ++i) {
    const Member& m = kMembers[i];
    members += fmt::format(
        "{}{{\"silo\":\"silo-{}\",\"records\":{},\"holdout_records\":{},\"holdout_public\":{},\"epsilon\":{},\"delta\":"
        "{},\"weight\":{}}}",
        i == 0 ? "" : ",", i, m.records, m.holdout, m.holdout_public, m.epsilon, m.delta, m.weight);
  }
  const std::string label = loss == models::Loss::Logistic ? R"({"column":"y","negative":"no","positive":"yes"})"
                                                           : R"({"column":"y","min":-1,"max":1})";
  return fmt::format(
      R"({{"format":"undertone.job/1","name":"small","data":{{"label":{},"features":[{}]}},
"model":{{"kind":"{}","intercept":true}},"domain":{{"kind":"l2_ball","radius":5}},"regulariser":{{"kind":"l2","strength":0.01}},
"algorithm":{{"kind":"noisy_minibatch_sgd","rounds":{},"step_size":{},"averaging":"{}","draw_fraction":{}}},
"privacy":{{"mode":"isrl","unit":"record","noise":"{}","clip_norm":{}}},"cohort":[{}],
"participation":{{"quorum":{},"join_deadline_ms":{},"round_deadline_ms":{},"resend_ms":300}},
"evaluation":{{"every":{}}},"wire":{{"points":"{}","replies":"i64","reply_step_log2":-40}}}})",
      label, features, models::to_string(loss), rounds, step_size, averaging, draw_fraction, noise, clip_norm, members,
      quorum, join_deadline_ms, round_deadline_ms, evaluation_every, points);
}

std::vector<lab::SimulatedSilo> SmallFederation::cohort(std::uint64_t data_seed) const {
  const config::Job parsed = config::parse_job(job(), "small").value();
  std::vector<lab::SimulatedSilo> out;
  for (const config::CohortMember& member : parsed.cohort) {
    RandomSource random(data_seed * 1000 + static_cast<std::uint64_t>(member.facts.records));
    data::Dataset dataset{synthetic(random, loss, static_cast<int>(member.facts.records)),
                          synthetic(random, loss, static_cast<int>(member.facts.holdout_records))};
    silo::DatasetFacts facts{parsed.schema, member.facts.records, member.facts.holdout_records,
                             member.facts.holdout_public};
    out.push_back({member.facts.silo, generous_policy(), std::move(facts), std::move(dataset)});
  }
  return out;
}

silo::Policy generous_policy() {
  return {{"logistic", "least_squares"},
          {"noisy_minibatch_sgd"},
          {"record"},
          1,
          1,
          *privacy::Epsilon::create(10.0),
          *privacy::Delta::create(1e-2),
          {*privacy::EpsilonAmount::rounded_down(100.0), *privacy::DeltaAmount::rounded_down(0.1)},
          silo::Approval::Automatic,
          std::chrono::milliseconds(0)};
}

}  // namespace undertone::tests
