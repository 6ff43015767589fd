#include <map>
#include <optional>

#include "silo/agent/silo_machine.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/reused_database.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/fault_world.hpp"
#include "tests/support/memory_head.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::fuzz {
namespace {

using namespace silo;

constexpr std::size_t kRuns = 3;
constexpr std::size_t kEventsMax = 200;

/// Jobs that a silo is offered, and its data, which are the same for every input.
struct Offered {
  Offered() : silo(federation(1).cohort().front()) {
    for (std::size_t i = 0; i < kRuns; ++i) {
      jobs.push_back(federation(static_cast<int>(i)).job());
      parsed.push_back(jobs::parse_job(jobs.back(), "job").value());
      runs.push_back({sha256(jobs.back()), {static_cast<std::uint8_t>(i)}});
      plans.push_back(jobs::plan_of(parsed.back(), parsed.back().cohort.front()).value());
    }
  }
  static tests::SmallFederation federation(int number) {
    tests::SmallFederation out;
    out.name = fmt::format("job-{}", number);
    out.rounds = 3;
    out.evaluation_every = number == 2 ? 0 : 2;
    out.points = number == 1 ? "f32" : "f64";
    return out;
  }

  simulation::SimulatedSilo silo;
  std::vector<std::string> jobs;
  std::vector<jobs::Job> parsed;
  std::vector<RunId> runs;
  std::vector<planning::Plan> plans;
  tests::KnownPlans known_plans;
  ReusedDatabase database;
  ReusedDatabase desk_database;
};

/// A silo, and everything that ever left it. The process may die between any two events.
class World {
 public:
  World(Offered& offered, std::uint8_t how)
      : offered_(offered),
        policy_(tests::generous_policy()),
        database_(offered.database.emptied()),
        desk_database_(offered.desk_database.emptied()) {
    policy_.approval = (how & 1U) != 0 ? Approval::Manual : Approval::Automatic;
    protocol_ = 1 + (how >> 1U) % 3U;
    if ((how & 8U) != 0) policy_.total.epsilon = *releases::EpsilonAmount::rounded_down(2.0);  // of two jobs at most
    boot();
  }

  void step(Input& input) {
    const std::uint32_t what = input.below(16);
    const std::uint32_t job = input.below(kRuns);
    const RunId run = input.rarely(16) ? RunId{offered_.runs[job].job, {99}} : offered_.runs[job];
    if (what < 3) {
      offer(run, input.rarely(8) ? offered_.jobs[(job + 1) % kRuns] : offered_.jobs[job]);
    } else if (what < 9) {
      ask(run, job, input);
    } else if (what == 9) {
      carry_out(wire::JobEnded{run, input.rarely(2)}, nullptr);
    } else if (what == 10) {
      welcome(input);
    } else if (what == 11) {
      UNDERTONE_CHECK(desk_->set_paused(input.rarely(2)).has_value());
    } else if (what == 12) {
      const Decision decisions[] = {Decision::Approved, Decision::Approved, Decision::Refused, Decision::Withdrawn};
      UNDERTONE_CHECK(desk_->decide(run, decisions[input.below(4)]).has_value());
    } else if (what == 13) {
      boot();
    } else if (what == 14) {
      (void)machine_->may_release(run);
      (void)machine_->recorded(run);
    } else {
      carry_out(wire::Heartbeat{}, nullptr);
    }
  }

  /// What a person finds who looks at the ledger afterwards.
  void check() {
    boot();
    releases::EpsilonAmount sum;
    for (const auto& [run, account] : ledger_->accounts()) {
      const auto known = std::find(offered_.runs.begin(), offered_.runs.end(), run);
      if (known != offered_.runs.end()) {
        const planning::Plan& plan = offered_.plans[static_cast<std::size_t>(known - offered_.runs.begin())];
        UNDERTONE_CHECK(account.releases <= plan.rounds());
      }
      std::size_t replies = 0;
      for (const auto& [key, reply] : replies_) replies += key.first == run ? 1 : 0;
      UNDERTONE_CHECK(replies == account.releases);
      UNDERTONE_CHECK(!account.returned || replies == 0);
      if (!account.returned) sum = sum.plus(account.epsilon).value();
    }
    UNDERTONE_CHECK(sum == ledger_->epsilon_reserved() && sum <= policy_.total.epsilon);
  }

 private:
  struct Replied {
    Digest query{};
    std::string bytes;
  };

