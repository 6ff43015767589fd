#include "operator/components_command.hpp"

#include <nlohmann/json.hpp>

#include "operator/saved_model.hpp"
#include "shared/base/files.hpp"
#include "shared/data/pca.hpp"
#include "shared/jobs/projection_section.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {

int components(const std::filesystem::path& model_file, std::int64_t count, const std::filesystem::path& out) {
  const Result<SavedModel> model = load_model(model_file);
  if (!model) return service::fail(model.error());
  if (!model->moments || model->projection) {
    return service::fail(
        {ErrorCode::InvalidArgument,
         fmt::format("{}: expected a model of kind \"moments\" of unprojected features", model_file.string())});
  }
  const models::Moments moments = model->moments->moments(model->weights);
  const Result<data::PrincipalComponents> found =
      data::noised_pca(moments.second_moment, moments.mean, static_cast<Eigen::Index>(count));
  if (!found) return service::fail(found.error());
  const double total = moments.second_moment.trace() - moments.mean.squaredNorm();
  fmt::print(stderr, "component  variance   of all {:.6g}\n", total);
  for (Eigen::Index j = 0; j < found->variances.size(); ++j)
    fmt::print(stderr, "{:9}  {:<9.4g}  {:.1f} %\n", j + 1, found->variances[j], 100.0 * found->variances[j] / total);
  fmt::print(stderr, "The noise of the run that released the moments is in all of these.\n");
  if (!(total > 0.0) || found->variances.sum() > total)
    fmt::print(stderr,
               "It is larger than what it hides: more records, fewer features or a smaller clip norm are needed.\n");
  const std::string content = jobs::to_json(*found).dump(1) + "\n";
  if (out.empty() || out == "-") {
    fmt::print("{}", content);
    return service::kDone;
  }
  if (Status written = write_file_atomically(out, content); !written) return service::fail(written.error());
  fmt::print(stderr, "The \"projection\" of a job is in {}\n", out.string());
  return service::kDone;
}

}  // namespace undertone::operators
