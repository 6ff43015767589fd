#include "silo/agent/silo_machine.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "shared/base/contained.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/base/spans.hpp"
#include "shared/data/schema_part.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/planning/answer_work.hpp"
#include "shared/sealed/round_layout.hpp"
#include "shared/sealed/seal_reply.hpp"
#include "silo/agent/encoded_column.hpp"
#include "silo/agent/privacy_statement.hpp"
#include "silo/oracles/counts_oracle.hpp"
#include "silo/oracles/sum_oracle.hpp"

namespace undertone::silo {
namespace {

/// What the coordinator is told of a refusal: a code, never the sentence.
wire::Refusal refusal_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::PolicyRefused:
      return wire::Refusal::Policy;
    case ErrorCode::BudgetExhausted:
      return wire::Refusal::Budget;
    case ErrorCode::UnplannedQuery:
      return wire::Refusal::Unplanned;
    case ErrorCode::UnknownRun:
      return wire::Refusal::UnknownRun;
    case ErrorCode::InvalidArgument:
    case ErrorCode::InvalidConfig:
    case ErrorCode::LimitExceeded:
    case ErrorCode::Internal:  // the program breaks over this job, and would again
      return wire::Refusal::InvalidJob;
    default:
      return wire::Refusal::Unavailable;
  }
}

std::set<RunId> open_runs(const Ledger& ledger) {
  std::set<RunId> out;
  for (const auto& [run, account] : ledger.accounts()) {
    if (!account.ended) out.insert(run);
  }
  return out;
}

static_assert(kExplanationBytesMax <= wire::kExplanationBytesMax);

/// Whether the refusal is one of the job, and not that the silo cannot answer at all or has left the run.
bool is_judgement(wire::Refusal refusal) {
  return refusal == wire::Refusal::Policy || refusal == wire::Refusal::Budget || refusal == wire::Refusal::InvalidJob ||
         refusal == wire::Refusal::Owner;
}

/// Why what fair learning asks does not fit the job's model and schema; empty where it does, and of every other ask.
std::string misfit_of_fairness(const jobs::Job& job, const releases::Ask& ask) {
  const auto* fair = std::get_if<releases::FairGradientMap>(&ask.map);
  const auto* shares = std::get_if<releases::GroupSharesMap>(&ask.map);
  if (fair == nullptr && shares == nullptr) return "";
  const fairness::Grouping& grouping = fair != nullptr ? fair->terms.grouping : shares->grouping;
  const models::LinearModel* linear = job.model->linear();
  if (linear == nullptr || linear->loss() != models::Loss::Logistic || linear->linear_loss().logit_max() ||
      grouping.classes != 2)
    return "fair gradients are of logistic models without a largest logit";
  if (grouping.groups < 2 || static_cast<std::size_t>(grouping.groups) != data::group_count(job.schema))
    return fmt::format("fair learning of {} groups, the schema has {}", grouping.groups, data::group_count(job.schema));
  const auto* bound = std::get_if<releases::L2Bound>(&ask.bound);
  if (bound == nullptr || bound->smoothness || !std::holds_alternative<releases::SumForm>(ask.form) ||
      ask.summed_reports() != nullptr || ask.noise_norm() || ask.beside_public ||
      ask.records.block != releases::Block::Training || ask.records.slice)
    return "fair gradients and groups' shares are clipped sums of training records";
  if (ask.records.attribute_alone && (ask.records.draw_fraction < 1.0 || ask.records.with_replacement))
    return "of the attribute alone all records are read: what does not depend on it says who was drawn";
  if (ask.dimension != (fair != nullptr ? job.model->dimension() + grouping.weights() : grouping.cells()))
    return fmt::format("{} numbers of a fair gradient or of groups' shares, which have others", ask.dimension);
  if (shares != nullptr) return "";
  const fairness::FairTerms& terms = fair->terms;
  const bool sound = terms.lambda > 0.0 && std::isfinite(terms.lambda) && terms.clip > 0.0 &&
                     std::isfinite(terms.clip) && terms.model_share > 0.0 && terms.model_share < 1.0 &&
                     terms.share_floor > 0.0 && terms.share_floor * static_cast<double>(grouping.groups) <= 1.0;
  if (terms.attribute_alone != ask.records.attribute_alone || !(terms.record_norm > 0.0))
    return "a fair gradient protects another unit than its records";
  return sound ? "" : "a fair gradient's numbers are out of range";
}

