#include "shared/jobs/metric_values.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "shared/jobs/group_metrics.hpp"

namespace undertone::jobs {
namespace {

constexpr double kSame = 0.005;       // a share of other answers below which a model says the same of every record
constexpr double kSameNoised = 0.02;  // the same where shares have noise, which is added to them
constexpr double kCap = 0.98;         // of what a loss is clipped at: beyond this it is nearly always there

using Named = std::vector<std::pair<std::string, double>>;
using Values = std::vector<double>;

/// What a model's metrics are called, with where each stands.
class Reading {
 public:
  Reading(const models::Model& model, const Values& values) : values_(&values) {
    const std::vector<std::string_view> names = model.metric_names();
    for (std::size_t m = 0; m < std::min(names.size(), values.size()); ++m) at_.emplace(names[m], m);
    named_ = names.size();
    detailed_ = model.detail().detailed();
  }
  [[nodiscard]] std::optional<double> of(std::string_view name) const {
    const auto found = at_.find(name);
    return found == at_.end() ? std::nullopt : std::optional((*values_)[found->second]);
  }
  /// Bins, from the first.
  [[nodiscard]] double bin(std::size_t place) const { return (*values_)[named_ + place]; }
  /// Whether these are the bins of a detailed evaluation, and so many.
  [[nodiscard]] bool has_bins(std::size_t bins) const {
    return detailed_ && bins > 0 && values_->size() == named_ + bins;
  }

 private:
  const Values* values_;
  std::map<std::string, std::size_t, std::less<>> at_;
  std::size_t named_ = 0;
  bool detailed_ = false;
};

std::size_t label_classes(const JobTerms& job) {
  const auto* label = std::get_if<data::ClassLabel>(&job.schema.label);
  return label == nullptr ? 0 : label->classes.size();
}

/// The probability that a record of the positive class has a larger score than one of the negative class, ties counting
/// one half, by bins. Source: the Mann-Whitney statistic.
std::optional<double> auc_of(const Reading& reading) {
  constexpr auto kBins = static_cast<std::size_t>(models::LinearModel::kScoreBins);
  if (!reading.has_bins(2 * kBins)) return std::nullopt;
  double negatives = 0.0;  // of the bins so far
  double positives = 0.0;
  double pairs = 0.0;
  for (std::size_t b = 0; b < kBins; ++b) {
    const double negative = reading.bin(b);
    const double positive = reading.bin(kBins + b);
    pairs += positive * (negatives + negative / 2.0);
    negatives += negative;
    positives += positive;
  }
  if (!(negatives > 0.0) || !(positives > 0.0)) return std::nullopt;
  const double out = pairs / (negatives * positives);
  return out >= 0.0 && out <= 1.0 ? std::optional(out) : std::nullopt;
}

/// [truth][said], nothing where the evaluation is not detailed.
std::optional<std::vector<Values>> shares_of(const JobTerms& job, const Reading& reading) {
  const std::optional<double> accuracy = reading.of("accuracy");
  const std::optional<double> positive = reading.of("positive_share");
  const std::optional<double> said = reading.of("predicted_positive_share");
  if (accuracy && positive && said) {
    // accuracy = both + neither, and neither = 1 - positive - said + both.
    const double both = (*accuracy + *positive + *said - 1.0) / 2.0;
    return std::vector<Values>{{1.0 - *positive - *said + both, *said - both}, {*positive - both, both}};
  }
  const std::size_t classes = label_classes(job);
  if (!reading.has_bins(classes * classes)) return std::nullopt;
  std::vector<Values> out(classes);
  for (std::size_t place = 0; place < classes * classes; ++place) out[place / classes].push_back(reading.bin(place));
  return out;
}

/// Of several classes, by the confusion table.
std::optional<double> largest_class(const JobTerms& job, const Reading& reading) {
  const std::size_t classes = label_classes(job);
  if (!reading.has_bins(classes * classes)) return std::nullopt;
  double largest = 0.0;
  for (std::size_t truth = 0; truth < classes; ++truth) {
    double share = 0.0;
    for (std::size_t said = 0; said < classes; ++said) share += reading.bin(truth * classes + said);
    largest = std::max(largest, share);
  }
  return largest;
}

/// Of a number's label, from shares of its public range to its own unit.
void put_of_number(const data::NumericColumn& column, const Reading& reading, Named& out) {
  if (!reading.of("squared_error")) return;
  const double range = column.max - column.min;
  const double squared = *reading.of("squared_error");
  const double mean = *reading.of("label_mean");
  const double variance = *reading.of("label_square_mean") - mean * mean;
  const double said = *reading.of("prediction_mean");
  const double said_variance = *reading.of("prediction_square_mean") - said * said;
  if (squared >= 0.0) out.emplace_back("rmse", range * std::sqrt(squared));
  out.emplace_back("mae", range * *reading.of("absolute_error"));
  if (variance > 0.0) out.emplace_back("r_squared", 1.0 - squared / variance);
  out.emplace_back("label_mean", column.min + range * mean);
  if (variance >= 0.0) out.emplace_back("label_stddev", range * std::sqrt(variance));
  // Of equal predictions the difference of two roundings of the same number may be below 0.
  if (said_variance > -1e-12) out.emplace_back("prediction_stddev", range * std::sqrt(std::max(said_variance, 0.0)));
}

/// The metrics that have names, and what follows from them.
Named of_names(const JobTerms& job, const Values& values) {
  const Reading reading(*job.model, values);
  const auto* number = std::get_if<data::NumericLabel>(&job.schema.label);
  Named out;
  for (const char* name : {"loss", "accuracy", "positive_share", "predicted_positive_share", "zero_model_loss"}) {
    if (const std::optional<double> value = reading.of(name)) out.emplace_back(name, *value);
  }
  if (const std::optional<double> positive = reading.of("positive_share"))
    out.emplace_back("majority_class_accuracy", std::max(*positive, 1.0 - *positive));
  if (number != nullptr) put_of_number(number->column, reading, out);
  return out;
}

std::optional<double> value_named(const Named& values, std::string_view name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& pair) { return pair.first == name; });
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

const MetricValue* value_named(const std::vector<MetricValue>& values, std::string_view name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.name == name; });
  return found == values.end() ? nullptr : &*found;
}

