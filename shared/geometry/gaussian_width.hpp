#pragma once

#include <Eigen/Core>

#include "shared/geometry/domain.hpp"
#include "shared/geometry/vertices.hpp"

namespace undertone::geometry {

/// The Gaussian width G_C = E sup over x in C of <g, x>, g standard normal in R^d: what Gaussian noise costs a method
/// whose steps fit C. At least that, in closed form; public constants, as the set is.
///
///   | set of radius or scale r      | bound                                            |
///   | l2 ball                       | r E||g||_2, exact                                |
///   | box                           | (upper - lower)/2 d sqrt(2/pi), exact            |
///   | l1 ball                       | r sqrt(2 ln(2d))                                 |
///   | simplex                       | r sqrt(2 ln d)                                   |
///   | groups of k, N of them        | r (sqrt(k) + sqrt(2 ln N))                       |
///   | share a of l2 beside l1       | r min{sqrt(2 ln(2d))/(1-a), E||g||_2/a}          |
///   | nuclear ball of m x l         | r (sqrt(m) + sqrt(l))                            |
///   | k listed vertices             | max distance from their mean sqrt(2 ln k)        |
///
/// Source: Talwar, Thakurta, Zhang 2014, Section 2; Davidson and Szarek 2001, Theorem II.13, for matrices. The maximum
/// of k normal variables of variance at most s^2 is at most s sqrt(2 ln k) in the mean.
/// @param d >= 1 that the domain fits @return infinity for the whole space
[[nodiscard]] double gaussian_width(const Domain& domain, Eigen::Index d);
/// @see LinearOracle for which the vertices may be
[[nodiscard]] double gaussian_width(const Vertices& vertices);

/// E||g||_2 of a standard normal g in R^d.
[[nodiscard]] double mean_gaussian_norm(Eigen::Index d);
/// sqrt(2 ln k), 0 of one: at least the mean of the largest of k standard normal variables.
[[nodiscard]] double mean_maximum_bound(double count);

}  // namespace undertone::geometry
