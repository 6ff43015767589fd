#include "shared/accounting/group_privacy.hpp"

#include <algorithm>
#include <cmath>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/log_choose.hpp"
#include "shared/accounting/occurrence_law.hpp"
#include "shared/base/remembered_searches.hpp"

namespace undertone::accounting {
namespace {

constexpr std::int64_t kMembersMax = 10'000;
constexpr double kCut = 1e-24;  // of a release's probability, counted as an infinite loss
constexpr long double kTermMin = 1e-40L;

/// ln C(n, k).
long double log_subsets(std::int64_t n, std::int64_t k) {
  return log_choose(static_cast<long double>(n), static_cast<long double>(k));
}

/// Of k marked ones among n, K of which are drawn without replacement.
Occurrences hypergeometric(std::int64_t population, std::int64_t members, std::int64_t draws) {
  const std::int64_t least = std::max<std::int64_t>(0, draws - (population - members));
  const std::int64_t most = std::min(members, draws);
  const long double all = log_subsets(population, draws);
  Occurrences out;
  out.times.assign(static_cast<std::size_t>(most), 0.0L);
  long double sum = 0.0L;
  std::vector<long double> terms(static_cast<std::size_t>(most) + 1, 0.0L);
  for (std::int64_t j = least; j <= most; ++j) {
    terms[static_cast<std::size_t>(j)] =
        expl(log_subsets(members, j) + log_subsets(population - members, draws - j) - all);
    sum += terms[static_cast<std::size_t>(j)];
  }
  // The terms are off by a relative 1e-12 of large numbers' logarithms: as they add up to one, one common factor is.
  out.never = terms[0] / sum;
  for (std::size_t j = 1; j < terms.size(); ++j) out.times[j - 1] = terms[j] / sum;
  while (out.times.size() > 1 && out.times.back() < kTermMin) out.times.pop_back();
  return out;
}

/// Of k marked ones among n, fewer than all, of K independent draws.
Occurrences binomial(std::int64_t population, std::int64_t members, std::int64_t draws) {
  const long double rate = static_cast<long double>(members) / static_cast<long double>(population);
  const auto count = static_cast<long double>(draws);
  std::vector<long double> terms;
  long double sum = 0.0L;
  for (std::int64_t j = 0; j <= draws; ++j) {
    const auto i = static_cast<long double>(j);
    terms.push_back(expl(log_choose(count, i) + i * logl(rate) + (count - i) * log1pl(-rate)));
    sum += terms.back();
    if (terms.back() < kTermMin && i > count * rate) break;
  }
  Occurrences out;
  out.never = terms[0] / sum;  // as above: what the logarithms are off is one factor
  for (std::size_t j = 1; j < terms.size(); ++j) out.times.push_back(terms[j] / sum);
  if (out.times.size() > 1 && out.times.back() < kTermMin) out.times.pop_back();
  return out;
}

}  // namespace

Result<LossLawPtr> group_law(const GroupRelease& release, std::int64_t members) {
  if (members < 1 || members > kMembersMax)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("records of one person: expected 1 to {}, got {}", kMembersMax, members)};
  if (release.draws < 1 || release.population < 1 || (!release.with_replacement && release.draws > release.population))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("sampling: expected at most as many draws as records, got {} of {}", release.draws,
                             release.population)};
  const std::int64_t own = std::min(members, release.population);
  const bool everybody = !release.with_replacement && release.draws == release.population;
  if (everybody || own == release.population) {
    const std::int64_t times = release.with_replacement ? release.draws : std::min(own, release.draws);
    UNDERTONE_TRY(const releases::GaussianShift all,
                  releases::GaussianShift::create(release.shift.value() * static_cast<double>(times)));
    return gaussian_law(all);
  }
  return occurrence_gaussian_law(release.with_replacement ? binomial(release.population, own, release.draws)
                                                          : hypergeometric(release.population, own, release.draws),
                                 release.shift, kCut);
}

Result<Bracket> group_epsilon(const std::vector<GroupRelease>& releases, std::int64_t members, releases::Delta delta,
                              const CompositionLimits& limits) {
  std::vector<RepeatedLaw> laws;
  bool gaussian = !releases.empty();
  double squares = 0.0;  // of the shifts, where all records are read
  for (const GroupRelease& release : releases) {
    UNDERTONE_TRY(LossLawPtr law, group_law(release, members));
    laws.push_back({std::move(law), release.times});
    gaussian = gaussian && !release.with_replacement && release.draws == release.population;
    const double shift = release.shift.value() * static_cast<double>(std::min(members, release.population));
    squares += shift * shift * static_cast<double>(release.times);
  }
  if (!gaussian) {
    struct Asked {
      std::vector<GroupRelease> releases;
      std::int64_t members;
      double delta;
      double gap;
      std::size_t points_max;
      bool operator==(const Asked&) const = default;
    };
    static RememberedSearches<Asked, Bracket> known(64);
    return known.find({releases, members, delta.value(), limits.gap, limits.points_max},
                      [&] { return composed_epsilon(laws, delta, limits); });
  }
  UNDERTONE_TRY(const releases::GaussianShift all, releases::GaussianShift::create(std::sqrt(squares)));
  const double epsilon = epsilon_of_gaussian(all, delta);
  return Bracket{epsilon, epsilon};
}

}  // namespace undertone::accounting
