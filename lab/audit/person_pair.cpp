#include "lab/audit/person_pair.hpp"

#include <algorithm>
#include <utility>

namespace undertone::lab {
namespace {

/// As many records like hers of each person: `held` of one of them, `others` of everybody else.
models::Records of_persons(const models::Records& records, Eigen::Index one, std::int64_t held, std::int64_t others) {
  const Eigen::Index rows = (records.rows() - 1) * others + held;
  models::Records out{Eigen::MatrixXd(records.features.rows(), rows), Eigen::VectorXd(rows), {0}};
  for (Eigen::Index person = 0; person < records.rows(); ++person) {
    const std::int64_t from = out.starts.back();
    const std::int64_t own = person == one ? held : others;
    for (std::int64_t row = from; row < from + own; ++row) {
      out.features.col(row) = records.features.col(person);
      out.targets[row] = records.targets[person];
    }
    out.starts.push_back(from + own);
  }
  return out;
}

void make_persons(data::Dataset& dataset, const WorstPair& pair, std::int64_t held, std::int64_t others) {
  const bool training = pair.block == releases::Block::Training;
  dataset.training = of_persons(dataset.training, pair.changed, training ? held : others, others);
  dataset.holdout = of_persons(dataset.holdout, pair.changed, training ? others : held, others);
}

}  // namespace

RecordCounts worst_counts(const releases::PersonContribution& person) {
  constexpr std::int64_t kFew = 5;
  constexpr std::int64_t kMore = 45;
  if (person.form != releases::PersonContribution::Form::CappedSum) return {kFew + kMore, kFew};
  const std::int64_t whole = person.records_max;
  const std::int64_t second = std::max(kFew, whole);
  return {second + kMore, second, whole};
}

WorstPair pair_of_persons(WorstPair pair, const RecordCounts& counts) {
  UNDERTONE_CHECK(counts.first >= 1 && counts.second >= 1 && counts.others >= 1);
  make_persons(pair.first, pair, counts.first, counts.others);
  make_persons(pair.second, pair, counts.second, counts.others);
  return pair;
}

}  // namespace undertone::lab
