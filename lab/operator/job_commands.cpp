#include "lab/operator/job_commands.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/exit_code.hpp"
#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/config/job.hpp"
#include "shared/config/schema_section.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/privacy/gaussian_accountant.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

/// A job that is good as far as can be told without data, or the error that says what is not.
Result<config::Job> load_job(const std::filesystem::path& file) {
  const Result<std::string> bytes = read_file(file, config::kJobBytesMax);
  if (!bytes) return bytes.error();
  Result<config::Job> job = config::parse_job(*bytes, file.string());
  if (!job) return job.error();
  if (Status planned = config::check_plans(*job, file.string()); !planned) return planned.error();
  return job;
}

/// Noise variance of a coordinate of the weighted mean gradient: sum p_i^2 sigma_i^2.
double mean_noise_variance(const config::Job& job, const std::map<SiloId, privacy::Plan>& plans) {
  double weights = 0.0;
  for (const config::CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
  double variance = 0.0;
  for (const config::CohortMember& member : job.cohort) {
    for (const privacy::Plan::Segment& segment : plans.at(member.facts.silo).segments()) {
      if (segment.release.shape.kind != privacy::QuestionKind::Gradient) continue;
      const auto* gaussian = std::get_if<privacy::GaussianLattice>(&segment.release.mechanism);
      const double stddev =
          gaussian == nullptr ? 0.0 : gaussian->noise_stddev() / static_cast<double>(segment.release.records_drawn);
      const double share = static_cast<double>(member.weight) / weights;
      variance += share * share * stddev * stddev;
      break;
    }
  }
  return variance;
}

/// Payload bytes of a silo's replies and of the coordinator's queries to it, without framing.
std::pair<std::uint64_t, std::uint64_t> bytes_of(const config::Job& job, const privacy::Plan& plan) {
  const std::uint64_t reply_width = job.reply_lattice.type == queries::ReplyType::I32 ? 4 : 8;
  const std::uint64_t point_width = job.point_type == queries::PointType::F32 ? 4 : 8;
  std::uint64_t sent = 0;
  for (const privacy::Plan::Segment& segment : plan.segments())
    sent += segment.rounds * reply_width * static_cast<std::uint64_t>(segment.release.shape.dimension);
  std::uint64_t received = 0;
  for (const privacy::Plan::Segment& segment : plan.segments())
    received += segment.rounds * point_width *
                static_cast<std::uint64_t>(queries::point_size(segment.release.shape.kind, job.model.dimension()));
  return {sent, received};
}

std::uint64_t plan_rounds(const config::Job& job) {
  std::uint64_t rounds = 0;
  for (const privacy::ScheduledRounds& part : config::schedule_of(job)) rounds += part.rounds;
  return rounds;
}

/// Where a theorem gives it.
std::optional<double> predicted_excess_risk(const config::Job& job, double variance) {
  const auto* minibatch = std::get_if<algorithms::MinibatchSgdSettings>(&job.algorithm);
  if (minibatch == nullptr) return std::nullopt;
  return algorithms::MinibatchSgd::predicted_excess_risk(*minibatch, job.clip, variance);
}

const char* what_of(privacy::QuestionKind kind) {
  switch (kind) {
    case privacy::QuestionKind::Gradient:
      return "gradient mean";
    case privacy::QuestionKind::Metrics:
      return "evaluation";
    case privacy::QuestionKind::GradientDifference:
      return "difference mean";
  }
  return "";
}

Json releases_of(const privacy::Plan& plan) {
  std::vector<Json> out;
  for (const privacy::Plan::Segment& segment : plan.segments()) {
    const privacy::Release& release = segment.release;
    const auto* gaussian = std::get_if<privacy::GaussianLattice>(&release.mechanism);
    Json entry = {{"what", what_of(release.shape.kind)},
                  {"block", release.shape.block == privacy::Block::Training ? "training" : "holdout"},
                  {"times", segment.rounds},
                  {"numbers", release.shape.dimension},
                  {"records", release.records_drawn},
                  {"reads", release.shape.slice ? "own part"
                            : release.sampled() ? "fresh draw"
                                                : "all"},
                  {"clip_norm", release.shape.clip.value()},
                  {"public_records", gaussian == nullptr},
                  {"noise_stddev_of_mean",
                   gaussian == nullptr ? 0.0 : gaussian->noise_stddev() / static_cast<double>(release.records_drawn)},
                  {"noise_multiplier", gaussian == nullptr ? 0.0
                                                           : std::ldexp(1.0, gaussian->log2_stddev) /
                                                                 (2.0 * static_cast<double>(gaussian->lattice.clip))}};
    const auto same = [&entry](const Json& other) {
      for (const char* key : {"what", "block", "records", "reads", "noise_stddev_of_mean"}) {
        if (other.at(key) != entry.at(key)) return false;
      }
      return true;
    };
    const auto known = std::find_if(out.begin(), out.end(), same);
    if (known == out.end()) {
      out.push_back(std::move(entry));
    } else {
      (*known)["times"] = known->at("times").get<std::uint64_t>() + segment.rounds;
    }
  }
  return out;
}

}  // namespace

