#include "silo/oracles/record_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "shared/geometry/duality_map.hpp"
#include "shared/mechanisms/clipped_sum.hpp"
#include "shared/models/layered_model.hpp"
#include "shared/releases/fixed_amount.hpp"

namespace undertone::silo {
namespace {

/// Metrics are bounded numbers of single records: quantised one by one for every model.
template <class AnyModel>
void add_metrics(AnyModel& model, const Eigen::VectorXd& point, const mechanisms::Lattice& lattice,
                 const RecordSums::Drawn& drawn, std::span<std::int64_t> sum) {
  Eigen::VectorXd contribution(static_cast<Eigen::Index>(sum.size()));
  std::fill(sum.begin(), sum.end(), 0);
  for (const std::int64_t j : drawn.positions) {
    model.centred_metrics(point, drawn.block, j, contribution);
    mechanisms::add_clipped(contribution, lattice, sum);
  }
}

constexpr std::size_t kTogether = 16;   // records: the next ones are on their way from memory meanwhile
constexpr Eigen::Index kCacheLine = 8;  // doubles

/// Asks the memory for a record: drawn records have gaps in between that no processor foresees.
void fetch(const models::Records& block, std::int64_t j) {
  const double* record = block.features.col(j).data();
  for (Eigen::Index k = 0; k < block.features.rows(); k += kCacheLine) __builtin_prefetch(record + k);
}

/// Two lattices of one step whose clips' squares add up to the lattice's at most, so that two parts of a vector that
/// are clipped one to each are together within its clip.
struct DividedLattice {
  mechanisms::Lattice first;
  mechanisms::Lattice second;
};
DividedLattice divided(const mechanisms::Lattice& lattice, double share) {
  using Wide = releases::UInt128;
  const auto part_of = [](double squared) { return static_cast<std::int64_t>(std::floor(std::sqrt(squared))); };
  const auto clip = static_cast<double>(lattice.clip);
  DividedLattice out{lattice, lattice};
  out.first.clip = part_of(share * clip * clip);
  out.second.clip = part_of((1.0 - share) * clip * clip);
  const auto squares = [&] {
    const auto square = [](std::int64_t x) { return static_cast<Wide>(x) * static_cast<Wide>(x); };
    return square(out.first.clip) + square(out.second.clip);
  };
  // The root of a number beyond 2^53 may be rounded up.
  while (squares() > static_cast<Wide>(lattice.clip) * static_cast<Wide>(lattice.clip)) --out.second.clip;
  UNDERTONE_CHECK(out.first.clip > 0 && out.second.clip > 0);
  return out;
}

/// Adds up vectors of two classes' probabilities, each the same straight line from where the second one is 0 to where
/// it is 1 for all records of one place, clipped as `add_clipped` does. A line is found where it is first needed.
class ClippedLines {
 public:
  /// @param ends of a place: the vector at either end, in real units
  using Ends = std::function<void(std::size_t place, const Eigen::Vector2d& probabilities, Eigen::VectorXd& out)>;
  ClippedLines(const mechanisms::Lattice& lattice, std::size_t places, Eigen::Index numbers, Ends ends)
      : lattice_(lattice),
        // Of so many squares in double precision: what is computed to be no more is no more.
        square_max_(static_cast<double>(lattice.clip) * static_cast<double>(lattice.clip) * (1.0 - 0x1p-30)),
        ends_(std::move(ends)),
        // Of many groups each line is found again for each record: all of them would be too many numbers.
        lines_(static_cast<double>(places) * static_cast<double>(numbers) <= kKeptMax ? places : 1),
        units_(numbers),
        vector_(numbers) {}

  void add(std::size_t place, double likely, std::span<std::int64_t> sum) {
    Line& line = lines_.size() == 1 ? lines_.front() : lines_[place];
    if (line.start.size() == 0 || lines_.size() == 1) set(place, line);
    double squares = 0.0;
    for (Eigen::Index j = 0; j < units_.size(); ++j) {
      units_[j] = line.start[j] + likely * line.slope[j];
      squares += units_[j] * units_[j];
    }
    // What is cut to integers towards 0 is no longer than that.
    if (squares <= square_max_) {
      for (std::size_t j = 0; j < sum.size(); ++j)
        sum[j] += static_cast<std::int64_t>(units_[static_cast<Eigen::Index>(j)]);
      return;
    }
    // Too long, too near the bound to tell, or no number at all.
    vector_ = (line.start + likely * line.slope) * lattice_.step;
    mechanisms::add_clipped(vector_, lattice_, sum);
  }

