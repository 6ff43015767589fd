#include "shared/releases/target.hpp"

#include <fmt/format.h>

#include "shared/base/overloaded.hpp"

namespace undertone::releases {

const Epsilon& epsilon_of(const Target& target) noexcept {
  return std::visit([](const auto& kind) -> const Epsilon& { return kind.epsilon; }, target);
}

double delta_of(const Target& target) noexcept {
  return std::visit(Overloaded{[](const ApproximateDp& approximate) { return approximate.delta.value(); },
                               [](const PureDp& /*pure*/) { return 0.0; },
                               [](const ConcentratedDp& concentrated) { return concentrated.delta.value(); }},
                    target);
}

std::string to_string(const Target& target) {
  const auto charged = [&] { return fmt::format("epsilon {:.6g}", epsilon_of(target).value()); };
  return std::visit(Overloaded{[&](const ApproximateDp& approximate) {
                                 return fmt::format("{}, delta {}", charged(), approximate.delta.value());
                               },
                               [&](const PureDp& /*pure*/) { return charged() + ", delta 0"; },
                               [&](const ConcentratedDp& concentrated) {
                                 return fmt::format("rho {:.6g}: {} at delta {}", concentrated.rho.value(), charged(),
                                                    concentrated.delta.value());
                               }},
                    target);
}

}  // namespace undertone::releases