/// The same of a regression's score moments.
std::string misfit_of_scores(const jobs::Job& job, const releases::Ask& ask) {
  const auto* scores = std::get_if<releases::ScoreMomentsMap>(&ask.map);
  if (scores == nullptr) return "";
  const models::LinearModel* linear = job.model->linear();
  const statistics::ScoreTerms& terms = scores->terms;
  const models::Loss loss = terms.link == statistics::ScoreLink::Log ? models::Loss::Poisson : models::Loss::Logistic;
  if (linear == nullptr || linear->loss() != loss || linear->linear_loss().logit_max() || !linear->intercept() ||
      job.projection)
    return "scores of a regression are of logistic or poisson models of the data's own columns, with an intercept";
  const auto* pair = std::get_if<releases::PairBound>(&ask.bound);
  const auto* sum = std::get_if<releases::SumForm>(&ask.form);
  if (pair == nullptr || pair->norm != releases::PairBound::Norm::L2 || sum == nullptr || sum->noise_norm ||
      sum->of_reports || ask.beside_public || ask.records.block != releases::Block::Training || ask.records.slice)
    return "scores of a regression are sums over all training records, which pairs of records bound in l2";
  const std::vector<statistics::Covariate>& of = terms.of;
  const bool ascend = std::adjacent_find(of.begin(), of.end(), [](const auto& one, const auto& next) {
                        return one.coordinate >= next.coordinate;
                      }) == of.end();
  if (!ascend || of.size() > statistics::kCovariatesMax ||
      (!of.empty() && of.back().coordinate >= static_cast<std::size_t>(linear->features())))
    return "the covariates of a regression are some of the features, each once";
  const auto is_exposure = [&](const statistics::Covariate& one) {
    return one.coordinate == terms.exposure->coordinate;
  };
  if (terms.exposure && (terms.link != statistics::ScoreLink::Log ||
                         terms.exposure->coordinate >= static_cast<std::size_t>(linear->features()) ||
                         !(terms.exposure->least >= 0.0 && terms.exposure->least < 1.0) ||
                         std::any_of(of.begin(), of.end(), is_exposure)))
    return "the exposure of a regression is one of the features, and no covariate, of a model whose loss is poisson";
  if (!(terms.record_norm >= 1.0) || !std::isfinite(terms.record_norm))
    return "the length that records of a regression are scaled by is out of range";
  if (ask.dimension != statistics::score_numbers(terms.covariates()))
    return fmt::format("{} numbers of {} covariates, which have others", ask.dimension, terms.covariates());
  return "";
}

/// Whether an oracle has an answer to the ask: what a job's parser sees to, and an oracle stops the process for.
Status check_answerable(const jobs::Job& job, const releases::Ask& ask) {
  const auto refuse = [](const std::string& why) { return Error{ErrorCode::InvalidConfig, why}; };
  if (ask.kind() == releases::QuestionKind::ControlledRun) return refuse("control variates are of simulations alone");
  const bool trains = !std::holds_alternative<releases::FeaturesMap>(ask.map) &&
                      !std::holds_alternative<releases::StatisticMap>(ask.map);
  if (ask.records.persons.has_value() != (job.unit == releases::Unit::Person) ||
      (ask.records.persons && (!releases::takes_persons(ask) || job.projection || (trains && !job.model))))
    return refuse("persons contribute to clipped sums of models of their own features, and to statistics");
  if (ask.records.attribute_alone != (job.unit == releases::Unit::SensitiveAttribute))
    return refuse("a release protects another unit than the job");
  if (ask.beside_public &&
      (ask.records.block != releases::Block::Training || job.shuffle || ask.records.persons ||
       !(std::holds_alternative<releases::GradientMap>(ask.map) ||
         std::holds_alternative<releases::GradientDifferenceMap>(ask.map)) ||
       !std::holds_alternative<releases::SumForm>(ask.form) || !std::holds_alternative<releases::L2Bound>(ask.bound)))
    return refuse("public records stand beside sums of clipped gradients of protected records alone");
  const auto* statistic = std::get_if<releases::StatisticMap>(&ask.map);
  const auto* map = std::get_if<releases::FeaturesMap>(&ask.map);
  const bool vectors = ask.reports() != nullptr && releases::of_vectors(ask.reports()->randomiser);
  if (vectors) {
    const auto* ball = map == nullptr ? nullptr : std::get_if<statistics::BallMap>(&map->features);
    const bool copied = releases::of_directions(ask.reports()->randomiser) && ask.reports()->copies != 1;
    if (ball == nullptr || ball->besides != statistics::BallMap::Besides::Nothing || copied)
      return refuse("records report vectors in a ball alone");
  }
  if (ask.reports() != nullptr && !vectors && statistic == nullptr &&
      (map == nullptr || !statistics::reported_range(map->features)))
    return refuse("records report numbers of their own alone");
  if (map != nullptr) {
    const bool ranged = (ask.reports() != nullptr && !vectors) || ask.selects();
    const bool bounded = ranged ? std::holds_alternative<releases::RangeBound>(ask.bound)
                                : std::holds_alternative<releases::PairBound>(ask.bound);
    if (job.projection || ask.candidates() != nullptr || !bounded)
      return refuse("feature maps are sums over encoded columns that pairs of records bound");
    if (Status sound = statistics::check(map->features, data::encoded_width(job.schema) + 1); !sound)
      return refuse(sound.error().message);
    if (statistics::dimension(map->features) != ask.dimension)
      return refuse(
          fmt::format("{} numbers of a feature map of {}", ask.dimension, statistics::dimension(map->features)));
    return {};
  }
  if (statistic == nullptr) {
    if (!job.model) return refuse("a job without a model asks for what a model makes of records");
    const bool selects = ask.candidates() != nullptr || std::holds_alternative<releases::LocalChoicesMap>(ask.map);
    const bool by_gradients = ask.kind() == releases::QuestionKind::Gradient || ask.path() != nullptr ||
                              std::holds_alternative<releases::LocalChoicesMap>(ask.map);
    if (selects && (!by_gradients || job.model->network() != nullptr))
      return refuse("selections are by gradients of linear models: a network's records have none of their own");
    // Of those that nothing but a linear model has an oracle for.
    const bool linear = ask.path() != nullptr || ask.kind() == releases::QuestionKind::Scores ||
                        std::holds_alternative<releases::MinimiserMap>(ask.map) ||
                        std::holds_alternative<releases::DualBound>(ask.bound) ||
                        std::holds_alternative<releases::InfluenceBound>(ask.bound) || ask.summed_reports() != nullptr;
    if (linear && job.model->linear() == nullptr)
      return refuse(
          "paths, scores, minimisers, reports, bounds in dual norms and of coordinates are of linear models alone");
    if (const std::string why = misfit_of_fairness(job, ask); !why.empty()) return refuse(why);
    if (const std::string why = misfit_of_scores(job, ask); !why.empty()) return refuse(why);
    if (std::holds_alternative<releases::MinimiserMap>(ask.map) &&
        (job.model->linear()->loss() != models::Loss::Logistic || job.model->linear()->linear_loss().logit_max()))
      return refuse("the objective that is perturbed is a logistic loss without a largest logit");
    return {};
  }
  if (job.projection || ask.selects() || !std::holds_alternative<releases::RangeBound>(ask.bound))
    return refuse("statistics are sums over encoded columns in public ranges");
  const std::size_t columns = data::encoded_width(job.schema);
  for (const std::size_t coordinate : statistic->coordinates) {
    if (coordinate > columns)
      return refuse(fmt::format("a statistic of column {}, records have {} and a label", coordinate, columns));
    const EncodedColumn column = encoded_column(job.schema, coordinate);
    const bool counted = column.kind == EncodedColumn::Kind::Indicator;
    if (column.kind == EncodedColumn::Kind::Class || counted != statistic->indicators)
      return refuse(fmt::format("a {} of \"{}\", which is no {}", statistic->indicators ? "count" : "mean", column.name,
                                statistic->indicators ? "value of a list" : "number"));
  }
  return {};
}

