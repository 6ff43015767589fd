#include "lab/draft/draft_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>

#include "operator/provision.hpp"
#include "shared/base/digest.hpp"
#include "shared/base/files.hpp"
#include "shared/config/json_section.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/jobs/schema_section.hpp"
#include "shared/models/public_loss.hpp"
#include "shared/service/clock.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

/// "clinic-1=400+100", "clinic-1=400+100+20"
Result<DraftFacts::Member> parse_member(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t plus = text.find('+', equals == std::string::npos ? 0 : equals);
  const auto count = [](const std::string& digits) -> std::int64_t {
    if (digits.empty() || digits.size() > 12 || digits.find_first_not_of("0123456789") != std::string::npos) return 0;
    return std::stoll(digits);
  };
  DraftFacts::Member out;
  if (equals != std::string::npos && plus != std::string::npos) {
    out.silo = text.substr(0, equals);
    out.records = count(text.substr(equals + 1, plus - equals - 1));
    const std::size_t more = text.find('+', plus + 1);
    out.holdout_records = count(text.substr(plus + 1, more == std::string::npos ? more : more - plus - 1));
    if (more != std::string::npos) out.public_records = count(text.substr(more + 1));
    if (more != std::string::npos && out.public_records == 0) out.records = 0;
  }
  if (out.records == 0 || out.holdout_records == 0)
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("--cohort: expected NAME=RECORDS+HOLDOUT, such as clinic-1=400+100, or with public records "
                    "NAME=RECORDS+HOLDOUT+PUBLIC, got \"{}\"",
                    text)};
  if (const Result<SiloId> silo = SiloId::create(out.silo); !silo)
    return Error{ErrorCode::InvalidArgument, "--cohort: " + silo.error().message};
  return out;
}

/// Reads the file once, as the coordinator will: whether the schema reads it, and how many records it holds.
Result<DraftFacts::OpenFile> open_file_of(const std::filesystem::path& file, const data::Schema& schema) {
  Sha256 digest;
  data::CsvOptions options;
  options.bytes = [&](std::string_view part) { digest.update(part); };
  options.records_max = models::PublicLoss::kNumbersMax / static_cast<std::int64_t>(data::encoded_width(schema) + 1);
  Result<data::TableRecords> read = data::read_csv(file, schema, options);
  if (!read) return Error{read.error().code, fmt::format("--public: {}", read.error().message)};
  return DraftFacts::OpenFile{file.filename().string(), digest.finish(), read->records.targets.size()};
}

/// Takes what a draft needs that buys the clip of its gradients.
Status take_wide_bounds(const DraftRequest& request, DraftFacts& facts) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::InvalidArgument, std::move(why)}; };
  if (request.label_guess && !request.wide_bounds) return refuse("--label-guess: expected none without --wide-bounds");
  if (!request.wide_bounds) return {};
  const auto* numeric = std::get_if<data::NumericLabel>(&facts.schema.label);
  if (numeric == nullptr)
    return refuse(
        "--wide-bounds: expected a label that is a number: no gradient of a classifier is longer than its "
        "record, and so there is nothing to buy");
  if (request.persons)
    return refuse("--wide-bounds: expected records, not persons: the lengths that a bound is bought of are records'");
  if (!request.open_records.empty() || facts.public_records() > 0)
    return refuse("--wide-bounds: expected no public records: they tell how long gradients are, at no cost");
  if (request.label_guess &&
      !(*request.label_guess >= numeric->column.min && *request.label_guess <= numeric->column.max))
    return refuse(fmt::format("--label-guess: expected a number within the label's bounds, from {} to {}, got {}",
                              numeric->column.min, numeric->column.max, *request.label_guess));
  facts.wide_bounds = true;
  facts.label_guess = request.label_guess;
  return {};
}

/// The name says what a draft predicts, and on which day it was made.
std::string name_of_draft(const data::Schema& schema) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string day =
      service::utc_time(std::chrono::duration_cast<std::chrono::seconds>(now).count()).substr(0, 10);
  constexpr std::size_t kShown = 200;  // bytes of a label's name: a job's name is no longer than other texts
  const std::string label = data::label_column(schema);
  return fmt::format("{}-{}", label.size() <= kShown ? label : "draft", day);
}

}  // namespace

