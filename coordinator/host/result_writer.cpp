#include "coordinator/host/result_writer.hpp"

#include <boost/asio/post.hpp>

#include "coordinator/jobs/result.hpp"

namespace undertone::coordinator {

ResultWriter::~ResultWriter() {
  given_up_ = true;
  thread_.join();
}

void ResultWriter::write(std::filesystem::path folder, RunRecord record, std::vector<RoundRecord> rounds,
                         Result<algorithms::Outcome> outcome, Written written) {
  const auto task = [this, folder = std::move(folder), record = std::move(record), rounds = std::move(rounds),
                     outcome = std::move(outcome), written = std::move(written)] {
    if (given_up_) return;
    const Result<config::Job> job = config::parse_job(record.job, record.name);
    if (!job) return;
    RunReport report{*job, record.run, "tcp", false, outcome, rounds, record.answers};
    report.planner = [this](const config::Job& planned, const config::CohortMember& member) {
      if (given_up_) return Result<privacy::Plan>(Error{ErrorCode::Cancelled, "the coordinator stops"});
      return config::plan_of(planned, member);
    };
    const Status status = write_results(folder, report);
    if (!given_up_) boost::asio::post(*context_, [written, status] { written(status); });
  };
  boost::asio::post(thread_, task);
}

}  // namespace undertone::coordinator
