#include "coordinator/host/result_writer.hpp"

#include <boost/asio/post.hpp>

#include "coordinator/jobs/result.hpp"
#include "shared/base/contained.hpp"

namespace undertone::coordinator {
namespace {

Status write_result_of(const std::filesystem::path& folder, const RunRecord& record,
                       const std::vector<RoundRecord>& rounds, const Result<algorithms::Outcome>& outcome,
                       const std::atomic<bool>& given_up) {
  UNDERTONE_TRY(const jobs::Job job, jobs::parse_job(record.job, record.name));
  RunReport report{job, record.run, "tcp", false, outcome, rounds, record.answers};
  report.planner = [&given_up](const jobs::Job& planned, const jobs::CohortMember& member) {
    if (given_up) return Result<planning::Plan>(Error{ErrorCode::Cancelled, "the coordinator stops"});
    return jobs::plan_of(planned, member);
  };
  return write_results(folder, report);
}

}  // namespace

ResultWriter::~ResultWriter() {
  given_up_ = true;
  thread_.join();
}

void ResultWriter::write(std::filesystem::path folder, RunRecord record, std::vector<RoundRecord> rounds,
                         OutcomePtr outcome, Written written) {
  record.checkpoint.reset();  // as large as a model, and not looked at
  boost::asio::post(thread_, [this, folder = std::move(folder), record = std::move(record), rounds = std::move(rounds),
                              outcome = std::move(outcome), written = std::move(written)] {
    if (given_up_) return;
    const Status status =
        contained("writing the result", [&] { return write_result_of(folder, record, rounds, *outcome, given_up_); });
    if (!given_up_) boost::asio::post(*context_, [written, status] { written(status); });
  });
}

void ResultWriter::remove(std::filesystem::path folder) {
  boost::asio::post(thread_, [folder = std::move(folder)] {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  });
}

}  // namespace undertone::coordinator