Result<DraftFacts> facts_of(const DraftRequest& request) {
  UNDERTONE_TRY(const std::string text, read_file(request.schema, jobs::kJobBytesMax));
  return facts_of(request, text);
}

Result<DraftFacts> facts_of(const DraftRequest& request, const std::string& text) {
  UNDERTONE_TRY(const config::JsonDocument document, config::parse_json(text, request.schema.string()));
  const bool inside = document.root.is_object() && document.root.contains("data");
  const Json ordered = Json::parse(text);  // again, in the order of the file
  UNDERTONE_TRY(jobs::check_bounds_said(inside ? ordered.at("data") : ordered, request.schema.string()));
  config::Problems problems(request.schema.string());
  data::Schema schema = jobs::parse_schema(
      config::Section(inside ? document.root.at("data") : document.root, inside ? "/data" : "", problems));
  if (!problems.none()) return problems.error();
  const std::string name = request.name.empty() ? name_of_draft(schema) : request.name;
  DraftFacts facts{name, inside ? ordered.at("data") : ordered, std::move(schema), {}};
  if (request.person_records_max < 1 || request.person_records_max > releases::kPersonRecordsMax)
    return Error{ErrorCode::InvalidArgument, fmt::format("--records-max: expected 1 to {}, got {}",
                                                         releases::kPersonRecordsMax, request.person_records_max)};
  if (request.persons) facts.person_records_max = request.person_records_max;
  if (request.cohort.empty()) return Error{ErrorCode::InvalidArgument, "--cohort: expected at least one silo"};
  for (const std::string& entry : request.cohort) {
    UNDERTONE_TRY(DraftFacts::Member member, parse_member(entry));
    member.holdout_public = request.holdout_public;
    member.epsilon = request.epsilon;
    // No more than a new silo's policy allows, so that the owner of a small one need not change it.
    member.delta = request.delta.value_or(std::min(drafted_delta(member.records), operators::kNewPolicyDeltaMax));
    facts.cohort.push_back(std::move(member));
  }
  UNDERTONE_TRY(take_wide_bounds(request, facts));
  if (!request.open_records.empty()) {
    UNDERTONE_TRY(facts.open_file, open_file_of(request.open_records, facts.schema));
  }
  const bool brought = facts.open_file || facts.public_records() > 0;
  if (brought && std::holds_alternative<data::ClassLabel>(facts.schema.label))
    return Error{
        ErrorCode::InvalidArgument,
        "public records: expected none with a label of several values: a draft does not choose their weight there"};
  if (request.persons && facts.public_records() > 0)
    return Error{ErrorCode::InvalidArgument, "--cohort: silos of persons have no public records"};
  return facts;
}