Tell desk_not_written(const Error& error) {
  return {true, fmt::format("desk_not_written reason={}", quoted_text(error.message))};
}

}  // namespace

SiloMachine::SiloMachine(Setup setup)
    : setup_(std::move(setup)), encoder_(setup_.limits), room_(setup_.room, open_runs(setup_.ledger)) {}

std::vector<Action> SiloMachine::on_message(const wire::Message& message) {
  if (const auto* welcome = std::get_if<wire::Welcome>(&message)) return on(*welcome);
  if (const auto* offer = std::get_if<wire::JobOffer>(&message)) return on(*offer, {});
  if (const auto* query = std::get_if<wire::QueryMessage>(&message)) return on(*query);
  if (const auto* ended = std::get_if<wire::JobEnded>(&message)) return on(*ended);
  return {Tell{true, fmt::format("message_ignored kind={}", wire::name_of(message))}};
}

std::vector<Action> SiloMachine::on(const wire::Welcome& welcome) {
  protocol_ = welcome.protocol;
  std::vector<Action> actions;
  // What the owner withdrew is closed even if the coordinator never speaks of it again.
  std::vector<RunId> open_runs;
  for (const auto& [run, account] : setup_.ledger.accounts()) {
    if (!account.ended) open_runs.push_back(run);
  }
  for (const RunId& run : open_runs) {
    const Result<std::optional<Decision>> decision = setup_.desk.decision(run);
    const Result<bool> out = decision ? withdrawn(run, *decision, actions) : decision.error();
    if (!out)
      actions.emplace_back(Tell{true, fmt::format("desk_not_read reason={}", quoted_text(out.error().message))});
  }
  for (const wire::Receipt& receipt : welcome.receipts) {
    if (receipt.ledger == setup_.ledger.id()) {
      const Status genuine = setup_.ledger.check_receipt(receipt);
      if (genuine) continue;
      if (genuine.error().code == ErrorCode::LedgerRolledBack) return {Halt{genuine.error()}};
      // Not signed by this silo's key: the coordinator's invention, not the ledger's fault.
      actions.emplace_back(Tell{true, fmt::format("receipt_ignored reason={}", quoted_text(genuine.error().message))});
      continue;
    }
    // Another ledger under this silo's name. If this one is new, the other may have been lost or deleted to forget what
    // it had spent: its owner must say that it was replaced.
    if (setup_.ledger.accounts().empty() && !setup_.known_ledgers.contains(receipt.ledger)) {
      return {
          Halt{{ErrorCode::LedgerRolledBack,
                fmt::format("this ledger is new, but the coordinator knows the ledger {} of this silo with {} "
                            "entries; if that one was "
                            "replaced on purpose, name it in the configuration under the data set's ledger.replaces",
                            to_hex(receipt.ledger), receipt.sequence)}}};
    }
  }
  return actions;
}

Result<SiloMachine::Accepted> SiloMachine::plan(const RunId& run, const std::string& job_bytes, bool ask_policy) const {
  return contained("planning the job", [&] { return plan_of_job(run, job_bytes, ask_policy); });
}

Status SiloMachine::check_permit() const {
  const std::optional<Objection> ended = permit_objection(setup_.permit, setup_.clock());
  if (ended) return Error{ErrorCode::PolicyRefused, ended->sentence};
  return {};
}

Status SiloMachine::check_answers(const planning::Plan& plan) const {
  const double most = setup_.policy.answer_products_max;
  const std::size_t width = data::encoded_width(setup_.facts.schema);
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const double products = planning::products_of_answer(segment.release, width);
    if (products <= most) continue;
    return Error{ErrorCode::PolicyRefused,
                 fmt::format("an answer of the job takes about {:.3g} products, some {:.3g} s of a processor; "
                             "policy.answer_products_max allows {:.3g}",
                             products, products / planning::kProductsASecond, most)};
  }
  return {};
}

