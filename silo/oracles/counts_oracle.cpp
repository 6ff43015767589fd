#include "silo/oracles/counts_oracle.hpp"

#include <algorithm>

#include "shared/mechanisms/binomial_sum/binomial_report.hpp"

namespace undertone::silo {

const noise::BinomialTable& BinomialCoins::of(const mechanisms::BinomialParameters& parameters, std::int64_t records) {
  UNDERTONE_CHECK(records >= 1 && records <= noise::BinomialTable::kTrialsMax / parameters.coins());
  const std::int64_t trials = records * parameters.coins();
  const noise::Rational heads = parameters.heads();
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const noise::BinomialTable& one) {
    return one.trials() == trials && one.p().numerator == heads.numerator && one.p().denominator == heads.denominator;
  });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front();
  }
  Result<noise::BinomialTable> table = mechanisms::binomial_coins(parameters, records);
  UNDERTONE_CHECK(table.has_value());
  if (kept_.size() == kKeptMax) kept_.pop_back();
  kept_.push_front(*std::move(table));
  return kept_.front();
}

std::vector<std::int64_t> draw_and_count(const queries::Query& query, const planning::Release& planned,
                                         const OracleData& data, RecordSums& sums, BinomialCoins& coins,
                                         ReleaseStream& stream) {
  const auto [release, sum] = draw_exact_sum(query, planned, data, &sums, stream);
  const auto* binomial = std::get_if<mechanisms::BinomialSum>(&release.mechanism);
  UNDERTONE_CHECK(binomial != nullptr);
  std::vector<std::int64_t> counts(sum.size(), 0);
  stream.add_rounded(sum, release.records_drawn, binomial->parameters, counts);
  stream.add_coins(coins.of(binomial->parameters, release.records_drawn), counts);
  return counts;
}

std::vector<std::int64_t> count_question(const queries::Query& query, const planning::Release& planned,
                                         const SpendToken& token, const OracleData& data, RecordSums& sums,
                                         BinomialCoins& coins, ReleaseStream& stream) {
  UNDERTONE_CHECK(token.valid() && token.round() == query.round);
  return draw_and_count(query, planned, data, sums, coins, stream);
}

}  // namespace undertone::silo