std::vector<std::string> reasons_of(const DraftFacts& facts, const Tuned& tuned, bool delta_given) {
  const DraftChoice& choice = tuned.choice;
  const bool classifies = !std::holds_alternative<data::NumericLabel>(facts.schema.label);
  std::int64_t records = 0;
  double delta = 0.0;
  for (const DraftFacts::Member& member : facts.cohort) {
    records += member.records;
    delta = std::max(delta, member.delta * static_cast<double>(member.records));
  }
  const char* units = facts.person_records_max ? "persons" : "records";
  std::vector<std::string> out;
  out.push_back(fmt::format(
      "chosen by {} runs on invented records, drawn from the schema's public bounds with the noise of this cohort's "
      "plans ({} of its {} {}, with as much noise on their mean). No data were read: it cost no privacy",
      tuned.runs, tuned.simulated_records, records, units));
  for (const FamilyScore& score : tuned.families)
    out.push_back(
        fmt::format("  on {}: {} {:.3f}; without a model {:.3f}; the settings that are best for it alone {:.3f}",
                    score.family, classifies ? "wrong" : "error", score.error, score.trivial, score.best));
  out.emplace_back("  your data are not these: what the run reaches is known after it");
  out.push_back(fmt::format("epsilon {:.6g} as you asked, for every silo", facts.cohort.front().epsilon));
  if (facts.person_records_max) {
    out.push_back(
        fmt::format("unit: a person with all of her records; {} of them count at most, drawn afresh for each round. "
                    "Invented persons have three records in the median. Whoever is at several silos is promised less, "
                    "by all of them together: `undertone plan` says how much",
                    *facts.person_records_max));
  } else {
    out.emplace_back(
        "unit: a record. If a person has several records, the promise is to each of them and a weaker one to her, of k "
        "records about k times epsilon: --persons protects her as a whole");
  }
  if (!delta_given) {
    out.push_back(
        fmt::format("delta: at most a hundredth of one in a silo's {}, so that it is far below publishing one at "
                    "random; each owner has to agree",
                    units));
  } else if (100.0 * delta > 1.0) {
    out.push_back(
        fmt::format("delta: as you asked, and NOT far below one in a silo's {} ({:.2g} of it): at most a "
                    "hundredth is advised",
                    units, delta));
  }
  out.push_back(
      fmt::format("clip_norm {:.3g}: records are up to {:.3g} long within the bounds, and a gradient is that times how "
                  "wrong the model is; what is longer "
                  "is cut, and the noise is smaller for it",
                  choice.clip, jobs::record_norm(models::LinearModel(models::Loss::Logistic, 1, true), facts.schema)));
  if (choice.centre != 0.0)
    out.push_back(
        fmt::format("standardisation: columns that cannot be negative are expected {:.3g} of the way from zero to "
                    "their upper bound, "
                    "and counted from there; a guess that reads no data. A silo's policy has to allow \"projections\"",
                    0.5 * (1.0 + choice.centre)));
  out.push_back(
      fmt::format("domain: a ball of radius {:.3g}{}", choice.radius,
                  choice.radius < choice.path ? ", which did better than none" : ", wide enough not to matter"));
  out.push_back(choice.strength > 0.0
                    ? fmt::format("regulariser: l2 of {:.3g}, which did better than none", choice.strength)
                    : "regulariser: none did better");
  out.push_back(fmt::format(
      "noisy_minibatch_sgd on whole batches, {} rounds, steps of {:.3g}: {}{}", choice.rounds, choice.step_size(),
      choice.cosine ? "falling as a cosine, the last iterate" : "constant, the mean of the last half of the iterates",
      choice.momentum > 0.0 ? ", with momentum" : ""));
  if (facts.open_file)
    out.push_back(
        fmt::format("public: the {} records of \"{}\" start the run. They enter its steps at a weight that is found "
                    "when it begins. "
                    "Put the file into the coordinator's "
                    "public_folder. The numbers above were chosen without it. `undertone "
                    "advise` "
                    "says what it is worth",
                    facts.open_file->records, facts.open_file->name));
  if (facts.public_records() > 0)
    out.push_back(fmt::format(
        "public: the silos answer for their {} public records besides, exactly. {}", facts.public_records(),
        facts.open_file ? "They count like those of the file"
                        : "Their weight in a step is what varies least where a gradient varies by as much as clip_norm "
                          "allows"));
  const std::size_t silos = facts.cohort.size();
  const std::size_t spare = silos - drafted_quorum(silos);
  out.push_back(fmt::format("quorum {} of {}: {}; a week to join, since owners have to look, ten minutes a round",
                            drafted_quorum(silos), silos,
                            spare == 0   ? std::string("the run ends if a silo is away when a round's deadline passes")
                            : spare == 1 ? std::string("one silo that is away does not end the run")
                                         : fmt::format("{} silos that are away do not end the run", spare)));
  out.emplace_back(
      "replies in 32 bits, one unit a 32nd of the noise or less, and as fine as they hold: rounding is lost in it");
  if (!facts.cohort.front().holdout_public)
    out.emplace_back("evaluated once, after the last step: the holdouts are private, so it is noised and charged");
  return out;
}

bool learns(const Tuned& tuned) {
  constexpr double kClearly = 0.99;
  double error = 0.0;
  double trivial = 0.0;
  for (const FamilyScore& score : tuned.families) {
    error += score.error;
    trivial += score.trivial;
  }
  return error < kClearly * trivial;
}

