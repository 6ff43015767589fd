#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "shared/base/random_source.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "tests/support/placed_sums.hpp"
#include "tests/support/record_maps.hpp"

// What amplification by secret draws rests on (docs/accounting.md, fixed-size subsets): a sum in which a record was
// drawn and one in which another was drawn in its stead are within 2 Lambda, too, with the other draws the same.
namespace undertone {
namespace {

using releases::Block;
using releases::QuestionKind;

/// A draw that is told which records it takes, in which slots.
class ToldDraw final : public silo::ReleaseStream {
 public:
  explicit ToldDraw(std::vector<std::int64_t> slots) : slots_(std::move(slots)) {}

  std::vector<std::int64_t> subset(std::int64_t /*population*/, std::int64_t size) override {
    UNDERTONE_CHECK(static_cast<std::size_t>(size) == slots_.size());
    std::vector<std::int64_t> ascending = slots_;
    std::sort(ascending.begin(), ascending.end());
    return ascending;
  }
  std::vector<std::int64_t> order(std::int64_t size) override {
    UNDERTONE_CHECK(static_cast<std::size_t>(size) == slots_.size());
    const std::vector<std::int64_t> ascending = subset(0, size);
    std::vector<std::int64_t> out;
    for (const std::int64_t one : slots_)
      out.push_back(std::lower_bound(ascending.begin(), ascending.end(), one) - ascending.begin());
    ++orders_;
    return out;
  }
  [[nodiscard]] int orders() const { return orders_; }

  void fill_gaussian(int /*log2_stddev*/, std::span<std::int64_t> /*out*/) override { UNDERTONE_CHECK(false); }
  std::uint64_t below(std::uint64_t /*bound*/) override { UNDERTONE_CHECK(false); }
  std::vector<std::int64_t> multiset(std::int64_t /*population*/, std::int64_t /*draws*/) override {
    UNDERTONE_CHECK(false);
  }
  void add_rounded(std::span<const std::int64_t> /*sum*/, std::int64_t /*records*/,
                   const mechanisms::BinomialParameters& /*parameters*/, std::span<std::int64_t> /*counts*/) override {
    UNDERTONE_CHECK(false);
  }
  void add_coins(const noise::BinomialTable& /*coins*/, std::span<std::int64_t> /*counts*/) override {
    UNDERTONE_CHECK(false);
  }
  void fill_generalised(const noise::GeneralisedGaussian& /*noise*/, std::span<std::int64_t> /*out*/) override {
    UNDERTONE_CHECK(false);
  }
  void add_laplace(const mechanisms::LaplaceSum& /*noise*/, std::span<std::int64_t> /*sums*/) override {
    UNDERTONE_CHECK(false);
  }
  void randomise(const mechanisms::LocalReports& /*reports*/, std::span<std::int64_t> /*numbers*/,
                 std::span<const std::int64_t> /*slots*/) override {
    UNDERTONE_CHECK(false);
  }
  void randomise_vector(const mechanisms::LocalReports& /*reports*/,
                        const Eigen::Ref<const Eigen::VectorXd>& /*vector*/,
                        std::span<std::int64_t> /*report*/) override {
    UNDERTONE_CHECK(false);
  }
  std::size_t select(const mechanisms::ExponentialMechanism& /*mechanism*/,
                     std::span<const std::int64_t> /*scores*/) override {
    UNDERTONE_CHECK(false);
  }
  Result<sealed::SharePair> split(std::span<const std::int64_t> /*counts*/,
                                  const sealed::ShareModulus& /*modulus*/) override {
    UNDERTONE_CHECK(false);
  }

 private:
  std::vector<std::int64_t> slots_;
  int orders_ = 0;
};

double distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const auto off = static_cast<double>(a[j] - b[j]);
    sum += off * off;
  }
  return std::sqrt(sum);
}

