#include "lab/reproduce/rate_maps.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "lab/reproduce/resumable_figure.hpp"
#include "shared/mechanisms/local_reports/priv_unit.hpp"
#include "shared/planning/plan.hpp"
#include "shared/statistics/public_means.hpp"
#include "shared/theorems/theorem_parameters.hpp"

namespace undertone::lab {
namespace {

using theorems::TheoremName;
using RateJson = nlohmann::ordered_json;

constexpr double kMapDelta = 1e-6;
constexpr double kMapSilos = 25.0;

std::vector<double> evenly_spaced(double from, double to, std::size_t steps) {
  std::vector<double> out;
  for (std::size_t i = 0; i <= steps; ++i)
    out.push_back(std::round(from * std::pow(to / from, static_cast<double>(i) / static_cast<double>(steps))));
  return out;
}

/// A line whose rate alone is known.
RateLine rate_alone(std::string name, std::function<double(double)> rate) {
  return {std::move(name), [rate = std::move(rate)](double x) { return RateAndBound{rate(x), std::nullopt}; }};
}

RateLine rate_and_bound(std::string name, std::function<double(double)> rate,
                        std::function<Result<double>(double)> bound) {
  return {std::move(name), [rate = std::move(rate), bound = std::move(bound)](double x) -> Result<RateAndBound> {
            UNDERTONE_TRY(const double found, bound(x));
            return RateAndBound{rate(x), found};
          }};
}

/// The noise that silos plan for a choice: of the mean over silos, a coordinate of a gradient and one of a difference.
Result<double> planned_variance(const theorems::TheoremChoice& choice, double clip) {
  const algorithms::GradientShape shape{releases::L2Bound{*releases::ClipNorm::create(clip)}, choice.draw_fraction};
  UNDERTONE_TRY(const planning::Plan plan,
                planning::make_plan(choice.method->schedule(shape),
                                    {*SiloId::create("silo"), static_cast<std::int64_t>(choice.facts.records), 0, true,
                                     releases::ApproximateDp{*releases::Epsilon::create(choice.facts.epsilon),
                                                             *releases::Delta::create(choice.facts.delta)}}));
  double out = 0.0;
  std::optional<releases::QuestionKind> before;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    if (before == segment.release.ask.kind()) continue;
    if (before) {
      out += std::pow(segment.release.noise_stddev_of_mean(), 2.0);
      break;
    }
    before = segment.release.ask.kind();
    out += std::pow(segment.release.noise_stddev_of_mean(), 2.0);
  }
  return out / choice.facts.answering;
}

/// A theorem's rate and the bound that holds at the planned noise. Where its conditions fail there is neither.
RateLine of_theorem(TheoremName name, const theorems::TheoremFacts& facts, const algorithms::Problem& problem) {
  return {std::string(theorems::to_string(name)), [name, facts, problem](double records) -> Result<RateAndBound> {
            theorems::TheoremFacts here = facts;
            here.records = records;
            const Result<theorems::TheoremChoice> choice =
                theorems::choose_by_theorem(name, here, problem, theorems::PlannedNoise::Accountant);
            if (!choice) return RateAndBound{};
            RateAndBound out{choice->rate, choice->bound};
            if (out.bound || !choice->bound_at) return out;
            // Some plans draw so often that they take too long to calibrate. Then there is no bound.
            const Result<double> variance = planned_variance(*choice, choice->clip.value_or(facts.lipschitz));
            if (variance) out.bound = choice->bound_at(*variance);
            return out;
          }};
}

theorems::TheoremFacts map_facts(double epsilon) {
  theorems::TheoremFacts out;
  out.silos = out.answering = kMapSilos;
  out.epsilon = epsilon;
  out.delta = kMapDelta;
  out.lipschitz = out.smoothness = out.gradient_variance = 1.0;
  out.diameter = 2.0;
  out.gap = 2.0;
  return out;
}

algorithms::Problem in_ball(Eigen::Index dimension) {
  algorithms::Problem out;
  out.dimension = dimension;
  out.domain = geometry::Domain::l2_ball(1.0).value();
  return out;
}

/// Figure 2.1 over the number of public records. Sources: Theorems 15, 21, 23, 25, 29; spec public-data 2, 3, 7.
RateMap public_rates(std::vector<double> values) {
  constexpr double kAll = 10'000.0;
  constexpr double kDimension = 20.0;
  constexpr double kEpsilon = 0.5;
  const double dp_mean = std::pow(kDimension / (kAll * kEpsilon), 2.0) + 1.0 / kAll;
  const double ldp_mean = kDimension / (kAll * std::min(kEpsilon, kEpsilon * kEpsilon)) + 1.0 / kAll;
  const double dp_sco = kDimension / (kAll * kEpsilon) + 1.0 / std::sqrt(kAll);
  // Laplace noise of scale 2 sqrt(d) B/(n epsilon) a coordinate, at B = V = 1.
  const auto laplace = [](double records) { return 8.0 * kDimension * kDimension / std::pow(records * kEpsilon, 2.0); };
  const auto weighed = [](double open, double noise) {
    const statistics::ProtectedMean hidden{static_cast<std::int64_t>(kAll - open), noise};
    return statistics::inverse_variances({hidden}, static_cast<std::int64_t>(open), 1.0).expected_square;
  };
  const mechanisms::PrivUnit report =
      mechanisms::PrivUnit::create(releases::Epsilon::create(kEpsilon).value(), static_cast<Eigen::Index>(kDimension),
                                   releases::UnitAdapter::Normalise)
          .value();
  const double reported = report.square_max() - 1.0;  // of a vector of length 1
  RateMap out;
  out.name = "fig2.1";
  out.introduction = fmt::format(
      "{} records in all, of which so many are public; d = {}, epsilon = {}, range, Lipschitz constant and diameter 1. "
      "Rates without constants; beside them the expected squared errors of the product's own means, exact: Laplace "
      "noise, PrivUnit, and inverse variances of both sides.",
      kAll, kDimension, kEpsilon);
  out.axis = "public records";
  out.values = std::move(values);
  out.panels.push_back(
      {"mean, semi-DP",
       "squared error",
       {rate_and_bound(
            "throw-away", [](double open) { return 1.0 / open; }, [](double open) { return 1.0 / open; }),
        rate_and_bound(
            "all protected", [=](double) { return dp_mean; }, [=](double) { return laplace(kAll) + 1.0 / kAll; }),
        rate_and_bound(
            "semi-DP", [=](double open) { return std::min(1.0 / open, dp_mean); },
            [=](double open) { return weighed(open, laplace(kAll - open)); })}});
  out.panels.push_back({"ERM, semi-DP",
                        "excess empirical risk",
                        {rate_alone("throw-away", [](double open) { return (kAll - open) / kAll; }),
                         rate_alone("all protected", [](double) { return kDimension / (kAll * kEpsilon); }),
                         rate_alone("semi-DP", [](double open) {
                           return std::min((kAll - open) / kAll, kDimension / (kAll * kEpsilon));
                         })}});
  out.panels.push_back({"SCO, semi-DP",
                        "excess risk",
                        {rate_alone("throw-away", [](double open) { return 1.0 / std::sqrt(open); }),
                         rate_alone("all protected", [=](double) { return dp_sco; }),
                         rate_alone("semi-DP", [=](double open) { return std::min(1.0 / std::sqrt(open), dp_sco); })}});
  out.panels.push_back(
      {"mean, semi-LDP",
       "squared error",
       {rate_and_bound(
            "throw-away", [](double open) { return 1.0 / open; }, [](double open) { return 1.0 / open; }),
        rate_and_bound(
            "all report", [=](double) { return ldp_mean; }, [=](double) { return reported / kAll + 1.0 / kAll; }),
        rate_and_bound(
            "semi-LDP", [=](double open) { return std::min(1.0 / open, ldp_mean); },
            [=](double open) { return weighed(open, reported / (kAll - open)); })}});
  return out;
}

/// Figure 3.3 over the records of a silo. Sources: Theorems 34, 35, 124, 129; spec federated-core 3, 9.
RateMap convex_rates(std::vector<double> values) {
  constexpr Eigen::Index kDimension = 100;
  const theorems::TheoremFacts facts = map_facts(1.0);
  theorems::TheoremFacts strong = facts;
  strong.strong_convexity = 0.1;
  const double d = static_cast<double>(kDimension);
  const auto privacy = [=](double n) { return std::sqrt(d) / (n * std::sqrt(kMapSilos)); };
  RateMap out;
  out.name = "fig3.3";
  out.introduction =
      "25 silos, all answer and are alike; d = 100, epsilon 1, delta 1e-6, L = beta = 1, the ball of radius 1, mu = "
      ".1. "
      "Rates are the theorems', their constants dropped; bounds hold at the noise that the accountant plans. The lower "
      "bounds are Theorem 35's, without their constants. The bounds of accelerated_* are of the risk over the records.";
  out.axis = "records a silo";
  out.values = std::move(values);
  out.panels.push_back({"convex", "excess risk", {}});
  for (const TheoremName name : {TheoremName::MinibatchConvex, TheoremName::OnePassConvexDirect,
                                 TheoremName::AcceleratedConvexDirect, TheoremName::LocalizedConvex})
    out.panels.back().lines.push_back(of_theorem(name, facts, in_ball(kDimension)));
  out.panels.back().lines.push_back(rate_alone("lower bound over the population", [=](double n) {
    return 2.0 * (1.0 / std::sqrt(kMapSilos * n) + std::min(1.0, privacy(n)));
  }));
  out.panels.back().lines.push_back(
      rate_alone("lower bound over the records", [=](double n) { return 2.0 * std::min(1.0, privacy(n)); }));
  out.panels.push_back({"strongly convex", "excess risk", {}});
  for (const TheoremName name : {TheoremName::MinibatchStronglyConvex, TheoremName::OnePassStronglyConvex,
                                 TheoremName::AcceleratedStronglyConvex, TheoremName::LocalizedStronglyConvex})
    out.panels.back().lines.push_back(of_theorem(name, strong, in_ball(kDimension)));
  const auto strongly = [=](double n) { return 2.0 * std::min(1.0, privacy(n) * privacy(n)); };
  out.panels.back().lines.push_back(
      rate_alone("lower bound over the population", [=](double n) { return 10.0 / (kMapSilos * n) + strongly(n); }));
  out.panels.back().lines.push_back(rate_alone("lower bound over the records", strongly));
  return out;
}

/// Figure 3.4 over the records of a silo. Sources: Theorems 40, 42, 44, 46; spec federated-core 3.3 to 3.5, 9.
RateMap nonconvex_rates(std::vector<double> values) {
  constexpr Eigen::Index kDimension = 100;
  theorems::TheoremFacts facts = map_facts(1.0);
  facts.strong_convexity = 0.2;
  const double d = static_cast<double>(kDimension);
  const auto squared = [=](double n) { return d * std::log(1.0 / kMapDelta) / (n * n * kMapSilos); };
  RateMap out;
  out.name = "fig3.4";
  out.introduction =
      "25 silos, all answer and are alike; d = 100, epsilon 1, delta 1e-6, L = beta = 1, gap 2, proximal-PL constant "
      ".2. "
      "Rates are the theorems', their constants dropped; bounds hold at the noise that the accountant plans. The lower "
      "bounds are Theorem 35's of strongly convex objectives, which are proximal-PL, and Theorem 46's, without "
      "constants.";
  out.axis = "records a silo";
  out.values = std::move(values);
  out.panels.push_back(
      {"proximal-PL",
       "excess risk",
       {of_theorem(TheoremName::ProximalSgd, facts, in_ball(kDimension)),
        of_theorem(TheoremName::ProxSvrg, facts, in_ball(kDimension)), rate_alone("lower bound", [=](double n) {
          return 2.0 * std::min(1.0, squared(n) / std::log(1.0 / kMapDelta));
        })}});
  out.panels.push_back({"non-convex",
                        "squared norm of the gradient mapping",
                        {of_theorem(TheoremName::Spider, facts, in_ball(kDimension)),
                         rate_alone("lower bound", [=](double n) { return std::min(1.0, squared(n)); })}});
  return out;
}

/// Figure 4.1 over the records of the one silo, k = 2. Sources: Theorems 57, 58, 59, 63; spec heavy-tailed 6.
RateMap heavy_rates(std::vector<double> values) {
  constexpr Eigen::Index kDimension = 20;
  const double d = static_cast<double>(kDimension);
  theorems::TheoremFacts facts = map_facts(1.0);
  facts.silos = facts.answering = 1.0;
  facts.moment = theorems::MomentBound{2.0, std::sqrt(d)};
  facts.gradient_variance = d;
  facts.gap = 2.0 * std::sqrt(d);  // r D
  theorems::TheoremFacts strong = facts;
  strong.strong_convexity = 0.5;
  const double root_rho = theorems::shift_of_each(1.0, kMapDelta, 1.0).value() / std::sqrt(2.0);
  const auto privacy = [=](double n) { return std::min(1.0, std::sqrt(d) / (root_rho * n)); };
  RateMap out;
  out.name = "fig4.1";
  out.introduction =
      "One silo; d = 20, a second moment of r = sqrt d, epsilon 1, delta 1e-6, gap r D, beta = 1, the ball of radius "
      "1, mu = "
      ".5. "
      "Rates are the theorems', their constants dropped; bounds hold at the noise that the accountant plans, the bias "
      "of "
      "the clip included. Lower bounds are those of Theorems 57 and 58, without their constants.";
  out.axis = "records";
  out.values = std::move(values);
  out.panels.push_back({"convex",
                        "excess risk",
                        {of_theorem(TheoremName::HeavyTailedConvex, facts, in_ball(kDimension)),
                         rate_alone("lower bound", [=](double n) {
                           return 2.0 * std::sqrt(d) * (1.0 / std::sqrt(n) + std::sqrt(privacy(n)));
                         })}});
  out.panels.push_back({"proximal-PL, strongly convex",
                        "excess risk",
                        {of_theorem(TheoremName::HeavyTailedProximal, strong, in_ball(kDimension)),
                         rate_alone("lower bound", [=](double n) { return d / 0.5 * (1.0 / n + privacy(n)); })}});
  return out;
}

/// One number of a map.
struct RatePoint {
  std::size_t panel = 0;
  std::size_t line = 0;
  std::size_t value = 0;
};

std::vector<RatePoint> points_of(const RateMap& map) {
  std::vector<RatePoint> out;
  for (std::size_t panel = 0; panel < map.panels.size(); ++panel)
    for (std::size_t line = 0; line < map.panels[panel].lines.size(); ++line)
      for (std::size_t value = 0; value < map.values.size(); ++value) out.push_back({panel, line, value});
  return out;
}

/// A point's numbers as they are kept: rate and bound, 0 for none.
struct KeptRate {
  double rate = 0.0;
  double bound = 0.0;
};
using KeptRates = std::map<std::tuple<std::size_t, std::size_t, std::size_t>, KeptRate>;

std::string said(double number) { return number > 0.0 ? fmt::format("{:.3g}", number) : std::string("-"); }

std::string text_of(const RateMap& map, const KeptRates& kept) {
  std::string out = fmt::format(
      "# {}: rates and bounds\n\n{} Each cell has the rate, then the bound. The map shows formulas and is not "
      "judged.\n",
      map.name, map.introduction);
  for (std::size_t panel = 0; panel < map.panels.size(); ++panel) {
    const std::vector<RateLine>& lines = map.panels[panel].lines;
    out += fmt::format("\n## {}: {}\n\n| {} |", map.panels[panel].title, map.panels[panel].measure, map.axis);
    std::string rule = "| --- |";
    for (const RateLine& line : lines) {
      out += fmt::format(" {} |", line.name);
      rule += " --- |";
    }
    out += "\n" + rule + "\n";
    for (std::size_t value = 0; value < map.values.size(); ++value) {
      out += fmt::format("| {:g} |", map.values[value]);
      for (std::size_t line = 0; line < lines.size(); ++line) {
        const KeptRate& here = kept.at({panel, line, value});
        out += here.bound > 0.0 ? fmt::format(" {}, {} |", said(here.rate), said(here.bound))
                                : fmt::format(" {} |", said(here.rate));
      }
      out += "\n";
    }
  }
  return out;
}

Figure picture_of(const RateMap& map, const KeptRates& kept) {
  Figure out;
  out.title = fmt::format("{}: rates (lines) and the product's bounds (points)", map.name);
  out.columns = map.panels.size();
  for (std::size_t panel = 0; panel < map.panels.size(); ++panel) {
    const RatePanel& of = map.panels[panel];
    Panel drawn{of.title, {map.axis, AxisScale::Logarithmic}, {of.measure, AxisScale::Logarithmic}, {}};
    for (std::size_t line = 0; line < of.lines.size(); ++line) {
      Series rates{of.lines[line].name, {}, SeriesStyle::Line};
      Series bounds{of.lines[line].name + ", bound", {}, SeriesStyle::Points};
      for (std::size_t value = 0; value < map.values.size(); ++value) {
        const KeptRate& here = kept.at({panel, line, value});
        if (here.rate > 0.0) rates.points.push_back({map.values[value], here.rate, {}});
        if (here.bound > 0.0) bounds.points.push_back({map.values[value], here.bound, {}});
      }
      if (!rates.points.empty()) drawn.series.push_back(std::move(rates));
      if (!bounds.points.empty()) drawn.series.push_back(std::move(bounds));
    }
    out.panels.push_back(std::move(drawn));
  }
  return out;
}

std::string table_of(const RateMap& map, const KeptRates& kept) {
  std::string out = fmt::format("panel,line,{},rate,bound\n", map.axis);
  for (const auto& [key, here] : kept) {
    const auto& [panel, line, value] = key;
    out += fmt::format("\"{}\",{},{:g},{:.6g},{:.6g}\n", map.panels[panel].title, map.panels[panel].lines[line].name,
                       map.values[value], here.rate, here.bound);
  }
  return out;
}

}  // namespace