 private:
  static constexpr double kKeptMax = 0x1p20;  // numbers of all lines
  struct Line {
    Eigen::VectorXd start;  // [numbers], lattice units
    Eigen::VectorXd slope;
  };
  void set(std::size_t place, Line& line) {
    ends_(place, {1.0, 0.0}, vector_);
    line.start = vector_ / lattice_.step;
    ends_(place, {0.0, 1.0}, vector_);
    line.slope = vector_ / lattice_.step - line.start;
  }
  mechanisms::Lattice lattice_;
  double square_max_;
  Ends ends_;
  std::vector<Line> lines_;
  Eigen::VectorXd units_;
  Eigen::VectorXd vector_;
};

/// Every record's vector is quantised for itself: the sum is exact, and nothing has to be proved about rounding.
class LinearSums final : public RecordSums {
 public:
  explicit LinearSums(const models::LinearModel& model) : model_(model) {}

  [[nodiscard]] bool adds_integers() const noexcept override { return true; }
  [[nodiscard]] bool hides_counts() const noexcept override { return true; }

  void gradients(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
                 std::span<std::int64_t> sum) override {
    add_up(lattice, drawn, sum, [&](std::span<const std::int64_t> positions, Numbers& factors, Numbers& norms_squared) {
      derivatives(point, drawn, positions, factors, norms_squared);
    });
  }

  void clamped_gradients(const Eigen::VectorXd& point, const mechanisms::ClampLattice& lattice, const Drawn& drawn,
                         std::span<std::int64_t> sum) override {
    mechanisms::ClampedSum clamped(lattice, model_.dimension());
    Numbers factors{};
    Numbers norms_squared{};
    for (std::span<const std::int64_t> left = drawn.positions; !left.empty();) {
      const std::span<const std::int64_t> now = left.first(std::min(kTogether, left.size()));
      left = left.subspan(now.size());
      derivatives(point, drawn, now, factors, norms_squared);
      clamped.add_linear(std::span(factors).first(now.size()), drawn.block.features, now);
    }
    clamped.take(sum);
  }

  void differences(const PointPair& points, const mechanisms::Lattice& lattice, const Drawn& drawn,
                   std::span<std::int64_t> sum) override {
    // A linear model's gradient is a (x, 1) at either point, so the difference is too.
    Numbers there{};
    add_up(lattice, drawn, sum, [&](std::span<const std::int64_t> positions, Numbers& factors, Numbers& norms_squared) {
      derivatives(points.subtrahend, drawn, positions, there, norms_squared);
      derivatives(points.minuend, drawn, positions, factors, norms_squared);
      for (std::size_t i = 0; i < positions.size(); ++i) factors[i] -= there[i];
    });
  }

  void dual_gradients(const Eigen::VectorXd& point, const DualClip& dual, const mechanisms::Lattice& lattice,
                      const Drawn& drawn, std::span<std::int64_t> sum) override {
    add_up(lattice, drawn, sum, [&](std::span<const std::int64_t> positions, Numbers& factors, Numbers& norms_squared) {
      derivatives(point, drawn, positions, factors, norms_squared);
      clip_factors(dual, drawn, positions, factors);
    });
  }

  void dual_differences(const PointPair& points, const DualClip& dual, const mechanisms::Lattice& lattice,
                        const Drawn& drawn, std::span<std::int64_t> sum) override {
    Numbers there{};
    add_up(lattice, drawn, sum, [&](std::span<const std::int64_t> positions, Numbers& factors, Numbers& norms_squared) {
      derivatives(points.subtrahend, drawn, positions, there, norms_squared);
      derivatives(points.minuend, drawn, positions, factors, norms_squared);
      for (std::size_t i = 0; i < positions.size(); ++i) factors[i] -= there[i];
      clip_factors(dual, drawn, positions, factors);
    });
  }

