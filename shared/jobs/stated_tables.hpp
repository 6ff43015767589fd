#pragma once

#include <span>
#include <string>

#include "shared/algorithms/one_round/statistic_asked.hpp"
#include "shared/jobs/stated_statistics.hpp"
#include "shared/statistics/contingency.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::jobs {

/// Adds what is inferred from the cells of a table, at no further cost: of a tested one a test of independence, and of
/// two by two values the odds ratio and the risk ratio; of a modelled one the coefficients of a logistic regression.
/// Each silo is a stratum: silos that differ in both columns would else make a connection that none of them has.
/// @param silos one or more @param name of the question: public draws of the test are seeded by it, so that the same
/// answers have the same p-value
/// Source: spec survival 5, 7.
void put_table_inference(const algorithms::TableAsked& asked, const std::string& name,
                         std::span<const statistics::Stratum> silos, statistics::Confidence confidence, bool sampling,
                         StatedQuestion& out);

}  // namespace undertone::jobs
