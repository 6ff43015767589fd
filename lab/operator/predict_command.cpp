#include "lab/operator/predict_command.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/exit_code.hpp"
#include "shared/base/files.hpp"
#include "shared/config/model_section.hpp"
#include "shared/config/schema_section.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/models/layered_model.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kModelBytesMax = std::size_t{256} << 20U;

/// What a model says of one record: a label with how sure it is of it, or a value.
struct Prediction {
  std::string text;
  std::optional<double> value;        // where the target is a number
  std::optional<double> probability;  // where the loss gives one: of the positive value, or of the class named
};

/// A model.json.
struct SavedModel {
  data::Schema schema;
  std::optional<models::LinearLoss> loss;  // of a linear model
  std::optional<models::Network> network;  // else
  Eigen::VectorXd weights;
  double intercept = 0.0;
};

void read_linear(config::Section& root, SavedModel& model) {
  const std::vector<std::string> names = data::encoded_names(model.schema);
  model.weights.resize(static_cast<Eigen::Index>(names.size()));
  Eigen::Index next = 0;
  for (config::Section section : root.objects("weights", names.size(), names.size(), "one for each encoded feature")) {
    const std::string name = section.text("feature", "its name");
    const double weight = section.number("weight", -1e300, 1e300, "its weight");
    if (name != names[static_cast<std::size_t>(next)])
      section.problem("feature",
                      fmt::format("expected \"{}\", in the schema's order", names[static_cast<std::size_t>(next)]));
    section.finish();
    model.weights[next++] = weight;
  }
  model.intercept = root.number("intercept", -1e300, 1e300, "added to the score");
  const bool binary = std::holds_alternative<data::BinaryLabel>(model.schema.label);
  if (model.loss->classifies() != binary || std::holds_alternative<data::ClassLabel>(model.schema.label))
    root.problem("kind", fmt::format("{} does not fit the label in /data", models::to_string(model.loss->kind())));
}

void read_network(config::Section& root, bool hidden, SavedModel& model) {
  const auto* label = std::get_if<data::ClassLabel>(&model.schema.label);
  if (label == nullptr) {
    root.problem("kind", "expected a label with classes in /data");
    return;
  }
  const auto features = static_cast<Eigen::Index>(data::encoded_width(model.schema));
  const auto classes = static_cast<Eigen::Index>(label->classes.size());
  const models::NetworkShape shape =
      hidden ? config::parse_network(root, features, classes) : models::NetworkShape{{1, 1, features}, {}, classes};
  Result<models::Network> network = config::bounded_network(shape);
  if (!network) {
    root.problem("hidden", network.error().message);
    return;
  }
  const std::vector<double> weights = root.numbers("weights", "layer by layer");
  if (weights.size() != static_cast<std::size_t>(network->dimension())) {
    root.problem("weights", fmt::format("expected {}, got {}", network->dimension(), weights.size()));
    return;
  }
  model.weights = Eigen::Map<const Eigen::VectorXd>(weights.data(), static_cast<Eigen::Index>(weights.size()));
  model.network = *std::move(network);
}

Result<SavedModel> load_model(const std::filesystem::path& file) {
  const Result<config::JsonDocument> document = config::load_json(file, kModelBytesMax);
  if (!document) return document.error();
  config::Problems problems(file.string());
  config::Section root(document->root, "", problems);
  (void)root.choice<int>("format", {{"undertone.model/2", 2}}, "what this file is");
  enum class Layers { None, Output, Hidden };
  const bool named = document->root.is_object() && root.holds_text("kind");
  const std::string kind = named ? document->root["kind"].get<std::string>() : std::string();
  const auto layers = kind == "network" ? Layers::Hidden : kind == "softmax" ? Layers::Output : Layers::None;
  SavedModel model;
  if (layers == Layers::None) {
    model.loss = models::LinearLoss(root.choice<models::Loss>("kind", config::kLosses, "the loss"));
  } else {
    (void)root.text("kind", "softmax or network");
  }
  (void)root.text("job", "the job's name");
  (void)root.text("run", "the run it is of");
  model.schema = config::parse_schema(root.object("data", "what the model reads"));
  if (problems.none()) {
    if (model.loss) {
      read_linear(root, model);
    } else {
      read_network(root, layers == Layers::Hidden, model);
    }
  }
  root.finish();
  if (!problems.none()) return problems.error();
  return model;
}