/// One metric's part in the variance of what follows from it, to first order: noise is independent from metric to
/// metric, so the variance is sum_m (df/dv_m)^2 s_m^2. Each difference is over one deviation, so that a kink such as
/// that of a largest class counts as what it does there.
double moved_square(double value, std::optional<double> up, std::optional<double> down) {
  return std::pow(std::max(std::abs(up.value_or(value) - value), std::abs(value - down.value_or(value))), 2);
}

double reach(const MetricValue& value) { return kQuantile * value.noise_stddev.value_or(0.0); }

std::string with_reach(double value, double reach) {
  return reach > 0.0 ? fmt::format("{:.4g} (± {:.2g})", value, reach) : fmt::format("{:.4g}", value);
}

/// How the model's number compares with that of a model that knows nothing.
/// @param gain > 0: the model is better @param reach of the gain's noise
/// @param other what a model says that knows nothing, and how good that is
/// @param hidden what the noise hides
std::string compared(double gain, double reach, const std::string& other, const std::string& hidden) {
  if (std::abs(gain) <= 1e-12 && reach == 0.0) return "exactly as good as " + other;
  if (std::abs(gain) > reach) return (gain > 0.0 ? "better than " : "worse than ") + other;
  return fmt::format("cannot be told from {}: {}; with more held out, or a larger epsilon, smaller ones would show",
                     other, hidden);
}

std::string compared(double gain, double reach, const std::string& other) {
  return compared(gain, reach, other, fmt::format("noise hides differences below {:.2g}", reach));
}

/// A logistic model that says less of the chances than one half for everybody does.
void judge_chances(const JobTerms& job, const std::vector<MetricValue>& values, std::vector<std::string>& out) {
  const models::LinearModel* linear = job.model->linear();
  const MetricValue* loss = value_named(values, "loss");
  if (linear == nullptr || linear->loss() != models::Loss::Logistic || loss == nullptr) return;
  if (loss->value - reach(*loss) <= std::numbers::ln2) return;
  out.push_back(fmt::format(
      "loss {}: above {:.4g}, of saying 1/2 of everybody: what it calls a probability ranks records, and is none",
      with_reach(loss->value, reach(*loss)), std::numbers::ln2));
}

