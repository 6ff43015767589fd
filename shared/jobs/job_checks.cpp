#include "shared/jobs/job_checks.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace undertone::jobs {
namespace {

constexpr double kLocalProductsMax = 0x1p32;  // of a local run: some seconds of work

}  // namespace

std::optional<std::string> other_target(const std::vector<CohortMember>& cohort) {
  for (const CohortMember& member : cohort) {
    if (!std::holds_alternative<releases::ApproximateDp>(member.facts.target))
      return fmt::format("\"{}\" is promised {}", member.facts.silo.name(), releases::to_string(member.facts.target));
  }
  return std::nullopt;
}

std::optional<std::string> unreadable_promises(const std::vector<CohortMember>& cohort) {
  if (std::optional<std::string> other = other_target(cohort))
    return fmt::format("expected an epsilon and a delta above 0 of every silo, and {}", *other);
  std::set<std::pair<double, double>> promises;
  for (const CohortMember& member : cohort) promises.emplace(member.facts.epsilon().value(), member.facts.delta());
  if (promises.size() <= theorems::kPromisesMax) return std::nullopt;
  return fmt::format("expected at most {} different pairs of epsilon and delta in the cohort, got {}",
                     theorems::kPromisesMax, promises.size());
}

void check_calibration(const NoiseChoice& choice, const algorithms::Method& method,
                       const std::vector<CohortMember>& cohort, config::Problems& problems) {
  if (choice.by == NoiseChoice::By::Accountant) return;
  constexpr const char* kPointer = "/privacy/calibration/by";
  if (const std::optional<std::string> other = other_target(cohort)) {
    problems.add(kPointer, fmt::format("expected \"accountant\": chosen noise is for silos with an epsilon and a delta "
                                       "above 0, and {}",
                                       *other));
  }
  if (method->traits().bounded_in == algorithms::MethodTraits::BoundedIn::ItsMap) {
    problems.add(kPointer,
                 fmt::format("expected \"accountant\": {} shares out by itself what silos promise", method->name()));
  } else if (method->traits().bounded_in != algorithms::MethodTraits::BoundedIn::L2 ||
             method->traits().records_report) {
    problems.add(kPointer, fmt::format("expected \"accountant\": nobody chooses a noise of {}, which has none that is "
                                       "Gaussian",
                                       method->name()));
  }
}

void check_weights(const std::optional<WeightRule>& rule, const algorithms::Method& method,
                   config::Problems& problems) {
  if (rule != WeightRule::NoiseOptimal) return;
  const algorithms::MethodTraits traits = method->traits();
  const char* what = traits.local_steps > 0  ? "answer with models"
                     : traits.records_report ? "answer with sums of reports"
                     : traits.bounded_in == algorithms::MethodTraits::BoundedIn::EveryCoordinate ? "vote"
                                                                                                 : nullptr;
  if (what != nullptr) {
    problems.add("/weights",
                 fmt::format("expected \"records\" or \"equal\": of {} silos {}, whose noise is not that of "
                             "a mean of gradients",
                             method->name(), what));
  }
}

void check_shuffled(const Shuffle& shuffle, const AroundShuffle& job, config::Problems& problems) {
  const algorithms::MethodTraits traits = job.algorithm->traits();
  if (!traits.shuffled)
    problems.add("/algorithm/kind",
                 fmt::format("{} no shuffled form: expected an algorithm of gradients that are clipped in l2",
                             traits.local_steps > 0 ? std::string("local runs have")
                             : traits.bounded_in == algorithms::MethodTraits::BoundedIn::EveryCoordinate
                                 ? std::string("selections have")
                                 : fmt::format("{} has", job.algorithm->name())));
  if (shuffle.form == Shuffle::Form::Reports && !traits.shuffled_reports)
    problems.add("/privacy/shuffle/form", "reports are of noisy_minibatch_sgd alone: expected shares, counts or bits");
  if (job.with_replacement)
    problems.add("/algorithm/sampling", "of a shuffled job batches are drawn without replacement");
  if (job.noise.by != NoiseChoice::By::Accountant)
    problems.add("/privacy/calibration/by", "of a shuffled job the accountant chooses the noise");
  if (shuffle.honest_min > job.quorum) {
    problems.add("/privacy/shuffle/honest_min",
                 fmt::format("expected at most the quorum of {}, below which nothing is forwarded, got {}", job.quorum,
                             shuffle.honest_min));
  }
  constexpr double kEpsilonMax = 15.0;  // of the binomial sum. Source: Lemma 136
  if (shuffle.form != Shuffle::Form::Reports && job.cohort.front().facts.epsilon().value() > kEpsilonMax) {
    problems.add("/cohort", fmt::format("a binomial sum is for epsilon of at most {}, got {}", kEpsilonMax,
                                        job.cohort.front().facts.epsilon().value()));
  }
  if (const std::optional<std::string> other = other_target(job.cohort)) {
    problems.add("/cohort",
                 fmt::format("silos of a shuffled job are promised an epsilon and a delta above 0, and {}", *other));
  }
  if (job.quorum < 2) problems.add("/participation/quorum", "expected at least 2: one reply has nobody to hide among");
  const CohortMember& first = job.cohort.front();
  for (const CohortMember& member : job.cohort) {
    if (member.facts.records != first.facts.records || member.facts.epsilon() != first.facts.epsilon() ||
        member.facts.delta() != first.facts.delta() || member.weight != first.weight) {
      problems.add("/cohort", fmt::format("silos of a shuffled job have the same records, epsilon, delta and weight; "
                                          "those of \"{}\" and \"{}\" differ",
                                          first.facts.silo.name(), member.facts.silo.name()));
      break;
    }
  }
  for (const CohortMember& member : job.cohort) {
    if (member.facts.holdout_records == 0 || member.facts.holdout_public) continue;
    problems.add("/cohort", fmt::format("a shuffled job evaluates public holdouts alone, and that of \"{}\" is private",
                                        member.facts.silo.name()));
    break;
  }
}

