#include "silo/oracles/person_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "shared/base/column_products.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/mechanisms/clipped_sum.hpp"
#include "shared/models/layered_model.hpp"
#include "shared/releases/unit.hpp"

namespace undertone::silo {
namespace {

constexpr std::size_t kPersonsTogether = 16;  // persons: as many as a clipped sum takes at once
constexpr auto kRecordsMost = static_cast<std::size_t>(releases::kPersonRecordsMax);

/// Hands on the mean over each drawn person's records of a vector that each record has: zero of somebody without one.
/// What is not hers is worked on like hers, and then dropped.
/// @param numbers of a record's vector @param put takes a row of the block and puts its vector
/// @param use takes the mean, [numbers]
template <class Put, class Use>
void for_means_of_vectors(const RecordSums::Drawn& drawn, Eigen::Index numbers, const Put& put, const Use& use) {
  UNDERTONE_CHECK(drawn.persons != nullptr && !drawn.counted);
  if (drawn.block.rows() == 0) return;  // nobody has a record
  Eigen::VectorXd own(numbers);
  Eigen::VectorXd mean(numbers);
  Eigen::VectorXd dropped = Eigen::VectorXd::Zero(numbers);
  std::array<std::int64_t, kRecordsMost> rows{};
  const std::span<std::int64_t> looked(rows.data(), drawn.persons->records_max());
  PersonRows pass(*drawn.persons, drawn.block);
  for (const std::int64_t person : drawn.positions) {
    const std::size_t counted = pass.next(person, looked);
    mean.setZero();
    for (std::size_t i = 0; i < looked.size(); ++i) {
      put(looked[i], own);
      // What is not finite adds zero, and still is one of hers.
      if (!own.allFinite()) own.setZero();
      (i < counted ? mean : dropped) += own;
    }
    mean /= static_cast<double>(std::max<std::size_t>(counted, 1));
    use(mean);
  }
}

/// Adds up centred metrics: each person adds the mean over her records, clipped once.
template <class AnyModel>
void add_person_metrics(AnyModel& model, const Eigen::VectorXd& point, const mechanisms::Lattice& lattice,
                        const RecordSums::Drawn& drawn, std::span<std::int64_t> sum) {
  std::fill(sum.begin(), sum.end(), 0);
  for_means_of_vectors(
      drawn, static_cast<Eigen::Index>(sum.size()),
      [&](std::int64_t row, Eigen::VectorXd& own) { model.centred_metrics(point, drawn.block, row, own); },
      [&](Eigen::VectorXd& mean) { mechanisms::add_clipped(mean, lattice, sum); });
}

/// Sums over persons, for linear models. A person's gradient is the mean of those of her rows, a (x, 1) each. It is
/// written as one factor, the largest of hers, times a vector (h, c): of one record that is the record itself, so that
/// persons of one record each give the very integers that records give.
class PersonSums final : public RecordSums {
 public:
  explicit PersonSums(const models::LinearModel& model)
      : model_(model),
        means_(Eigen::MatrixXd::Zero(model.dimension(), kPersonsTogether)),
        zeros_(Eigen::VectorXd::Zero(model.features())) {}

  [[nodiscard]] bool adds_integers() const noexcept override { return true; }
  [[nodiscard]] bool hides_counts() const noexcept override { return true; }
  [[nodiscard]] bool takes_persons() const noexcept override { return true; }

  void gradients(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
                 std::span<std::int64_t> sum) override {
    add_clipped_means(nullptr, lattice, drawn, sum, PathTerm{point, point});
  }

  void dual_gradients(const Eigen::VectorXd& point, const DualClip& dual, const mechanisms::Lattice& lattice,
                      const Drawn& drawn, std::span<std::int64_t> sum) override {
    add_clipped_means(&dual, lattice, drawn, sum, PathTerm{point, point});
  }

