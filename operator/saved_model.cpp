#include "operator/saved_model.hpp"

#include <cmath>

#include "shared/jobs/job.hpp"
#include "shared/jobs/model_section.hpp"
#include "shared/jobs/projection_section.hpp"
#include "shared/jobs/schema_section.hpp"

namespace undertone::operators {
namespace {

constexpr std::size_t kModelBytesMax = std::size_t{256} << 20U;

Eigen::Index features_of(const SavedModel& model) {
  return model.projection ? model.projection->directions.cols()
                          : static_cast<Eigen::Index>(data::encoded_width(model.schema));
}

void read_weights(config::Section& root, Eigen::Index expected, SavedModel& model) {
  const std::vector<double> weights = root.numbers("weights", "in the model's order");
  if (weights.size() != static_cast<std::size_t>(expected)) {
    root.problem("weights", fmt::format("expected {}, got {}", expected, weights.size()));
    return;
  }
  model.weights = Eigen::Map<const Eigen::VectorXd>(weights.data(), expected);
}

void read_linear(config::Section& root, SavedModel& model) {
  const std::vector<std::string> names = model.projection && !model.standardised
                                             ? jobs::component_names(model.projection->directions.cols())
                                             : data::encoded_names(model.schema);
  model.weights.resize(static_cast<Eigen::Index>(names.size()));
  Eigen::Index next = 0;
  for (config::Section section :
       root.objects("weights", names.size(), names.size(), "one for each number that it reads")) {
    const std::string name = section.text("feature", "its name");
    const double weight = section.number("weight", -1e300, 1e300, "its weight");
    if (name != names[static_cast<std::size_t>(next)])
      section.problem("feature",
                      fmt::format("expected \"{}\", in the schema's order", names[static_cast<std::size_t>(next)]));
    section.finish();
    model.weights[next++] = weight;
  }
  model.intercept = root.number("intercept", -1e300, 1e300, "added to the score");
  if (root.has("exposure")) {
    const std::string name = root.text("exposure", "of poisson: the feature that a mean is proportional to");
    for (const algorithms::Problem::Number& number : jobs::numbers_of(model.schema))
      if (number.name == name && number.min >= 0.0 && !number.may_be_missing && !model.projection)
        model.exposure = {number.coordinate, number.min / number.max};
    if (!model.exposure || model.loss->kind() != models::Loss::Poisson)
      root.problem("exposure", "expected a feature that is a number, at least 0, of a poisson model");
  }
  const bool binary = std::holds_alternative<data::BinaryLabel>(model.schema.label);
  if (model.loss->classifies() != binary || std::holds_alternative<data::ClassLabel>(model.schema.label))
    root.problem("kind", fmt::format("{} does not fit the label in /data", models::to_string(model.loss->kind())));
  const auto* number = std::get_if<data::NumericLabel>(&model.schema.label);
  if (model.loss->kind() == models::Loss::Poisson && number != nullptr && number->column.min != 0.0)
    root.problem("kind", "poisson needs a label whose \"min\" is 0 in /data");
}

void read_network(config::Section& root, bool hidden, SavedModel& model) {
  const auto* label = std::get_if<data::ClassLabel>(&model.schema.label);
  if (label == nullptr) {
    root.problem("kind", "expected a label with classes in /data");
    return;
  }
  const Eigen::Index features = features_of(model);
  const auto classes = static_cast<Eigen::Index>(label->classes.size());
  const models::NetworkShape shape =
      hidden ? jobs::parse_network(root, features, classes) : models::NetworkShape{{1, 1, features}, {}, classes};
  Result<models::Network> network = jobs::bounded_network(shape);
  if (!network) {
    root.problem("hidden", network.error().message);
    return;
  }
  read_weights(root, network->dimension(), model);
  model.network = *std::move(network);
}

void read_moments(config::Section& root, SavedModel& model) {
  model.moments = models::MomentsModel(features_of(model));
  read_weights(root, model.moments->dimension(), model);
}

}  // namespace

double SavedModel::offset(const Eigen::Ref<const Eigen::VectorXd>& features) const {
  return exposure ? std::log(exposure->of(features[static_cast<Eigen::Index>(exposure->coordinate)])) : 0.0;
}

Result<SavedModel> load_model(const std::filesystem::path& file) {
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(file, kModelBytesMax));
  config::Problems problems(file.string());
  config::Section root(document.root, "", problems);
  (void)root.choice<int>("format", {{"undertone.model/2", 2}}, "what this file is");
  enum class Form { Linear, Softmax, Network, Moments };
  const bool named = document.root.is_object() && root.holds_text("kind");
  const std::string kind = named ? document.root["kind"].get<std::string>() : std::string();
  const auto form = kind == "network"   ? Form::Network
                    : kind == "softmax" ? Form::Softmax
                    : kind == "moments" ? Form::Moments
                                        : Form::Linear;
  SavedModel model;
  if (form == Form::Linear) {
    model.loss = models::LinearLoss(root.choice<models::Loss>("kind", jobs::kLosses, "the loss"));
  } else {
    (void)root.text("kind", "softmax, network or moments");
  }
  (void)root.text("job", "the job's name");
  (void)root.text("run", "the run it is of");
  model.schema = jobs::parse_schema(root.object("data", "what the model reads"));
  if (root.has("standardisation")) {
    model.standardised = true;
    model.projection = jobs::parse_standardisation(
        root.object("standardisation", "of the features, before they are read"), data::encoded_width(model.schema));
  }
  if (root.has("projection")) {
    model.projection = jobs::parse_projection(root.object("projection", "what the model reads of the features"),
                                              data::encoded_width(model.schema));
  }
  if (problems.none()) {
    switch (form) {
      case Form::Linear:
        read_linear(root, model);
        break;
      case Form::Softmax:
      case Form::Network:
        read_network(root, form == Form::Network, model);
        break;
      case Form::Moments:
        read_moments(root, model);
        break;
    }
  }
  root.finish();
  if (!problems.none()) return problems.error();
  return model;
}

}  // namespace undertone::operators
