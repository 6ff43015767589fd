#include "shared/jobs/released_exits.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/base/overloaded.hpp"

namespace undertone::jobs {
namespace {

using algorithms::SurvivalAsked;
using Json = nlohmann::ordered_json;

constexpr double kExitsNumberMax = 0x1p53;

Json noise_json(const statistics::CoordinateNoise& noise) {
  return std::visit(Overloaded{[](const statistics::LaplaceNoise& laplace) -> Json {
                                 return {{"law", "laplace"}, {"scale", laplace.scale}, {"step", laplace.step}};
                               },
                               [](const statistics::GaussianNoise& gaussian) -> Json {
                                 return {{"law", "gaussian"}, {"stddev", gaussian.stddev}, {"step", gaussian.step}};
                               }},
                    noise);
}

statistics::CoordinateNoise parse_noise(config::Section section) {
  const bool laplace = section.choice<bool>("law", {{"gaussian", false}, {"laplace", true}}, "of the noise on a cell");
  // Squares and fourth powers of what is let in are numbers, and no plan has a noise beyond it.
  const double width = laplace ? section.number("scale", 1e-3, 1e12, "of the noise on a cell, in steps")
                               : section.number("stddev", 1e-12, kExitsNumberMax, "of the noise on a cell");
  const double step = section.number("step", laplace ? 1e-12 : 0.0, 1e12, "of the lattice of a cell");
  section.finish();
  if (laplace) return statistics::LaplaceNoise{width, step};
  return statistics::GaussianNoise{width, step};
}

std::vector<algorithms::TableAxis> parse_axes(config::Section& section) {
  std::vector<algorithms::TableAxis> out;
  for (config::Section& one : section.objects("by", 0, kExitsGroupsMax, "columns whose combinations are groups")) {
    algorithms::TableAxis axis;
    axis.column = one.text("column", "its name");
    axis.values = one.texts("values", "its values", {1, kExitsGroupsMax, true});
    if (std::any_of(out.begin(), out.end(), [&](const auto& other) { return other.column == axis.column; }))
      one.problem("column", "expected each column once");
    axis.whole = one.boolean("whole", "whether every record has one of them");
    one.finish();
    out.push_back(std::move(axis));
  }
  return out;
}

/// How many groups axes have, or more than there can be.
std::size_t groups_of(const std::vector<algorithms::TableAxis>& by) {
  std::size_t out = 1;
  for (const algorithms::TableAxis& axis : by) out = std::min(out * axis.values.size(), 2 * kExitsGroupsMax);
  return out;
}

/// The numbers of the edges that are these times. @return an error that names one that is none
Result<std::vector<std::size_t>> edges_at(const SurvivalAsked& asked, const std::vector<double>& times) {
  std::vector<std::size_t> out;
  for (const double time : times) {
    const auto found = std::find(asked.edges.begin() + 1, asked.edges.end(), time);
    if (found == asked.edges.end())
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("the table knows the times {:.6g}, got {:.6g}",
                               fmt::join(asked.edges.begin() + 1, asked.edges.end(), ", "), time)};
    out.push_back(static_cast<std::size_t>(found - asked.edges.begin()));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool are_probabilities(const std::vector<double>& values) {
  return values.size() <= kExitsQuantilesMax &&
         std::all_of(values.begin(), values.end(), [](double p) { return p > 0.0 && p < 1.0; });
}

/// The same table with this group's values first in their columns, so that it is the one others are compared with.
Status put_first(const std::string& group, ReleasedExits& exits) {
  const std::vector<std::string> names = group_names(exits.asked);
  const auto found = std::find(names.begin(), names.end(), group);
  if (exits.asked.by.empty() || found == names.end())
    return Error{ErrorCode::InvalidArgument,
                 exits.asked.by.empty()
                     ? std::string("the table has no groups")
                     : fmt::format("expected one of the groups \"{}\", got \"{}\"", fmt::join(names, "\", \""), group)};
  const auto wanted = static_cast<std::size_t>(found - names.begin());
  std::vector<std::size_t> from(names.size(), 0);  // of each group, where it was
  std::size_t inner = names.size();
  for (algorithms::TableAxis& axis : exits.asked.by) {
    inner /= axis.values.size();
    const std::size_t first = wanted / inner % axis.values.size();
    for (std::size_t g = 0; g < from.size(); ++g) {
      const std::size_t value = g / inner % axis.values.size();
      from[g] += inner * (value == 0 ? first : value <= first ? value - 1 : value);
    }
    const auto middle = axis.values.begin() + static_cast<std::ptrdiff_t>(first);
    std::rotate(axis.values.begin(), middle, middle + 1);
  }
  const auto cells = static_cast<Eigen::Index>(layout_of(exits.asked).cells_of_group());
  for (ToldExits& silo : exits.silos) {
    const Eigen::VectorXd before = silo.cells;
    for (std::size_t g = 0; g < from.size(); ++g)
      silo.cells.segment(static_cast<Eigen::Index>(g) * cells, cells) =
          before.segment(static_cast<Eigen::Index>(from[g]) * cells, cells);
  }
  return {};
}

}  // namespace

Result<ReleasedExits> release_exits(const SurvivalAsked& asked, bool sampling, const std::vector<SiloTotals>& silos) {
  ReleasedExits out{asked, sampling, {}, {}};
  const std::size_t size = layout_of(asked).size();
  for (const SiloTotals& silo : silos) {
    if (silo.records < 1 || silo.totals->size() != size)
      return Error{ErrorCode::Internal, fmt::format("a table of exits: {} totals of {} records, {} were asked for",
                                                    silo.totals->size(), silo.records, size)};
    UNDERTONE_TRY(statistics::NoiseLaw law, statistics::NoiseLaw::create({{noise_of(*silo.release), 1.0}}));
    out.silos.push_back({silo.records, totals_of(silo), std::move(law)});
    out.counted = counted_in(*silo.release);
  }
  return out;
}

Json to_json(const ReleasedExits& exits) {
  const SurvivalAsked& asked = exits.asked;
  Json out = {{"grid", asked.edges}, {"causes", asked.causes}};
  out["by"] = Json::array();
  for (const algorithms::TableAxis& axis : asked.by)
    out["by"].push_back({{"column", axis.column}, {"values", axis.values}, {"whole", axis.whole}});
  std::vector<double> at;
  for (const std::size_t edge : asked.at) at.push_back(asked.edges[edge]);
  out["at"] = at;
  out["probabilities"] = asked.probabilities;
  out["times"] = asked.on_grid ? "grid" : "continuous";
  out["silos"] = asked.pooled ? "alike" : "standardised";
  out["test"] = asked.gehan ? "gehan" : "log_rank";
  out["sampling_intervals"] = exits.sampling;
  if (!exits.counted.empty()) out["counted"] = exits.counted;
  out["tables"] = Json::array();
  for (const ToldExits& silo : exits.silos)
    out["tables"].push_back({{"records", silo.records},
                             {"noise", noise_json(silo.noise.terms().front().noise)},
                             {"cells", std::vector<double>(silo.cells.begin(), silo.cells.end())}});
  return out;
}

ReleasedExits parse_released_exits(config::Section section) {
  ReleasedExits out;
  SurvivalAsked& asked = out.asked;
  asked.edges = section.numbers("grid", "ascending edges");
  if (asked.edges.size() < 2 || asked.edges.size() > kExitsIntervalsMax + 1 ||
      std::adjacent_find(asked.edges.begin(), asked.edges.end(), std::greater_equal<>()) != asked.edges.end())
    section.problem("grid", fmt::format("expected 2 to {} ascending edges", kExitsIntervalsMax + 1));
  asked.causes = section.texts("causes", "names of what happens", {1, kExitsCellsMax, true});
  asked.cells.edges = asked.edges;
  asked.cells.causes = std::max<std::size_t>(asked.causes.size(), 1);
  asked.by = parse_axes(section);
  const std::vector<double> at = section.numbers("at", "edges at which curves are stated");
  asked.probabilities = section.numbers("probabilities", "of quantiles of the time");
  if (!are_probabilities(asked.probabilities))
    section.problem("probabilities",
                    fmt::format("expected at most {} numbers, each between 0 and 1", kExitsQuantilesMax));
  asked.on_grid = section.choice<bool>("times", {{"continuous", false}, {"grid", true}}, "what times are");
  asked.pooled =
      section.choice<bool>("silos", {{"standardised", false}, {"alike", true}}, "how silos are put together");
  asked.gehan = section.choice<bool>("test", {{"log_rank", false}, {"gehan", true}}, "between groups");
  out.sampling = section.boolean("sampling_intervals", "whether there are intervals for the population");
  if (section.has("counted")) out.counted = section.text("counted", "how units were counted");
  const std::size_t groups = groups_of(asked.by);
  const statistics::ExitLayout layout{groups, asked.cells.causes, std::max<std::size_t>(asked.edges.size(), 2) - 1,
                                      true};
  if (groups > kExitsGroupsMax || layout.size() > kExitsCellsMax)
    section.problem("by", fmt::format("expected at most {} groups and {} cells in all, got {} and {}", kExitsGroupsMax,
                                      kExitsCellsMax, groups, layout.size()));
  for (config::Section& one : section.objects("tables", 1, kExitsSilosMax, "one of each silo")) {
    const std::int64_t records = one.integer("records", 1, std::int64_t{1} << 53U, "of the silo");
    const Result<statistics::NoiseLaw> law = statistics::NoiseLaw::create({{parse_noise(one.object("noise")), 1.0}});
    if (!law) one.problem("noise", law.error().message);
    const std::vector<double> cells = one.numbers("cells", "its noised cells");
    const bool fit = cells.size() == layout.size() && std::all_of(cells.begin(), cells.end(), [](double cell) {
                       return std::abs(cell) <= kExitsNumberMax;
                     });
    if (!fit)
      one.problem("cells", fmt::format("expected {} numbers of at most 2^53, got {}", layout.size(), cells.size()));
    one.finish();
    if (law && fit)
      out.silos.push_back(
          {records, Eigen::Map<const Eigen::VectorXd>(cells.data(), static_cast<Eigen::Index>(cells.size())), *law});
  }
  section.finish();
  if (asked.edges.size() < 2) return out;
  Result<std::vector<std::size_t>> edges = edges_at(asked, at);
  if (!edges || edges->empty()) {
    section.problem("at", "expected edges of the grid after the first one");
  } else {
    asked.at = *std::move(edges);
  }
  return out;
}

Result<StatedQuestion> state_later(const ReleasedExits& exits, const LaterExits& later,
                                   statistics::Confidence confidence) {
  ReleasedExits changed = exits;
  if (!later.times.empty()) {
    UNDERTONE_TRY(changed.asked.at, edges_at(exits.asked, later.times));
  }
  if (!are_probabilities(later.probabilities))
    return Error{ErrorCode::InvalidArgument, fmt::format("expected at most {} quantiles, each between 0 and 1, got {}",
                                                         kExitsQuantilesMax, fmt::join(later.probabilities, ", "))};
  if (!later.probabilities.empty()) changed.asked.probabilities = later.probabilities;
  if (later.gehan && exits.asked.groups() < 2)
    return Error{ErrorCode::InvalidArgument, "a test compares groups, and the table has one alone"};
  if (later.gehan) changed.asked.gehan = *later.gehan;
  if (!later.against.empty()) {
    if (const Status moved = put_first(later.against, changed); !moved) return moved.error();
  }
  StatedQuestion out = state_survival(changed.asked, changed.silos, confidence, changed.sampling, true);
  note_counted(changed.counted, out);
  return out;
}

}  // namespace undertone::jobs