  void influenced_gradients(const Eigen::VectorXd& point, const releases::InfluenceBound& influence,
                            const mechanisms::Lattice& lattice, const Drawn& drawn,
                            std::span<std::int64_t> sum) override {
    UNDERTONE_CHECK(!drawn.counted);
    std::fill(sum.begin(), sum.end(), 0);
    Eigen::VectorXd mean(model_.dimension());
    Eigen::VectorXd cut(model_.dimension());
    for_means(drawn, PathTerm{point, point}, [&](std::span<double> factors, std::span<const std::int64_t> columns) {
      for (std::size_t i = 0; i < factors.size(); ++i) {
        mean = factors[i] * means_.col(columns[i]);
        put_influences(mean, influence, cut);
        mechanisms::add_clipped(cut, lattice, sum);
      }
    });
  }

  void differences(const PointPair& points, const mechanisms::Lattice& lattice, const Drawn& drawn,
                   std::span<std::int64_t> sum) override {
    add_clipped_means(nullptr, lattice, drawn, sum, PathTerm{points.minuend, points.subtrahend, 1.0});
  }

  void dual_differences(const PointPair& points, const DualClip& dual, const mechanisms::Lattice& lattice,
                        const Drawn& drawn, std::span<std::int64_t> sum) override {
    add_clipped_means(&dual, lattice, drawn, sum, PathTerm{points.minuend, points.subtrahend, 1.0});
  }

  void clamped_gradients(const Eigen::VectorXd& point, const mechanisms::ClampLattice& lattice, const Drawn& drawn,
                         std::span<std::int64_t> sum) override {
    mechanisms::ClampedSum clamped(lattice, model_.dimension());
    for_means(drawn, PathTerm{point, point}, [&](std::span<double> factors, std::span<const std::int64_t> columns) {
      clamped.add_linear(factors, means_, columns);
    });
    clamped.take(sum);
  }

  void add_clamped_terms(const PathTerm& term, const mechanisms::ClampUnits& units, const Drawn& drawn,
                         std::span<std::int64_t> sum) override {
    mechanisms::ClampedSum clamped(units, model_.dimension());
    for_means(drawn, term, [&](std::span<double> factors, std::span<const std::int64_t> columns) {
      clamped.add_linear(factors, means_, columns);
    });
    clamped.take_onto(sum);
  }

  void scores(const Eigen::Ref<const Eigen::VectorXd>& point, const Eigen::MatrixXd& directions,
              const mechanisms::Lattice& lattice, const Drawn& drawn, std::span<std::int64_t> sum) override {
    UNDERTONE_CHECK(directions.rows() == model_.dimension() &&
                    static_cast<std::size_t>(directions.cols()) == sum.size());
    const Eigen::Index features = model_.features();
    Eigen::VectorXd own(directions.cols());
    std::fill(sum.begin(), sum.end(), 0);
    for_means(drawn, PathTerm{point, point}, [&](std::span<double> factors, std::span<const std::int64_t> columns) {
      for (std::size_t i = 0; i < factors.size(); ++i) {
        own.noalias() = directions.topRows(features).transpose() * means_.col(columns[i]).head(features);
        if (model_.intercept()) own += means_(features, columns[i]) * directions.row(features).transpose();
        own *= factors[i];
        mechanisms::add_clipped(own, lattice, sum);
      }
    });
  }

  [[nodiscard]] const models::LinearModel* linear() const noexcept override { return &model_; }

  void metrics(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
               std::span<std::int64_t> sum) override {
    add_person_metrics(model_, point, lattice, drawn, sum);
  }

 private:
  static constexpr std::size_t kRowsTogether = kPersonsTogether * kRecordsMost;
  using Numbers = std::array<double, kRowsTogether>;

  /// Finds the factors of the first so many rows' terms of `rows_`.
  void find_factors(const PathTerm& term, const models::Records& block, std::size_t count) {
    const std::span<const std::int64_t> rows = std::span(rows_).first(count);
    const auto first = [count](Numbers& numbers) { return std::span(numbers).first(count); };
    model_.derivatives(term.point, block, rows, first(factors_), first(norms_squared_));
    if (term.carried == 0.0) return;
    model_.derivatives(term.from, block, rows, first(there_), first(norms_squared_));
    for (std::size_t i = 0; i < count; ++i) factors_[i] -= term.carried * there_[i];
  }

