#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/base/result.hpp"

/// How one public table is dealt to the silos of an experiment. Lists depend on labels and targets, so they are for
/// tables whose holder may show them: a silo's own records are divided by split.hpp, which looks at no value.
namespace undertone::data {

using Indices = std::vector<std::size_t>;
using Partition = std::vector<Indices>;  // one list for each silo; no index twice, unless it says so

struct TrainTest {
  Indices train;  // ascending, as test
  Indices test;
};

/// values[i] for each index: a part's labels, and, of a part's own indices, where its records stand in the whole table.
template <class T>
[[nodiscard]] std::vector<T> picked(const std::vector<T>& values, const Indices& indices) {
  std::vector<T> out;
  out.reserve(indices.size());
  for (const std::size_t index : indices) out.push_back(values.at(index));
  return out;
}

/// Draws round(train_fraction * count) of the indices 0 .. count-1 for training.
/// @param train_fraction in (0, 1), such that neither part is empty
[[nodiscard]] Result<TrainTest> split_indices(std::size_t count, double train_fraction, RandomSource& source);

/// split_indices within each class, so that each keeps its share. Where silos share records, this comes before the
/// records are assigned to silos: otherwise one silo trains on what another is tested on (decision 14).
[[nodiscard]] Result<TrainTest> split_by_label(const std::vector<int>& labels, double train_fraction,
                                               RandomSource& source);

/// Deals records at random, whatever they are.
/// @param sizes of the silos, > 0; records left over go to nobody
[[nodiscard]] Result<Partition> partition_iid(std::size_t count, const std::vector<std::size_t>& sizes,
                                              RandomSource& source);

/// Silo i gets records of class i alone.
/// @param labels each in 0 .. classes-1, here and below
/// @param records_per_silo drawn from each class; unset, as many as the smallest class has
[[nodiscard]] Result<Partition> partition_by_label(const std::vector<int>& labels, int classes,
                                                   std::optional<std::size_t> records_per_silo, RandomSource& source);

/// Which images the silos of a digit get.
enum class Sharing {
  Shared,   // the same ones, as in the paper: each sits in five silos, and no silo's noise protects it alone
  Disjoint  // a fifth each
};

struct PairPartition {
  Partition silos;
  std::size_t uses_per_index;  // how many silos hold each index that is held at all: 5 shared, 1 disjoint
};

/// 25 silos of ten digits: silo 5 a + b gets the digits 2 a and 2 b + 1.
/// @param images_per_label that a silo gets of each of its two digits, > 0. A digit needs as many, and five times as
/// many where the silos are disjoint.
/// Source: spec federated-core 4, MNIST (B.1.10).
[[nodiscard]] Result<PairPartition> partition_by_label_pair(const std::vector<int>& labels,
                                                            std::size_t images_per_label, Sharing sharing,
                                                            RandomSource& source);

/// Slices of the records in the order of their targets, equal targets in the order of the table: ceil(n / silos) to
/// each silo but the last, which gets the rest, and none where the rest is nothing is refused.
/// @param targets finite
[[nodiscard]] Result<Partition> partition_sorted(const std::vector<double>& targets, std::size_t silos);

/// Deals each class by proportions of its own, a draw of Dirichlet(concentration, ..., concentration): the smaller, the
/// less the silos are alike. All records are dealt; a silo may get none.
/// Source: Yurochkin et al. 2019, Bayesian Nonparametric Federated Learning, section 4.
[[nodiscard]] Result<Partition> partition_dirichlet(const std::vector<int>& labels, int classes, std::size_t silos,
                                                    double concentration, RandomSource& source);

}  // namespace undertone::data