  void add_clamped_terms(const PathTerm& term, const mechanisms::ClampUnits& units, const Drawn& drawn,
                         std::span<std::int64_t> sum) override {
    mechanisms::ClampedSum clamped(units, model_.dimension());
    Numbers factors{};
    Numbers there{};
    Numbers norms_squared{};
    for (std::span<const std::int64_t> left = drawn.positions; !left.empty();) {
      const std::span<const std::int64_t> now = left.first(std::min(kTogether, left.size()));
      left = left.subspan(now.size());
      derivatives(term.point, drawn, now, factors, norms_squared);
      if (term.carried != 0.0) {
        derivatives(term.from, drawn, now, there, norms_squared);
        for (std::size_t i = 0; i < now.size(); ++i) factors[i] -= term.carried * there[i];
      }
      clamped.add_linear(std::span(factors).first(now.size()), drawn.block.features, now);
    }
    clamped.take_onto(sum);
  }

  void scores(const Eigen::Ref<const Eigen::VectorXd>& point, const Eigen::MatrixXd& directions,
              const mechanisms::Lattice& lattice, const Drawn& drawn, std::span<std::int64_t> sum) override {
    UNDERTONE_CHECK(directions.rows() == model_.dimension() &&
                    static_cast<std::size_t>(directions.cols()) == sum.size());
    const Eigen::Index features = drawn.block.features.rows();
    Numbers factors{};
    Numbers norms_squared{};
    Eigen::VectorXd record(directions.cols());
    std::fill(sum.begin(), sum.end(), 0);
    for (std::span<const std::int64_t> left = drawn.positions; !left.empty();) {
      const std::span<const std::int64_t> now = left.first(std::min(kTogether, left.size()));
      left = left.subspan(now.size());
      derivatives(point, drawn, now, factors, norms_squared);
      for (std::size_t i = 0; i < now.size(); ++i) {
        record.noalias() = directions.topRows(features).transpose() * drawn.block.features.col(now[i]);
        if (model_.intercept()) record += directions.row(features).transpose();
        record *= factors[i];
        mechanisms::add_clipped(record, lattice, sum);
      }
    }
  }

  void each_gradient(const Eigen::VectorXd& point, const Drawn& drawn,
                     const std::function<void(const Eigen::VectorXd&)>& use) override {
    UNDERTONE_CHECK(!drawn.counted && drawn.persons == nullptr);
    const Eigen::Index features = drawn.block.features.rows();
    Numbers factors{};
    Numbers norms_squared{};
    Eigen::VectorXd gradient = Eigen::VectorXd::Ones(model_.dimension());
    for (std::span<const std::int64_t> left = drawn.positions; !left.empty();) {
      const std::span<const std::int64_t> now = left.first(std::min(kTogether, left.size()));
      left = left.subspan(now.size());
      derivatives(point, drawn, now, factors, norms_squared);
      for (std::size_t i = 0; i < now.size(); ++i) {
        gradient.head(features) = factors[i] * drawn.block.features.col(now[i]);
        if (model_.intercept()) gradient[features] = factors[i];
        use(gradient);
      }
    }
  }

  void influenced_gradients(const Eigen::VectorXd& point, const releases::InfluenceBound& influence,
                            const mechanisms::Lattice& lattice, const Drawn& drawn,
                            std::span<std::int64_t> sum) override {
    std::fill(sum.begin(), sum.end(), 0);
    Eigen::VectorXd cut(model_.dimension());
    each_gradient(point, drawn, [&](const Eigen::VectorXd& gradient) {
      put_influences(gradient, influence, cut);
      mechanisms::add_clipped(cut, lattice, sum);
    });
  }

  [[nodiscard]] const models::LinearModel* linear() const noexcept override { return &model_; }