Prediction of_score(const SavedModel& model, double score) {
  if (const auto* binary = std::get_if<data::BinaryLabel>(&model.schema.label)) {
    Prediction out{score > 0.0 ? binary->positive : binary->negative, {}, {}};
    if (model.loss->kind() == models::Loss::Logistic) out.probability = 1.0 / (1.0 + std::exp(-score));
    return out;
  }
  const data::NumericColumn& column = std::get<data::NumericLabel>(model.schema.label).column;
  const double value = column.min + (score + 1.0) / 2.0 * (column.max - column.min);
  return {fmt::format("{:.9g}", value), value, {}};
}

Prediction of_scores(const data::ClassLabel& label, const Eigen::VectorXd& scores) {
  Eigen::Index best = 0;
  const double largest = scores.maxCoeff(&best);
  return {label.classes[static_cast<std::size_t>(best)], {}, 1.0 / (scores.array() - largest).exp().sum()};
}

std::vector<Prediction> predictions_of(const SavedModel& model, const models::Records& records) {
  std::vector<Prediction> out;
  if (model.loss) {
    const Eigen::VectorXd scores = (records.features.transpose() * model.weights).array() + model.intercept;
    for (const double score : scores) out.push_back(of_score(model, score));
    return out;
  }
  models::LayeredModel layered(*model.network);
  Eigen::VectorXd scores(layered.classes());
  for (Eigen::Index j = 0; j < records.features.cols(); ++j) {
    layered.scores(model.weights, records, j, scores);
    out.push_back(of_scores(std::get<data::ClassLabel>(model.schema.label), scores));
  }
  return out;
}

std::string as_csv(const std::vector<Prediction>& predictions) {
  const bool sure = !predictions.empty() && predictions.front().probability.has_value();
  std::string text = sure ? "record,probability,prediction\n" : "record,prediction\n";
  std::size_t record = 0;
  for (const Prediction& one : predictions) {
    text += fmt::format("{},", ++record);
    if (one.probability) text += fmt::format("{:.9g},", *one.probability);
    text += (one.value ? one.text : data::csv_cell(one.text)) + "\n";
  }
  return text;
}

std::string as_json(const std::vector<Prediction>& predictions) {
  Json rows = Json::array();
  for (const Prediction& one : predictions) {
    Json row = {{"record", rows.size() + 1}};
    if (one.probability) row["probability"] = *one.probability;
    row["prediction"] = one.value ? Json(*one.value) : Json(one.text);
    rows.push_back(std::move(row));
  }
  return rows.dump(2) + "\n";
}

}  // namespace

int predict(const std::filesystem::path& model_file, const std::filesystem::path& csv, const std::filesystem::path& out,
            bool json) {
  const Result<SavedModel> model = load_model(model_file);
  if (!model) return fail(model.error());
  data::CsvOptions options;
  options.with_label = false;
  const Result<data::CsvRecords> read = data::read_csv(csv, model->schema, options);
  if (!read) return fail(read.error());
  const std::vector<Prediction> predictions = predictions_of(*model, read->records);
  const std::string content = json ? as_json(predictions) : as_csv(predictions);
  if (out.empty() || out == "-") {
    fmt::print("{}", content);
    return kDone;
  }
  if (Status written = write_file_atomically(out, content); !written) return fail(written.error());
  fmt::print(stderr, "{} predictions in {}\n", predictions.size(), out.string());
  return kDone;
}

}  // namespace undertone::lab
