#include "shared/jobs/privacy_section.hpp"

#include <algorithm>
#include <string>

#include "shared/base/plain_text.hpp"
#include "shared/geometry/regular_norm.hpp"
#include "shared/jobs/cohort_section.hpp"

namespace undertone::jobs {
namespace {

/// What of the section statistics have no use for.
void refuse_of_statistics(config::Section& section) {
  const char* bounds = "expected none: of statistics the columns' public bounds say how far a record reaches";
  section.refuse("clip_norm", bounds);
  section.refuse("coordinate_bound", bounds);
  section.refuse("moments", bounds);
  section.refuse(
      "calibration",
      "expected none: the noise of statistics is what their promise leaves, in the parts that statistics.budget says");
  section.refuse("noise_law", "expected none: the noise of statistics follows from their questions");
  section.refuse("shuffle", "expected none: no shuffler hides statistics");
}

Moments parse_moments(config::Section section) {
  constexpr double kOrderMax = 64.0;
  constexpr std::size_t kSourceMax = 400;  // bytes
  Moments out;
  out.bound.order = section.number("order", 2.0, kOrderMax, "k of E |g|^k <= bound^k, g a record's gradient");
  const bool coordinates =
      section.has("of") && section.choice<bool>("of", {{"norm", false}, {"coordinates", true}},
                                                "what the bound is of: the gradient's l2 norm (the default), or every "
                                                "one of its coordinates, each of which is "
                                                "then cut by itself");
  if (coordinates || section.recording()) {
    theorems::CoordinateMeans means;
    if (section.has("influence"))
      means.influence = section.choice<releases::Influence>(
          "influence", {{"clip", releases::Influence::Clip}, {"smooth", releases::Influence::Smooth}},
          "of coordinates: clip cuts a number at the threshold (the default), smooth bends it there by Catoni's "
          "function");
    if (section.has("groups")) {
      const std::int64_t groups = section.integer(
          "groups", 1, releases::InfluenceBound::kGroupsMax,
          "of coordinates: an odd number of groups of records, each with a noised mean of its own, of which the "
          "coordinator takes the median in each coordinate (default 1). It costs no more, and noise and draw vary "
          "more");
      if (groups % 2 == 0) section.problem("groups", fmt::format("expected an odd number, got {}", groups));
      means.groups = static_cast<std::uint32_t>(groups);
    }
    out.coordinates = means;
  } else {
    for (const char* key : {"influence", "groups"})
      section.refuse(key, "expected none: the moment is of norms; expected \"of\": \"coordinates\" beside it");
  }
  out.bound.bound = section.number("bound", kBoundMin, kBoundMax, "in the gradients' own unit, wherever the model is");
  out.source = section.text("source", "where the bound comes from, for those who approve the job");
  if (out.source.size() > kSourceMax || !is_plain_text(out.source))
    section.problem("source", fmt::format("expected at most {} bytes of plain text", kSourceMax));
  section.finish();
  return out;
}

}  // namespace

Privacy parse_privacy(config::Section section, bool statistics) {
  Privacy out;
  out.shuffled = section.choice<bool>(
      "mode", {{"isrl", false}, {"shuffle", true}},
      "isrl: every silo's own noise protects, nobody else is trusted; shuffle: less noise, and shufflers are trusted");
  out.unit = section.choice<releases::Unit>(
      "unit",
      {{"record", releases::Unit::Record},
       {"person", releases::Unit::Person},
       {"sensitive_attribute", releases::Unit::SensitiveAttribute}},
      "what is protected: a record; a person, who is all records with one id at a silo; or of each record its group by "
      "the sensitive columns alone, and neither its features nor its label");
  if (out.unit == releases::Unit::Person || section.recording()) {
    config::Section person = section.object("person", "of unit person: what one contributes to an answer");
    using Form = releases::PersonContribution::Form;
    Form form = Form::Mean;
    if (statistics) {
      person.refuse("contribution", "expected none: to statistics a person contributes the mean over her records");
    } else {
      form = person.choice<Form>("contribution",
                                 {{"clipped_mean", Form::ClippedMean},
                                  {"mean_of_clipped", Form::MeanOfClipped},
                                  {"capped_sum", Form::CappedSum}},
                                 "the mean over her records' gradients, clipped once: of linear models; or of each of "
                                 "them clipped: of networks; or the sum of each of them clipped, over records_max, so "
                                 "that she weighs more the more records she has, up to so many");
    }
    out.person = releases::PersonContribution{
        person.integer("records_max", 1, releases::kPersonRecordsMax,
                       "so many of her records at most, drawn afresh for each answer: public, and fixed before anybody "
                       "looks at the data"),
        form};
    person.finish();
    if (section.has("silos_per_person") || section.recording())
      out.silos_per_person = static_cast<std::size_t>(section.integer(
          "silos_per_person", 1, static_cast<std::int64_t>(kSilosMax),
          "of unit person: at so many silos of the cohort one has records at most (default: all). Nobody checks it; "
          "statements say what these silos promise her together"));
  } else {
    section.refuse("silos_per_person", "expected none: the unit is not a person");
    section.refuse("person", "expected none: the unit is not a person");
  }
  if (statistics) {
    if (out.shuffled) section.problem("mode", "expected \"isrl\": no shuffler hides statistics");
    refuse_of_statistics(section);
  } else {
    if (section.has("clip_norm"))
      out.clip_norm =
          section.number("clip_norm", kBoundMin, kBoundMax,
                         "l2 norm that each record's gradient is clipped "
                         "to; of every algorithm but private_frank_wolfe by vote. Of an algorithm with a norm "
                         "l_p, p < 2, it is the dual norm l_q, 1/p + 1/q = 1");
    if (section.has("moments") || section.recording())
      out.moments = parse_moments(section.object(
          "moments", "in place of clip_norm, which then follows from it: a bound on how heavy gradients' tails are"));
    if (out.moments && out.clip_norm && !section.recording())
      section.refuse("clip_norm", "expected none beside moments, from which the clip follows");
    if (section.has("coordinate_bound"))
      out.coordinate_bound =
          section.number("coordinate_bound", kBoundMin, kBoundMax,
                         "of private_frank_wolfe by vote in its place: what each coordinate of a record's "
                         "gradient is cut to");
  }
  out.noise = section.choice<crypto::NoiseKind>(
      "noise", {{"secure", crypto::NoiseKind::Secure}, {"test", crypto::NoiseKind::Test}},
      "test is seeded, for test builds of the agent alone, and protects nobody");
  if (!statistics && (section.has("noise_law") || section.recording()))
    out.generalised_noise = section.choice<bool>(
        "noise_law", {{"gaussian", false}, {"generalised_gaussian", true}},
        "of sums whose records are clipped in a dual norm l_q, q > 2: density falling with the square of an l_r norm, "
        "2 "
        "< r <= q, in place of l2 (default: gaussian, which is exact and averages better over silos; of "
        "noisy_mirror_descent the other)");
  if (!statistics && section.has("calibration"))
    out.noise_choice = parse_noise_choice(section.object("calibration", "who chooses how much noise there is"));
  if (!statistics && (out.shuffled || section.recording()))
    out.shuffle = parse_shuffle(section.object("shuffle", "of mode shuffle: how replies reach the coordinator"));
  section.finish();
  return out;
}

releases::Bound bound_of(const Privacy& privacy, const algorithms::Method& method, config::Problems& problems) {
  using BoundedIn = algorithms::MethodTraits::BoundedIn;
  const bool by_coordinate = method->traits().bounded_in == BoundedIn::EveryCoordinate;
  if (method->traits().bounded_in == BoundedIn::ItsMap) {
    for (const auto& [key, given] : {std::pair("clip_norm", privacy.clip_norm.has_value()),
                                     std::pair("coordinate_bound", privacy.coordinate_bound.has_value())})
      if (given)
        problems.add(fmt::format("/privacy/{}", key),
                     fmt::format("expected none: what {} asks for has a bound of its own", method->name()));
    return releases::PairBound{releases::PairBound::Norm::L2};
  }
  const char* wanted_key = by_coordinate ? "coordinate_bound" : "clip_norm";
  const char* other_key = by_coordinate ? "clip_norm" : "coordinate_bound";
  const std::optional<double>& wanted = by_coordinate ? privacy.coordinate_bound : privacy.clip_norm;
  const std::optional<double>& other = by_coordinate ? privacy.clip_norm : privacy.coordinate_bound;
  if (!wanted) {
    problems.add(fmt::format("/privacy/{}", wanted_key),
                 fmt::format("missing, expected a finite number from {} to {}: {} bounds a record's gradient by it",
                             kBoundMin, kBoundMax, method->name()));
  }
  if (other) {
    problems.add(fmt::format("/privacy/{}", other_key),
                 fmt::format("expected none: {} bounds a record's gradient by {}", method->name(), wanted_key));
  }
  if (by_coordinate) return releases::MaxBound{*releases::CoordinateBound::create(wanted.value_or(1.0))};
  if (privacy.moments && privacy.moments->coordinates) {
    const theorems::CoordinateMeans& means = *privacy.moments->coordinates;
    constexpr Eigen::Index kNumbersMax = Eigen::Index{1} << 20;  // of an answer, whose medians a coordinator takes
    if (static_cast<Eigen::Index>(means.groups) * method->problem().dimension > kNumbersMax)
      problems.add(means.groups > 1 ? "/privacy/moments/groups" : "/privacy/moments/of",
                   fmt::format("an answer has {} numbers for each of {} groups, expected at most {} in all",
                               method->problem().dimension, means.groups, kNumbersMax));
    const Result<releases::InfluenceBound> influence = releases::InfluenceBound::create(
        wanted.value_or(1.0), means.influence, means.groups, std::max<Eigen::Index>(1, method->problem().dimension));
    if (influence) return *influence;
    problems.add("/privacy/moments", influence.error().message);
  }
  const releases::ClipNorm clip = *releases::ClipNorm::create(wanted.value_or(1.0));
  if (const double exponent = method->traits().clip_exponent; exponent > 2.0) {
    const Result<releases::DualBound> dual =
        releases::DualBound::create(clip, exponent, std::max<Eigen::Index>(1, method->problem().dimension));
    if (dual) return *dual;
    problems.add("/privacy/clip_norm", dual.error().message);
  }
  return releases::L2Bound{clip};
}

std::optional<double> noise_norm_of(const Privacy& privacy, const algorithms::Method& method,
                                    config::Problems& problems) {
  const algorithms::MethodTraits traits = method->traits();
  if (!privacy.generalised_noise.value_or(traits.generalised_noise)) return std::nullopt;
  const bool dual = traits.bounded_in == algorithms::MethodTraits::BoundedIn::L2 && traits.clip_exponent > 2.0;
  if (dual) {
    const geometry::RegularNorm norm =
        geometry::regular_norm(traits.clip_exponent, std::max<Eigen::Index>(1, method->problem().dimension));
    return norm.exponent > 2.0 ? std::optional(norm.exponent) : std::nullopt;
  }
  if (privacy.generalised_noise)
    problems.add("/privacy/noise_law",
                 fmt::format("expected gaussian: {} bounds no record's gradient in a dual norm", method->name()));
  return std::nullopt;
}

}  // namespace undertone::jobs
