#include <map>
#include <optional>
#include <set>

#include "coordinator/jobs/job_service.hpp"
#include "shared/sealed/sealed_reply.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/reused_database.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/fault_world.hpp"
#include "tests/support/long_advance.hpp"
#include "tests/support/shuffled_job.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::fuzz {
namespace {

using namespace coordinator;
using std::chrono::milliseconds;

constexpr std::size_t kEventsMax = 150;
constexpr std::size_t kRuns = 3;
constexpr std::uint32_t kSilos = 3;

SiloId silo_of(std::uint32_t number) { return SiloId::create(fmt::format("silo-{}", number)).value(); }

/// Two jobs that silos answer directly, and one whose shares two shufflers add.
struct Submitted {
  Submitted() {
    for (int i = 0; i < 2; ++i) {
      tests::SmallFederation federation;
      federation.name = fmt::format("job-{}", i);
      federation.silos = kSilos;
      federation.rounds = 3;
      federation.evaluation_every = i == 0 ? 2 : 0;
      federation.round_deadline_ms = 4000 + i;
      add(federation.job());
    }
    tests::ShuffledJob shuffled{.form = "shares"};
    shuffled.shufflers = fmt::format(R"([{{"name":"adder-a","key":"{}"}},{{"name":"adder-b","key":"{}"}}])",
                                     std::string(64, 'a'), std::string(64, 'b'));
    shuffled.round_deadline_ms = 4000;
    std::string job = shuffled.json();
    const std::string none = "\"holdout_records\":0";  // its last question is about them
    for (std::size_t at; (at = job.find(none)) != std::string::npos;)
      job.replace(at, none.size(), "\"holdout_records\":8");
    add(job);
  }
  void add(const std::string& job) {
    jobs.push_back(job);
    parsed.push_back(jobs::parse_job(job, "job").value());
    prepared.push_back(
        coordinator::PreparedJob::make(jobs::read_job(job, "job").value(), "job", jobs::plan_of).value().save());
    runs.push_back({sha256(job), {static_cast<std::uint8_t>(runs.size())}});
  }
  std::vector<std::string> jobs;
  std::vector<jobs::Job> parsed;
  std::vector<std::string> prepared;
  std::vector<RunId> runs;
  tests::KnownPlans known_plans;
  ReusedDatabase database;
};

/// A coordinator and everything that it ever said. It dies between any two events; its store survives.
class World {
 public:
  World(Submitted& submitted, std::uint8_t how) : submitted_(submitted), takes_long_(how >= 128) {
    limits_.runs_at_once = 1 + how % 3U;
    for (std::size_t i = 0; i < kRuns; ++i) {
      const std::size_t job = (i + how / 3U) % kRuns;
      std::vector<SiloId> cohort;
      for (const jobs::CohortMember& member : submitted_.parsed[job].cohort) cohort.push_back(member.facts.silo);
      UNDERTONE_CHECK(
          store_.begin(submitted_.runs[job], "job", submitted_.jobs[job], cohort, submitted_.prepared[job], clock_)
              .has_value());
    }
    boot();
  }

  void step(Input& input) {
    const std::uint32_t what = input.below(20);
    const std::uint32_t job = input.below(kRuns);
    const std::uint32_t silo = input.below(kSilos + 1);  // the last is of no cohort
    if (what < 2) {
      carry_out(service_->on_connected(silo_of(silo), now_));
      connected_.insert(silo_of(silo));
    } else if (what == 2) {
      carry_out(service_->on_disconnected(silo_of(silo), now_));
      connected_.erase(silo_of(silo));
    } else if (what < 11) {
      carry_out(service_->on_message(silo_of(silo), from_silo(job, silo, input), now_));
    } else if (what == 11) {
      now_ += milliseconds(input.rarely(3) ? 9000 : 400);
      ++clock_;
      finish_advance();
      carry_out(service_->on_timer(now_));
    } else if (what == 12) {
      if (input.rarely(4)) cancel(submitted_.runs[job]);
    } else if (what == 13) {
      carry_out(service_->on_shuffler_connected(shuffler(silo), now_));
    } else if (what < 18) {
      carry_out(service_->on_shuffler_message(shuffler(silo), from_shuffler(silo, input), now_));
    } else if (what == 18) {
      service_->on_shuffler_lost(shuffler(silo));
    } else {
      boot();
    }
    check();
  }

