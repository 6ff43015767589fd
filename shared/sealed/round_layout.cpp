#include "shared/sealed/round_layout.hpp"

#include "shared/mechanisms/binomial_sum/binomial_report.hpp"
#include "shared/noise/binomial_table.hpp"

namespace undertone::sealed {
namespace {

using Form = RoundLayout::Form;

constexpr std::size_t kBitBytes = 5;
constexpr std::size_t kReportHeaderBytes = 2;

Error refused(const RoundLayout::Form form, ErrorCode code, std::string_view why) {
  return Error{code, fmt::format("a shuffled round of form \"{}\": {}", jobs::to_string(form), why)};
}

Error no_such_sum(const RoundLayout::Form form) {
  return refused(form, ErrorCode::InvalidArgument,
                 form == Form::Reports ? "the release is no Gaussian sum" : "the release is no binomial sum");
}

/// What a silo draws and what the coordinator counts, where there are counts.
Result<sealed::ShareModulus> countable(Form form, const mechanisms::BinomialParameters& parameters,
                                       std::int64_t vectors, std::size_t cohort) {
  if (vectors > mechanisms::kRoundedRecordsMax / parameters.grid()) {
    return refused(form, ErrorCode::LimitExceeded,
                   fmt::format("on a grid of {} a silo adds up at most {} records, a round has {}: draw fewer",
                               parameters.grid(), mechanisms::kRoundedRecordsMax / parameters.grid(), vectors));
  }
  if (vectors > noise::BinomialTable::kTrialsMax / parameters.coins()) {
    return refused(form, ErrorCode::LimitExceeded,
                   fmt::format("{} coins of each of {} records, a silo draws at most {} at once: draw fewer records",
                               parameters.coins(), vectors, noise::BinomialTable::kTrialsMax));
  }
  const std::int64_t vectors_max = mechanisms::kEstimatedBitsMax / parameters.bits();
  if (cohort > static_cast<std::size_t>(vectors_max / vectors)) {
    return refused(form, ErrorCode::LimitExceeded,
                   fmt::format("{} bits of each of {} records of {} silos are more than {}", parameters.bits(), vectors,
                               cohort, mechanisms::kEstimatedBitsMax));
  }
  return sealed::ShareModulus::create(static_cast<std::int64_t>(cohort) * vectors * parameters.bits());
}

struct Shape {
  std::uint64_t units = 1;
  std::uint64_t body_bytes = 0;
};

/// @param bits K (g + b), at most 2^40
Result<Shape> bits_shape(std::uint64_t dimension, std::uint64_t bits, std::size_t cohort) {
  if (dimension > RoundLayout::kUnitsMax / cohort / bits) {
    return refused(Form::Bits, ErrorCode::LimitExceeded,
                   fmt::format("{} coordinates of {} bits each of {} silos are more than the {} sealed messages that a "
                               "batch may have: choose form \"shares\", of which a silo sends two",
                               dimension, bits, cohort, RoundLayout::kUnitsMax));
  }
  return Shape{dimension * bits, kBitBytes};
}

}  // namespace

Result<RoundLayout> RoundLayout::create(const jobs::Shuffle& shuffle, const planning::Release& release,
                                        const queries::WireLattice& wire, std::size_t cohort) {
  const bool mixed_sums = shuffle.form == Form::Reports;
  const auto* binomial = std::get_if<mechanisms::BinomialSum>(&release.mechanism);
  if (mixed_sums ? !std::holds_alternative<mechanisms::GaussianLattice>(release.mechanism) : binomial == nullptr)
    return no_such_sum(shuffle.form);
  MixedSum sum{release.ask, release.records_drawn};
  if (binomial != nullptr) sum.binomial = binomial->parameters;
  return create(shuffle, sum, wire, cohort);
}

Result<RoundLayout> RoundLayout::create(const jobs::Shuffle& shuffle, const MixedSum& sum,
                                        const queries::WireLattice& wire, std::size_t cohort) {
  const Form form = shuffle.form;
  const bool mixed_sums = form == Form::Reports;
  if (mixed_sums == sum.binomial.has_value()) return no_such_sum(form);
  if (cohort < 1 || cohort > kCohortMax) {
    return refused(form, ErrorCode::LimitExceeded, fmt::format("1 to {} silos, got {}", kCohortMax, cohort));
  }
  if (sum.ask.dimension < 1 || sum.records_drawn < 1 || sum.ask.local()) {
    return refused(form, ErrorCode::InvalidArgument,
                   fmt::format("expected sums of at least 1 coordinate and record, got {} and {}{}", sum.ask.dimension,
                               sum.records_drawn, sum.ask.local() ? " of local runs" : ""));
  }
  const auto dimension = static_cast<std::uint64_t>(sum.ask.dimension);
  if (dimension > kMessageBytesMax) {
    return refused(form, ErrorCode::LimitExceeded,
                   fmt::format("{} coordinates are more than {} bytes hold", dimension, kMessageBytesMax));
  }
  std::optional<sealed::ShareModulus> modulus;
  Shape shape{1, kReportHeaderBytes + dimension * (wire.type == queries::ReplyType::I32 ? 4U : 8U)};
  if (sum.binomial) {
    UNDERTONE_TRY(const sealed::ShareModulus total, countable(form, *sum.binomial, sum.records_drawn, cohort));
    modulus = total;
    shape = {1, dimension * total.bytes()};
    if (form == Form::Bits) {
      UNDERTONE_TRY(
          const Shape bits,
          bits_shape(dimension, static_cast<std::uint64_t>(sum.records_drawn * sum.binomial->bits()), cohort));
      shape = bits;
    }
  }
  const std::uint64_t message_bytes = shape.units * (shape.body_bytes + sealed::ReplyLength::kOverheadBytes);
  if (message_bytes > kMessageBytesMax) {
    return refused(
        form, ErrorCode::LimitExceeded,
        fmt::format("a silo's message of {} coordinates has {} bytes, at most {} are allowed: {}", dimension,
                    message_bytes, kMessageBytesMax,
                    mixed_sums && wire.type == queries::ReplyType::I64 ? "32-bit replies have half of them"
                                                                       : "fewer coordinates have fewer of them"));
  }
  UNDERTONE_TRY(const sealed::ReplyLength length, sealed::ReplyLength::create(shape.body_bytes));
  return RoundLayout(form, sum, wire, cohort, modulus, shape.units, length);
}

releases::ClipNorm RoundLayout::clip_of(const queries::Question& question) const {
  return sum_.ask.scaled_to(queries::distance_of(question, sum_.ask.distance_exponent())).clip();
}

const mechanisms::BinomialParameters& RoundLayout::parameters() const {
  UNDERTONE_CHECK(sum_.binomial.has_value());
  return *sum_.binomial;
}

const sealed::ShareModulus& RoundLayout::modulus() const {
  UNDERTONE_CHECK(modulus_.has_value());
  return *modulus_;
}

std::uint32_t RoundLayout::word_bytes() const noexcept {
  return adds() ? static_cast<std::uint32_t>(modulus_->bytes()) : 0;
}

Status check_layouts(const jobs::Shuffle& shuffle, const planning::Plan& plan, const queries::WireLattice& wire,
                     std::size_t cohort) {
  for (const planning::Plan::Segment& segment : plan.segments()) {
    if (segment.release.is_public()) continue;  // goes directly
    UNDERTONE_TRY(RoundLayout::create(shuffle, segment.release, wire, cohort));
  }
  return {};
}

}  // namespace undertone::sealed