int validate_job(const std::filesystem::path& file, bool json) {
  const Result<config::Job> job = load_job(file);
  if (json) {
    Json problems = Json::array();
    if (!job) {
      const std::string message = job.error().message;
      std::string_view rest = message;
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        problems.push_back(std::string(rest.substr(0, end)));
        rest.remove_prefix(std::min(rest.size(), end + 1));
      }
    }
    fmt::print("{}\n", Json{{"valid", job.has_value()}, {"problems", std::move(problems)}}.dump(2));
    return job ? kDone : kRefused;
  }
  if (!job) return fail(job.error());
  const std::string digest = to_hex(sha256(*read_file(file, config::kJobBytesMax)));
  fmt::print("{}: good. \"{}\": {} silos, {} features, {} rounds. SHA-256 {}\n", file.string(), job->name,
             job->cohort.size(), job->model.features(), plan_rounds(*job), digest);
  return kDone;
}

int plan_job(const std::filesystem::path& file, bool json) {
  const Result<config::Job> job = load_job(file);
  if (!job) return fail(job.error());
  std::map<SiloId, privacy::Plan> plans;
  for (const config::CohortMember& member : job->cohort) {
    const Result<privacy::Plan> plan = config::plan_of(*job, member);
    if (!plan) return fail(plan.error());
    plans.emplace(member.facts.silo, *plan);
  }
  Json silos = Json::array();
  for (const config::CohortMember& member : job->cohort) {
    const privacy::Plan& plan = plans.at(member.facts.silo);
    const auto [sent, received] = bytes_of(*job, plan);
    silos.push_back({{"silo", member.facts.silo.name()},
                     {"records", member.facts.records},
                     {"epsilon", plan.epsilon().value_rounded_up()},
                     {"delta", plan.delta().value_rounded_up()},
                     {"rounds", plan.rounds()},
                     {"bytes_sent", sent},
                     {"bytes_received", received},
                     {"releases", releases_of(plan)}});
  }
  const double variance = mean_noise_variance(*job, plans);
  const std::optional<double> risk = predicted_excess_risk(*job, variance);
  const double dimension = static_cast<double>(job->model.dimension());
  const double signal_to_noise = job->clip.value() / std::sqrt(dimension * std::max(variance, 1e-300));
  if (json) {
    Json out = {{"job", job->name},
                {"accountant", plans.begin()->second.accountant()},
                {"mean_noise_stddev", std::sqrt(variance)},
                {"predicted_excess_risk", risk ? Json(*risk) : Json(nullptr)},
                {"silos", std::move(silos)}};
    fmt::print("{}\n", out.dump(2));
    return kDone;
  }
  fmt::print("\"{}\": {} model of {} numbers, {} silos, nothing has been sent yet\n", job->name,
             models::to_string(job->model.loss()), job->model.dimension(), job->cohort.size());
  for (const Json& silo : silos) {
    fmt::print("{}: {} records; epsilon {:.6g}, delta {:.3g} for each; {} answers, {} bytes out, {} in\n",
               silo["silo"].get<std::string>(), silo["records"].get<std::int64_t>(), silo["epsilon"].get<double>(),
               silo["delta"].get<double>(), silo["rounds"].get<std::uint64_t>(),
               silo["bytes_sent"].get<std::uint64_t>(), silo["bytes_received"].get<std::uint64_t>());
    for (const Json& release : silo["releases"]) {
      const std::string reads = release["reads"].get<std::string>();
      fmt::print("    {} x {} of {} numbers over {} {} records{}", release["times"].get<std::uint64_t>(),
                 release["what"].get<std::string>(), release["numbers"].get<std::int64_t>(),
                 release["records"].get<std::int64_t>(), release["block"].get<std::string>(),
                 reads == "own part"     ? ", each a part of its own"
                 : reads == "fresh draw" ? ", drawn afresh"
                                         : "");
      if (release["public_records"].get<bool>()) {
        fmt::print(", exact: declared public\n");
      } else {
        fmt::print(", clip {:.4g}, sigma of the mean {:.4g} (noise multiplier {:.4g})\n",
                   release["clip_norm"].get<double>(), release["noise_stddev_of_mean"].get<double>(),
                   release["noise_multiplier"].get<double>());
      }
    }
  }
  fmt::print(
      "noise of the weighted mean gradient: {:.4g} a coordinate; a gradient of the clip's length is {:.3g} times "
      "the noise's norm\n",
      std::sqrt(variance), signal_to_noise);
  if (risk) {
    fmt::print(
        "predicted excess risk: at most {:.4g} (projected SGD, as in the proof of Theorem 34; for a convex loss "
        "where no gradient is longer than the clip norm)\n",
        *risk);
  } else {
    fmt::print("predicted excess risk: none is stated for this algorithm, averaging or domain\n");
  }
  return kDone;
}

