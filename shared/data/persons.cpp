#include "shared/data/persons.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace undertone::data {
namespace {

/// Some persons' rows, in their order. @param first the place in `order` of each person's first row, and the end
models::Records block_of(const models::Records& records, const std::vector<std::size_t>& order,
                         const std::vector<std::size_t>& first, std::size_t from, std::size_t to) {
  const std::size_t rows = first[to] - first[from];
  models::Records out{Eigen::MatrixXd(records.features.rows(), static_cast<Eigen::Index>(rows)),
                      Eigen::VectorXd(static_cast<Eigen::Index>(rows)),
                      {}};
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = static_cast<Eigen::Index>(order[first[from] + i]);
    out.features.col(static_cast<Eigen::Index>(i)) = records.features.col(row);
    out.targets[static_cast<Eigen::Index>(i)] = records.targets[row];
    if (!records.groups.empty()) out.groups.push_back(records.group_of(row));
  }
  for (std::size_t person = from; person <= to; ++person)
    out.starts.push_back(static_cast<std::int64_t>(first[person] - first[from]));
  return out;
}

}  // namespace

std::string_view id_in(std::string_view cell) noexcept {
  const std::size_t begin = cell.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return cell.substr(begin, cell.find_last_not_of(" \t") - begin + 1);
}

void loose_id(std::string_view id, std::string& out) {
  out.clear();
  out.reserve(id.size());  // no copy of it is left behind
  for (const char c : id) {
    const bool blank = c == ' ' || c == '\t';
    const bool zero = c == '0' && out.empty();
    if (!blank && !zero) out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
}

Result<Dataset> split_persons(const models::Records& records, const std::vector<PersonKey>& persons,
                              const SplitRule& rule) {
  UNDERTONE_CHECK(!records.of_persons() && persons.size() == static_cast<std::size_t>(records.rows()));
  std::vector<std::size_t> order(persons.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return persons[a] < persons[b]; });
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i == 0 || persons[order[i]] != persons[order[i - 1]]) first.push_back(i);
  std::size_t used = first.size();
  first.push_back(order.size());
  if (rule.records_published) {
    if (*rule.records_published < 1 || static_cast<std::size_t>(*rule.records_published) > used) {
      return Error{ErrorCode::InvalidConfig,
                   fmt::format("{} persons are to be published, the data set has {}", *rule.records_published, used)};
    }
    used = static_cast<std::size_t>(*rule.records_published);
  }
  const auto holdout = static_cast<std::size_t>(std::floor(rule.holdout_fraction * static_cast<double>(used)));
  return Dataset{block_of(records, order, first, holdout, used), block_of(records, order, first, 0, holdout)};
}

}  // namespace undertone::data
