#include "tests/support/small_federation.hpp"

#include <cmath>

#include "shared/algorithms/table.hpp"
#include "shared/base/files.hpp"
#include "shared/base/random_source.hpp"

namespace undertone::tests {
namespace {

/// Training records, holdout records, epsilon, delta, weight: unequal in everything.
struct Member {
  int records;
  int holdout;
  bool holdout_public;
  double epsilon;
  double delta;
  int weight;
};
constexpr Member kEqualMember = {40, 10, true, 1.0, 1e-4, 1};
constexpr Member kMembers[] = {{40, 10, true, 4.0, 1e-4, 40},
                               {25, 6, false, 1.0, 1e-3, 30},
                               {60, 12, true, 8.0, 1e-5, 60},
                               {12, 4, false, 2.5, 1e-3, 7},
                               {33, 9, true, 0.7, 5e-4, 33}};

double normal(RandomSource& random) {
  return std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(6.283185307179586 * random.unit());
}

models::Records synthetic(RandomSource& random, const SmallFederation& of, int count) {
  const bool classes = !of.model.empty();
  models::Records records{Eigen::MatrixXd(of.features, count), Eigen::VectorXd(count)};
  for (int i = 0; i < count; ++i) {
    double score = 0.3;
    for (int f = 0; f < of.features; ++f) {
      records.features(f, i) = 2.0 * random.unit() - 1.0;
      score += (f % 2 == 0 ? 1.0 : -0.7) * records.features(f, i);
    }
    score += 0.3 * normal(random);
    if (of.groups > 0) {
      // The second group and those after it are the rarer, the larger the score.
      const auto other = 1 + static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(of.groups - 1)));
      records.groups.push_back(random.unit() < (score > 0.0 ? 0.7 : 0.4) ? 0 : other);
    }
    if (classes) {
      records.targets[i] = score > 0.6 ? 2.0 : score > 0.0 ? 1.0 : 0.0;
      continue;
    }
    records.targets[i] = of.loss == models::Loss::Logistic ? (score > 0.0 ? 1.0 : -1.0) : score / 3.0;
  }
  return records;
}

}  // namespace