  void fair_gradients(const Eigen::VectorXd& point, const fairness::FairTerms& terms,
                      const mechanisms::Lattice& lattice, const Drawn& drawn, std::span<std::int64_t> sum) override {
    const fairness::Grouping& grouping = terms.grouping;
    UNDERTONE_CHECK(model_.loss() == models::Loss::Logistic && grouping.classes == 2 && !drawn.counted &&
                    drawn.persons == nullptr);
    const Eigen::Index d = model_.dimension();
    const fairness::FairBlocks blocks(terms, point.tail(point.size() - d));
    const auto [of_model, of_adversary] = divided(lattice, terms.model_share);
    const std::span<std::int64_t> first = sum.first(static_cast<std::size_t>(d));
    const std::span<std::int64_t> rest = sum.subspan(first.size());
    UNDERTONE_CHECK(static_cast<Eigen::Index>(rest.size()) == grouping.weights());
    std::fill(rest.begin(), rest.end(), 0);
    // Where the attribute alone is protected, what does not depend on it becomes integers by itself: two records that
    // differ in their groups have the very same ones.
    const bool alone = terms.attribute_alone;
    const double units = 1.0 / lattice.step;
    const mechanisms::Lattice of_model_base{static_cast<std::int64_t>(terms.clip / blocks.model_scale() * units),
                                            lattice.step};
    const mechanisms::Lattice of_adversary_base{static_cast<std::int64_t>(terms.adversary_base_reach() * units),
                                                lattice.step};
    std::optional<mechanisms::ClippedSum> model_rest;
    if (alone) model_rest.emplace(of_model, d);
    Numbers by_group{};
    // Both parts are in the ask's unit, in which the whole bound is 1.
    const double per_model = 1.0 / blocks.model_scale();
    const double per_adversary = std::sqrt(1.0 - terms.model_share);
    const Eigen::VectorXd at = point.head(d);
    // A place is a bucket and a group; the last one is of records that do not count.
    const auto cells = static_cast<std::size_t>(grouping.cells());
    ClippedLines adversary(of_adversary, cells + 1, grouping.weights(),
                           [&](std::size_t place, const Eigen::Vector2d& probabilities, Eigen::VectorXd& out) {
                             const auto cell = static_cast<Eigen::Index>(place);
                             const bool counts = place < cells;
                             blocks.adversary_part(counts ? std::optional(cell / grouping.groups) : std::nullopt,
                                                   counts ? cell % grouping.groups : 0, probabilities, out);
                             out *= per_adversary;
                           });
    const auto buckets = static_cast<std::size_t>(grouping.buckets());
    std::optional<ClippedLines> bases;
    if (alone)
      bases.emplace(of_adversary_base, buckets + 1, grouping.weights(),
                    [&](std::size_t place, const Eigen::Vector2d& probabilities, Eigen::VectorXd& out) {
                      const auto bucket = static_cast<Eigen::Index>(place);
                      blocks.adversary_base(place < buckets ? std::optional(bucket) : std::nullopt, probabilities, out);
                      out *= per_adversary;
                    });
    // By how much the second class's score is pulled more than the first one's, of each place and of each bucket's
    // base.
    std::vector<double> pulls(cells + 1, 0.0);
    std::vector<double> base_pulls(buckets + 1, 0.0);
    for (std::size_t place = 0; place < cells; ++place) {
      const auto cell = static_cast<Eigen::Index>(place);
      const auto c = blocks.coefficients(cell / grouping.groups).col(cell % grouping.groups);
      pulls[place] = c[1] - c[0];
    }
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      const Eigen::VectorXd& c = blocks.base_coefficients(static_cast<Eigen::Index>(bucket));
      base_pulls[bucket] = c[1] - c[0];
    }
    // A label that does not count is of the bucket after the last one.
    const auto none = static_cast<Eigen::Index>(buckets);
    const auto of_negative = static_cast<std::size_t>(grouping.bucket_of(0).value_or(none));
    const auto of_positive = static_cast<std::size_t>(grouping.bucket_of(1).value_or(none));
    add_up(alone ? of_model_base : of_model, drawn, first,
           [&](std::span<const std::int64_t> positions, Numbers& factors, Numbers& norms_squared) {
             derivatives(at, drawn, positions, factors, norms_squared);
             for (std::size_t i = 0; i < positions.size(); ++i) {
               // The loss's factor is p - 1 of a positive record and p of another.
               const bool positive = drawn.block.targets[positions[i]] > 0.0;
               const double likely = positive ? 1.0 + factors[i] : factors[i];
               const double unlikely = positive ? -factors[i] : 1.0 - factors[i];
               const std::int32_t group = drawn.block.group_of(positions[i]);
               const bool known = group >= 0 && group < grouping.groups;
               const std::size_t of_label = positive ? of_positive : of_negative;
               const std::size_t place =
                   known && of_label < buckets
                       ? of_label * static_cast<std::size_t>(grouping.groups) + static_cast<std::size_t>(group)
                       : cells;
               const double moved = likely * unlikely;
               by_group[i] = moved * pulls[place];
               if (alone) {
                 factors[i] += moved * base_pulls[of_label];
                 bases->add(of_label, likely, rest);
               } else {
                 factors[i] += by_group[i];
               }
               factors[i] *= per_model;
               by_group[i] *= per_model;
               adversary.add(place, likely, rest);
             }
             if (alone)
               model_rest->add(std::span<const double>(by_group).first(positions.size()),
                               std::span<const double>(norms_squared).first(positions.size()), drawn.block.features,
                               positions);
           });
    if (!alone) return;
    std::vector<std::int64_t> more(first.size());
    model_rest->take(more);
    for (std::size_t j = 0; j < first.size(); ++j) first[j] += more[j];
  }

