#include "shared/algorithms/algorithm_settings.hpp"

#include <algorithm>

#include "shared/algorithms/number.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::algorithms {
namespace {

template <class Algorithm>
Result<std::unique_ptr<FederatedAlgorithm>> as_algorithm(Result<std::unique_ptr<Algorithm>> made) {
  if (!made) return made.error();
  return std::unique_ptr<FederatedAlgorithm>(*std::move(made));
}

}  // namespace

Result<std::unique_ptr<FederatedAlgorithm>> make_algorithm(const AlgorithmSettings& settings) {
  if (problem_of(settings).dimension < 1)
    return Error{ErrorCode::InvalidArgument, "a model of no numbers: there is nothing to minimise"};
  return std::visit(
      Overloaded{[](const MinibatchSgdSettings& s) { return as_algorithm(MinibatchSgd::create(s)); },
                 [](const AcceleratedSgdSettings& s) { return as_algorithm(AcceleratedSgd::create(s)); },
                 [](const ProximalSgdSettings& s) { return as_algorithm(ProximalSgd::create(s)); },
                 [](const ProxSvrgSettings& s) { return as_algorithm(ProxSvrg::create(s)); },
                 [](const SpiderSettings& s) { return as_algorithm(Spider::create(s)); },
                 [](const SpiderAlternateSettings& s) { return as_algorithm(SpiderAlternate::create(s)); },
                 [](const LocalSgdSettings& s) { return as_algorithm(LocalSgd::create(s)); }},
      settings);
}

Extent extent_of(const AlgorithmSettings& settings) {
  constexpr std::uint64_t kMost = UINT64_MAX;
  const auto times = [](std::uint64_t a, std::uint64_t b) {
    std::uint64_t out = 0;
    return __builtin_mul_overflow(a, b, &out) ? kMost : out;
  };
  const auto plus = [](std::uint64_t a, std::uint64_t b) { return a > kMost - b ? kMost : a + b; };
  return std::visit(
      Overloaded{[](const MinibatchSgdSettings& s) {
                   return Extent{s.rounds, 1};
                 },
                 [](const AcceleratedSgdSettings& s) {
                   const std::uint64_t rounds = s.rounds();
                   return Extent{rounds, s.use == RecordUse::OnePass  ? rounds
                                         : s.use == RecordUse::Phased ? s.phases.size()
                                                                      : 1};
                 },
                 [](const ProximalSgdSettings& s) {
                   return Extent{s.rounds, s.rounds};
                 },
                 [&](const ProxSvrgSettings& s) {
                   const std::uint64_t epochs = times(s.restarts, s.epochs);
                   return Extent{times(epochs, plus(s.inner, 1)), times(epochs, 2)};
                 },
                 [&](const SpiderSettings& s) {
                   return Extent{s.rounds, times(2, plus(s.rounds / std::max<std::uint64_t>(s.period, 1), 1))};
                 },
                 [&](const SpiderAlternateSettings& s) {
                   const std::uint64_t rounds = plus(times(2, s.pairs), 1);
                   return Extent{rounds, rounds};
                 },
                 [](const LocalSgdSettings& s) {
                   return Extent{s.rounds, 1};
                 }},
      settings);
}

planning::Schedule schedule_of(const AlgorithmSettings& settings, const GradientShape& shape) {
  return std::visit(Overloaded{[&](const MinibatchSgdSettings& s) { return MinibatchSgd::schedule(s, shape); },
                               [&](const AcceleratedSgdSettings& s) { return AcceleratedSgd::schedule(s, shape); },
                               [&](const ProximalSgdSettings& s) { return ProximalSgd::schedule(s, shape); },
                               [&](const ProxSvrgSettings& s) { return ProxSvrg::schedule(s, shape); },
                               [&](const SpiderSettings& s) { return Spider::schedule(s, shape); },
                               [&](const SpiderAlternateSettings& s) { return SpiderAlternate::schedule(s, shape); },
                               [&](const LocalSgdSettings& s) { return LocalSgd::schedule(s, shape); }},
                    settings);
}