std::string SmallFederation::job() const {
  std::string columns;
  for (int f = 0; f < features; ++f)
    columns += fmt::format("{}{{\"column\":\"x{}\",\"min\":-1,\"max\":1}}", f == 0 ? "" : ",", f);
  std::string sensitive;
  for (int g = 0; g < groups; ++g) sensitive += fmt::format("{}\"g{}\"", g == 0 ? "" : ",", g);
  if (groups > 0) sensitive = fmt::format(R"(,"sensitive":[{{"column":"s","categories":[{}]}}])", sensitive);
  std::string members;
  std::string unweighted;
  for (int i = 0; i < silos; ++i) {
    const Member& m = equal ? kEqualMember : kMembers[i];
    const std::string member =
        fmt::format(
            "{}{{\"silo\":\"silo-{}\",\"records\":{},\"holdout_records\":{},\"holdout_public\":{},\"epsilon\":{},"
            "\"delta\":"
            "{}",
            i == 0 ? "" : ",", i, m.records, m.holdout, m.holdout_public, m.epsilon, m.delta) +
        (public_records > 0 ? fmt::format(",\"public_records\":{}", public_records + i) : std::string());
    members += fmt::format("{},\"weight\":{}}}", member, m.weight);
    unweighted += member + "}";
  }
  const std::string label = !model.empty()                   ? R"({"column":"y","classes":["low","middle","high"]})"
                            : loss == models::Loss::Logistic ? R"({"column":"y","negative":"no","positive":"yes"})"
                            : loss == models::Loss::Poisson  ? R"({"column":"y","min":0,"max":8})"
                                                             : R"({"column":"y","min":-1,"max":1})";
  if (!statistics.empty()) {
    return fmt::format(
        R"({{"format":"undertone.job/1","name":"{}","data":{{"label":{},"features":[{}]}},"statistics":{},
"privacy":{{"mode":"isrl","unit":"record","noise":"{}"}},"cohort":[{}],
"participation":{{"quorum":{},"join_deadline_ms":{},"round_deadline_ms":{},"resend_ms":300}}}})",
        name, label, columns, statistics, noise, unweighted, quorum, join_deadline_ms, round_deadline_ms);
  }
  const std::string trained =
      model.empty() ? fmt::format(R"({{"kind":"{}","intercept":true}})", models::to_string(loss)) : model;
  const std::string asked =
      algorithm.empty()
          ? fmt::format(
                R"({{"kind":"noisy_minibatch_sgd","rounds":{},"step_size":{},"averaging":"{}","draw_fraction":{}}})",
                rounds, step_size, averaging, draw_fraction)
          : algorithm;
  const std::string by_hand =
      noise_multiplier > 0.0 ? fmt::format(R"(,"calibration":{{"by":"hand","noise_multiplier":{}}})", noise_multiplier)
                             : "";
  const std::string bound = !moments.empty()         ? fmt::format(R"("moments":{})", moments)
                            : coordinate_bound > 0.0 ? fmt::format(R"("coordinate_bound":{})", coordinate_bound)
                            : coordinate_bound < 0.0 ? std::string()
                                                     : fmt::format(R"("clip_norm":{})", clip_norm);
  return fmt::format(
      R"({{"format":"undertone.job/1","name":"{}","data":{{"label":{},"features":[{}]{}}},{}
"model":{},"domain":{},"regulariser":{},
"algorithm":{},
"privacy":{{"mode":"{}","unit":"{}","noise":"{}"{}{}{}{}{}}},"cohort":[{}],
"participation":{{"quorum":{},"join_deadline_ms":{},"round_deadline_ms":{},"resend_ms":300}},
{}{}{}"evaluation":{{"every":{},"metrics":"{}"}},"wire":{{"points":"{}","replies":"i64","reply_step_log2":-40}}}})",
      name, label, columns, sensitive, projection.empty() ? "" : fmt::format("\"projection\":{},", projection), trained,
      domain, regulariser, asked, shuffle.empty() ? "isrl" : "shuffle", unit, noise, bound.empty() ? "" : ",", bound,
      noise_law.empty() ? "" : fmt::format(R"(,"noise_law":"{}")", noise_law), by_hand,
      shuffle.empty() ? "" : fmt::format(",\"shuffle\":{}", shuffle), members, quorum, join_deadline_ms,
      round_deadline_ms, aggregation.empty() ? "" : fmt::format("\"aggregation\":{},", aggregation),
      initial.empty() ? "" : fmt::format("\"initial\":{},", initial),
      open_records.empty() ? "" : fmt::format("\"public\":{},", open_records), evaluation_every,
      groups > 0 ? "groups" : "basic", points);
}

std::string open_records_in(const std::filesystem::path& folder, const SmallFederation& of, int records,
                            const std::string& more, const std::string& name) {
  RandomSource random(99);
  const models::Records made = synthetic(random, of, records);
  std::string text = "y";
  for (int f = 0; f < of.features; ++f) text += fmt::format(",x{}", f);
  for (int i = 0; i < records; ++i) {
    constexpr const char* kClasses[] = {"low", "middle", "high"};
    text += "\n";
    text += !of.model.empty()                   ? kClasses[static_cast<std::size_t>(made.targets[i]) % 3]
            : of.loss == models::Loss::Logistic ? (made.targets[i] > 0.0 ? "yes" : "no")
                                                : fmt::format("{}", made.targets[i]);
    for (int f = 0; f < of.features; ++f) text += fmt::format(",{}", made.features(f, i));
  }
  UNDERTONE_CHECK(write_file_atomically(folder / name, text + "\n"));
  return fmt::format(R"({{"file":"{}","sha256":"{}","records":{}{}}})", name, to_hex(sha256(text + "\n")), records,
                     more);
}

