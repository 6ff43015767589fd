#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/algorithms/printed_noise.hpp"
#include "shared/algorithms/problem.hpp"

namespace undertone::config {
class Section;
}

namespace undertone::algorithms {

/// How much a method asks: rounds in all, and entries of its schedule; what leaves 64 bits counts as the largest
/// number.
struct Extent {
  std::uint64_t rounds = 0;
  std::uint64_t entries = 0;
};

/// What a job's other sections ask of a method before they go with it.
struct MethodTraits {
  bool shuffled = true;             // its answers may reach the coordinator through shufflers
  bool shuffled_reports = false;    // also mixed unread, each silo's noised sum whole
  bool takes_subgradients = false;  // a loss may have kinks
  bool one_whole_step = false;      // its output is the start less the mean answer, nothing else
  std::uint64_t local_steps = 0;    // a silo's own between two messages; 0: silos answer with gradients
  /// What a record's contribution is bounded in: a job has to give the bound that its method asks for.
  /// ItsMap: the job gives none, since what is asked for bounds pairs of records by itself.
  enum class BoundedIn : std::uint8_t { L2, EveryCoordinate, ItsMap };
  BoundedIn bounded_in = BoundedIn::L2;
  double clip_exponent = 2.0;  // of bounded_in L2: above 2 it is the dual norm l_q of the method's own, up to infinity
  bool generalised_noise = false;  // where a job does not name the law of its noise it is a generalised Gaussian's
  /// beta of a record's loss in the method's norm, which differences' noise rests on: no less than what is proven.
  std::optional<double> smoothness = {};
  bool linear_models = false;  // for these alone
  bool twice_differentiable =
      false;                       // of losses that are so everywhere, with rank-one second derivatives: the logistic
  bool log_link = false;           // then those of the poisson loss are served, too
  bool evaluated = true;           // its model may be evaluated on records that silos hold out
  bool simulated_only = false;     // a baseline: no coordinator takes such a job, no silo answers it
  std::uint32_t step_records = 1;  // of one local step
  bool public_records_alone = false;  // it is the model of a job's public records, and asks silos nothing
  /// A job has to say where public records are, and where it does not say their weight, every record counts alike.
  bool needs_public_records = false;
  bool attribute_alone = false;   // it can protect records' sensitive attributes alone
  bool centred = false;           // answers are relative to a public centre, so that a sum of weights below 1 moves it
  bool states_intervals = false;  // its outcome says how sure it is: where no silo holds records out, nobody evaluates
  bool records_report = false;    // each record's answer is randomised by itself: it is epsilon-DP, and once in the run
};

/// A bound on the outcome of a run, in expectation, with its constants.
struct RiskBound {
  double bound = 0.0;
  std::string measure;  // "excess risk"
  std::string source;
  bool exact_means = false;  // only where the theorem, if any, has all silos answer, and no batch is a multiset
};

/// One silo of a cohort, as what asks it sees it.
struct WeighedPlan {
  const planning::Plan* plan = nullptr;  // of a schedule that asks as the method does
  double share = 0.0;                    // of the cohort's weights, all of which add up to 1
};

using MethodNumbers = std::vector<std::pair<std::string, double>>;

/// What a job says about one algorithm, whichever that is: its settings behind an interface. A value; copies share the
/// settings, which never change. A struct of settings becomes a method where it has
///   using Algorithm = ...;  // with `create(settings)` and `schedule(settings, shape)`
///   Problem problem;        // but of a method that minimises nothing
///   name(), source(), numbers(), extent(), traits()
/// and, where the source has them, theorem_noise(facts), experiment_noise(facts), predicted_risk(...) and
/// planned_risk(silos) as below.
class Method {
 public:
  class Interface {
   public:
    virtual ~Interface() = default;
    /// As jobs and policies name it: "noisy_minibatch_sgd".
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Where it comes from: "noisy minibatch SGD, Algorithms 14 and 19".
    [[nodiscard]] virtual std::string source() const = 0;
    /// Its numbers by name, for results.
    [[nodiscard]] virtual MethodNumbers numbers() const = 0;
    /// In closed form: a job's numbers are not to be trusted with memory before they are looked at.
    [[nodiscard]] virtual Extent extent() const = 0;
    [[nodiscard]] virtual MethodTraits traits() const = 0;
    /// Of no numbers where it minimises nothing.
    [[nodiscard]] virtual const Problem& problem() const = 0;
    /// What it asks of every silo, in order. @pre its extent was looked at
    [[nodiscard]] virtual planning::Schedule schedule(const GradientShape& shape) const = 0;
    /// The algorithm at its start. @return an error that names the setting that does not serve
    [[nodiscard]] virtual Result<std::unique_ptr<FederatedAlgorithm>> make() const = 0;
    /// Does the same from another starting point. @param point [d], in the domain up to rounding
    [[nodiscard]] virtual Result<std::unique_ptr<FederatedAlgorithm>> make_at(Eigen::VectorXd point) const = 0;
    /// The noise that the source prints for its theorem; local SGD, which has none, gives that of the experiments.
    /// @see NoiseShifts
    /// @return an error that says which condition fails, with both numbers, or that there is no theorem
    [[nodiscard]] virtual Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const = 0;
    /// The noise of the source's experiments, "by the moments accountant", with the same meaning and reservation.
    /// @return an error where a number is out of range, and where the experiments leave the algorithm out
    [[nodiscard]] virtual Result<NoiseShifts> experiment_noise(const NoiseFacts& facts) const = 0;
    /// A bound of convex losses whose records' gradients are no longer than the clip norm, where the method has one.
    /// @param noise_variance of a coordinate of the weighted mean gradient
    /// @param modulus_known whether a theorem answers for a strong convexity that the settings were made with
    [[nodiscard]] virtual std::optional<RiskBound> predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                                  bool modulus_known) const = 0;
    /// The same of methods whose bound is of the silos' very plans, as of selections.
    /// @param silos all of them, at least one
    [[nodiscard]] virtual std::optional<RiskBound> planned_risk(std::span<const WeighedPlan> silos) const = 0;
  };

