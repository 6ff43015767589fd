#include "operator/warm_start_command.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "operator/saved_model.hpp"
#include "shared/base/files.hpp"
#include "shared/jobs/initial_section.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/model_section.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

struct Start {
  Eigen::VectorXd weights;  // [d], in the order of the job's model
};

bool same_projection(const std::optional<data::Projection>& a, const std::optional<data::Projection>& b) {
  if (!a || !b) return !a && !b;
  // A standardisation is written as scales, whose inverses are the directions.
  constexpr double kInverses = 1e-14;
  return a->origin == b->origin && a->directions.rows() == b->directions.rows() &&
         a->directions.cols() == b->directions.cols() && a->directions.isApprox(b->directions, kInverses);
}

/// The model's weights in the order of the job's, or what keeps them from being such.
Result<Start> start_of(const jobs::Job& job, const SavedModel& model) {
  const auto refuse = [](const char* what) { return Error{ErrorCode::InvalidArgument, what}; };
  if (!job.model) return refuse("the job has no model to start");
  if (!(model.schema == job.schema)) return refuse("the model's \"data\" is not the job's");
  if (!same_projection(model.projection, job.projection)) return refuse("the model's \"projection\" is not the job's");
  if (model.moments) return refuse("moments are no start");
  if (model.network) {
    const models::Network* network = job.model->network();
    if (network == nullptr || jobs::to_json(network->shape()) != jobs::to_json(model.network->shape()))
      return refuse("the model's layers are not the job's");
    return Start{model.weights};
  }
  const models::LinearModel* linear = job.model->linear();
  if (linear == nullptr) return refuse("the model is linear, and the job's is not");
  if (model.exposure) return refuse("the model's scores are for an exposure, which no start has");
  if (!linear->intercept()) {
    if (model.intercept != 0.0) return refuse("the model has an intercept, and the job's has none");
    return Start{model.weights};
  }
  Eigen::VectorXd weights(model.weights.size() + 1);
  weights << model.weights, model.intercept;
  return Start{std::move(weights)};
}

/// Indented where that leaves it small enough to be a job.
std::string text_of(const Json& job) {
  std::string readable = job.dump(1) + "\n";
  return readable.size() <= jobs::kJobBytesMax ? readable : job.dump() + "\n";
}

}  // namespace

int warm_start(const std::filesystem::path& job_file, const std::filesystem::path& model_file,
               const std::filesystem::path& out) {
  const Result<std::string> bytes = read_file(job_file, jobs::kJobBytesMax);
  if (!bytes) return service::fail(bytes.error());
  const Result<jobs::Job> job = jobs::parse_job(*bytes, job_file.string());
  if (!job) return service::fail(job.error());
  const Result<SavedModel> model = load_model(model_file);
  if (!model) return service::fail(model.error());
  const Result<Start> start = start_of(*job, *model);
  if (!start) {
    return service::fail(
        {start.error().code, fmt::format("{}: {}: {}", model_file.string(), job_file.string(), start.error().message)});
  }
  Json warm = Json::parse(*bytes);  // good JSON: it was parsed as a job
  warm["initial"] = jobs::initial_of_weights(start->weights);
  const std::string text = text_of(warm);
  if (const Result<jobs::Job> good = jobs::parse_job(text, out.empty() ? "the new job" : out.string()); !good)
    return service::fail(good.error());
  if (out.empty() || out == "-") {
    fmt::print("{}", text);
    return service::kDone;
  }
  if (Status written = write_file_atomically(out, text); !written) return service::fail(written.error());
  fmt::print(stderr, "{} starts at {} weights, SHA-256 {}. By sending it you state that they are public.\n",
             out.string(), start->weights.size(), to_hex(jobs::digest_of_weights(start->weights)));
  return service::kDone;
}

}  // namespace undertone::operators
