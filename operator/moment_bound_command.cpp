#include "operator/moment_bound_command.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "operator/statistic_lines.hpp"
#include "operator/unexpected_json.hpp"
#include "shared/base/files.hpp"
#include "shared/jobs/job.hpp"
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

}  // namespace

Result<BoughtBound> bought_bound(const std::string& text, const std::string& file, double order) {
  const Json result = Json::parse(text, nullptr, false);
  const Json* question = question_of_gradients(result);
  if (question == nullptr) return no_bound(file, "expected the result of a run with a question of kind gradient_norms");
  const std::vector<double> edges = question->at("edges").get<std::vector<double>>();
  const Json& estimates = question->at("estimates");
  const auto records = question->at("records").get<double>();
  if (edges.size() < 2 || estimates.size() + 1 != edges.size() || !(records > 0.0))
    return no_bound(file, fmt::format("{} edges of {} counts of {} records", edges.size(), estimates.size(), records));
  BoughtBound out;
  out.order = order;
  double share = 0.0;   // E |g|^k over longest^k
  double hidden = 0.0;  // records
  for (std::size_t i = estimates.size(); i-- > 0;) {
    if (!estimates[i].at("value").is_number()) return no_bound(file, "a count that is none");
    const auto count = estimates[i].at("value").get<double>();
    const double noise = estimates[i].value("noise_stddev", 0.0);
    if (!(count > kHidden * noise) || !(count > 0.0)) {
      hidden += std::max(0.0, count) + kHidden * noise;
      continue;
    }
    if (out.longest == 0.0) out.longest = edges[i + 1];
    share += count / records * std::pow(edges[i + 1] / out.longest, order);
  }
  if (out.longest == 0.0)
    return no_bound(file, "the noise hides every count: more records, a larger epsilon or fewer bins would show some");
  out.bound = rounded_up(out.longest * std::pow(share, 1.0 / order));
  out.left_out = std::min(1.0, hidden / records);
  out.source = fmt::format("lengths of gradients of {:.0f} records, released by run {:.12}", records,
                           result.value("run", "of statistics"));
  return out;
}

int moment_bound(const std::filesystem::path& result, double order, const std::filesystem::path& job_file,
                 const std::filesystem::path& ready) {
  using Found = Result<BoughtBound>;
  const Found found = reading_json(result.string(), [&]() -> Found {
    UNDERTONE_TRY(const std::string text, read_file(result, kResultBytesMax));
    return bought_bound(text, result.string(), order);
  });
  if (!found) return service::fail(found.error());
  fmt::print(
      stderr,
      "E |g|^{0:.4g} is at most {1:.4g}^{0:.4g} at the point that was asked about. Lengths up to {2:.4g} count; at "
      "most {3:.2g} of the records are in cells that the noise hides.\n",
      found->order, found->bound, found->longest, found->left_out);
  const Json moments = {{"order", found->order}, {"bound", found->bound}, {"source", found->source}};
  if (ready.empty()) {
    fmt::print("{}\n", moments.dump(1));
    return service::kDone;
  }
  const Result<std::string> bytes = read_file(job_file, jobs::kJobBytesMax);
  if (!bytes) return service::fail(bytes.error());
  Json job = Json::parse(*bytes, nullptr, false);
  if (!job.is_object() || !job.contains("privacy") || !job["privacy"].is_object())
    return service::fail(no_bound(job_file.string(), "expected a job with a section \"privacy\""));
  job["privacy"].erase("clip_norm");
  job["privacy"]["moments"] = moments;
  const std::string whole = job.dump(2) + "\n";
  if (const Result<jobs::Job> sound = jobs::parse_job(whole, ready.string()); !sound)
    return service::fail(sound.error());
  if (Status written = write_file_atomically(ready, whole); !written) return service::fail(written.error());
  fmt::print(stderr, "The job with its moments is in {}\n", ready.string());
  return service::kDone;
}

}  // namespace undertone::operators