  void group_shares(const fairness::Grouping& grouping, const mechanisms::Lattice& lattice, const Drawn& drawn,
                    std::span<std::int64_t> sum) override {
    UNDERTONE_CHECK(grouping.classes == 2 && !drawn.counted && drawn.persons == nullptr &&
                    static_cast<Eigen::Index>(sum.size()) == grouping.cells());
    Eigen::VectorXd cells(grouping.cells());
    std::fill(sum.begin(), sum.end(), 0);
    for (const std::int64_t j : drawn.positions) {
      cells.setConstant(-1.0 / static_cast<double>(grouping.cells()));
      const std::int32_t group = drawn.block.group_of(j);
      const std::optional<Eigen::Index> bucket = grouping.bucket_of(drawn.block.targets[j] > 0.0 ? 1 : 0);
      if (bucket && group >= 0 && group < grouping.groups) cells[*bucket * grouping.groups + group] += 1.0;
      mechanisms::add_clipped(cells, lattice, sum);
    }
  }

  void score_moments(const Eigen::VectorXd& point, const statistics::ScoreTerms& terms,
                     const mechanisms::Lattice& lattice, const Drawn& drawn, std::span<std::int64_t> sum) override {
    const bool log_link = terms.link == statistics::ScoreLink::Log;
    UNDERTONE_CHECK(model_.loss() == (log_link ? models::Loss::Poisson : models::Loss::Logistic) &&
                    model_.intercept() && !drawn.counted && drawn.persons == nullptr);
    const Eigen::Index p = terms.covariates();
    UNDERTONE_CHECK(static_cast<Eigen::Index>(sum.size()) == statistics::score_numbers(p));
    const auto units = static_cast<double>(lattice.clip);
    Numbers factors{};
    Numbers norms_squared{};
    Eigen::VectorXd covariates(p);
    Eigen::VectorXd numbers(statistics::score_numbers(p));
    std::fill(sum.begin(), sum.end(), 0);
    for (std::span<const std::int64_t> left = drawn.positions; !left.empty();) {
      const std::span<const std::int64_t> now = left.first(std::min(kTogether, left.size()));
      left = left.subspan(now.size());
      derivatives(point, drawn, now, factors, norms_squared);
      for (std::size_t i = 0; i < now.size(); ++i) {
        const auto record = drawn.block.features.col(now[i]);
        for (Eigen::Index j = 0; j + 1 < p; ++j) {
          const statistics::Covariate& of = terms.of[static_cast<std::size_t>(j)];
          const double own = record[static_cast<Eigen::Index>(of.coordinate)];
          covariates[j] = (of.two_valued ? 2.0 * own - 1.0 : own) / terms.record_norm;
        }
        covariates[p - 1] = 1.0 / terms.record_norm;
        if (log_link) {
          const double exposure =
              terms.exposure ? terms.exposure->of(record[static_cast<Eigen::Index>(terms.exposure->coordinate)]) : 1.0;
          const double predictor = record.dot(point.head(record.size())) + point[record.size()];
          statistics::log_score_moments(0.5 * (drawn.block.targets[now[i]] + 1.0), exposure * std::exp(predictor),
                                        covariates, numbers);
        } else {  // the loss's factor is p - y
          statistics::score_moments(-factors[i], covariates, numbers);
        }
        for (std::size_t j = 0; j < sum.size(); ++j)
          sum[j] += static_cast<std::int64_t>(std::nearbyint(numbers[static_cast<Eigen::Index>(j)] * units));
      }
    }
  }

