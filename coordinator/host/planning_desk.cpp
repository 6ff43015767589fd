#include "coordinator/host/planning_desk.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>
#include <utility>
#include <vector>

#include "shared/base/contained.hpp"
#include "shared/base/large_memory.hpp"
#include "shared/base/work_meter.hpp"
#include "shared/crypto/secure_bits.hpp"
#include "shared/net/await.hpp"
#include "shared/preview/job_preview.hpp"

namespace undertone::coordinator {
namespace {

namespace asio = boost::asio;

constexpr const char* kJobName = "job";                        // in place of a file's name
constexpr std::uint64_t kShownWorkMax = jobs::kCohortWorkMax;  // beside the plans

/// Not to be guessed by whoever may ask after it.
std::string draw_id() {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  return fmt::format("{:016x}{:016x}", bits.word(), bits.word());
}

/// A text of a mebibyte may have as many mistakes as bytes, and what is wrong with it is kept for whoever asks.
Error shortened(Error error) {
  constexpr std::size_t kKeptBytes = std::size_t{64} << 10U;
  if (error.message.size() <= kKeptBytes) return error;
  const std::size_t end = error.message.rfind('\n', kKeptBytes);
  return {error.code, error.message.substr(0, end == std::string::npos ? kKeptBytes : end) + "\nand more of the kind"};
}

Error given_up() {
  return {ErrorCode::Cancelled, "the job was not planned: it was given up, or the coordinator stops"};
}

}  // namespace

void Turns::take() {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_++;
  changed_.wait(lock, [&] { return serving_ == ticket; });
}

void Turns::pass() {
  {
    const std::lock_guard lock(mutex_);
    ++serving_;
  }
  changed_.notify_all();
}

PlanningDesk::~PlanningDesk() {
  stop();
  threads_.join();
}

void PlanningDesk::stop() {
  stopped_ = true;
  for (const auto& [id, planning] : plannings_) planning->cancelled = true;
}

Result<std::string> PlanningDesk::enter(const std::string& text, PlanningPurpose purpose, const std::string& who,
                                        const std::string& page) {
  std::vector<std::string> older;
  for (const auto& [id, planning] : plannings_)
    if (!page.empty() && !planning->outcome && planning->page == page && planning->who == who && planning->text != text)
      older.push_back(id);
  for (const std::string& id : older) (void)cancel(id, who);
  std::size_t waiting = 0;
  std::size_t own = 0;
  for (const auto& [id, planning] : plannings_) {
    if (planning->outcome) continue;
    if (planning->who == who && planning->purpose == purpose && planning->text == text && !planning->cancelled)
      return id;
    ++waiting;
    own += planning->who == who ? 1 : 0;
  }
  if (waiting >= kWaitingMax || own >= kOfOperatorMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{} jobs wait to be planned, {} of them yours: at most {} and {} may", waiting, own,
                             kWaitingMax, kOfOperatorMax)};
  }
  const std::string id = draw_id();
  auto planning = std::make_shared<Planning>();
  planning->text = text;
  planning->who = who;
  planning->page = page;
  planning->purpose = purpose;
  planning->number = entered_++;
  plannings_.emplace(id, std::move(planning));
  begin_waiting();
  return id;
}

void PlanningDesk::begin_waiting() {
  while (!stopped_) {
    std::set<std::string> busy;
    for (const auto& [id, planning] : plannings_)
      if (planning->begun && !planning->outcome) busy.insert(planning->who);
    if (busy.size() >= kAtOnce) return;
    std::shared_ptr<Planning> next;
    const auto order = [this](const Planning& one) {
      const auto served = last_begun_.find(one.who);
      return std::pair(served == last_begun_.end() ? 0 : served->second, one.number);
    };
    for (const auto& [id, planning] : plannings_) {
      if (planning->begun || planning->outcome || busy.contains(planning->who)) continue;
      if (!next || order(*planning) < order(*next)) next = planning;
    }
    if (!next) return;
    if (last_begun_.size() > kOutcomesKept) last_begun_.clear();
    last_begun_[next->who] = ++begun_;
    begin(next);
  }
}

