#include "shared/shuffled/round_layout.hpp"

#include "shared/privacy/binomial_report.hpp"
#include "shared/privacy/binomial_table.hpp"

namespace undertone::shuffled {
namespace {

using Form = RoundLayout::Form;

constexpr std::size_t kBitBytes = 5;
constexpr std::size_t kReportHeaderBytes = 2;

Error refused(const RoundLayout::Form form, ErrorCode code, std::string_view why) {
  return Error{code, fmt::format("a shuffled round of form \"{}\": {}", config::to_string(form), why)};
}

/// What a silo draws and what the coordinator counts, where there are counts.
Result<privacy::ShareModulus> countable(Form form, const privacy::BinomialParameters& parameters, std::int64_t vectors,
                                        std::size_t cohort) {
  if (vectors > privacy::kRoundedRecordsMax / parameters.grid()) {
    return refused(form, ErrorCode::LimitExceeded,
                   fmt::format("on a grid of {} a silo adds up at most {} records, a round has {}: draw fewer",
                               parameters.grid(), privacy::kRoundedRecordsMax / parameters.grid(), vectors));
  }
  if (vectors > privacy::BinomialTable::kTrialsMax / parameters.coins()) {
    return refused(form, ErrorCode::LimitExceeded,
                   fmt::format("{} coins of each of {} records, a silo draws at most {} at once: draw fewer records",
                               parameters.coins(), vectors, privacy::BinomialTable::kTrialsMax));
  }
  const std::int64_t vectors_max = privacy::kEstimatedBitsMax / parameters.bits();
  if (cohort > static_cast<std::size_t>(vectors_max / vectors)) {
    return refused(form, ErrorCode::LimitExceeded,
                   fmt::format("{} bits of each of {} records of {} silos are more than {}", parameters.bits(), vectors,
                               cohort, privacy::kEstimatedBitsMax));
  }
  return privacy::ShareModulus::create(static_cast<std::int64_t>(cohort) * vectors * parameters.bits());
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

Result<RoundLayout> RoundLayout::create(const config::Shuffle& shuffle, const privacy::Release& release,
                                        const queries::WireLattice& wire, std::size_t cohort) {
  const Form form = shuffle.form;
  const auto* binomial = std::get_if<privacy::BinomialSum>(&release.mechanism);
  const bool mixed_sums = form == Form::Reports;
  if (mixed_sums ? !std::holds_alternative<privacy::GaussianLattice>(release.mechanism) : binomial == nullptr) {
    return refused(form, ErrorCode::InvalidArgument,
                   mixed_sums ? "the release is no Gaussian sum" : "the release is no binomial sum");
  }
  if (cohort < 1 || cohort > kCohortMax) {
    return refused(form, ErrorCode::LimitExceeded, fmt::format("1 to {} silos, got {}", kCohortMax, cohort));
  }
  if (release.shape.dimension < 1 || release.records_drawn < 1 || release.shape.local) {
    return refused(
        form, ErrorCode::InvalidArgument,
        fmt::format("expected sums of at least 1 coordinate and record, got {} and {}{}", release.shape.dimension,
                    release.records_drawn, release.shape.local ? " of local runs" : ""));
  }
  const auto dimension = static_cast<std::uint64_t>(release.shape.dimension);
  if (dimension > kMessageBytesMax) {
    return refused(form, ErrorCode::LimitExceeded,
                   fmt::format("{} coordinates are more than {} bytes hold", dimension, kMessageBytesMax));
  }
  std::optional<privacy::ShareModulus> modulus;
  Shape shape{1, kReportHeaderBytes + dimension * (wire.type == queries::ReplyType::I32 ? 4U : 8U)};
  if (binomial != nullptr) {
    const Result<privacy::ShareModulus> total = countable(form, binomial->parameters, release.records_drawn, cohort);
    if (!total) return total.error();
    modulus = *total;
    shape = {1, dimension * total->bytes()};
    if (form == Form::Bits) {
      const Result<Shape> bits = bits_shape(
          dimension, static_cast<std::uint64_t>(release.records_drawn * binomial->parameters.bits()), cohort);
      if (!bits) return bits.error();
      shape = *bits;
    }
  }
  const std::uint64_t message_bytes = shape.units * (shape.body_bytes + sealing::ReplyLength::kOverheadBytes);
  if (message_bytes > kMessageBytesMax) {
    return refused(
        form, ErrorCode::LimitExceeded,
        fmt::format("a silo's message of {} coordinates has {} bytes, at most {} are allowed: {}", dimension,
                    message_bytes, kMessageBytesMax,
                    mixed_sums && wire.type == queries::ReplyType::I64 ? "32-bit replies have half of them"
                                                                       : "fewer coordinates have fewer of them"));
  }
  const Result<sealing::ReplyLength> length = sealing::ReplyLength::create(shape.body_bytes);
  if (!length) return length.error();
  return RoundLayout(form, release, wire, cohort, modulus, shape.units, *length);
}

privacy::ClipNorm RoundLayout::clip_of(const queries::Question& question) const {
  return release_.scaled_to(queries::distance_of(question)).shape.clip;
}

const privacy::BinomialParameters& RoundLayout::parameters() const {
  return std::get<privacy::BinomialSum>(release_.mechanism).parameters;
}

const privacy::ShareModulus& RoundLayout::modulus() const {
  UNDERTONE_CHECK(modulus_.has_value());
  return *modulus_;
}

std::uint32_t RoundLayout::word_bytes() const noexcept {
  return adds() ? static_cast<std::uint32_t>(modulus_->bytes()) : 0;
}

Status check_layouts(const config::Shuffle& shuffle, const privacy::Plan& plan, const queries::WireLattice& wire,
                     std::size_t cohort) {
  for (const privacy::Plan::Segment& segment : plan.segments()) {
    if (segment.release.is_public()) continue;  // goes directly
    const Result<RoundLayout> layout = RoundLayout::create(shuffle, segment.release, wire, cohort);
    if (!layout) return layout.error();
  }
  return {};
}

}  // namespace undertone::shuffled
