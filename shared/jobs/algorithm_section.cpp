#include "shared/jobs/algorithm_section.hpp"

#include <algorithm>

#include "shared/algorithms/table.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::jobs {
namespace {

constexpr double kNumberMax = 1e9;
constexpr double kRadiusMin = 1e-9;
// Of a schedule: each is planned, charged and listed for itself. A segment takes 248 bytes of memory, which would bear
// more; its text in a ledger's entry takes up to 70 of the 1 MiB that an entry may have.
constexpr std::uint64_t kEntriesMax = 4'000;

template <class T>
T noted(config::Section& section, const char* key, Result<T> made, T harmless) {
  if (made) return *std::move(made);
  section.problem(key, made.error().message);
  return harmless;
}

/// Whether the algorithm takes its settings, and a silo could plan for it.
void check_method(config::Section& section, AlgorithmChoice& choice) {
  const char* key = choice.theorem ? "theorem" : "kind";
  const algorithms::Method& method = *choice.method;
  if (const auto made = method->make(); !made) {
    section.problem(key, made.error().message);
    return;
  }
  const algorithms::Extent extent = method->extent();
  choice.rounds = extent.rounds;
  if (extent.rounds > releases::kRoundsMax || extent.entries > kEntriesMax) {
    section.problem(key, fmt::format("{} rounds of {} kinds or parts of releases: expected at most {} and {}",
                                     extent.rounds, extent.entries, releases::kRoundsMax, kEntriesMax));
  }
}

/// Whether each round reads a part of its own, all of it: draws from it would no longer be one pass.
bool reads_parts_whole(const algorithms::Method& method) {
  if (method->traits().bounded_in != algorithms::MethodTraits::BoundedIn::L2) return true;  // selections draw nothing
  const planning::Schedule schedule = method->schedule({releases::L2Bound{*releases::ClipNorm::create(1.0)}, 1.0});
  return std::any_of(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
    return part.ask.records.slice && part.ask.records.slice->cut != releases::Slice::Cut::Halving;
  });
}

/// Parameters that a theorem chooses.
void parse_by_theorem(config::Section& section, const algorithms::Problem& problem, const TheoremContext& context,
                      AlgorithmChoice& out) {
  out.theorem = parse_theorem(section, problem, context);
  if (section.has("sampling")) {
    out.with_replacement =
        section.choice<bool>("sampling", {{"without_replacement", false}, {"with_replacement", true}},
                             "with theorem: with replacement a batch is drawn as the source draws it, and a record "
                             "may be in it several times (default without_replacement: a little less noise)");
  }
  if (!out.theorem) return;
  out.method = out.theorem->method;
  out.draw_fraction = out.theorem->draw_fraction;
  if (out.with_replacement && reads_parts_whole(*out.method))
    section.problem("sampling", "expected without_replacement: the parts of one pass are read whole");
}

/// Parameters by hand. A recording section is asked for every algorithm's keys.
void parse_by_hand(config::Section& section, const algorithms::Problem& problem, AlgorithmChoice& out) {
  const std::size_t kind =
      section.one_of("kind", algorithms::algorithm_kinds(), "docs/researchers-guide.md says which reads what");
  if (section.recording()) {
    for (const algorithms::NamedMethod& method : algorithms::method_table()) (void)method.parse(section, problem);
    return;
  }
  algorithms::ParsedMethod parsed = algorithms::method_table()[kind].parse(section, problem);
  out.method = std::move(parsed.method);
  out.draw_fraction = parsed.draw_fraction;
}

}  // namespace

geometry::Domain parse_domain(config::Section section) {
  using geometry::Domain;
  enum class Set : std::uint8_t { Ball, Whole, Box, L1, Simplex, Groups, Mixed, Nuclear };
  const auto set = section.choice<Set>("kind",
                                       {{"l2_ball", Set::Ball},
                                        {"whole_space", Set::Whole},
                                        {"box", Set::Box},
                                        {"l1_ball", Set::L1},
                                        {"simplex", Set::Simplex},
                                        {"group_ball", Set::Groups},
                                        {"mixed_ball", Set::Mixed},
                                        {"nuclear_ball", Set::Nuclear}},
                                       "where the model may lie");
  const auto wanted = [&](Set one, Set other) { return section.recording() || set == one || set == other; };
  double radius = 1.0;
  double lower = -1.0;
  double upper = 1.0;
  double scale = 1.0;
  std::int64_t group_size = 1;
  double share = 0.5;
  std::int64_t matrix_rows = 1;
  if (wanted(Set::Ball, Set::L1) || wanted(Set::Groups, Set::Mixed) || wanted(Set::Nuclear, Set::Nuclear))
    radius = section.number("radius", kRadiusMin, kNumberMax, "of a ball around zero");
  if (wanted(Set::Box, Set::Box)) {
    lower = section.number("lower", -kNumberMax, kNumberMax, "of a box: the least value of every coordinate");
    upper = section.number("upper", -kNumberMax, kNumberMax, "of a box: the largest");
  }
  if (wanted(Set::Simplex, Set::Simplex))
    scale = section.number("scale", 0.0, kNumberMax, "of a simplex: what the coordinates add up to", true);
  if (wanted(Set::Groups, Set::Groups))
    group_size = section.integer("group_size", 1, 1'000'000,
                                 "of a group ball: consecutive coordinates, whose l2 norms "
                                 "add up to the radius at most");
  if (wanted(Set::Mixed, Set::Mixed))
    share = section.number("share", 0.0, 1.0, "a of a mixed ball: (1-a) |w|_1 + a |w|_2 is the radius at most");
  if (wanted(Set::Nuclear, Set::Nuclear))
    matrix_rows = section.integer("rows", 1, Domain::kMatrixNumbersMax,
                                  "of a nuclear ball: the model is a matrix of so many rows, column by column, whose "
                                  "singular values add up to the radius at most");
  const auto made = [&]() -> Result<Domain> {
    switch (set) {
      case Set::Ball:
        return Domain::l2_ball(radius);
      case Set::Whole:
        return Domain::whole_space();
      case Set::Box:
        return Domain::box(lower, upper);
      case Set::L1:
        return Domain::l1_ball(radius);
      case Set::Simplex:
        return Domain::simplex(scale);
      case Set::Groups:
        return Domain::group_ball(radius, group_size);
      case Set::Mixed:
        return Domain::mixed_ball(radius, share);
      case Set::Nuclear:
        return Domain::nuclear_ball(radius, matrix_rows);
    }
    UNDERTONE_CHECK(false);
  }();
  Domain domain = noted(section, "kind", made, Domain::whole_space());
  section.finish();
  return domain;
}

