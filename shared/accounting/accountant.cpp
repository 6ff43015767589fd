#include "shared/accounting/accountant.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "shared/accounting/clones_law.hpp"
#include "shared/accounting/composition_theorems.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/bisection.hpp"
#include "shared/base/remembered_searches.hpp"

namespace undertone::accounting {
namespace {

/// Which order of neighbours a list of laws is for. Most laws serve both.
enum class Order : std::uint8_t { Both, Removed, Added };

struct LawOf {
  Order order;

  Result<LossLawPtr> operator()(const GaussianEvent& event) const { return gaussian_law(event.shift); }
  Result<LossLawPtr> operator()(const SubsetGaussianEvent& event) const {
    return subset_gaussian_law(event.rate, event.shift);
  }
  Result<LossLawPtr> operator()(const KnownSubsetGaussianEvent& event) const {
    return known_subset_gaussian_law(event.rate, event.shift);
  }
  Result<LossLawPtr> operator()(const MultisetGaussianEvent& event) const {
    return multiset_gaussian_law(event.records, event.draws, event.shift);
  }
  Result<LossLawPtr> operator()(const PoissonGaussianEvent& event) const {
    return poisson_gaussian_law(event.rate, event.shift, order == Order::Added);
  }
  Result<LossLawPtr> operator()(const LaplaceEvent& event) const { return laplace_law(event.epsilon); }
  Result<LossLawPtr> operator()(const ExponentialEvent& event) const { return approximate_dp_law(event.epsilon, 0.0); }
  Result<LossLawPtr> operator()(const ApproximateEvent& event) const {
    return approximate_dp_law(event.epsilon, event.delta);
  }
  Result<LossLawPtr> operator()(const ConcentratedEvent& /*event*/) const {
    return Error{ErrorCode::InvalidArgument, "a release that is known by its rho alone has no loss distribution"};
  }
  Result<LossLawPtr> operator()(const SubsetConcentratedEvent& event) const {
    return (*this)(ConcentratedEvent{event.rho});
  }
  Result<LossLawPtr> operator()(const ClonesEvent& event) const {
    return clones_law(event.others, event.record_epsilon, event.silo_epsilon);
  }
};

/// rho of a release, where it has one.
struct RhoOf {
  std::optional<double> operator()(const GaussianEvent& event) const {
    return 0.5 * event.shift.value() * event.shift.value();
  }
  std::optional<double> operator()(const SubsetGaussianEvent& event) const {
    return (*this)(GaussianEvent{event.shift});  // sampling only helps: rho of the whole block holds
  }
  std::optional<double> operator()(const KnownSubsetGaussianEvent& event) const {
    return (*this)(GaussianEvent{event.shift});
  }
  std::optional<double> operator()(const MultisetGaussianEvent& /*event*/) const { return std::nullopt; }
  std::optional<double> operator()(const PoissonGaussianEvent& event) const {
    return (*this)(GaussianEvent{event.shift});
  }
  std::optional<double> operator()(const LaplaceEvent& event) const { return pure(event.epsilon.value()); }
  // Range-bounded releases: Cesar and Rogers 2021, Lemma 3.4.
  std::optional<double> operator()(const ExponentialEvent& event) const {
    return std::min(pure(event.epsilon.value()), event.epsilon.value() * event.epsilon.value() / 8.0);
  }
  std::optional<double> operator()(const ApproximateEvent& event) const {
    return event.delta > 0.0 ? std::nullopt : std::optional(pure(event.epsilon.value()));
  }
  std::optional<double> operator()(const ConcentratedEvent& event) const { return event.rho.value(); }
  std::optional<double> operator()(const SubsetConcentratedEvent& event) const { return event.rho.value(); }
  std::optional<double> operator()(const ClonesEvent& event) const { return pure(event.record_epsilon); }

