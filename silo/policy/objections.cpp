#include "silo/policy/objections.hpp"

#include <algorithm>
#include <utility>

namespace undertone::silo {
namespace {

/// Another schema is the farthest that a data set can be from a job.
std::pair<bool, std::size_t> distance_of(const DatasetObjections& dataset) {
  const bool other_schema =
      std::any_of(dataset.objections.begin(), dataset.objections.end(),
                  [](const Objection& objection) { return objection.kind == ObjectionKind::Schema; });
  return {other_schema, dataset.objections.size()};
}

/// Names of a job's author stand in sentences: whatever is not printable ASCII is replaced.
std::string printable(const std::string& text, std::size_t bytes_max) {
  std::string out = text.substr(0, bytes_max);
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

}  // namespace

const char* to_string(ObjectionKind kind) noexcept {
  switch (kind) {
    case ObjectionKind::Policy:
      return "policy";
    case ObjectionKind::Counts:
      return "counts";
    case ObjectionKind::Budget:
      return "budget";
    case ObjectionKind::Schema:
      return "schema";
    case ObjectionKind::Shuffler:
      return "shuffler";
    case ObjectionKind::Owner:
      return "owner";
    case ObjectionKind::Job:
      return "job";
  }
  return "";
}

Objection objection_of(const Error& error) {
  if (error.code == ErrorCode::BudgetExhausted) return {ObjectionKind::Budget, error.message};
  if (error.code == ErrorCode::PolicyRefused) return {ObjectionKind::Policy, error.message};
  return {ObjectionKind::Job, error.message};
}

void put_nearest_first(std::vector<DatasetObjections>& datasets) {
  std::stable_sort(datasets.begin(), datasets.end(), [](const DatasetObjections& a, const DatasetObjections& b) {
    return distance_of(a) < distance_of(b);
  });
}

std::string every_reason(const std::vector<DatasetObjections>& datasets) {
  std::string out;
  for (const DatasetObjections& dataset : datasets) {
    std::string sentences;
    for (const Objection& objection : dataset.objections)
      sentences += (sentences.empty() ? "" : "; ") + objection.sentence;
    if (sentences.empty()) continue;
    if (!out.empty()) out += ". ";
    out += datasets.size() == 1 ? sentences : fmt::format("data set \"{}\": {}", dataset.dataset, sentences);
  }
  return out;
}

std::string explanation(ExplainRefusals how, ObjectionKind kind, const std::string& reasons) {
  switch (how) {
    case ExplainRefusals::None:
      return {};
    case ExplainRefusals::Kind:
      return kind == ObjectionKind::Job ? std::string() : to_string(kind);  // the code says as much of the job
    case ExplainRefusals::Full:
      return printable(reasons, kExplanationBytesMax);
  }
  return {};
}

}  // namespace undertone::silo
