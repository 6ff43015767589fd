#include "shared/jobs/cohort_section.hpp"

#include <algorithm>

#include "shared/accounting/renyi.hpp"

namespace undertone::jobs {
namespace {

constexpr std::int64_t kRecordsMax = std::int64_t{1} << 40;
constexpr std::size_t kDigitsMax = 9;  // of a number in a name

/// "clinic-{001}-north", taken apart.
struct NamePattern {
  std::string before;
  std::uint64_t first = 0;
  std::size_t digits = 0;  // at least so many are written
  std::string after;
};

std::optional<NamePattern> parse_pattern(const std::string& text) {
  const std::size_t open = text.find('{');
  const std::size_t close = text.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  const std::string number = text.substr(open + 1, close - open - 1);
  if (number.empty() || number.size() > kDigitsMax || number.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return NamePattern{text.substr(0, open), std::stoull(number), number.size(), text.substr(close + 1)};
}

/// The names of an entry. @return none where a problem was noted
std::vector<SiloId> names_of(config::Section& section, const std::string& text, std::optional<std::size_t> count) {
  std::vector<SiloId> names;
  const auto add = [&](const std::string& name) {
    const Result<SiloId> silo = SiloId::create(name);
    if (!silo) {
      section.problem("silo", silo.error().message);
      return false;
    }
    names.push_back(*silo);
    return true;
  };
  if (!count) {
    add(text);
    return names;
  }
  const std::optional<NamePattern> pattern = parse_pattern(text);
  if (!pattern) {
    section.problem("silo", fmt::format("expected a name with the first number in braces, such as \"clinic-{{001}}\", "
                                        "since count is given, got \"{}\"",
                                        text));
    return names;
  }
  names.reserve(*count);
  for (std::uint64_t i = 0; i < *count; ++i) {
    if (!add(fmt::format("{}{:0{}}{}", pattern->before, pattern->first + i, pattern->digits, pattern->after)))
      return {};
  }
  return names;
}

/// What each silo of an entry is promised. A problem is noted, and something harmless returned.
releases::Target parse_target(config::Section& section) {
  constexpr double kEpsilonMin = 1e-9;
  constexpr double kEpsilonMax = 30.0;
  const bool concentrated = section.has("rho");
  const bool plain = section.has("epsilon") || !concentrated;
  double rho = 1.0;
  double epsilon = 1.0;
  if (plain) {
    epsilon = section.number("epsilon", kEpsilonMin, kEpsilonMax,
                             "promised to every single record, for the whole run; or rho in its place");
  }
  if (concentrated)
    rho = section.number("rho", kEpsilonMin, kEpsilonMax,
                         "in place of epsilon: zCDP, charged as the epsilon that it is at delta, at most 30");
  if (concentrated && plain && !section.recording())
    section.problem("rho", "expected none beside epsilon: a silo is promised the one or the other");
  const double delta = section.number("delta", 0.0, 0.5, "of the same promise; 0 with epsilon makes all noise pure");
  if (!concentrated) {
    if (delta == 0.0) return releases::PureDp{*releases::Epsilon::create(epsilon)};
    return releases::ApproximateDp{*releases::Epsilon::create(epsilon), *releases::Delta::create(delta)};
  }
  const releases::PureDp harmless{*releases::Epsilon::create(1.0)};
  if (delta == 0.0) {
    section.problem("delta", "expected more than 0 beside rho, of which no finite epsilon holds at delta 0");
    return harmless;
  }
  const releases::Rho promised = *releases::Rho::create(rho);
  const double charged = accounting::epsilon_of_zcdp(promised, *releases::Delta::create(delta));
  if (!(charged <= kEpsilonMax)) {
    section.problem("rho", fmt::format("expected an epsilon of at most {} at delta {}, got {:.6g} of rho {}",
                                       kEpsilonMax, delta, charged, rho));
    return harmless;
  }
  // In a ledger's units, so that what it charges is what is said here.
  const double rounded = releases::EpsilonAmount::rounded_up(std::max(charged, kEpsilonMin)).value().value_rounded_up();
  return releases::ConcentratedDp{promised, *releases::Delta::create(delta), *releases::Epsilon::create(rounded)};
}

/// @param by_rule whether a rule says it for all silos, which then have none of their own
std::uint64_t parse_weight(config::Section& section, std::int64_t records, bool by_rule) {
  if (by_rule) {
    section.refuse("weight", "expected none beside the job's weights, which say what every silo counts");
    return 1;
  }
  constexpr auto kWeightMax = static_cast<std::int64_t>(folds::LatticeFold::kWeightMax);
  section.otherwise("weight", std::min(records, kWeightMax));
  return static_cast<std::uint64_t>(
      section.integer("weight", 1, kWeightMax, "public weight in the mean (default: records)"));
}

/// How many units there are in each block.
struct Counts {
  std::int64_t training = 1;
  std::int64_t holdout = 0;
};

Counts parse_counts(config::Section& section, releases::Unit unit) {
  Counts out;
  const bool persons = unit == releases::Unit::Person;
  if (!persons || section.recording()) {
    out.training = section.integer("records", 1, kRecordsMax, "n_i, the silo's training records: public");
    out.holdout = section.integer("holdout_records", 0, kRecordsMax, "records kept for evaluation: public");
  }
  if (persons || section.recording()) {
    out.training = section.integer("persons", 1, kRecordsMax,
                                   "of unit person in place of records: the persons that train: public, where their "
                                   "number of records is secret");
    out.holdout = section.integer("holdout_persons", 0, kRecordsMax, "of unit person: persons kept for evaluation");
  }
  return out;
}

/// Adds the silos of one entry. @param room for how many more there is
void add_entry(config::Section& section, std::size_t room, bool by_rule, releases::Unit unit,
               std::vector<CohortMember>& cohort) {
  const std::string name =
      section.text("silo",
                   "its name: the CN of its certificate; with count the first number in braces, as in "
                   "clinic-{001}, from which the others count on");
  std::optional<std::size_t> count;
  if (section.has("count"))
    count = static_cast<std::size_t>(section.integer("count", 1, static_cast<std::int64_t>(kSilosMax),
                                                     "so many silos with what follows alike (default one)"));
  const releases::Target target = parse_target(section);
  const Counts counts = parse_counts(section, unit);
  const std::int64_t records = counts.training;
  const std::int64_t holdout = counts.holdout;
  const bool is_public =
      section.boolean("holdout_public", "the owner declared the holdout public: evaluated exactly, not protected");
  std::int64_t public_records = 0;
  if (unit == releases::Unit::Person && !section.recording()) {
    section.refuse("public_records", "expected none: records of persons are protected, all of them");
  } else if (section.has("public_records"))
    public_records = section.integer(
        "public_records", 0, kRecordsMax,
        "records beside those, which the owner declared public when the data set was added (default 0): public");
  const std::uint64_t weight = parse_weight(section, records, by_rule);
  section.finish();
  if (count.value_or(1) > room) {
    section.problem("count", fmt::format("expected at most {} silos in all, got more", kSilosMax));
    return;
  }
  for (const SiloId& silo : names_of(section, name, count)) {
    cohort.push_back({{silo, records, holdout, is_public, target, public_records}, weight});
  }
}

}  // namespace

ParsedCohort parse_cohort(config::Section& root, releases::Unit unit) {
  ParsedCohort out{{}, parse_weight_rule(root)};
  std::vector<CohortMember>& cohort = out.members;
  const bool by_rule = out.weights && !root.recording();  // the reference has both
  for (config::Section section : root.objects("cohort", 1, kSilosMax, "the silos, with what is public about each"))
    add_entry(section, kSilosMax - cohort.size(), by_rule, unit, cohort);
  if (by_rule && !cohort.empty()) {
    if (const Status set = set_weights(*out.weights, cohort); !set) root.problem("weights", set.error().message);
  }
  std::sort(cohort.begin(), cohort.end(), [](const auto& a, const auto& b) { return a.facts.silo < b.facts.silo; });
  const auto twice = std::adjacent_find(cohort.begin(), cohort.end(),
                                        [](const auto& a, const auto& b) { return a.facts.silo == b.facts.silo; });
  if (twice != cohort.end())
    root.problem("cohort", fmt::format("the silo \"{}\" stands twice", twice->facts.silo.name()));
  return out;
}

std::vector<releases::SiloFacts> silo_facts(const std::vector<CohortMember>& cohort) {
  std::vector<releases::SiloFacts> out;
  out.reserve(cohort.size());
  for (const CohortMember& member : cohort) out.push_back(member.facts);
  return out;
}

}  // namespace undertone::jobs