void judge_classifier(const JobTerms& job, const algorithms::MetricsRow& row, const std::vector<MetricValue>& values,
                      std::vector<std::string>& out) {
  const MetricValue* accuracy = value_named(values, "accuracy");
  const MetricValue* largest = value_named(values, "majority_class_accuracy");
  if (accuracy != nullptr && largest != nullptr) {
    const double both = std::hypot(reach(*accuracy), reach(*largest));
    out.push_back(fmt::format("accuracy {}: {}", with_reach(accuracy->value, reach(*accuracy)),
                              compared(accuracy->value - largest->value, both,
                                       fmt::format("always saying the largest class, {:.4g}", largest->value))));
  }
  const std::optional<ConfusionTable> table = confusion_table(job, row);
  if (!table) return;
  const double noise =
      kQuantile * std::sqrt(static_cast<double>(table->labels.size())) * table->noise_stddev.value_or(0.0);
  for (std::size_t said = 0; said < table->labels.size(); ++said) {
    double others = 1.0;
    for (const Values& truth : table->shares) others -= truth[said];
    if (others + noise > (noise > 0.0 ? kSameNoised : kSame)) continue;  // where noise may hide others, nothing is said
    out.push_back(fmt::format("it says \"{}\" of {} record: a constant prediction", table->labels[said],
                              others <= 0.0 && noise == 0.0 ? "every" : "nearly every"));
    break;
  }
}

void judge_regression(const JobTerms& job, const algorithms::MetricsRow& row, const std::vector<MetricValue>& values,
                      std::vector<std::string>& out) {
  const MetricValue* rmse = value_named(values, "rmse");
  const MetricValue* deviation = value_named(values, "label_stddev");
  if (rmse == nullptr || deviation == nullptr) {
    const MetricValue* loss = value_named(values, "loss");
    const MetricValue* zero = value_named(values, "zero_model_loss");
    if (loss == nullptr || zero == nullptr) return;
    out.push_back(
        fmt::format("loss {}: {}", with_reach(loss->value, reach(*loss)),
                    compared(zero->value - loss->value, std::hypot(reach(*loss), reach(*zero)),
                             fmt::format("always saying the middle of the label's bounds, {:.4g}", zero->value))));
    return;
  }
  // The labels' variance less the squared error: its noise is known exactly but for a square, where that of a ratio or
  // of roots is not.
  const Reading reading(*job.model, row.values);
  const double mean = *reading.of("label_mean");
  const double variance = *reading.of("label_square_mean") - mean * mean;
  const double gain = variance - *reading.of("squared_error");
  const double gain_reach = kQuantile * row.noise_stddev * std::sqrt(2.0 + 4.0 * mean * mean);
  const double hidden = variance > 0.0 ? gain_reach / variance : 1.0;
  const MetricValue* explained = value_named(values, "r_squared");
  const std::string other = fmt::format("always saying the mean, {:.4g}", deviation->value);
  out.push_back(fmt::format(
      "RMSE {}: {}{}", with_reach(rmse->value, reach(*rmse)),
      compared(gain, gain_reach, other,
               hidden < 1.0 ? fmt::format("noise hides an R^2 below {:.2g}", hidden)
                            : std::string("the noise is as large as the labels' variance")),
      explained == nullptr ? "" : fmt::format(" (R^2 {})", with_reach(explained->value, reach(*explained)))));
  const MetricValue* spread = value_named(values, "prediction_stddev");
  // Where noise may hide how predictions differ, nothing is said.
  if (spread != nullptr && spread->value + reach(*spread) <= (reach(*spread) > 0.0 ? 0.05 : 0.01) * deviation->value)
    out.push_back("it says nearly the same of every record: a constant prediction");
}

}  // namespace