std::string idle_draft_warning(const DraftFacts& facts,
                               const std::function<Result<Tuned>(const DraftFacts&)>& tune_again) {
  std::string out =
      "WARNING: on the invented records the model is no better than always saying the same, so the run would spend its "
      "budget for nothing. ";
  int tried = 1;
  for (const int times : kEpsilonMore) {
    DraftFacts more = facts;
    for (DraftFacts::Member& member : more.cohort) member.epsilon *= times;
    const Result<Tuned> tuned = tune_again(more);
    if (!tuned) break;  // a silo is promised no more than so much
    tried = times;
    if (learns(*tuned))
      return out + fmt::format(
                       "With {} times the epsilon it would be better. More records do the same: noise falls as their "
                       "number times epsilon grows",
                       times);
  }
  return tried == 1 ? out + "More records, or a larger epsilon, are needed"
                    : out + fmt::format("It is no better with {} times the epsilon", tried);
}

bool prefers_moments(const Tuned& tuned) {
  return tuned.moments_error && tuned.chosen_error && *tuned.moments_error < *tuned.chosen_error;
}

namespace {

/// Beside a draft: "job-moments.json" of "job.json", or "job-bound.json".
std::filesystem::path first_file(const std::filesystem::path& out, const Tuned& tuned) {
  std::filesystem::path file = out;
  const char* what = tuned.choice.bought_bound > 0.0 ? "bound" : "moments";
  return file.replace_filename(fmt::format("{}-{}{}", out.stem().string(), what, out.extension().string()));
}

/// Says what the two jobs of a draft with wide bounds are for.
void say_of_bound(const DraftRequest& request, const Tuned& tuned) {
  const std::filesystem::path first = first_file(request.out, tuned);
  fmt::print(
      stderr,
      "wide bounds: {}, which runs first, pays {:.3g} % of epsilon and delta for how long the records' gradients "
      "are. Then:\n"
      "  undertone moment-bound RESULT-OF-{} --for {} --job READY.json --fit-steps, which is the job to "
      "submit: the clip follows from the bound in place of the one above, and the steps follow from the clip. A silo's "
      "policy has to allow \"statistics\"\n",
      first.string(), 100.0 * tuned.choice.bought_bound, first.stem().string(), request.out.string());
}

/// What was weighed against what, of buying moments first or of asking for nothing but them.
void say_of_moments(const DraftRequest& request, const Tuned& tuned) {
  const bool to_file = !request.out.empty() && request.out != "-";
  if (tuned.choice.bought > 0.0) {
    const std::filesystem::path first = first_file(request.out, tuned);
    fmt::print(
        stderr,
        "standardisation: bought with {:.3g} % of epsilon and delta, by {}, which runs first: on the invented records "
        "that did better ({:.3f} against {:.3f} in the coarse search). Then:\n"
        "  undertone standardisation RESULT-OF-{} {} --job READY.json, which is the job to submit. A silo's "
        "policy has to allow \"statistics\" and \"projections\"\n",
        100.0 * tuned.choice.bought, first.string(), tuned.bought_error.value_or(0.0), tuned.plain_error.value_or(0.0),
        first.stem().string(), request.out.string());
  } else if (tuned.bought_error && tuned.plain_error) {
    fmt::print(stderr, "standardisation: buying means and variances first did not pay ({:.3f} against {:.3f})\n",
               *tuned.bought_error, *tuned.plain_error);
  } else if (!to_file) {
    fmt::print(stderr, "standardisation: none is bought, since that takes two jobs: with --out it is looked at\n");
  }
  if (prefers_moments(tuned)) return;
  if (tuned.moments_error) {
    fmt::print(stderr, "least squares from noised moments: worse on the invented records ({:.3f} against {:.3f})\n",
               *tuned.moments_error, *tuned.chosen_error);
  } else if (tuned.chosen_error) {
    fmt::print(stderr, "least squares from noised moments: these records carry no coefficients at this epsilon\n");
  }
}

/// Says what a job of statistics in place of a descent is.
void say_of_regression(const DraftRequest& request, const Tuned& tuned) {
  fmt::print(
      stderr,
      "a regression from noised moments, one release at all that is promised: on the invented records it did better "
      "than descents ({:.3f} against {:.3f}). No data were read: it cost no privacy\n"
      "  then: undertone regression-model RESULT.json {} --out model.json, which predicts like any other\n",
      *tuned.moments_error, *tuned.chosen_error, request.out.string());
}

}  // namespace