geometry::Regulariser parse_regulariser(config::Section section, Eigen::Index regularised) {
  using geometry::Regulariser;
  enum class Form : std::uint8_t { L2, None, L1, Elastic, Group };
  const auto form = section.choice<Form>("kind",
                                         {{"l2", Form::L2},
                                          {"none", Form::None},
                                          {"l1", Form::L1},
                                          {"elastic_net", Form::Elastic},
                                          {"group_lasso", Form::Group}},
                                         "added to the loss; the intercept is not regularised");
  double strength = 0.0;
  double l2_strength = 0.0;
  std::int64_t group_size = 1;
  if (section.recording() || form != Form::None)
    strength = section.number("strength", 0.0, kNumberMax,
                              "lambda of lambda/2 |w|^2 (l2), of lambda |w|_1 (l1, elastic_net), of group_lasso");
  if (section.recording() || form == Form::Elastic)
    l2_strength = section.number("l2_strength", 0.0, kNumberMax, "of elastic_net's lambda/2 |w|^2");
  if (section.recording() || form == Form::Group)
    group_size = section.integer("group_size", 1, 1'000'000, "of group_lasso: consecutive coordinates");
  const auto made = [&]() -> Result<Regulariser> {
    if (strength == 0.0 && l2_strength == 0.0) return Regulariser::none();
    switch (form) {
      case Form::None:
        return Regulariser::none();
      case Form::L2:
        return Regulariser::squared_l2(strength, regularised);
      case Form::L1:
        return Regulariser::l1(strength, regularised);
      case Form::Elastic:
        return Regulariser::elastic_net(strength, l2_strength, regularised);
      case Form::Group:
        return Regulariser::group_lasso(strength, group_size, regularised);
    }
    UNDERTONE_CHECK(false);
  }();
  const Regulariser regulariser = noted(section, "kind", made, Regulariser::none());
  section.finish();
  return regulariser;
}

bool reads_parts(const algorithms::Method& method) {
  if (method->traits().bounded_in != algorithms::MethodTraits::BoundedIn::L2) return false;
  const planning::Schedule schedule = method->schedule({releases::L2Bound{*releases::ClipNorm::create(1.0)}, 1.0});
  return std::any_of(schedule.begin(), schedule.end(),
                     [](const planning::ScheduledRounds& part) { return part.ask.records.slice.has_value(); });
}

AlgorithmChoice parse_algorithm(config::Section section, const algorithms::Problem& problem,
                                const TheoremContext& context) {
  AlgorithmChoice out;
  const bool by_theorem = section.has("theorem");
  if (section.has("sampling") && !by_theorem)
    section.problem("sampling", "expected a theorem beside it: draws of other jobs are without replacement");
  if (by_theorem) parse_by_theorem(section, problem, context, out);
  if (!by_theorem || section.recording()) parse_by_hand(section, problem, out);
  if (section.has("parts")) {
    using Assignment = releases::Slice::Assignment;
    out.parts = section.choice<Assignment>(
        "parts",
        {{"permutation", Assignment::Permutation},
         {"secret_permutation", Assignment::SecretPermutation},
         {"bins", Assignment::Bins}},
        "of a method that reads each record in one part: permutation (default), parts of fixed sizes that compose in "
        "parallel; secret_permutation, the same with one record at least in no part, which takes less noise and counts "
        "on the silo to keep secret who is in which; bins, every record draws its part for itself, which takes less "
        "still, counts on how many they are being secret too, and is worked on with rows to spare, for a linear model. "
        "The latter two of an epsilon and a delta");
  }
  section.finish();
  if (out.method && !section.recording()) check_method(section, out);
  return out;
}

}  // namespace undertone::jobs
