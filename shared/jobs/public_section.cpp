#include "shared/jobs/public_section.hpp"

#include <algorithm>

#include "shared/jobs/dialect_section.hpp"
#include "shared/releases/ask.hpp"

namespace undertone::jobs {
namespace {

constexpr double kRidgeMax = 1e6;

/// Returns whether the text is the name of a file and leads nowhere else.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of("/\\") == std::string::npos && name.find('\0') == std::string::npos;
}

algorithms::MixedGradients parse_mixed(config::Section& section, bool at_silos) {
  using models::PublicGradients;
  algorithms::MixedGradients out;
  if (at_silos) out.gradients = PublicGradients::Clipped;
  if (section.has("gradients")) {
    out.gradients = section.choice<PublicGradients>(
        "gradients",
        {{"raw", PublicGradients::Raw}, {"clipped", PublicGradients::Clipped}, {"rescaled", PublicGradients::Rescaled}},
        "of use gradients: public records' gradients as they are (raw, the default of a file), each clipped to "
        "privacy.clip_norm (what silos do with theirs), or each made as long as that");
    if (at_silos && out.gradients != PublicGradients::Clipped && !section.recording())
      section.problem("gradients", "expected \"clipped\": what silos do with their public records");
  }
  if (section.has("weight"))
    out.weight =
        section.number("weight", 0.0, 1.0,
                       "of use gradients: the share of the protected records' gradients in each step (default: "
                       "the share with which a step varies least, by the plan's noise and the public records; "
                       "without a file it has to be said; of semi_ldp_sgd every record counts alike)");
  if (section.has("weight_end")) {
    out.weight_end = section.number("weight_end", 0.0, 1.0,
                                    "of use gradients: that share in the last round; in between it changes by as much "
                                    "from round to round (default: weight)");
    if (!section.recording() && !out.weight)
      section.problem("weight_end", "expected a weight beside it, which the first round has");
  }
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

PublicFile parse_file(config::Section& section) {
  PublicFile out;
  out.name = section.text("file",
                          "a CSV file's name, without folders. A coordinator looks for it in the public_folder of its "
                          "configuration, simulate and plan beside the job (default: none)");
  if (!section.recording() && !is_plain_name(out.name))
    section.problem("file", "expected a file's name, without folders");
  const std::string digest = section.text("sha256", "of file: of its bytes, in hexadecimal, as sha256sum prints it");
  if (const Result<Digest> read = digest_from_hex(digest)) {
    out.sha256 = *read;
  } else if (!section.recording()) {
    section.problem("sha256", "expected 64 hexadecimal digits");
  }
  out.records = section.integer("records", 1, models::PublicLoss::kNumbersMax, "of file: how many it holds");
  if (section.has("format"))
    out.dialect = parse_dialect(section.object("format", "of file: how it is written (default: as RFC 4180 has it)"));
  return out;
}

}  // namespace

PublicTerms parse_public(config::Section section) {
  enum class Use { Gradients, Mirror };
  PublicTerms out;
  if (section.has("file")) out.file = parse_file(section);
  if (section.has("silos"))
    out.at_silos = section.boolean("silos",
                                   "silos answer for the records that their owners declared public besides, exactly "
                                   "(default false)");
  if (!section.recording() && !out.file && !out.at_silos)
    section.problem("file", "missing, expected a file of public records, or \"silos\": true");
  Use use = Use::Gradients;
  if (out.file && section.has("use"))
    use =
        section.choice<Use>("use", {{"gradients", Use::Gradients}, {"mirror_map", Use::Mirror}},
                            "of file: gradients (the default): each step goes along a mean of the silos' gradients and "
                            "the public ones; mirror_map: along the silos' alone, in the geometry of the public "
                            "records' least squares");
  if (use == Use::Gradients || section.recording()) out.use = parse_mixed(section, out.at_silos);
  if (use == Use::Gradients && section.has("weighed_by")) {
    using By = PublicTerms::WeighedBy;
    out.weighed_by = section.choice<By>(
        "weighed_by", {{"records", By::Records}, {"variance", By::Variance}},
        "of use gradients without a weight: the two sides count by their numbers of records, so that every record "
        "counts alike where silos weigh by their records (records, the default of semi_ldp_sgd), or a step varies "
        "least "
        "by the plan's noise and the file's records (variance, the default of the others)");
    if (!section.recording() && section.has("weight")) section.problem("weighed_by", "expected none beside a weight");
  }
  if (use == Use::Mirror || section.recording()) {
    algorithms::PublicMirror mirror = parse_mirror(section);
    if (use == Use::Mirror) out.use = mirror;
  }
  if (use == Use::Mirror && out.at_silos && !section.recording())
    section.problem("silos", "expected false: a mirror map is made of the coordinator's own records");
  out.warm_start = out.file.has_value();
  if (out.file && section.has("warm_start"))
    out.warm_start = section.boolean(
        "warm_start", "of file: the run starts at the minimiser of the public records' mean loss (default true)");
  if (out.file && section.has("solver"))
    out.solver = section.choice<PublicTerms::Solver>(
        "solver", {{"minimiser", PublicTerms::Solver::Minimiser}, {"one_pass", PublicTerms::Solver::OnePass}},
        "of file: which model of it the run starts at: the minimiser of its mean loss (the default), or what one pass "
        "of stochastic gradient descent ends with, whose excess risk a theorem bounds: on an l2_ball, gradients "
        "clipped "
        "to privacy.clip_norm");
  if (out.file && section.has("warm_ridge"))
    out.warm_ridge = section.number("warm_ridge", 0.0, kRidgeMax,
                                    "of file: the l2 strength of that loss (default: the regulariser's, times all "
                                    "records over the public ones, since the public loss counts for that share of the "
                                    "objective)");
  section.finish();
  return out;
}

namespace {

bool counts_alike(const PublicTerms& terms, const AroundPublic& job) {
  return terms.weighed_by ? *terms.weighed_by == PublicTerms::WeighedBy::Records
                          : job.method->traits().needs_public_records;
}

}  // namespace

void check_public(const PublicTerms& terms, const AroundPublic& job, config::Problems& problems) {
  const auto refuse = [&](const char* key, const std::string& why) { problems.add(std::string("/public") + key, why); };
  const models::LinearModel* linear = job.model.linear();
  const models::Network* network = job.model.network();
  if (linear == nullptr && network == nullptr) {
    refuse("", fmt::format("public records are for models that are trained: expected none with the model \"{}\"",
                           job.model.name()));
    return;
  }
  const auto* mixed = std::get_if<algorithms::MixedGradients>(&terms.use);
  if (network != nullptr) {
    if (terms.warm_start)
      refuse("/warm_start",
             "expected false: of a network nobody finds the minimiser; \"initial\" says where it starts");
    if (mixed == nullptr || (!mixed->weight && !counts_alike(terms, job)))
      refuse(
          "/weight",
          "missing: what the gradients of a network vary by is not known beforehand. Expected a number, or weighed_by "
          "\"records\"");
    if (terms.file && terms.file->records > models::PublicNetworkGradients::records_max(*network))
      refuse("/records", fmt::format("expected at most {} for a model of {} weights, got {}",
                                     models::PublicNetworkGradients::records_max(*network), network->dimension(),
                                     terms.file->records));
  }
  if (linear != nullptr && !linear->linear_loss().is_smooth())
    refuse("", "expected none: the loss has a kink, and is not smoothed");
  // This bounds what the encoded records and their labels take, before anything is read.
  if (terms.file && terms.file->records > models::PublicLoss::kNumbersMax / (job.width + 1))
    refuse("/records", fmt::format("expected at most {} records of {} encoded numbers, got {}",
                                   models::PublicLoss::kNumbersMax / (job.width + 1), job.width, terms.file->records));
  const bool mirror = std::holds_alternative<algorithms::PublicMirror>(terms.use);
  if (mirror && (linear == nullptr || linear->loss() != models::Loss::LeastSquares))
    refuse("/use",
           "a mirror map of public records has a closed form for least squares alone: expected \"gradients\", which is "
           "its approximation for every other loss");
  // A record of the file counts as a person with that record alone: the file says nothing of whom its records are. Of
  // sums of a person's records one record is a small part, which the mean gradient of a file is not.
  if (job.capped_sums)
    refuse("", "expected none beside persons' capped_sum: a record of the file would count like as many as may count");
  if (job.persons && terms.at_silos)
    refuse("/silos", "expected false: the silos' units are persons, and whoever has a public record is in no block");
  if (job.theorem)
    refuse("",
           "expected none: a theorem's parameters are for the silos' gradients alone; choose the algorithm by hand");
  if (job.initial && terms.warm_start)
    refuse("/warm_start", "expected false: the job says where it starts, in \"initial\"");
  if (!terms.file && mixed != nullptr && !mixed->weight && !counts_alike(terms, job))
    refuse("/weight",
           "missing: without a file of public records nobody knows what they vary by. Expected a number, or weighed_by "
           "\"records\"");
  if (job.method->traits().needs_public_records && mixed == nullptr)
    refuse("/use",
           fmt::format("expected \"gradients\": {} steps along those of public records, too", job.method->name()));
  if (terms.at_silos && job.shuffled)
    refuse("/silos", "expected false: what is mixed is one sum, and nobody's public records stand beside it");
  if (terms.at_silos && job.robust) refuse("/silos", "expected false beside an aggregation that is no mean");
  if (terms.at_silos && job.silo_records == 0)
    refuse("/silos", "expected false: no silo of the cohort has public_records");
  if (terms.solver == PublicTerms::Solver::OnePass &&
      !std::holds_alternative<geometry::L2Ball>(job.method->problem().domain.set()))
    refuse("/solver", "expected \"minimiser\", or the domain \"l2_ball\": one pass has steps of its diameter");
  if (job.method->traits().public_records_alone && network != nullptr)
    refuse("", fmt::format("expected a linear model: {} is the minimiser of its records' loss", job.method->name()));
  if (job.method->traits().public_records_alone && network == nullptr && !terms.warm_start)
    refuse("/warm_start",
           fmt::format("expected true, with a file: {} is the model of its records", job.method->name()));
  if (job.shuffled && mixed != nullptr && !mixed->weight && !counts_alike(terms, job))
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

void count_alike(PublicTerms& terms, const AroundPublic& job) {
  auto* mixed = std::get_if<algorithms::MixedGradients>(&terms.use);
  if (mixed == nullptr || mixed->weight || !counts_alike(terms, job)) return;
  const std::int64_t open = (terms.file ? terms.file->records : 0) + (terms.at_silos ? job.silo_records : 0);
  mixed->weight = static_cast<double>(job.protected_records) / static_cast<double>(job.protected_records + open);
  terms.counts_alike = true;
}

}  // namespace undertone::jobs