int predict(const std::filesystem::path& model_file, const std::filesystem::path& csv, const std::filesystem::path& out,
            bool json) {
  const Result<config::JsonDocument> document = config::load_json(model_file, std::size_t{16} << 20U);
  if (!document) return fail(document.error());
  config::Problems problems(model_file.string());
  config::Section root(document->root, "", problems);
  (void)root.choice<int>("format", {{"undertone.model/2", 2}}, "what this file is");
  const auto loss = root.choice<models::Loss>("kind", config::kLosses, "the loss");
  (void)root.text("job", "the job's name");
  (void)root.text("run", "the run it is of");
  const data::Schema schema = config::parse_schema(root.object("data", "what the model reads"));
  const std::vector<std::string> names = data::encoded_names(schema);
  Eigen::VectorXd weights(static_cast<Eigen::Index>(names.size()));
  Eigen::Index next = 0;
  for (config::Section section : root.objects("weights", names.size(), names.size(), "one for each encoded feature")) {
    const std::string name = section.text("feature", "its name");
    const double weight = section.number("weight", -1e300, 1e300, "its weight");
    if (name != names[static_cast<std::size_t>(next)])
      section.problem("feature",
                      fmt::format("expected \"{}\", in the schema's order", names[static_cast<std::size_t>(next)]));
    section.finish();
    weights[next++] = weight;
  }
  const double intercept = root.number("intercept", -1e300, 1e300, "added to the score");
  root.finish();
  if (!problems.none()) return fail(problems.error());

  data::CsvOptions options;
  options.with_label = false;
  const Result<data::CsvRecords> read = data::read_csv(csv, schema, options);
  if (!read) return fail(read.error());
  const Eigen::VectorXd scores = (read->records.features.transpose() * weights).array() + intercept;
  const auto* binary = std::get_if<data::BinaryLabel>(&schema.label);
  if (models::LinearLoss(loss).classifies() != (binary != nullptr)) {
    return fail({ErrorCode::InvalidConfig, fmt::format("{}: /kind: {} does not fit the label in /data",
                                                       model_file.string(), models::to_string(loss))});
  }
  const bool probabilities = binary != nullptr && loss == models::Loss::Logistic;
  std::string text = probabilities ? "record,probability,prediction\n" : "record,prediction\n";
  Json rows = Json::array();
  for (Eigen::Index j = 0; j < scores.size(); ++j) {
    if (binary != nullptr && loss == models::Loss::Hinge) {
      const std::string& label = scores[j] > 0.0 ? binary->positive : binary->negative;
      if (json) rows.push_back({{"record", j + 1}, {"prediction", label}});
      text += fmt::format("{},{}\n", j + 1, data::csv_cell(label));
    } else if (binary != nullptr) {
      const double probability = 1.0 / (1.0 + std::exp(-scores[j]));
      const std::string& label = scores[j] > 0.0 ? binary->positive : binary->negative;
      if (json) rows.push_back({{"record", j + 1}, {"probability", probability}, {"prediction", label}});
      text += fmt::format("{},{:.9g},{}\n", j + 1, probability, data::csv_cell(label));
    } else {
      const data::NumericColumn& column = std::get<data::NumericLabel>(schema.label).column;
      const double value = column.min + (scores[j] + 1.0) / 2.0 * (column.max - column.min);
      if (json) rows.push_back({{"record", j + 1}, {"prediction", value}});
      text += fmt::format("{},{:.9g}\n", j + 1, value);
    }
  }
  const std::string content = json ? rows.dump(2) + "\n" : text;
  if (out.empty() || out == "-") {
    fmt::print("{}", content);
    return kDone;
  }
  if (Status written = write_file_atomically(out, content); !written) return fail(written.error());
  fmt::print(stderr, "{} predictions in {}\n", scores.size(), out.string());
  return kDone;
}

}  // namespace undertone::lab