planning::Release drawn_release(QuestionKind kind, Eigen::Index dimension, std::int64_t drawn,
                                std::int64_t population) {
  planning::Release release{{tests::map_of(kind),
                             {Block::Training, static_cast<double>(drawn) / static_cast<double>(population)},
                             releases::L2Bound{releases::ClipNorm::create(0.1).value()},
                             dimension},
                            drawn,
                            population,
                            mechanisms::gaussian_lattice(releases::ClipNorm::create(0.1).value(),
                                                         releases::GaussianShift::create(0.5).value(), dimension, drawn)
                                .value()};
  release.block_records = population;
  release.positions = {0, population};
  return release;
}

/// Two data sets that differ in record `changed`.
struct Neighbours {
  data::Dataset first;
  data::Dataset second;
  std::int64_t changed = 0;
};

Neighbours with_changed(data::Dataset first, std::int64_t changed, const Eigen::VectorXd& features, double target) {
  Neighbours out{first, std::move(first), changed};
  out.second.training.features.col(changed) = features;
  out.second.training.targets[changed] = target;
  return out;
}

/// The largest distance over Lambda of the sums of one draw: with the changed record on either data set, and with
/// another record in its slot. @param make_sums for a data set
template <class MakeSums>
double farthest(const queries::Question& question, const planning::Release& release, const Neighbours& pair,
                RandomSource& random, const MakeSums& make_sums) {
  std::vector<std::int64_t> records(static_cast<std::size_t>(release.population));
  std::iota(records.begin(), records.end(), std::int64_t{0});
  std::swap(records.back(), records[static_cast<std::size_t>(pair.changed)]);
  for (std::size_t i = records.size() - 1; i > 1; --i)
    std::swap(records[i - 1], records[static_cast<std::size_t>(random.below(i))]);
  const auto drawn = static_cast<std::size_t>(release.records_drawn);
  std::vector<std::int64_t> without(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(drawn));
  std::vector<std::int64_t> with = without;
  with[static_cast<std::size_t>(random.below(drawn))] = pair.changed;
  const auto sum = [&](const data::Dataset& dataset, const std::vector<std::int64_t>& slots) {
    ToldDraw draw(slots);
    const silo::RecordPlaces no_places;
    const auto sums = make_sums(dataset.training);
    return silo::draw_exact_sum({RoundIndex{0}, question}, release, {dataset, no_places}, sums.get(), draw).sum;
  };
  const std::vector<std::int64_t> a = sum(pair.first, with);
  const std::vector<std::int64_t> a_changed = sum(pair.second, with);
  const std::vector<std::int64_t> b = sum(pair.first, without);
  EXPECT_EQ(b, sum(pair.second, without));
  const double most = std::max({distance(a, a_changed), distance(a, b), distance(a_changed, b)});
  return most / static_cast<double>(release.lattice().clip);
}

/// The records that 2^60 and -2^60 turn round, every third, among such without features.
data::Dataset cancelling_records(Eigen::Index features, Eigen::Index count) {
  data::Dataset out;
  out.training = {Eigen::MatrixXd::Zero(features, count), Eigen::VectorXd::Zero(count)};
  for (Eigen::Index j = 0; j < count; j += 3) out.training.features.col(j).head(3).setOnes();
  return out;
}

TEST(DrawnSlotsTest, AnotherRecordInTheChangedOnesSlotMovesASumByNoMoreThanDeclared) {
  double largest = 0.0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const auto made = CancellingNetwork::make(4 + static_cast<Eigen::Index>(random.below(20)),
                                              1 + static_cast<Eigen::Index>(random.below(70)));
    const auto count = static_cast<Eigen::Index>(3 + random.below(90));
    const auto drawn = static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(count - 1)));
    const bool difference = seed % 4 == 0;
    Eigen::VectorXd points = made.weights;
    if (difference) {
      points.resize(2 * made.weights.size());
      points << made.weights, 0.5 * made.weights;
    }
    const planning::Release release = drawn_release(
        difference ? QuestionKind::GradientDifference : QuestionKind::Gradient, made.network.dimension(), drawn, count);
    data::Dataset dataset = cancelling_records(made.network.features(), count);
    for (double& target : dataset.training.targets) target = random.chance(0.3) ? 1.0 : 0.0;
    const auto changed = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
    Eigen::VectorXd features = Eigen::VectorXd::Zero(made.network.features());
    if (random.chance(0.5)) features.head(3).setOnes();
    const Neighbours pair = with_changed(dataset, changed, features, 1.0 - dataset.training.targets[changed]);
    const double moved =
        farthest(queries::question_of(release.ask.kind(), points), release, pair, random,
                 [&](const models::Records& /*block*/) { return silo::make_record_sums(made.network); });
    ASSERT_LE(moved, 2.0);
    largest = std::max(largest, moved);
  }
  EXPECT_GT(largest, 1.9);
}