const Problem& problem_of(const AlgorithmSettings& settings) {
  return std::visit([](const auto& s) -> const Problem& { return s.problem; }, settings);
}

std::string_view kind_of(const AlgorithmSettings& settings) {
  using Name = std::string_view;
  return std::visit(
      Overloaded{[](const MinibatchSgdSettings&) { return Name("noisy_minibatch_sgd"); },
                 [](const AcceleratedSgdSettings& s) {
                   return Name(s.use == RecordUse::Phased ? "localized_accelerated_sgd" : "accelerated_sgd");
                 },
                 [](const ProximalSgdSettings&) { return Name("proximal_sgd"); },
                 [](const ProxSvrgSettings&) { return Name("prox_svrg"); },
                 [](const SpiderSettings&) { return Name("spider"); },
                 [](const SpiderAlternateSettings&) { return Name("spider_alternate"); },
                 [](const LocalSgdSettings&) { return Name("local_sgd"); }},
      settings);
}

std::string source_of(const AlgorithmSettings& settings) {
  return std::visit(
      Overloaded{[](const MinibatchSgdSettings&) { return std::string("noisy minibatch SGD, Algorithms 14 and 19"); },
                 [](const AcceleratedSgdSettings& s) {
                   return std::string(s.use == RecordUse::Phased
                                          ? "localized accelerated minibatch SGD (arXiv 2407.09690)"
                                          : "accelerated noisy minibatch SGD, Algorithm 1");
                 },
                 [](const ProximalSgdSettings&) { return std::string("noisy proximal SGD, Algorithm 20"); },
                 [](const ProxSvrgSettings& s) {
                   return std::string(s.restarts > 1 ? "FedProx-PL-SVRG, Algorithm 3" : "FedProx-SVRG, Algorithm 2");
                 },
                 [](const SpiderSettings&) { return std::string("FedProx-SPIDER, Algorithm 4"); },
                 [](const SpiderAlternateSettings&) { return std::string("SPIDER's alternate form, Algorithm 25"); },
                 [](const LocalSgdSettings&) { return std::string("ISRL-DP local SGD (B.1.10)"); }},
      settings);
}

std::vector<std::pair<std::string, double>> numbers_of(const AlgorithmSettings& settings) {
  using Numbers = std::vector<std::pair<std::string, double>>;
  return std::visit(
      Overloaded{
          [](const MinibatchSgdSettings& s) {
            return Numbers{{"rounds", number(s.rounds)}, {"step_size", s.step_size}};
          },
          [](const AcceleratedSgdSettings& s) {
            return Numbers{{"rounds", number(s.rounds())}, {"phases", number(s.phases.size())}};
          },
          [](const ProximalSgdSettings& s) {
            return Numbers{{"rounds", number(s.rounds)}, {"step_size", s.step_size}};
          },
          [](const ProxSvrgSettings& s) {
            return Numbers{{"rounds", number(s.restarts * s.epochs * (s.inner + 1))},
                           {"step_size", s.step_size},
                           {"restarts", number(s.restarts)},
                           {"epochs", number(s.epochs)},
                           {"inner", number(s.inner)}};
          },
          [](const SpiderSettings& s) {
            return Numbers{{"rounds", number(s.rounds)}, {"step_size", s.step_size}, {"period", number(s.period)}};
          },
          [](const SpiderAlternateSettings& s) {
            return Numbers{{"rounds", number(2 * s.pairs + 1)}, {"step_size", s.step_size}};
          },
          [](const LocalSgdSettings& s) {
            return Numbers{{"rounds", number(s.rounds)}, {"step_size", s.step_size}, {"local_steps", number(s.steps)}};
          }},
      settings);
}

}  // namespace undertone::algorithms
