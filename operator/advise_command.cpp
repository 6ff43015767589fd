#include "operator/advise_command.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "shared/base/files.hpp"
#include "shared/geometry/l2_ball.hpp"
#include "shared/jobs/public_records.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kClearly = 0.95;  // of the smaller error of one side: both together are worth it below
constexpr double kFree = 1.1;      // times the error without noise

/// This is what the command says of a job.
struct Advised {
  std::string why_not;  // says why nothing is known; empty where something is
  PublicAdvice advice;
  std::string why_bound;  // says why gradients are taken to vary as clipped ones can; empty where it was measured
  double weight = 1.0;
  std::optional<PublicRate> rate;
};

std::optional<PublicRate> rate_of(const jobs::Job& job, std::int64_t open) {
  const auto* ball = std::get_if<geometry::L2Ball>(&job.algorithm->problem().domain.set());
  const double norm = jobs::record_norm(*job.model, job.schema);
  const std::optional<double> lipschitz = job.model->constants(norm).lipschitz;
  if (ball == nullptr || !lipschitz || job.projection) return std::nullopt;
  double records = static_cast<double>(open);
  double epsilon = 0.0;
  double delta = 1.0;
  for (const jobs::CohortMember& member : job.cohort) {
    records += static_cast<double>(member.facts.records);
    epsilon = std::max(epsilon, member.facts.epsilon().value());
    delta = std::min(delta, member.facts.delta());
  }
  if (!(delta > 0.0)) return std::nullopt;
  return public_rate(*lipschitz * 2.0 * ball->radius(), static_cast<double>(job.model->dimension()), records,
                     static_cast<double>(open), epsilon, delta);
}

Result<Advised> advice_of(const jobs::Job& job, const std::filesystem::path& folder) {
  if (!jobs::brings_file(job))
    return Error{ErrorCode::InvalidArgument,
                 "/public: expected a file of public records, which this command looks at: of a job without one there "
                 "is nothing to advise"};
  UNDERTONE_TRY(const jobs::PublicSide side, jobs::public_side(job, folder));
  Advised out;
  out.weight = side.weight;
  out.rate = rate_of(job, job.public_terms->file->records);
  if (!side.errors) {
    out.why_not = side.why;
    return out;
  }
  out.why_bound = side.errors->why_bound;
  out.advice = public_advice(side.errors->variance, side.errors->variance / side.errors->open, side.errors->silos,
                             side.errors->sampling);
  return out;
}

Json to_json(const Advised& advised) {
  Json out;
  if (!advised.why_not.empty()) {
    out["unknown"] = advised.why_not;
  } else {
    const PublicAdvice& advice = advised.advice;
    out = {{"public_records", advice.records},
           {"gradient_error",
            {{"public_alone", advice.public_alone}, {"silos_alone", advice.silos_alone}, {"both", advice.both}}},
           {"weight_of_silos", advised.weight},
           {"best", advice.best},
           {"public_records_alike", advice.even},
           {"public_records_that_make_privacy_free", advice.free}};
    if (!advised.why_bound.empty()) out["not_measured"] = advised.why_bound;
  }
  if (advised.rate)
    out["rate"] = {{"public_alone", advised.rate->public_alone},
                   {"protected_alone", advised.rate->protected_alone},
                   {"public_records_help_above", advised.rate->helps_above}};
  return out;
}

std::string to_text(const Advised& advised) {
  std::string out;
  if (!advised.why_not.empty()) {
    out = fmt::format("what gradients vary by is not known: {}\n", advised.why_not);
  } else {
    const PublicAdvice& advice = advised.advice;
    out = fmt::format(
        "error of the mean gradient over the run, where all records are of one law:\n"
        "    {:.3g}  the {} public records alone: no protected record is read, and no budget is spent\n"
        "    {:.3g}  the silos alone, with their noise\n"
        "    {:.3g}  both, with a weight of {:.3g} for the silos\n",
        advice.public_alone, advice.records, advice.silos_alone, advice.both, advised.weight);
    if (!advised.why_bound.empty())
      out += fmt::format("    (if gradients vary by as much as clipped ones can: it was not measured, since {})\n",
                         advised.why_bound);
    out += advice.best == "both" ? "best: both together\n"
           : advice.best == "public_alone"
               ? "best: the public records alone. The silos add less than a twentieth: their budget is better spent "
                 "elsewhere\n"
               : "best: the silos alone. The public records add less than a twentieth\n";
    out += fmt::format("    with {:.0f} public records the first two would be alike\n", std::ceil(advice.even));
    out += advice.free <= static_cast<double>(advice.records)
               ? std::string("    with so many public records the noise costs less than a tenth of the error\n")
               : fmt::format("    with {:.0f} of them the noise would cost less than a tenth of the error\n",
                             std::ceil(advice.free));
  }
  if (advised.rate)
    out += fmt::format(
        "rate of the excess risk, constants dropped, if one party held all records: {:.3g} of the public records "
        "alone, "
        "{:.3g} of all as protected ones; public records beat those above {:.0f} (spec public-data 7)\n",
        advised.rate->public_alone, advised.rate->protected_alone, std::ceil(advised.rate->helps_above));
  return out;
}

}  // namespace

PublicAdvice public_advice(double variance, double records, double silos, double sampling) {
  PublicAdvice out;
  out.records = static_cast<std::int64_t>(std::llround(records));
  const double open = variance / records;
  const double both = open * silos / (open + silos);
  out.public_alone = std::sqrt(open);
  out.silos_alone = std::sqrt(silos);
  out.both = std::sqrt(both);
  out.even = variance / silos;
  // n/V^2 + 1/silos >= (n/V^2 + 1/sampling) / kFree^2, in squared errors.
  const double squared = kFree * kFree;
  out.free = std::max(variance * (1.0 / sampling - squared / silos) / (squared - 1.0), 0.0);
  const bool worth = out.both < kClearly * std::min(out.public_alone, out.silos_alone);
  out.best = worth ? "both" : out.public_alone <= out.silos_alone ? "public_alone" : "silos_alone";
  return out;
}

PublicRate public_rate(double scale, double dimension, double records, double public_records, double epsilon,
                       double delta) {
  const double logarithm = std::log(1.0 / delta);
  return {scale / std::sqrt(public_records),
          scale * (std::sqrt(dimension * logarithm) / (records * epsilon) + 1.0 / std::sqrt(records)),
          records * records * epsilon * epsilon / (dimension * logarithm)};
}

int advise_job(const std::filesystem::path& file, bool json) {
  const Result<std::string> bytes = read_file(file, jobs::kJobBytesMax);
  if (!bytes) return service::fail(bytes.error());
  const Result<jobs::Job> job = jobs::parse_job(*bytes, file.string());
  if (!job) return service::fail(job.error());
  const Result<Advised> advised = advice_of(*job, file.parent_path());
  if (!advised)
    return service::fail(Error{advised.error().code, fmt::format("{}: {}", file.string(), advised.error().message)});
  fmt::print("{}", json ? to_json(*advised).dump(2) + "\n" : to_text(*advised));
  return service::kDone;
}

}  // namespace undertone::operators
