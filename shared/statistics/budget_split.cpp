#include "shared/statistics/budget_split.hpp"

#include <cmath>
#include <numeric>

#include "shared/base/bisection.hpp"

namespace undertone::statistics {
namespace {

constexpr double kEpsilonMax = 256.0;  // beyond it the variance of whole numbers is not a double
constexpr double kShiftMax = 16.0;

template <class Cost>
Result<std::vector<double>> shares(std::span<const QuestionSize> questions, const Cost& cost) {
  if (questions.empty()) return Error{ErrorCode::InvalidArgument, "a split of a budget: expected questions, got none"};
  std::vector<double> out;
  for (const QuestionSize& question : questions) {
    const double one = cost(question);
    if (!(question.weight > 0.0 && question.numbers >= 1 && question.sensitivity > 0.0 && std::isfinite(one) &&
          one > 0.0)) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("a split of a budget: question {} has weight {}, {} numbers and sensitivity {}; all are "
                               "expected to be finite and > 0",
                               out.size(), question.weight, question.numbers, question.sensitivity)};
    }
    out.push_back(one);
  }
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& share : out) share /= sum;
  return out;
}

Status check_target(const TargetWidth& target, std::int64_t silos) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0.0; };
  if (positive(target.half_width) && positive(target.sensitivity) && positive(target.step) && silos >= 1) return {};
  return Error{
      ErrorCode::InvalidArgument,
      fmt::format("a target width: expected a half-width, a sensitivity and a step that are finite and > 0, of "
                  "one silo or more, got {}, {}, {} and {}",
                  target.half_width, target.sensitivity, target.step, silos)};
}

}  // namespace

Result<std::vector<double>> gaussian_shares(std::span<const QuestionSize> questions) {
  return shares(questions, [](const QuestionSize& question) {
    return std::sqrt(question.weight * static_cast<double>(question.numbers)) * question.sensitivity;
  });
}

Result<std::vector<double>> laplace_shares(std::span<const QuestionSize> questions) {
  return shares(questions, [](const QuestionSize& question) {
    return std::cbrt(question.weight * static_cast<double>(question.numbers) * question.sensitivity *
                     question.sensitivity);
  });
}

Result<std::vector<double>> gaussian_shifts_for(std::span<const TargetWidth> targets, std::int64_t silos,
                                                Confidence confidence) {
  std::vector<double> out;
  for (const TargetWidth& target : targets) {
    UNDERTONE_TRY(check_target(target, silos));
    const double shift =
        confidence.z() * std::sqrt(static_cast<double>(silos)) * target.sensitivity / target.half_width;
    if (!(shift <= kShiftMax)) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("a target width: a half-width of {} asks for a shift of {:.3g}, at most {} is allowed",
                               target.half_width, shift, kShiftMax)};
    }
    out.push_back(shift);
  }
  return out;
}

Result<std::vector<double>> laplace_epsilons_for(std::span<const TargetWidth> targets, std::int64_t silos,
                                                 Confidence confidence) {
  std::vector<double> out;
  for (const TargetWidth& target : targets) {
    UNDERTONE_TRY(check_target(target, silos));
    if (silos > static_cast<std::int64_t>(NoiseLaw::kTermsMax)) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("a target width: expected {} silos at most, got {}", NoiseLaw::kTermsMax, silos)};
    }
    const auto narrow = [&](double epsilon) {
      const LaplaceNoise noise{target.sensitivity / (epsilon * target.step), target.step};
      const Result<NoiseLaw> law = NoiseLaw::create({static_cast<std::size_t>(silos), NoiseTerm{noise, 1.0}});
      return law && law->half_width(confidence.alpha()) <= target.half_width;
    };
    if (!narrow(kEpsilonMax)) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("a target width: a half-width of {} is out of reach at epsilon {}", target.half_width,
                               kEpsilonMax)};
    }
    // From above by halving, so that few large tables are made.
    double low = kEpsilonMax;
    while (low > 1e-9 && narrow(low)) low *= 0.5;
    if (low <= 1e-9) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("a target width: a half-width of {} is met by noise at epsilon 1e-9: nothing is asked",
                               target.half_width)};
    }
    out.push_back(bisect_reals(SearchRange<double>{low, 2.0 * low}, narrow, 40, 1e-6).high);
  }
  return out;
}

double joint_shift(std::span<const double> shifts) noexcept {
  double sum = 0.0;
  for (const double shift : shifts) sum += shift * shift;
  return std::sqrt(sum);
}

double total_epsilon(std::span<const double> epsilons) noexcept {
  return std::accumulate(epsilons.begin(), epsilons.end(), 0.0);
}

}  // namespace undertone::statistics