  /// Spec privacy-core C.3: epsilon tanh(epsilon/2), at most epsilon^2/2.
  static double pure(double epsilon) { return epsilon * std::tanh(0.5 * epsilon); }
};

/// A Renyi curve, and what a release adds to delta beside it.
struct CurveOf {
  double cut;  // probability that a release may leave to delta

  struct Curve {
    RenyiCurve divergence;
    double delta = 0.0;
  };
  Result<Curve> operator()(const GaussianEvent& event) const {
    return Curve{[shift = event.shift](double order) { return gaussian_renyi(shift, order); }};
  }
  Result<Curve> operator()(const SubsetGaussianEvent& event) const {
    Result<LossLawPtr> law = subset_gaussian_law(event.rate, event.shift);
    if (!law) return law.error();
    return Curve{[law = *law, shift = event.shift](double order) {
      return std::min(profile_renyi(*law, order), gaussian_renyi(shift, order));
    }};
  }
  Result<Curve> operator()(const KnownSubsetGaussianEvent& event) const {
    return Curve{[event](double order) {
      // ln(1 - c + c e^((a - 1) D)) / (a - 1) <= D.
      const double drawn = (order - 1.0) * gaussian_renyi(event.shift, order);
      return drawn > 700.0 ? drawn / (order - 1.0) : std::log1p(event.rate * std::expm1(drawn)) / (order - 1.0);
    }};
  }
  Result<Curve> operator()(const MultisetGaussianEvent& event) const {
    Result<LossLawPtr> law = multiset_gaussian_law(event.records, event.draws, event.shift, cut);
    if (!law) return law.error();
    const double left = (*law)->infinite();
    return Curve{[law = *law](double order) { return profile_renyi(*law, order); }, left};
  }
  Result<Curve> operator()(const PoissonGaussianEvent& event) const {
    return Curve{[event](double order) { return poisson_renyi(event.rate, event.shift, order); }};
  }
  Result<Curve> operator()(const LaplaceEvent& event) const {
    return Curve{[epsilon = event.epsilon](double order) { return laplace_renyi(epsilon, order); }};
  }
  Result<Curve> operator()(const ExponentialEvent& event) const {
    return Curve{[epsilon = event.epsilon](double order) {
      return std::min(pure_renyi(epsilon, order), order * epsilon.value() * epsilon.value() / 8.0);
    }};
  }
  Result<Curve> operator()(const ApproximateEvent& event) const {
    return Curve{[epsilon = event.epsilon](double order) { return pure_renyi(epsilon, order); }, event.delta};
  }
  Result<Curve> operator()(const ConcentratedEvent& event) const {
    return Curve{[rho = event.rho](double order) { return order * rho.value(); }};
  }
  Result<Curve> operator()(const SubsetConcentratedEvent& event) const {
    return Curve{[event](double order) { return subset_zcdp_renyi(event.rate, event.rho, order); }};
  }
  Result<Curve> operator()(const ClonesEvent& event) const {
    const Result<releases::Epsilon> epsilon = releases::Epsilon::create(event.record_epsilon);
    if (!epsilon) return epsilon.error();
    return Curve{[epsilon = *epsilon](double order) { return pure_renyi(epsilon, order); }};
  }
};

/// The smallest epsilon of one release at delta; nothing where it has none.
std::optional<double> epsilon_of_one(const LossLaw& law, double delta) {
  if (law.delta(0.0) <= delta) return 0.0;
  double high = 1e-6;
  while (law.delta(high) > delta) {
    high *= 2.0;
    if (high > 1e4) return std::nullopt;
  }
  const auto enough = [&](double epsilon) { return !(law.delta(epsilon) > delta); };
  return bisect_reals({0.5 * high, high}, enough, 60).high;
}

double times_of(const std::vector<RepeatedEvent>& events) {
  double total = 0.0;
  for (const RepeatedEvent& repeated : events) total += static_cast<double>(repeated.times);
  return total;
}

bool directional(const std::vector<RepeatedEvent>& events) {
  return std::any_of(events.begin(), events.end(), [](const RepeatedEvent& repeated) {
    return std::holds_alternative<PoissonGaussianEvent>(repeated.event);
  });
}

/// One law a kind, Gaussians together: their composition is one Gaussian.
Result<std::vector<RepeatedLaw>> laws_of(const std::vector<RepeatedEvent>& events, Order order) {
  std::vector<RepeatedLaw> laws;
  long double shift_squared = 0.0L;
  for (const RepeatedEvent& repeated : events) {
    if (const auto* gaussian = std::get_if<GaussianEvent>(&repeated.event)) {
      const long double mu = gaussian->shift.value();
      shift_squared += mu * mu * static_cast<long double>(repeated.times);
      continue;
    }
    UNDERTONE_TRY(LossLawPtr law, std::visit(LawOf{order}, repeated.event));
    laws.push_back({std::move(law), repeated.times});
  }
  if (shift_squared > 0.0L) {
    UNDERTONE_TRY(const releases::GaussianShift total,
                  releases::GaussianShift::create(std::nextafter(static_cast<double>(sqrtl(shift_squared)), INFINITY)));
    laws.push_back({gaussian_law(total), 1});
  }
  return laws;
}

Reading by_gaussian(const std::vector<RepeatedEvent>& events, releases::Delta delta) {
  Reading reading{"gaussian", std::nullopt, "the exact profile of all releases together"};
  long double shift_squared = 0.0L;
  for (const RepeatedEvent& repeated : events) {
    const auto* gaussian = std::get_if<GaussianEvent>(&repeated.event);
    if (gaussian == nullptr) {
      reading.note = "only for plain Gaussian releases";
      return reading;
    }
    const long double mu = gaussian->shift.value();
    shift_squared += mu * mu * static_cast<long double>(repeated.times);
  }
  const Result<releases::GaussianShift> total =
      releases::GaussianShift::create(std::nextafter(static_cast<double>(sqrtl(shift_squared)), INFINITY));
  if (!total || total->value() > 1e4) {
    reading.note = "a shift beyond 10000 protects nothing";
    return reading;
  }
  const double epsilon = epsilon_of_gaussian(*total, delta);
  reading.epsilon = Bracket{epsilon * (1.0 - 1e-8), epsilon};
  return reading;
}

Reading by_losses(const std::vector<RepeatedEvent>& events, releases::Delta delta, double gap) {
  Reading reading{"pld", std::nullopt, "privacy losses convolved numerically, both ends certified"};
  const bool two = directional(events);
  Bracket worst;
  for (const Order order : two ? std::vector{Order::Removed, Order::Added} : std::vector{Order::Both}) {
    const Result<std::vector<RepeatedLaw>> laws = laws_of(events, order);
    const Result<Bracket> found =
        laws ? composed_epsilon(*laws, delta, {gap, CompositionLimits{}.points_max}) : Result<Bracket>(laws.error());
    if (!found) {
      reading.note = found.error().message;
      return reading;
    }
    worst = {std::max(worst.lower, found->lower), std::max(worst.upper, found->upper)};
  }
  reading.epsilon = worst;
  return reading;
}

Reading by_renyi(const std::vector<RepeatedEvent>& events, releases::Delta delta) {
  Reading reading{"rdp", std::nullopt, ""};
  const double cut = 0.01 * delta.value() / times_of(events);
  std::vector<std::pair<CurveOf::Curve, double>> curves;
  double left = delta.value();
  for (const RepeatedEvent& repeated : events) {
    Result<CurveOf::Curve> curve = std::visit(CurveOf{cut}, repeated.event);
    if (!curve) {
      reading.note = curve.error().message;
      return reading;
    }
    left -= curve->delta * static_cast<double>(repeated.times) * (1.0 + 1e-12);
    curves.emplace_back(*std::move(curve), static_cast<double>(repeated.times));
  }
  const Result<releases::Delta> rest = releases::Delta::create(left);
  if (!rest) {
    reading.note = "delta does not cover what the releases leave to it";
    return reading;
  }
  const auto total = [&](double order) {
    double sum = 0.0;
    for (const auto& [curve, times] : curves) sum += times * curve.divergence(order);
    return sum * (1.0 + 1e-13);
  };
  const std::optional<RenyiEpsilon> found = epsilon_of_renyi(total, *rest);
  if (!found) {
    reading.note = "no order has a finite divergence";
    return reading;
  }
  reading.epsilon = Bracket{0.0, found->epsilon};
  reading.note = fmt::format("order {:.4g}", found->order);
  return reading;
}

Reading by_concentration(const std::vector<RepeatedEvent>& events, releases::Delta delta) {
  Reading reading{"zcdp", std::nullopt, ""};
  double total = 0.0;
  for (const RepeatedEvent& repeated : events) {
    const std::optional<double> rho = std::visit(RhoOf{}, repeated.event);
    if (!rho) {
      reading.note = "a release here has no rho";
      return reading;
    }
    total += *rho * static_cast<double>(repeated.times);
  }
  const Result<Rho> rho = Rho::create(total * (1.0 + 1e-13));
  if (!rho) {
    reading.note = rho.error().message;
    return reading;
  }
  reading.epsilon = Bracket{0.0, epsilon_of_zcdp(*rho, delta)};
  reading.note = fmt::format("rho {:.6g}; by the closed form {:.6g}", total, epsilon_of_zcdp_closed(*rho, delta));
  return reading;
}

/// Basic and advanced composition of what every release costs at an equal share of delta.
std::vector<Reading> by_theorems(const std::vector<RepeatedEvent>& events, releases::Delta delta) {
  Reading basic{"basic composition", std::nullopt, "every release at delta / releases"};
  Reading advanced{"advanced composition", std::nullopt, "every release at delta / (2 releases)"};
  const double times = times_of(events);
  double sum = 0.0;
  double squares = 0.0;
  double means = 0.0;
  for (const RepeatedEvent& repeated : events) {
    double each = 0.0;
    double each_of_half = 0.0;
    for (const Order order : {Order::Removed, Order::Added}) {
      const Result<LossLawPtr> law = std::visit(LawOf{order}, repeated.event);
      const std::optional<double> one = law ? epsilon_of_one(**law, delta.value() / times) : std::nullopt;
      const std::optional<double> half = law ? epsilon_of_one(**law, 0.5 * delta.value() / times) : std::nullopt;
      if (!one || !half) {
        basic.note = advanced.note = "a release here has no epsilon of its own";
        return {basic, advanced};
      }
      each = std::max(each, *one);
      each_of_half = std::max(each_of_half, *half);
    }
    const auto count = static_cast<double>(repeated.times);
    sum += count * each;
    squares += count * each_of_half * each_of_half;
    means += count * each_of_half * std::tanh(0.5 * each_of_half);
  }
  basic.epsilon = Bracket{0.0, sum * (1.0 + 1e-12)};
  advanced.epsilon = Bracket{0.0, (means + std::sqrt(2.0 * squares * -std::log(0.5 * delta.value()))) * (1.0 + 1e-12)};
  return {basic, advanced};
}

/// What some pair of neighbours reaches: the one-sided pairs of sampled Gaussians, everything else as it is.
std::optional<double> attained(const std::vector<RepeatedEvent>& events, releases::Delta delta, double gap) {
  double most = 0.0;
  for (const bool reverse : {false, true}) {
    std::vector<RepeatedLaw> laws;
    for (const RepeatedEvent& repeated : events) {
      Result<LossLawPtr> law = std::visit(LawOf{reverse ? Order::Added : Order::Removed}, repeated.event);
      if (const auto* subset = std::get_if<SubsetGaussianEvent>(&repeated.event))
        law = subset_gaussian_attained_law(subset->rate, subset->shift, reverse);
      const bool bound = std::holds_alternative<MultisetGaussianEvent>(repeated.event) ||
                         std::holds_alternative<ExponentialEvent>(repeated.event) ||
                         std::holds_alternative<ClonesEvent>(repeated.event) ||
                         std::holds_alternative<ApproximateEvent>(repeated.event);
      if (!law || bound) return std::nullopt;
      laws.push_back({*std::move(law), repeated.times});
    }
    const Result<Bracket> found = composed_epsilon(laws, delta, {gap, CompositionLimits{}.points_max});
    if (!found) return std::nullopt;
    most = std::max(most, found->lower);
  }
  return most;
}

Status check(const std::vector<RepeatedEvent>& events) {
  std::uint64_t total = 0;
  for (const RepeatedEvent& repeated : events) {
    if (repeated.times == 0) return Error{ErrorCode::InvalidArgument, "steps must be at least 1, got 0"};
    if (repeated.times > kComposedMax - total)
      return Error{ErrorCode::LimitExceeded, fmt::format("steps: at most {} releases can be composed", kComposedMax)};
    total += repeated.times;
    if (!(repeated.footprint.from >= 0.0 && repeated.footprint.to <= 1.0 &&
          repeated.footprint.from < repeated.footprint.to)) {
      return Error{ErrorCode::InvalidArgument, fmt::format("a footprint must be a part of [0, 1), got [{}, {})",
                                                           repeated.footprint.from, repeated.footprint.to)};
    }
    const auto* shifted = std::get_if<GaussianEvent>(&repeated.event);
    if (shifted != nullptr) continue;
    if (std::holds_alternative<ConcentratedEvent>(repeated.event)) continue;
    if (const auto* subset = std::get_if<SubsetConcentratedEvent>(&repeated.event)) {
      if (subset->rate > 0.0 && subset->rate <= 1.0) continue;
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("the rate of a subset must be in (0, 1], got {}", subset->rate)};
    }
    if (const Result<LossLawPtr> law = std::visit(LawOf{Order::Both}, repeated.event); !law) return law.error();
  }
  if (total == 0) return Error{ErrorCode::InvalidArgument, "there is nothing to account for"};
  return {};
}

/// What tells events apart.
using EventKey = std::array<double, 4>;

struct KeyOf {
  EventKey operator()(const GaussianEvent& event) const { return {0.0, event.shift.value(), 0.0, 0.0}; }
  EventKey operator()(const SubsetGaussianEvent& event) const { return {1.0, event.shift.value(), event.rate, 0.0}; }
  EventKey operator()(const MultisetGaussianEvent& event) const {
    return {2.0, event.shift.value(), static_cast<double>(event.records), static_cast<double>(event.draws)};
  }
  EventKey operator()(const PoissonGaussianEvent& event) const { return {3.0, event.shift.value(), event.rate, 0.0}; }
  EventKey operator()(const LaplaceEvent& event) const { return {4.0, event.epsilon.value(), 0.0, 0.0}; }
  EventKey operator()(const ExponentialEvent& event) const { return {5.0, event.epsilon.value(), 0.0, 0.0}; }
  EventKey operator()(const ApproximateEvent& event) const { return {6.0, event.epsilon.value(), event.delta, 0.0}; }
  EventKey operator()(const ConcentratedEvent& event) const { return {7.0, event.rho.value(), 0.0, 0.0}; }
  EventKey operator()(const SubsetConcentratedEvent& event) const { return {10.0, event.rho.value(), event.rate, 0.0}; }
  EventKey operator()(const ClonesEvent& event) const {
    return {8.0, static_cast<double>(event.others), event.record_epsilon, event.silo_epsilon};
  }
  EventKey operator()(const KnownSubsetGaussianEvent& event) const {
    return {9.0, event.shift.value(), event.rate, 0.0};
  }
};

/// Equal events counted together, in an order of their own, without their footprints: composition knows no order.
std::vector<RepeatedEvent> merged(const std::vector<RepeatedEvent>& events) {
  std::map<EventKey, RepeatedEvent> counted;
  for (const RepeatedEvent& repeated : events) {
    const auto [found, fresh] = counted.try_emplace(std::visit(KeyOf{}, repeated.event), repeated);
    if (!fresh) found->second.times += repeated.times;
    found->second.footprint = {};
  }
  std::vector<RepeatedEvent> out;
  out.reserve(counted.size());
  for (const auto& one : counted) out.push_back(one.second);
  return out;
}

Account account_of_position(const std::vector<RepeatedEvent>& events, releases::Delta delta, double gap) {
  Account out;
  out.readings.push_back(by_gaussian(events, delta));
  out.readings.push_back(by_losses(events, delta, gap));
  out.readings.push_back(by_renyi(events, delta));
  out.readings.push_back(by_concentration(events, delta));
  for (Reading& reading : by_theorems(events, delta)) out.readings.push_back(std::move(reading));
  out.epsilon = INFINITY;
  for (const Reading& reading : out.readings) {
    if (!reading.epsilon) continue;
    out.epsilon = std::min(out.epsilon, reading.epsilon->upper);
    out.epsilon_lower = std::max(out.epsilon_lower, reading.epsilon->lower);
  }
  // A theorem that knows more of a release than its law does can be below that law's composition.
  out.epsilon_lower = std::min(out.epsilon_lower, out.epsilon);
  return out;
}

/// Of positions what they meet, merged: those that meet the same releases once, and those that meet no more than others
/// not at all.
std::vector<std::vector<RepeatedEvent>> dearest(const std::vector<std::vector<RepeatedEvent>>& positions) {
  using Counts = std::map<EventKey, std::uint64_t>;
  std::map<Counts, std::vector<RepeatedEvent>> distinct;
  for (const std::vector<RepeatedEvent>& met : positions) {
    std::vector<RepeatedEvent> position = merged(met);
    Counts counts;
    for (const RepeatedEvent& one : position) counts.emplace(std::visit(KeyOf{}, one.event), one.times);
    distinct.try_emplace(std::move(counts), std::move(position));
  }
  const auto within = [](const Counts& less, const Counts& more) {
    return std::all_of(less.begin(), less.end(), [&](const auto& one) {
      const auto other = more.find(one.first);
      return other != more.end() && one.second <= other->second;
    });
  };
  std::vector<std::vector<RepeatedEvent>> out;
  for (const auto& [counts, position] : distinct) {
    const bool covered = std::any_of(distinct.begin(), distinct.end(), [&, &own = counts](const auto& other) {
      return &other.first != &own && within(own, other.first);
    });
    if (!covered) out.push_back(position);
  }
  return out;
}

/// The least of what is known of selections of many different epsilons, such as those along a path, without composing
/// their losses as any epsilon-DP release's: that takes seconds and, of so many, is above what their ranges say.
/// @return nothing of fewer than three kinds, or where others are among them
std::optional<double> epsilon_of_many_ranges(const std::vector<RepeatedEvent>& position, releases::Delta delta) {
  constexpr std::size_t kKindsMin = 3;
  if (position.size() < kKindsMin) return std::nullopt;
  double sum = 0.0;  // basic composition, at any delta
  for (const RepeatedEvent& repeated : position) {
    const auto* selection = std::get_if<ExponentialEvent>(&repeated.event);
    if (selection == nullptr) return std::nullopt;
    sum += static_cast<double>(repeated.times) * selection->epsilon.value();
  }
  double least = sum * (1.0 + 1e-12);
  for (const Reading& reading : {by_renyi(position, delta), by_concentration(position, delta)})
    if (reading.epsilon) least = std::min(least, reading.epsilon->upper);
  return least;
}

}  // namespace

