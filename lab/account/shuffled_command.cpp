#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/account/account_command.hpp"
#include "shared/accounting/shuffling.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

/// One reply of a silo by itself, and the round of all of them.
struct Shuffled {
  double local = 0.0;
  double shuffled = 0.0;
  std::optional<double> closed;  // by the closed form, where it covers the case
};

Result<Shuffled> pure_reports(const AccountRequest& request, releases::Delta delta) {
  UNDERTONE_TRY(const releases::Epsilon local, releases::Epsilon::create(*request.mechanism.epsilon));
  UNDERTONE_TRY(const double shuffled, accounting::shuffled_epsilon(request.silos, local, delta));
  const Result<double> closed = accounting::shuffled_epsilon_closed(request.silos, local, delta);
  return Shuffled{local.value(), shuffled, closed ? std::optional(*closed) : std::nullopt};
}

/// Sums over all of a silo's records, or over a fixed-size subset drawn afresh ("wor:K/N").
Result<Shuffled> gaussian_reports(const AccountRequest& request, releases::Delta delta) {
  if (!request.mechanism.sigma) return Error{ErrorCode::InvalidArgument, "sigma or epsilon-each is missing"};
  if (request.records < 1) return Error{ErrorCode::InvalidArgument, "records must be at least 1"};
  UNDERTONE_TRY(const accounting::PrivacyEvent event, event_of(request.mechanism, Adjacency::ReplaceOne));
  const auto* all = std::get_if<accounting::GaussianEvent>(&event);
  const auto* subset = std::get_if<accounting::SubsetGaussianEvent>(&event);
  if (all == nullptr && subset == nullptr)
    return Error{ErrorCode::InvalidArgument, "sampling: what is shuffled reads all records or a subset of fixed size"};
  const double rate = subset != nullptr ? subset->rate : 1.0;
  const double drawn = rate * static_cast<double>(request.records);
  const double whole = std::round(drawn);
  if (!(whole >= 1.0 && std::abs(drawn - whole) <= 1e-9 * whole)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("sampling: {} of {} records is not a whole number of them", rate, request.records)};
  }
  const accounting::DrawnReports reports{rate, static_cast<std::int64_t>(whole),
                                         all != nullptr ? all->shift : subset->shift};
  UNDERTONE_TRY(const accounting::ShuffledRound round, accounting::shuffled_reports(request.silos, reports, delta));
  return Shuffled{round.local_epsilon, round.epsilon, std::nullopt};
}

Result<Shuffled> shuffled_round(const AccountRequest& request) {
  if (!request.delta) return Error{ErrorCode::InvalidArgument, "delta is missing"};
  UNDERTONE_TRY(const releases::Delta delta, releases::Delta::create(*request.delta));
  return request.mechanism.epsilon ? pure_reports(request, delta) : gaussian_reports(request, delta);
}

double gain_of(const Shuffled& found) { return found.shuffled > 0.0 ? found.local / found.shuffled : 1.0; }

}  // namespace

Result<std::string> shuffled_account(const AccountRequest& request) {
  UNDERTONE_TRY(const Shuffled found, shuffled_round(request));
  const Json out = {{"epsilon", found.shuffled},
                    {"epsilon_local", found.local},
                    {"epsilon_closed_form", found.closed ? Json(*found.closed) : Json(nullptr)},
                    {"gain", gain_of(found)},
                    {"delta", *request.delta},
                    {"adjacency", "replace-one"},
                    {"silos", request.silos}};
  return out.dump(2);
}

int run_shuffled(const AccountRequest& request) {
  const Result<Shuffled> found = shuffled_round(request);
  if (!found) return service::fail(found.error());
  fmt::print("one reply by itself: epsilon {:.6g}; shuffled with {} others: {:.6g} at delta {:.3g}\n", found->local,
             request.silos - 1, found->shuffled, *request.delta);
  if (found->closed) fmt::print("by the closed form: {:.6g}\n", *found->closed);
  fmt::print("{}\n", found->shuffled < found->local
                         ? fmt::format("a gain of {:.3g}, if the shuffler is honest and all replies look alike",
                                       gain_of(*found))
                         : "no gain: the replies of so few or so loud silos do not hide one another");
  return service::kDone;
}

}  // namespace undertone::lab
