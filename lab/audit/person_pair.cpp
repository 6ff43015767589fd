#include "lab/audit/person_pair.hpp"

#include <utility>

namespace undertone::lab {
namespace {

/// One record a person, but so many like hers of one of them.
models::Records of_persons(const models::Records& records, Eigen::Index one, std::int64_t held) {
  const Eigen::Index others = records.rows() - 1;
  models::Records out{Eigen::MatrixXd(records.features.rows(), others + held), Eigen::VectorXd(others + held), {0}};
  for (Eigen::Index person = 0; person < records.rows(); ++person) {
    const std::int64_t from = out.starts.back();
    const std::int64_t own = person == one ? held : 1;
    for (std::int64_t row = from; row < from + own; ++row) {
      out.features.col(row) = records.features.col(person);
      out.targets[row] = records.targets[person];
    }
    out.starts.push_back(from + own);
  }
  return out;
}

void make_persons(data::Dataset& dataset, releases::Block block, Eigen::Index changed, std::int64_t held) {
  const bool training = block == releases::Block::Training;
  dataset.training = of_persons(dataset.training, changed, training ? held : 1);
  dataset.holdout = of_persons(dataset.holdout, changed, training ? 1 : held);
}

}  // namespace

WorstPair pair_of_persons(WorstPair pair, std::int64_t first, std::int64_t second) {
  UNDERTONE_CHECK(first >= 1 && second >= 1);
  make_persons(pair.first, pair.block, pair.changed, first);
  make_persons(pair.second, pair.block, pair.changed, second);
  return pair;
}

}  // namespace undertone::lab
