#include "coordinator/runs/mixed_rounds.hpp"

#include "shared/base/byte_stream.hpp"
#include "shared/jobs/round_spec.hpp"

namespace undertone::coordinator {
namespace {

Error damaged() { return Error{ErrorCode::Malformed, "what is kept of the run's shuffled rounds is damaged"}; }

std::uint64_t rounds_of(const planning::Schedule& schedule) {
  std::uint64_t out = 0;
  for (const planning::ScheduledRounds& part : schedule) out += part.rounds;
  return out;
}

}  // namespace

Result<MixedRounds> MixedRounds::of(const jobs::Job& job, const planning::Plan& plan) {
  MixedRounds out;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    if (segment.release.is_public()) {
      out.parts_.push_back({segment.rounds, 0, std::nullopt});
      continue;
    }
    UNDERTONE_TRY(const sealed::RoundLayout layout,
                  sealed::RoundLayout::create(*job.shuffle, segment.release, job.reply_lattice, job.cohort.size()));
    out.parts_.push_back({segment.rounds, layout.sum().records_drawn, layout.sum().binomial});
  }
  return out;
}

Result<sealed::RoundLayout> MixedRounds::layout(const jobs::Job& job, const releases::Ask& ask,
                                                RoundIndex round) const {
  std::uint64_t first = 0;
  for (const Part& part : parts_) {
    if (round.value < first + part.rounds && part.records_drawn > 0)
      return sealed::RoundLayout::create(*job.shuffle, sealed::MixedSum{ask, part.records_drawn, part.binomial},
                                         job.reply_lattice, job.cohort.size());
    if (round.value < first + part.rounds) break;
    first += part.rounds;
  }
  return Error{ErrorCode::Internal, "no shuffler mixes this round"};
}

std::string MixedRounds::save() const {
  ByteWriter writer;
  writer.u64(parts_.size());
  for (const Part& part : parts_) {
    writer.u64(part.rounds);
    writer.i64(part.records_drawn);
    writer.i64(part.binomial ? part.binomial->grid() : 0);
    if (!part.binomial) continue;
    writer.i64(part.binomial->coins());
    writer.u64(part.binomial->heads().numerator);
    writer.u64(part.binomial->heads().denominator);
  }
  return std::move(writer).bytes();
}

Result<MixedRounds> MixedRounds::read(std::string_view bytes, const jobs::Job& job) {
  ByteReader reader(bytes);
  UNDERTONE_TRY(const std::uint64_t parts, reader.u64());
  if (parts > bytes.size()) return damaged();
  MixedRounds out;
  std::uint64_t rounds = 0;
  for (std::uint64_t i = 0; i < parts; ++i) {
    Part part;
    UNDERTONE_TRY(part.rounds, reader.u64());
    UNDERTONE_TRY(part.records_drawn, reader.i64());
    UNDERTONE_TRY(const std::int64_t grid, reader.i64());
    if (part.records_drawn < 0 || __builtin_add_overflow(rounds, part.rounds, &rounds)) return damaged();
    if (grid != 0) {
      UNDERTONE_TRY(const std::int64_t coins, reader.i64());
      noise::Rational heads;
      UNDERTONE_TRY(heads.numerator, reader.u64());
      UNDERTONE_TRY(heads.denominator, reader.u64());
      UNDERTONE_TRY(part.binomial, mechanisms::BinomialParameters::create(grid, coins, heads));
    }
    out.parts_.push_back(part);
  }
  if (const Status end = reader.end(); !end) return end.error();
  if (rounds != (job.shuffle ? rounds_of(jobs::schedule_of(job)) : 0)) return damaged();
  return out;
}

}  // namespace undertone::coordinator