 private:
  /// What was asked in a round, which a restart must not change.
  struct Asked {
    Digest query{};
    std::string bytes;
  };

  static std::string shuffler(std::uint32_t number) { return number % 2 == 0 ? "adder-a" : "adder-b"; }

  void boot() {
    service_.emplace(
        store_, wire::Limits{}, limits_, [this] { return clock_; }, std::set<std::string>{"adder-a", "adder-b"},
        submitted_.known_plans.planner(),
        takes_long_ ? tests::taking_long() : jobs::AlgorithmMaker(jobs::make_algorithm));
    connected_.clear();
    advances_.clear();
    ended_here_.clear();
    carry_out(service_->start(now_));
  }
  /// What takes long and was handed out, if anything was.
  void finish_advance() {
    if (advances_.empty()) return;
    Advance advance = std::move(advances_.begin()->second);
    advances_.erase(advances_.begin());
    carry_out(service_->on_advanced(std::move(advance).perform(), now_));
  }
  void cancel(const RunId& run) {
    auto cancelled = service_->cancel(run, "enough", now_);
    const bool over = is_end((*store_.find(run).value()).state);
    if (cancelled) return carry_out(std::move(cancelled));
    UNDERTONE_CHECK(over && cancelled.error().code == ErrorCode::InvalidArgument);
  }

  wire::Message from_silo(std::uint32_t job, std::uint32_t silo, Input& input) {
    const RunId run = input.rarely(16) ? RunId{submitted_.runs[job].job, {99}} : submitted_.runs[job];
    const RunMachine* machine = service_->machine(run);
    const auto progress = machine == nullptr ? std::nullopt : machine->progress();
    const std::uint8_t how = input.byte();
    RoundIndex round = progress ? progress->round : RoundIndex{};
    if ((how & 0xe0U) == 0xe0U) round = RoundIndex{how % 8U};
    switch (input.below(10)) {
      case 0:
      case 1:
      case 2:
        return wire::JobAnswer{run, std::nullopt};
      case 3:
        return wire::JobAnswer{run, static_cast<wire::Refusal>(1 + how % 9)};
      case 4:
        return wire::QueryRefused{run, round, static_cast<wire::Refusal>(1 + how % 9)};
      case 5:
        if (how % 4 == 0) return wire::ReceiptMessage{{sha256("ledger"), how, sha256("head"), std::string(64, 's')}};
        if (how % 4 == 1) return wire::JobPending{run};
        if (how % 4 == 2) return wire::Heartbeat{};
        return wire::JobEndedSeen{run};
      case 6:
        return wire::ReplyHandedOver{run, round};
      default:
        return reply(run, job, silo, round, how, input);
    }
  }
  wire::Message reply(const RunId& run, std::uint32_t job, std::uint32_t silo, RoundIndex round, std::uint8_t how,
                      Input& input) {
    const jobs::Job& parsed = submitted_.parsed[job];
    const auto asked = asked_.find({run, round});
    bool metrics = false;
    if (asked != asked_.end()) {
      wire::Decoder decoder{wire::Limits{}};
      const wire::Message query = decoder.feed(asked->second.bytes).value().front();
      metrics = queries::kind_of(std::get<wire::QueryMessage>(query).query.question) == releases::QuestionKind::Metrics;
    }
    const auto dimension =
        metrics ? parsed.model->metric_names().size() : static_cast<std::size_t>(parsed.model->dimension());
    const std::uint64_t value = input.number() % (std::uint64_t{1} << (how % 63U));
    std::vector<std::int64_t> values(
        dimension + ((how & 0xf8U) == 0xc0U ? 1 : 0),
        how % 2 == 0 ? static_cast<std::int64_t>(value) : -static_cast<std::int64_t>(value));
    const jobs::CohortMember* member = parsed.member(silo_of(silo));
    queries::Answer answer = queries::NoisedSums{values};
    if (metrics && member != nullptr && member->facts.holdout_public) answer = queries::PublicSums{values};
    return wire::ReplyMessage{run,
                              asked == asked_.end() ? Digest{} : asked->second.query,
                              parsed.reply_lattice.type,
                              {round, parsed.reply_lattice.step_log2, parsed.noise, std::move(answer)}};
  }

