#include "shared/jobs/statistics_choices.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "shared/base/byte_stream.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::jobs {
namespace {

using algorithms::StatisticAsked;
using algorithms::StatisticsSettings;

constexpr std::string_view kFormat = "statistics/1";
constexpr double kPartMax = 1e6;                               // of a promise, or of a shift or an epsilon
constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 20U;  // of degrees, terms and orders: far more than are chosen

/// The numbers of a question that its text may leave open, in an order that its kind fixes.
std::vector<std::size_t*> open_numbers(StatisticAsked& asked) {
  return std::visit(
      Overloaded{[](algorithms::FunctionAsked& function) -> std::vector<std::size_t*> {
                   return std::visit(Overloaded{[](algorithms::MarginalsOf& of) { return std::vector{&of.degree}; },
                                                [](algorithms::KernelsOf& of) { return std::vector{&of.terms}; },
                                                [](algorithms::LossOf& of) {
                                                  return std::vector{&of.degree, &of.order};
                                                }},
                                     function.of);
                 },
                 [](algorithms::LeastLossAsked& least) -> std::vector<std::size_t*> { return {&least.of.degree}; },
                 [](algorithms::LinearModelAsked& model) -> std::vector<std::size_t*> { return {&model.degree}; },
                 [](auto& /*says everything, or a rank*/) -> std::vector<std::size_t*> { return {}; }},
      asked.what);
}

Result<std::vector<double>> read_parts(ByteReader& reader, std::size_t questions) {
  UNDERTONE_TRY(std::vector<double> out, reader.doubles());
  for (const double part : out)
    if (!(part >= 0.0 && part <= kPartMax))
      return Error{ErrorCode::Malformed, "what was chosen has a part of a promise that is none"};
  if (!out.empty() && out.size() != questions)
    return Error{ErrorCode::Malformed, "what was chosen is of other questions than the job's"};
  return out;
}

}  // namespace

std::string save_choices(const StatisticsSettings& settled) {
  ByteWriter writer;
  writer.text(kFormat);
  writer.u64(settled.questions.size());
  StatisticsSettings copy = settled;
  for (StatisticAsked& asked : copy.questions) {
    writer.u64(asked.what.index());
    for (const std::size_t* number : open_numbers(asked)) writer.u64(*number);
    if (const auto* quantile = std::get_if<algorithms::SelectedQuantileAsked>(&asked.what)) {
      writer.i64(quantile->rank.numerator);
      writer.i64(quantile->rank.denominator);
    }
    if (const auto* cut = std::get_if<algorithms::CutMeanAsked>(&asked.what)) writer.f64(cut->threshold);
  }
  writer.u64(static_cast<std::uint64_t>(settled.noise));
  writer.doubles(settled.shares.data(), settled.shares.size());
  writer.doubles(settled.strengths.data(), settled.strengths.size());
  return std::move(writer).bytes();
}

Result<StatisticsSettings> read_choices(StatisticsSettings open, std::string_view bytes) {
  const Error damaged{ErrorCode::Malformed, "what was chosen is damaged, or of other questions than the job's"};
  ByteReader reader(bytes);
  UNDERTONE_TRY(const std::string format, reader.text());
  UNDERTONE_TRY(const std::uint64_t questions, reader.u64());
  if (format != kFormat || questions != open.questions.size()) return damaged;
  for (StatisticAsked& asked : open.questions) {
    UNDERTONE_TRY(const std::uint64_t kind, reader.u64());
    if (kind != asked.what.index()) return damaged;
    for (std::size_t* number : open_numbers(asked)) {
      UNDERTONE_TRY(const std::uint64_t chosen, reader.u64());
      if (chosen > kNumberMax) return damaged;
      *number = chosen;
    }
    if (auto* quantile = std::get_if<algorithms::SelectedQuantileAsked>(&asked.what)) {
      UNDERTONE_TRY(quantile->rank.numerator, reader.i64());
      UNDERTONE_TRY(quantile->rank.denominator, reader.i64());
    }
    if (auto* cut = std::get_if<algorithms::CutMeanAsked>(&asked.what)) {
      UNDERTONE_TRY(cut->threshold, reader.f64());
      const bool clips = cut->influence == statistics::Influence::Clip;
      if (!(cut->threshold > 0.0 && std::isfinite(cut->threshold) && (!clips || cut->threshold <= cut->farthest())))
        return damaged;
    }
  }
  UNDERTONE_TRY(const std::uint64_t noise, reader.u64());
  if (noise > static_cast<std::uint64_t>(statistics::NoiseKind::Gaussian)) return damaged;
  open.noise = static_cast<statistics::NoiseKind>(noise);
  UNDERTONE_TRY(open.shares, read_parts(reader, open.questions.size()));
  UNDERTONE_TRY(open.strengths, read_parts(reader, open.questions.size()));
  const auto drawable = [&](double strength) {
    return open.noise == statistics::NoiseKind::Gaussian ? releases::GaussianShift::create(strength).has_value()
                                                         : releases::Epsilon::create(strength).has_value();
  };
  if (!std::all_of(open.strengths.begin(), open.strengths.end(), drawable)) return damaged;
  if (const Status end = reader.end(); !end) return end.error();
  return open;
}

}  // namespace undertone::jobs