TEST(DrawnSlotsTest, SoItDoesWhereARecordsPlaceChangesItsArithmetic) {
  // The slots alone have to do it: with records added up in ascending order this is 3.98.
  double largest = 0.0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const auto made = CancellingNetwork::make(20, 62);
    constexpr Eigen::Index kCount = 30;
    const auto drawn = static_cast<std::int64_t>(1 + random.below(kCount - 1));
    const planning::Release release = drawn_release(QuestionKind::Gradient, made.network.dimension(), drawn, kCount);
    const auto changed = static_cast<std::int64_t>(random.below(kCount));
    const Neighbours pair = with_changed(cancelling_records(20, kCount), changed, Eigen::VectorXd::Zero(20), 1.0);
    const double moved = farthest(queries::GradientQuestion{made.weights}, release, pair, random,
                                  [&](const models::Records& block) -> std::unique_ptr<silo::RecordSums> {
                                    return std::make_unique<PlacedSums>(made.network, block);
                                  });
    ASSERT_LE(moved, 2.0);
    largest = std::max(largest, moved);
  }
  EXPECT_GT(largest, 1.9);
}

TEST(DrawnSlotsTest, ASumsPlacesDoMatterInTheModelThatTheTestBeforePlays) {
  // Otherwise it would show nothing: the same records in another order give another sum.
  const auto made = CancellingNetwork::make(20, 62);
  const data::Dataset dataset = cancelling_records(20, 10);
  const planning::Release release = drawn_release(QuestionKind::Gradient, made.network.dimension(), 5, 10);
  const auto sum = [&](const std::vector<std::int64_t>& drawn) {
    PlacedSums sums(made.network, dataset.training);
    return silo::exact_sum(queries::GradientQuestion{made.weights}, release, dataset.training, drawn, &sums);
  };
  const double apart =
      distance(sum({0, 1, 2, 4, 5}), sum({1, 2, 4, 5, 0})) / static_cast<double>(release.lattice().clip);
  EXPECT_GT(apart, 1.9);
  const auto sums = silo::make_record_sums(made.network);
  EXPECT_EQ(
      silo::exact_sum(queries::GradientQuestion{made.weights}, release, dataset.training, {0, 1, 2, 4, 5}, sums.get()),
      silo::exact_sum(queries::GradientQuestion{made.weights}, release, dataset.training, {1, 2, 4, 5, 0}, sums.get()));
}

TEST(DrawnSlotsTest, ASecretOrderIsDrawnWhereSumsAreNotOfIntegersAndOnlyThere) {
  const models::LinearModel linear(models::Loss::Logistic, 20, true);
  const auto made = CancellingNetwork::make(20, 62);
  const data::Dataset dataset = cancelling_records(20, 10);
  const silo::RecordPlaces no_places;
  for (const models::Model& model : {models::Model(linear), models::Model(made.network)}) {
    const planning::Release release = drawn_release(QuestionKind::Gradient, model.dimension(), 5, 10);
    ToldDraw draw({3, 9, 0, 4, 5});
    const auto sums = silo::make_record_sums(model);
    const queries::Query query{RoundIndex{0}, queries::GradientQuestion{Eigen::VectorXd::Zero(model.dimension())}};
    static_cast<void>(silo::draw_exact_sum(query, release, {dataset, no_places}, sums.get(), draw));
    EXPECT_EQ(draw.orders(), model.network() == nullptr ? 0 : 1);
  }
}

}  // namespace
}  // namespace undertone