Result<SiloMachine::Accepted> SiloMachine::plan_of_job(const RunId& run, const std::string& job_bytes,
                                                       bool ask_policy) const {
  if (sha256(job_bytes) != run.job)
    return Error{ErrorCode::InvalidConfig, "the job's bytes are not those its run names"};
  UNDERTONE_TRY(jobs::ReadJob read, jobs::read_job(job_bytes, "job"));
  const jobs::CohortMember* named = read.terms().member(setup_.id);
  if (named == nullptr) return Error{ErrorCode::PolicyRefused, "the job's cohort does not name this silo"};
  if (ask_policy) UNDERTONE_TRY(check_permit());
  if (ask_policy) {
    const std::vector<Objection> objections = objections_to_terms(
        setup_.policy, setup_.facts, read.terms(), read.algorithm_name(), *named, setup_.randomness.kind());
    if (!objections.empty()) return Error{ErrorCode::PolicyRefused, objections.front().sentence};
  }
  Result<jobs::Job> job = std::move(read).settle();
  if (!job) return job.error();
  const jobs::CohortMember* member = job->member(setup_.id);
  if (ask_policy) {
    UNDERTONE_TRY(check_policy(setup_.policy, setup_.facts, *job, *member, setup_.randomness.kind()));
  }
  UNDERTONE_TRY(planning::Plan planned, setup_.planner(*job, *member));
  for (const planning::Plan::Segment& segment : planned.segments())
    UNDERTONE_TRY(check_answerable(*job, segment.release.ask));
  if (ask_policy) UNDERTONE_TRY(check_answers(planned));
  if (job->shuffle && ask_policy) {
    const std::vector<Objection> undialled = undialled_shufflers(*job, setup_.shufflers);
    if (!undialled.empty()) return Error{ErrorCode::PolicyRefused, undialled.front().sentence};
    UNDERTONE_TRY(sealed::check_layouts(*job->shuffle, planned, job->reply_lattice, job->cohort.size()));
  }
  return Accepted{*std::move(job), std::move(planned)};
}

Result<SiloMachine::Accepted> SiloMachine::considered_once(const wire::JobOffer& offer) {
  const auto kept = waiting_.find(offer.run);
  if (kept == waiting_.end() || sha256(offer.job) != offer.run.job) return plan(offer.run, offer.job, true);
  Accepted considered = std::move(kept->second);
  waiting_.erase(kept);
  UNDERTONE_TRY(would_accept(considered.job));
  return considered;
}

void SiloMachine::forget(const RunId& run) {
  accepted_.erase(run);
  waiting_.erase(run);
  room_.forget(run);
  if (workspace_ && workspace_->run == run) workspace_.reset();
  std::erase_if(places_, [&](const auto& kept) { return kept.first.first == run; });
}

Status SiloMachine::would_accept(const jobs::Job& job) const {
  const jobs::CohortMember* member = job.member(setup_.id);
  if (member == nullptr) return Error{ErrorCode::PolicyRefused, "the job's cohort does not name this silo"};
  UNDERTONE_TRY(check_permit());
  return check_policy(setup_.policy, setup_.facts, job, *member, setup_.randomness.kind());
}

std::vector<Objection> SiloMachine::objections(const jobs::Job& job) const {
  const jobs::CohortMember* member = job.member(setup_.id);
  if (member == nullptr) return {{ObjectionKind::Policy, "the job's cohort does not name this silo"}};
  std::vector<Objection> out = objections_to(setup_.policy, setup_.facts, job, *member, setup_.randomness.kind());
  for (Objection& objection : undialled_shufflers(job, setup_.shufflers)) out.push_back(std::move(objection));
  if (std::optional<Objection> ended = permit_objection(setup_.permit, setup_.clock()))
    out.push_back(*std::move(ended));
  return out;
}

void SiloMachine::refuse_job(const RunId& run, wire::Refusal refusal, ObjectionKind kind, const std::string& reasons,
                             std::vector<Action>& out) {
  const bool judged = is_judgement(refusal);
  // Whoever explains nothing does not tell a spent budget from a person's no either.
  if (judged && setup_.policy.explain_refusals == ExplainRefusals::None) refusal = wire::Refusal::Policy;
  const std::optional<wire::Refusal> said = wire::refusal_for(refusal, protocol_);
  if (!said) return;
  wire::JobAnswer answer{run, *said, {}};
  if (judged && protocol_ >= 3) answer.explanation = explanation(setup_.policy.explain_refusals, kind, reasons);
  out.emplace_back(send(answer));
}

std::vector<DatasetObjections> SiloMachine::against(const Result<jobs::ReadJob>& job, const Error& error) const {
  DatasetObjections here{setup_.dataset_name, {}};
  if (error.code == ErrorCode::PolicyRefused && job) {
    Result<std::vector<Objection>> all = contained("reading the job", [&]() -> Result<std::vector<Objection>> {
      UNDERTONE_TRY(const jobs::Job settled, jobs::ReadJob(*job).settle());
      return objections(settled);
    });
    if (all) here.objections = *std::move(all);
  }
  if (here.objections.empty()) here.objections.push_back(objection_of(error));
  return {std::move(here)};
}

