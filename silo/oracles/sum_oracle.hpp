#pragma once

#include "shared/data/split.hpp"
#include "shared/planning/plan.hpp"
#include "shared/queries/query.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "silo/ledger/spend_token.hpp"
#include "silo/oracles/record_places.hpp"
#include "silo/oracles/record_sums.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// The exact integer sum over a block's drawn records, before noise, as the release's map, bound and mechanism say: of
/// what a model makes of a record, clipped or, for a selection, clamped; or of numbers of the record itself. How far
/// one record moves it: @see RecordSums, statistic_totals
/// @param question any but a local run @param drawn which records of the block
/// @param sums null of a job without a model, whose releases are statistics
[[nodiscard]] std::vector<std::int64_t> exact_sum(const queries::Question& question, const planning::Release& release,
                                                  const RecordSums::Drawn& drawn, RecordSums* sums);
[[nodiscard]] std::vector<std::int64_t> exact_sum(const queries::Question& question, const planning::Release& release,
                                                  const models::Records& block, const std::vector<std::int64_t>& drawn,
                                                  RecordSums* sums);

/// The exact integers of an estimate along a path: of every node its own records' terms, on its own lattice, at the
/// question's points. What one record moves is bounded by its own node's levels.
/// @param release of a selection along a path @param places of the run's permutation
/// @param persons of a block of persons, else null @return [d]
[[nodiscard]] std::vector<std::int64_t> path_sum(const queries::Question& question, const planning::Release& release,
                                                 const data::BlockReader& block, const RecordPlaces& places,
                                                 const PersonDraw* persons, RecordSums* sums);
/// The scores of its candidates, of which the highest is likeliest. @param sum as `path_sum` makes it
[[nodiscard]] std::vector<std::int64_t> path_scores(const planning::Release& release,
                                                    const std::vector<std::int64_t>& sum);

/// The scores of what a selection chooses among, of which the highest is likeliest: of vertices, of totals or of cells.
/// One record moves the difference of two of them by no more than the draw's range, which is checked.
/// @param release that selects @param sum its exact sum
[[nodiscard]] std::vector<std::int64_t> candidate_scores(const planning::Release& release,
                                                         const mechanisms::Selection& selection,
                                                         const std::vector<std::int64_t>& sum);

/// What an oracle reads of a silo: its records, and the places of these that slices are cut from.
struct OracleData {
  const data::Dataset& dataset;
  const RecordPlaces& places;           // of the block, secret and the run's own; not looked at without slices
  const PersonDraw* persons = nullptr;  // of a job of persons: which of their records this release looks at
};

/// What a release draws and adds up, before its noise.
struct DrawnSum {
  planning::Release release;      // scaled to the query's points
  std::vector<std::int64_t> sum;  // [dimension], units of the release's lattice
};
/// The draw, which looks at no record, and the exact sum over what was drawn.
/// @param planned any release but a local run, of the same kind as the query and matching the data set
[[nodiscard]] DrawnSum draw_exact_sum(const queries::Query& query, const planning::Release& planned,
                                      const OracleData& data, RecordSums* sums, ReleaseStream& stream);

/// What `answer_question` does once a release's randomness is open: a stream, and only a granted release has one.
/// Sums leave as means on the job's wire lattice, totals of a statistic in units of the release's, and of a selection
/// the number of the vertex that was chosen: no score, no sum. Reports leave as each record makes its own.
/// @param planned of any mechanism but a binomial sum. @see draw_and_count
[[nodiscard]] queries::Answer draw_and_sum(const queries::Query& query, const planning::Release& planned,
                                           const OracleData& data, RecordSums* sums, const queries::WireLattice& wire,
                                           ReleaseStream& stream);

/// Answers a question as the plan's release says. The query contributes its point and nothing else. The draw comes
/// before the first look at a record, the noise after the sum; neither depends on a record.
/// @param release the plan's entry for this round, of the same kind as the query and matching the data set
/// @param token granted by the ledger for this very round
[[nodiscard]] queries::Answer answer_question(const queries::Query& query, const planning::Release& release,
                                              const SpendToken& token, const OracleData& data, RecordSums* sums,
                                              const queries::WireLattice& wire, ReleaseRandomness& randomness);

}  // namespace undertone::silo
