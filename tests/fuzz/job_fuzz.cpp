#include <nlohmann/json.hpp>

#include "shared/config/job.hpp"
#include "shared/config/json_section.hpp"
#include "shared/config/model_section.hpp"
#include "shared/config/projection_section.hpp"
#include "shared/config/schema_section.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

/// A job's file, as an operator or a lying coordinator might send it: its projection and theorem sections with it. What
/// is let in can be asked, and its parts that are written out again are read back as they were.
void job(std::string_view input) {
  const auto parsed = config::parse_job(input, "job");
  if (!parsed) return;
  (void)config::make_algorithm(*parsed)->start();
  (void)config::feature_names(*parsed);
  if (parsed->aggregation.robust()) UNDERTONE_CHECK(!queries::to_string(parsed->aggregation).empty());
  if (parsed->shuffle) UNDERTONE_CHECK(!config::to_string(parsed->shuffle->form).empty());
  if (parsed->noise_choice.by != config::NoiseChoice::By::Accountant) {
    // What a theorem or a hand says of the noise; a job's numbers may be beyond what it speaks of.
    const algorithms::GradientShape shape{parsed->clip, parsed->draw_fraction};
    for (const config::CohortMember& member : parsed->cohort)
      (void)config::with_noise(parsed->noise_choice, shape, parsed->algorithm, member.facts);
  }
  if (const models::Network* network = parsed->model.network()) {
    const nlohmann::ordered_json again = config::to_json(network->shape());
    UNDERTONE_CHECK(again.at("hidden").size() == network->shape().hidden.size());
  }
  config::Problems problems("again");
  const nlohmann::json schema = config::to_json(parsed->schema);
  UNDERTONE_CHECK(config::parse_schema(config::Section(schema, "", problems)) == parsed->schema);
  if (parsed->projection) {
    const nlohmann::json projection = config::to_json(*parsed->projection);
    const data::Projection same =
        config::parse_projection(config::Section(projection, "", problems), data::encoded_width(parsed->schema));
    UNDERTONE_CHECK(same.origin == parsed->projection->origin && same.directions == parsed->projection->directions);
  }
  UNDERTONE_CHECK(problems.none());
}

const Target kTarget("job", job);

}  // namespace
}  // namespace undertone::fuzz