  void metrics(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
               std::span<std::int64_t> sum) override {
    add_metrics(model_, point, lattice, drawn, sum);
  }

 private:
  using Numbers = std::array<double, kTogether>;

  void derivatives(const Eigen::Ref<const Eigen::VectorXd>& point, const Drawn& drawn,
                   std::span<const std::int64_t> positions, Numbers& factors, Numbers& norms_squared) const {
    model_.derivatives(point, drawn.block, positions, std::span(factors).first(positions.size()),
                       std::span(norms_squared).first(positions.size()));
  }

  /// Of records a (x, 1) that are longer than the bound in l_q, a smaller a: |a| ||(x, 1)||_q is then the bound. The
  /// norm, which takes longest, is computed of every record, also of those that are short in l2: its time tells no
  /// count.
  void clip_factors(const DualClip& dual, const Drawn& drawn, std::span<const std::int64_t> positions,
                    Numbers& factors) const {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto x = drawn.block.features.col(positions[i]);
      double norm = geometry::lp_norm(x, dual.exponent);
      if (model_.intercept()) norm = geometry::lp_norm(Eigen::Vector2d(norm, 1.0), dual.exponent);
      factors[i] = dual.clipped(factors[i], norm);
    }
  }

  /// @param compute of at most kTogether records: their factors and squared norms
  template <class Compute>
  void add_up(const mechanisms::Lattice& lattice, const Drawn& drawn, std::span<std::int64_t> sum,
              const Compute& compute) {
    if (sum_) {
      sum_->restart(lattice);
    } else {
      sum_.emplace(lattice, model_.dimension());
    }
    // A few at a time, so that no record waits for the one before it.
    Numbers factors{};
    Numbers norms_squared{};
    std::size_t counted = drawn.counted.value_or(0);
    for (std::span<const std::int64_t> left = drawn.positions; !left.empty();) {
      const std::span<const std::int64_t> now = left.first(std::min(kTogether, left.size()));
      left = left.subspan(now.size());
      for (const std::int64_t j : left.first(std::min(kTogether, left.size()))) fetch(drawn.block, j);
      compute(now, factors, norms_squared);
      const std::span<const double> scales = std::span(factors).first(now.size());
      const std::span<const double> squares = std::span(norms_squared).first(now.size());
      if (!drawn.counted) {
        sum_->add(scales, squares, drawn.block.features, now);
        continue;
      }
      sum_->add_first(std::min(counted, now.size()), scales, squares, drawn.block.features, now);
      counted -= std::min(counted, now.size());
    }
    sum_->take(sum);
  }
  models::LinearModel model_;
  std::optional<mechanisms::ClippedSum> sum_;
};

/// As of linear models, record by record.
class MomentSums final : public RecordSums {
 public:
  explicit MomentSums(const models::MomentsModel& model) : model_(model), gradient_(model.dimension()) {}

  [[nodiscard]] bool adds_integers() const noexcept override { return true; }

  void gradients(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
                 std::span<std::int64_t> sum) override {
    std::fill(sum.begin(), sum.end(), 0);
    for (const std::int64_t j : drawn.positions) {
      model_.gradient(point, drawn.block, j, gradient_);
      mechanisms::add_clipped(gradient_, lattice, sum);
    }
  }

