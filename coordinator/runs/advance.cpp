#include "coordinator/runs/advance.hpp"

#include <utility>
#include <variant>
#include <vector>

#include "shared/base/byte_stream.hpp"
#include "shared/base/contained.hpp"
#include "shared/base/spans.hpp"

namespace undertone::coordinator {

Advance::Advance(const RunId& run, std::unique_ptr<algorithms::FederatedAlgorithm> algorithm, folds::Gathered gathered,
                 std::stop_token nobody_waits)
    : run_(run), algorithm_(std::move(algorithm)), gathered_(std::move(gathered)) {
  UNDERTONE_CHECK(algorithm_ != nullptr);
  algorithm_->heed(std::move(nobody_waits));
}

Advanced Advance::perform() && {
  Result<Advanced::Next> made = contained("the algorithm's step", [this] { return next(); });
  return {run_, gathered_.round, gathered_.replies, std::move(algorithm_), std::move(made)};
}

Result<Advanced::Next> Advance::next() {
  const std::size_t rows_before = algorithm_->metrics().size();
  const Span span(Activity::Computing);
  UNDERTONE_TRY(const algorithms::Step step, algorithm_->advance(gathered_));
  const auto* query = std::get_if<queries::Query>(&step);
  Advanced::Next out;
  ByteWriter state;
  algorithm_->save(state);
  out.algorithm_state = std::move(state).bytes();
  out.finished = query == nullptr;
  if (query != nullptr) out.query = queries::query_digest(run_, *query);
  if (std::vector<algorithms::MetricsRow> rows = algorithm_->metrics(); rows.size() > rows_before)
    out.metrics = std::move(rows.back());
  return out;
}

}  // namespace undertone::coordinator