  /// Puts persons' means into columns of `means_`, some at a time, and hands on the factors before them.
  /// @param use takes the factors and the columns' numbers
  template <class Use>
  void for_means(const Drawn& drawn, const PathTerm& term, const Use& use) {
    UNDERTONE_CHECK(drawn.persons != nullptr);
    std::array<double, kPersonsTogether> factors{};
    std::array<std::int64_t, kPersonsTogether> columns{};
    for (std::size_t i = 0; i < kPersonsTogether; ++i) columns[i] = static_cast<std::int64_t>(i);
    std::span<const std::int64_t> left = drawn.positions;
    if (drawn.block.rows() == 0) left = {};  // nobody has a record
    std::optional<PersonRows> pass;
    if (!left.empty()) pass.emplace(*drawn.persons, drawn.block);
    const std::size_t each = drawn.persons->records_max();
    std::array<std::size_t, kPersonsTogether> counted{};
    while (!left.empty()) {
      const std::span<const std::int64_t> now = left.first(std::min(kPersonsTogether, left.size()));
      left = left.subspan(now.size());
      for (std::size_t i = 0; i < now.size(); ++i)
        counted[i] = pass->next(now[i], std::span(rows_).subspan(i * each, each));
      find_factors(term, drawn.block, now.size() * each);
      for (std::size_t i = 0; i < now.size(); ++i) {
        const HerRows hers{std::span(rows_).subspan(i * each, each), std::span(factors_).subspan(i * each, each),
                           counted[i]};
        factors[i] = put_mean(drawn.block, hers, i);
      }
      use(std::span(factors).first(now.size()), std::span<const std::int64_t>(columns).first(now.size()));
    }
  }

  /// @param dual may be null
  void add_clipped_means(const DualClip* dual, const mechanisms::Lattice& lattice, const Drawn& drawn,
                         std::span<std::int64_t> sum, const PathTerm& term) {
    if (sum_) {
      sum_->restart(lattice);
    } else {
      sum_.emplace(lattice, model_.dimension());
    }
    std::array<double, kPersonsTogether> products{};  // with zeros
    std::array<double, kPersonsTogether> squares{};
    std::size_t counted = drawn.counted.value_or(drawn.positions.size());
    for_means(drawn, term, [&](std::span<double> factors, std::span<const std::int64_t> columns) {
      const std::size_t now = factors.size();
      column_products(means_, columns, zeros_, std::span(products).first(now), std::span(squares).first(now));
      for (std::size_t i = 0; i < now; ++i) {
        const double constant = model_.intercept() ? means_(model_.features(), columns[i]) : 0.0;
        squares[i] += constant * constant;
        if (dual == nullptr) continue;
        double length = geometry::lp_norm(means_.col(columns[i]).head(model_.features()), dual->exponent);
        if (model_.intercept()) length = geometry::lp_norm(Eigen::Vector2d(length, constant), dual->exponent);
        factors[i] = dual->clipped(factors[i], length);
      }
      sum_->add_first(std::min(counted, now), factors, std::span(squares).first(now), means_, columns);
      counted -= std::min(counted, now);
    });
    sum_->take(sum);
  }

  /// These rows are looked at for one person, and the first ones of them are hers and count.
  struct HerRows {
    std::span<const std::int64_t> rows;
    std::span<double> factors;  // of their terms
    std::size_t counted = 0;
  };

