#pragma once

#include <span>

namespace undertone::models {

// Eigen's vectors of eight, the last one filled up: a number's image is a function of that number alone, not of its
// place, its neighbours, or which of the C library's variants the processor is given.

/// values_i = e^values_i, to two units in the last place; NaN stays NaN.
void exponentiate(std::span<double> values);

/// Replaces each value by e^(value - the largest) and returns their sum, added up in order. @param values not empty
double exponentials_sum(std::span<double> values);

/// values_i = tanh(values_i), to four units in the last place; NaN stays NaN.
/// Source below 1/2: Lambert's continued fraction, cut after the seventh level (off by less than 2^-52).
void hyperbolic_tangents(std::span<double> values);

}  // namespace undertone::models
