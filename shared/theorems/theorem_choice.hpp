#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/method.hpp"
#include "shared/theorems/mean_oracle.hpp"

namespace undertone::theorems {

/// One silo's records and target: n_i, epsilon_i, delta_i.
struct SiloTarget {
  double records = 0.0;
  double epsilon = 0.0;
  double delta = 0.0;
};

/// How a shuffled job's answers are mixed.
struct ShuffledAnswers {
  double honest = 0.0;   // silos of a round whose coins certainly count: in 1 .. M
  bool reports = false;  // each silo's noised sum is mixed whole; else they are binomial sums
};

/// Public constants as the theorems name them: assumptions that whoever writes the job answers for, never read off
/// records. One number where silos differ: the worst of them. No bound is a default; what a theorem does not use may
/// stay 0.
struct TheoremFacts {
  std::vector<SiloTarget> members = {};          // of every silo where they differ; empty where all are alike
  std::optional<ShuffledAnswers> shuffled = {};  // of mode "shuffle": then (epsilon, delta) is of the shuffled view
  double silos = 0.0;                            // N >= 1
  double answering = 0.0;                        // M, 1/M = E[1/M_r]: in 1 .. N
  double records = 0.0;                          // n: the least over silos, of the training block; a whole number >= 1
  double epsilon = 0.0;                          // of every silo: the least
  double delta = 0.0;                            // of every silo: the least
  double lipschitz = 0.0;         // L: the clip norm, or the bound on every coordinate, which none exceeds
  double diameter = 0.0;          // D: of the domain
  double smoothness = 0.0;        // beta, of a record's loss; a squared l2 regulariser adds its own
  double smoothness_l1 = 0.0;     // the same from l_1 to l_inf, where it is proven, at most `smoothness`; 0: unknown
  double strong_convexity = 0.0;  // mu of F, its regulariser included, 0: convex; the proximal-PL constant of F there
  double gap = 0.0;               // Delta >= F(w_0) - F*
  double heterogeneity = 0.0;     // bound on upsilon^2, the mean over silos of ||grad F_i - grad F||^2: 0 for i.i.d.
  bool heterogeneity_assumed = false;  // nobody said it: 0 is a default
  double gradient_variance = 0.0;      // bound on phi^2, a record's gradient about its silo's mean: L^2 always serves
  std::uint64_t seed = 0;              // public, of the choice of an output
  /// This is there for theorems that choose the clip. `lipschitz` is then 1, and what follows from it is for a clip
  /// of 1.
  std::optional<MomentBound> moment = {};
  /// The moment is then of every coordinate, and this is how gradients are cut and averaged.
  std::optional<CoordinateMeans> coordinates = {};

  /// @param dimension of a gradient @pre there is a moment
  [[nodiscard]] MeanOracle oracle(double dimension) const {
    return coordinates ? MeanOracle(*moment, dimension, *coordinates) : MeanOracle(*moment, dimension);
  }
};

/// The noise that is planned with where a parameter depends on it, and the batches that go with it. Proximal SGD, SVRG
/// and SPIDER have batches of their own.
enum class PlannedNoise : std::uint8_t {
  Printed,     // the theorem's closed form, the least batches that serve it
  Accountant,  // full batches, whose exact shift the accountant finds: the shift of (epsilon, delta) / sqrt(R)
};

/// What a theorem is about: convex and smooth losses, or smooth ones of whom its constants say the rest (proximal-PL,
/// a bounded gap), or convex ones that may have kinks.
enum class TheoremLosses : std::uint8_t { Convex, Smooth, ConvexWithKinks };

/// The measures of the theorems of convex losses. The second is of theorems that need a population, of which silos'
/// records are independent draws.
inline constexpr const char* kExcessRisk = "excess risk";
inline constexpr const char* kPopulationRisk = "excess risk over the population";

/// What a theorem makes of a job's facts.
struct TheoremChoice {
  algorithms::Method method;
  double draw_fraction = 1.0;       // K/n of the sampled releases; 1 where parts are read whole
  std::optional<double> clip = {};  // where the theorem chooses it
  struct Reason {
    std::string name;  // "rounds"
    double value = 0.0;
    std::string why;  // the formula, without its source
  };
  std::vector<Reason> reasons = {};
  TheoremFacts facts = {};           // what it was made of
  std::string measure = {};          // what `bound` is of, and `rate` where it has no measure of its own
  std::string rate_measure = {};     // "excess risk over the population"; empty: as of the bound
  std::optional<double> bound = {};  // with its constants, at the planned noise; nothing where none is known to hold
  // The same at any noise, where that is known before the accountant has planned: of the variance per coordinate of the
  // means over silos, all kinds of answers added up. It holds where all silos answer.
  std::function<double(double noise_variance)> bound_at = {};
  double rate = 0.0;        // the theorem's, its constants dropped: no bound
  std::string source = {};  // "Theorem 34"
  TheoremLosses losses = TheoremLosses::Convex;
  std::optional<double> envelope = {};  // beta of the Moreau envelope that stands for a loss with a kink, if one does
  /// L^2/(2 beta): how much less the envelope may be than the loss. What bounds the envelope's risk bounds the loss's
  /// with so much more. Source: federated-core 3.1.
  [[nodiscard]] double envelope_gap() const {
    return envelope ? facts.lipschitz * facts.lipschitz / (2.0 * *envelope) : 0.0;
  }
};

/// The parts that the choices share. Each refusal names the condition and both of its numbers.
class TheoremConditions {
 public:
  /// @return an error where a number is no number of its kind, or the model has no dimension
  [[nodiscard]] static Result<TheoremConditions> create(std::string source, const TheoremFacts& facts,
                                                        const algorithms::Problem& problem, PlannedNoise noise);

