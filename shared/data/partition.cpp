#include "shared/data/partition.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "shared/data/dirichlet.hpp"

namespace undertone::data {
namespace {

constexpr int kDigits = 10;
constexpr std::size_t kSilosPerDigit = 5;

Error refused(const std::string& what) { return {ErrorCode::InvalidArgument, what}; }

void append(Indices& to, const Indices& from, std::size_t first, std::size_t count) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
  to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
}

Result<std::vector<Indices>> records_of_classes(const std::vector<int>& labels, int classes) {
  if (classes < 1) return refused(fmt::format("partition: expected one class or more, found {}", classes));
  std::vector<Indices> members(static_cast<std::size_t>(classes));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes)
      return refused(fmt::format("record {}: expected a label of 0 to {}, found another", i, classes - 1));
    members[static_cast<std::size_t>(labels[i])].push_back(i);
  }
  return members;
}

/// Draws records of each class without replacement, in random order.
Result<std::vector<Indices>> draw_of_each(const std::vector<Indices>& members, std::size_t count,
                                          RandomSource& source) {
  for (std::size_t label = 0; label < members.size(); ++label) {
    if (members[label].empty()) return refused(fmt::format("class {}: expected records, found none", label));
  }
  std::vector<Indices> drawn;
  for (std::size_t label = 0; label < members.size(); ++label) {
    const std::size_t has = members[label].size();
    if (count == 0 || count > has) {
      return refused(
          fmt::format("class {}: expected 1 to {} records to be drawn, as it has, found {}", label, has, count));
    }
    drawn.push_back(picked(members[label], source.permutation(members[label].size())));
    drawn.back().resize(count);
  }
  return drawn;
}

}  // namespace

Result<TrainTest> split_indices(std::size_t count, double train_fraction, RandomSource& source) {
  if (!(train_fraction > 0.0 && train_fraction < 1.0))
    return refused(fmt::format("train fraction: expected more than 0 and less than 1, found {}", train_fraction));
  const auto train = static_cast<std::size_t>(std::floor(train_fraction * static_cast<double>(count) + 0.5));
  if (train == 0 || train >= count) {
    return refused(
        fmt::format("{} records at train fraction {}: expected both parts to hold some, found {} in training", count,
                    train_fraction, train));
  }
  const Indices order = source.permutation(count);
  TrainTest out;
  append(out.train, order, 0, train);
  append(out.test, order, train, count - train);
  std::sort(out.train.begin(), out.train.end());
  std::sort(out.test.begin(), out.test.end());
  return out;
}

Result<TrainTest> split_by_label(const std::vector<int>& labels, double train_fraction, RandomSource& source) {
  std::map<int, Indices> classes;
  for (std::size_t i = 0; i < labels.size(); ++i) classes[labels[i]].push_back(i);
  if (classes.empty()) return refused("split: expected records, found none");
  TrainTest out;
  for (const auto& [label, members] : classes) {
    const Result<TrainTest> part = split_indices(members.size(), train_fraction, source);
    if (!part) return refused(fmt::format("class {}: {}", label, part.error().message));
    append(out.train, picked(members, part->train), 0, part->train.size());
    append(out.test, picked(members, part->test), 0, part->test.size());
  }
  std::sort(out.train.begin(), out.train.end());
  std::sort(out.test.begin(), out.test.end());
  return out;
}

Result<Partition> partition_iid(std::size_t count, const std::vector<std::size_t>& sizes, RandomSource& source) {
  if (sizes.empty()) return refused("partition: expected one silo or more, found 0");
  std::size_t left = count;
  for (std::size_t silo = 0; silo < sizes.size(); ++silo) {
    if (sizes[silo] == 0 || sizes[silo] > left) {
      return refused(fmt::format("silo {}: expected 1 to {} records, as are left of {}, found {} asked for", silo, left,
                                 count, sizes[silo]));
    }
    left -= sizes[silo];
  }
  const Indices order = source.permutation(count);
  Partition silos(sizes.size());
  std::size_t next = 0;
  for (std::size_t silo = 0; silo < sizes.size(); ++silo) {
    append(silos[silo], order, next, sizes[silo]);
    next += sizes[silo];
  }
  return silos;
}