void PlanningDesk::begin(const std::shared_ptr<Planning>& planning) {
  planning->begun = true;
  asio::post(threads_, [this, planning] {
    turns_.take();
    const WorkMeter meter(UINT64_MAX, &planning->cancelled);
    auto planned = std::make_shared<Result<PlannedJob>>(PlannedJob::plan(
        planning->text, kJobName,
        [&](const jobs::Job& job, const jobs::CohortMember& member) {
          turns_.pass();
          turns_.take();
          if (planning->cancelled) return Result<planning::Plan>(given_up());
          return jobs::plan_of(job, member);
        },
        public_folder_));
    if (!*planned) *planned = shortened(planned->error());
    turns_.pass();
    std::optional<Result<std::string>> shown;
    // Showing a plan takes no turn: the planner's searches are remembered, so that little is left to compute.
    if (*planned && planning->purpose == PlanningPurpose::Show && !planning->cancelled) {
      const WorkMeter shown_work(kShownWorkMax);
      shown = contained("showing the plan", [&] {
        return preview::plan_of_job(planning->text, public_folder_.value_or(std::filesystem::path()) / kJobName);
      });
      if (shown_work.exhausted())
        shown = Error{ErrorCode::LimitExceeded, "what there is to say of the plan takes more work than is allowed"};
    }
    give_back_freed_memory();  // of what a large text took
    if (stopped_) return;
    asio::post(*context_, [this, planning, planned, shown] {
      if (stopped_) return;
      finish(planning, outcome_of(*planning, *planned, shown));
    });
  });
}

PlanningDesk::Outcome PlanningDesk::outcome_of(const Planning& planning, const Result<PlannedJob>& planned,
                                               const std::optional<Result<std::string>>& shown) {
  if (planning.cancelled) return given_up();
  if (!planned) return planned.error();
  if (shown && !*shown) return shown->error();
  if (shown) return Outcome(**shown);
  const Result<ApiHooks::Submitted> submitted =
      submit_(*planned, planning.purpose == PlanningPurpose::SubmitAgain, planning.who);
  if (!submitted) return submitted.error();
  return Outcome(*submitted);
}

void PlanningDesk::finish(const std::shared_ptr<Planning>& planning, Outcome outcome) {
  planning->outcome = std::move(outcome);
  if (!*planning->outcome) planning->text = {};  // whoever asks is told why, and nothing of the text
  for (const auto& [id, one] : plannings_)
    if (one == planning) finished_.push_back(id);
  while (finished_.size() > kOutcomesKept) {
    plannings_.erase(finished_.front());
    finished_.pop_front();
  }
  begin_waiting();
}

asio::awaitable<std::optional<PlanningDesk::Outcome>> PlanningDesk::outcome(std::string id,
                                                                            std::chrono::milliseconds most) {
  const auto found = plannings_.find(id);
  if (found == plannings_.end()) co_return std::nullopt;
  const std::shared_ptr<Planning> planning = found->second;
  const auto until = std::chrono::steady_clock::now() + most;
  while (!stopped_ && !planning->outcome && std::chrono::steady_clock::now() < until) {
    // A timer of its own: several may ask after one job.
    asio::steady_timer look(context_->get_executor());
    look.expires_at(std::min(until, std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
    (void)co_await look.async_wait(net::kAwait);
  }
  if (stopped_ && !planning->outcome) co_return std::optional<Outcome>(given_up());
  co_return planning->outcome;
}

std::size_t PlanningDesk::before(const std::string& id) const {
  const std::uint64_t number = plannings_.at(id)->number;
  return static_cast<std::size_t>(std::count_if(plannings_.begin(), plannings_.end(), [number](const auto& one) {
    return !one.second->outcome && one.second->number < number;
  }));
}

bool PlanningDesk::cancel(const std::string& id, const std::string& who) {
  const auto found = plannings_.find(id);
  if (found == plannings_.end() || found->second->outcome || found->second->who != who) return false;
  const std::shared_ptr<Planning> planning = found->second;
  planning->cancelled = true;
  if (!planning->begun) finish(planning, Outcome(given_up()));
  return true;
}

}  // namespace undertone::coordinator
