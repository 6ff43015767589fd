#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "coordinator/http/api.hpp"
#include "coordinator/jobs/job_service.hpp"

namespace undertone::coordinator {

/// Lets several threads work one at a time, in the order in which they asked: who passes its turn on comes last.
class Turns {
 public:
  void take();
  void pass();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;     // ticket to hand out
  std::uint64_t serving_ = 0;  // whose turn it is
};

/// Plans what operators submit on threads of its own, so that sessions live on meanwhile. Each operator has one job
/// planned at a time, the others of theirs wait; jobs of several operators are planned silo by silo in turn, so that
/// nobody waits for another's large job. What is planned is submitted, whether or not anybody still waits for it.
/// Belongs to the context's thread.
class PlanningDesk {
 public:
  static constexpr std::size_t kWaitingMax = 64;     // jobs that are not planned yet
  static constexpr std::size_t kOfOperatorMax = 16;  // of them, of one operator
  static constexpr std::size_t kOutcomesKept = 32;   // of jobs that are planned, for whoever asks
  static constexpr std::size_t kAtOnce = 4;          // operators
  /// A job becomes a run, or its plan is shown, as `undertone plan --json` prints it.
  using Outcome = Result<std::variant<ApiHooks::Submitted, std::string>>;
  /// Called on the context's thread.
  using Submit =
      std::function<Result<ApiHooks::Submitted>(const PlannedJob& planned, bool again, const std::string& who)>;

  /// @param public_folder where the public records of jobs are, if anywhere
  PlanningDesk(boost::asio::io_context& context, Submit submit, std::optional<std::filesystem::path> public_folder = {})
      : context_(&context), submit_(std::move(submit)), public_folder_(std::move(public_folder)) {}
  /// Gives up what is not planned, and waits for the threads.
  ~PlanningDesk();
  PlanningDesk(const PlanningDesk&) = delete;
  PlanningDesk& operator=(const PlanningDesk&) = delete;

  /// A job that waits to be planned, or the one of the same text, purpose and operator that does already.
  /// @param page that shows plans: what it wanted to show before is given up; empty: none
  /// @return its id; an error where as many wait as may
  [[nodiscard]] Result<std::string> enter(const std::string& text, PlanningPurpose purpose, const std::string& who,
                                          const std::string& page = "");
  /// The outcome, once it is there, for `most` at most. @return nothing where it is not there yet
  [[nodiscard]] boost::asio::awaitable<std::optional<Outcome>> outcome(std::string id, std::chrono::milliseconds most);
  [[nodiscard]] bool knows(const std::string& id) const { return plannings_.contains(id); }
  /// The job's text. @pre it is known
  [[nodiscard]] const std::string& text(const std::string& id) const { return plannings_.at(id)->text; }
  /// How many jobs came before it and are not planned yet. @pre it is known
  [[nodiscard]] std::size_t before(const std::string& id) const;
  /// The job is not planned, and not submitted. @return whether there was something to give up
  [[nodiscard]] bool cancel(const std::string& id, const std::string& who);
  void stop();

 private:
  struct Planning {
    std::string text;
    std::string who;
    std::string page;
    PlanningPurpose purpose = PlanningPurpose::Submit;
    std::uint64_t number = 0;  // ascending
    bool begun = false;
    std::atomic<bool> cancelled = false;
    std::optional<Outcome> outcome;
  };
  void begin_waiting();
  void begin(const std::shared_ptr<Planning>& planning);
  [[nodiscard]] Outcome outcome_of(const Planning& planning, const Result<PlannedJob>& planned,
                                   const std::optional<Result<std::string>>& shown);
  void finish(const std::shared_ptr<Planning>& planning, Outcome outcome);

  boost::asio::io_context* context_;
  Submit submit_;
  std::optional<std::filesystem::path> public_folder_;
  std::map<std::string, std::shared_ptr<Planning>> plannings_;
  std::deque<std::string> finished_;                 // oldest first
  std::map<std::string, std::uint64_t> last_begun_;  // by operator: who was served longest ago is next
  std::uint64_t entered_ = 0;
  std::uint64_t begun_ = 0;
  std::atomic<bool> stopped_ = false;
  Turns turns_;
  boost::asio::thread_pool threads_{kAtOnce};
};

}  // namespace undertone::coordinator