Result<Draft> draft_job(DraftFacts facts, std::uint64_t seed, bool delta_given, bool may_buy,
                        const std::function<void(const std::string&)>& watch) {
  // Before a minute is spent: whether any job of these facts can be planned.
  UNDERTONE_TRY(drafted_job(facts, {}));
  // A standardisation is bought by a job of its own, before which nothing starts at the public records.
  const bool buys = may_buy && !facts.open_file && facts.public_records() == 0 && !facts.wide_bounds;
  if (facts.wide_bounds && !may_buy)
    return Error{ErrorCode::InvalidArgument,
                 "--wide-bounds: expected --out: the draft is two jobs, the first of which "
                 "buys a bound"};
  constexpr double kBoundShare = 0.2;
  DraftFacts left = facts;  // of what is promised, to the job whose numbers are chosen
  for (DraftFacts::Member& member : left.cohort) {
    member.epsilon *= facts.wide_bounds ? 1.0 - kBoundShare : 1.0;
    member.delta *= facts.wide_bounds ? 1.0 - kBoundShare : 1.0;
  }
  UNDERTONE_TRY(Tuned tuned, tune(left, seed, buys, watch));
  if (facts.wide_bounds) tuned.choice.bought_bound = kBoundShare;
  Draft out{std::move(facts), std::move(tuned), false, "", "", {}, false};
  if (buys && prefers_moments(out.tuned)) {
    out.regression = true;
    out.job = regression_job_of(out.facts).dump(2) + "\n";
    UNDERTONE_TRY(jobs::parse_job(out.job, "the draft"));
    return out;
  }
  UNDERTONE_TRY(out.job, drafted_job(out.facts, out.tuned.choice));
  if (out.tuned.choice.bought_bound > 0.0)
    out.first = bound_job_of(out.facts, out.tuned.choice.bought_bound).dump(2) + "\n";
  if (out.tuned.choice.bought > 0.0) out.first = moments_job_of(out.facts, out.tuned.choice.bought).dump(2) + "\n";
  out.reasons = reasons_of(out.facts, out.tuned, delta_given);
  out.idle = !learns(out.tuned);
  return out;
}

int run_draft(const DraftRequest& request) {
  Result<DraftFacts> facts = facts_of(request);
  if (!facts) return service::fail(facts.error());
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const bool to_file = !request.out.empty() && request.out != "-";
  const Result<Draft> draft =
      draft_job(*std::move(facts), request.seed, request.delta.has_value(), to_file, [&](const std::string& stage) {
        if (terminal) fmt::print(stderr, "simulating {}\n", stage);
      });
  if (!draft) return service::fail(draft.error());
  if (!draft->first.empty()) {
    if (Status written = write_file_atomically(first_file(request.out, draft->tuned), draft->first); !written)
      return service::fail(written.error());
  }
  if (!to_file) {
    fmt::print("{}", draft->job);
  } else if (Status written = write_file_atomically(request.out, draft->job); !written) {
    return service::fail(written.error());
  }
  if (draft->regression) {
    say_of_regression(request, draft->tuned);
    return service::kDone;
  }
  for (const std::string& reason : draft->reasons) fmt::print(stderr, "{}\n", reason);
  if (draft->idle) {
    const auto again = [&](const DraftFacts& more) { return tune(more, request.seed); };
    fmt::print(stderr, "{}\n", idle_draft_warning(draft->facts, again));
  }
  if (draft->tuned.choice.bought_bound > 0.0) {
    say_of_bound(request, draft->tuned);
  } else {
    say_of_moments(request, draft->tuned);
  }
  return service::kDone;
}

}  // namespace undertone::lab
