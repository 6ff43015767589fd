#include "shared/jobs/group_metrics.hpp"

#include <algorithm>
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

/// The largest difference of two groups' shares of a class.
struct Gap {
  NoisedShare apart;
  std::size_t said = 0;
  std::size_t high = 0;  // groups
  std::size_t low = 0;
};

/// @param of a group's shares by class, empty where it has none to compare
template <class Of>
std::optional<Gap> widest(const GroupTables& tables, const Of& of) {
  std::optional<Gap> out;
  for (std::size_t j = 0; j < tables.labels.size(); ++j) {
    for (std::size_t a = 0; a < tables.groups.size(); ++a) {
      for (std::size_t b = 0; b < tables.groups.size(); ++b) {
        const std::vector<NoisedShare>& first = of(tables.groups[a]);
        const std::vector<NoisedShare>& second = of(tables.groups[b]);
        if (a == b || first.empty() || second.empty()) continue;
        const double apart = first[j].value - second[j].value;
        if (apart < 0.0 || (out && apart < out->apart.value)) continue;
        out = Gap{{apart, std::hypot(first[j].stddev, second[j].stddev)}, j, a, b};
      }
    }
  }
  return out;
}

std::optional<Gap> parity(const GroupTables& tables) {
  return widest(tables, [](const GroupTable& group) -> const std::vector<NoisedShare>& { return group.said; });
}

std::optional<Gap> of_label(const GroupTables& tables, std::size_t truth) {
  return widest(tables,
                [&](const GroupTable& group) -> const std::vector<NoisedShare>& { return group.said_of[truth]; });
}

/// Over all labels, and which it is of.
std::optional<std::pair<Gap, std::size_t>> odds(const GroupTables& tables) {
  std::optional<std::pair<Gap, std::size_t>> out;
  for (std::size_t truth = 0; truth < tables.labels.size(); ++truth) {
    const std::optional<Gap> gap = of_label(tables, truth);
    if (gap && (!out || gap->apart.value > out->first.apart.value)) out = std::pair(*gap, truth);
  }
  return out;
}

/// The largest difference of a group's share from that of all records of known groups.
std::optional<NoisedShare> from_all(const GroupTables& tables) {
  std::optional<NoisedShare> out;
  const std::size_t classes = tables.labels.size();
  for (std::size_t j = 0; j < classes; ++j) {
    double all = 0.0;
    double said = 0.0;
    for (const GroupTable& group : tables.groups) {
      all += group.share;
      for (std::size_t truth = 0; truth < classes; ++truth) said += group.shares[truth][j];
    }
    if (!(all > 0.0)) continue;
    for (const GroupTable& group : tables.groups) {
      if (group.said.empty()) continue;
      // What is common to both lowers the deviation: as if nothing were, it is no smaller than it is.
      const double own = std::abs(group.said[j].value - said / all);
      if (!out || own > out->value) out = NoisedShare{own, group.said[j].stddev};
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
  return share.stddev > 0.0 ? fmt::format("{:.1f} % (± {:.1f})", 100.0 * share.value, 100.0 * kQuantile * share.stddev)
                            : fmt::format("{:.1f} %", 100.0 * share.value);
}

std::string sentence_of(const GroupTables& tables, const char* notion, const Gap& gap, const std::string& among) {
  const std::string shown = gap.apart.stddev > 0.0 ? fmt::format("{:.1f} points (± {:.1f})", 100.0 * gap.apart.value,
                                                                 100.0 * kQuantile * gap.apart.stddev)
                                                   : fmt::format("{:.1f} points", 100.0 * gap.apart.value);
  const bool shows = gap.apart.stddev == 0.0 || gap.apart.value > kQuantile * gap.apart.stddev;
  return fmt::format("{}: \"{}\" is said of {}{} more often than of {}, by {}{}", notion, tables.labels[gap.said],
                     tables.groups[gap.high].name, among, tables.groups[gap.low].name, shown,
                     shows ? "" : ": no more than the noise may have made");
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
  if (const auto gap = parity(tables)) out.push_back(value_of("demographic_parity_difference", gap->apart));
  if (const auto share = from_all(tables)) out.push_back(value_of("demographic_parity_from_all", *share));
  if (const auto gap = odds(tables)) out.push_back(value_of("equalized_odds_difference", gap->first.apart));
  if (const auto gap = of_label(tables, tables.labels.size() - 1))
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
  if (const auto gap = parity(tables)) out.push_back(sentence_of(tables, "demographic parity", *gap, ""));
  if (const auto gap = odds(tables))
    out.push_back(sentence_of(tables, "equalised odds", gap->first,
                              fmt::format(" whose label is \"{}\"", tables.labels[gap->second])));
  if (const auto gap = of_label(tables, tables.labels.size() - 1))
    out.push_back(
        sentence_of(tables, "equal opportunity", *gap, fmt::format(" whose label is \"{}\"", tables.labels.back())));
  if (tables.noise_stddev > 0.0 && tables.groups.size() > 2)
    out.emplace_back("the largest of several noised differences is too large on average");
  if (!small.empty()) {
    const std::size_t all = small.size();
    small.resize(std::min(small.size(), kGroupsShown));
    out.push_back(fmt::format("{} group{} too small to say: {}{}", all, all == 1 ? " is" : "s are",
                              fmt::join(small, "; "), all > small.size() ? "; ..." : ""));
  }
  return out;
}

}  // namespace undertone::jobs