  /// Puts a person's (h, c) into a column. @return the factor before it
  double put_mean(const models::Records& block, const HerRows& hers, std::size_t column) {
    const std::span<double> factors = hers.factors;
    double largest = 0.0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      // A gradient that is not finite adds zero, and still is one of hers.
      const bool counts = i < hers.counted && std::abs(factors[i]) <= std::numeric_limits<double>::max();
      factors[i] = counts ? factors[i] : 0.0;
      largest = std::abs(largest) < std::abs(factors[i]) ? factors[i] : largest;
    }
    const double divisor = largest == 0.0 ? 1.0 : largest;
    const double each = 1.0 / static_cast<double>(std::max<std::size_t>(hers.counted, 1));
    double constant = 0.0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      weights_[i] = factors[i] / divisor * each;  // at most 1
      // What does not count is not looked at: its numbers are another person's, or not finite.
      numbers_[i] = weights_[i] == 0.0 ? zeros_.data() : block.features.data() + hers.rows[i] * block.features.rows();
      constant += weights_[i];
    }
    const auto at = static_cast<Eigen::Index>(column);
    auto mean = means_.col(at).head(model_.features());
    weighted_sum(std::span(numbers_).first(factors.size()), std::span(weights_).first(factors.size()),
                 {mean.data(), static_cast<std::size_t>(mean.size())});
    // She adds nothing, perhaps since her records cancel. Zeros would be added up in another way, which takes longer.
    if (largest == 0.0 || (constant == 0.0 && mean.isZero(0.0))) {
      mean.setOnes();
      largest = 0.0;
    }
    if (model_.intercept()) means_(model_.features(), at) = constant;
    return largest;
  }

  models::LinearModel model_;
  std::optional<mechanisms::ClippedSum> sum_;
  Eigen::MatrixXd means_;  // [dimension, persons]
  Eigen::VectorXd zeros_;
  std::array<double, kRecordsMost> weights_{};         // of one person's rows in her mean
  std::array<const double*, kRecordsMost> numbers_{};  // of these rows
  // These are of the rows of some persons, one person's after the other's.
  std::array<std::int64_t, kRowsTogether> rows_{};
  Numbers factors_{};
  Numbers there_{};
  Numbers norms_squared_{};
};

/// Sums over persons of a capped sum each, for linear models: each of her records is clipped by itself, to integers of
/// norm at most floor(Lambda / s), so that s of them are within Lambda. Work is that of s records, however many are
/// hers.
class CappedPersonSums final : public RecordSums {
 public:
  explicit CappedPersonSums(const models::LinearModel& model) : model_(model) {}

  [[nodiscard]] bool adds_integers() const noexcept override { return true; }
  [[nodiscard]] bool hides_counts() const noexcept override { return true; }
  [[nodiscard]] bool takes_persons() const noexcept override { return true; }

  void gradients(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
                 std::span<std::int64_t> sum) override {
    add_up(PathTerm{point, point}, lattice, drawn, sum);
  }

  void differences(const PointPair& points, const mechanisms::Lattice& lattice, const Drawn& drawn,
                   std::span<std::int64_t> sum) override {
    add_up(PathTerm{points.minuend, points.subtrahend, 1.0}, lattice, drawn, sum);
  }

  void clamped_gradients(const Eigen::VectorXd& /*point*/, const mechanisms::ClampLattice& /*lattice*/,
                         const Drawn& /*drawn*/, std::span<std::int64_t> /*sum*/) override {
    UNDERTONE_CHECK(false);  // a job of capped sums that selects is refused where it is offered
  }

  void metrics(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
               std::span<std::int64_t> sum) override {
    add_person_metrics(model_, point, lattice, drawn, sum);
  }