  void boot() {
    machine_.reset();
    ledger_.reset();
    const auto clock = [] { return std::int64_t{1'763'716'143}; };
    const Digest holdout = offered_.silo.facts.holdout_public ? sha256("holdout") : Digest{};
    const Digest open = offered_.silo.facts.public_records > 0 ? sha256("public") : Digest{};
    ledger_ = std::make_unique<Ledger>(
        Ledger::open(database_, head_, key_, {"data", {}, holdout, open}, policy_.total, randomness_.kind(), clock)
            .value());
    desk_.emplace(Desk::open(desk_database_).value());
    machine_ = std::make_unique<SiloMachine>(SiloMachine::Setup{offered_.silo.id,
                                                                policy_,
                                                                offered_.silo.facts,
                                                                offered_.silo.dataset,
                                                                *ledger_,
                                                                randomness_,
                                                                wire::Limits{},
                                                                {},
                                                                *desk_,
                                                                "data",
                                                                clock,
                                                                {},
                                                                offered_.known_plans.planner()});
    (void)machine_->on_message(wire::Welcome{protocol_, "coordinator", {}});
  }

  void offer(const RunId& run, const std::string& job) { carry_out(wire::JobOffer{run, job}, nullptr); }

  void ask(const RunId& run, std::uint32_t job, Input& input) {
    const RoundIndex round{input.below(6)};
    const std::uint8_t how = input.byte();
    const planning::Release* release = offered_.plans[job].release(round);
    const releases::QuestionKind other =
        (how & 0x40U) != 0 ? releases::QuestionKind::Statistic : static_cast<releases::QuestionKind>(1 + how % 4);
    const releases::QuestionKind kind = (how & 0x30U) == 0x30U || release == nullptr ? other : release->ask.kind();
    // The decoder lets no point through with a statistic.
    const bool at_a_point = kind != releases::QuestionKind::Statistic;
    const std::optional<models::Model>& model = offered_.parsed[job].model;
    const Eigen::Index of_model = model ? model->dimension() : 1;
    const Eigen::Index planned = release != nullptr && kind == release->ask.kind() ? release->ask.point_size(of_model)
                                 : at_a_point                                      ? of_model
                                                                                   : 0;
    const Eigen::Index dimension = planned + (at_a_point && (how & 0xc0U) == 0xc0U ? 2 : 0);
    Eigen::VectorXd point = Eigen::VectorXd::Constant(dimension, 0.25 * (how % 4));
    if (at_a_point && (how & 0x0fU) == 0x0fU) point[0] = 1e300;
    const auto type = (how & 0x18U) == 0x18U ? queries::PointType::F32 : offered_.parsed[job].point_type;
    const wire::QueryMessage query{run, type, {round, queries::question_of(kind, std::move(point))}};
    carry_out(query, &query);
  }

  void welcome(Input& input) {
    wire::Welcome message{1 + input.below(3), "coordinator", {}};
    const std::uint8_t how = input.byte();
    if ((how & 3U) == 0) {
      message.receipts.push_back(ledger_->head());
      if ((how & 12U) != 0) message.receipts.back().sequence += how / 16;
      if ((how & 4U) != 0) message.receipts.back().ledger[0] ^= 1U;
    }
    protocol_ = message.protocol;
    carry_out(message, nullptr);
  }

  void carry_out(const wire::Message& message, const wire::QueryMessage* query) {
    const std::vector<Action> actions = machine_->on_message(message);
    for (const Action& action : actions) {
      const auto* sent = std::get_if<Send>(&action);
      if (sent == nullptr) continue;
      wire::Decoder decoder{wire::Limits{}};
      const auto messages = decoder.feed(sent->bytes);
      UNDERTONE_CHECK(messages && messages->size() == 1);
      if (const auto* reply = std::get_if<wire::ReplyMessage>(&messages->front())) {
        UNDERTONE_CHECK(query != nullptr);
        check(*reply, *query, sent->bytes);
      } else if (const auto* answer = std::get_if<wire::JobAnswer>(&messages->front()); answer && !answer->refusal) {
        const RunAccount* account = ledger_->account(answer->run);
        UNDERTONE_CHECK(account != nullptr && !account->ended);
      } else if (const auto* receipt = std::get_if<wire::ReceiptMessage>(&messages->front())) {
        UNDERTONE_CHECK(receipt->receipt.sequence == ledger_->head().sequence);
        UNDERTONE_CHECK(ledger_->check_receipt(receipt->receipt).has_value());
      }
    }
  }

  /// One reply for each round of a run, for ever, to the query that was asked, and on disk before it left.
  void check(const wire::ReplyMessage& reply, const wire::QueryMessage& query, const std::string& bytes) {
    UNDERTONE_CHECK(reply.run == query.run && reply.reply.round == query.query.round);
    UNDERTONE_CHECK(reply.query == queries::query_digest(query.run, query.query));
    const auto known = replies_.try_emplace({reply.run, reply.reply.round}, Replied{reply.query, bytes}).first;
    UNDERTONE_CHECK(known->second.query == reply.query && known->second.bytes == bytes);
    const auto stored = ledger_->find_reply(reply.run, reply.reply.round, reply.query);
    UNDERTONE_CHECK(stored && *stored && (*stored)->bytes == bytes);
    UNDERTONE_CHECK(machine_->may_release(reply.run));
  }

  Offered& offered_;
  Policy policy_;
  std::uint32_t protocol_ = 1;
  const SigningKey key_ = SigningKey::from_seed(std::string(32, 's')).value();
  store::Database& database_;
  store::Database& desk_database_;
  tests::MemoryHead head_;
  TestRandomness randomness_{1, offered_.silo.id};
  std::unique_ptr<Ledger> ledger_;
  std::optional<Desk> desk_;
  std::unique_ptr<SiloMachine> machine_;
  std::map<std::pair<RunId, RoundIndex>, Replied> replies_;
};

/// Any messages of a coordinator that keeps no rule, its owner's decisions, and crashes: each (run, round) has one
/// reply, nothing leaves that is not in the ledger, and the ledger never holds more than the policy grants.
void silo_machine(std::string_view bytes) {
  static Offered offered;
  Input input(bytes);
  World world(offered, input.byte());
  for (std::size_t i = 0; i < kEventsMax && !input.empty(); ++i) world.step(input);
  world.check();
}

const Target kTarget("silo_machine", silo_machine);

}  // namespace
}  // namespace undertone::fuzz
