#include "operator/standardisation_command.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "operator/statistic_lines.hpp"
#include "operator/unexpected_json.hpp"
#include "shared/base/files.hpp"
#include "shared/jobs/job.hpp"
#include "shared/service/exit_code.hpp"
#include "shared/statistics/standardising.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

/// What a run found of a column, in its unit.
struct FoundColumn {
  double mean = 0.0;
  double mean_noise_stddev = 0.0;
  double variance = 0.0;
};

/// The estimate of that name, if it is there and was stated.
const Json* estimate_named(const Json& statistic, const std::string& name) {
  const auto estimates = statistic.find("estimates");
  if (estimates == statistic.end() || !estimates->is_array()) return nullptr;
  for (const Json& estimate : *estimates) {
    if (!estimate.is_object() || estimate.value("name", "") != name) continue;
    const auto value = estimate.find("value");
    const auto noise = estimate.find("noise_stddev");
    const bool complete =
        value != estimate.end() && value->is_number() && noise != estimate.end() && noise->is_number();
    return complete ? &estimate : nullptr;
  }
  return nullptr;
}

void add_column(const Json& statistic, const std::string& column, const std::string& mean_name,
                const std::string& variance_name, std::map<std::string, FoundColumn>& out) {
  const Json* mean = estimate_named(statistic, mean_name);
  const Json* variance = estimate_named(statistic, variance_name);
  if (mean == nullptr || variance == nullptr) return;
  out.emplace(column, FoundColumn{mean->at("value").get<double>(), mean->at("noise_stddev").get<double>(),
                                  variance->at("value").get<double>()});
}

Result<std::map<std::string, FoundColumn>> found_columns(const std::filesystem::path& file) {
  UNDERTONE_TRY(const std::string text, read_file(file, kResultBytesMax));
  const Json result = Json::parse(text, nullptr, false);
  const auto statistics = result.is_object() ? result.find("statistics") : result.end();
  if (!result.is_object() || statistics == result.end() || !statistics->is_array()) {
    return Error{ErrorCode::InvalidData,
                 fmt::format("{}: expected the result of a run of statistics that succeeded", file.string())};
  }
  std::map<std::string, FoundColumn> out;
  for (const Json& statistic : *statistics) {
    if (!statistic.is_object()) continue;
    const std::string kind = statistic.value("kind", "");
    if (kind == "variance") add_column(statistic, statistic.value("column", ""), "mean", "variance", out);
    if (kind != "covariance" || !statistic.contains("columns") || !statistic["columns"].is_array()) continue;
    for (const Json& column : statistic["columns"]) {
      if (!column.is_string()) continue;
      const auto name = column.get<std::string>();
      add_column(statistic, name, fmt::format("mean({})", name), fmt::format("cov({}, {})", name, name), out);
    }
  }
  if (!out.empty()) return out;
  return Error{ErrorCode::InvalidData,
               fmt::format("{}: expected questions of kind variance or covariance, there is none with a mean and a "
                           "variance",
                           file.string())};
}

}  // namespace

int standardisation(const std::filesystem::path& result, const std::filesystem::path& job_file,
                    const std::filesystem::path& out, const std::filesystem::path& ready) {
  using Found = Result<std::map<std::string, FoundColumn>>;
  const Found found = reading_json(result.string(), [&]() -> Found { return found_columns(result); });
  if (!found) return service::fail(found.error());
  const Result<std::string> bytes = read_file(job_file, jobs::kJobBytesMax);
  if (!bytes) return service::fail(bytes.error());
  // A draft leaves blank what is made here.
  Json written_job = Json::parse(*bytes, nullptr, false);
  if (written_job.is_object()) written_job.erase("standardisation");
  const Result<jobs::Job> job =
      jobs::parse_job(written_job.is_object() ? written_job.dump() : *bytes, job_file.string());
  if (!job) return service::fail(job.error());
  std::vector<double> origin;
  std::vector<double> scale;
  std::size_t standardised = 0;
  for (const data::FeatureColumn& feature : job->schema.features) {
    const std::size_t first = origin.size();
    origin.resize(first + data::encoded_width(feature), 0.0);
    scale.resize(origin.size(), 1.0);
    const auto* numeric = std::get_if<data::NumericColumn>(&feature);
    const auto column = found->find(data::name_of(feature));
    if (numeric == nullptr || column == found->end()) continue;
    const double centre = numeric->min + 0.5 * (numeric->max - numeric->min);
    const double half = 0.5 * (numeric->max - numeric->min);
    const double mean = (column->second.mean - centre) / half;
    const double variance = column->second.variance / half / half;
    const Result<statistics::PaidStandardisation> one = statistics::standardisation_from_moments(
        Eigen::VectorXd::Constant(1, mean), Eigen::VectorXd::Constant(1, variance + mean * mean),
        column->second.mean_noise_stddev / half);
    if (!one)
      return service::fail(Error{one.error().code, fmt::format("\"{}\": {}", numeric->name, one.error().message)});
    origin[first] = one->mean[0];
    scale[first] = one->scale[0];
    ++standardised;
    fmt::print(stderr, "{}: mean {:.6g}, standard deviation {:.6g}\n", numeric->name, centre + half * one->mean[0],
               half * one->scale[0]);
  }
  if (standardised == 0) {
    return service::fail({ErrorCode::InvalidData, fmt::format("{}: it found nothing of any feature of {}",
                                                              result.string(), job_file.string())});
  }
  fmt::print(stderr, "The noise of the run that released them is in all of these.\n");
  const Json made = {{"origin", origin}, {"scale", scale}};
  if (!ready.empty()) {
    written_job["standardisation"] = made;
    const std::string whole = written_job.dump(2) + "\n";
    if (const Result<jobs::Job> sound = jobs::parse_job(whole, ready.string()); !sound)
      return service::fail(sound.error());
    if (Status written = write_file_atomically(ready, whole); !written) return service::fail(written.error());
    fmt::print(stderr, "The job with its standardisation is in {}\n", ready.string());
    return service::kDone;
  }
  const std::string content = made.dump(1) + "\n";
  if (out.empty() || out == "-") {
    fmt::print("{}", content);
    return service::kDone;
  }
  if (Status written = write_file_atomically(out, content); !written) return service::fail(written.error());
  fmt::print(stderr, "The \"standardisation\" of a job is in {}\n", out.string());
  return service::kDone;
}

}  // namespace undertone::operators
