#include "operator/moment_bound_command.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "operator/statistic_lines.hpp"
#include "operator/unexpected_json.hpp"
#include "shared/base/files.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kHidden = 2.0;  // deviations

Error no_bound(const std::string& file, const std::string& what) {
  return {ErrorCode::InvalidData, fmt::format("{}: {}", file, what)};
}

const Json* question_of_gradients(const Json& result) {
  const auto statistics = result.is_object() ? result.find("statistics") : result.end();
  if (!result.is_object() || statistics == result.end() || !statistics->is_array()) return nullptr;
  for (const Json& statistic : *statistics)
    if (statistic.is_object() && statistic.value("kind", "") == "gradient_norms") return &statistic;
  return nullptr;
}

/// Four digits, not below it.
double rounded_up(double bound) {
  const double unit = std::pow(10.0, std::floor(std::log10(bound)) - 3.0);
  return std::ceil(bound / unit) * unit;
}

/// These are the numbers that a question released, once they are checked.
struct ReleasedLengths {
  std::vector<double> edges;   // 0 = e_0 < .. < e_m
  std::vector<double> counts;  // [m], below 0 where the noise has it so
  std::vector<double> noise;   // [m], standard deviations
  double records = 0.0;
  std::string loss;
  bool intercept = false;
  bool at_zero = true;
};

Result<ReleasedLengths> released_lengths(const Json& question, const std::string& file) {
  ReleasedLengths out;
  out.edges = question.at("edges").get<std::vector<double>>();
  out.records = question.at("records").get<double>();
  out.loss = question.at("loss").get<std::string>();
  out.intercept = question.at("intercept").get<bool>();
  for (const Json& number : question.at("point")) out.at_zero = out.at_zero && number.get<double>() == 0.0;
  for (const Json& estimate : question.at("estimates")) {
    if (!estimate.at("value").is_number()) return no_bound(file, "a count that is none");
    out.counts.push_back(estimate.at("value").get<double>());
    out.noise.push_back(estimate.value("noise_stddev", 0.0));
  }
  const bool ascend = std::adjacent_find(out.edges.begin(), out.edges.end(), std::greater_equal()) == out.edges.end();
  const auto finite = [](const std::vector<double>& numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
  };
  const bool noise_is_one = std::all_of(out.noise.begin(), out.noise.end(),
                                        [](double stddev) { return stddev >= 0.0 && std::isfinite(stddev); });
  if (out.edges.size() < 2 || out.edges.front() != 0.0 || !ascend || !finite(out.edges) || !finite(out.counts) ||
      !noise_is_one || out.counts.size() + 1 != out.edges.size() || !(out.records >= 1.0))
    return no_bound(file, fmt::format("expected ascending edges from 0 on, a count for each cell with its noise, and "
                                      "records, got {} edges, {} counts and {} records",
                                      out.edges.size(), out.counts.size(), out.records));
  return out;
}

/// Checks that a training job has the gradients that the bound is of.
Status check_goes_with(const BoughtBound& bound, const jobs::Job& job, const std::string& file) {
  const models::LinearModel* linear = job.model ? job.model->linear() : nullptr;
  if (linear == nullptr) return no_bound(file, "expected a job that trains a linear model");
  const std::string loss =
      linear->loss() == models::Loss::LeastSquares ? "squared" : std::string(models::to_string(linear->loss()));
  if (loss != bound.loss || linear->intercept() != bound.intercept)
    return no_bound(
        file,
        fmt::format("the lengths are of the loss \"{}\" {} an intercept, and the job trains \"{}\" {} one", bound.loss,
                    bound.intercept ? "with" : "without", loss, linear->intercept() ? "with" : "without"));
  if (job.projection)
    return no_bound(file, "the lengths are of features as the schema encodes them, and the job maps them");
  return {};
}

}  // namespace

Result<BoughtBound> bought_bound(const std::string& text, const std::string& file, double order) {
  const Json result = Json::parse(text, nullptr, false);
  const Json* question = question_of_gradients(result);
  if (question == nullptr) return no_bound(file, "expected the result of a run with a question of kind gradient_norms");
  UNDERTONE_TRY(const ReleasedLengths lengths, released_lengths(*question, file));
  BoughtBound out;
  out.order = order;
  out.loss = lengths.loss;
  out.intercept = lengths.intercept;
  double share = 0.0;  // E |g|^k over longest^k
  double beyond = 0.0;
  for (std::size_t i = lengths.counts.size(); i-- > 0;) {
    const double count = std::max(0.0, lengths.counts[i]);
    if (out.longest == 0.0 && !(count > kHidden * lengths.noise[i])) {
      beyond += count;
      continue;
    }
    if (out.longest == 0.0) out.longest = lengths.edges[i + 1];
    share += count / lengths.records * std::pow(lengths.edges[i + 1] / out.longest, order);
  }
  if (out.longest == 0.0)
    return no_bound(file, "the noise hides every count: more records, a larger epsilon or fewer bins would show some");
  const double bound = out.longest * std::pow(share, 1.0 / order);
  if (!(bound >= theorems::kMomentClipMin && bound <= theorems::kMomentClipMax))
    return no_bound(file, fmt::format("a bound of {}, which no job takes", bound));
  out.bound = rounded_up(bound);
  out.beyond = std::min(1.0, beyond / lengths.records);
  out.source = fmt::format("lengths of gradients of {:.0f} records at {}, released by run {:.12}", lengths.records,
                           lengths.at_zero ? "0" : "a given point", result.value("run", "of statistics"));
  return out;
}