  wire::Message from_shuffler(std::uint32_t which, Input& input) {
    const RunId& run = submitted_.runs.back();
    const std::uint32_t what = input.below(8);
    const std::uint8_t how = input.byte();
    const wire::BatchOpen* batch = batches_.contains(shuffler(which)) ? &batches_.at(shuffler(which)) : nullptr;
    RoundIndex round = batch == nullptr ? RoundIndex{} : batch->round;
    std::uint32_t attempt = batch == nullptr ? 0 : batch->attempt;
    if ((how & 0xf0U) == 0xf0U) round = RoundIndex{how % 6U};
    if ((how & 0xf0U) == 0xe0U) attempt = how % 3U;
    std::vector<SiloId> silos;
    for (std::uint32_t i = 0; i < kSilos; ++i) {
      if ((how >> i & 1U) == 0) silos.push_back(silo_of(i));
    }
    if (how == 0x80 && silos.size() > 1) std::swap(silos.front(), silos.back());
    if (how == 0x81) silos.push_back(silo_of(9));
    if (what < 2) return wire::BatchOpened{run, round, attempt};
    if (what == 2) return wire::BatchRefused{run, round, attempt, static_cast<wire::BatchRefusal>(1 + how % 6)};
    if (what < 5) return wire::BatchCollected{run, round, attempt, silos};
    if (what == 5) return wire::BatchFailed{run, round, attempt, how % 4U};
    if (what == 6 && how % 8 == 7) return wire::Heartbeat{};
    const auto closed = closed_.find({run, round});
    const std::uint64_t replies = closed == closed_.end() || (how & 0x88U) == 0x88U ? how % 5U : closed->second.size();
    std::size_t bytes = batch == nullptr ? 8 : batch->unit_bytes - sealed::ReplyLength::kOverheadBytes;
    if (how == 0x90) ++bytes;
    return wire::BatchForward{run, round, replies, std::string(bytes, how % 3 == 0 ? static_cast<char>(how) : '\0')};
  }