Result<std::vector<std::vector<RepeatedEvent>>> by_position(const std::vector<RepeatedEvent>& events) {
  if (Status checked = check(events); !checked) return checked.error();
  std::set<double> edges;
  for (const RepeatedEvent& repeated : events) edges.insert(repeated.footprint.from);
  std::vector<std::vector<RepeatedEvent>> out;
  std::set<std::vector<std::size_t>> seen;
  for (const double at : edges) {  // between two beginnings a position is in fewer footprints, not in others
    std::vector<std::size_t> covering;
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events[i].footprint.from <= at && at < events[i].footprint.to) covering.push_back(i);
    if (!seen.insert(covering).second) continue;
    std::vector<RepeatedEvent> position;
    position.reserve(covering.size());
    for (const std::size_t i : covering) position.push_back(events[i]);
    out.push_back(std::move(position));
  }
  return out;
}

Result<Account> account(const std::vector<RepeatedEvent>& events, releases::Delta delta, double gap) {
  if (!(gap > 0.0 && gap < 1.0))
    return Error{ErrorCode::InvalidArgument, fmt::format("gap must be in (0, 1), got {}", gap)};
  UNDERTONE_TRY(const std::vector<std::vector<RepeatedEvent>> positions, by_position(events));
  std::optional<Account> worst;
  for (const std::vector<RepeatedEvent>& position : positions) {
    Account one = account_of_position(merged(position), delta, gap);
    if (!std::isfinite(one.epsilon))
      return Error{ErrorCode::LimitExceeded, "no accountant bounds these releases at this delta"};
    one.epsilon_attained = attained(merged(position), delta, gap);
    if (!worst || one.epsilon > worst->epsilon) worst = std::move(one);
  }
  return *worst;
}