 private:
  void add_up(const PathTerm& term, const mechanisms::Lattice& lattice, const Drawn& drawn,
              std::span<std::int64_t> sum) {
    UNDERTONE_CHECK(drawn.persons != nullptr);
    const std::size_t each = drawn.persons->records_max();
    const mechanisms::Lattice part{lattice.clip / static_cast<std::int64_t>(each), lattice.step};
    UNDERTONE_CHECK(part.clip >= 1);
    if (sum_) {
      sum_->restart(part);
    } else {
      sum_.emplace(part, model_.dimension());
    }
    std::array<std::int64_t, kRecordsMost> all{};
    std::array<double, kRecordsMost> factors{};
    std::array<double, kRecordsMost> there{};
    std::array<double, kRecordsMost> squares{};
    const std::span<std::int64_t> rows(all.data(), each);
    const std::size_t persons = drawn.block.rows() == 0 ? 0 : drawn.positions.size();
    const std::size_t counted_persons = drawn.counted.value_or(persons);
    std::optional<PersonRows> pass;
    if (persons > 0) pass.emplace(*drawn.persons, drawn.block);
    for (std::size_t person = 0; person < persons; ++person) {
      const std::size_t counted = pass->next(drawn.positions[person], rows);
      const auto first = [each](auto& numbers) { return std::span(numbers).first(each); };
      model_.derivatives(term.point, drawn.block, rows, first(factors), first(squares));
      if (term.carried != 0.0) model_.derivatives(term.from, drawn.block, rows, first(there), first(squares));
      for (std::size_t i = 0; i < each; ++i) {
        const double factor = factors[i] - (term.carried != 0.0 ? term.carried * there[i] : 0.0);
        factors[i] = factor / static_cast<double>(each);
      }
      // What is not hers is added up like hers, and then dropped.
      sum_->add_first(person < counted_persons ? counted : 0, first(factors), first(squares), drawn.block.features,
                      rows);
    }
    sum_->take(sum);
  }

  models::LinearModel model_;
  std::optional<mechanisms::ClippedSum> sum_;
};

/// Adds up persons' moments: of each the mean over her records' embeddings, clipped once, in integers.
class MomentPersonSums final : public RecordSums {
 public:
  explicit MomentPersonSums(const models::MomentsModel& model) : model_(model) {}

  [[nodiscard]] bool adds_integers() const noexcept override { return true; }
  [[nodiscard]] bool takes_persons() const noexcept override { return true; }

  void gradients(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
                 std::span<std::int64_t> sum) override {
    std::fill(sum.begin(), sum.end(), 0);
    for_means_of_vectors(
        drawn, model_.dimension(),
        [&](std::int64_t row, Eigen::VectorXd& own) { model_.gradient(point, drawn.block, row, own); },
        [&](Eigen::VectorXd& mean) { mechanisms::add_clipped(mean, lattice, sum); });
  }

  // A job of moments has one round, of gradients that are clipped in l2.
  void clamped_gradients(const Eigen::VectorXd& /*point*/, const mechanisms::ClampLattice& /*lattice*/,
                         const Drawn& /*drawn*/, std::span<std::int64_t> /*sum*/) override {
    UNDERTONE_CHECK(false);
  }
  void differences(const PointPair& /*points*/, const mechanisms::Lattice& /*lattice*/, const Drawn& /*drawn*/,
                   std::span<std::int64_t> /*sum*/) override {
    UNDERTONE_CHECK(false);
  }

  void metrics(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
               std::span<std::int64_t> sum) override {
    add_person_metrics(model_, point, lattice, drawn, sum);
  }

 private:
  models::MomentsModel model_;
};

/// Hands out persons' records one after the other, each with its part of what she contributes, and always as many for a
/// person.
class PersonRecords {
 public:
  /// @param capped whether each counts as much as one of as many as may count, else as one of hers
  PersonRecords(const RecordSums::Drawn& drawn, bool capped)
      : drawn_(drawn), capped_(capped), each_(drawn.persons->records_max()) {
    UNDERTONE_CHECK(!drawn.counted);
    if (drawn.block.rows() == 0) return;  // nobody has a record
    pass_ = std::make_shared<PersonRows>(*drawn.persons, drawn.block);
    left_ = drawn.positions.size();
  }