std::vector<std::pair<std::string, SmallFederation>> federations_of_every_algorithm() {
  const std::string l1 = R"({"kind":"l1","strength":0.01})";
  const std::string ball = R"({"kind":"l2_ball","radius":5})";
  const std::string whole = R"({"kind":"whole_space"})";
  const std::string none = R"({"kind":"none"})";
  struct Row {
    const char* algorithm;
    std::string domain;
    std::string regulariser;
    std::string model = {};
    std::string projection = {};
    double noise_multiplier = 0.0;
    int silos = 5;
    double coordinate_bound = 0.0;
    int features = 4;
    std::string noise_law = {};
    std::string moments = {};
    std::string open_records = {};
    std::int64_t public_records = 0;
    int groups = 0;
    models::Loss loss = models::Loss::Logistic;
  };
  const std::string tails = R"({"order":4,"bound":0.5,"source":"a pilot"})";
  const std::vector<std::pair<std::string, Row>> rows = {
      {"noisy_minibatch_sgd",
       {R"({"kind":"noisy_minibatch_sgd","rounds":6,"step_size":0.5,"averaging":"uniform","draw_fraction":0.5})", ball,
        R"({"kind":"l2","strength":0.01})"}},
      {"ldp_sgd", {R"({"kind":"ldp_sgd","rounds":4,"step_size":0.2,"averaging":"uniform"})", ball, none}},
      {"semi_ldp_sgd",
       {R"({"kind":"semi_ldp_sgd","rounds":4,"step_size":0.2,"averaging":"last",
            "reports":{"randomiser":"gaussian_direction","adapter":"lift"}})",
        ball,
        none,
        {},
        {},
        0.0,
        5,
        0.0,
        4,
        {},
        {},
        R"({"silos":true})",
        5}},
      {"accelerated_sgd",
       {R"({"kind":"accelerated_sgd","reads":"shared","proximity":0.1,"strong_convexity":0.1,"draw_fraction":0.5,
            "stages":[{"rounds":4,"upsilon":4},{"rounds":3,"upsilon":5}]})",
        R"({"kind":"box","lower":-2,"upper":2})", R"({"kind":"l2","strength":0.01})"}},
      {"accelerated_sgd, one pass",
       {R"({"kind":"accelerated_sgd","reads":"one_pass","proximity":0,"strong_convexity":0,"draw_fraction":1,
            "stages":[{"rounds":6,"upsilon":4}]})",
        ball, none}},
      {"accelerated_sgd, a theorem's, drawn with replacement",
       {R"({"theorem":"accelerated_strongly_convex","smoothness":1.25,"strong_convexity":0.1,"sampling":"with_replacement"})",
        ball,
        R"({"kind":"l2","strength":0.1})",
        {},
        {},
        60.0,
        2}},
      {"localized_accelerated_sgd",
       {R"({"kind":"localized_accelerated_sgd","draw_fraction":1,"phases":[
            {"proximity":0.5,"strong_convexity":0.5,"radius":2,"stages":[{"rounds":3,"upsilon":6}]},
            {"proximity":2,"strong_convexity":2,"radius":0.5,"stages":[{"rounds":2,"upsilon":9},{"rounds":2,"upsilon":9}]}]})",
        ball, none}},
      {"proximal_sgd", {R"({"kind":"proximal_sgd","rounds":5,"step_size":0.5})", ball, l1}},
      {"prox_svrg",
       {R"({"kind":"prox_svrg","restarts":2,"epochs":2,"inner":2,"step_size":0.4,"smoothness":1.5,"draw_fraction":0.5,"seed":3})",
        ball, l1}},
      {"spider",
       {R"({"kind":"spider","rounds":7,"period":3,"step_size":0.4,"smoothness":1.5,"seed":4})",
        R"({"kind":"l1_ball","radius":3})", l1}},
      {"spider_alternate",
       {R"({"kind":"spider_alternate","pairs":3,"step_size":0.4,"draw_fraction":0.5,"seed":5})", whole, none}},
      {"local_sgd", {R"({"kind":"local_sgd","rounds":4,"local_steps":5,"step_size":0.1})", ball, none}},
      {"local_minibatch_sgd",
       {R"({"kind":"local_minibatch_sgd","rounds":3,"local_steps":4,"local_batch":3,"step_size":0.1})", ball, none}},
      {"fedprox",
       {R"({"kind":"fedprox","rounds":3,"local_steps":4,"local_batch":2,"step_size":0.1,"proximal":0.5})", ball, none}},
      {"private_frank_wolfe",
       {R"({"kind":"private_frank_wolfe","iterates":6,"vertices":{"kind":"l1_ball","radius":3}})",
        R"({"kind":"l1_ball","radius":3})",
        none,
        {},
        {},
        0.0,
        5,
        1.0}},
      {"private_frank_wolfe, by vector",
       {R"({"kind":"private_frank_wolfe","iterates":6,"choice":"vector","vertices":{"kind":"l1_ball","radius":3}})",
        R"({"kind":"l1_ball","radius":3})", none}},
      {"private_frank_wolfe, by scores",
       {R"({"kind":"private_frank_wolfe","iterates":5,"choice":"scores","vertices":{"kind":"l1_ball","radius":3}})",
        R"({"kind":"l1_ball","radius":3})",
        none,
        {},
        {},
        0.0,
        5,
        1.0}},
      {"private_frank_wolfe, by scores of vertices away from 0",
       {R"({"kind":"private_frank_wolfe","iterates":5,"choice":"scores","vertices":{"kind":"listed","points":
            [[4,3,3,3,3],[3,4,3,3,3],[2,3,3,3,3],[3,3,4,3,2],[3,3,3,2,4]]}})",
        whole,
        none,
        {},
        {},
        0.0,
        5,
        1.0}},
      {"private_frank_wolfe, by nomination",
       {R"({"kind":"private_frank_wolfe","iterates":4,"choice":"nominate","vertices":{"kind":"l1_ball","radius":3}})",
        R"({"kind":"l1_ball","radius":3})",
        none,
        {},
        {},
        0.0,
        5,
        1.0}},
      {"private_tree_frank_wolfe",
       {R"({"kind":"private_tree_frank_wolfe","depth":1,"smoothness":0.25,"vertices":{"kind":"l1_ball","radius":3}})",
        R"({"kind":"l1_ball","radius":3})",
        none,
        {},
        {},
        0.0,
        5,
        1.0}},
      {"staged_tree_frank_wolfe",
       {R"({"kind":"staged_tree_frank_wolfe","stages":[{"depth":1,"radius":3},{"depth":1,"radius":1}],"smoothness":0.25})",
        R"({"kind":"l1_ball","radius":3})",
        none,
        {},
        {},
        0.0,
        5,
        1.0}},
      {"private_poly_frank_wolfe",
       {R"({"kind":"private_poly_frank_wolfe","rounds":3,"step_size":0.4,"smoothness":0.25,
            "vertices":{"kind":"l1_ball","radius":3}})",
        R"({"kind":"l1_ball","radius":3})",
        none,
        {},
        {},
        0.0,
        5,
        1.0}},
      {"one_shot_frank_wolfe",
       {R"({"kind":"one_shot_frank_wolfe","iterates":6,"vertices":{"kind":"l1_ball","radius":3}})",
        R"({"kind":"l1_ball","radius":3})",
        none,
        {},
        {},
        0.0,
        5,
        1.0}},
      {"objective_perturbation", {R"({"kind":"objective_perturbation"})", ball, none}},
      {"fisher_scoring", {R"({"kind":"fisher_scoring"})", whole, none, {}, {}, 0.0, 3, -1.0}},
      {"fisher_scoring, of counts",
       {R"({"kind":"fisher_scoring"})", whole, none, {}, {}, 0.0, 3, -1.0, 4, {}, {}, {}, 0, 0, models::Loss::Poisson}},
      {"dp_fermi",
       {R"({"kind":"dp_fermi","rounds":4,"step_size":0.5,"lambda":2,"draw_fraction":1,"tail":0.5})",
        ball,
        R"({"kind":"l2","strength":0.01})",
        {},
        {},
        0.0,
        5,
        0.0,
        4,
        {},
        {},
        {},
        0,
        2}},
      {"dp_fermi, of the attribute alone",
       {R"({"kind":"dp_fermi","notion":"equal_opportunity","rounds":4,"step_size":0.5,"lambda":1,"draw_fraction":1})",
        ball,
        none,
        {},
        {},
        0.0,
        5,
        0.0,
        4,
        {},
        {},
        {},
        0,
        3}},
      {"dp_fermi, equalised odds of three groups, drawn",
       {R"({"kind":"dp_fermi","notion":"equalised_odds","rounds":3,"step_size":0.5,"lambda":1,"draw_fraction":0.5,
            "shares":[0.3,0.1,0.1,0.3,0.1,0.1],"server":{"kind":"momentum","beta":0.5}})",
        ball,
        none,
        {},
        {},
        0.0,
        5,
        0.0,
        4,
        {},
        {},
        {},
        0,
        3}},
      {"lp_sgd",
       {R"({"kind":"lp_sgd","rounds":4,"step_size":0.5,"draw_fraction":0.5,"norm":4,"radius":2})", whole, none}},
      {"staged_mirror_descent",
       {R"({"kind":"staged_mirror_descent","norm":1,"draw_fraction":1,"stages":[
            {"phases":[{"rounds":2,"relative_convexity":0.5,"radius":2}]},
            {"phases":[{"rounds":2,"relative_convexity":1,"radius":1},{"rounds":1,"relative_convexity":2,"radius":0.5}]}]})",
        R"({"kind":"l1_ball","radius":3})", none}},
      {"constrained_frank_wolfe",
       {R"({"kind":"constrained_frank_wolfe","iterates":6})", R"({"kind":"group_ball","radius":3,"group_size":2})",
        none}},
      {"constrained_mirror_descent",
       {R"({"kind":"constrained_mirror_descent","rounds":6,"step_size":0.5,"draw_fraction":0.5,"potential":"euclidean"})",
        R"({"kind":"mixed_ball","radius":3,"share":0.5})", none}},
      {"strongly_convex_mirror_descent",
       {R"({"kind":"strongly_convex_mirror_descent","rounds":6,"relative_convexity":0.5,"draw_fraction":1})", ball,
        none}},
      {"noisy_frank_wolfe",
       {R"({"kind":"noisy_frank_wolfe","rounds":4,"step_size":0.4,"smoothness":0.25,"set":{"norm":1}})",
        R"({"kind":"l1_ball","radius":3})", none}},
      {"noisy_frank_wolfe, l_1.5",
       {R"({"kind":"noisy_frank_wolfe","rounds":3,"step_size":0.5,"smoothness":1.5,"set":{"norm":1.5,"radius":2}})",
        whole, none}},
      {"localized_mirror_descent",
       {R"({"kind":"localized_mirror_descent","norm":1,"draw_fraction":1,"phases":[
            {"rounds":3,"relative_convexity":0.5,"radius":2},{"rounds":2,"relative_convexity":2,"radius":0.5}]})",
        R"({"kind":"l1_ball","radius":3})", none}},
      {"poly_frank_wolfe",
       {R"({"kind":"poly_frank_wolfe","rounds":2,"step_size":0.4,"smoothness":0.25,"set":{"norm":1}})",
        R"({"kind":"l1_ball","radius":3})", none}},
      {"tree_frank_wolfe",
       {R"({"kind":"tree_frank_wolfe","depth":1,"smoothness":0.25,"set":{"norm":1}})",
        R"({"kind":"l1_ball","radius":3})", none}},
      {"mirror_descent",
       {R"({"kind":"mirror_descent","rounds":6,"step_size":0.5,"draw_fraction":0.5,"geometry":{"potential":"p_norm","norm":1}})",
        R"({"kind":"l1_ball","radius":3})", none}},
      {"mirror_descent, steps of strong convexity, entropy",
       {R"({"kind":"mirror_descent","rounds":5,"relative_convexity":0.5,"draw_fraction":1.0,"geometry":{"potential":"entropy"}})",
        R"({"kind":"l1_ball","radius":3})", R"({"kind":"l2","strength":0.01})"}},
      {"mirror_descent, l_1.5",
       {R"({"kind":"mirror_descent","rounds":5,"step_size":0.5,"draw_fraction":1.0,
            "geometry":{"potential":"p_norm","norm":1.5,"radius":2}})",
        whole, none}},
      {"noisy_mirror_descent",
       {R"({"kind":"noisy_mirror_descent","rounds":5,"step_size":0.5,"draw_fraction":0.5,"geometry":{"norm":1}})",
        R"({"kind":"l1_ball","radius":3})",
        none,
        {},
        {},
        0.0,
        5,
        0.0,
        9}},
      {"noisy_frank_wolfe, generalised Gaussian noise",
       {R"({"kind":"noisy_frank_wolfe","rounds":3,"step_size":0.4,"smoothness":0.25,"set":{"norm":1}})",
        R"({"kind":"l1_ball","radius":3})",
        none,
        {},
        {},
        0.0,
        5,
        0.0,
        9,
        "generalised_gaussian"}},
      {"noisy_minibatch_sgd, softmax",
       {R"({"kind":"noisy_minibatch_sgd","rounds":4,"step_size":0.5,"averaging":"last","draw_fraction":0.5})", ball,
        R"({"kind":"l2","strength":0.01})", R"({"kind":"softmax"})"}},
      {"spider, network",
       {R"({"kind":"spider","rounds":5,"period":2,"step_size":0.2,"seed":4})", whole, none,
        R"({"kind":"network","seed":7,"hidden":[{"kind":"dense","width":3,"activation":"tanh"}]})"}},
      {"noisy_minibatch_sgd, moments",
       {R"({"kind":"noisy_minibatch_sgd","rounds":1,"step_size":1,"averaging":"last","draw_fraction":0.5})", whole,
        none, R"({"kind":"moments"})"}},
      {"noisy_minibatch_sgd, clip by moments",
       {R"({"kind":"noisy_minibatch_sgd","rounds":6,"step_size":0.5,"averaging":"last","draw_fraction":1})",
        ball,
        none,
        {},
        {},
        0.0,
        5,
        0.0,
        4,
        {},
        tails}},
      {"accelerated_sgd, clip by a theorem of moments",
       {R"({"theorem":"heavy_tailed_convex"})", ball, none, {}, {}, 0.0, 5, 0.0, 4, {}, tails}},
      {"strongly_convex_sgd",
       {R"({"kind":"strongly_convex_sgd","rounds":5,"smoothness":2,"strong_convexity":0.5})", ball, none}},
      {"strongly_convex_sgd, clip by a theorem of moments",
       {R"({"theorem":"heavy_tailed_strongly_convex","strong_convexity":0.1})",
        ball,
        none,
        {},
        {},
        0.0,
        5,
        0.0,
        4,
        {},
        tails}},
      {"regularised_subgradient",
       {R"({"kind":"regularised_subgradient","rounds":4,"step_size":0.25,"proximity":0.5,"draw_fraction":1})", ball,
        none}},
      {"localized_subgradient",
       {R"({"kind":"localized_subgradient","draw_fraction":1,"phases":[
            {"rounds":3,"step_size":0.25,"proximity":0.5,"radius":2},
            {"rounds":2,"step_size":0.05,"proximity":4,"clip_share":0.5}]})",
        ball, none}},
      {"staged_subgradient",
       {R"({"kind":"staged_subgradient","draw_fraction":1,"stages":[
            {"phases":[{"rounds":2,"step_size":0.25,"proximity":0.5}]},
            {"phases":[{"rounds":2,"step_size":0.1,"proximity":2},{"rounds":1,"step_size":0.05,"proximity":8}]}]})",
        ball, none}},
      {"localized_subgradient, clip by a theorem of moments",
       {R"({"theorem":"heavy_tailed_localized"})", ball, none, {}, {}, 0.0, 5, 0.0, 4, {}, tails}},
      {"accelerated_sgd, bins",
       {R"({"kind":"accelerated_sgd","reads":"one_pass","parts":"bins","proximity":0,"strong_convexity":0,
            "draw_fraction":1,"stages":[{"rounds":6,"upsilon":4}]})",
        ball, none}},
      {"localized_accelerated_sgd, bins",
       {R"({"kind":"localized_accelerated_sgd","parts":"bins","draw_fraction":1,"phases":[
            {"proximity":0.5,"strong_convexity":0.5,"radius":2,"stages":[{"rounds":3,"upsilon":6}]},
            {"proximity":2,"strong_convexity":2,"radius":0.5,"stages":[{"rounds":2,"upsilon":9},{"rounds":2,"upsilon":9}]}]})",
        ball, none}},
      {"proximal_sgd, bins", {R"({"kind":"proximal_sgd","parts":"bins","rounds":5,"step_size":0.5})", ball, l1}},
      {"proximal_sgd, secret permutation",
       {R"({"kind":"proximal_sgd","parts":"secret_permutation","rounds":5,"step_size":0.5})", ball, l1}},
      {"spider_alternate, projected features",
       {R"({"kind":"spider_alternate","pairs":2,"step_size":0.4,"draw_fraction":1,"seed":5})",
        whole,
        none,
        {},
        R"({"origin":[0.1,-0.2,0,0.3],"directions":[{"weights":[0.6,0.8,0,0]},{"weights":[0,0,-1,0.5]}]})"}}};
  std::vector<std::pair<std::string, SmallFederation>> out;
  for (const auto& [name, row] : rows) {
    SmallFederation federation;
    federation.algorithm = row.algorithm;
    federation.groups = row.groups;
    if (name.ends_with("of the attribute alone")) federation.unit = "sensitive_attribute";
    federation.domain = row.domain;
    federation.regulariser = row.regulariser;
    federation.model = row.model;
    federation.projection = row.projection;
    federation.noise_multiplier = row.noise_multiplier;
    federation.silos = row.silos;
    federation.coordinate_bound = row.coordinate_bound;
    federation.features = row.features;
    federation.noise_law = row.noise_law;
    federation.moments = row.moments;
    federation.open_records = row.open_records;
    federation.public_records = row.public_records;
    federation.loss = row.loss;
    out.emplace_back(name, federation);
  }
  return out;
}