void SiloMachine::refuse_offer(const wire::JobOffer& offer, const Error& error,
                               const std::vector<DatasetObjections>& everywhere, std::vector<Action>& out) {
  const wire::Refusal refusal = refusal_of(error.code);
  const Result<jobs::ReadJob> job = contained("reading the job", [&] { return jobs::read_job(offer.job, "job"); });
  const std::vector<DatasetObjections> reasons_by_dataset =
      error.code == ErrorCode::PolicyRefused && !everywhere.empty() ? everywhere : against(job, error);
  const std::string reasons = every_reason(reasons_by_dataset);
  const ObjectionKind kind = reasons_by_dataset.front().objections.front().kind;
  const std::optional<std::uint64_t> passed_over = alike_.worth_noting(kind, setup_.clock());
  if (!passed_over) return refuse_job(offer.run, refusal, kind, reasons, out);
  if (*passed_over > 0)
    out.emplace_back(Tell{true, fmt::format("jobs_refused kind={} count={} reason=\"alike, and not noted one by one\"",
                                            to_string(kind), *passed_over)});
  out.emplace_back(Tell{true, fmt::format("job_refused run={} reason={}", offer.run.hex(), quoted_text(reasons))});
  if (is_judgement(refusal)) {
    PastOffer past{offer.run,
                   setup_.dataset_name,
                   job ? job->terms().name : "",
                   PastOffer::Outcome::Refused,
                   to_string(kind),
                   reasons,
                   0.0,
                   0.0,
                   setup_.clock()};
    const jobs::CohortMember* member = job ? job->terms().member(setup_.id) : nullptr;
    if (member != nullptr) past.epsilon = member->facts.epsilon().value();
    if (member != nullptr) past.delta = member->facts.delta();
    if (Status noted = setup_.desk.past().note(past); !noted) out.emplace_back(desk_not_written(noted.error()));
  }
  refuse_job(offer.run, refusal, kind, reasons, out);
}

Status SiloMachine::note_end(const wire::JobEnded& ended) {
  UNDERTONE_TRY(const std::optional<DeskOffer> found, setup_.desk.find(ended.run));
  if (!found) return {};
  const DeskOffer& offer = *found;
  if (offer.decision != Decision::Waiting && offer.decision != Decision::Approved) return {};
  const Result<jobs::ReadJob> job = contained("reading the job", [&] { return jobs::read_job(offer.job, "job"); });
  PastOffer past{ended.run,
                 offer.dataset,
                 job ? job->terms().name : "",
                 PastOffer::Outcome::Ended,
                 "",
                 fmt::format("its run {} before {}", ended.succeeded ? "succeeded without this silo" : "failed",
                             offer.decision == Decision::Waiting ? "you decided" : "the silo could take part"),
                 0.0,
                 0.0,
                 setup_.clock()};
  const jobs::CohortMember* member = job ? job->terms().member(setup_.id) : nullptr;
  if (member != nullptr) past.epsilon = member->facts.epsilon().value();
  if (member != nullptr) past.delta = member->facts.delta();
  return setup_.desk.past().note(past);
}

bool SiloMachine::has_to_end(const RunId& run) const {
  const RunAccount* account = setup_.ledger.account(run);
  // One that is kept has ended in the ledger, perhaps, whose head could not be written then.
  return account != nullptr && (!account->ended || accepted_.contains(run));
}

Result<bool> SiloMachine::withdrawn(const RunId& run, std::optional<Decision> decision, std::vector<Action>& out) {
  if (decision != Decision::Withdrawn && decision != Decision::Refused) return false;
  if (has_to_end(run)) {
    UNDERTONE_TRY(setup_.ledger.end(run));
    forget(run);
    out.emplace_back(Tell{true, fmt::format("run_withdrawn run={}", run.hex())});
    out.emplace_back(RunEnded{run, false});
  }
  return true;
}

bool SiloMachine::may_release(const RunId& run) {
  const Result<Desk::Standing> said = setup_.desk.standing(run);
  return check_permit() && said && !said->forbids();
}

std::vector<Action> SiloMachine::on(const wire::JobOffer& offer, const std::vector<DatasetObjections>& everywhere) {
  std::vector<Action> actions;
  const auto refuse = [&](const Error& error) {
    refuse_offer(offer, error, everywhere, actions);
    return std::move(actions);
  };
  // Refused before, and no more: what the owner reads of that is out of date.
  const auto not_refused = [&] {
    if (Status forgotten = setup_.desk.past().forget(offer.run); !forgotten)
      actions.emplace_back(desk_not_written(forgotten.error()));
  };
  const auto wait = [&] {
    if (protocol_ >= 2) actions.emplace_back(send(wire::JobPending{offer.run}));
    return std::move(actions);
  };
  const Result<Desk::Standing> said = setup_.desk.standing(offer.run);
  if (!said) return refuse(said.error());
  if (said->paused) return wait();
  const Result<bool> out = withdrawn(offer.run, said->decision, actions);
  if (!out) return refuse(out.error());
  if (*out) {
    const bool refused = said->decision == Decision::Refused;
    const Result<OwnersWord> word = setup_.desk.word(offer.run);
    refuse_job(offer.run, refused ? wire::Refusal::Owner : wire::Refusal::Withdrawn, ObjectionKind::Owner,
               "a person at the institution refused it" + (word && !word->reason.empty() ? ": " + word->reason : ""),
               actions);
    return actions;
  }
  const bool known = setup_.ledger.account(offer.run) != nullptr;
  if (!known && std::find(over_.begin(), over_.end(), offer.run) != over_.end()) return actions;
  const auto kept = accepted_.find(offer.run);
  if (known && kept != accepted_.end() && !setup_.ledger.account(offer.run)->ended) {
    // Offered again: its plan is not made again, but the policy may have become stricter since.
    if (Status allowed = would_accept(kept->second.job); !allowed) return refuse(allowed.error());
    if (Status whole = setup_.ledger.make_whole(); !whole) return refuse(whole.error());
    not_refused();
    actions.push_back(send(wire::JobAnswer{offer.run, std::nullopt, {}}));
    actions.push_back(receipt());
    return actions;
  }
  Result<Accepted> considered = considered_once(offer);
  if (!considered) return refuse(considered.error());
  if (!known && setup_.policy.approval == Approval::Manual) {
    const Result<std::optional<Decision>> before = setup_.desk.decision(offer.run);
    if (!before) return refuse(before.error());
    const Result<std::optional<Decision>> decision =
        setup_.desk.offered(offer.run, setup_.dataset_name, offer.job, setup_.clock());
    if (!decision) return refuse(decision.error());
    if (!*before) {
      actions.emplace_back(Tell{true, *decision ? fmt::format("job_waits_for_approval run={} job={}", offer.run.hex(),
                                                              quoted_text(considered->job.name))
                                                : fmt::format("job_not_kept run={} reason=\"{} jobs wait already\"",
                                                              offer.run.hex(), Desk::kWaitingMax)});
    }
    if (*decision != Decision::Approved) {
      not_refused();
      constexpr std::size_t kKeptMax = 4;  // more are planned again each time they are offered
      if (waiting_.size() < kKeptMax) waiting_.insert_or_assign(offer.run, *std::move(considered));
      return wait();
    }
  }
  if (Status aside = set_room_aside(offer.run, *considered); !aside && !known) return refuse(aside.error());
  if (Status reserved = setup_.ledger.reserve(offer.run, considered->plan, offer.job); !reserved) {
    if (!known) room_.forget(offer.run);
    return refuse(reserved.error());
  }
  not_refused();
  if (!known) {
    actions.push_back(Tell{false, fmt::format("job_accepted run={} job={} releases={} epsilon={:.6g} delta={:.3g}",
                                              offer.run.hex(), quoted_text(considered->job.name),
                                              considered->plan.rounds(), considered->plan.epsilon().value_rounded_up(),
                                              considered->plan.delta().value_rounded_up())});
  }
  accepted_.insert_or_assign(offer.run, *std::move(considered));
  actions.push_back(send(wire::JobAnswer{offer.run, std::nullopt, {}}));
  actions.push_back(receipt());
  return actions;
}

