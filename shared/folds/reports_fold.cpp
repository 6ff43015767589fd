#include "shared/folds/reports_fold.hpp"

#include <algorithm>

namespace undertone::folds {
namespace {

mechanisms::ReportValues values_of_form(const releases::Ask& ask) {
  UNDERTONE_CHECK(ask.reports() != nullptr && ask.dimension >= 1);
  return mechanisms::report_values(ask.reports()->randomiser);
}

}  // namespace

ReportShape::ReportShape(const releases::Ask& ask)
    : coordinates_(ask.dimension), numbers_(ask.report_size()), form_(*ask.reports()), values_(values_of_form(ask)) {}

bool ReportShape::admits(const queries::Answer& answer, std::int64_t records) const noexcept {
  const auto* reports = std::get_if<queries::Reports>(&answer);
  return reports != nullptr && records >= 1 && records <= mechanisms::kReportsMax &&
         records <= mechanisms::kReportsMax / numbers_ &&
         static_cast<std::int64_t>(reports->values.size()) == records * numbers_ &&
         std::all_of(reports->values.begin(), reports->values.end(),
                     [this](std::int64_t report) { return values_.low <= report && report <= values_.high; });
}

std::vector<std::int64_t> ReportShape::totals(const std::vector<std::int64_t>& reports) const {
  UNDERTONE_CHECK(static_cast<std::int64_t>(reports.size()) <= mechanisms::kReportsMax);
  const auto coordinates = static_cast<std::size_t>(coordinates_);
  std::vector<std::int64_t> out(coordinates, 0);
  if (releases::of_vectors(form_.randomiser)) {
    for (std::size_t first = 0; first < reports.size(); first += static_cast<std::size_t>(numbers_))
      for (std::size_t j = 0; j < coordinates; ++j) out[j] += reports[first + j];
    return out;
  }
  // Slot by slot, the coordinate counted along: there are millions of them, and a division takes longer than a report.
  const auto add = [&](const auto& said) {
    if (coordinates == 1) {  // a sum in a register
      std::int64_t sum = 0;
      for (std::size_t slot = 0; slot < reports.size(); ++slot) sum += said(slot);
      out[0] = sum;
      return;
    }
    std::size_t coordinate = 0;
    for (std::size_t slot = 0; slot < reports.size(); ++slot) {
      out[coordinate] += said(slot);
      if (++coordinate == coordinates) coordinate = 0;
    }
  };
  const mechanisms::PublicStrings strings(form_.seed);
  switch (form_.randomiser) {
    case releases::Randomiser::StringBit:
      add([&](std::size_t slot) { return mechanisms::StringBit::estimate(strings, reports[slot], slot); });
      break;
    case releases::Randomiser::Index:
      add([&](std::size_t slot) { return mechanisms::StringIndex::estimate(strings, reports[slot], slot); });
      break;
    case releases::Randomiser::Bit:
    case releases::Randomiser::Laplace:
    case releases::Randomiser::Direction:
    case releases::Randomiser::GaussianDirection:
    case releases::Randomiser::Gaussian:
      add([&](std::size_t slot) { return reports[slot]; });
      break;
  }
  return out;
}

void ReportsFold::add(const std::vector<std::int64_t>& reports, std::uint64_t weight) {
  UNDERTONE_CHECK(weight == 1);
  UNDERTONE_CHECK(replies_ < (Eigen::Index{1} << 20));  // of totals below 2^61 each: far inside 128 bits
  ++replies_;
  reports_ += static_cast<std::int64_t>(reports.size()) / shape_.numbers();
  const std::vector<std::int64_t> totals = shape_.totals(reports);
  for (std::size_t j = 0; j < totals.size(); ++j) totals_[j] += totals[j];
}

Reports ReportsFold::reports() const {
  Reports out{Eigen::VectorXd(shape_.coordinates()), reports_};
  for (std::size_t j = 0; j < totals_.size(); ++j)
    out.totals[static_cast<Eigen::Index>(j)] = static_cast<double>(totals_[j]);
  return out;
}

}  // namespace undertone::folds