  [[nodiscard]] Error refuse(std::string what) const;
  [[nodiscard]] Status positive(std::string_view name, double value) const;
  [[nodiscard]] Status epsilon_at_most(std::string_view bound, double most) const;
  /// 0 < mu <= beta. @param smoothness of the same objective
  [[nodiscard]] Status strongly_convex(double smoothness) const;
  /// The domain is bounded, and D is no less than its diameter.
  [[nodiscard]] Status bounded_domain() const;
  /// @return the least whole number from 1 that is at least `value`; an error above 1,000,000
  [[nodiscard]] Result<std::uint64_t> whole_rounds(double value) const;

  /// Of a shuffled form: epsilon <= 15, delta < 1/2, as a binomial vector sum needs. Source: Lemma 136.
  [[nodiscard]] Status binomial_sums() const;
  [[nodiscard]] bool shuffled() const noexcept { return facts_.shuffled.has_value(); }
  /// eps^2 n^2 M^2 / (d ln(1/delta)): what `private_records` is where the noise is that of all answers together. No
  /// credit is taken for which silos the network chose, so that the source's N is M. Source: federated-core 3.7.
  [[nodiscard]] double shuffled_records() const;
  /// Noise per coordinate of the mean over M silos' binomial sums of K records each, at one of R rounds that read the
  /// same records: (1 + 1/4) (2L/shift)^2 / (H M K^2), since the coins of H honest silos keep the promise, M silos toss
  /// them, and a sum has at most a quarter more variance than the Gaussian of its guarantee. @see BinomialDemand
  [[nodiscard]] Result<double> binomial_variance(double rounds, double batch) const;

  /// K of n: with the printed noise the least of the minibatch theorems, rounded up and at most n; else n.
  [[nodiscard]] double batch(std::uint64_t rounds) const;
  /// The least double that draws `batch` of n when its product with n is rounded down.
  [[nodiscard]] double fraction_of(double batch) const;
  /// s^2 per coordinate of the mean over answering silos, in each of R releases that read K of the same records. Where
  /// silos differ, the M loudest of them answer. Source: Remark 143.
  /// @param records of which every release draws `batch`: n, or a part's
  [[nodiscard]] Result<double> noise_variance(std::uint64_t rounds, double records, double batch) const;
  /// The same where every round reads K records of its own. Source: Theorem 124.
  [[nodiscard]] Result<double> one_pass_noise_variance(double batch) const;
  /// eps^2 n^2 M / (d ln(1/delta)): as many records, without noise, vary their mean as much as privacy does. The
  /// privacy term of the rates, as n M is the sampling term. Where silos differ, ln(1/delta)/(eps n)^2 is a mean over
  /// the M silos that have most of it. Source: Remark 143.
  [[nodiscard]] double private_records() const;
  /// Bound on ||w_0 - w*||: a ball's radius and how far from its centre the start is, at most D.
  [[nodiscard]] double reach() const;
  /// Whether anything is drawn, silos or records: 1[MK < Nn].
  [[nodiscard]] bool subsampled(double batch) const;
  /// (N-M) upsilon^2 / ((N-1) M).
  [[nodiscard]] double silo_variance() const;