  /// No event of a peer is an error of the service: its host would stop.
  void carry_out(Result<JobService::Actions> actions) {
    UNDERTONE_CHECK(actions.has_value());
    for (JobService::Action& action : *actions) {
      if (auto* advance = std::get_if<Advance>(&action)) {
        const RunId run = advance->run();
        UNDERTONE_CHECK(takes_long_ && advances_.emplace(run, std::move(*advance)).second);  // a round closes once
      } else if (const auto* sent = std::get_if<JobService::SessionSend>(&action)) {
        check_sent(*sent);
      } else if (const auto* shuffled = std::get_if<JobService::SendToShuffler>(&action)) {
        check_sent(*shuffled);
      } else if (const auto* of_run = std::get_if<JobService::OfRun>(&action)) {
        if (const auto* closed = std::get_if<RunMachine::RoundClosed>(&of_run->what)) {
          UNDERTONE_CHECK(rounds_closed_.emplace(of_run->run, closed->round).second);
          UNDERTONE_CHECK(closed->replies >= 2);
        } else if (std::holds_alternative<RunMachine::Ended>(of_run->what)) {
          UNDERTONE_CHECK(ended_here_.insert(of_run->run).second);
          UNDERTONE_CHECK(is_end((*store_.find(of_run->run).value()).state));
        }
      }
    }
  }
  static wire::Message decoded(const std::string& bytes) {
    wire::Decoder decoder{wire::Limits{}};
    auto messages = decoder.feed(bytes);
    UNDERTONE_CHECK(messages && messages->size() == 1);
    return messages->front();
  }
  /// A round has one query, which was committed before it was asked, of silos that accepted the job.
  void check_sent(const JobService::SessionSend& sent) {
    const wire::Message message = decoded(*sent.bytes);
    const auto* query = std::get_if<wire::QueryMessage>(&message);
    if (query == nullptr) return;
    UNDERTONE_CHECK(!advances_.contains(query->run));  // the round is closed, and the next is not known
    const Digest digest = queries::query_digest(query->run, query->query);
    const auto known = asked_.try_emplace({query->run, query->query.round}, Asked{digest, *sent.bytes}).first;
    UNDERTONE_CHECK(known->second.query == digest);
    const RunRecord record = *store_.find(query->run).value();
    UNDERTONE_CHECK(record.checkpoint && record.checkpoint->round >= query->query.round);
    UNDERTONE_CHECK(record.checkpoint->round != query->query.round || record.checkpoint->query == digest);
    const auto answer = record.answers.find(sent.silo);
    UNDERTONE_CHECK(answer != record.answers.end() && !answer->second);
  }
  /// An attempt's batch is opened for the same silos at every shuffler, and has one set of those that are added.
  void check_sent(const JobService::SendToShuffler& sent) {
    const wire::Message message = decoded(*sent.bytes);
    if (const auto* open = std::get_if<wire::BatchOpen>(&message)) {
      batches_.insert_or_assign(sent.shuffler, *open);
      UNDERTONE_CHECK(open->attempt < ShuffledRound::kAttemptsMax && open->expected.size() >= 2);
      const auto known = opened_.emplace(std::tuple(open->run, open->round, open->attempt), open->expected).first;
      UNDERTONE_CHECK(known->second == open->expected);
      // After a total was added up in this round nothing else is.
      UNDERTONE_CHECK(!closed_attempts_.contains({open->run, open->round}) ||
                      closed_attempts_.at({open->run, open->round}) <= open->attempt);
    } else if (const auto* close = std::get_if<wire::BatchClose>(&message)) {
      UNDERTONE_CHECK(close->silos.size() >= 2);
      const auto known = closing_.emplace(std::tuple(close->run, close->round, close->attempt), close->silos).first;
      UNDERTONE_CHECK(known->second == close->silos);
      closed_.insert_or_assign({close->run, close->round}, close->silos);
      closed_attempts_.insert_or_assign({close->run, close->round}, close->attempt);
    }
  }
  void check() {
    std::size_t under_way = 0;
    for (const RunId& run : submitted_.runs) {
      const RunMachine* machine = service_->machine(run);
      if (machine == nullptr) continue;
      ++under_way;
      UNDERTONE_CHECK(machine->ended() == is_end((*store_.find(run).value()).state));
      for (std::uint32_t i = 0; i < kSilos; ++i) (void)machine->why_missing(silo_of(i));
    }
    UNDERTONE_CHECK(under_way <= kRuns);
  }

  Submitted& submitted_;
  bool takes_long_;
  std::map<RunId, Advance> advances_;  // handed out, of this life
  ServiceLimits limits_;
  std::int64_t clock_ = 1'763'716'143;
  TimePoint now_{};
  store::Database& database_ = submitted_.database.emptied();
  RunStore store_ = RunStore::open(database_).value();
  std::optional<JobService> service_;
  std::set<SiloId> connected_;
  std::map<std::pair<RunId, RoundIndex>, Asked> asked_;
  std::set<std::pair<RunId, RoundIndex>> rounds_closed_;
  std::set<RunId> ended_here_;
  std::map<std::string, wire::BatchOpen> batches_;  // what each shuffler was told last
  std::map<std::tuple<RunId, RoundIndex, std::uint32_t>, std::vector<SiloId>> opened_;
  std::map<std::tuple<RunId, RoundIndex, std::uint32_t>, std::vector<SiloId>> closing_;
  std::map<std::pair<RunId, RoundIndex>, std::vector<SiloId>> closed_;
  std::map<std::pair<RunId, RoundIndex>, std::uint32_t> closed_attempts_;
};

/// Any messages of silos and shufflers that keep no rule, deadlines, cancellations and crashes, with the machines of
/// runs and of shuffled rounds inside.
void job_service(std::string_view bytes) {
  static Submitted submitted;
  Input input(bytes);
  World world(submitted, input.byte());
  for (std::size_t i = 0; i < kEventsMax && !input.empty(); ++i) world.step(input);
}

const Target kTarget("job_service", job_service);

}  // namespace
}  // namespace undertone::fuzz
