#include <algorithm>
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/privacy/secure_bits.hpp"
#include "shuffler/batch/batch_machine.hpp"

/// The orders in which five messages leave the machine, on the operating system's randomness.
namespace undertone::shuffler {
namespace {

constexpr std::size_t kSilos = 5;
constexpr std::size_t kOrders = 120;
constexpr std::uint64_t kBatches = 600'000;  // 5000 for each order
// Two checks. The chi-square law of 119 degrees of freedom is above 238.64 with probability 5e-10: a false alarm in
// 1e-9 runs. Probabilities that are off by delta (root mean square, relative to 1/120) move the statistic to the
// non-central law of parameter 600000 delta^2; at delta = 2.42 % that is 350, and is missed with probability 1e-11.
constexpr double kThreshold = 238.7;

using Order = std::array<std::size_t, kSilos>;

/// 0 .. 119. Source: Lehmer's code.
std::size_t rank_of(const Order& order) {
  std::size_t rank = 0;
  for (std::size_t i = 0; i < kSilos; ++i) {
    std::size_t smaller = 0;
    for (std::size_t j = i + 1; j < kSilos; ++j) smaller += order[j] < order[i] ? 1 : 0;
    rank = rank * (kSilos - i) + smaller;
  }
  return rank;
}

struct Statistics {
  double by_silo = 0.0;     // the order of the silos whose messages left
  double by_arrival = 0.0;  // the order in which these had come
};

Statistics chi_squares(Permuter& permuter) {
  std::vector<SiloId> silos;
  for (const char* name : {"a", "b", "c", "d", "e"}) silos.push_back(SiloId::create(name).value());
  BatchMachine machine(Limits{}, permuter);
  RandomSource arrivals(1);
  std::vector<double> by_silo(kOrders, 0.0);
  std::vector<double> by_arrival(kOrders, 0.0);
  BatchSpec spec{{}, {0}, 0, silos, 2, 1, std::chrono::milliseconds(1)};
  for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
    spec.round = {batch};
    (void)machine.open(spec, {});
    const std::vector<std::size_t> coming = arrivals.permutation(kSilos);
    Order came{};  // by silo
    std::vector<BatchMachine::Action> actions;
    for (std::size_t i = 0; i < kSilos; ++i) {
      came[coming[i]] = i;
      const std::string message(1, static_cast<char>('0' + coming[i]));
      actions = machine.on_message(silos[coming[i]], spec.run, spec.round, message, {});
    }
    for (const BatchMachine::Action& action : actions) {
      const auto* forward = std::get_if<BatchMachine::Forward>(&action);
      if (forward == nullptr) continue;
      Order left{};
      Order left_as_come{};
      for (std::size_t place = 0; place < kSilos; ++place) {
        left[place] = static_cast<std::size_t>(forward->messages[place][0] - '0');
        left_as_come[place] = came[left[place]];
      }
      by_silo[rank_of(left)] += 1.0;
      by_arrival[rank_of(left_as_come)] += 1.0;
    }
    (void)machine.on_delivered(spec.run, spec.round);
  }
  const auto chi_square = [](const std::vector<double>& counts) {
    const double expected = static_cast<double>(kBatches) / kOrders;
    double sum = 0.0;
    for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
    return sum;
  };
  return {chi_square(by_silo), chi_square(by_arrival)};
}

/// Ways to permute that are nearly right.
class Crooked final : public Permuter {
 public:
  using Draw = std::function<std::size_t(privacy::SecureBits&, std::size_t)>;
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
  privacy::SecureBits bits_ = privacy::SecureBits::from_os();
};

TEST(ShufflerOrdersTest, All120OrdersOfFiveAreEquallyLikely) {
  BitsPermuter<privacy::SecureBits> permuter(privacy::SecureBits::from_os());
  const Statistics found = chi_squares(permuter);
  EXPECT_LT(found.by_silo, kThreshold);
  EXPECT_LT(found.by_arrival, kThreshold);
}

TEST(ShufflerOrdersTest, OrdersThatAreNearlyUniformAreNoticed) {
  const std::vector<std::pair<const char*, Crooked::Draw>> crooked = {
      {"any of all five", [](privacy::SecureBits& bits, std::size_t) { return privacy::uniform_below(bits, kSilos); }},
      {"never itself", [](privacy::SecureBits& bits, std::size_t i) { return privacy::uniform_below(bits, i - 1); }},
      // Of 64 values the first four of 5, say, come 13 times and the last 12 times.
      {"a remainder of six bits",
       [](privacy::SecureBits& bits, std::size_t i) { return static_cast<std::size_t>(bits.word() >> 58U) % i; }},
  };
  for (const auto& [name, draw] : crooked) {
    SCOPED_TRACE(name);
    Crooked permuter(draw);
    EXPECT_GT(chi_squares(permuter).by_silo, kThreshold);
  }
}

}  // namespace
}  // namespace undertone::shuffler
