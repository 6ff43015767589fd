#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/jobs/job.hpp"

namespace undertone::preview {

/// This is what a plan says of the intervals of a regression, at a guess that looks at no data: a fifth of the labels
/// is positive, or their mean is a fifth of the largest value and their spread as large; nothing has an effect, numbers
/// are spread evenly over their bounds, and the values of a list are equally common. All silos answer.
struct RegressionPlan {
  struct Width {
    std::string name;    // of the coefficient
    double noise = 0.0;  // half of its interval by the noise alone
    double both = 0.0;   // and by noise and records
  };
  double rho = 0.0;           // what the noised information would carry
  std::vector<Width> widths;  // empty where rho is too small, so that all would be refused
  std::string warning;        // where one silo has most of the noise; else empty
  bool log_link = false;      // the guess is of a mean then, and not of a share of positive labels
};
/// @return nothing of a job without a regression's scores @pre plans of all silos
[[nodiscard]] std::optional<RegressionPlan> regression_plan(const jobs::Job& job,
                                                            const std::map<SiloId, planning::Plan>& plans);
[[nodiscard]] nlohmann::ordered_json to_json(const RegressionPlan& plan);
/// Sentences for people, each with its line end.
[[nodiscard]] std::string describe(const RegressionPlan& plan);

}  // namespace undertone::preview
