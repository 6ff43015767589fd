#include "shared/preview/public_worth.hpp"

#include <cmath>

#include "shared/jobs/public_records.hpp"

namespace undertone::preview {
namespace {

using Json = nlohmann::ordered_json;

/// The weight of the last round, where it is another.
void say_end(const jobs::Job& job, Json& out) {
  const auto* mixed = std::get_if<algorithms::MixedGradients>(&job.public_terms->use);
  if (mixed != nullptr && mixed->weight_end) out["weight_of_silos_end"] = *mixed->weight_end;
}

}  // namespace

Json public_worth(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans,
                  const std::filesystem::path& folder) {
  if (!job.public_terms) return nullptr;
  Json out = {{"use", std::string(algorithms::name_of(job.public_terms->use))}};
  if (job.public_terms->at_silos) {
    std::int64_t records = 0;
    for (const jobs::CohortMember& member : job.cohort) records += member.facts.public_records;
    out["records_of_silos"] = records;
  }
  if (!job.public_terms->file) {
    out["warm_start"] = false;
    out["weight_of_silos"] = *std::get<algorithms::MixedGradients>(job.public_terms->use).weight;
    out["why"] = job.public_terms->counts_alike ? "every record counts alike" : "as the job says";
    say_end(job, out);
    return out;
  }
  out["records"] = job.public_terms->file->records;
  out["file"] = job.public_terms->file->name;
  const auto missing = [&](const Error& error) {
    out["missing"] = error.message;
    return out;
  };
  const Result<std::shared_ptr<const models::PublicGradientSource>> loss = jobs::load_public_records(job, folder);
  if (!loss) return missing(loss.error());
  jobs::GradientNoise noise;
  for (const jobs::CohortMember& member : job.cohort)
    noise.emplace(jobs::planned_facts(member.facts), jobs::noise_of_gradient(plans.at(member.facts.silo).segments()));
  const Result<jobs::PublicSide> side = jobs::public_side_of(job, **loss, noise);
  if (!side) return missing(side.error());
  out["warm_start"] = side->start.has_value();
  if (std::holds_alternative<algorithms::MixedGradients>(job.public_terms->use)) {
    out["weight_of_silos"] = side->weight;
    say_end(job, out);
    out["why"] = side->why;
  }
  if (side->errors) {
    out["gradient_error"] = {{"public_alone", std::sqrt(side->errors->open)},
                             {"silos_alone", std::sqrt(side->errors->silos)},
                             {"both", std::sqrt(side->errors->mixed())}};
    if (!side->errors->why_bound.empty()) out["gradient_error"]["not_measured"] = side->errors->why_bound;
  }
  return out;
}

std::string describe_public_worth(const Json& worth) {
  if (worth.is_null()) return {};
  std::string out;
  if (worth.contains("file"))
    out += fmt::format("public records: {} in \"{}\", which stay with the coordinator and change no noise\n",
                       worth.at("records").get<std::int64_t>(), worth.at("file").get<std::string>());
  if (worth.contains("records_of_silos"))
    out += fmt::format(
        "public records: {} of the silos, whose exact mean leaves beside the noised one and changes no noise\n",
        worth.at("records_of_silos").get<std::int64_t>());
  if (worth.contains("missing"))
    return out + fmt::format("    what they are worth is not known here: {}\n", worth.at("missing").get<std::string>());
  if (worth.contains("weight_of_silos_end"))
    out += fmt::format("    protected records' gradients weigh {:.3g} in the first round and {:.3g} in the last: {}\n",
                       worth.at("weight_of_silos").get<double>(), worth.at("weight_of_silos_end").get<double>(),
                       worth.at("why").get<std::string>());
  else if (worth.contains("weight_of_silos"))
    out += fmt::format("    protected records' gradients weigh {:.3g}, the public ones {:.3g}: {}\n",
                       worth.at("weight_of_silos").get<double>(), 1.0 - worth.at("weight_of_silos").get<double>(),
                       worth.at("why").get<std::string>());
  else
    out += "    steps are along the silos' gradients, in the geometry of the public records' least squares\n";
  if (worth.at("warm_start").get<bool>()) out += "    the run starts at the minimiser of their loss\n";
  if (worth.contains("gradient_error")) {
    const Json& error = worth.at("gradient_error");
    out += fmt::format(
        "    predicted error of the mean gradient over the run: {:.3g} of the public records alone, {:.3g} of the "
        "silos' "
        "alone, {:.3g} of both at the best weight (where all records are of one law)\n",
        error.at("public_alone").get<double>(), error.at("silos_alone").get<double>(), error.at("both").get<double>());
    if (error.contains("not_measured"))
      out += fmt::format("    (if gradients vary by as much as clipped ones can: it was not measured, since {})\n",
                         error.at("not_measured").get<std::string>());
  }
  return out;
}

}  // namespace undertone::preview
