#include <nlohmann/json.hpp>

#include "lab/account/account_command.hpp"
#include "lab/account/allocation_comparison.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

Result<AllocationQuestion> allocation_question(const AccountRequest& request) {
  if (!request.delta) return Error{ErrorCode::InvalidArgument, "delta is missing"};
  UNDERTONE_TRY(const releases::Delta delta, releases::Delta::create(*request.delta));
  if (request.adjacency != "replace-one") {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("adjacency: an allocation is accounted for under replace-one, got {}", request.adjacency)};
  }
  AllocationQuestion out{request.parts, request.epochs, std::nullopt, std::nullopt, std::nullopt, delta};
  if (request.records != 0) out.records = request.records;
  if (request.target_epsilon) {
    if (request.mechanism.sigma)
      return Error{ErrorCode::InvalidArgument, "sigma and a target: expected one of them, got both"};
    UNDERTONE_TRY(const releases::Epsilon epsilon, releases::Epsilon::create(*request.target_epsilon));
    out.epsilon = epsilon;
    return out;
  }
  if (!request.mechanism.sigma) return Error{ErrorCode::InvalidArgument, "sigma or epsilon is missing"};
  UNDERTONE_TRY(const double sensitivity, sensitivity_of(request.mechanism, Adjacency::ReplaceOne));
  UNDERTONE_TRY(const releases::GaussianShift shift,
                releases::GaussianShift::create(sensitivity / *request.mechanism.sigma));
  out.shift = shift;
  return out;
}

}  // namespace

Result<std::string> allocation_account(const AccountRequest& request) {
  UNDERTONE_TRY(const AllocationQuestion question, allocation_question(request));
  UNDERTONE_TRY(const std::vector<AllocationWay> ways, compare_allocation(question));
  const char* const unit = question.epsilon ? "noise_multiplier" : "epsilon";
  const std::optional<double> parallel = ways.front().value;
  Json list = Json::array();
  for (const AllocationWay& way : ways) {
    Json entry = {{"way", way.name}, {unit, way.value ? Json(*way.value) : Json(nullptr)}};
    entry["gain"] = way.value && parallel && *way.value > 0.0 ? Json(*parallel / *way.value) : Json(nullptr);
    entry["note"] = way.note;
    list.push_back(std::move(entry));
  }
  Json out = {{"delta", question.delta.value()},
              {"adjacency", "replace-one"},
              {"parts", question.parts},
              {"epochs", question.epochs}};
  if (question.epsilon) out["epsilon"] = question.epsilon->value();
  if (question.shift) out["shift"] = question.shift->value();
  out["ways"] = std::move(list);
  return out.dump(2);
}

int run_allocation(const AccountRequest& request) {
  const Result<AllocationQuestion> question = allocation_question(request);
  if (!question) return service::fail(question.error());
  const Result<std::vector<AllocationWay>> ways = compare_allocation(*question);
  if (!ways) return service::fail(ways.error());
  if (question->epsilon) {
    fmt::print("sigma / sensitivity for epsilon {:.6g} at delta {:.4g}, {} parts, {} epochs, replace-one\n",
               question->epsilon->value(), question->delta.value(), question->parts, question->epochs);
  } else {
    fmt::print("epsilon at delta {:.4g} of releases of shift {:.6g}, {} parts, {} epochs, replace-one\n",
               question->delta.value(), question->shift->value(), question->parts, question->epochs);
  }
  for (const AllocationWay& way : *ways) {
    const std::string value = way.value ? fmt::format("{:.6g}", *way.value) : "-";
    fmt::print("  {:<10} {:>10}   {}\n", way.name, value, way.note);
  }
  return service::kDone;
}

}  // namespace undertone::lab
