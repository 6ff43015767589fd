#include "simulation/federation_audit.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "shared/algorithms/algorithm_driver.hpp"
#include "shared/jobs/public_records.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/sealed/adder_mac_key.hpp"
#include "shared/sealed/additive_shares.hpp"
#include "shared/sealed/batch_fold.hpp"
#include "silo/agent/shuffled_reply.hpp"
#include "silo/ledger/ledger_entry.hpp"

namespace undertone::simulation {
namespace {

constexpr const char* kCoordinator = "coordinator";

Error missing(const std::string& what) { return {ErrorCode::Internal, what}; }

/// What is stored of a silo's answer to a round; nothing where nothing is.
std::optional<std::string> stored_reply(store::Database& database, const RunId& run, RoundIndex round) {
  Result<store::Statement> row = database.prepare("SELECT bytes FROM replies WHERE run = ? AND round = ?");
  if (!row) return std::nullopt;
  row->bind_blob(1, run.bytes()).bind(2, static_cast<std::int64_t>(round.value));
  const Result<bool> found = row->step();
  if (!found || !*found) return std::nullopt;
  return row->bytes(0);
}

/// A weighted mean in plain arithmetic, which shares nothing with the program's folds.
class WeightedSum {
 public:
  void add(const std::vector<std::int64_t>& values, std::uint64_t weight) {
    if (sums_.empty()) sums_.resize(values.size(), 0.0L);
    UNDERTONE_CHECK(sums_.size() == values.size());
    for (std::size_t j = 0; j < values.size(); ++j)
      sums_[j] += static_cast<long double>(values[j]) * static_cast<long double>(weight);
    weights_ += static_cast<long double>(weight);
    ++replies_;
  }
  /// Leaves of blocks of equal length the middle of each place's sums, of which all have the same divisor.
  void keep_medians(std::size_t blocks) {
    std::vector<long double> out(sums_.size() / blocks);
    for (std::size_t j = 0; j < out.size(); ++j) {
      std::vector<long double> at_place;
      for (std::size_t block = 0; block < blocks; ++block) at_place.push_back(sums_[block * out.size() + j]);
      std::sort(at_place.begin(), at_place.end());
      out[j] = at_place[blocks / 2];
    }
    sums_ = std::move(out);
  }
  [[nodiscard]] bool is(const Eigen::VectorXd& mean, int step_log2,
                        const std::optional<folds::WholeCohort>& scaled_to) const {
    const long double divisor =
        scaled_to ? static_cast<long double>(scaled_to->weights) * replies_ / static_cast<long double>(scaled_to->silos)
                  : weights_;
    if (static_cast<std::size_t>(mean.size()) != sums_.size()) return false;
    for (std::size_t j = 0; j < sums_.size(); ++j) {
      const long double expected = std::ldexp(sums_[j] / divisor, step_log2);
      const long double found = mean[static_cast<Eigen::Index>(j)];
      const long double allowed = 1e-12L * std::max(std::abs(expected), std::ldexp(1.0L, step_log2));
      if (!(std::abs(found - expected) <= allowed)) return false;
    }
    return true;
  }

