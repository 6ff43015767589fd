#include "lab/audit/statistics_pair.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "lab/audit/likelihood_distinguisher.hpp"
#include "lab/audit/totals_distinguisher.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::lab {
namespace {

/// What the changed record is at every coordinate that some question reads, in the order in which they are first read.
class Ends {
 public:
  /// A number beyond [low, high], or a value of an indicator that counts where it is 1.
  void number(std::size_t coordinate, double low, double high) {
    constexpr double kBeyond = 8.0;  // times an end of the range
    add(coordinate, kBeyond * low, kBeyond * high);
  }
  void indicator(std::size_t coordinate) {
    // Exactly 1 counts, and as a number it is at an end of its range.
    add(coordinate, -1.0, 1.0);
    ends_[coordinate] = {-1.0, 1.0};
  }
  void read(const statistics::Cells& cells) {
    std::visit(Overloaded{[&](const statistics::IndicatorCells& own) {
                            if (own.count == 1) indicator(own.first);
                            if (own.count == 1) return;
                            add(own.first, 0.0, 1.0);
                            // The last value where the first is not: both cannot be.
                            add(own.first + own.count - 1, 0.0, 1.0);
                            opposite_[own.first + own.count - 1] = own.first;
                          },
                          [&](const statistics::SignCells& own) { indicator(own.coordinate); },
                          [&](const statistics::ClassCells& own) {
                            add(own.coordinate, 0.0, static_cast<double>(own.count - 1));
                          },
                          [&](const statistics::BinnedCells& own) { number(own.coordinate, -1.0, 1.0); },
                          // A record that is 0 has a gradient as short as they get, one at the bounds a long one.
                          [&](const statistics::GradientCells& own) {
                            const std::size_t features = own.point.size() - (own.intercept ? 1 : 0);
                            for (std::size_t j = 0; j <= features; ++j) add(j, 0.0, 1.0);  // the label, too
                          },
                          // Seen at the start, and after the last edge.
                          [&](const statistics::ExitCells& own) {
                            number(own.time, -1.0, 1.0);
                            std::visit([&](const auto& event) { read(statistics::Cells(event)); }, own.event);
                          }},
               cells);
  }
  void read(const statistics::FeatureMap& map) {
    const auto ranged = [&](std::size_t coordinate) { number(coordinate, -1.0, 1.0); };
    std::visit(Overloaded{[&](const statistics::CountMap& of) { read(of.cells); },
                          [&](const statistics::CellsMap& of) {
                            for (const statistics::Cells& axis : of.axes) read(axis);
                          },
                          [&](const statistics::GroupMomentsMap& of) {
                            read(of.cells);
                            ranged(of.coordinate);
                          },
                          [&](const statistics::VectorMomentsMap& of) {
                            for (const std::size_t coordinate : of.coordinates) ranged(coordinate);
                          },
                          [&](const statistics::TreeMap& of) { read(statistics::Cells(of.leaves)); },
                          [&](const statistics::ConjunctionsMap& of) {
                            for (const statistics::Literal& literal : of.literals) read(literal.cells);
                          },
                          [&](const statistics::CosinesMap& of) {
                            for (const std::size_t coordinate : of.coordinates) ranged(coordinate);
                          },
                          [&](const statistics::BallMap& of) {
                            for (const std::size_t coordinate : of.coordinates) ranged(coordinate);
                          },
                          [&](const statistics::LossesMap& of) {
                            for (const std::size_t coordinate : of.coordinates) ranged(coordinate);
                            ranged(of.label);
                          },
                          [&](const auto& of) { ranged(of.coordinate); }},
               map);
  }

  void write(models::Records& first, models::Records& second) const {
    std::map<std::size_t, bool> up;
    bool next = true;
    for (const std::size_t coordinate : order_) {
      const auto other = opposite_.find(coordinate);
      up[coordinate] = other == opposite_.end() ? next : !up[other->second];
      next = !next;
      const auto [low, high] = ends_.at(coordinate);
      set(first, coordinate, up[coordinate] ? high : low);
      set(second, coordinate, up[coordinate] ? low : high);
    }
  }

 private:
  void add(std::size_t coordinate, double low, double high) {
    if (ends_.emplace(coordinate, std::pair(low, high)).second) order_.push_back(coordinate);
  }
  static void set(models::Records& records, std::size_t coordinate, double value) {
    const auto row = static_cast<Eigen::Index>(coordinate);
    (row == records.features.rows() ? records.targets[0] : records.features(row, 0)) = value;
  }
  std::map<std::size_t, std::pair<double, double>> ends_;
  std::map<std::size_t, std::size_t> opposite_;  // of a coordinate that is up where another is down
  std::vector<std::size_t> order_;
};

}  // namespace

WorstPair statistics_pair(const jobs::Job& job, const planning::Plan& plan, data::Dataset records) {
  Ends ends;
  bool laplace = false;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const releases::Ask& ask = segment.release.ask;
    if (segment.release.is_public()) continue;  // nobody's secret
    laplace = laplace || std::holds_alternative<mechanisms::LaplaceLattice>(segment.release.mechanism);
    if (const auto* features = std::get_if<releases::FeaturesMap>(&ask.map)) {
      ends.read(features->features);
      continue;
    }
    const auto* statistic = std::get_if<releases::StatisticMap>(&ask.map);
    const auto* range = std::get_if<releases::RangeBound>(&ask.bound);
    UNDERTONE_CHECK(statistic != nullptr && range != nullptr);
    for (const std::size_t coordinate : statistic->coordinates) {
      if (statistic->indicators) ends.indicator(coordinate);
      if (!statistic->indicators) ends.number(coordinate, range->low, range->high);
    }
  }
  Neighbours pair;
  pair.second = records;
  pair.first = std::move(records);
  ends.write(pair.first.training, pair.second.training);
  if (laplace) return {pair, std::make_shared<LikelihoodDistinguisher>(job, plan, pair, Eigen::VectorXd())};
  return {pair, std::make_shared<TotalsDistinguisher>(plan, pair)};
}

}  // namespace undertone::lab
