#include <cmath>

#include "shared/accounting/clones_law.hpp"
#include "shared/accounting/loss_composition.hpp"
#include "shared/accounting/shuffling.hpp"
#include "tests/support/ledger_on_disk.hpp"
#include "verifier/clones_bound.hpp"

namespace undertone::silo {
namespace {

/// A plan of one record from each of 1,000 silos that are mixed, and owes its epsilon to that.
class MixedLedgerTest : public tests::LedgerOnDisk {
 protected:
  MixedLedgerTest() {
    const releases::Ask gradient{releases::GradientMap{},
                                 {releases::Block::Training, 0.05},
                                 releases::L2Bound{releases::ClipNorm::create(1.0).value()},
                                 5};
    const releases::SiloFacts facts{
        member_.facts.silo, 20, 0, true,
        releases::ApproximateDp{releases::Epsilon::create(0.5).value(), releases::Delta::create(1e-5).value()}};
    plan_ = planning::make_plan({{gradient, 100}}, facts, planning::Shuffling{1000, false, 1}).value();
    text_ = fmt::format("reports:1000:{}:{}:{}", plan_.failure_delta().to_string(),
                        plan_.credit()->record_epsilon.to_string(), plan_.credit()->silo_epsilon.to_string());
  }
  void reserve() {
    {
      Ledger ledger = open().value();
      ASSERT_TRUE(ledger.reserve(run_, plan_, job_));
    }
    close();
  }
  std::string text_;
};

TEST_F(MixedLedgerTest, TheVerifierComposesWhatWasMixedByItsOwnMethod) {
  {
    Ledger ledger = open().value();
    spend(ledger, 3);
    ledger = open().value();  // replayed
    EXPECT_EQ(ledger.epsilon_reserved().to_string(), plan_.epsilon().to_string());
  }
  close();
  const verifier::LedgerFindings findings = verify();
  EXPECT_TRUE(findings.problems.empty()) << findings.problems.front();
}

TEST_F(MixedLedgerTest, FewerHonestSilosAreNotEnough) {
  reserve();
  std::string fewer = text_;
  rewrite(text_, fewer.replace(fewer.find("1000"), 4, "800"));
  expect_refused_by_verifier("charged too little");
}

TEST_F(MixedLedgerTest, ASmallerFailureIsNotWhatTheRoundsAreOffTheBound) {
  reserve();
  const auto less = releases::DeltaAmount::from_units(plan_.failure_delta().units() / 100 * 97);
  std::string changed = text_;
  const std::string failure = plan_.failure_delta().to_string();
  rewrite(text_, changed.replace(changed.find(failure), failure.size(), less.to_string()));
  expect_refused_by_verifier("charged too little");
}

TEST_F(MixedLedgerTest, ALargerFailureIsNotLeftOfDelta) {
  reserve();
  const auto more = releases::DeltaAmount::from_units(plan_.failure_delta().units() / 100 * 103);
  std::string changed = text_;
  const std::string failure = plan_.failure_delta().to_string();
  rewrite(text_, changed.replace(changed.find(failure), failure.size(), more.to_string()));
  expect_refused_by_verifier("rule 10");
}

TEST_F(MixedLedgerTest, SmallerEpsilonsOfARoundCostAFailureThatIsNotThere) {
  reserve();
  const auto less = releases::EpsilonAmount::from_units(plan_.credit()->record_epsilon.units() / 100 * 97);
  std::string changed = text_;
  const std::string record = plan_.credit()->record_epsilon.to_string();
  rewrite(text_, changed.replace(changed.find(record), record.size(), less.to_string()));
  expect_refused_by_verifier("charged too little");
}

TEST_F(MixedLedgerTest, AChargeThatMixingDoesNotCoverIsFound) {
  reserve();
  const auto less = releases::EpsilonAmount::from_units(plan_.epsilon().units() / 100 * 97);
  rewrite("\"epsilon\":\"" + plan_.epsilon().to_string() + "\"", "\"epsilon\":\"" + less.to_string() + "\"");
  expect_refused_by_verifier("charged too little");
}

TEST_F(MixedLedgerTest, WithoutTheCreditTheSiloOwnNoiseIsTooLittle) {
  reserve();
  rewrite(text_, "reports:1000:0");
  expect_refused_by_verifier("charged too little");
}

TEST_F(MixedLedgerTest, WithoutTheListNothingCanBeSaidOfMixing) {
  reserve();
  rewrite(",\"training_releases\":\"" + plan_.releases_text(releases::Block::Training) + "\"", "");
  expect_refused_by_verifier("expected training_releases where a cost is reserved");
}

TEST(ClonesBoundTest, TwoMethodsAgreeToAHundredth) {
  struct Row {
    std::uint64_t others;
    double record;
    double silo;
    std::uint64_t rounds;
    double epsilon;
  };
  for (const Row& row : {Row{999, 0.1, 2.9, 1, 0.05}, Row{999, 0.158, 2.0, 100, 0.5}, Row{999, 0.155, 1.93, 400, 1.0},
                         Row{9999, 0.5611, 3.79, 50, 1.0}, Row{4, 0.3, 1.0, 5, 0.6}, Row{99, 2.0, 0.5, 3, 2.0}}) {
    SCOPED_TRACE(fmt::format("{} others, {} rounds", row.others, row.rounds));
    const accounting::LossLawPtr law = accounting::clones_law(row.others, row.record, row.silo).value();
    const double product = accounting::composed_delta({{law, row.rounds}}, row.epsilon).value().upper;
    const auto verified = [&](double epsilon) {
      const verifier::Mixing mixing{row.others, row.record, row.silo};
      return static_cast<double>(verifier::mixed_delta(mixing, row.rounds, epsilon).value());
    };
    // Of epsilon: a hundred rounds' delta falls by several times as much.
    EXPECT_LE(verified(1.01 * row.epsilon), product);
    EXPECT_GE(verified(0.99 * row.epsilon), product);
    if (row.rounds > 1) continue;
    const double direct = accounting::clone_delta(row.others, row.record, row.silo, row.epsilon);
    EXPECT_GE(verified(row.epsilon), direct * (1.0 - 1e-7));
    EXPECT_NEAR(verified(row.epsilon), direct, 0.01 * direct);
  }
}

TEST(ClonesBoundTest, TheVariationIsTheProducts) {
  for (const std::int64_t drawn : {1, 3, 20}) {
    SCOPED_TRACE(drawn);
    const accounting::DrawnReports reports{static_cast<double>(drawn) / 20.0, drawn,
                                           releases::GaussianShift::create(0.33).value()};
    const double product = accounting::clones_total_variation(1000, reports, 0.158, 2.0).value();
    const long double verified = verifier::mixed_variation({999, 0.158L, 2.0L}, {0.33L, drawn, 20});
    EXPECT_NEAR(static_cast<double>(verified), product, 1e-9 * product);
  }
}

TEST(ClonesBoundTest, TheProfileIsThatOfEveryOutcomeAddedUp) {
  // Two others, each a clone with chance c = e^-1, record epsilon ln 3: D is one with probability 3/4. Total variation:
  // no clone 1/2; one clone, two messages: (1/4)(3/4 - 1/4) + ... ones 0, 1, 2 have P 1/8, 4/8, 3/8, Q mirrored: 1/4;
  // two clones: ones 0 .. 3 have P (1, 5, 7, 3)/16, Q mirrored: (2 + 2)/16 = 1/4.
  const double c = std::exp(-1.0);
  const double expected = (1 - c) * (1 - c) * 0.5 + 2 * c * (1 - c) * 0.25 + c * c * 0.25;
  const verifier::Polygon profile = verifier::mixed_profile({2, std::log(3.0L), 1.0L}).value();
  EXPECT_NEAR(static_cast<double>(profile.front().height), expected, 1e-8);
  EXPECT_NEAR(static_cast<double>(profile.back().height), 0.0, 1e-30);
  EXPECT_FALSE(verifier::mixed_profile({2, 0.0L, 1.0L}));
  EXPECT_FALSE(verifier::mixed_profile({1'000'000, 1.0L, 1.0L}));
}

}  // namespace
}  // namespace undertone::silo