std::vector<RateMap> rate_maps(FigureSize size) {
  const std::size_t steps = size == FigureSize::Quick ? 2 : 12;
  return {public_rates(evenly_spaced(10.0, 5000.0, steps)), convex_rates(evenly_spaced(100.0, 1e6, steps)),
          nonconvex_rates(evenly_spaced(1000.0, size == FigureSize::Quick ? 1e5 : 1e7, steps)),
          heavy_rates(evenly_spaced(1000.0, 1e6, steps))};
}

Status reproduce_rates(std::string_view name, const ReproduceRequest& request) {
  const std::vector<RateMap> maps = rate_maps(request.size);
  const auto found = std::find_if(maps.begin(), maps.end(), [&](const RateMap& map) { return map.name == name; });
  if (found == maps.end())
    return Error{ErrorCode::InvalidArgument, fmt::format("no map of rates is named \"{}\"", name)};
  const RateMap& map = *found;
  const std::vector<RatePoint> points = points_of(map);
  ResumableFigure out{map.name,
                      {{"format", "undertone.rates/1"}, {"figure", map.name}, {"values", map.values}},
                      points.size(),
                      {},
                      "rate_and_bound",
                      {},
                      {}};
  out.describe = [&](std::size_t i) -> RateJson {
    const RatePanel& panel = map.panels[points[i].panel];
    return {
        {"panel", panel.title}, {"line", panel.lines[points[i].line].name}, {map.axis, map.values[points[i].value]}};
  };
  out.compute = [&](std::size_t i) -> Result<std::vector<double>> {
    UNDERTONE_TRY(const RateAndBound here,
                  map.panels[points[i].panel].lines[points[i].line].at(map.values[points[i].value]));
    return std::vector<double>{here.rate.value_or(0.0), here.bound.value_or(0.0)};
  };
  out.files = [&](const std::vector<std::vector<double>>& numbers) -> Result<FigureFiles> {
    KeptRates kept;
    for (std::size_t i = 0; i < points.size(); ++i)
      kept[{points[i].panel, points[i].line, points[i].value}] = {numbers[i].at(0), numbers[i].at(1)};
    return FigureFiles{table_of(map, kept), text_of(map, kept), picture_of(map, kept)};
  };
  return reproduce_resumably(out, request);
}

}  // namespace undertone::lab
