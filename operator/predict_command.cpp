#include "operator/predict_command.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "operator/prediction_scores.hpp"
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
  std::size_t said = 0;               // the class named, by its place in the label's list
  double score = 0.0;                 // of the positive value, the larger the surer
};

Prediction of_score(const SavedModel& model, double score) {
  if (const auto* binary = std::get_if<data::BinaryLabel>(&model.schema.label)) {
    const bool positive = score > 0.0;
    Prediction out{positive ? binary->positive : binary->negative, {}, {}, positive ? 1U : 0U, score};
    if (model.loss->kind() == models::Loss::Logistic) out.probability = 1.0 / (1.0 + std::exp(-score));
    return out;
  }
  const data::NumericColumn& column = std::get<data::NumericLabel>(model.schema.label).column;
  const double value = column.min + (model.loss->prediction(score) + 1.0) / 2.0 * (column.max - column.min);
  return {fmt::format("{:.9g}", value), value, {}, 0, 0.0};
}

Prediction of_scores(const data::ClassLabel& label, const Eigen::VectorXd& scores) {
  Eigen::Index best = 0;
  const double largest = scores.maxCoeff(&best);
  const auto said = static_cast<std::size_t>(best);
  return {label.classes[said], {}, 1.0 / (scores.array() - largest).exp().sum(), said, 0.0};
}

std::vector<Prediction> predictions_of(const SavedModel& model, const models::Records& records) {
  std::vector<Prediction> out;
  if (model.loss) {
    const Eigen::VectorXd scores = (records.features.transpose() * model.weights).array() + model.intercept;
    for (Eigen::Index j = 0; j < scores.size(); ++j)
      out.push_back(of_score(model, scores[j] + model.offset(records.features.col(j))));
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

/// Each line begins with the record's id, or with its number where no column of ids was named.
struct RecordNames {
  std::string title = "record";
  std::vector<std::string> ids;  // none: numbers from 1
};

std::string as_csv(const std::vector<Prediction>& predictions, const RecordNames& names) {
  const bool sure = !predictions.empty() && predictions.front().probability.has_value();
  std::string text = names.ids.empty() ? names.title : data::csv_text_cell(names.title);
  text += sure ? ",probability,prediction\n" : ",prediction\n";
  std::size_t record = 0;
  for (const Prediction& one : predictions) {
    text += names.ids.empty() ? std::to_string(record + 1) : data::csv_text_cell(names.ids[record]);
    ++record;
    if (one.probability) text += fmt::format(",{:.9g}", *one.probability);
    text += "," + (one.value ? one.text : data::csv_text_cell(one.text)) + "\n";
  }
  return text;
}

std::string as_json(const std::vector<Prediction>& predictions, const RecordNames& names) {
  Json rows = Json::array();
  for (const Prediction& one : predictions) {
    const std::size_t record = rows.size();
    Json row = {{"record", record + 1}};
    if (!names.ids.empty()) row["id"] = names.ids[record];
    if (one.probability) row["probability"] = *one.probability;
    row["prediction"] = one.value ? Json(*one.value) : Json(one.text);
    rows.push_back(std::move(row));
  }
  return rows.dump(2) + "\n";
}

/// How good the predictions are of records whose labels are here, a line each.
/// @param targets [records], as the schema encodes labels
std::vector<std::string> scores_of(const data::Schema& schema, const std::vector<Prediction>& predictions,
                                   const Eigen::VectorXd& targets) {
  if (const auto* number = std::get_if<data::NumericLabel>(&schema.label)) {
    std::vector<double> truth;
    std::vector<double> said;
    for (std::size_t j = 0; j < predictions.size(); ++j) {
      const double share = (targets[static_cast<Eigen::Index>(j)] + 1.0) / 2.0;
      truth.push_back(number->column.min + share * (number->column.max - number->column.min));
      said.push_back(predictions[j].value.value_or(0.0));
    }
    return describe(score_numbers(truth, said));
  }
  const auto* binary = std::get_if<data::BinaryLabel>(&schema.label);
  const std::vector<std::string> classes = binary != nullptr
                                               ? std::vector<std::string>{binary->negative, binary->positive}
                                               : std::get<data::ClassLabel>(schema.label).classes;
  std::vector<std::size_t> truth;
  std::vector<std::size_t> said;
  std::vector<double> scores;
  for (std::size_t j = 0; j < predictions.size(); ++j) {
    const double target = targets[static_cast<Eigen::Index>(j)];
    truth.push_back(binary != nullptr ? (target > 0.0 ? 1U : 0U) : static_cast<std::size_t>(target));
    said.push_back(predictions[j].said);
    if (binary != nullptr) scores.push_back(predictions[j].score);
  }
  return describe(score_classes(truth, said, classes.size(), scores), classes);
}

/// The records, with their labels where the file has them.
struct ReadRecords {
  models::Records records;
  RecordNames names;
  bool labelled = false;
  std::string why_not;  // where it is not
};

Result<ReadRecords> read_records(const PredictRequest& request, const data::Schema& schema) {
  data::CsvOptions options;
  options.dialect = request.dialect;
  if (!request.id.empty()) options.kept = request.id;
  const auto names = [&request](std::vector<std::string>&& ids) {
    return request.id.empty() ? RecordNames{} : RecordNames{request.id, std::move(ids)};
  };
  Result<data::TableRecords> labelled = data::read_csv(request.csv, schema, options);
  if (labelled) return ReadRecords{std::move(labelled->records), names(std::move(labelled->kept)), true, ""};
  options.with_label = false;
  UNDERTONE_TRY(data::TableRecords plain, data::read_csv(request.csv, schema, options));
  return ReadRecords{std::move(plain.records), names(std::move(plain.kept)), false,
                     labelled.error().message.substr(0, labelled.error().message.find('\n'))};
}

}  // namespace

int predict(const PredictRequest& request) {
  const Result<SavedModel> model = load_model(request.model);
  if (!model) return service::fail(model.error());
  if (model->moments) {
    return service::fail({ErrorCode::InvalidArgument,
                          fmt::format("{}: moments of features predict nothing; \"undertone components\" reads them",
                                      request.model.string())});
  }
  Result<ReadRecords> read = read_records(request, model->schema);
  if (!read) return service::fail(read.error());
  const Eigen::VectorXd targets = read->labelled ? read->records.targets : Eigen::VectorXd();
  if (model->projection) read->records = model->projection->project({std::move(read->records), {}}).training;
  const std::vector<Prediction> predictions = predictions_of(*model, read->records);
  // On standard error, so that standard output is predictions alone.
  if (!read->labelled) fmt::print(stderr, "not scored, since labels cannot be read: {}\n", read->why_not);
  const bool scored = read->labelled && !predictions.empty();
  for (const std::string& line : scored ? scores_of(model->schema, predictions, targets) : std::vector<std::string>())
    fmt::print(stderr, "{}\n", line);
  const std::string content = request.json ? as_json(predictions, read->names) : as_csv(predictions, read->names);
  if (request.out.empty() || request.out == "-") {
    fmt::print("{}", content);
    return service::kDone;
  }
  if (Status written = write_file_atomically(request.out, content); !written) return service::fail(written.error());
  fmt::print(stderr, "{} predictions in {}\n", predictions.size(), request.out.string());
  return service::kDone;
}

}  // namespace undertone::operators