std::vector<simulation::SimulatedSilo> SmallFederation::cohort(std::uint64_t data_seed) const {
  const jobs::Job parsed = jobs::parse_job(job(), "small").value();
  std::vector<simulation::SimulatedSilo> out;
  for (const jobs::CohortMember& member : parsed.cohort) {
    RandomSource random(data_seed * 1000 + static_cast<std::uint64_t>(member.facts.records) +
                        (equal ? 7919 * out.size() : 0));
    data::Dataset dataset{synthetic(random, *this, static_cast<int>(member.facts.records)),
                          synthetic(random, *this, static_cast<int>(member.facts.holdout_records))};
    dataset.public_records = synthetic(random, *this, static_cast<int>(member.facts.public_records));
    silo::DatasetFacts facts{parsed.schema,
                             member.facts.records,
                             member.facts.holdout_records,
                             member.facts.holdout_public,
                             member.facts.public_records,
                             parsed.unit};
    out.push_back({member.facts.silo, generous_policy(), std::move(facts), std::move(dataset)});
  }
  return out;
}

SmallFederation federation_of_reports() {
  SmallFederation out;
  out.statistics = R"({"sampling_intervals":true,"questions":[
    {"kind":"mean","column":"x1","form":"reports"},
    {"kind":"count","column":"y","value":"no","form":"reports"},
    {"kind":"mean","columns":["x0","x2","x3"],"form":"reports","randomiser":"laplace"},
    {"kind":"count","column":"y","value":"yes"}]})";
  return out;
}