  [[nodiscard]] const TheoremFacts& facts() const noexcept { return facts_; }
  [[nodiscard]] const algorithms::Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] PlannedNoise noise() const noexcept { return noise_; }
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  [[nodiscard]] double dimension() const noexcept { return static_cast<double>(problem_.dimension); }
  [[nodiscard]] double log_one() const noexcept;  // ln(1/delta)
  [[nodiscard]] double log_two() const noexcept;  // ln(2/delta)

  /// A choice with its source; its numbers are still to come.
  [[nodiscard]] TheoremChoice begin(std::string measure, algorithms::Method method) const;
  /// The choice, if its algorithm takes its settings on this domain with this regulariser.
  [[nodiscard]] Result<TheoremChoice> finish(TheoremChoice choice) const;

  /// The standard deviation 2L/(K_i shift_i) of each silo's mean, K_i = floor(n_i K/n), the largest first.
  /// @param records of the least silo that are read, of a phase maybe not all @param batch K of them
  /// @param shift_of a silo's own facts, the shift of one release
  template <class ShiftOf>
  [[nodiscard]] Result<std::vector<double>> loudest_first(double records, double batch, const ShiftOf& shift_of) const {
    std::vector<double> out;
    for (const SiloTarget& silo : targets()) {
      const double scale = silo.records / facts_.records;
      const double drawn = std::max(batch, std::floor(batch * scale));
      UNDERTONE_TRY(const double shift, shift_of(algorithms::NoiseFacts{std::max(records, std::floor(records * scale)),
                                                                        drawn, silo.epsilon, silo.delta}));
      out.push_back(2.0 * facts_.lipschitz / (drawn * shift));
    }
    std::sort(out.begin(), out.end(), std::greater<>());
    return out;
  }
  /// s^2 per coordinate of the mean over any M silos, at most: the mean of the M largest variances, over M.
  template <class ShiftOf>
  [[nodiscard]] Result<double> variance_of_mean(double records, double batch, const ShiftOf& shift_of) const {
    UNDERTONE_TRY(const std::vector<double> all, loudest_first(records, batch, shift_of));
    return mean_square_of_loudest(all) / facts_.answering;
  }
  /// The first of them.
  template <class ShiftOf>
  [[nodiscard]] Result<double> loudest(double records, double batch, const ShiftOf& shift_of) const {
    UNDERTONE_TRY(const std::vector<double> all, loudest_first(records, batch, shift_of));
    return all.front();
  }
  /// Every silo that differs, or one that is as all of them.
  [[nodiscard]] std::vector<SiloTarget> targets() const;

 private:
  /// The mean of the squares of the first M, or of all where there are fewer.
  [[nodiscard]] double mean_square_of_loudest(const std::vector<double>& loudest_first) const;
  /// The shift of one of R releases of a silo, as the noise is planned.
  [[nodiscard]] Result<double> planned_shift(std::uint64_t rounds, const algorithms::NoiseFacts& silo) const;
  TheoremConditions(std::string source, const TheoremFacts& facts, const algorithms::Problem& problem,
                    PlannedNoise noise)
      : source_(std::move(source)), facts_(facts), problem_(problem), noise_(noise) {}
  std::string source_;
  TheoremFacts facts_;
  algorithms::Problem problem_;
  PlannedNoise noise_;
};

/// A job of a theorem, or of moments, makes at most so many different promises: each takes half a millisecond of the
/// thread that reads the job. Weights that are chosen by the noise have a limit of their own.
inline constexpr std::size_t kPromisesMax = 64;

/// The shift of one of R equal Gaussian releases of the same records that together are (epsilon, delta)-DP.
[[nodiscard]] Result<double> shift_of_each(double epsilon, double delta, double rounds);

/// max{1, ln x}: the logarithms of the theorems where their argument is too small for them to mean anything.
[[nodiscard]] double log_at_least_one(double value);

}  // namespace undertone::theorems