Status SiloMachine::set_room_aside(const RunId& run, const Accepted& accepted) {
  const jobs::CohortMember* member = accepted.job.member(setup_.id);
  UNDERTONE_CHECK(member != nullptr);  // the plan was made for it
  const RunAccount* account = setup_.ledger.account(run);
  return room_.add(run, accepted.job, *member, accepted.plan, account == nullptr ? std::nullopt : account->last_round);
}

double SiloMachine::answer_products(const RunId& run, RoundIndex round) const {
  const auto known = accepted_.find(run);
  const planning::Release* release = known == accepted_.end() ? nullptr : known->second.plan.release(round);
  if (release == nullptr) return std::numeric_limits<double>::infinity();
  return planning::products_of_answer(*release, data::encoded_width(setup_.facts.schema));
}

Result<const SiloMachine::Accepted*> SiloMachine::accepted(const RunId& run) {
  const RunAccount* account = setup_.ledger.account(run);
  if (account == nullptr) return Error{ErrorCode::UnknownRun, "no job was accepted under this run"};
  if (account->ended) return Error{ErrorCode::UnplannedQuery, "this run has ended: nothing more is answered in it"};
  const auto found = accepted_.find(run);
  if (found != accepted_.end()) return &found->second;
  const Result<std::optional<std::string>> job = setup_.ledger.job_of(run);
  if (!job) return job.error();
  if (!*job) return Error{ErrorCode::LedgerCorrupt, "an accepted job is missing from the ledger"};
  Result<Accepted> again = plan(run, **job, true);  // the policy may have become stricter since
  if (!again) return again.error();
  UNDERTONE_TRY(setup_.ledger.check_reserved(run, again->plan));
  (void)set_room_aside(run, *again);  // it was accepted with the room that there was
  return &accepted_.insert_or_assign(run, *std::move(again)).first->second;
}

Result<SiloMachine::Accepted> SiloMachine::recorded(const RunId& run) const {
  const Result<std::optional<std::string>> job = setup_.ledger.job_of(run);
  if (!job) return job.error();
  if (!*job) return Error{ErrorCode::UnknownRun, "the ledger holds no job for this run"};
  Result<Accepted> again = plan(run, **job, false);
  if (!again) return again;
  UNDERTONE_TRY(setup_.ledger.check_reserved(run, again->plan));
  return again;
}

bool SiloMachine::concerned_by_places(const RunId& run, const RunAccount& account) const {
  if (account.releases == account.releases_in_secret_order) return false;
  const Result<std::optional<std::string>> bytes = setup_.ledger.job_of(run);
  if (!bytes || !*bytes) return false;
  const Result<jobs::Job> job = contained("reading the job", [&] { return jobs::parse_job(**bytes, "job"); });
  return !job || silo::concerned_by_places(*job, account);  // what cannot be read may be concerned
}

const RecordPlaces& SiloMachine::places(const RunId& run, const planning::Release& release) {
  constexpr std::size_t kPlacesMax = 2;  // as large as a column of the data or two each; made again when needed
  static const RecordPlaces none;
  if (!release.ask.records.slice) return none;
  const releases::Block block = release.ask.records.block;
  const std::uint64_t pass = release.ask.records.slice->pass();
  const std::pair name(run, PlacesName{block, pass});
  if (places_.size() >= kPlacesMax && !places_.contains(name)) places_.clear();
  RecordPlaces& kept = places_[name];
  if (!kept.empty()) return kept;
  // Of the ledger's key, the run and the pass, so that a round that is done again after a crash reads the same part.
  kept = release.reads_bins()
             ? RecordPlaces::binned(setup_.randomness.bins({run, block, setup_.ledger.bins_key(run, block, pass), pass},
                                                           release.block_records))
             : RecordPlaces::permuted(setup_.randomness.permutation(
                   {run, block,
                    release.hides_part() ? setup_.ledger.secret_permutation_key(run, block)
                                         : setup_.ledger.permutation_key(run, block)},
                   release.block_records));
  return kept;
}

