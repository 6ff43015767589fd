#include "lab/audit/audit_command.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/audit/person_pair.hpp"
#include "shared/base/files.hpp"
#include "shared/service/exit_code.hpp"
#include "silo/oracles/secure_randomness.hpp"

namespace undertone::lab {
namespace {

const char* to_string(PairShape shape) {
  switch (shape) {
    case PairShape::Crowd:
      return "crowd";
    case PairShape::Alone:
      return "alone";
    case PairShape::Holdout:
      return "holdout";
    case PairShape::Cancelling:
      return "cancelling";
    case PairShape::Outvoted:
      return "outvoted";
    case PairShape::Turning:
      return "turning";
    case PairShape::Extremes:
      return "extremes";
  }
  return "";
}

using Json = nlohmann::ordered_json;

constexpr const char* kWarning = "a lower bound on epsilon, found by experiment: never a privacy guarantee";

int report_canaries(const CanaryFinding& finding, double delta, bool json) {
  if (json) {
    const Json out = {{"method", "one run, canaries"},
                      {"canaries", finding.canaries},
                      {"guesses", finding.guesses},
                      {"correct", finding.correct},
                      {"epsilon_lower", finding.epsilon_lower},
                      {"confidence", 0.95},
                      {"delta", delta},
                      {"note", kWarning}};
    fmt::print("{}\n", out.dump(2));
    return service::kDone;
  }
  fmt::print("{} of {} guesses right about {} canaries: epsilon is at least {:.4g} at delta {:.3g} (95 %)\n{}\n",
             finding.correct, finding.guesses, finding.canaries, finding.epsilon_lower, delta, kWarning);
  return service::kDone;
}

/// What was found with one shape of neighbours.
struct ShapeFinding {
  const char* shape;
  AuditFinding finding;
  double reach;
};

/// @param findings at least one
int report_transcripts(const std::vector<ShapeFinding>& findings, const AuditRequest& request, releases::Unit unit) {
  // A claim of its own for each block: what is flagged comes first, then what is nearest to its claim.
  const auto nearer = [](const ShapeFinding& a, const ShapeFinding& b) {
    return a.finding.lower - a.finding.claimed < b.finding.lower - b.finding.claimed;
  };
  const ShapeFinding& worst = *std::max_element(findings.begin(), findings.end(), nearer);
  const AuditFinding& finding = worst.finding;
  const double reach = worst.reach;
  const int code = finding.flagged() ? service::kRefused : service::kDone;
  if (request.json) {
    const Json out = {{"method", "transcripts of neighbouring data sets"},
                      {"trials", request.settings.trials},
                      {"delta", request.settings.delta},
                      {"epsilon_claimed", finding.claimed},
                      {"epsilon_lower", finding.lower},
                      {"epsilon_lower_95", finding.lower_told},
                      {"error", request.settings.error},
                      {"sensitivity_reached", reach},
                      {"true_positives", finding.counts.true_positives},
                      {"false_positives", finding.counts.false_positives},
                      {"trials_judged", finding.counts.positives},
                      {"flagged", finding.flagged()},
                      {"note", kWarning}};
    Json whole = out;
    whole["shapes"] = Json::array();
    for (const ShapeFinding& one : findings) {
      whole["shapes"].push_back({{"shape", one.shape},
                                 {"epsilon_claimed", one.finding.claimed},
                                 {"epsilon_lower", one.finding.lower},
                                 {"sensitivity_reached", one.reach},
                                 {"flagged", one.finding.flagged()}});
    }
    fmt::print("{}\n", whole.dump(2));
    return code;
  }
  for (const ShapeFinding& one : findings) {
    fmt::print("{:10}  claimed {:.4g}, at least {:.4g}, {:.3g} of its largest influence reached{}\n", one.shape,
               one.finding.claimed, one.finding.lower, one.reach, one.finding.flagged() ? "  FLAGGED" : "");
  }
  fmt::print("claimed: epsilon {:.4g} at delta {:.3g}; the changed {} reaches {:.3g} of its largest influence\n",
             finding.claimed, request.settings.delta, releases::to_string(unit), reach);
  fmt::print("{} of {} against {} of {}: epsilon is at least {:.4g} (95 %), {:.4g} beyond doubt ({:.1g})\n",
             finding.counts.true_positives, finding.counts.positives, finding.counts.false_positives,
             finding.counts.negatives, finding.lower_told, finding.lower, request.settings.error);
  fmt::print(
      "{}\n{}\n",
      finding.flagged() ? "FLAGGED: the silo leaks more than its plan claims" : "nothing speaks against the claim",
      kWarning);
  return code;
}

/// Whether the worst pairs of a job are known.
Status check_known(const jobs::Job& job, bool canaries) {
  const algorithms::MethodTraits traits = job.algorithm->traits();
  const planning::Schedule schedule = jobs::schedule_of(job);
  const auto unknown = std::find_if(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
    const releases::QuestionKind kind = part.ask.kind();
    return kind != releases::QuestionKind::Gradient && kind != releases::QuestionKind::Metrics &&
           kind != releases::QuestionKind::Statistic;
  });
  const bool asks_more = unknown != schedule.end();
  if (asks_more || (job.model && (job.model->moments() != nullptr || traits.local_steps != 0 || job.projection))) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the audit knows the worst pairs for statistics, and for gradients of linear models and "
                             "networks whether they leave as sums or select, not for {} and {}{}{}",
                             job.model ? job.model->name() : "no model", job.algorithm->name(),
                             asks_more ? fmt::format(", which asks for \"{}\"", to_string(unknown->ask.kind())) : "",
                             job.projection ? ", of projected features" : "")};
  }
  if (std::any_of(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
        return part.ask.reports() != nullptr || part.ask.summed_reports() != nullptr;
      })) {
    return Error{
        ErrorCode::InvalidArgument,
        "the audit attacks answers that are made of many records: of a report of a single one the whole law is "
        "known, and local_reports_test enumerates it"};
  }
  if (std::any_of(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
        return part.ask.selects() && part.ask.candidates() == nullptr;
      })) {
    return Error{ErrorCode::InvalidArgument,
                 "the audit plays sums and selections of vertices: the law of a selection of totals is enumerated by "
                 "statistic_selection_test"};
  }
  const bool sums_of_linear =
      job.model && job.model->linear() != nullptr && std::holds_alternative<releases::L2Bound>(job.bound);
  if (canaries && job.unit == releases::Unit::Person)
    return Error{ErrorCode::InvalidArgument, "canaries are of records, one each: leave --canaries out"};
  if (canaries && !sums_of_linear) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("canaries are for sums of linear models' gradients, not for {} and {}: leave --canaries "
                             "out",
                             job.model ? job.model->name() : "no model", job.algorithm->name())};
  }
  return {};
}

}  // namespace

