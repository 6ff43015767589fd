#include "coordinator/runs/prepared_job.hpp"

#include <utility>

#include "shared/base/byte_stream.hpp"

namespace undertone::coordinator {
namespace {

constexpr std::string_view kFormat = "prepared-job/1";

struct Kept {
  std::string choices;    // @see jobs::settled_choices
  std::string plausible;  // @see jobs::PlausibleCohort
};

std::string packed(const Kept& kept) {
  ByteWriter writer;
  writer.text(kFormat);
  writer.text(kept.choices);
  writer.text(kept.plausible);
  return std::move(writer).bytes();
}

Result<Kept> unpacked(std::string_view bytes) {
  ByteReader reader(bytes);
  UNDERTONE_TRY(const std::string format, reader.text());
  if (format != kFormat) return Error{ErrorCode::Malformed, "what is kept of the run is of another version"};
  Kept out;
  UNDERTONE_TRY(out.choices, reader.text());
  UNDERTONE_TRY(out.plausible, reader.text());
  if (const Status end = reader.end(); !end) return end.error();
  return out;
}

}  // namespace

Result<PreparedJob> PreparedJob::make(jobs::ReadJob read, const std::string& file, const jobs::Planner& planner) {
  UNDERTONE_TRY(jobs::Job job, std::move(read).settle());
  UNDERTONE_TRY(jobs::PlausibleCohort plausible, jobs::PlausibleCohort::of(job, file, planner));
  return PreparedJob{std::move(job), std::move(plausible)};
}

Result<PreparedJob> PreparedJob::unplanned(jobs::ReadJob read) {
  UNDERTONE_TRY(jobs::Job job, std::move(read).settle());
  jobs::PlausibleCohort none = jobs::PlausibleCohort::none(job);
  return PreparedJob{std::move(job), std::move(none)};
}

std::string PreparedJob::save() const { return packed({jobs::settled_choices(job), plausible.save()}); }

std::string PreparedJob::of_ended(std::string_view kept) {
  const Result<Kept> known = unpacked(kept);
  return known ? packed({known->choices, ""}) : std::string();
}

Result<PreparedJob> PreparedJob::read(jobs::ReadJob read, std::string_view kept, bool ended) {
  UNDERTONE_TRY(const Kept known, unpacked(kept));
  UNDERTONE_TRY(jobs::Job job, std::move(read).settled_as(known.choices));
  if (ended) {
    jobs::PlausibleCohort none = jobs::PlausibleCohort::none(job);
    return PreparedJob{std::move(job), std::move(none)};
  }
  UNDERTONE_TRY(jobs::PlausibleCohort plausible, jobs::PlausibleCohort::read(known.plausible, job));
  return PreparedJob{std::move(job), std::move(plausible)};
}

}  // namespace undertone::coordinator