void SiloMachine::forget_read(const RunId& run, const planning::Plan& plan, RoundIndex round) {
  std::set<PlacesName> later;
  std::uint64_t first = 0;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    first += segment.rounds;
    const std::optional<releases::Slice>& slice = segment.release.ask.records.slice;
    if (first > round.value + 1 && slice) later.insert({segment.release.ask.records.block, slice->pass()});
  }
  std::erase_if(places_,
                [&](const auto& kept) { return kept.first.first == run && !later.contains(kept.first.second); });
}

SiloMachine::Workspace& SiloMachine::workspace(const RunId& run, const jobs::Job& job) {
  if (workspace_ && workspace_->run == run) return *workspace_;
  workspace_.reset();  // at most one projected copy at a time
  const auto sums_of = [&] {
    return job.person ? make_person_sums(*job.model, job.person->form) : make_record_sums(*job.model);
  };
  Workspace made{run, job.model ? sums_of() : nullptr, std::nullopt, std::nullopt};
  if (job.schema != setup_.facts.schema) {
    const std::optional<std::vector<Eigen::Index>> part = data::part_of(job.schema, setup_.facts.schema);
    UNDERTONE_CHECK(part);  // it was accepted
    made.projected = data::with_features(setup_.dataset, *part);
  }
  if (job.projection) made.projected = job.projection->project(made.projected ? *made.projected : setup_.dataset);
  return workspace_.emplace(std::move(made));
}

OracleData SiloMachine::oracle_data(Workspace& workspace, const planning::Release& release, RoundIndex round) {
  const std::optional<releases::PersonContribution>& persons = release.ask.records.persons;
  workspace.persons.reset();
  if (persons)
    workspace.persons.emplace(setup_.ledger.person_draw_key(workspace.run, release.ask.records.block, round),
                              persons->records_max);
  return {workspace.projected ? *workspace.projected : setup_.dataset, places(workspace.run, release),
          workspace.persons ? &*workspace.persons : nullptr};
}

Result<std::string> SiloMachine::answer(const wire::QueryMessage& message) {
  const queries::Query& query = message.query;
  const Digest digest = queries::query_digest(message.run, query);
  UNDERTONE_TRY(check_permit());  // a run that was accepted before its permit ended answers no more
  UNDERTONE_TRY(std::optional<StoredReply> stored, setup_.ledger.find_reply(message.run, query.round, digest));
  if (stored && is_shuffled(stored->bytes)) {
    // What shufflers do with it is their word alone: it goes to those that are trusted today, in a run that is open.
    UNDERTONE_TRY(const Accepted* const open, accepted(message.run));
    UNDERTONE_TRY(would_accept(open->job));
  }
  if (stored) return std::move(stored->bytes);

  UNDERTONE_TRY(const Accepted* const run, accepted(message.run));
  const jobs::Job& job = run->job;
  const planning::Release* release = run->plan.release(query.round);
  if (release == nullptr) {
    return Error{ErrorCode::UnplannedQuery,
                 fmt::format("round {} is asked, the plan has {}", query.round.value, run->plan.rounds())};
  }
  const Eigen::Index dimension = job.model ? job.model->dimension() : 0;  // without a model there is no point either
  if (queries::kind_of(query.question) != release->ask.kind() || message.type != job.point_type ||
      queries::point_of(query.question).size() != release->ask.point_size(dimension) ||
      !queries::point_of(query.question).allFinite()) {
    return Error{ErrorCode::UnplannedQuery,
                 fmt::format("round {} asks another question than the plan", query.round.value)};
  }
  UNDERTONE_TRY(SpendToken token, setup_.ledger.authorise(message.run, query.round, *release, digest));
  room_.give(message.run, bytes_of_answer(job, *job.member(setup_.id), *release));
  // What is public goes to the coordinator as it is, everything else through the shufflers.
  if (job.shuffle && !release->is_public()) {
    const Span span(Activity::Computing);
    Result<std::string> sealed =
        contained("computing the answer", [&] { return shuffled_answer(message, digest, *run, *release, token); });
    if (!sealed) workspace_.reset();
    if (!sealed) return sealed;
    UNDERTONE_TRY(setup_.ledger.commit(std::move(token), *sealed, setup_.randomness.kind()));
    return sealed;
  }
  const queries::WireLattice wire = jobs::round_spec(job, release->ask).lattice;
  // What breaks in here has spent nothing: it is before the commit.
  Result<queries::Answer> answer = contained("computing the answer", [&]() -> Result<queries::Answer> {
    const Span span(Activity::Computing);
    Workspace& own = workspace(message.run, job);
    return answer_question(query, *release, token, oracle_data(own, *release, query.round), own.sums.get(), wire,
                           setup_.randomness);
  });
  if (!answer) workspace_.reset();
  if (!answer) return answer.error();
  queries::Reply reply{query.round, wire.step_log2, setup_.randomness.kind(), *std::move(answer)};
  std::string bytes = encoder_.encode(wire::ReplyMessage{message.run, digest, wire.type, std::move(reply)});
  UNDERTONE_TRY(setup_.ledger.commit(std::move(token), bytes, setup_.randomness.kind()));
  forget_read(message.run, run->plan, query.round);
  return bytes;
}