void check_model(const AlgorithmChoice& algorithm, const models::Model& model, std::int64_t rows_of_unit,
                 config::Problems& problems) {
  const algorithms::MethodTraits traits = (*algorithm.method)->traits();
  const double products = static_cast<double>(traits.step_records * rows_of_unit) * model.products();
  if (static_cast<double>(traits.local_steps) * products > kLocalProductsMax) {
    problems.add("/algorithm/local_steps", fmt::format("{} steps of {} products each: a message has at most {}",
                                                       traits.local_steps, products, kLocalProductsMax));
  }
  const bool logistic = model.linear() != nullptr && model.linear()->loss() == models::Loss::Logistic &&
                        !model.linear()->linear_loss().logit_max();
  const bool poisson = model.linear() != nullptr && model.linear()->loss() == models::Loss::Poisson;
  if (traits.twice_differentiable && !logistic && !(traits.log_link && poisson)) {
    problems.add("/model/kind",
                 fmt::format("expected \"logistic\" without logit_max{}: {} needs second derivatives, got "
                             "{}",
                             traits.log_link ? " or \"poisson\"" : "", (*algorithm.method)->name(), model.name()));
  }
  if (traits.linear_models && model.linear() == nullptr) {
    problems.add("/model/kind", fmt::format("expected a linear model: {} has no form for {}",
                                            (*algorithm.method)->name(), model.name()));
  }
  if (algorithm.theorem) {
    const theorems::TheoremLosses losses = algorithm.theorem->losses;
    if (losses != theorems::TheoremLosses::Smooth && !model.is_convex())
      problems.add("/algorithm/theorem",
                   fmt::format("{} is of convex losses, and a {} has none", algorithm.theorem->source, model.name()));
    if (losses != theorems::TheoremLosses::ConvexWithKinks && !model.is_smooth())
      problems.add("/algorithm/theorem",
                   fmt::format("{} is of smooth losses, and {} has a kink", algorithm.theorem->source, model.name()));
  }
  // Rectifiers have kinks that nobody smooths; what theorems say of smooth losses is then not said of them.
  if (model.linear() != nullptr && !model.is_smooth() && !traits.takes_subgradients) {
    problems.add("/model/smoothing", fmt::format("missing: {} needs a smooth loss, and {} has a kink",
                                                 (*algorithm.method)->name(), model.name()));
  }
}

void check_persons(const algorithms::Method& algorithm, const models::Model& model, const AroundPersons& job,
                   config::Problems& problems) {
  const auto refuse = [&](const std::string& what) {
    problems.add("/privacy/unit", fmt::format("expected \"record\": {} of persons is not served yet", what));
  };
  const algorithms::MethodTraits traits = algorithm->traits();
  using Form = releases::PersonContribution::Form;
  if (model.linear() == nullptr && model.network() == nullptr && model.moments() == nullptr)
    refuse(fmt::format("a {} model", model.name()));
  if (job.person.form == Form::CappedSum) {
    if (model.moments() != nullptr) refuse("capped_sum of moments, which are means");
    if (job.theorem) refuse("capped_sum with a theorem, whose constants it multiplies by records_max");
    if (job.shuffled || !std::holds_alternative<releases::L2Bound>(job.bound))
      refuse("capped_sum of what is shuffled or not clipped in l2");
  } else if (const Form form = model.network() != nullptr ? Form::MeanOfClipped : Form::ClippedMean;
             form != job.person.form) {
    problems.add("/privacy/person/contribution", fmt::format("expected \"{}\" or \"capped_sum\" of a {} model",
                                                             releases::to_string(form), model.name()));
  }
  // It is a product over all rows at once, whose number is secret: neither its time nor its last digits may tell of it.
  if (job.projected) refuse("a projection or standardisation");
  // An objective's noise is proven for one record's curvature.
  if (traits.twice_differentiable) refuse(std::string(algorithm->name()));
}

