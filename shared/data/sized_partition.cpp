#include "shared/data/sized_partition.hpp"

#include <algorithm>
#include <cmath>

#include "shared/data/dirichlet.hpp"

namespace undertone::data {
namespace {

Error not_dealt(const std::string& why) { return {ErrorCode::InvalidArgument, why}; }

/// The records of each class, in random order.
Result<std::vector<Indices>> shuffled_classes(const std::vector<int>& labels, int classes, RandomSource& source) {
  if (classes < 1) return not_dealt(fmt::format("partition: expected one class or more, found {}", classes));
  std::vector<Indices> out(static_cast<std::size_t>(classes));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes)
      return not_dealt(fmt::format("record {}: expected a label of 0 to {}, found another", i, classes - 1));
    out[static_cast<std::size_t>(labels[i])].push_back(i);
  }
  for (Indices& one : out) one = picked(one, source.permutation(one.size()));
  return out;
}

Status check_sizes(const std::vector<std::size_t>& sizes, std::size_t count) {
  if (sizes.empty()) return not_dealt("partition: expected one silo or more, found 0");
  std::size_t left = count;
  for (std::size_t silo = 0; silo < sizes.size(); ++silo) {
    if (sizes[silo] == 0 || sizes[silo] > left) {
      return not_dealt(fmt::format("silo {}: expected 1 to {} records, as are left of {}, found {} asked for", silo,
                                   left, count, sizes[silo]));
    }
    left -= sizes[silo];
  }
  return {};
}

/// A class with records left, by its weight; where the weights of these are nothing, by how many each has.
std::size_t drawn_class(const std::vector<double>& proportions, const std::vector<Indices>& left,
                        RandomSource& source) {
  double total = 0.0;
  std::size_t records = 0;
  for (std::size_t c = 0; c < left.size(); ++c) {
    records += left[c].size();
    if (!left[c].empty()) total += proportions[c];
  }
  UNDERTONE_CHECK(records > 0);
  const bool by_count = !(total > 0.0);
  double rest = source.unit() * (by_count ? static_cast<double>(records) : total);
  std::size_t last = 0;
  for (std::size_t c = 0; c < left.size(); ++c) {
    if (left[c].empty()) continue;
    last = c;
    rest -= by_count ? static_cast<double>(left[c].size()) : proportions[c];
    if (rest < 0.0) return c;
  }
  return last;  // to rounding
}

}  // namespace

Result<Partition> deal_by_label(const std::vector<int>& labels, int classes, const std::vector<std::size_t>& sizes,
                                RandomSource& source) {
  UNDERTONE_TRY(check_sizes(sizes, labels.size()));
  Result<std::vector<Indices>> left = shuffled_classes(labels, classes, source);
  if (!left) return left.error();
  Partition out;
  for (std::size_t silo = 0; silo < sizes.size(); ++silo) {
    const std::size_t label = silo % left->size();
    Indices& records = (*left)[label];
    if (sizes[silo] > records.size()) {
      return not_dealt(fmt::format("silo {}: expected at most {} records, as are left of class {}, found {} asked for",
                                   silo, records.size(), label, sizes[silo]));
    }
    const auto from = records.end() - static_cast<std::ptrdiff_t>(sizes[silo]);
    out.emplace_back(from, records.end());
    records.erase(from, records.end());
  }
  return out;
}

Result<Partition> deal_by_dirichlet(const std::vector<int>& labels, int classes, const std::vector<std::size_t>& sizes,
                                    double concentration, RandomSource& source) {
  UNDERTONE_TRY(check_sizes(sizes, labels.size()));
  if (classes < 1) return not_dealt(fmt::format("partition: expected one class or more, found {}", classes));
  std::vector<std::vector<double>> proportions;
  for (std::size_t silo = 0; silo < sizes.size(); ++silo) {
    UNDERTONE_TRY(std::vector<double> drawn,
                  dirichlet_proportions(static_cast<std::size_t>(classes), concentration, source));
    proportions.push_back(std::move(drawn));
  }
  UNDERTONE_TRY(std::vector<Indices> left, shuffled_classes(labels, classes, source));
  Partition out(sizes.size());
  for (std::size_t silo = 0; silo < sizes.size(); ++silo) {
    for (std::size_t i = 0; i < sizes[silo]; ++i) {
      Indices& records = left[drawn_class(proportions[silo], left, source)];
      out[silo].push_back(records.back());
      records.pop_back();
    }
  }
  return out;
}

Result<Partition> deal_sorted(const std::vector<double>& targets, const std::vector<std::size_t>& sizes,
                              RandomSource& source) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!std::isfinite(targets[i])) return not_dealt(fmt::format("record {}: expected a finite target", i));
  }
  Result<Partition> out = partition_iid(targets.size(), sizes, source);
  if (!out) return out;
  Indices all;
  for (const Indices& part : *out) all.insert(all.end(), part.begin(), part.end());
  std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return targets[a] < targets[b]; });
  auto next = all.begin();
  for (Indices& part : *out) {
    std::copy_n(next, part.size(), part.begin());
    next += static_cast<std::ptrdiff_t>(part.size());
  }
  return out;
}

}  // namespace undertone::data