  void clamped_gradients(const Eigen::VectorXd& point, const mechanisms::ClampLattice& lattice, const Drawn& drawn,
                         std::span<std::int64_t> sum) override {
    mechanisms::ClampedSum clamped(lattice, model_.dimension());
    for (const std::int64_t j : drawn.positions) {
      model_.gradient(point, drawn.block, j, gradient_);
      clamped.add(gradient_);
    }
    clamped.take(sum);
  }

  void differences(const PointPair& /*points*/, const mechanisms::Lattice& /*lattice*/, const Drawn& /*drawn*/,
                   std::span<std::int64_t> /*sum*/) override {
    UNDERTONE_CHECK(false);  // a job of moments has one round, of gradients
  }

  void metrics(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
               std::span<std::int64_t> sum) override {
    add_metrics(model_, point, lattice, drawn, sum);
  }

 private:
  models::MomentsModel model_;
  Eigen::VectorXd gradient_;
};

/// The clipped sum is computed in doubles, then rounded to the lattice; a proven bound on all rounding is taken off the
/// clip norm.
class LayeredSums final : public RecordSums {
 public:
  explicit LayeredSums(const models::Network& network) : model_(network), sum_(network.dimension()) {}

  [[nodiscard]] bool adds_integers() const noexcept override { return false; }

  void gradients(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
                 std::span<std::int64_t> sum) override {
    model_.clipped_gradient_sum(point, drawn.block, drawn.positions, clip(lattice, drawn), sum_);
    round_to_lattice(sum_, lattice, sum);
  }

  void clamped_gradients(const Eigen::VectorXd& /*point*/, const mechanisms::ClampLattice& /*lattice*/,
                         const Drawn& /*drawn*/, std::span<std::int64_t> /*sum*/) override {
    UNDERTONE_CHECK(false);  // a job that selects by a network's gradients is refused where it is offered
  }

  void differences(const PointPair& points, const mechanisms::Lattice& lattice, const Drawn& drawn,
                   std::span<std::int64_t> sum) override {
    model_.clipped_difference_sum(points.minuend, points.subtrahend, drawn.block, drawn.positions, clip(lattice, drawn),
                                  sum_);
    round_to_lattice(sum_, lattice, sum);
  }

  void metrics(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
               std::span<std::int64_t> sum) override {
    add_metrics(model_, point, lattice, drawn, sum);
  }

 private:
  [[nodiscard]] double clip(const mechanisms::Lattice& lattice, const Drawn& drawn) const {
    const auto records = static_cast<std::int64_t>(drawn.positions.size());
    return clip_before_rounding(lattice, model_.dimension(), drawn.positions.size(),
                                model_.rounding_bound(1.0, records));
  }

  models::LayeredModel model_;
  Eigen::VectorXd sum_;
};

}  // namespace

void round_to_lattice(const Eigen::VectorXd& numbers, const mechanisms::Lattice& lattice, std::span<std::int64_t> out) {
  UNDERTONE_CHECK(out.size() == static_cast<std::size_t>(numbers.size()));
  for (std::size_t j = 0; j < out.size(); ++j)
    out[j] = std::llrint(numbers[static_cast<Eigen::Index>(j)] / lattice.step);
}

double clip_before_rounding(const mechanisms::Lattice& lattice, Eigen::Index dimension, std::size_t records,
                            double rounding_share) {
  // Replacing a record moves the computed sum by at most 2 clip (1 + share) in l2 (LayeredModel). A sum is no longer
  // than n clip (1 + share), so that dividing it by the step is off by at most 2^-53 n clip (1 + share) / step, and
  // rounding to integers by 1/2 a coordinate, sqrt(d)/2 in all. Twice these, for two sums, stay within 2 Lambda if
  //   clip (1 + share) (1 + 2^-53 n) / step + sqrt(d)/2 <= Lambda.
  // A record that was drawn j times moves the first term j-fold at most, and the others not at all.
  // This is of the integers themselves, so it holds for whatever is derived from their l2 norm, such as 2 Lambda
  // sqrt(d) in l1 for Laplace noise.
  const double units = static_cast<double>(lattice.clip) - 0.5 * std::sqrt(static_cast<double>(dimension)) - 1e-6;
  UNDERTONE_CHECK(units > 0.0);  // the plan's lattices have Lambda >= sqrt(d)
  const double loss = (1.0 + rounding_share) * (1.0 + 0x1p-52 * static_cast<double>(records));
  return units * lattice.step / loss * (1.0 - 0x1p-40);
}

