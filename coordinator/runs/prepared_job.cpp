#include "coordinator/runs/prepared_job.hpp"

#include <utility>

#include "shared/base/byte_stream.hpp"
#include "shared/jobs/public_records.hpp"

namespace undertone::coordinator {
namespace {

constexpr std::string_view kFormat = "prepared-job/3";

struct Kept {
  std::string choices;    // @see jobs::settled_choices
  std::string plausible;  // @see jobs::PlausibleCohort
  std::string mixed;      // @see MixedRounds
  std::string of_public;  // @see jobs::PublicSide
};

std::string packed(const Kept& kept) {
  ByteWriter writer;
  writer.text(kFormat);
  writer.text(kept.choices);
  writer.text(kept.plausible);
  writer.text(kept.mixed);
  writer.text(kept.of_public);
  return std::move(writer).bytes();
}

Result<Kept> unpacked(std::string_view bytes) {
  ByteReader reader(bytes);
  UNDERTONE_TRY(const std::string format, reader.text());
  if (format != kFormat) return Error{ErrorCode::Malformed, "what is kept of the run is of another version"};
  Kept out;
  UNDERTONE_TRY(out.choices, reader.text());
  UNDERTONE_TRY(out.plausible, reader.text());
  UNDERTONE_TRY(out.mixed, reader.text());
  UNDERTONE_TRY(out.of_public, reader.text());
  if (const Status end = reader.end(); !end) return end.error();
  return out;
}

}  // namespace

Result<PreparedJob> PreparedJob::make(jobs::ReadJob read, const std::string& file, const jobs::Planner& planner,
                                      const std::optional<std::filesystem::path>& public_folder) {
  UNDERTONE_TRY(jobs::Job job, std::move(read).settle());
  std::shared_ptr<const models::PublicGradientSource> open;
  if (jobs::brings_file(job)) {  // before anything is planned: that takes longer
    Result<std::shared_ptr<const models::PublicGradientSource>> loaded = jobs::load_public_records(job, public_folder);
    if (!loaded) return Error{loaded.error().code, fmt::format("{}: {}", file, loaded.error().message)};
    open = *std::move(loaded);
  }
  jobs::GradientNoise noise;
  std::optional<planning::Plan> shared;  // of a shuffled job, whose silos all have the same
  const jobs::Planner shown = [&](const jobs::Job& of, const jobs::CohortMember& member) {
    Result<planning::Plan> plan = planner(of, member);
    if (plan && of.shuffle && !shared) shared = *plan;
    if (plan && jobs::brings_file(of))
      noise.emplace(jobs::planned_facts(member.facts), jobs::noise_of_gradient(plan->segments()));
    return plan;
  };
  UNDERTONE_TRY(jobs::PlausibleCohort plausible, jobs::PlausibleCohort::of(job, file, shown));
  if (open != nullptr) {
    Result<jobs::PublicSide> side = jobs::public_side_of(job, *open, noise);
    if (!side) return Error{side.error().code, fmt::format("{}: {}", file, side.error().message)};
    job.public_side = *std::move(side);
  }
  MixedRounds mixed;
  if (shared) {
    Result<MixedRounds> laid_out = MixedRounds::of(job, *shared);
    if (!laid_out) return Error{laid_out.error().code, file + ": " + laid_out.error().message};
    mixed = *std::move(laid_out);
  }
  return PreparedJob{std::move(job), std::move(plausible), std::move(mixed)};
}

Result<PreparedJob> PreparedJob::unplanned(jobs::ReadJob read) {
  UNDERTONE_TRY(jobs::Job job, std::move(read).settle());
  jobs::PlausibleCohort none = jobs::PlausibleCohort::none(job);
  return PreparedJob{std::move(job), std::move(none), {}};
}

std::string PreparedJob::save() const {
  return packed({jobs::settled_choices(job), plausible.save(), mixed.save(), jobs::save(job.public_side)});
}

std::string PreparedJob::of_ended(std::string_view kept) {
  const Result<Kept> known = unpacked(kept);
  return known ? packed({known->choices, "", "", ""}) : std::string();
}

Result<PreparedJob> PreparedJob::read(jobs::ReadJob read, std::string_view kept, bool ended) {
  UNDERTONE_TRY(const Kept known, unpacked(kept));
  UNDERTONE_TRY(jobs::Job job, std::move(read).settled_as(known.choices));
  if (ended) {
    jobs::PlausibleCohort none = jobs::PlausibleCohort::none(job);
    return PreparedJob{std::move(job), std::move(none), {}};
  }
  UNDERTONE_TRY(jobs::PlausibleCohort plausible, jobs::PlausibleCohort::read(known.plausible, job));
  UNDERTONE_TRY(MixedRounds mixed, MixedRounds::read(known.mixed, job));
  UNDERTONE_TRY(job.public_side, jobs::read_public_side(known.of_public, job));
  return PreparedJob{std::move(job), std::move(plausible), std::move(mixed)};
}

}  // namespace undertone::coordinator