void check_attribute_alone(const AlgorithmChoice& algorithm, const data::Schema& schema, bool shuffled,
                           config::Problems& problems) {
  const auto refuse = [&](const std::string& what) {
    problems.add("/privacy/unit", fmt::format("expected \"record\": {}", what));
  };
  if (!(*algorithm.method)->traits().attribute_alone)
    refuse(
        fmt::format("{} protects whole records, and would be no more accurate for less", (*algorithm.method)->name()));
  if (shuffled) refuse("no shuffler hides releases of which a part has no noise");
  // What does not depend on the attribute leaves without noise, and says who was drawn. Source: spec fair-learning 0.1.
  if (algorithm.draw_fraction < 1.0 || algorithm.with_replacement)
    problems.add(
        "/algorithm/draw_fraction",
        "expected 1: where the sensitive attribute alone is protected, a drawn batch is revealed by what leaves "
        "without noise, so that drawing protects nobody");
  for (const data::SensitiveColumn& column : schema.sensitive) {
    if (column.also_feature)
      refuse(fmt::format("the column \"{}\" is a feature besides, and features are not protected", column.name));
    if (!column.missing.empty())
      refuse(fmt::format("the column \"{}\" has values that are not known; of the attribute alone that is not served",
                         column.name));
  }
}

void check_parts(const AlgorithmChoice& algorithm, const models::Model& model, bool shuffled,
                 const std::vector<CohortMember>& cohort, config::Problems& problems) {
  using Assignment = releases::Slice::Assignment;
  if (algorithm.parts == Assignment::Permutation) return;
  const bool bins = algorithm.parts == Assignment::Bins;
  constexpr const char* kPointer = "/algorithm/parts";
  if (!reads_parts(*algorithm.method))
    problems.add(kPointer, fmt::format("{} reads no parts of the records: expected none", (*algorithm.method)->name()));
  if (algorithm.draw_fraction < 1.0 || algorithm.with_replacement)
    problems.add(kPointer, "expected \"permutation\": all records of a secret part are read, none are drawn from it");
  if (bins && model.linear() == nullptr)
    problems.add(kPointer, fmt::format("expected \"permutation\": how full a bin is, sums over a {} would show in the "
                                       "time that they take",
                                       model.name()));
  if (shuffled) problems.add(kPointer, "expected \"permutation\" of a job that is shuffled");
  if (const std::optional<std::string> other = other_target(cohort))
    problems.add(kPointer,
                 fmt::format("expected \"permutation\": secret parts are for silos with an epsilon and a delta above "
                             "0, and {}",
                             *other));
}

void check_smoothness(const algorithms::MethodTraits& traits, const models::Model& model, const data::Schema& schema,
                      config::Problems& problems) {
  if (!traits.smoothness || model.linear() == nullptr) return;
  const std::optional<double> curvature = model.constants(1.0).smoothness;
  if (!curvature) return;
  const double proven = *curvature * std::pow(record_norm(model, schema), 4.0 / traits.clip_exponent);
  constexpr double kRounding = 1e-9;  // relative: of a constant that somebody typed
  if (*traits.smoothness >= proven * (1.0 - kRounding)) return;
  problems.add("/algorithm/smoothness",
               fmt::format("expected at least {}, which is what holds for every record within the public bounds in the "
                           "algorithm's norm, got {}",
                           proven, *traits.smoothness));
}

void check_moments(const algorithms::Method& algorithm, const algorithms::Problem& problem,
                   config::Problems& problems) {
  if (!algorithm->traits().one_whole_step) {
    problems.add("/algorithm",
                 "moments are what one step leads to: expected noisy_minibatch_sgd with rounds 1, step_size 1 and "
                 "averaging \"last\"");
  }
  if (!problem.regulariser.is_none())
    problems.add("/regulariser/kind", "expected \"none\": it would shrink the moments");
  if (!std::holds_alternative<geometry::WholeSpace>(problem.domain.set()))
    problems.add("/domain/kind", "expected \"whole_space\": a bounded one would cut the moments off");
}

}  // namespace undertone::jobs