  template <class Settings>
  requires requires { typename Settings::Algorithm; }
  Method(Settings settings) : self_(std::make_shared<const Of<Settings>>(std::move(settings))) {}

  const Interface* operator->() const noexcept { return self_.get(); }

  /// The settings of one algorithm, if it is that one.
  template <class Settings>
  [[nodiscard]] const Settings* as() const noexcept {
    const auto* own = dynamic_cast<const Of<Settings>*>(self_.get());
    return own == nullptr ? nullptr : &own->settings;
  }

 private:
  template <class Settings>
  class Of;
  std::shared_ptr<const Interface> self_;
};

/// What a parser makes of a job's `algorithm`.
struct ParsedMethod {
  Method method;
  double draw_fraction = 1.0;  // of the records that a sampled release reads
};

/// The errors of a method without a theorem, of one that the experiments leave out, of one that starts nowhere, and of
/// an empty model.
[[nodiscard]] Error no_theorem_noise(const std::string& source);
[[nodiscard]] Error no_experiment_noise(const std::string& source);
[[nodiscard]] Error no_start(const std::string& source);
[[nodiscard]] Status check_dimension(const Problem& problem);
/// Of no numbers.
[[nodiscard]] const Problem& no_problem();

template <class Settings>
class Method::Of final : public Interface {
 public:
  explicit Of(Settings own) : settings(std::move(own)) {}
  const Settings settings;

  [[nodiscard]] std::string_view name() const override { return settings.name(); }
  [[nodiscard]] std::string source() const override { return settings.source(); }
  [[nodiscard]] MethodNumbers numbers() const override { return settings.numbers(); }
  [[nodiscard]] Extent extent() const override { return settings.extent(); }
  [[nodiscard]] MethodTraits traits() const override { return settings.traits(); }
  [[nodiscard]] const Problem& problem() const override {
    if constexpr (requires { settings.problem; })
      return settings.problem;
    else
      return no_problem();
  }
  [[nodiscard]] planning::Schedule schedule(const GradientShape& shape) const override {
    return Settings::Algorithm::schedule(settings, shape);
  }
  [[nodiscard]] Result<std::unique_ptr<FederatedAlgorithm>> make() const override { return make_of(settings); }
  [[nodiscard]] Result<std::unique_ptr<FederatedAlgorithm>> make_at(
      [[maybe_unused]] Eigen::VectorXd point) const override {
    if constexpr (requires { settings.problem; }) {
      Settings there = settings;
      if (Status starts = there.problem.start_at(std::move(point)); !starts) return starts.error();
      return make_of(there);
    }
    return no_start(source());
  }
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const override {
    if (Status fits = NoiseConditions("the theorem's noise", facts).plausible(); !fits) return fits.error();
    if constexpr (requires { settings.theorem_noise(facts); }) return settings.theorem_noise(facts);
    return no_theorem_noise(source());
  }
  [[nodiscard]] Result<NoiseShifts> experiment_noise(const NoiseFacts& facts) const override {
    if (Status fits = NoiseConditions("the experiments' noise", facts).plausible(); !fits) return fits.error();
    if constexpr (requires { settings.experiment_noise(facts); }) return settings.experiment_noise(facts);
    return no_experiment_noise(source());
  }
  [[nodiscard]] std::optional<RiskBound> predicted_risk([[maybe_unused]] releases::ClipNorm clip,
                                                        [[maybe_unused]] double noise_variance,
                                                        [[maybe_unused]] bool modulus_known) const override {
    if constexpr (requires { settings.predicted_risk(clip, noise_variance, modulus_known); })
      return settings.predicted_risk(clip, noise_variance, modulus_known);
    return std::nullopt;
  }
  [[nodiscard]] std::optional<RiskBound> planned_risk(
      [[maybe_unused]] std::span<const WeighedPlan> silos) const override {
    if constexpr (requires { settings.planned_risk(silos); }) return settings.planned_risk(silos);
    return std::nullopt;
  }

 private:
  [[nodiscard]] static Result<std::unique_ptr<FederatedAlgorithm>> make_of(const Settings& of) {
    if constexpr (requires { of.problem; })
      if (Status some = check_dimension(of.problem); !some) return some.error();
    UNDERTONE_TRY(auto made, Settings::Algorithm::create(of));
    return std::unique_ptr<FederatedAlgorithm>(std::move(made));
  }
};

}  // namespace undertone::algorithms
