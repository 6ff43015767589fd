#include "shared/algorithms/one_round/function_asked.hpp"

#include "shared/base/overloaded.hpp"

namespace undertone::algorithms {

std::string_view kind_of(const FunctionAsked& asked) noexcept {
  return std::visit(Overloaded{[](const MarginalsOf& /*of*/) -> std::string_view { return "marginals"; },
                               [](const KernelsOf& /*of*/) -> std::string_view { return "kernels"; },
                               [](const LossOf& /*of*/) -> std::string_view { return "loss"; }},
                    asked.of);
}

bool is_settled(const FunctionAsked& asked) noexcept {
  return std::visit(Overloaded{[](const MarginalsOf& of) { return of.degree != 0; },
                               [](const KernelsOf& of) { return of.terms != 0; },
                               [](const LossOf& of) { return of.degree != 0 && of.order != 0; }},
                    asked.of);
}

statistics::FeatureMap features_of(const FunctionAsked& asked) {
  UNDERTONE_CHECK(is_settled(asked));
  return std::visit(Overloaded{[](const MarginalsOf& of) -> statistics::FeatureMap {
                                 statistics::ConjunctionsMap map{{}, of.degree};
                                 for (const NamedLiteral& literal : of.literals)
                                   map.literals.push_back(literal.literal);
                                 return map;
                               },
                               [](const KernelsOf& of) -> statistics::FeatureMap {
                                 statistics::CosinesMap map{{}, of.terms};
                                 for (const NumberColumn& column : of.columns)
                                   map.coordinates.push_back(column.coordinate);
                                 return map;
                               },
                               [](const LossOf& of) -> statistics::FeatureMap {
                                 statistics::LossesMap map{of.loss,       {},       of.label.coordinate, of.intercept,
                                                           of.half_width, of.degree};
                                 for (const NumberColumn& column : of.columns)
                                   map.coordinates.push_back(column.coordinate);
                                 map.centre = of.centre;
                                 map.ridge = of.ridge;
                                 return map;
                               }},
                    asked.of);
}

}  // namespace undertone::algorithms