Result<Partition> partition_by_label(const std::vector<int>& labels, int classes,
                                     std::optional<std::size_t> records_per_silo, RandomSource& source) {
  UNDERTONE_TRY(const std::vector<Indices> members, records_of_classes(labels, classes));
  const auto fewer = [](const Indices& a, const Indices& b) { return a.size() < b.size(); };
  const std::size_t smallest = std::min_element(members.begin(), members.end(), fewer)->size();
  return draw_of_each(members, records_per_silo.value_or(smallest), source);
}

Result<PairPartition> partition_by_label_pair(const std::vector<int>& labels, std::size_t images_per_label,
                                              Sharing sharing, RandomSource& source) {
  UNDERTONE_TRY(const std::vector<Indices> members, records_of_classes(labels, kDigits));
  const bool shared = sharing == Sharing::Shared;
  const std::size_t silos_per_image = shared ? kSilosPerDigit : 1;
  if (images_per_label > labels.size()) {  // and five times as many is then a number
    return refused(
        fmt::format("expected at most {} images a label, as there are, found {}", labels.size(), images_per_label));
  }
  UNDERTONE_TRY(const std::vector<Indices> drawn,
                draw_of_each(members, images_per_label * (kSilosPerDigit / silos_per_image), source));
  PairPartition out{Partition(kSilosPerDigit * kSilosPerDigit), silos_per_image};
  for (std::size_t a = 0; a < kSilosPerDigit; ++a) {
    for (std::size_t b = 0; b < kSilosPerDigit; ++b) {
      Indices& silo = out.silos[kSilosPerDigit * a + b];
      append(silo, drawn[2 * a], shared ? 0 : b * images_per_label, images_per_label);
      append(silo, drawn[2 * b + 1], shared ? 0 : a * images_per_label, images_per_label);
    }
  }
  return out;
}

Result<Partition> partition_sorted(const std::vector<double>& targets, std::size_t silos) {
  if (silos == 0) return refused("partition: expected one silo or more, found 0");
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!std::isfinite(targets[i])) return refused(fmt::format("record {}: expected a finite target", i));
  }
  const std::size_t slice = targets.size() / silos + (targets.size() % silos != 0 ? 1 : 0);
  if (slice == 0 || (targets.size() - 1) / slice + 1 != silos) {
    return refused(
        fmt::format("{} records in slices of {}: expected some for each of {} silos, found none for the last",
                    targets.size(), slice, silos));
  }
  Indices order(targets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return targets[i] < targets[j]; });
  Partition out(silos);
  for (std::size_t silo = 0; silo < silos; ++silo)
    append(out[silo], order, silo * slice, std::min(slice, order.size() - silo * slice));
  return out;
}

Result<Partition> partition_dirichlet(const std::vector<int>& labels, int classes, std::size_t silos,
                                      double concentration, RandomSource& source) {
  if (silos == 0) return refused("partition: expected one silo or more, found 0");
  UNDERTONE_TRY(const std::vector<Indices> members, records_of_classes(labels, classes));
  Partition out(silos);
  for (const Indices& all : members) {
    UNDERTONE_TRY(const std::vector<double> proportions, dirichlet_proportions(silos, concentration, source));
    const Indices order = picked(all, source.permutation(all.size()));
    // Cuts are rounded, not sizes, so that the sizes add up and each is within one record of its proportion.
    double upto = 0.0;
    std::size_t begin = 0;
    for (std::size_t silo = 0; silo < silos; ++silo) {
      upto += proportions[silo];
      const double cut = std::floor(std::min(upto, 1.0) * static_cast<double>(all.size()) + 0.5);
      const std::size_t end = silo + 1 == silos ? all.size() : static_cast<std::size_t>(cut);
      append(out[silo], order, begin, end - begin);
      begin = end;
    }
  }
  return out;
}

}  // namespace undertone::data