namespace {

/// The job with the first lattice of replies that everybody can plan: from the one that it has towards one that is as
/// much finer or coarser as the noise becomes.
Result<std::string> with_lattice(Json job, const std::string& name, double ratio) {
  const bool has_step = job.contains("wire") && job["wire"].contains("reply_step_log2");
  const int had = has_step ? job["wire"]["reply_step_log2"].get<int>() : 0;
  const int last = has_step ? static_cast<int>(std::floor(std::log2(ratio))) : 0;
  for (int by = 0;; by += last < 0 ? -1 : 1) {
    if (has_step) job["wire"]["reply_step_log2"] = had + by;
    UNDERTONE_TRY(const jobs::Job ready, jobs::parse_job(job.dump(), name));
    const auto planned = jobs::plans_of(ready);
    if (planned) return job.dump(2) + "\n";
    if (by == last) return planned.error();
  }
}

/// Fits the steps that were chosen for another clip. @param ratio of the new clip to the one before
void refit_steps(Json& job, const jobs::Job& parsed, double ratio) {
  Json& algorithm = job["algorithm"];
  if (!algorithm.contains("step_size")) return;
  const double longest = 1.5 / std::pow(jobs::record_norm(*parsed.model, parsed.schema), 2);
  // A clip that is longer than most gradients cuts few of them. Steps are then as long as the curvature allows.
  algorithm["step_size"] = std::min(algorithm["step_size"].get<double>() / std::min(ratio, 1.0), longest);
}

}  // namespace

Result<std::string> job_with_moments(const std::string& text, const std::string& name, const BoughtBound& bound,
                                     bool fit_steps) {
  Json job = Json::parse(text, nullptr, false);
  if (!job.is_object() || !job.contains("privacy") || !job["privacy"].is_object())
    return no_bound(name, "expected a job with a section \"privacy\"");
  const auto before = job["privacy"].find("clip_norm");
  const double clip = before != job["privacy"].end() && before->is_number() ? before->get<double>() : 0.0;
  job["privacy"].erase("clip_norm");
  job["privacy"]["moments"] = {{"order", bound.order}, {"bound", bound.bound}, {"source", bound.source}};
  UNDERTONE_TRY(const jobs::Job parsed, jobs::parse_job(job.dump(), name));
  UNDERTONE_TRY(check_goes_with(bound, parsed, name));
  const double ratio = clip > 0.0 ? parsed.clip().value() / clip : 1.0;
  if (fit_steps) refit_steps(job, parsed, ratio);
  return with_lattice(std::move(job), name, ratio);
}

int moment_bound(const std::filesystem::path& result, double order, const std::filesystem::path& job_file,
                 const std::filesystem::path& ready, bool fit_steps) {
  using Found = Result<BoughtBound>;
  const Found found = reading_json(result.string(), [&]() -> Found {
    UNDERTONE_TRY(const std::string text, read_file(result, kResultBytesMax));
    return bought_bound(text, result.string(), order);
  });
  if (!found) return service::fail(found.error());
  fmt::print(
      stderr,
      "An estimate: E |g|^{0:.4g} is near {1:.4g}^{0:.4g}, of all silos' records together at the point that was asked "
      "about. The longest length that the noise does not hide is {2:.4g}; longer cells, with a share of {3:.2g} of "
      "the records by their counts, are left out.\n",
      found->order, found->bound, found->longest, found->beyond);
  const Json moments = {{"order", found->order}, {"bound", found->bound}, {"source", found->source}};
  if (ready.empty()) {
    fmt::print("{}\n", moments.dump(1));
    return service::kDone;
  }
  const Result<std::string> bytes = read_file(job_file, jobs::kJobBytesMax);
  if (!bytes) return service::fail(bytes.error());
  const Result<std::string> whole = reading_json(job_file.string(), [&]() -> Result<std::string> {
    return job_with_moments(*bytes, job_file.string(), *found, fit_steps);
  });
  if (!whole) return service::fail(whole.error());
  const Result<jobs::Job> sound = jobs::parse_job(*whole, ready.string());
  if (!sound) return service::fail(sound.error());
  if (sound->theorem && sound->theorem->losses == theorems::TheoremLosses::ConvexWithKinks)
    fmt::print(stderr, "WARNING: {} is of each record's largest gradient over the domain, which this is not.\n",
               sound->theorem->source);
  if (Status written = write_file_atomically(ready, *whole); !written) return service::fail(written.error());
  fmt::print(stderr, "The job with its moments is in {}\n", ready.string());
  return service::kDone;
}

}  // namespace undertone::operators