std::vector<MetricValue> metric_values(const JobTerms& job, const algorithms::MetricsRow& row) {
  std::vector<MetricValue> out;
  if (!job.model || row.values.size() != job.model->metric_scales().size()) return out;
  const bool noised = row.noise_stddev > 0.0;
  const std::vector<double> scales = job.model->metric_scales();
  const Named values = of_names(job, row.values);
  for (const auto& [name, value] : values) out.push_back({name, value, std::nullopt});
  Values moved = row.values;
  if (noised) {
    std::vector<double> variances(values.size(), 0.0);
    for (std::size_t m = 0; m < job.model->metric_names().size(); ++m) {
      moved[m] = row.values[m] + scales[m] * row.noise_stddev;
      const Named up = of_names(job, moved);
      moved[m] = row.values[m] - scales[m] * row.noise_stddev;
      const Named down = of_names(job, moved);
      moved[m] = row.values[m];
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto& [name, value] = values[i];
        variances[i] += moved_square(value, value_named(up, name), value_named(down, name));
      }
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i].noise_stddev = std::sqrt(variances[i]);
  }
  const Reading reading(*job.model, row.values);
  if (const std::optional<double> largest = largest_class(job, reading)) {
    MetricValue& one = out.emplace_back(MetricValue{"majority_class_accuracy", *largest, std::nullopt});
    if (noised) one.noise_stddev = row.noise_stddev * std::sqrt(static_cast<double>(label_classes(job)));
  }
  if (const std::optional<double> auc = auc_of(reading)) {
    MetricValue& one = out.emplace_back(MetricValue{"auc", *auc, std::nullopt});
    double variance = 0.0;
    for (std::size_t m = job.model->metric_names().size(); noised && m < moved.size(); ++m) {
      moved[m] = row.values[m] + row.noise_stddev;
      const std::optional<double> up = auc_of(Reading(*job.model, moved));
      moved[m] = row.values[m] - row.noise_stddev;
      variance += moved_square(*auc, up, auc_of(Reading(*job.model, moved)));
      moved[m] = row.values[m];
    }
    if (noised) one.noise_stddev = std::sqrt(variance);
  }
  if (const std::optional<GroupTables> groups = group_tables(job, row)) {
    for (MetricValue& gap : group_gaps(*groups)) out.push_back(std::move(gap));
  }
  return out;
}

std::optional<ConfusionTable> confusion_table(const JobTerms& job, const algorithms::MetricsRow& row) {
  if (!job.model || row.values.size() != job.model->metric_scales().size()) return std::nullopt;
  std::optional<std::vector<Values>> shares = shares_of(job, Reading(*job.model, row.values));
  if (!shares) return std::nullopt;
  ConfusionTable out;
  out.shares = *std::move(shares);
  if (const auto* binary = std::get_if<data::BinaryLabel>(&job.schema.label)) {
    out.labels = {binary->negative, binary->positive};
    // A share is half of the sum of three metrics of scale 1.
    if (row.noise_stddev > 0.0) out.noise_stddev = std::sqrt(3.0) / 2.0 * row.noise_stddev;
  } else {
    out.labels = std::get<data::ClassLabel>(job.schema.label).classes;
    if (row.noise_stddev > 0.0) out.noise_stddev = row.noise_stddev;
  }
  return out;
}

std::vector<std::string> verdicts(const JobTerms& job, const algorithms::MetricsRow& row) {
  std::vector<std::string> out;
  const std::vector<MetricValue> values = metric_values(job, row);
  if (values.empty() || job.model->moments() != nullptr) return out;
  if (job.model->classifies()) {
    judge_classifier(job, row, values, out);
  } else {
    judge_regression(job, row, values, out);
  }
  const double cap = job.model->metric_scales().front();
  if (const std::optional<GroupTables> groups = group_tables(job, row)) {
    for (std::string& sentence : group_verdicts(*groups)) out.push_back(std::move(sentence));
  }
  if (const MetricValue* loss = value_named(values, "loss");
      loss != nullptr && loss->value - reach(*loss) > kCap * cap) {
    out.push_back(
        fmt::format("its loss is {:.4g}, and losses are counted up to {:.4g}: it has diverged; shorter steps, "
                    "or a smaller domain, may help",
                    loss->value, cap));
  } else {
    judge_chances(job, values, out);
  }
  if (job.person && !out.empty()) {
    const std::int64_t most = job.one_record_evaluated ? 1 : job.person->records_max;
    out.push_back(fmt::format("these numbers are of persons, of whom each counts once: {}",
                              most == 1
                                  ? std::string("by one of her records, drawn at random")
                                  : fmt::format("by the mean over {} of her records at most, drawn at random", most)));
  }
  return out;
}

std::string shown_values(const std::vector<MetricValue>& values) {
  std::string out;
  for (const MetricValue& one : values) {
    out += fmt::format("  {} {:.4f}", one.name, one.value);
    if (one.noise_stddev) out += fmt::format(" ± {:.4f}", reach(one));
  }
  return out;
}

}  // namespace undertone::jobs
