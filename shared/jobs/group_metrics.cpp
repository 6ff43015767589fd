#include "shared/jobs/group_metrics.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <fmt/ranges.h>

namespace undertone::jobs {
namespace {

constexpr double kEnoughDeviations = 10.0;  // of a count's noise: a group with fewer records says nothing

std::vector<std::string> labels_of(const data::Schema& schema) {
  if (const auto* binary = std::get_if<data::BinaryLabel>(&schema.label)) return {binary->negative, binary->positive};
  const auto* several = std::get_if<data::ClassLabel>(&schema.label);
  return several == nullptr ? std::vector<std::string>() : several->classes;
}

/// A part of a whole, where the part is the sum of so many noised numbers, and the whole of those and of others.
/// @param deviation of one number's noise @return nothing where the whole is too small
std::optional<NoisedShare> part_of(double part, double whole, std::size_t in_part, std::size_t in_whole,
                                   double deviation) {
  const double least = kEnoughDeviations * deviation * std::sqrt(static_cast<double>(in_whole));
  if (!(whole > 0.0) || whole < least) return std::nullopt;
  const double share = part / whole;
  // d(part / whole) is (1 - share) / whole for each number in the part, and -share / whole for each other one.
  const double moved = static_cast<double>(in_part) * std::pow(1.0 - share, 2) +
                       static_cast<double>(in_whole - in_part) * std::pow(share, 2);
  return NoisedShare{share, deviation / whole * std::sqrt(moved)};
}

void fill(GroupTable& group, double deviation) {
  const std::size_t classes = group.shares.size();
  std::vector<double> said(classes, 0.0);
  double right = 0.0;
  for (std::size_t truth = 0; truth < classes; ++truth) {
    double of_label = 0.0;
    for (std::size_t j = 0; j < classes; ++j) {
      of_label += group.shares[truth][j];
      said[j] += group.shares[truth][j];
    }
    right += group.shares[truth][truth];
    group.share += of_label;
    std::vector<NoisedShare>& own = group.said_of.emplace_back();
    for (std::size_t j = 0; j < classes; ++j) {
      const auto share = part_of(group.shares[truth][j], of_label, 1, classes, deviation);
      if (share) own.push_back(*share);
    }
  }
  group.accuracy = part_of(right, group.share, classes, classes * classes, deviation);
  for (std::size_t j = 0; j < classes; ++j) {
    const auto share = part_of(said[j], group.share, classes, classes * classes, deviation);
    if (share) group.said.push_back(*share);
  }
}

/// A difference of two groups' shares of a class.
struct Gap {
  NoisedShare apart;
  std::size_t said = 0;
  std::size_t high = 0;  // groups
  std::size_t low = 0;
};

/// Which of several differences is looked for.
enum class Which : std::uint8_t { Widest, Clearest };

/// How much of it there is: of the clearest, in deviations of its noise.
double amount(const NoisedShare& apart, Which which) {
  return which == Which::Widest || apart.stddev == 0.0 ? apart.value : apart.value / apart.stddev;
}

/// @param of a group's shares by class, empty where it has none to compare
template <class Of>
std::optional<Gap> found(const GroupTables& tables, Which which, const Of& of) {
  std::optional<Gap> out;
  for (std::size_t j = 0; j < tables.labels.size(); ++j) {
    for (std::size_t a = 0; a < tables.groups.size(); ++a) {
      for (std::size_t b = 0; b < tables.groups.size(); ++b) {
        const std::vector<NoisedShare>& first = of(tables.groups[a]);
        const std::vector<NoisedShare>& second = of(tables.groups[b]);
        if (a == b || first.empty() || second.empty()) continue;
        const NoisedShare apart{first[j].value - second[j].value, std::hypot(first[j].stddev, second[j].stddev)};
        // Of two classes the second one is said to differ.
        if (apart.value < 0.0 || (out && amount(apart, which) < amount(out->apart, which))) continue;
        out = Gap{apart, j, a, b};
      }
    }
  }
  return out;
}

std::optional<Gap> parity(const GroupTables& tables, Which which) {
  return found(tables, which, [](const GroupTable& group) -> const std::vector<NoisedShare>& { return group.said; });
}

std::optional<Gap> of_label(const GroupTables& tables, std::size_t truth, Which which) {
  return found(tables, which,
               [&](const GroupTable& group) -> const std::vector<NoisedShare>& { return group.said_of[truth]; });
}

/// Over all labels, and which it is of.
std::optional<std::pair<Gap, std::size_t>> odds(const GroupTables& tables, Which which) {
  std::optional<std::pair<Gap, std::size_t>> out;
  for (std::size_t truth = 0; truth < tables.labels.size(); ++truth) {
    const std::optional<Gap> gap = of_label(tables, truth, which);
    if (gap && (!out || amount(gap->apart, which) > amount(out->first.apart, which))) out = std::pair(*gap, truth);
  }
  return out;
}

/// The largest difference of a group's share from that of all records, of the groups that are large enough.
std::optional<NoisedShare> from_all(const GroupTables& tables) {
  std::vector<const GroupTable*> enough;
  for (const GroupTable& group : tables.groups)
    if (!group.said.empty()) enough.push_back(&group);
  if (enough.size() < 2) return std::nullopt;
  const std::size_t classes = tables.labels.size();
  const auto labels = static_cast<double>(classes);
  double all = 0.0;
  for (const GroupTable* group : enough) all += group->share;
  std::optional<NoisedShare> out;
  for (std::size_t j = 0; j < classes; ++j) {
    double said = 0.0;
    for (const GroupTable* group : enough) said += group->said[j].value * group->share;
    const double rate = said / all;
    // The derivative by a number of the group's own table is that of its own rate less that of all; by another's the
    // latter alone. In each table `labels` numbers are of class j, and the others of other classes.
    const double in_all = (1.0 - rate) / all;
    const double out_all = -rate / all;
    for (const GroupTable* group : enough) {
      const double own = group->said[j].value;
      const double others = static_cast<double>(enough.size() - 1);
      const double variance = labels * std::pow((1.0 - own) / group->share - in_all, 2) +
                              labels * (labels - 1.0) * std::pow(-own / group->share - out_all, 2) +
                              others * (labels * in_all * in_all + labels * (labels - 1.0) * out_all * out_all);
      const NoisedShare apart{std::abs(own - rate), tables.noise_stddev * std::sqrt(variance)};
      if (!out || apart.value > out->value) out = apart;
    }
  }
  return out;
}

MetricValue value_of(const char* name, const NoisedShare& share) {
  MetricValue out{name, share.value};
  if (share.stddev > 0.0) out.noise_stddev = share.stddev;
  return out;
}

std::string percent(const NoisedShare& share) {
  const double shown = 100.0 * std::clamp(share.value, 0.0, 1.0);  // noise may have put it outside
  return share.stddev > 0.0 ? fmt::format("{:.1f} % (± {:.1f})", shown, 100.0 * kQuantile * share.stddev)
                            : fmt::format("{:.1f} %", shown);
}

/// How many standard deviations the clearest of so many differences exceeds with a chance of one in twenty where there
/// is none: each is held to its part of that (Bonferroni).
double quantile_of(std::size_t differences) {
  return boost::math::quantile(boost::math::normal(), 1.0 - 0.025 / static_cast<double>(differences));
}

/// How many differences a notion is the clearest of. @param labels that it looks at
std::size_t differences_of(const GroupTables& tables, std::size_t labels) {
  const std::size_t groups = tables.groups.size();
  const std::size_t classes = tables.labels.size() == 2 ? 1 : tables.labels.size();  // of two the one follows
  return std::max<std::size_t>(1, groups * (groups - 1) / 2 * classes * labels);
}

/// @param labels that the gap is the clearest over
std::string sentence_of(const GroupTables& tables, const char* notion, const Gap& gap, const std::string& among,
                        std::size_t labels) {
  const double reach = quantile_of(differences_of(tables, labels)) * gap.apart.stddev;
  const std::string shown = gap.apart.stddev > 0.0
                                ? fmt::format("{:.1f} points (± {:.1f})", 100.0 * gap.apart.value, 100.0 * reach)
                                : fmt::format("{:.1f} points", 100.0 * gap.apart.value);
  const bool shows = gap.apart.value > reach;
  return fmt::format("{}: \"{}\" is said of {}{} more often than of {}, by {}{}", notion, tables.labels[gap.said],
                     tables.groups[gap.high].name, among, tables.groups[gap.low].name, shown,
                     shows || reach == 0.0 ? "" : ": no more than the noise may have made");
}

}  // namespace

std::optional<GroupTables> group_tables(const JobTerms& job, const algorithms::MetricsRow& row) {
  if (!job.model || job.model->detail().kind != models::MetricDetail::Kind::Groups) return std::nullopt;
  GroupTables out;
  out.labels = labels_of(job.schema);
  out.noise_stddev = row.noise_stddev;
  const std::size_t classes = out.labels.size();
  const std::vector<std::string> names = data::group_names(job.schema);
  const std::size_t named = job.model->metric_names().size();
  if (row.values.size() != named + names.size() * classes * classes) return std::nullopt;
  auto next = row.values.begin() + static_cast<std::ptrdiff_t>(named);
  for (const std::string& name : names) {
    GroupTable group;
    group.name = name;
    for (std::size_t truth = 0; truth < classes; ++truth) {
      group.shares.emplace_back(next, next + static_cast<std::ptrdiff_t>(classes));
      next += static_cast<std::ptrdiff_t>(classes);
    }
    fill(group, out.noise_stddev);
    out.groups.push_back(std::move(group));
  }
  return out;
}

std::vector<MetricValue> group_gaps(const GroupTables& tables) {
  std::vector<MetricValue> out;
  if (const auto gap = parity(tables, Which::Widest))
    out.push_back(value_of("demographic_parity_difference", gap->apart));
  if (const auto share = from_all(tables)) out.push_back(value_of("demographic_parity_from_all", *share));
  if (const auto gap = odds(tables, Which::Widest))
    out.push_back(value_of("equalized_odds_difference", gap->first.apart));
  if (const auto gap = of_label(tables, tables.labels.size() - 1, Which::Widest))
    out.push_back(value_of("equal_opportunity_difference", gap->apart));
  return out;
}

std::vector<std::string> group_verdicts(const GroupTables& tables) {
  constexpr std::size_t kGroupsShown = 16;
  std::vector<std::string> out;
  std::vector<std::string> small;
  for (const GroupTable& group : tables.groups) {
    if (!group.accuracy || group.said.empty()) {
      small.push_back(group.name);
      continue;
    }
    if (out.size() == kGroupsShown) continue;
    out.push_back(fmt::format("{} ({:.1f} % of the held-out records): accuracy {}, \"{}\" is said of {}", group.name,
                              100.0 * group.share, percent(*group.accuracy), tables.labels.back(),
                              percent(group.said.back())));
  }
  const std::size_t labels = tables.labels.size();
  if (const auto gap = parity(tables, Which::Clearest))
    out.push_back(sentence_of(tables, "demographic parity", *gap, "", 1));
  if (const auto gap = odds(tables, Which::Clearest))
    out.push_back(sentence_of(tables, "equalised odds", gap->first,
                              fmt::format(" whose label is \"{}\"", tables.labels[gap->second]), labels));
  if (const auto gap = of_label(tables, labels - 1, Which::Clearest))
    out.push_back(
        sentence_of(tables, "equal opportunity", *gap, fmt::format(" whose label is \"{}\"", tables.labels.back()), 1));
  if (tables.noise_stddev > 0.0 && tables.groups.size() > small.size() + 1)
    out.emplace_back(
        "each of these is the clearest of several differences, and ± covers them all; the largest of noised "
        "differences, which the metrics name, is too large on average");
  if (!small.empty()) {
    const std::size_t all = small.size();
    small.resize(std::min(small.size(), kGroupsShown));
    out.push_back(fmt::format("{} group{} too small to say: {}{}", all, all == 1 ? " is" : "s are",
                              fmt::join(small, "; "), all > small.size() ? "; ..." : ""));
  }
  return out;
}

}  // namespace undertone::jobs