SmallFederation federation_of_functions() {
  SmallFederation out;
  out.silos = 3;  // the others have too few records to report on two numbers
  out.statistics = R"({"noise":"laplace","questions":[
    {"kind":"marginals","columns":["y"],"width":1},
    {"kind":"kernels","columns":["x0","x1"],"terms":3},
    {"kind":"loss","columns":["x2"],"response":"y","degree":3,"order":2},
    {"kind":"loss","columns":["x0"],"response":"x1","loss":"squared","intercept":false,"degree":1,"form":"reports"},
    {"kind":"marginals","columns":["y"],"width":1,"form":"reports","randomiser":"string_bit"},
    {"kind":"marginals","columns":["y"],"width":1,"form":"reports","randomiser":"index","public_seed":5},
    {"kind":"kernels","columns":["x3"],"terms":3,"form":"reports","randomiser":"laplace"}]})";
  return out;
}

std::vector<SmallFederation> federations_of_vectors() {
  SmallFederation totals;
  totals.public_records = 5;
  totals.statistics = R"({"noise":"gaussian","questions":[
    {"kind":"vector_mean","columns":["x0","x1","x2"],"norm":1,"public_records":"weighted"},
    {"kind":"vector_mean","columns":["x3"],"public_records":"throw_away"},
    {"kind":"mean","column":"x3"},
    {"kind":"linear_model","columns":["x0","x1"],"response":"y","intercept":true}]})";
  SmallFederation pure = totals;
  pure.statistics = R"({"noise":"laplace","questions":[
    {"kind":"vector_mean","columns":["x0","x1"],"public_records":"empirical"}]})";
  SmallFederation directions;
  directions.statistics = R"({"questions":[
    {"kind":"vector_mean","columns":["x0","x1","x2"],"form":"reports"},
    {"kind":"vector_mean","columns":["x0","x1"],"form":"reports","adapter":"lift"},
    {"kind":"vector_mean","columns":["x2","x3"],"form":"reports","adapter":"normalise"},
    {"kind":"mean","column":"x1","form":"reports"}]})";
  SmallFederation noised;
  noised.statistics = R"({"questions":[
    {"kind":"vector_mean","columns":["x0","x1","x2"],"form":"reports","randomiser":"gaussian"},
    {"kind":"linear_model","columns":["x0","x1"],"response":"y","form":"reports"},
    {"kind":"linear_model","columns":["x0","x1"],"response":"y","form":"reports","copies":true,"degree":2}]})";
  return {totals, pure, directions, noised};
}

SmallFederation federation_of_choices() {
  SmallFederation out;
  out.statistics = R"({"questions":[
    {"kind":"selected_quantile","column":"x0","bins":8,"probabilities":[0.5],"ends":false},
    {"kind":"least_loss","columns":["x1"],"response":"y","degree":6}]})";
  return out;
}

silo::Policy generous_policy() {
  const std::vector<std::string_view> every = algorithms::method_names();
  return {{"logistic", "least_squares", "softmax", "network", "moments", "poisson"},
          {every.begin(), every.end()},
          {"record", "sensitive_attribute"},
          1,
          1,
          *releases::Epsilon::create(10.0),
          *releases::Delta::create(1e-2),
          {*releases::EpsilonAmount::rounded_down(100.0), *releases::DeltaAmount::rounded_down(0.1)},
          silo::Approval::Automatic,
          std::chrono::milliseconds(1),
          std::nullopt,
          true,
          silo::ExplainRefusals::Kind,
          true,
          true};
}

}  // namespace undertone::tests