  models::WeightedRecords operator()(std::size_t most) {
    // What was handed out is forgotten, and a person's rows that are left over come first.
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(handed_));
    weights_.erase(weights_.begin(), weights_.begin() + static_cast<std::ptrdiff_t>(handed_));
    while (rows_.size() < most && left_ > 0) add_person(drawn_.positions[drawn_.positions.size() - left_--]);
    handed_ = std::min(most, rows_.size());
    return {std::span(rows_).first(handed_), std::span(weights_).first(handed_)};
  }

 private:
  void add_person(std::int64_t person) {
    const std::size_t from = rows_.size();
    rows_.resize(from + each_);
    const std::size_t counted = pass_->next(person, std::span(rows_).subspan(from));
    const double weight = 1.0 / static_cast<double>(capped_ ? each_ : std::max<std::size_t>(counted, 1));
    for (std::size_t i = 0; i < each_; ++i) weights_.push_back(i < counted ? weight : 0.0);
  }

  const RecordSums::Drawn& drawn_;
  bool capped_;
  std::size_t each_;
  std::size_t left_ = 0;              // persons
  std::shared_ptr<PersonRows> pass_;  // shared, as a source of records is copied
  std::size_t handed_ = 0;            // of what follows, last time
  std::vector<std::int64_t> rows_;
  std::vector<double> weights_;
};

/// Sums over persons, for networks, which write no gradient out: each record is clipped and counts 1 / m', or 1 / s of
/// a capped sum, so that a person's part is no longer than a record's would be. The sum is rounded once, as that of
/// records is.
class NetworkPersonSums final : public RecordSums {
 public:
  NetworkPersonSums(const models::Network& network, bool capped)
      : model_(network), capped_(capped), sum_(network.dimension()) {}

  [[nodiscard]] bool adds_integers() const noexcept override { return false; }
  [[nodiscard]] bool takes_persons() const noexcept override { return true; }

  void gradients(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
                 std::span<std::int64_t> sum) override {
    model_.weighted_gradient_sum(point, drawn.block, PersonRecords(drawn, capped_), clip(lattice, drawn), sum_);
    round_to_lattice(sum_, lattice, sum);
  }

  void differences(const PointPair& points, const mechanisms::Lattice& lattice, const Drawn& drawn,
                   std::span<std::int64_t> sum) override {
    model_.weighted_difference_sum(points.minuend, points.subtrahend, drawn.block, PersonRecords(drawn, capped_),
                                   clip(lattice, drawn), sum_);
    round_to_lattice(sum_, lattice, sum);
  }

  void clamped_gradients(const Eigen::VectorXd& /*point*/, const mechanisms::ClampLattice& /*lattice*/,
                         const Drawn& /*drawn*/, std::span<std::int64_t> /*sum*/) override {
    UNDERTONE_CHECK(false);  // a job of persons that selects is refused where it is offered
  }

  void metrics(const Eigen::VectorXd& point, const mechanisms::Lattice& lattice, const Drawn& drawn,
               std::span<std::int64_t> sum) override {
    add_person_metrics(model_, point, lattice, drawn, sum);
  }

 private:
  [[nodiscard]] double clip(const mechanisms::Lattice& lattice, const Drawn& drawn) const {
    // All weights of a person add up to 1 at most, but for the roundings of 64 of them.
    const std::size_t persons = drawn.positions.size();
    const std::size_t rows = persons * drawn.persons->records_max();
    return clip_before_rounding(
        lattice, model_.dimension(), persons,
        model_.rounding_bound(1.0, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(persons)));
  }

  models::LayeredModel model_;
  bool capped_;
  Eigen::VectorXd sum_;
};

}  // namespace

std::unique_ptr<RecordSums> make_person_sums(const models::Model& model, releases::PersonContribution::Form form) {
  const bool capped = form == releases::PersonContribution::Form::CappedSum;
  if (const models::Network* network = model.network()) return std::make_unique<NetworkPersonSums>(*network, capped);
  if (const models::MomentsModel* moments = model.moments()) {
    UNDERTONE_CHECK(!capped);  // refused where it is parsed
    return std::make_unique<MomentPersonSums>(*moments);
  }
  UNDERTONE_CHECK(model.linear() != nullptr);  // what else a job of persons has is refused where it is parsed
  if (capped) return std::make_unique<CappedPersonSums>(*model.linear());
  return std::make_unique<PersonSums>(*model.linear());
}

}  // namespace undertone::silo
