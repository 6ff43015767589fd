#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "shared/mechanisms/lattice.hpp"
#include "shared/releases/ask.hpp"
#include "silo/oracles/record_sums.hpp"

namespace undertone::silo {

/// A record as feature maps read it.
[[nodiscard]] statistics::EncodedRecord encoded_record(const models::Records& block, std::int64_t record);

/// Exact integer totals of numbers of the drawn records themselves, in units of the lattice.
/// An indicator adds 1 where its number is exactly 1, else nothing. Any other number is clamped to the range and
/// rounded to the nearest unit; what is not finite counts as the range's middle. The range's ends are whole units, so
/// that replacing a record moves a coordinate by at most (high - low) / step, or 1 of an indicator, whatever the
/// records hold, and each coordinate by itself: that is a fact about integers. Source: spec statistics 1.
/// @param range of numbers, whose ends are multiples of the lattice's step
/// @return [coordinates]
[[nodiscard]] std::vector<std::int64_t> statistic_totals(const releases::StatisticMap& statistic,
                                                         const releases::RangeBound& range,
                                                         const mechanisms::Lattice& lattice,
                                                         const RecordSums::Drawn& drawn);

/// The same numbers of each record by itself, on the coordinate that its slot says: of the i-th drawn record that of
/// slots[i] mod coordinates. A person's number is the mean over her records' numbers, clamped and rounded like a
/// record's; of indicators it is the share of her records where it is exactly 1, in units of the lattice.
/// @param slots [drawn] each >= 0 @return [drawn]
[[nodiscard]] std::vector<std::int64_t> statistic_numbers(const releases::StatisticMap& statistic,
                                                          const releases::RangeBound& range,
                                                          const mechanisms::Lattice& lattice,
                                                          const RecordSums::Drawn& drawn,
                                                          std::span<const std::int64_t> slots);

/// Exact integer totals of a feature map over the drawn records, in one pass: of cells as many units of the lattice as
/// there are records in them, of everything else each record's contribution times the units of 1, rounded.
/// Replacing a record moves them by at most what the map says of pairs of records, since a number is clamped to [-1, 1]
/// and a record is in one cell of an axis at most, whatever it holds. Of persons each adds what `form` says of her
/// records, and replacing a person moves them by no more than `releases::pair_distance` says.
/// Source: spec statistics 1, 3; person-unit 6.1, 6.2.
/// @param lattice of which `clip` units are 1 @param form not looked at where the units are records
/// @return [dimension of the map]
[[nodiscard]] std::vector<std::int64_t> feature_totals(
    const statistics::FeatureMap& features, const mechanisms::Lattice& lattice, const RecordSums::Drawn& drawn,
    releases::PersonContribution::Form form = releases::PersonContribution::Form::Mean);

/// The totals of a map with numbers in [0, 1], of which one is selected. Of persons, what one adds is within [0,
/// levels] in every number, and where cells are ranked it is so up to every cell: one record, or one person, then moves
/// the totals, or the ranks of all edges, by `levels` at most, as a fact about integers.
/// @param levels units of 1 @param ranked whether the numbers are cells of one axis, in order @return [dimension]
[[nodiscard]] std::vector<std::int64_t> scored_totals(const statistics::FeatureMap& features, std::int64_t levels,
                                                      bool ranked, const RecordSums::Drawn& drawn);

/// One coordinate of the map of each record by itself, which its slot says: of the i-th drawn record that of slots[i]
/// mod the dimension, in units of the lattice, cut toward zero and to the map's range. A person's number is the mean
/// over her records' numbers, each cut to the range. @param slots [drawn] each >= 0
/// @pre the map has a reported range @return [drawn]
[[nodiscard]] std::vector<std::int64_t> feature_numbers(const statistics::FeatureMap& features,
                                                        const mechanisms::Lattice& lattice,
                                                        const RecordSums::Drawn& drawn,
                                                        std::span<const std::int64_t> slots);

/// This hands on the vector in a ball of each drawn record, or the mean of each person's, which is in the ball as well:
/// zero of somebody without a record. @pre nothing stands besides the vectors @param use takes [length of the map]
void for_ball_vectors(const statistics::BallMap& ball, const RecordSums::Drawn& drawn,
                      const std::function<void(const Eigen::VectorXd& vector)>& use);

}  // namespace undertone::silo
