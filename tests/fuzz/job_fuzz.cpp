#include <nlohmann/json.hpp>

#include "shared/config/json_section.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/model_section.hpp"
#include "shared/jobs/projection_section.hpp"
#include "shared/jobs/schema_section.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

/// A job's file, as an operator or a lying coordinator might send it: its projection and theorem sections with it. What
/// is let in can be asked, and its parts that are written out again are read back as they were.
void job(std::string_view input) {
  const auto parsed = jobs::parse_job(input, "job");
  if (!parsed) return;
  (void)jobs::make_algorithm(*parsed)->start();
  (void)jobs::feature_names(*parsed);
  if (parsed->aggregation.robust()) UNDERTONE_CHECK(!folds::to_string(parsed->aggregation).empty());
  if (parsed->shuffle) UNDERTONE_CHECK(!jobs::to_string(parsed->shuffle->form).empty());
  if (parsed->noise_choice.by != jobs::NoiseChoice::By::Accountant) {
    // What a theorem or a hand says of the noise; a job's numbers may be beyond what it speaks of.
    const algorithms::GradientShape shape{parsed->bound, parsed->draw_fraction};
    for (const jobs::CohortMember& member : parsed->cohort)
      (void)jobs::with_noise(parsed->noise_choice, shape, parsed->algorithm, member.facts);
  }
  if (const models::Network* network = parsed->model ? parsed->model->network() : nullptr) {
    const nlohmann::ordered_json again = jobs::to_json(network->shape());
    UNDERTONE_CHECK(again.at("hidden").size() == network->shape().hidden.size());
  }
  config::Problems problems("again");
  const nlohmann::json schema = jobs::to_json(parsed->schema);
  UNDERTONE_CHECK(jobs::parse_schema(config::Section(schema, "", problems)) == parsed->schema);
  if (parsed->projection) {
    const nlohmann::json projection = jobs::to_json(*parsed->projection);
    const data::Projection same =
        jobs::parse_projection(config::Section(projection, "", problems), data::encoded_width(parsed->schema));
    UNDERTONE_CHECK(same.origin == parsed->projection->origin && same.directions == parsed->projection->directions);
  }
  UNDERTONE_CHECK(problems.none());
}

const Target kTarget("job", job);

}  // namespace
}  // namespace undertone::fuzz
