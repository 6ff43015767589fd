#pragma once

#include <string>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::silo {

/// What a job is refused for, in one word: fixed by the job, the policy and the ledger, never by a value of a record.
enum class ObjectionKind {
  Policy,    // what the policy names: model, algorithm, unit, noise, cohort, epsilon, delta
  Counts,    // how many records there are, of which kind
  Budget,    // what the data set has left
  Schema,    // the columns
  Shuffler,  // whom the policy trusts and the configuration dials
  Owner,     // a person said no
  Job        // the job has no plan, whoever reads it
};
[[nodiscard]] const char* to_string(ObjectionKind kind) noexcept;

/// One thing that stands against a job.
struct Objection {
  ObjectionKind kind = ObjectionKind::Policy;
  std::string sentence;  // for the owner: it may hold numbers of the silo's
};

/// The objection that an error of planning or of the ledger is.
[[nodiscard]] Objection objection_of(const Error& error);

/// What stands against a job on one data set; nothing: the job may use it.
struct DatasetObjections {
  std::string dataset;
  std::vector<Objection> objections;
};

/// Puts the data set that the job misses least first: one of its schema before others, then the one with the fewest
/// objections, then by the configuration's order.
void put_nearest_first(std::vector<DatasetObjections>& datasets);

/// Every reason, data set by data set; with a single one its name goes without saying.
[[nodiscard]] std::string every_reason(const std::vector<DatasetObjections>& datasets);

/// What the coordinator and the operator behind it are told of a reason.
enum class ExplainRefusals {
  None,  // that the job is refused
  Kind,  // the kind's word
  Full   // the sentences
};

/// Most bytes of what is told. @see wire::kExplanationBytesMax
inline constexpr std::size_t kExplanationBytesMax = 512;

/// What leaves the silo for a refusal: printable ASCII, at most kExplanationBytesMax; without numbers of the silo's
/// unless its owner chose Full.
/// @param reasons of all data sets @see every_reason
[[nodiscard]] std::string explanation(ExplainRefusals how, ObjectionKind kind, const std::string& reasons);

}  // namespace undertone::silo