Result<std::string> SiloMachine::shuffled_answer(const wire::QueryMessage& message, const Digest& digest,
                                                 const Accepted& run, const planning::Release& release,
                                                 const SpendToken& token) {
  const jobs::Job& job = run.job;
  const jobs::Shuffle& shuffle = *job.shuffle;
  UNDERTONE_TRY(const sealed::RoundLayout layout,
                sealed::RoundLayout::create(shuffle, release, job.reply_lattice, job.cohort.size()));
  if (!shuffle.adds() && !message.sealing)
    return Error{ErrorCode::UnplannedQuery, "the question does not say what its answer is to be sealed with"};
  UNDERTONE_TRY(const sealed::Recipients recipients,
                shuffle.adds() ? sealed::adders_of(shuffle, message.run)
                               : sealed::coordinator_of(shuffle, as_bytes(message.sealing->public_key),
                                                        as_bytes(message.sealing->mac_key)));
  const sealed::SealFor seal_for{message.run, message.query.round, digest, recipients};
  Workspace& own = workspace(message.run, job);
  const OracleData data = oracle_data(own, release, message.query.round);
  UNDERTONE_CHECK(own.sums != nullptr);  // statistics are not shuffled: the plan has seen to it
  RecordSums& sums = *own.sums;
  Result<std::vector<sealed::SealedMessage>> sealed = [&] {
    if (shuffle.form == jobs::Shuffle::Form::Reports) {
      const queries::Answer answer =
          answer_question(message.query, release, token, data, &sums, job.reply_lattice, setup_.randomness);
      return sealed::seal_report(std::get<queries::NoisedSums>(answer), setup_.randomness.kind(), layout, seal_for);
    }
    const std::unique_ptr<ReleaseStream> stream = setup_.randomness.open(token);
    const std::vector<std::int64_t> counts = count_question(message.query, release, token, data, sums, coins_, *stream);
    return sealed::seal_counts(counts, layout, seal_for, *stream);
  }();
  if (!sealed) return sealed.error();
  UNDERTONE_CHECK(sealed->size() == shuffle.shufflers.size());
  ShuffledReply reply;
  for (std::size_t i = 0; i < sealed->size(); ++i) {
    wire::SealedReply frames{message.run,         message.query.round, (*sealed)[i].terms,
                             layout.unit_bytes(), layout.word_bytes(), std::move((*sealed)[i].units)};
    reply.emplace(shuffle.shufflers[i].name, std::make_shared<const std::string>(encoder_.encode(std::move(frames))));
  }
  return pack(reply);
}

std::vector<Action> SiloMachine::on(const wire::QueryMessage& message) {
  std::vector<Action> actions;
  const auto refuse = [&](wire::Refusal refusal) {
    if (const std::optional<wire::Refusal> said = wire::refusal_for(refusal, protocol_))
      actions.emplace_back(send(wire::QueryRefused{message.run, message.query.round, *said}));
    return std::move(actions);
  };
  const auto failed = [&](const Error& error) {
    actions.emplace_back(Tell{true, fmt::format("query_refused run={} round={} reason={}", message.run.hex(),
                                                message.query.round.value, quoted_text(error.message))});
    return refuse(refusal_of(error.code));
  };
  const Result<Desk::Standing> said = setup_.desk.standing(message.run);
  if (!said) return failed(said.error());
  if (said->paused) return refuse(wire::Refusal::Paused);
  const Result<bool> out = withdrawn(message.run, said->decision, actions);
  if (!out) return failed(out.error());
  if (*out) return refuse(wire::Refusal::Withdrawn);
  Result<std::string> reply = answer(message);
  if (!reply) return failed(reply.error());
  if (is_shuffled(*reply)) {
    Result<ShuffledReply> parts = unpack(*reply);
    if (!parts) return failed(parts.error());
    actions.emplace_back(SendShuffled{message.run, message.query.round, *std::move(parts)});
  } else {
    actions.emplace_back(Send{*std::move(reply), message.run});
  }
  actions.emplace_back(receipt());
  return actions;
}

std::vector<Action> SiloMachine::on(const wire::JobEnded& ended) {
  const RunAccount* account = setup_.ledger.account(ended.run);
  const bool news = has_to_end(ended.run);
  if (Status done = setup_.ledger.end(ended.run); !done) {
    const ErrorCode code = done.error().code;
    if (code == ErrorCode::LedgerCorrupt || code == ErrorCode::LedgerRolledBack) return {Halt{done.error()}};
    // The disk may be full. The coordinator tells of the end again, since it does not hear that it was seen; the log
    // hears it once.
    if (std::exchange(told_of_failing_end_, true)) return {};
    return {
        Tell{true, fmt::format("end_not_noted run={} reason={}", ended.run.hex(), quoted_text(done.error().message))}};
  }
  told_of_failing_end_ = false;
  forget(ended.run);
  if (account == nullptr) {
    constexpr std::size_t kOverMax = 64;  // as many as a ledger keeps open
    if (over_.size() >= kOverMax) over_.pop_front();
    over_.push_back(ended.run);
  }
  std::vector<Action> actions;
  if (account == nullptr) {
    if (Status noted = note_end(ended); !noted) actions.emplace_back(desk_not_written(noted.error()));
  }
  if (Status forgotten = setup_.desk.forget_waiting(ended.run); !forgotten)
    actions.emplace_back(desk_not_written(forgotten.error()));
  if (news) actions.emplace_back(RunEnded{ended.run, ended.succeeded});
  actions.push_back(send(wire::JobEndedSeen{ended.run}));
  actions.push_back(receipt());
  return actions;
}

}  // namespace undertone::silo
