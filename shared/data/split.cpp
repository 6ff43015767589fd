#include "shared/data/split.hpp"

#include <cmath>

#include "shared/base/random_source.hpp"
#include "shared/data/partition.hpp"

namespace undertone::data {
namespace {

models::Records select(const models::Records& records, const std::vector<std::size_t>& order, std::size_t first,
                       std::size_t count) {
  models::Records out{Eigen::MatrixXd(records.features.rows(), static_cast<Eigen::Index>(count)),
                      Eigen::VectorXd(static_cast<Eigen::Index>(count))};
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = static_cast<Eigen::Index>(order[first + i]);
    out.features.col(static_cast<Eigen::Index>(i)) = records.features.col(from);
    out.targets[static_cast<Eigen::Index>(i)] = records.targets[from];
    if (!records.groups.empty()) out.groups.push_back(records.group_of(from));
  }
  return out;
}

}  // namespace

Result<SplitOrder> split_order(std::size_t records, const SplitRule& rule) {
  std::size_t used = records;
  if (rule.records_published) {
    if (*rule.records_published < 1 || static_cast<std::size_t>(*rule.records_published) > used) {
      return Error{ErrorCode::InvalidConfig,
                   fmt::format("{} records are to be published, the data set has {}", *rule.records_published, used)};
    }
    used = static_cast<std::size_t>(*rule.records_published);  // block sizes follow from what is published alone
  }
  const auto holdout = static_cast<std::size_t>(std::floor(rule.holdout_fraction * static_cast<double>(used)));
  RandomSource order_source(rule.seed);
  return SplitOrder{order_source.permutation(records), holdout, used};
}

Result<Dataset> split(const models::Records& records, const SplitRule& rule) {
  UNDERTONE_TRY(const SplitOrder order, split_order(static_cast<std::size_t>(records.count()), rule));
  return Dataset{select(records, order.records, order.holdout, order.used - order.holdout),
                 select(records, order.records, 0, order.holdout)};
}

models::Records in_order(const models::Records& records, const std::vector<std::size_t>& order) {
  return select(records, order, 0, order.size());
}

models::Records chosen(const models::Records& records, const std::vector<bool>& marks, bool marked) {
  UNDERTONE_CHECK(marks.size() == static_cast<std::size_t>(records.count()));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (marks[i] == marked) order.push_back(i);
  return select(records, order, 0, order.size());
}

Result<std::vector<std::vector<std::size_t>>> deal(std::size_t rows, const std::vector<std::size_t>& sizes,
                                                   std::uint64_t seed) {
  RandomSource source(seed);
  return partition_iid(rows, sizes, source);
}

}  // namespace undertone::data
