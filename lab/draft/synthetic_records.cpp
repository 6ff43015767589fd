#include "lab/draft/synthetic_records.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "shared/base/random_source.hpp"

namespace undertone::lab {

/// Standard normal and logistic deviates for invented records.
class NormalDraws {
 public:
  explicit NormalDraws(std::uint64_t seed) : random_(seed) {}
  double unit() { return random_.unit(); }
  double between(double low, double high) { return low + (high - low) * unit(); }
  double normal() {
    if (!of_person_) return fresh_normal();
    if (place_ == own_.size()) own_.push_back(fresh_normal());
    return std::numbers::sqrt2 / 2.0 * (own_[place_++] + fresh_normal());
  }
  /// From here on the i-th normal deviate of each record shares half of its variance with that of the person's other
  /// records.
  void begin_person() {
    of_person_ = true;
    own_.clear();
  }
  void begin_record() { place_ = 0; }
  double gumbel() { return -std::log(-std::log(std::clamp(unit(), 1e-12, 1.0 - 1e-12))); }
  double logistic() {
    const double u = std::clamp(unit(), 1e-12, 1.0 - 1e-12);
    return std::log(u / (1.0 - u));
  }

 private:
  double fresh_normal() {  // Box and Muller 1958
    return std::sqrt(-2.0 * std::log1p(-unit())) * std::cos(2.0 * std::numbers::pi * unit());
  }

  RandomSource random_;
  bool of_person_ = false;
  std::vector<double> own_;
  std::size_t place_ = 0;
};

namespace {

constexpr int kCalibrating = 2'000;  // records from which the score's law is learnt
constexpr double kMissingShare = 0.1;

/// 0 for a number.
std::size_t label_classes(const data::Schema& schema) {
  if (const auto* several = std::get_if<data::ClassLabel>(&schema.label)) return several->classes.size();
  return std::holds_alternative<data::BinaryLabel>(schema.label) ? 2 : 0;
}

/// Of two scores, as a softmax of their parts along each class's direction draws it.
double class_of(double first, double second, std::size_t classes, NormalDraws& draws) {
  std::size_t chosen = 0;
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < classes; ++k) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(classes);
    // With Gumbel noise the largest is a draw from the softmax (Yellott 1977).
    const double noised = std::cos(angle) * first + std::sin(angle) * second + draws.gumbel();
    if (noised <= most) continue;
    most = noised;
    chosen = k;
  }
  return static_cast<double>(chosen);
}

}  // namespace

const std::vector<SyntheticFamily>& synthetic_families() {
  static const std::vector<SyntheticFamily> families = {
      {"broad columns, strong signal", 0.3, 0.5, -0.3, 0.3, false, 0.4, 0.6, 1.0, 4.0, 0.5},
      {"broad columns, weak signal", 0.2, 0.4, -0.4, 0.4, false, 0.3, 0.6, 0.6, 1.5, 0.35},
      {"narrow columns, strong signal, much correlation", 0.06, 0.2, -0.8, -0.1, false, 0.6, 0.8, 1.0, 6.0, 0.4},
      {"narrow columns, middling signal", 0.06, 0.25, -0.8, 0.2, false, 0.4, 0.6, 0.6, 2.5, 0.4},
      {"columns with long tails, middling signal", 0.05, 0.25, -0.95, -0.6, true, 0.4, 0.6, 0.5, 2.5, 0.25},
      {"few columns that tell, middling signal", 0.1, 0.3, -0.6, 0.4, false, 0.3, 0.2, 0.2, 2.5, 0.45}};
  return families;
}

SyntheticWorld::SyntheticWorld(const data::Schema& schema, const SyntheticFamily& family, std::uint64_t seed)
    : family_(family), classes_(label_classes(schema)), seed_(seed) {
  NormalDraws draws(seed);
  const auto effect = [&] { return draws.unit() < family.telling ? draws.normal() : 0.0; };
  for (const data::FeatureColumn& column : schema.features) {
    const auto width = static_cast<Eigen::Index>(data::encoded_width(column));
    if (std::holds_alternative<data::CategoricalColumn>(column)) {
      Categorical made;
      made.at = width_;
      double total = 0.0;
      for (Eigen::Index i = 0; i < width; ++i) made.shares.push_back(total += std::exp(1.5 * draws.normal()));
      for (double& share : made.shares) share /= total;
      const bool tells = draws.unit() < family.telling;
      for (Eigen::Index i = 0; i < width; ++i) made.effects.push_back(tells ? draws.normal() : 0.0);
      std::sort(made.effects.begin(), made.effects.end());
      made.sign = draws.unit() < 0.5 ? -1.0 : 1.0;
      categorical_.push_back(std::move(made));
    } else {
      Numeric made;
      made.at = width_;
      made.spread = family.spread_least * std::pow(family.spread_most / family.spread_least, draws.unit());
      made.centre = draws.between(family.centre_least, family.centre_most);
      // What may be above and below zero has bounds around its values, not a floor beneath them.
      const auto& numeric = std::get<data::NumericColumn>(column);
      made.symmetric = numeric.min < 0.0 && numeric.max > 0.0;
      if (made.symmetric) made.centre -= 0.5 * (family.centre_least + family.centre_most);
      if (numeric.max <= 0.0) made.flipped = true;
      // Nearer to the first cause: what columns have in common is most of what a label knows of them.
      const double angle = draws.between(-std::numbers::pi / 3.0, std::numbers::pi / 3.0);
      const double sign = draws.unit() < 0.5 ? -1.0 : 1.0;
      made.causes[0] = sign * std::cos(angle);
      made.causes[1] = sign * std::sin(angle);
      made.effect = effect();
      made.indicator = width == 2;
      numeric_.push_back(made);
    }
    width_ += width;
  }
  if (!numeric_.empty() &&
      std::all_of(numeric_.begin(), numeric_.end(), [](const Numeric& n) { return n.effect == 0; }))
    numeric_.front().effect = 1.0;  // something tells
  label_centre_ = draws.between(family.centre_least, family.centre_most);
  label_spread_ = draws.between(family.spread_least, family.spread_most);
  // The score's law, for signals and shares of known size.
  Eigen::VectorXd features(width_);
  std::vector<double> scores;
  const auto law_of = [&scores](double& mean, double& stddev) {
    mean = 0.0;
    double squares = 0.0;
    for (const double score : scores) mean += score / kCalibrating;
    for (const double score : scores) squares += (score - mean) * (score - mean) / kCalibrating;
    stddev = std::max(std::sqrt(squares), 1e-9);
  };
  for (int i = 0; i < kCalibrating; ++i) scores.push_back(draw_features(features, draws).own);
  law_of(own_mean_, own_stddev_);
  scores.clear();
  for (int i = 0; i < kCalibrating; ++i) scores.push_back(score_of(draw_features(features, draws)));
  law_of(score_mean_, score_stddev_);
  for (double& score : scores) score = family.signal * (score - score_mean_) / score_stddev_ + draws.logistic();
  std::sort(scores.begin(), scores.end());
  threshold_ = scores[static_cast<std::size_t>((1.0 - family.positive_share) * (kCalibrating - 1))];
}