void put_influences(const Eigen::Ref<const Eigen::VectorXd>& vector, const releases::InfluenceBound& bound,
                    Eigen::VectorXd& out) {
  if (!vector.allFinite()) {
    out.setZero();
    return;
  }
  for (Eigen::Index j = 0; j < vector.size(); ++j)
    out[j] = releases::influence_of(bound.influence(), vector[j], bound.threshold());
}

double RecordSums::DualClip::clipped(double a, double length) const {
  if (std::isnan(a) || std::abs(a) * length <= norm) return a;  // the first adds nothing
  const double cut = norm / length;
  return std::isnormal(cut) ? std::copysign(cut, a) : 0.0;
}

void RecordSums::fair_gradients(const Eigen::VectorXd& /*point*/, const fairness::FairTerms& /*terms*/,
                                const mechanisms::Lattice& /*lattice*/, const Drawn& /*drawn*/,
                                std::span<std::int64_t> /*sum*/) {
  UNDERTONE_CHECK(false);
}

void RecordSums::group_shares(const fairness::Grouping& /*grouping*/, const mechanisms::Lattice& /*lattice*/,
                              const Drawn& /*drawn*/, std::span<std::int64_t> /*sum*/) {
  UNDERTONE_CHECK(false);
}

void RecordSums::score_moments(const Eigen::VectorXd& /*point*/, const statistics::ScoreTerms& /*terms*/,
                               const mechanisms::Lattice& /*lattice*/, const Drawn& /*drawn*/,
                               std::span<std::int64_t> /*sum*/) {
  UNDERTONE_CHECK(false);
}

void RecordSums::each_gradient(const Eigen::VectorXd& /*point*/, const Drawn& /*drawn*/,
                               const std::function<void(const Eigen::VectorXd&)>& /*use*/) {
  UNDERTONE_CHECK(false);
}

void RecordSums::dual_gradients(const Eigen::VectorXd& /*point*/, const DualClip& /*dual*/,
                                const mechanisms::Lattice& /*lattice*/, const Drawn& /*drawn*/,
                                std::span<std::int64_t> /*sum*/) {
  UNDERTONE_CHECK(false);
}

void RecordSums::influenced_gradients(const Eigen::VectorXd& /*point*/, const releases::InfluenceBound& /*influence*/,
                                      const mechanisms::Lattice& /*lattice*/, const Drawn& /*drawn*/,
                                      std::span<std::int64_t> /*sum*/) {
  UNDERTONE_CHECK(false);
}

void RecordSums::dual_differences(const PointPair& /*points*/, const DualClip& /*dual*/,
                                  const mechanisms::Lattice& /*lattice*/, const Drawn& /*drawn*/,
                                  std::span<std::int64_t> /*sum*/) {
  UNDERTONE_CHECK(false);
}

void RecordSums::add_clamped_terms(const PathTerm& /*term*/, const mechanisms::ClampUnits& /*units*/,
                                   const Drawn& /*drawn*/, std::span<std::int64_t> /*sum*/) {
  UNDERTONE_CHECK(false);
}

void RecordSums::scores(const Eigen::Ref<const Eigen::VectorXd>& /*point*/, const Eigen::MatrixXd& /*directions*/,
                        const mechanisms::Lattice& /*lattice*/, const Drawn& /*drawn*/,
                        std::span<std::int64_t> /*sum*/) {
  UNDERTONE_CHECK(false);
}

std::unique_ptr<RecordSums> make_record_sums(const models::Model& model) {
  if (const models::LinearModel* linear = model.linear()) return std::make_unique<LinearSums>(*linear);
  if (const models::MomentsModel* moments = model.moments()) return std::make_unique<MomentSums>(*moments);
  return std::make_unique<LayeredSums>(*model.network());
}

}  // namespace undertone::silo
