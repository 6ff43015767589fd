#include "shared/jobs/public_section.hpp"

#include <algorithm>

#include "shared/base/overloaded.hpp"
#include "shared/jobs/dialect_section.hpp"
#include "shared/releases/ask.hpp"

namespace undertone::jobs {
namespace {

constexpr double kRidgeMax = 1e6;

/// Whether the text is the name of a file and leads nowhere else.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of("/\\") == std::string::npos && name.find('\0') == std::string::npos;
}

algorithms::MixedGradients parse_mixed(config::Section& section) {
  using models::PublicGradients;
  algorithms::MixedGradients out;
  if (section.has("gradients"))
    out.gradients = section.choice<PublicGradients>(
        "gradients",
        {{"raw", PublicGradients::Raw}, {"clipped", PublicGradients::Clipped}, {"rescaled", PublicGradients::Rescaled}},
        "of use gradients: public records' gradients as they are (raw, the default), each clipped to "
        "privacy.clip_norm, or each made as long as that");
  if (section.has("weight"))
    out.weight = section.number("weight", 0.0, 1.0,
                                "of use gradients: the share of the silos' gradients in each step (default: the share "
                                "with which a step varies least, by the plan's noise and the public records)");
  return out;
}

algorithms::PublicMirror parse_mirror(config::Section& section) {
  using Scale = algorithms::PublicMirror::Scale;
  algorithms::PublicMirror out;
  if (section.has("mirror_ridge"))
    out.ridge = section.number("mirror_ridge", 0.0, kRidgeMax,
                               "of use mirror_map: added to the diagonal of the public records' X^T X / n (default "
                               "0.01)",
                               true);
  if (section.has("mirror_scale"))
    out.scale = section.choice<Scale>(
        "mirror_scale",
        {{"least_eigenvalue", Scale::LeastEigenvalue}, {"none", Scale::None}, {"least_of_mean", Scale::LeastOfMean}},
        "of use mirror_map: what the matrix is divided by (default least_eigenvalue: its "
        "own least one, so that steps are of SGD's size; least_of_mean: with ridge / d "
        "in the ridge's place)");
  return out;
}

}  // namespace

PublicTerms parse_public(config::Section section) {
  enum class Use { Gradients, Mirror };
  PublicTerms out;
  out.file = section.text("file",
                          "a CSV file's name, without folders. A coordinator looks for it in the public_folder of "
                          "its configuration, simulate and plan beside the job");
  if (!section.recording() && !is_plain_name(out.file))
    section.problem("file", "expected a file's name, without folders");
  const std::string digest = section.text("sha256", "of the file's bytes, in hexadecimal: sha256sum prints it");
  if (const Result<Digest> read = digest_from_hex(digest)) {
    out.sha256 = *read;
  } else if (!section.recording()) {
    section.problem("sha256", "expected 64 hexadecimal digits");
  }
  out.records = section.integer("records", 1, models::PublicLoss::kNumbersMax, "how many it holds");
  if (section.has("format"))
    out.dialect = parse_dialect(section.object("format", "how the file is written (default: as RFC 4180 has it)"));
  Use use = Use::Gradients;
  if (section.has("use"))
    use = section.choice<Use>("use", {{"gradients", Use::Gradients}, {"mirror_map", Use::Mirror}},
                              "gradients (the default): each step goes along a mean of the silos' gradients and the "
                              "public ones; mirror_map: along the silos' alone, in the geometry of the public records' "
                              "least squares");
  if (use == Use::Gradients || section.recording()) out.use = parse_mixed(section);
  if (use == Use::Mirror || section.recording()) {
    algorithms::PublicMirror mirror = parse_mirror(section);
    if (use == Use::Mirror) out.use = mirror;
  }
  if (section.has("warm_start"))
    out.warm_start = section.boolean("warm_start",
                                     "the run starts at the minimiser of the public records' mean loss (default true)");
  if (section.has("warm_ridge"))
    out.warm_ridge = section.number("warm_ridge", 0.0, kRidgeMax,
                                    "of that loss: its l2 strength (default: the regulariser's, times all records over "
                                    "the public ones, since the public loss counts for that share of the objective)");
  section.finish();
  return out;
}

void check_public(const PublicTerms& terms, const AroundPublic& job, config::Problems& problems) {
  const auto refuse = [&](const char* key, std::string why) {
    problems.add(std::string("/public") + key, std::move(why));
  };
  const models::LinearModel* linear = job.model.linear();
  if (linear == nullptr) {
    refuse("", fmt::format("public records at the coordinator are for models of one linear score: expected none with "
                           "the model \"{}\"",
                           job.model.name()));
    return;
  }
  if (!linear->linear_loss().is_smooth()) refuse("", "expected none: the loss has a kink, and is not smoothed");
  const bool mirror = std::holds_alternative<algorithms::PublicMirror>(terms.use);
  if (mirror && linear->loss() != models::Loss::LeastSquares)
    refuse("/use",
           "a mirror map of public records has a closed form for least squares alone: expected \"gradients\", which is "
           "its approximation for every other loss");
  if (job.persons)
    refuse("", "expected none: the silos' units are persons, and a file of records says nothing of whom");
  if (job.theorem)
    refuse("",
           "expected none: a theorem's parameters are for the silos' gradients alone; choose the algorithm by hand");
  if (job.initial && terms.warm_start)
    refuse("/warm_start", "expected false: the job says where it starts, in \"initial\"");
  const auto* mixed = std::get_if<algorithms::MixedGradients>(&terms.use);
  if (job.shuffled && mixed != nullptr && !mixed->weight)
    refuse("/weight", "expected a number: what is best is found by the noise of silos that no shuffler mixes");
  const algorithms::MethodTraits traits = job.method->traits();
  if (traits.bounded_in != algorithms::MethodTraits::BoundedIn::L2 || traits.clip_exponent != 2.0 ||
      traits.local_steps > 0 || traits.twice_differentiable) {
    refuse("",
           fmt::format("expected none: {} does not step along gradients that are bounded in l2", job.method->name()));
    return;
  }
  const planning::Schedule asked = job.method->schedule({releases::L2Bound{*releases::ClipNorm::create(1.0)}, 1.0});
  const bool gradients = std::all_of(asked.begin(), asked.end(), [](const planning::ScheduledRounds& part) {
    return (std::holds_alternative<releases::GradientMap>(part.ask.map) ||
            std::holds_alternative<releases::GradientDifferenceMap>(part.ask.map)) &&
           std::holds_alternative<releases::SumForm>(part.ask.form);
  });
  if (!gradients)
    refuse("", fmt::format("expected none: {} asks for more than gradients and their differences", job.method->name()));
}

std::string to_string(const PublicTerms& terms) {
  return fmt::format("{} public records at the coordinator (\"{}\", SHA-256 {})", terms.records, terms.file,
                     to_hex(terms.sha256));
}

}  // namespace undertone::jobs
