#include "operator/prediction_scores.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "shared/base/result.hpp"

namespace undertone::operators {
namespace {

/// The share of pairs of a record of either class in which the one of the second has the larger score, ties counting
/// one half: the rank sum of the second class, less what it is at least. Source: Mann and Whitney 1947.
std::optional<double> auc_of_ranks(std::span<const std::size_t> truth, std::span<const double> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  double positives = 0.0;
  double ranks = 0.0;
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from;
    double tied = 0.0;  // of the second class
    for (; to < order.size() && scores[order[to]] == scores[order[from]]; ++to)
      tied += truth[order[to]] == 1 ? 1.0 : 0.0;
    ranks += tied * (static_cast<double>(from + to) + 1.0) / 2.0;  // the mean of ranks from + 1 to `to`
    positives += tied;
    from = to;
  }
  const double negatives = static_cast<double>(order.size()) - positives;
  if (positives == 0.0 || negatives == 0.0) return std::nullopt;
  return (ranks - positives * (positives + 1.0) / 2.0) / (positives * negatives);
}

}  // namespace

ClassScores score_classes(std::span<const std::size_t> truth, std::span<const std::size_t> said, std::size_t classes,
                          std::span<const double> scores) {
  UNDERTONE_CHECK(!truth.empty() && truth.size() == said.size());
  UNDERTONE_CHECK(scores.empty() || (classes == 2 && scores.size() == truth.size()));
  ClassScores out;
  out.records = truth.size();
  out.table.assign(classes, std::vector<std::size_t>(classes, 0));
  for (std::size_t j = 0; j < truth.size(); ++j) ++out.table.at(truth[j]).at(said[j]);
  std::size_t right = 0;
  std::size_t largest = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    right += out.table[c][c];
    largest = std::max(largest, std::accumulate(out.table[c].begin(), out.table[c].end(), std::size_t{0}));
  }
  out.accuracy = static_cast<double>(right) / static_cast<double>(out.records);
  out.largest_class = static_cast<double>(largest) / static_cast<double>(out.records);
  const bool ordered = std::all_of(scores.begin(), scores.end(), [](double score) { return std::isfinite(score); });
  if (!scores.empty() && ordered) out.auc = auc_of_ranks(truth, scores);
  return out;
}

NumberScores score_numbers(std::span<const double> truth, std::span<const double> said) {
  UNDERTONE_CHECK(!truth.empty() && truth.size() == said.size());
  const auto count = static_cast<double>(truth.size());
  const double mean = std::accumulate(truth.begin(), truth.end(), 0.0) / count;
  NumberScores out;
  out.records = truth.size();
  double squares = 0.0;
  double variance = 0.0;
  for (std::size_t j = 0; j < truth.size(); ++j) {
    squares += std::pow(said[j] - truth[j], 2);
    out.mae += std::abs(said[j] - truth[j]) / count;
    variance += std::pow(truth[j] - mean, 2);
  }
  out.rmse = std::sqrt(squares / count);
  out.label_stddev = std::sqrt(variance / count);
  if (variance > 0.0) out.r_squared = 1.0 - squares / variance;
  return out;
}

std::vector<std::string> describe(const ClassScores& scores, const std::vector<std::string>& classes) {
  std::vector<std::string> out = {
      fmt::format("{} records with a label: accuracy {:.4f}, always saying the largest class {:.4f}{}", scores.records,
                  scores.accuracy, scores.largest_class, scores.auc ? fmt::format(", AUC {:.4f}", *scores.auc) : "")};
  for (std::size_t truth = 0; truth < classes.size(); ++truth) {
    std::string line = fmt::format(
        "  {} are \"{}\":", std::accumulate(scores.table[truth].begin(), scores.table[truth].end(), std::size_t{0}),
        classes[truth]);
    for (std::size_t said = 0; said < classes.size(); ++said)
      line += fmt::format("{} {} said \"{}\"", said == 0 ? "" : ",", scores.table[truth][said], classes[said]);
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> describe(const NumberScores& scores) {
  return {fmt::format("{} records with a label: RMSE {:.6g}, MAE {:.6g}, always saying the mean {:.6g}{}",
                      scores.records, scores.rmse, scores.mae, scores.label_stddev,
                      scores.r_squared ? fmt::format(", R^2 {:.4f}", *scores.r_squared) : "")};
}

}  // namespace undertone::operators
