#pragma once

#include <fmt/format.h>
#include <string>

namespace undertone::tests {

/// The file of a small shuffled job of `silos` equal silos "silo-0", "silo-1", ...
struct ShuffledJob {
  std::string form = "reports";
  std::string shufflers = R"([{"name":"mixer"}])";  // JSON
  int silos = 3;
  int quorum = 2;
  double epsilon = 1.0;
  int round_deadline_ms = 60'000;

  /// One that adds, with its key in hexadecimal.
  static ShuffledJob counts(const std::string& name, const std::string& key) {
    return {.form = "counts", .shufflers = fmt::format(R"([{{"name":"{}","key":"{}"}}])", name, key)};
  }

  [[nodiscard]] std::string json() const {
    std::string cohort;
    for (int i = 0; i < silos; ++i) {
      cohort += fmt::format(
          R"({}{{"silo":"silo-{}","records":40,"holdout_records":0,"holdout_public":true,"epsilon":{},"delta":1e-4}})",
          i == 0 ? "" : ",", i, epsilon);
    }
    const bool mixed = form == "reports" || form == "bits";
    const std::string key = mixed ? fmt::format(R"("coordinator_key":"{}",)", std::string(64, 'a')) : "";
    return fmt::format(
        R"({{"format":"undertone.job/1","name":"shuffled",
"data":{{"label":{{"column":"y","negative":"no","positive":"yes"}},"features":[{{"column":"x","min":-1,"max":1}}]}},
"model":{{"kind":"logistic","intercept":true}},"domain":{{"kind":"l2_ball","radius":5}},"regulariser":{{"kind":"none"}},
"algorithm":{{"kind":"noisy_minibatch_sgd","rounds":4,"step_size":0.5,"averaging":"last","draw_fraction":1}},
"privacy":{{"mode":"shuffle","unit":"record","noise":"test","clip_norm":1,
"shuffle":{{"form":"{}","shufflers":{},{}"honest_min":2}}}},"cohort":[{}],
"participation":{{"quorum":{},"join_deadline_ms":1000,"round_deadline_ms":{},"resend_ms":300}},
"evaluation":{{"every":0}},"wire":{{"points":"f64","replies":"i64","reply_step_log2":-40}}}})",
        form, shufflers, key, cohort, quorum, round_deadline_ms);
  }
};

}  // namespace undertone::tests