namespace {

/// The least that is certified of releases that are not all plain Gaussians.
Result<double> searched_epsilon(const std::vector<RepeatedEvent>& position, releases::Delta delta) {
  // The other bounds are above the losses' wherever these can be composed; where not, the least of all holds. It does
  // of selections too, whose losses are composed as if they were any epsilon-DP release's: they are half as wide.
  const bool ranged = std::any_of(position.begin(), position.end(), [](const RepeatedEvent& repeated) {
    return std::holds_alternative<ExponentialEvent>(repeated.event);
  });
  const Reading numeric = ranged ? Reading{} : by_losses(position, delta, 1e-3);
  if (numeric.epsilon) return numeric.epsilon->upper;
  if (const std::optional<double> many = epsilon_of_many_ranges(position, delta)) return *many;
  return account_of_position(position, delta, 1e-3).epsilon;
}

/// The same. The last few are remembered: all who take part in a run ask for the same.
Result<double> least_epsilon(const std::vector<RepeatedEvent>& position, releases::Delta delta) {
  struct Asked {
    std::vector<std::pair<EventKey, std::uint64_t>> events;
    double delta;
    bool operator==(const Asked&) const = default;
  };
  static RememberedSearches<Asked, double> known(1024);  // a calibration asks for some tens
  Asked asked{{}, delta.value()};
  for (const RepeatedEvent& one : position) asked.events.emplace_back(std::visit(KeyOf{}, one.event), one.times);
  const Result<double> found = known.find(asked, [&] { return searched_epsilon(position, delta); });
  // An accountant that needs no search may know a bound even where a meter stopped the search.
  return found ? found : searched_epsilon(position, delta);
}

}  // namespace

Result<double> charged_epsilon(const std::vector<RepeatedEvent>& events, releases::Delta delta) {
  const Result<std::vector<std::vector<RepeatedEvent>>> positions = by_position(events);
  if (!positions) return positions.error();
  double worst = 0.0;
  for (const std::vector<RepeatedEvent>& position : dearest(*positions)) {
    const Reading exact = by_gaussian(position, delta);
    UNDERTONE_TRY(const double least,
                  exact.epsilon ? Result<double>(exact.epsilon->upper) : least_epsilon(position, delta));
    if (!std::isfinite(least))
      return Error{ErrorCode::LimitExceeded, "no accountant bounds these releases at this delta"};
    worst = std::max(worst, least);
  }
  return worst;
}

}  // namespace undertone::accounting
