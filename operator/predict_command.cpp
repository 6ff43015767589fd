#include "operator/predict_command.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "operator/saved_model.hpp"
#include "shared/base/files.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/models/layered_model.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

/// What a model says of one record: a label with how sure it is of it, or a value.
struct Prediction {
  std::string text;
  std::optional<double> value;        // where the target is a number
  std::optional<double> probability;  // where the loss gives one: of the positive value, or of the class named
};

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
    text += (one.value ? one.text : data::csv_text_cell(one.text)) + "\n";
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
  if (!model) return service::fail(model.error());
  if (model->moments) {
    return service::fail({ErrorCode::InvalidArgument,
                          fmt::format("{}: moments of features predict nothing; \"undertone components\" reads them",
                                      model_file.string())});
  }
  data::CsvOptions options;
  options.with_label = false;
  Result<data::CsvRecords> read = data::read_csv(csv, model->schema, options);
  if (!read) return service::fail(read.error());
  if (model->projection) read->records = model->projection->project({std::move(read->records), {}}).training;
  const std::vector<Prediction> predictions = predictions_of(*model, read->records);
  const std::string content = json ? as_json(predictions) : as_csv(predictions);
  if (out.empty() || out == "-") {
    fmt::print("{}", content);
    return service::kDone;
  }
  if (Status written = write_file_atomically(out, content); !written) return service::fail(written.error());
  fmt::print(stderr, "{} predictions in {}\n", predictions.size(), out.string());
  return service::kDone;
}

}  // namespace undertone::operators
