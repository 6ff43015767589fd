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

Json canaries_json(const CanaryFinding& finding, double delta) {
  return {{"method", "one run, canaries"},
          {"canaries", finding.canaries},
          {"guesses", finding.guesses},
          {"correct", finding.correct},
          {"epsilon_lower", finding.epsilon_lower},
          {"confidence", 0.95},
          {"delta", delta},
          {"note", kWarning}};
}

void print_canaries(const CanaryFinding& finding, double delta) {
  fmt::print("{} of {} guesses right about {} canaries: epsilon is at least {:.4g} at delta {:.3g} (95 %)\n{}\n",
             finding.correct, finding.guesses, finding.canaries, finding.epsilon_lower, delta, kWarning);
}

/// What was found with one shape of neighbours.
struct ShapeFinding {
  const char* shape;
  AuditFinding finding;
  double reach;
};

/// Returns the shape to tell of. Each has a claim of its own: a flagged one comes first, then the nearest to its claim.
/// @param findings at least one
const ShapeFinding& worst_of(const std::vector<ShapeFinding>& findings) {
  const auto nearer = [](const ShapeFinding& a, const ShapeFinding& b) {
    return a.finding.lower - a.finding.claimed < b.finding.lower - b.finding.claimed;
  };
  return *std::max_element(findings.begin(), findings.end(), nearer);
}

Json transcripts_json(const std::vector<ShapeFinding>& findings, const AuditRequest& request) {
  const ShapeFinding& worst = worst_of(findings);
  const AuditFinding& finding = worst.finding;
  Json whole = {{"method", "transcripts of neighbouring data sets"},
                {"trials", request.settings.trials},
                {"delta", request.settings.delta},
                {"epsilon_claimed", finding.claimed},
                {"epsilon_lower", finding.lower},
                {"epsilon_lower_95", finding.lower_told},
                {"error", request.settings.error},
                {"sensitivity_reached", worst.reach},
                {"true_positives", finding.counts.true_positives},
                {"false_positives", finding.counts.false_positives},
                {"trials_judged", finding.counts.positives},
                {"flagged", finding.flagged()},
                {"note", kWarning}};
  whole["shapes"] = Json::array();
  for (const ShapeFinding& one : findings) {
    whole["shapes"].push_back({{"shape", one.shape},
                               {"epsilon_claimed", one.finding.claimed},
                               {"epsilon_lower", one.finding.lower},
                               {"sensitivity_reached", one.reach},
                               {"flagged", one.finding.flagged()}});
  }
  return whole;
}

void print_transcripts(const std::vector<ShapeFinding>& findings, const AuditRequest& request, releases::Unit unit) {
  const ShapeFinding& worst = worst_of(findings);
  const AuditFinding& finding = worst.finding;
  for (const ShapeFinding& one : findings) {
    fmt::print("{:10}  claimed {:.4g}, at least {:.4g}, {:.3g} of its largest influence reached{}\n", one.shape,
               one.finding.claimed, one.finding.lower, one.reach, one.finding.flagged() ? "  FLAGGED" : "");
  }
  fmt::print("claimed: epsilon {:.4g} at delta {:.3g}; the changed {} reaches {:.3g} of its largest influence\n",
             finding.claimed, request.settings.delta, releases::to_string(unit), worst.reach);
  fmt::print("{} of {} against {} of {}: epsilon is at least {:.4g} (95 %), {:.4g} beyond doubt ({:.1g})\n",
             finding.counts.true_positives, finding.counts.positives, finding.counts.false_positives,
             finding.counts.negatives, finding.lower_told, finding.lower, request.settings.error);
  fmt::print(
      "{}\n{}\n",
      finding.flagged() ? "FLAGGED: the silo leaks more than its plan claims" : "nothing speaks against the claim",
      kWarning);
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

/// This is what an audit found: either canaries or shapes are set.
struct Audited {
  releases::Unit unit = releases::Unit::Record;
  double delta = 0.0;  // of the plan
  std::optional<CanaryFinding> canaries;
  std::vector<ShapeFinding> shapes;
};

Result<Audited> audited(const AuditRequest& request, const std::string& text, const std::string& file) {
  UNDERTONE_TRY(const jobs::Job job, jobs::parse_job(text, std::filesystem::path(file).filename().string()));
  if (job.shuffle) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: what a shuffled job sends is not this silo's to audit alone: expected privacy.mode "
                             "isrl",
                             file)};
  }
  UNDERTONE_TRY(check_known(job, request.canaries));
  const jobs::CohortMember* member = &job.cohort.front();
  if (!request.silo.empty()) {
    UNDERTONE_TRY(const SiloId id, SiloId::create(request.silo));
    member = job.member(id);
    if (member == nullptr)
      return Error{ErrorCode::InvalidArgument, fmt::format("the job's cohort has no silo \"{}\"", request.silo)};
  }
  UNDERTONE_TRY(const planning::Plan plan, jobs::plan_of(job, *member));
  const std::unique_ptr<AuditedSilo> silo =
      product_silo(job, text, *member, [] { return std::make_unique<silo::SecureRandomness>(); });
  Audited out{job.unit, plan.delta().value_rounded_up(), std::nullopt, {}};
  if (request.canaries) {
    UNDERTONE_TRY(out.canaries, audit_canaries(*silo, job, *member, out.delta, request.coins));
    return out;
  }
  // Each shape has its share of the error; the one that found more is told.
  AuditSettings settings = request.settings;
  const std::vector<PairShape> shapes = shapes_for(job, plan);
  if (shapes.empty())
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} releases nothing of protected records: there is nothing to attack", job.algorithm->name())};
  settings.error /= static_cast<double>(shapes.size());
  settings.error_told /= static_cast<double>(shapes.size());
  for (const PairShape shape : shapes) {
    WorstPair pair = worst_pair(job, *member, plan, shape);
    if (job.person) pair = pair_of_persons(std::move(pair), worst_counts(*job.person));
    UNDERTONE_TRY(const AuditFinding finding, audit_transcripts(*silo, plan, pair, settings));
    out.shapes.push_back({to_string(shape), finding, pair.test->reach()});
  }
  return out;
}

Json to_json(const Audited& found, const AuditRequest& request) {
  return found.canaries ? canaries_json(*found.canaries, found.delta) : transcripts_json(found.shapes, request);
}

}  // namespace

Result<std::string> audit_of(const AuditRequest& request, const std::string& text, const std::string& file) {
  UNDERTONE_TRY(const Audited found, audited(request, text, file));
  return to_json(found, request).dump(2);
}

int run_audit(const AuditRequest& request) {
  const Result<std::string> text = read_file(request.job, jobs::kJobBytesMax);
  if (!text) return service::fail(text.error());
  const Result<Audited> found = audited(request, *text, request.job.string());
  if (!found) return service::fail(found.error());
  if (request.json) {
    fmt::print("{}\n", to_json(*found, request).dump(2));
  } else if (found->canaries) {
    print_canaries(*found->canaries, found->delta);
  } else {
    print_transcripts(found->shapes, request, found->unit);
  }
  return !found->canaries && worst_of(found->shapes).finding.flagged() ? service::kRefused : service::kDone;
}

}  // namespace undertone::lab