int run_audit(const AuditRequest& request) {
  const Result<std::string> bytes = read_file(request.job, jobs::kJobBytesMax);
  if (!bytes) return service::fail(bytes.error());
  const Result<jobs::Job> job = jobs::parse_job(*bytes, request.job.filename().string());
  if (!job) return service::fail(job.error());
  if (job->shuffle) {
    return service::fail(
        {ErrorCode::InvalidArgument,
         fmt::format("{}: what a shuffled job sends is not this silo's to audit alone: expected privacy.mode "
                     "isrl",
                     request.job.string())});
  }
  if (Status known = check_known(*job, request.canaries); !known) return service::fail(known.error());
  const jobs::CohortMember* member = &job->cohort.front();
  if (!request.silo.empty()) {
    const Result<SiloId> id = SiloId::create(request.silo);
    if (!id) return service::fail(id.error());
    member = job->member(*id);
    if (member == nullptr)
      return service::fail(
          {ErrorCode::InvalidArgument, fmt::format("the job's cohort has no silo \"{}\"", request.silo)});
  }
  const Result<planning::Plan> plan = jobs::plan_of(*job, *member);
  if (!plan) return service::fail(plan.error());
  const std::unique_ptr<AuditedSilo> silo =
      product_silo(*job, *bytes, *member, [] { return std::make_unique<silo::SecureRandomness>(); });
  if (request.canaries) {
    const double delta = plan->delta().value_rounded_up();
    const Result<CanaryFinding> finding = audit_canaries(*silo, *job, *member, delta, request.coins);
    return finding ? report_canaries(*finding, delta, request.json) : service::fail(finding.error());
  }
  // Each shape has its share of the error; the one that found more is told.
  AuditSettings settings = request.settings;
  const std::vector<PairShape> shapes = shapes_for(*job, *plan);
  settings.error /= static_cast<double>(shapes.size());
  settings.error_told /= static_cast<double>(shapes.size());
  std::vector<ShapeFinding> findings;
  for (const PairShape shape : shapes) {
    WorstPair pair = worst_pair(*job, *member, *plan, shape);
    if (job->person) pair = pair_of_persons(std::move(pair), worst_counts(*job->person));
    const Result<AuditFinding> finding = audit_transcripts(*silo, *plan, pair, settings);
    if (!finding) return service::fail(finding.error());
    findings.push_back({to_string(shape), *finding, pair.test->reach()});
  }
  return report_transcripts(findings, request, job->unit);
}

}  // namespace undertone::lab