 private:
  std::vector<long double> sums_;
  long double weights_ = 0.0L;
  long double replies_ = 0.0L;
};

}  // namespace

void FederationAudit::violate(std::string what) {
  constexpr std::size_t kMost = 20;
  if (violations_.size() < kMost) violations_.push_back(std::move(what));
}

void FederationAudit::submitted(const RunId& run, const std::string& job) {
  if (shadows_.contains(run)) return;
  Result<jobs::Job> parsed = jobs::parse_job(job, "job");
  UNDERTONE_CHECK(parsed.has_value());
  if (jobs::brings_file(*parsed)) {
    // The run ends at its first advance where the file has become another since the coordinator took the job.
    if (Result<jobs::PublicSide> side = jobs::public_side(*parsed, public_folder_, planner_))
      parsed->public_side = *std::move(side);
  }
  std::unique_ptr<algorithms::FederatedAlgorithm> algorithm = jobs::algorithms_with(public_folder_)(*parsed);
  planning::Schedule schedule = jobs::schedule_of(*parsed);
  shadows_.emplace(run, Shadow{*std::move(parsed), std::move(algorithm), std::move(schedule), std::nullopt,
                               std::nullopt, std::nullopt});
}

void FederationAudit::paused(const SiloId& silo, bool is_paused) {
  if (is_paused) {
    paused_.insert(silo);
  } else {
    paused_.erase(silo);
  }
}

void FederationAudit::leaving(const SimulatedSiloProcess::Leaving& leaving, SimulatedSiloProcess& silo) {
  const auto where = [&] {
    return fmt::format("silo {}, run {}, round {}", leaving.silo.name(), leaving.run.hex().substr(0, 8),
                       leaving.round.value);
  };
  if (paused_.contains(leaving.silo)) violate(where() + ": a reply left a paused silo");
  if (withdrawn_.contains({leaving.silo, leaving.run})) violate(where() + ": a reply left after its owner withdrew");
  const auto [first, is_first] =
      left_.emplace(std::tuple(leaving.to, leaving.silo, leaving.run, leaving.round.value), std::string(leaving.bytes));
  if (!is_first && first->second != leaving.bytes) violate(where() + ": two different replies");
  if (!is_first) return;

  recount(silo);
  const Books& books = books_[leaving.silo];
  const auto account = books.accounts.find(leaving.run);
  const std::optional<std::string> stored = stored_reply(*silo.database(), leaving.run, leaving.round);
  if (!stored || account == books.accounts.end() || !account->second.replies.contains(leaving.round.value)) {
    return violate(where() + ": a reply left that the ledger does not hold");
  }
  if (account->second.replies.at(leaving.round.value) != to_hex(sha256(*stored)))
    violate(where() + ": the ledger's entry is of another reply");
  if (!silo::is_shuffled(*stored)) {
    if (*stored != leaving.bytes) violate(where() + ": another reply left than the ledger holds");
    return;
  }
  const Result<silo::ShuffledReply> parts = silo::unpack(*stored);
  if (!parts || !parts->contains(leaving.to) || *parts->at(leaving.to) != leaving.bytes)
    violate(where() + ": another sealed reply left than the ledger holds");
}

void FederationAudit::rested(SimulatedSiloProcess& silo) {
  recount(silo);
  compare(silo.id(), books_[silo.id()], *silo.ledger());
}

void FederationAudit::recount(SimulatedSiloProcess& silo) {
  Books& books = books_[silo.id()];
  Result<store::Statement> rows =
      silo.database()->prepare("SELECT sequence, hash, body FROM entries WHERE sequence >= ? ORDER BY sequence");
  if (!rows) return violate(silo.name() + ": its ledger cannot be read");
  rows->bind(1, static_cast<std::int64_t>(books.entries));
  bool known = books.entries == 0;
  while (true) {
    const Result<bool> more = rows->step();
    if (!more) return violate(silo.name() + ": its ledger cannot be read");
    if (!*more) break;
    const auto sequence = static_cast<std::uint64_t>(rows->integer(0));
    if (sequence == books.entries) {
      known = rows->bytes(1) == books.head;
      continue;
    }
    if (sequence != books.entries + 1) violate(silo.name() + ": its ledger lacks an entry");
    enter(silo.id(), books, rows->bytes(2));
    books.entries = sequence;
    books.head = rows->bytes(1);
  }
  if (!known) violate(silo.name() + ": its ledger has lost an entry, or has another in its place");
}

void FederationAudit::enter(const SiloId& silo, Books& books, const std::string& body) {
  const nlohmann::json entry = nlohmann::json::parse(body);
  const std::string kind = entry.at("kind");
  if (kind == "opened" || kind == "upgraded") return;
  const RunId run = *RunId::from_hex(entry.at("run").get<std::string>());
  const auto refuse = [&](const char* why) {
    violate(fmt::format("silo {}: entry \"{}\": {}", silo.name(), kind, why));
  };
  if (kind == "reserved") {
    Account account;
    account.epsilon = *releases::EpsilonAmount::parse(entry.at("epsilon").get<std::string>());
    account.delta = *releases::DeltaAmount::parse(entry.at("delta").get<std::string>());
    if (!books.accounts.emplace(run, std::move(account)).second) refuse("the run is reserved already");
    return;
  }
  const auto found = books.accounts.find(run);
  if (found == books.accounts.end() || found->second.ended) return refuse("of a run that is not open");
  Account& account = found->second;
  if (kind == "released") {
    const std::uint64_t round = std::stoull(entry.at("round").get<std::string>());
    if (!account.replies.emplace(round, entry.at("reply").get<std::string>()).second)
      refuse("of a round that was answered");
    releases::Cost& spent = account.spent[entry.at("block").get<std::string>()];
    const auto sum = spent.plus(*releases::Cost::parse(entry.at("cost").get<std::string>()));
    if (!sum) return refuse("costs do not add up");
    spent = *sum;
  } else {
    account.ended = true;
    account.returned = kind == "returned";
    if (account.returned != account.replies.empty()) refuse("a reservation comes back exactly where nothing left");
  }
}

void FederationAudit::compare(const SiloId& silo, const Books& books, const silo::Ledger& ledger) {
  const auto differ = [&](const std::string& what) {
    violate(fmt::format("silo {}: its ledger and a recount of it differ in {}", silo.name(), what));
  };
  if (ledger.accounts().size() != books.accounts.size()) return differ("how many runs there are");
  releases::EpsilonAmount epsilon;
  releases::DeltaAmount delta;
  for (const auto& [run, account] : books.accounts) {
    const silo::RunAccount* own = ledger.account(run);
    if (own == nullptr) return differ("which runs there are");
    if (own->epsilon != account.epsilon || own->delta != account.delta) differ("a reservation");
    if (own->releases != account.replies.size()) differ("how many replies there are");
    if (own->ended != account.ended || own->returned != account.returned) differ("whether a run is over");
    for (const auto& [block, spent] :
         {std::pair("training", own->training_spent), std::pair("holdout", own->holdout_spent)}) {
      const auto counted = account.spent.find(block);
      if (spent != (counted == account.spent.end() ? releases::Cost() : counted->second)) differ("what was spent");
    }
    if (account.returned) continue;
    epsilon = *epsilon.plus(account.epsilon);
    delta = *delta.plus(account.delta);
  }
  if (ledger.epsilon_reserved() != epsilon || ledger.delta_reserved() != delta) differ("what all runs cost");
}

void FederationAudit::acts(const std::string& shuffler, const shuffler::BatchMachine::Action& action) {
  using Machine = shuffler::BatchMachine;
  if (const auto* store = std::get_if<Machine::Store>(&action)) {
    if (const auto* opened = std::get_if<shuffler::BatchOpened>(&store->change)) {
      shuffler::Batch& batch = collecting_[{shuffler, opened->spec.run}];
      batch.spec = opened->spec;
      batch.terms.clear();
      batch_round_[{shuffler, opened->spec.run}] = opened->spec.round.value;
    } else if (const auto* received = std::get_if<shuffler::MessageReceived>(&store->change)) {
      collecting_[{shuffler, received->run}].terms.emplace(received->slot, received->terms);
    } else if (const auto* permuted = std::get_if<shuffler::BatchPermuted>(&store->change)) {
      const shuffler::Batch& batch = collecting_[{shuffler, permuted->run}];
      std::set<SiloId>& in = mixed_[{shuffler, {permuted->run, batch_round_[{shuffler, permuted->run}]}}];
      in.clear();
      for (const std::size_t slot : shuffler::agreeing_slots(batch)) in.insert(batch.spec.expected.at(slot));
    }
  } else if (const auto* forward = std::get_if<Machine::Forward>(&action)) {
    std::string all = std::to_string(forward->replies);
    for (const std::string& unit : forward->units) all += unit;
    const auto [first, is_first] =
        forwarded_.emplace(std::pair(shuffler, Key(forward->run, forward->round.value)), sha256(all));
    if (!is_first && first->second != sha256(all))
      violate(fmt::format("shuffler {} forwarded two batches of round {}", shuffler, forward->round.value));
  }
}

void FederationAudit::restored(const std::string& shuffler, const std::vector<shuffler::Batch>& batches) {
  for (const shuffler::Batch& batch : batches) {
    shuffler::Batch& known = collecting_[{shuffler, batch.spec.run}];
    known.spec = batch.spec;
    known.terms = batch.terms;
    batch_round_[{shuffler, batch.spec.run}] = batch.spec.round.value;
  }
}

void FederationAudit::check_rounds(const RunId& run, coordinator::RunStore& store) {
  if (!shadows_.contains(run)) {  // whoever submitted it has not heard of it yet
    const Result<std::optional<coordinator::RunRecord>> record = store.find(run);
    if (!record || !*record) return violate("a run that nobody submitted");
    submitted(run, (**record).job);
  }
  Shadow& shadow = shadows_.at(run);
  algorithms::AlgorithmDriver driver(*shadow.algorithm);
  const queries::Query* query = driver.query();
  if (query == nullptr) return;
  const auto where = [&] { return fmt::format("run {}, round {}", run.hex().substr(0, 8), query->round.value); };
  const Result<std::vector<coordinator::RoundRecord>> rounds = store.rounds(run, query->round);
  if (!rounds) return violate("the coordinator's store cannot be read: " + rounds.error().message);
  for (const coordinator::RoundRecord& record : *rounds) {
    if (query == nullptr) return violate(fmt::format("run {}: a round after its end", run.hex().substr(0, 8)));
    if (record.round != query->round) return violate(where() + ": the rounds have a gap");
    const auto answers = [&](const queries::Query& asked) { return gather(shadow, run, asked, record, store); };
    if (Status done = driver.advance(answers); !done) return violate(where() + ": " + done.error().message);
    query = driver.query();
    if (query == nullptr) shadow.outcome = driver.outcome();
  }
  if (rounds->empty()) return;
  const Result<std::optional<coordinator::RunRecord>> record = store.find(run);
  if (!record || !*record || !(**record).checkpoint) return violate("a run without a checkpoint");
  ByteWriter state;
  shadow.algorithm->save(state);
  if (std::move(state).bytes() != (**record).checkpoint->algorithm_state)
    violate(fmt::format("run {}: after round {} the algorithm is not where its accepted replies lead",
                        run.hex().substr(0, 8), rounds->back().round.value));
}

Result<wire::Message> FederationAudit::left_for(const std::string& to, const SiloId& silo, const Key& key) const {
  const auto found = left_.find(std::tuple(to, silo, key.first, key.second));
  if (found == left_.end()) return missing(fmt::format("a reply was accepted that never left silo {}", silo.name()));
  wire::Decoder decoder{wire::Limits{}};
  UNDERTONE_TRY(std::vector<wire::Message> messages, decoder.feed(found->second));
  return std::move(messages.front());
}

Result<folds::Gathered> FederationAudit::gather(Shadow& shadow, const RunId& run, const queries::Query& query,
                                                const coordinator::RoundRecord& record, coordinator::RunStore& store) {
  const jobs::Job& job = shadow.job;
  if (job.shuffle) {
    if (!shadow.plan) {
      UNDERTONE_TRY(planning::Plan plan, planner_(job, job.cohort.front()));
      shadow.plan = std::move(plan);
    }
    const planning::Release& release = *shadow.plan->release(query.round);
    if (!release.is_public()) return gather_shuffled(shadow, run, query, release, record, store);
  }
  const releases::Ask* ask = planning::ask_of(shadow.schedule, query.round);
  if (ask == nullptr) return missing("a round beyond the schedule");
  const jobs::RoundSpec spec = jobs::round_spec(job, *ask);
  folds::RoundFold fold = spec.fold();
  WeightedSum recount;
  WeightedSum recount_open;
  std::int64_t records = 0;
  std::map<SiloId, std::vector<std::int64_t>> each;
  std::vector<folds::NoisePart> noise;
  if (spec.noise_is_looked_at && !shadow.plausible) {
    UNDERTONE_TRY(jobs::PlausibleCohort cohort, jobs::PlausibleCohort::of(job, "job", planner_));
    shadow.plausible = std::move(cohort);
  }
  for (const auto& [silo, digest] : record.accepted) {
    UNDERTONE_TRY(const wire::Message message, left_for(kCoordinator, silo, {run, query.round.value}));
    const auto& reply = std::get<wire::ReplyMessage>(message);
    if (queries::reply_digest(reply.run, reply.query, reply.type, reply.reply) != digest)
      return missing(fmt::format("the accepted reply of silo {} is not the one that left it", silo.name()));
    const std::uint64_t weight = spec.weight(*job.member(silo));
    fold.add(queries::values_of(reply.reply.answer), weight, spec.public_weight(*job.member(silo)));
    std::vector<std::int64_t> said = queries::values_of(reply.reply.answer);
    if (spec.beside_public) {
      const auto middle = said.begin() + static_cast<std::ptrdiff_t>(said.size() / 2);
      if (const std::uint64_t open = spec.public_weight(*job.member(silo)); open > 0)
        recount_open.add({middle, said.end()}, open);
      said.erase(middle, said.end());
    }
    recount.add(spec.reports ? spec.reports->totals(said) : said, weight);
    records += spec.records(*job.member(silo));
    if (spec.statistic) each.emplace(silo, spec.kept(queries::values_of(reply.reply.answer)));
    if (spec.noise_is_looked_at)
      noise.push_back(
          {static_cast<double>(weight), shadow.plausible->of_silo(silo).noise_stddev(shadow.plausible->asked(query))});
  }
  if (fold.replies() == 0) return missing("a round was closed without a reply");
  folds::Folded value = fold.value();
  const auto* mean = std::get_if<folds::Mean>(&value);
  if (spec.groups > 1) recount.keep_medians(spec.groups);
  if (mean != nullptr && !spec.aggregation.robust() &&
      !recount.is(mean->values, spec.lattice.step_log2, spec.aggregation.scaled_to))
    return missing("a round's fold is not the weighted mean of its replies, or the median of their groups'");
  if (mean != nullptr && mean->open && !recount_open.is(mean->open->values, spec.lattice.step_log2, std::nullopt))
    return missing("a round's fold of public records is not the mean of what they said");
  if (const auto* reports = std::get_if<folds::Reports>(&value);
      reports != nullptr && !recount.is(reports->totals / static_cast<double>(fold.replies()), 0, std::nullopt))
    return missing("a round's fold is not what its reports add up to");
  return folds::Gathered{query.round, fold.replies(),  std::move(value),
                         records,     std::move(each), folds::noise_stddev_of_mean(std::move(noise))};
}

Result<folds::Gathered> FederationAudit::gather_shuffled(Shadow& shadow, const RunId& run, const queries::Query& query,
                                                         const planning::Release& release,
                                                         const coordinator::RoundRecord& record,
                                                         coordinator::RunStore& store) {
  const jobs::Job& job = shadow.job;
  const Key key(run, query.round.value);
  UNDERTONE_TRY(const sealed::RoundLayout layout,
                sealed::RoundLayout::create(*job.shuffle, release, job.reply_lattice, job.cohort.size()));
  const Digest digest = queries::query_digest(run, query);
  const sealed::FoldedRound round{run, query, job.noise};
  const auto units_of = [&](const std::string& shuffler, const SiloId& silo) -> Result<std::string> {
    UNDERTONE_TRY(wire::Message message, left_for(shuffler, silo, key));
    return std::move(std::get<wire::SealedReply>(message).units);
  };
  if (!layout.adds()) {
    const std::string& shuffler = job.shuffle->shufflers.front().name;
    const std::set<SiloId>& senders = mixed_[{shuffler, key}];
    std::string units;
    for (const SiloId& silo : senders) {
      UNDERTONE_TRY(std::string own, units_of(shuffler, silo));
      units += own;
    }
    const sealed::SealingKey opening = *sealed::SealingKey::from_secret(sealing_secret_);
    const Result<std::optional<coordinator::ShuffledState>> state = store.shuffled_state(run);
    if (!state || !*state) return missing("the run has no key for its replies' codes");
    const sealed::ReplyMacKey mac = *sealed::ReplyMacKey::from_bytes(as_bytes((*state)->mac_key));
    const std::unique_ptr<sealed::BatchFold> fold = sealed::make_mixed_fold(layout, round, {opening, mac});
    if (Status taken = fold->take(0, senders.size(), std::move(units)); !taken) return taken.error();
    return fold->gathered();
  }
  const std::unique_ptr<sealed::BatchFold> fold = sealed::make_added_fold(layout, round);
  for (std::size_t i = 0; i < job.shuffle->shufflers.size(); ++i) {
    const std::string& shuffler = job.shuffle->shufflers[i].name;
    const sealed::SealingKey opening = *sealed::SealingKey::from_secret(shuffler_secrets_.at(shuffler));
    std::vector<std::uint64_t> total(static_cast<std::size_t>(layout.dimension()), 0);
    for (const auto& [silo, together] : record.accepted) {
      const Result<std::string> sealed = units_of(shuffler, silo);
      if (!sealed) return sealed.error();
      UNDERTONE_TRY(const sealed::OpenedReply opened,
                    sealed::open(opening, sealed::adder_mac_key(run), layout.terms(run, query.round, digest), *sealed));
      const std::string_view body = opened.body();
      UNDERTONE_TRY(sealed::add_share({reinterpret_cast<const std::uint8_t*>(body.data()), body.size()},
                                      layout.modulus(), total));
    }
    const std::vector<std::uint8_t> packed = sealed::pack_share(total, layout.modulus());
    if (Status taken = fold->take(i, record.accepted.size(), {packed.begin(), packed.end()}); !taken)
      return taken.error();
  }
  return fold->gathered();
}

const std::optional<algorithms::Outcome>& FederationAudit::expected(const RunId& run) const {
  static const std::optional<algorithms::Outcome> none;
  const auto found = shadows_.find(run);
  return found == shadows_.end() ? none : found->second.outcome;
}

}  // namespace undertone::simulation
