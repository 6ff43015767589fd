#include "shared/jobs/noise_choice.hpp"

#include <cmath>

namespace undertone::jobs {

NoiseChoice parse_noise_choice(config::Section section) {
  NoiseChoice out;
  out.by = section.choice<NoiseChoice::By>("by",
                                           {{"accountant", NoiseChoice::By::Accountant},
                                            {"theorem", NoiseChoice::By::Theorem},
                                            {"hand", NoiseChoice::By::Hand}},
                                           "the least noise that keeps the promise, the source's closed form, or a "
                                           "number; what it costs is charged in any case");
  if (section.recording() || out.by == NoiseChoice::By::Hand) {
    out.noise_multiplier = section.number("noise_multiplier", 0.0, 1e9,
                                          "by hand: standard deviation / sensitivity of each training release", true);
  }
  section.finish();
  return out;
}

Result<algorithms::GradientShape> with_noise(const NoiseChoice& choice, algorithms::GradientShape shape,
                                             const algorithms::Method& method, const releases::SiloFacts& facts) {
  if (choice.by == NoiseChoice::By::Accountant) return shape;
  algorithms::NoiseShifts shifts;
  if (choice.by == NoiseChoice::By::Hand) {
    shifts.gradients = {1.0 / choice.noise_multiplier};
    shifts.difference = shifts.gradients.front();
  } else {
    const auto records = static_cast<double>(facts.records);
    const double drawn = std::max(1.0, std::floor(shape.draw_fraction * records));
    Result<algorithms::NoiseShifts> printed =
        method->theorem_noise({records, drawn, facts.epsilon().value(), facts.delta()});
    if (!printed) return Error{printed.error().code, facts.silo.name() + ": " + printed.error().message};
    shifts = *std::move(printed);
  }
  for (const double shift : shifts.gradients) {
    UNDERTONE_TRY(const releases::GaussianShift value, releases::GaussianShift::create(shift));
    shape.gradient_shifts.push_back(value);
  }
  if (!shifts.difference) return shape;
  UNDERTONE_TRY(const releases::GaussianShift value, releases::GaussianShift::create(*shifts.difference));
  shape.difference_shift = value;
  return shape;
}

}  // namespace undertone::jobs
