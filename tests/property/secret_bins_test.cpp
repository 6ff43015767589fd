#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "shared/accounting/random_allocation.hpp"
#include "shared/planning/plan.hpp"
#include "silo/oracles/sum_oracle.hpp"

/// Bins of the product's own sums against what is claimed of them: every assignment of a few records is enumerated, and
/// the laws of what leaves are integrated.
namespace undertone {
namespace {

using releases::Slice;

constexpr std::int64_t kRecords = 4;
constexpr std::uint64_t kBins = 2;
constexpr double kClip = 1.0;

/// A regression without an intercept whose gradient at w = 0 is -y x: what a record contributes is its -y, up to the
/// clip norm.
models::Model one_number() { return models::Model(models::LinearModel(models::Loss::LeastSquares, 1, false)); }

data::Dataset dataset_of(const std::array<double, kRecords>& contributions) {
  data::Dataset out;
  out.training.features = Eigen::MatrixXd::Ones(1, kRecords);
  out.training.targets.resize(kRecords);
  for (Eigen::Index j = 0; j < kRecords; ++j) out.training.targets[j] = -contributions.at(static_cast<std::size_t>(j));
  out.holdout.features.resize(1, 0);
  return out;
}

/// Round r of one pass, of the shift that was chosen.
planning::Plan plan_of(double shift) {
  planning::Schedule schedule;
  for (std::uint64_t i = 0; i < kBins; ++i) {
    releases::Ask ask{releases::GradientMap{},
                      {releases::Block::Training, 1.0, Slice{Slice::Cut::Equal, i, kBins, Slice::Assignment::Bins}},
                      releases::L2Bound{releases::ClipNorm::create(kClip).value()},
                      1};
    ask.shift = releases::GaussianShift::create(shift).value();
    schedule.push_back({ask, 1});
  }
  return planning::make_plan(schedule, {SiloId::create("one").value(), kRecords, 0, true,
                                        releases::ApproximateDp{releases::Epsilon::create(9.0).value(),
                                                                releases::Delta::create(1e-3).value()}})
      .value();
}

/// Randomness that nothing is drawn from: bins are given, and there is no noise.
class NoStream final : public silo::ReleaseStream {
 public:
  void fill_gaussian(int, std::span<std::int64_t>) override { UNDERTONE_CHECK(false); }
  [[nodiscard]] std::uint64_t below(std::uint64_t) override { UNDERTONE_CHECK(false); }
  [[nodiscard]] std::vector<std::int64_t> subset(std::int64_t, std::int64_t) override { UNDERTONE_CHECK(false); }
  [[nodiscard]] std::vector<std::int64_t> multiset(std::int64_t, std::int64_t) override { UNDERTONE_CHECK(false); }
  void add_rounded(std::span<const std::int64_t>, std::int64_t, const mechanisms::BinomialParameters&,
                   std::span<std::int64_t>) override {
    UNDERTONE_CHECK(false);
  }
  void add_coins(const noise::BinomialTable&, std::span<std::int64_t>) override { UNDERTONE_CHECK(false); }
  void fill_generalised(const noise::GeneralisedGaussian&, std::span<std::int64_t>) override { UNDERTONE_CHECK(false); }
  void add_laplace(const mechanisms::LaplaceSum&, std::span<std::int64_t>) override { UNDERTONE_CHECK(false); }
  void randomise(const mechanisms::LocalReports&, std::span<std::int64_t>, std::span<const std::int64_t>) override {
    UNDERTONE_CHECK(false);
  }
  void randomise_vector(const mechanisms::LocalReports& /*reports*/,
                        const Eigen::Ref<const Eigen::VectorXd>& /*vector*/,
                        std::span<std::int64_t> /*report*/) override {
    UNDERTONE_CHECK(false);
  }
  [[nodiscard]] std::size_t select(const mechanisms::ExponentialMechanism&, std::span<const std::int64_t>) override {
    UNDERTONE_CHECK(false);
  }
  [[nodiscard]] Result<sealed::SharePair> split(std::span<const std::int64_t>, const sealed::ShareModulus&) override {
    UNDERTONE_CHECK(false);
  }
  [[nodiscard]] std::vector<std::int64_t> order(std::int64_t) override { UNDERTONE_CHECK(false); }
};

/// What the product adds up in a round, in standard deviations of its noise.
double sum_of(const planning::Release& release, const data::Dataset& dataset, const silo::RecordPlaces& places) {
  static const std::unique_ptr<silo::RecordSums> sums = silo::make_record_sums(one_number());
  NoStream stream;
  const queries::Query query{{0}, queries::GradientQuestion{Eigen::VectorXd::Zero(1)}};
  const silo::DrawnSum drawn = silo::draw_exact_sum(query, release, {dataset, places}, sums.get(), stream);
  EXPECT_EQ(drawn.release.records_drawn, release.records_drawn);  // what a mean is divided by: public
  const auto& gaussian = std::get<mechanisms::GaussianLattice>(release.mechanism);
  return static_cast<double>(drawn.sum.at(0)) * gaussian.lattice.step / gaussian.noise_stddev();
}

/// All contributions of a program: in the second round those of the records may follow the first answer.
struct Program {
  std::array<double, kRecords> first;
  std::array<double, kRecords> second_below;  // where the first answer is below 0
  std::array<double, kRecords> second_above;
};

/// Means of both rounds for each of the 2^4 equally likely assignments: the second one's on either side of 0.
struct Means {
  double first;
  double below;
  double above;
};
std::vector<Means> means_of(const planning::Plan& plan, const Program& program) {
  std::vector<Means> out;
  for (std::int64_t code = 0; code < 16; ++code) {
    // Positions 0 and 1 are the first bin's, 2 and 3 the second's.
    const silo::RecordPlaces places =
        silo::RecordPlaces::binned({2 * (code & 1), code & 2, (code & 4) / 2, (code & 8) / 4});
    out.push_back({sum_of(*plan.release({0}), dataset_of(program.first), places),
                   sum_of(*plan.release({1}), dataset_of(program.second_below), places),
                   sum_of(*plan.release({1}), dataset_of(program.second_above), places)});
  }
  return out;
}

/// Hockey-stick divergence of two programs by the midpoint rule: both densities are smooth but at 0, an edge of cells.
double divergence(const std::vector<Means>& p, const std::vector<Means>& q, double epsilon) {
  constexpr double kStep = 0.1;
  constexpr int kHalf = 90;
  const auto density = [](double z, double mean) { return std::exp(-0.5 * (z - mean) * (z - mean)); };
  double sum = 0.0;
  for (int i = -kHalf; i < kHalf; ++i) {
    const double z1 = (i + 0.5) * kStep;
    std::vector<double> first_p(p.size());
    std::vector<double> first_q(q.size());
    for (std::size_t a = 0; a < p.size(); ++a) {
      first_p[a] = density(z1, p[a].first);
      first_q[a] = density(z1, q[a].first);
    }
    for (int j = -kHalf; j < kHalf; ++j) {
      const double z2 = (j + 0.5) * kStep;
      double difference = 0.0;
      for (std::size_t a = 0; a < p.size(); ++a) {
        difference += first_p[a] * density(z2, z1 < 0.0 ? p[a].below : p[a].above) -
                      std::exp(epsilon) * first_q[a] * density(z2, z1 < 0.0 ? q[a].below : q[a].above);
      }
      sum += std::max(0.0, difference);
    }
  }
  return sum * kStep * kStep / (2.0 * M_PI * static_cast<double>(p.size()));
}

double claimed(const planning::Plan& plan, double epsilon) {
  const double shift = std::sqrt(plan.release({0})->cost_of_draw().gaussian.value_rounded_up());
  const auto allocation = accounting::Allocation::create(accounting::PartAssignment::IndependentBins,
                                                         {{kBins, 1.0 / static_cast<double>(kBins), shift}}, 0.0, 1)
                              .value();
  return accounting::pass_delta(allocation, epsilon, accounting::AllocationGrid::Charge).value();
}

constexpr double kQuadrature = 1.01;  // of the midpoint rule at steps of a tenth

TEST(SecretBinsTest, TheClaimIsAttainedByOneRecordAmongNone) {
  const planning::Plan plan = plan_of(2.0);
  const Program with{{kClip, 0, 0, 0}, {kClip, 0, 0, 0}, {kClip, 0, 0, 0}};
  const Program other{{-kClip, 0, 0, 0}, {-kClip, 0, 0, 0}, {-kClip, 0, 0, 0}};
  // m = 1, epsilon = 1, t = 2: random-allocation row 10, 0.286208.
  const double exact = divergence(means_of(plan, with), means_of(plan, other), 1.0);
  EXPECT_NEAR(exact, 0.286208, 0.003);
  EXPECT_GE(claimed(plan, 1.0) * kQuadrature, exact);
  EXPECT_NEAR(claimed(plan, 1.0), 0.286208, 1e-3);
}

TEST(SecretBinsTest, NoCrowdAndNoSecondQuestionBeatsTheClaim) {
  const planning::Plan plan = plan_of(2.0);
  const double c = kClip;
  const std::array<std::pair<Program, Program>, 5> pairs = {{
      // All others at either end.
      {{{c, -c, -c, -c}, {c, -c, -c, -c}, {c, -c, -c, -c}}, {{-c, -c, -c, -c}, {-c, -c, -c, -c}, {-c, -c, -c, -c}}},
      {{{c, c, c, c}, {c, c, c, c}, {c, c, c, c}}, {{-c, c, c, c}, {-c, c, c, c}, {-c, c, c, c}}},
      // The second question turns with the first answer, for the changed record, and for the others.
      {{{c, 0, 0, 0}, {c, 0, 0, 0}, {-c, 0, 0, 0}}, {{-c, 0, 0, 0}, {-c, 0, 0, 0}, {c, 0, 0, 0}}},
      {{{c, -c, c, -c}, {c, -c, -c, -c}, {c, c, c, c}}, {{-c, -c, c, -c}, {-c, -c, -c, -c}, {-c, c, c, c}}},
      // A record that is not at its ends.
      {{{c, 0.3, 0, -c}, {0.2, 0, 0, 0}, {c, 0, 0, 0}}, {{-0.5, 0.3, 0, -c}, {-c, 0, 0, 0}, {0.1, 0, 0, 0}}},
  }};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(i);
    const std::vector<Means> p = means_of(plan, pairs.at(i).first);
    const std::vector<Means> q = means_of(plan, pairs.at(i).second);
    for (const double epsilon : {0.5, 1.0, 2.0}) {
      EXPECT_LE(divergence(p, q, epsilon), claimed(plan, epsilon) * kQuadrature) << epsilon;
      EXPECT_LE(divergence(q, p, epsilon), claimed(plan, epsilon) * kQuadrature) << epsilon;
    }
  }
}

TEST(SecretBinsTest, ADealOfFixedSizesWouldBeatTheClaim) {
  // A balanced assignment, charged as bins: the defect that a repaired draw would be.
  const planning::Plan plan = plan_of(2.0);
  const double c = kClip;
  std::vector<Means> p;
  std::vector<Means> q;
  for (std::int64_t code = 0; code < 256; ++code) {
    const std::vector<std::int64_t> slots = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
    std::vector<std::int64_t> sorted = slots;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != std::vector<std::int64_t>{0, 1, 2, 3}) continue;  // two records to each bin
    const silo::RecordPlaces places = silo::RecordPlaces::binned(slots);
    const auto add = [&](double changed, std::vector<Means>& out) {
      const data::Dataset dataset = dataset_of({changed, -c, -c, -c});
      const double second = sum_of(*plan.release({1}), dataset, places);
      out.push_back({sum_of(*plan.release({0}), dataset, places), second, second});
    };
    add(c, p);
    add(-c, q);
  }
  EXPECT_GT(divergence(p, q, 2.0), 1.1 * claimed(plan, 2.0));
}

TEST(SecretBinsTest, TheSumIsThatOfTheBinWhateverTheRowsBesideIt) {
  // Rows that are not counted hold records as large as any: nothing of them is in the sum.
  const planning::Plan plan = plan_of(2.0);
  const std::array<double, kRecords> numbers = {0.25, 0.5, -0.75, 1.0};
  const double unit = sum_of(*plan.release({0}), dataset_of({1, 0, 0, 0}), silo::RecordPlaces::binned({0, 3, 3, 3}));
  for (std::int64_t code = 0; code < 256; ++code) {
    const std::array<std::int64_t, kRecords> slots = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
    const silo::RecordPlaces places = silo::RecordPlaces::binned({slots.begin(), slots.end()});
    for (std::uint64_t r = 0; r < kBins; ++r) {
      double expected = 0.0;
      for (std::size_t j = 0; j < numbers.size(); ++j)
        if (slots.at(j) / 2 == static_cast<std::int64_t>(r)) expected += numbers.at(j);
      EXPECT_NEAR(sum_of(*plan.release({r}), dataset_of(numbers), places), expected * unit, 1e-3 * unit);
    }
  }
}

}  // namespace
}  // namespace undertone
