#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/crypto/secure_bits.hpp"
#include "shuffler/batch/batch_machine.hpp"
#include "tests/support/plain_adder.hpp"

/// The orders in which a batch's units leave the machine, on the operating system's randomness.
namespace undertone::shuffler {
namespace {

constexpr std::uint64_t kBatches = 600'000;

/// What each batch is made of, and what its statistics are held to.
///
/// The chi-square law of 119 degrees of freedom is above 238.64 with probability 5e-10, that of 23 above 90.91: two
/// checks of each shape are a false alarm in 2e-9 runs. Probabilities that are off by delta (root mean square, relative
/// to one order's) move the statistic to the non-central law of parameter 600000 delta^2; at delta = 2.42 % that is
/// 350, and is missed among 120 orders with probability 1e-11; at delta = 2 % it is 240, and missed among 24 with
/// 4e-12.
struct Shape {
  std::size_t silos = 0;
  std::size_t units_each = 0;
  std::size_t orders = 0;  // of all units
  double threshold = 0.0;

  [[nodiscard]] std::size_t units() const { return silos * units_each; }
};
constexpr Shape kFiveMessages{5, 1, 120, 238.7};
constexpr Shape kTwoPairs{2, 2, 24, 91.0};

using Order = std::vector<std::size_t>;

/// 0 .. orders-1. Source: Lehmer's code.
std::size_t rank_of(const Order& order) {
  std::size_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::size_t smaller = 0;
    for (std::size_t j = i + 1; j < order.size(); ++j) smaller += order[j] < order[i] ? 1 : 0;
    rank = rank * (order.size() - i) + smaller;
  }
  return rank;
}

struct Statistics {
  double by_silo = 0.0;     // the order of the silos whose units left
  double by_arrival = 0.0;  // the order in which these had come
};

Statistics chi_squares(const Shape& shape, Permuter& permuter) {
  BatchSpec spec{{}, {0}, 0, {}, 2, shape.units_each, 1, 0, {}, std::chrono::milliseconds(1)};
  for (std::size_t i = 0; i < shape.silos; ++i)
    spec.expected.push_back(SiloId::create(std::string(1, "abcde"[i])).value());
  tests::PlainAdder adder;
  BatchMachine machine(Limits{}, permuter, adder);
  RandomSource arrivals(1);
  std::vector<double> by_silo(shape.orders, 0.0);
  std::vector<double> by_arrival(shape.orders, 0.0);
  Order came(shape.units());  // by unit
  Order left(shape.units());
  Order left_as_come(shape.units());
  for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
    spec.round = {batch};
    (void)machine.open(spec, {});
    const std::vector<std::size_t> coming = arrivals.permutation(shape.silos);
    std::vector<BatchMachine::Action> actions;
    for (std::size_t i = 0; i < shape.silos; ++i) {
      std::string message;
      for (std::size_t j = 0; j < shape.units_each; ++j) {
        const std::size_t unit = coming[i] * shape.units_each + j;
        came[unit] = i * shape.units_each + j;
        message.push_back(static_cast<char>('0' + unit));
      }
      actions =
          machine.on_message(spec.expected[coming[i]], spec.run, spec.round, {{}, spec.unit_bytes, 0}, message, {});
    }
    for (const BatchMachine::Action& action : actions) {
      const auto* forward = std::get_if<BatchMachine::Forward>(&action);
      if (forward == nullptr) continue;
      for (std::size_t place = 0; place < shape.units(); ++place) {
        left[place] = static_cast<std::size_t>(forward->units[place][0] - '0');
        left_as_come[place] = came[left[place]];
      }
      by_silo[rank_of(left)] += 1.0;
      by_arrival[rank_of(left_as_come)] += 1.0;
    }
    (void)machine.on_delivered(spec.run, spec.round);
  }
  const auto chi_square = [&shape](const std::vector<double>& counts) {
    const double expected = static_cast<double>(kBatches) / static_cast<double>(shape.orders);
    double sum = 0.0;
    for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
    return sum;
  };
  return {chi_square(by_silo), chi_square(by_arrival)};
}

/// Ways to permute that are nearly right.
class Crooked final : public Permuter {
 public:
  using Draw = std::function<std::size_t(crypto::SecureBits&, std::size_t)>;
  /// @param draw with which of the `count` places the place before the i-th is exchanged
  explicit Crooked(Draw draw) : draw_(std::move(draw)) {}
  std::vector<std::int64_t> order(std::int64_t count) override {
    std::vector<std::int64_t> out(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(i);
    for (std::size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[draw_(bits_, i)]);
    return out;
  }

 private:
  Draw draw_;
  crypto::SecureBits bits_ = crypto::SecureBits::from_os();
};

/// Mixes the messages of two units each, and leaves the units of a message side by side.
class WholeMessages final : public Permuter {
 public:
  std::vector<std::int64_t> order(std::int64_t count) override {
    std::vector<std::int64_t> out;
    for (const std::int64_t message : noise::sample_permutation(count / 2, bits_)) {
      out.push_back(2 * message);
      out.push_back(2 * message + 1);
    }
    return out;
  }

 private:
  crypto::SecureBits bits_ = crypto::SecureBits::from_os();
};

void expect_every_order(const Shape& shape) {
  BitsPermuter<crypto::SecureBits> permuter(crypto::SecureBits::from_os());
  const Statistics found = chi_squares(shape, permuter);
  EXPECT_LT(found.by_silo, shape.threshold);
  EXPECT_LT(found.by_arrival, shape.threshold);
}

TEST(ShufflerOrdersTest, All120OrdersOfFiveAreEquallyLikely) { expect_every_order(kFiveMessages); }

TEST(ShufflerOrdersTest, UnitsOfDifferentSilosAreMixedAmongEachOther) {
  expect_every_order(kTwoPairs);
  WholeMessages permuter;
  EXPECT_GT(chi_squares(kTwoPairs, permuter).by_silo, kTwoPairs.threshold);
}

TEST(ShufflerOrdersTest, OrdersThatAreNearlyUniformAreNoticed) {
  const std::vector<std::pair<const char*, Crooked::Draw>> crooked = {
      {"any of all five", [](crypto::SecureBits& bits, std::size_t) { return crypto::uniform_below(bits, 5); }},
      {"never itself", [](crypto::SecureBits& bits, std::size_t i) { return crypto::uniform_below(bits, i - 1); }},
      // Of 64 values the first four of 5, say, come 13 times and the last 12 times.
      {"a remainder of six bits",
       [](crypto::SecureBits& bits, std::size_t i) { return static_cast<std::size_t>(bits.word() >> 58U) % i; }},
  };
  for (const auto& [name, draw] : crooked) {
    SCOPED_TRACE(name);
    Crooked permuter(draw);
    EXPECT_GT(chi_squares(kFiveMessages, permuter).by_silo, kFiveMessages.threshold);
  }
}

}  // namespace
}  // namespace undertone::shuffler