double SyntheticWorld::score_of(const Score& score) const {
  return std::sqrt(family_.by_causes) * score.cause +
         std::sqrt(1.0 - family_.by_causes) * (score.own - own_mean_) / own_stddev_;
}

SyntheticWorld::Score SyntheticWorld::draw_features(Eigen::Ref<Eigen::VectorXd> out, NormalDraws& draws) const {
  out.setZero();
  const double causes[2] = {draws.normal(), draws.normal()};
  double score = 0.0;
  for (const Numeric& column : numeric_) {
    const double common = column.causes[0] * causes[0] + column.causes[1] * causes[1];
    const double z = std::sqrt(family_.correlation) * common + std::sqrt(1.0 - family_.correlation) * draws.normal();
    // A log-normal with this centre above the lower bound, or a normal.
    const double value = family_.skewed && !column.symmetric ? -1.0 + (column.centre + 1.0) * std::exp(0.8 * z)
                                                             : column.centre + column.spread * z;
    out[column.at] = std::clamp(column.flipped ? -value : value, -1.0, 1.0);
    if (column.indicator && draws.unit() < kMissingShare) {
      out[column.at] = column.centre;
      out[column.at + 1] = 1.0;
    }
    score += column.effect * z;
  }
  for (const Categorical& column : categorical_) {
    const double pull = column.sign * std::sqrt(family_.correlation) * causes[0] +
                        std::sqrt(1.0 - family_.correlation) * draws.normal();
    const double place = 0.5 * std::erfc(-pull / std::numbers::sqrt2);  // uniform on (0, 1)
    const auto found = std::lower_bound(column.shares.begin(), column.shares.end(), place);
    const auto chosen =
        std::min<std::ptrdiff_t>(found - column.shares.begin(), static_cast<std::ptrdiff_t>(column.shares.size()) - 1);
    out[column.at + chosen] = 1.0;
    score += column.effects[static_cast<std::size_t>(chosen)];
  }
  return {causes[0], causes[1], score};
}

models::Records SyntheticWorld::draw(Eigen::Index count, std::uint64_t stream) const {
  NormalDraws draws(RandomSource(seed_ ^ RandomSource(~stream).word()).word());
  models::Records out{Eigen::MatrixXd(width_, count), Eigen::VectorXd(count)};
  for (Eigen::Index j = 0; j < count; ++j)
    out.targets[j] = draw_label(draw_features(out.features.col(j), draws), draws);
  return out;
}

models::Records SyntheticWorld::draw_persons(Eigen::Index persons, std::uint64_t stream) const {
  constexpr double kMedian = 3.0;
  constexpr double kSpread = 0.8;
  constexpr double kMost = 64.0;
  NormalDraws draws(RandomSource(seed_ ^ RandomSource(~stream).word()).word());
  models::Records out;
  out.starts = {0};
  for (Eigen::Index i = 0; i < persons; ++i)
    out.starts.push_back(
        out.starts.back() +
        static_cast<std::int64_t>(std::clamp(std::round(kMedian * std::exp(kSpread * draws.normal())), 1.0, kMost)));
  out.features = Eigen::MatrixXd(width_, out.starts.back());
  out.targets = Eigen::VectorXd(out.starts.back());
  for (std::size_t i = 0; i < static_cast<std::size_t>(persons); ++i) {
    draws.begin_person();
    for (std::int64_t row = out.starts[i]; row < out.starts[i + 1]; ++row) {
      draws.begin_record();
      out.targets[row] = draw_label(draw_features(out.features.col(row), draws), draws);
    }
  }
  return out;
}

double SyntheticWorld::draw_label(const Score& parts, NormalDraws& draws) const {
  const double score = (score_of(parts) - score_mean_) / score_stddev_;
  if (classes_ > 2) return class_of(family_.signal * score, family_.signal * parts.other_cause, classes_, draws);
  if (classes_ == 2) return family_.signal * score + draws.logistic() > threshold_ ? 1.0 : -1.0;
  const double explained = family_.signal * family_.signal / (family_.signal * family_.signal + 3.0);
  const double y = std::sqrt(explained) * score + std::sqrt(1.0 - explained) * draws.normal();
  return std::clamp(label_centre_ + label_spread_ * y, -1.0, 1.0);
}

}  // namespace undertone::lab
