#include "lab/account/allocation_comparison.hpp"

#include <cmath>
#include <functional>

#include "shared/accounting/calibration.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/random_allocation.hpp"
#include "shared/accounting/replaced_poisson_law.hpp"

namespace undertone::lab {
namespace {

constexpr std::uint64_t kComparedPartsMax = 100'000;
constexpr std::uint64_t kComparedEpochsMax = 1000;

/// What a way's value is, for a shift of each release.
using EpsilonOf = std::function<Result<double>(releases::GaussianShift shift)>;
/// The law of one round, at a shift.
using RoundLaw = std::function<Result<accounting::LossLawPtr>(releases::GaussianShift shift)>;

AllocationWay way(std::string name, const Result<double>& value, std::string note) {
  if (!value) return {std::move(name), std::nullopt, value.error().message};
  return {std::move(name), *value, std::move(note)};
}

/// The smallest multiplier, where epsilon at a shift is all that is known.
Result<double> value_of(const AllocationQuestion& question, const EpsilonOf& epsilon) {
  if (question.shift) return epsilon(*question.shift);
  return accounting::smallest_multiplier(
      [&](double multiplier) -> Result<double> {
        UNDERTONE_TRY(const releases::GaussianShift shift, releases::GaussianShift::create(1.0 / multiplier));
        return epsilon(shift);
      },
      question.epsilon->value());
}

Result<double> parallel_value(const AllocationQuestion& question) {
  const double passes = std::sqrt(static_cast<double>(question.epochs)) * (1.0 + 1e-15);
  if (!question.shift)
    return passes / accounting::gaussian_shift_for(*question.epsilon, question.delta).value() * (1.0 + 1e-15);
  UNDERTONE_TRY(const releases::GaussianShift all, releases::GaussianShift::create(question.shift->value() * passes));
  return accounting::epsilon_of_gaussian(all, question.delta);
}

Result<double> allocated_value(const AllocationQuestion& question, accounting::PartAssignment assignment,
                               double unread) {
  const double weight = (1.0 - unread) / static_cast<double>(question.parts);
  const double shift = question.shift ? question.shift->value() : 1.0;
  UNDERTONE_TRY(const accounting::Allocation allocation,
                accounting::Allocation::create(assignment, {{question.parts, weight, shift}}, unread, question.epochs));
  if (question.shift) return accounting::allocation_epsilon(allocation, {}, question.delta);
  const Result<double> scale = accounting::allocation_scale(allocation, {}, *question.epsilon, question.delta);
  if (!scale) return scale;
  return 1.0 / *scale * (1.0 + 1e-15);
}

Result<double> drawn_value(const AllocationQuestion& question, const RoundLaw& law) {
  return value_of(question, [&](releases::GaussianShift shift) -> Result<double> {
    UNDERTONE_TRY(accounting::LossLawPtr round, law(shift));
    UNDERTONE_TRY(const accounting::Bracket found,
                  accounting::composed_epsilon({{std::move(round), question.parts * question.epochs}}, question.delta,
                                               {1e-3, accounting::CompositionLimits{}.points_max}));
    return found.upper;
  });
}

Status check_question(const AllocationQuestion& question) {
  if (question.parts < 1 || question.parts > kComparedPartsMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("parts: expected 1 .. {}, got {}", kComparedPartsMax, question.parts)};
  }
  if (question.epochs < 1 || question.epochs > kComparedEpochsMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("epochs: expected 1 .. {}, got {}", kComparedEpochsMax, question.epochs)};
  }
  const auto parts = static_cast<std::int64_t>(question.parts);
  if (question.records && (*question.records < 2 || *question.records % parts != 0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("records: expected a multiple of the {} parts, got {}", parts, *question.records)};
  }
  if (question.shift.has_value() == question.epsilon.has_value())
    return Error{ErrorCode::InvalidArgument, "expected either a noise or a target epsilon"};
  return {};
}

}  // namespace

Result<std::vector<AllocationWay>> compare_allocation(const AllocationQuestion& question) {
  UNDERTONE_TRY(check_question(question));
  const double rate = 1.0 / static_cast<double>(question.parts);
  std::vector<AllocationWay> out;
  out.push_back(way("parallel", parallel_value(question), "parts that may be known: one release of a record a pass"));
  out.push_back(way("bins", allocated_value(question, accounting::PartAssignment::IndependentBins, 0.0),
                    "every record draws its part alone; sizes and draw stay secret"));
  const AllocationWay unknown{"", std::nullopt, "needs the number of records"};
  if (question.records) {
    const double unread = 1.0 / static_cast<double>(*question.records + 1);
    out.push_back(way("fixed", allocated_value(question, accounting::PartAssignment::FixedWithUnreadSlot, unread),
                      "a secret permutation with one slot that nobody reads"));
  } else {
    out.push_back({"fixed", std::nullopt, unknown.note});
  }
  out.push_back(way("poisson",
                    drawn_value(question, [&](auto shift) { return accounting::replaced_poisson_law(rate, shift); }),
                    "every record is drawn alone, afresh in every round; sizes and draw stay secret"));
  out.push_back(way("subset",
                    drawn_value(question, [&](auto shift) { return accounting::subset_gaussian_law(rate, shift); }),
                    "a secret subset of fixed size, afresh in every round"));
  if (question.records) {
    const std::int64_t drawn = *question.records / static_cast<std::int64_t>(question.parts);
    const auto law = [&](auto shift) { return accounting::multiset_gaussian_law(*question.records, drawn, shift); };
    out.push_back(way("multiset", drawn_value(question, law), "secret draws with replacement, afresh in every round"));
  } else {
    out.push_back({"multiset", std::nullopt, unknown.note});
  }
  return out;
}

}  // namespace undertone::lab
