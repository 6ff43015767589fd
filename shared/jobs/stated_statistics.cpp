#include "shared/jobs/stated_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string_view>
#include <utility>

#include "shared/base/overloaded.hpp"
#include "shared/features/named_blocks.hpp"
#include "shared/jobs/stated_choices.hpp"
#include "shared/jobs/stated_reports.hpp"
#include "shared/jobs/stated_survival.hpp"
#include "shared/jobs/stated_tables.hpp"
#include "shared/jobs/stated_vectors.hpp"
#include "shared/mechanisms/laplace_sum/laplace_sum.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "shared/statistics/comparisons.hpp"
#include "shared/statistics/correlations.hpp"
#include "shared/statistics/counts.hpp"
#include "shared/statistics/group_means.hpp"
#include "shared/statistics/means.hpp"
#include "shared/statistics/quantiles.hpp"
#include "shared/statistics/regression.hpp"
#include "shared/statistics/variances.hpp"

namespace undertone::jobs {
namespace {

using algorithms::NumberColumn;
using algorithms::StatisticAsked;
using statistics::Interval;
using statistics::NoiseLaw;
using statistics::Stated;

/// A silo's totals in real units, and their noise.
struct Told {
  std::int64_t records = 0;
  Eigen::VectorXd totals;
  statistics::CoordinateNoise noise;
};

/// The silos of one question, read once.
struct Asking {
  const StatisticAsked& asked;
  statistics::Confidence confidence;
  bool sampling = false;
  bool persons = false;                       // totals are of the means over persons' records, or of these themselves
  double of_each = 1.0;                       // how much one of them may add to a number
  std::optional<statistics::FeatureMap> map;  // that every silo's totals are of
  bool together = true;                       // all silos that answered
  bool counts_once = true;                    // nobody adds to several cells
  std::vector<Told> silos;

  [[nodiscard]] std::int64_t records() const {
    return std::accumulate(silos.begin(), silos.end(), std::int64_t{0},
                           [](std::int64_t sum, const Told& silo) { return sum + silo.records; });
  }
  [[nodiscard]] Eigen::VectorXd totals() const {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(silos.front().totals.size());
    for (const Told& silo : silos) sum += silo.totals;
    return sum;
  }
  /// On the sum over the silos.
  [[nodiscard]] Result<NoiseLaw> law() const {
    std::vector<statistics::NoiseTerm> terms;
    for (const Told& silo : silos) terms.push_back({silo.noise, 1.0});
    return NoiseLaw::create(std::move(terms));
  }
  [[nodiscard]] statistics::Sampling sampled() const {
    return sampling ? statistics::Sampling::Automatic : statistics::Sampling::None;
  }
};

/// A number that its method would not state: the trivial interval, and why.
Stated refused(const Error& why, Interval all) {
  Stated out;
  out.noise = all;
  out.note = "refused: " + why.message;
  return out;
}

Stated stated_or_refused(Result<Stated> stated, Interval all) {
  return stated ? *std::move(stated) : refused(stated.error(), all);
}

/// One total of a silo, and how many times the sum that it stands for it is.
struct TotalPlace {
  Eigen::Index at = 0;
  double factor = 1.0;
};
TotalPlace place_in(const statistics::FeatureMap& map, std::string_view block, Eigen::Index index = 0) {
  const statistics::NamedBlock found = statistics::block_named(map, block);
  UNDERTONE_CHECK(index >= 0 && index < found.size);
  return {found.first + index, found.factor};
}
/// Every silo's mean of a number from one of its totals, and of its square from another.
struct MomentPlaces {
  TotalPlace number = {};
  std::optional<TotalPlace> square = {};
};
Result<std::vector<statistics::SiloMoments>> moments_at(const Asking& asking, const MomentPlaces& at) {
  const auto all = static_cast<double>(asking.records());
  std::vector<statistics::SiloMoments> out;
  for (const Told& silo : asking.silos) {
    const auto records = static_cast<double>(silo.records);
    const auto mean_of = [&](const TotalPlace& place) -> Result<statistics::NoisedMean> {
      const double per_total = 1.0 / (place.factor * records);
      UNDERTONE_TRY(NoiseLaw law, NoiseLaw::create({{silo.noise, per_total}}));
      return statistics::NoisedMean{silo.totals[place.at] * per_total, std::move(law)};
    };
    UNDERTONE_TRY(statistics::NoisedMean mean, mean_of(at.number));
    statistics::SiloMoments moments{silo.records, records / all, std::move(mean)};
    if (at.square) {
      UNDERTONE_TRY(statistics::NoisedMean square, mean_of(*at.square));
      moments.square = std::move(square);
    }
    out.push_back(std::move(moments));
  }
  return out;
}

double centre_of(double low, double high) { return low + 0.5 * (high - low); }
double half_of(double low, double high) { return 0.5 * (high - low); }

/// A mean in the unit of its column.
Result<Stated> mean_at(const Asking& asking, const MomentPlaces& at, double low, double high) {
  UNDERTONE_TRY(const std::vector<statistics::SiloMoments> moments, moments_at(asking, at));
  Stated stated = stated_or_refused(statistics::state_mean(moments, asking.confidence, asking.sampled()), {-1.0, 1.0});
  return statistics::in_units(std::move(stated), centre_of(low, high), half_of(low, high));
}

/// This states totals of what persons add: of each a share in [0, 1], or up to `of_each` records. What a person adds is
/// not 0 or 1, so no exact interval of counts holds, and the totals are stated as means.
/// Source: spec person-unit 6.2.
Result<std::vector<Stated>> state_shares(const Asking& asking, bool complement) {
  const auto all = static_cast<double>(asking.records());
  const double sign = complement ? -1.0 : 1.0;
  std::vector<statistics::SiloMoments> moments;
  for (const Told& silo : asking.silos) {
    const auto persons = static_cast<double>(silo.records);
    UNDERTONE_TRY(NoiseLaw law, NoiseLaw::create({{silo.noise, 2.0 * sign / persons / asking.of_each}}));
    moments.push_back({silo.records, persons / all, {0.0, std::move(law)}, {}});
  }
  std::vector<Stated> out;
  for (Eigen::Index cell = 0; cell < asking.silos.front().totals.size(); ++cell) {
    for (std::size_t i = 0; i < moments.size(); ++i) {
      const Told& silo = asking.silos[i];
      moments[i].mean.value =
          sign * (2.0 * silo.totals[cell] / static_cast<double>(silo.records) / asking.of_each - 1.0);
    }
    UNDERTONE_TRY(Stated mean, statistics::state_mean(moments, asking.confidence, asking.sampled()));
    out.push_back(statistics::in_units(std::move(mean), 0.5 * all * asking.of_each, 0.5 * all * asking.of_each));
  }
  return out;
}

Result<StatedQuestion> state(const Asking& asking, const algorithms::CountAsked& what) {
  if (asking.persons) {
    UNDERTONE_TRY(std::vector<Stated> stated, state_shares(asking, what.complement));
    return StatedQuestion{{{"count", std::move(stated.front())}}, {}, {}};
  }
  UNDERTONE_TRY(const NoiseLaw law, asking.law());
  const std::int64_t records = asking.records();
  const double total = asking.totals()[0];
  const double count = what.complement ? static_cast<double>(records) - total : total;
  return StatedQuestion{
      {{"count", stated_or_refused(statistics::state_count(count, records, law, asking.confidence, asking.sampling),
                                   {0.0, static_cast<double>(records)})}},
      {},
      {}};
}

Result<StatedQuestion> state(const Asking& asking, const algorithms::MeanAsked& what) {
  UNDERTONE_TRY(Stated mean, mean_at(asking, {}, what.low, what.high));
  return StatedQuestion{{{"mean", std::move(mean)}}, {}, {}};
}

Result<StatedQuestion> state(const Asking& asking, const algorithms::SumAsked& what) {
  UNDERTONE_TRY(Stated mean, mean_at(asking, {}, what.low, what.high));
  return StatedQuestion{
      {{"sum", statistics::in_units(std::move(mean), 0.0, static_cast<double>(asking.records()))}}, {}, {}};
}

/// An interval with room for a bias on either side.
Interval widened(Interval interval, double bias, Interval all) {
  return statistics::cut_to({interval.low - bias, interval.high + bias}, all);
}

Result<StatedQuestion> state(const Asking& asking, const algorithms::CutMeanAsked& what) {
  const MomentPlaces at{place_in(*asking.map, "numbers"), place_in(*asking.map, "squares")};
  UNDERTONE_TRY(Stated mean, mean_at(asking, at, what.about - what.radius(), what.about + what.radius()));
  const double bias = what.bias();
  mean.noise = widened(mean.noise, bias, {what.low, what.high});
  if (mean.population) mean.population = widened(*mean.population, bias, {what.low, what.high});
  mean.note += fmt::format(
      "{}of numbers {} {:.6g} +- {:.6g}, which moves their mean by {:.4g} at most if their "
      "moment of order {:.4g} about {:.6g} is at most {:.6g} (\"{}\")",
      mean.note.empty() ? "" : "; ",
      what.influence == statistics::Influence::Clip ? "cut to" : "bent smoothly to stay within", what.about,
      what.radius(), bias, what.moment.order, what.about, what.moment.bound, what.source);
  return StatedQuestion{{{"mean", std::move(mean)}}, {}, {}};
}

/// A number that each person adds `per_record` of for every record and `per_number` of for its u in [-1, 1].
struct PersonSum {
  double per_record = 0.0;
  double per_number = 0.0;
};
/// The sum over persons of such a number, of counted sums. A person adds between `of_each` times the least that a
/// record can add, or nothing, and `of_each` times the most. Source: spec person-unit 6.2 (of totals / k: SCORE).
Result<Stated> state_person_sum(const Asking& asking, const PersonSum& number) {
  const double low = asking.of_each * std::min(0.0, number.per_record - number.per_number);
  const double high = asking.of_each * std::max(0.0, number.per_record + number.per_number);
  const auto all = static_cast<double>(asking.records());
  std::vector<statistics::SiloMoments> moments;
  for (const Told& silo : asking.silos) {
    const auto persons = static_cast<double>(silo.records);
    const double scale = 2.0 / (high - low) / persons;
    std::vector<statistics::NoiseTerm> terms;
    for (const double factor : {number.per_record, number.per_number})
      if (factor != 0.0) terms.push_back({silo.noise, scale * factor});
    UNDERTONE_TRY(NoiseLaw law, NoiseLaw::create(std::move(terms)));
    const double total = number.per_record * silo.totals[0] + number.per_number * silo.totals[1];
    moments.push_back({silo.records, persons / all, {scale * (total - persons * low) - 1.0, std::move(law)}, {}});
  }
  Stated stated = stated_or_refused(statistics::state_mean(moments, asking.confidence, asking.sampled()), {-1.0, 1.0});
  return statistics::in_units(std::move(stated), 0.5 * all * (high + low), 0.5 * all * (high - low));
}

/// The mean over all silos' records, of each person so many at most.
Result<Stated> state_record_mean(const Asking& asking, double low, double high) {
  std::vector<statistics::NoiseTerm> terms;
  for (const Told& silo : asking.silos) terms.push_back({silo.noise, 1.0 / asking.of_each});
  UNDERTONE_TRY(const NoiseLaw law, NoiseLaw::create(std::move(terms)));
  const Eigen::VectorXd totals = asking.totals() / asking.of_each;
  Stated stated = stated_or_refused(statistics::state_group_mean({totals[0], totals[1], std::nullopt, law, law, 0.0},
                                                                 asking.confidence, asking.sampling),
                                    {-1.0, 1.0});
  return statistics::in_units(std::move(stated), centre_of(low, high), half_of(low, high));
}

Result<StatedQuestion> state(const Asking& asking, const algorithms::CountedSumAsked& what) {
  UNDERTONE_TRY(Stated records, state_person_sum(asking, {1.0, 0.0}));
  UNDERTONE_TRY(Stated stated, what.is_mean ? state_record_mean(asking, what.low, what.high)
                                            : state_person_sum(asking, {centre_of(what.low, what.high),
                                                                        half_of(what.low, what.high)}));
  return StatedQuestion{{{what.is_mean ? "mean" : "sum", std::move(stated)}, {"records", std::move(records)}}, {}, {}};
}

Result<StatedQuestion> state(const Asking& asking, const algorithms::VarianceAsked& what) {
  const MomentPlaces at{place_in(*asking.map, "numbers"), place_in(*asking.map, "squares")};
  UNDERTONE_TRY(Stated mean, mean_at(asking, at, what.low, what.high));
  UNDERTONE_TRY(const std::vector<statistics::SiloMoments> moments, moments_at(asking, at));
  const Stated variance =
      stated_or_refused(statistics::state_variance(moments, asking.confidence, asking.sampling), {0.0, 2.0});
  const double half = half_of(what.low, what.high);
  return StatedQuestion{
      {{"mean", std::move(mean)},
       {"variance", statistics::in_units(variance, 0.0, half * half)},
       {"standard deviation", statistics::in_units(statistics::standard_deviation_of(variance), 0.0, half)}},
      {},
      {}};
}

Result<std::vector<Stated>> state_cells(const Asking& asking) {
  if (asking.persons) return state_shares(asking, false);
  UNDERTONE_TRY(const NoiseLaw law, asking.law());
  const Eigen::VectorXd totals = asking.totals();
  return statistics::state_cells({totals.begin(), totals.end()}, asking.records(), law, asking.confidence,
                                 asking.sampling, false);
}

Result<StatedQuestion> state_table(const Asking& asking) {
  UNDERTONE_TRY(std::vector<Stated> cells, state_cells(asking));
  StatedQuestion out;
  const std::vector<std::string> names = cell_names(asking.asked);
  for (std::size_t i = 0; i < cells.size(); ++i) out.estimates.push_back({names[i], std::move(cells[i])});
  const auto* table = std::get_if<algorithms::TableAsked>(&asking.asked.what);
  if (table == nullptr || !asking.together || asking.persons || !asking.counts_once) return out;
  std::vector<statistics::Stratum> silos;
  for (const Told& silo : asking.silos) {
    UNDERTONE_TRY(NoiseLaw law, NoiseLaw::create({{silo.noise, 1.0}}));
    silos.push_back({statistics::noised_table(silo.totals, static_cast<double>(silo.records), law), std::move(law)});
  }
  put_table_inference(*table, asking.asked.name, silos, asking.confidence, asking.sampling, out);
  return out;
}

Result<statistics::PrefixCounts> prefixes_of(const Asking& asking, const algorithms::HistogramAsked& cells,
                                             double variance) {
  const auto leaves = static_cast<Eigen::Index>(cells.edges.size()) - 1;
  const Eigen::VectorXd totals = asking.totals();
  if (totals.size() == leaves) return statistics::prefixes_of_cells(totals, asking.records(), variance);
  return statistics::prefixes_of_tree({totals, variance}, asking.records());
}

Result<StatedQuestion> state(const Asking& asking, const algorithms::QuantilesAsked& what) {
  UNDERTONE_TRY(const NoiseLaw law, asking.law());
  UNDERTONE_TRY(const statistics::PrefixCounts prefixes, prefixes_of(asking, what.cells, law.variance()));
  const std::vector<double>& edges = what.cells.edges;
  const auto interval = [&](const statistics::EdgeInterval& at) { return Interval{edges[at.low], edges[at.high]}; };
  StatedQuestion out;
  for (const double p : what.probabilities) {
    const Result<statistics::StatedQuantile> quantile =
        statistics::state_quantile(prefixes, asking.records(), p, asking.confidence, asking.sampling,
                                   asking.persons ? statistics::Counted::Shares : statistics::Counted::Records);
    NamedEstimate& estimate = out.estimates.emplace_back();
    estimate.name = fmt::format("quantile {}", p);
    if (!quantile) {
      estimate.stated = refused(quantile.error(), {edges.front(), edges.back()});
      continue;
    }
    const double from = edges[quantile->edge - 1];
    estimate.stated.noise = interval(quantile->noise);
    estimate.stated.value = std::clamp(from + quantile->within * (edges[quantile->edge] - from),
                                       edges[quantile->noise.low], edges[quantile->noise.high]);
    if (quantile->population) estimate.stated.population = interval(*quantile->population);
    estimate.stated.note = "interpolated in its cell, the interval to the edges of cells";
  }
  return out;
}

Result<statistics::VectorMoments> vector_moments(const Asking& asking) {
  UNDERTONE_TRY(const NoiseLaw law, asking.law());
  return statistics::unpack_moments(asking.totals(), asking.records(), law.stddev());
}

Result<StatedQuestion> state(const Asking& asking, const algorithms::CovarianceAsked& what) {
  UNDERTONE_TRY(const statistics::VectorMoments moments, vector_moments(asking));
  const auto columns = static_cast<Eigen::Index>(what.columns.size());
  const auto column = [&](Eigen::Index j) -> const NumberColumn& { return what.columns[static_cast<std::size_t>(j)]; };
  const auto half = [&](Eigen::Index j) { return half_of(column(j).low, column(j).high); };
  const auto shape = what.near_normal ? statistics::Shape::NearNormal : statistics::Shape::Unknown;
  StatedQuestion out;
  for (Eigen::Index j = 0; j < columns; ++j) {
    const MomentPlaces at{place_in(*asking.map, "numbers", j)};
    UNDERTONE_TRY(Stated mean, mean_at(asking, at, column(j).low, column(j).high));
    out.estimates.push_back({fmt::format("mean({})", column(j).name), std::move(mean)});
  }
  for (Eigen::Index j = 0; j < columns; ++j)
    for (Eigen::Index k = j; k < columns; ++k)
      out.estimates.push_back({fmt::format("cov({}, {})", column(j).name, column(k).name),
                               statistics::in_units(statistics::state_covariance(moments, j, k, asking.confidence), 0.0,
                                                    half(j) * half(k))});
  for (Eigen::Index j = 0; j < columns; ++j)
    for (Eigen::Index k = j + 1; k < columns; ++k)
      out.estimates.push_back({fmt::format("corr({}, {})", column(j).name, column(k).name),
                               statistics::state_correlation(moments, j, k, asking.confidence, shape)});
  return out;
}

Result<StatedQuestion> state(const Asking& asking, const algorithms::RegressionAsked& what) {
  UNDERTONE_TRY(const statistics::VectorMoments moments, vector_moments(asking));
  std::vector<Eigen::Index> predictors(what.columns.size());
  std::iota(predictors.begin(), predictors.end(), Eigen::Index{0});
  const auto coefficients = static_cast<Eigen::Index>(what.columns.size()) + 1;
  const auto name_of = [&](std::size_t i) { return i == 0 ? std::string("(intercept)") : what.columns[i - 1].name; };
  StatedQuestion out;
  const Result<statistics::RegressionMoments> sums =
      statistics::regression_moments(moments, predictors, coefficients - 1);
  if (!sums) {
    constexpr double kAll = 1e308;
    for (std::size_t i = 0; i < static_cast<std::size_t>(coefficients); ++i)
      out.estimates.push_back({name_of(i), refused(sums.error(), {-kAll, kAll})});
    return out;
  }
  std::vector<statistics::Scaling> scalings;
  for (const NumberColumn& column : what.columns)
    scalings.push_back({centre_of(column.low, column.high), half_of(column.low, column.high)});
  const statistics::Regression found = statistics::in_column_units(
      statistics::regress(*sums), scalings,
      {centre_of(what.response.low, what.response.high), half_of(what.response.low, what.response.high)});
  std::vector<Stated> stated = statistics::state_coefficients(found, coefficients, asking.confidence);
  for (std::size_t i = 0; i < stated.size(); ++i) {
    if (!asking.sampling || asking.persons) stated[i].population.reset();
    out.estimates.push_back({name_of(i), std::move(stated[i])});
  }
  out.rho = found.rho;
  if (found.carries != statistics::Carries::Nothing) out.residual_variance = found.residual_variance;
  return out;
}

Result<StatedQuestion> state(const Asking& asking, const algorithms::GroupMeansAsked& what) {
  const Eigen::VectorXd totals = asking.totals();
  std::vector<statistics::NoiseTerm> terms;
  for (const Told& silo : asking.silos) terms.push_back({silo.noise, 1.0});
  UNDERTONE_TRY(const NoiseLaw law, NoiseLaw::create(std::move(terms)));
  const double variance = law.variance();
  const statistics::GroupMomentsNoise noise{variance, variance, 2.0 * variance};
  std::vector<statistics::GroupMoments> groups;
  StatedQuestion out;
  const double half = half_of(what.low, what.high);
  for (std::size_t g = 0; g < what.by.values.size(); ++g) {
    const auto at = static_cast<Eigen::Index>(3 * g);
    // The square leaves over sqrt(2).
    groups.push_back({totals[at], totals[at + 1], std::numbers::sqrt2 * totals[at + 2]});
    const statistics::GroupMoments& own = groups.back();
    Stated mean =
        stated_or_refused(statistics::state_group_mean({own.count, own.sum, own.square, law, law, noise.square},
                                                       asking.confidence, asking.sampling),
                          {-1.0, 1.0});
    out.estimates.push_back({fmt::format("mean of {}={}", what.by.column, what.by.values[g]),
                             statistics::in_units(std::move(mean), centre_of(what.low, what.high), half)});
  }
  for (std::size_t g = 1; g < groups.size(); ++g)
    out.estimates.push_back({fmt::format("difference of {}={} from {}={}", what.by.column, what.by.values[g],
                                         what.by.column, what.by.values.front()),
                             statistics::in_units(statistics::state_mean_difference(groups[g], groups.front(), noise,
                                                                                    asking.confidence, asking.sampling),
                                                  0.0, half)});
  if (!asking.together) return out;
  NamedTest& test = out.tests.emplace_back();
  test.name = fmt::format("the means of {} are alike", what.by.column);
  const double least = 4.0 * std::sqrt(variance);
  if (std::any_of(groups.begin(), groups.end(), [&](const auto& group) { return !(group.count > least); })) {
    test.note = "refused: a group's noised size is within four standard deviations of its noise";
    return out;
  }
  const statistics::MeansTest found = statistics::test_means(groups, noise);
  test.statistic = found.statistic;
  test.degrees = found.degrees;
  test.p_value = found.p_value;
  if (found.largest_variance)
    test.note = "groups of little spread: each was given the largest variance that its mean allows";
  return out;
}

Result<StatedQuestion> state_exits(const Asking& asking, const algorithms::SurvivalAsked& what) {
  std::vector<ToldExits> silos;
  for (const Told& silo : asking.silos) {
    UNDERTONE_TRY(NoiseLaw law, NoiseLaw::create({{silo.noise, 1.0}}));
    silos.push_back({silo.records, silo.totals, std::move(law)});
  }
  return state_survival(what, silos, asking.confidence, asking.sampling, asking.together);
}

std::vector<std::string> range_names(const std::vector<double>& edges) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i)
    out.push_back(fmt::format("{}{:.6g}, {:.6g}]", i == 0 ? "[" : "(", edges[i], edges[i + 1]));
  return out;
}

}  // namespace

statistics::CoordinateNoise noise_of(const planning::Release& release) {
  const double wire = std::ldexp(1.0, mechanisms::kValueStepLog2);
  if (const auto* laplace = std::get_if<mechanisms::LaplaceLattice>(&release.mechanism)) {
    const noise::Rational scale = laplace->noise.scale();
    return statistics::LaplaceNoise{static_cast<double>(scale.numerator) / static_cast<double>(scale.denominator),
                                    laplace->lattice.step};
  }
  const auto* gaussian = std::get_if<mechanisms::GaussianLattice>(&release.mechanism);
  UNDERTONE_CHECK(gaussian != nullptr);
  // Rounded to its own lattice, then to the one that all silos share.
  return statistics::GaussianNoise{gaussian->noise_stddev(), gaussian->lattice.step + wire};
}

Eigen::VectorXd totals_of(const SiloTotals& silo) {
  const releases::Ask& ask = silo.release->ask;
  const int step_log2 = queries::statistic_lattice(ask).step_log2;
  Eigen::VectorXd out(ask.dimension);
  for (Eigen::Index i = 0; i < ask.dimension; ++i)
    out[i] = std::ldexp(static_cast<double>((*silo.totals)[static_cast<std::size_t>(i)]), step_log2);
  return out;
}

std::string counted_in(const planning::Release& release) {
  const std::optional<releases::PersonContribution>& persons = release.ask.records.persons;
  if (!persons) return {};
  return fmt::format("{}, {}", persons->form == releases::PersonContribution::Form::Total ? "of records" : "of persons",
                     releases::counted_by(*persons));
}

void note_counted(const std::string& counted, StatedQuestion& stated) {
  if (counted.empty()) return;
  for (NamedEstimate& estimate : stated.estimates)
    estimate.stated.note += fmt::format("{}{}", estimate.stated.note.empty() ? "" : "; ", counted);
}

std::vector<std::string> combinations_of(const std::vector<algorithms::TableAxis>& axes) {
  std::vector<std::string> names{""};
  for (const algorithms::TableAxis& axis : axes) {
    std::vector<std::string> longer;
    longer.reserve(names.size() * axis.values.size());
    for (const std::string& name : names)
      for (const std::string& value : axis.values)
        longer.push_back(fmt::format("{}{}{}={}", name, name.empty() ? "" : ", ", axis.column, value));
    names = std::move(longer);
  }
  return names;
}

std::vector<std::string> cell_names(const StatisticAsked& asked) {
  if (const auto* histogram = std::get_if<algorithms::HistogramAsked>(&asked.what))
    return range_names(histogram->edges);
  const auto* table = std::get_if<algorithms::TableAsked>(&asked.what);
  return table == nullptr ? std::vector<std::string>() : combinations_of(table->axes);
}

namespace {

/// Returns whether a unit may add something else than 0 or 1 to a count.
bool adds_shares(const releases::Ask& ask) {
  using Form = releases::PersonContribution::Form;
  const std::optional<releases::PersonContribution>& persons = ask.records.persons;
  if (!persons || persons->form == Form::Any || persons->form == Form::Number) return false;
  return persons->form == Form::Total || persons->records_max > 1;
}

/// By its kind, whatever the unit.
Result<StatedQuestion> state_by_kind(const StatisticAsked& asked, const algorithms::StatisticsSettings& settings,
                                     const std::vector<SiloTotals>& silos, bool together) {
  UNDERTONE_TRY(const statistics::Confidence confidence, statistics::Confidence::create(settings.confidence));
  if (silos.empty()) return Error{ErrorCode::InvalidArgument, fmt::format("the {}: nobody answered", asked.name)};
  Asking asking{asked,
                confidence,
                settings.sampling,
                adds_shares(silos.front().release->ask),
                static_cast<double>(releases::units_of_one(silos.front().release->ask)),
                algorithms::features_of(asked, settings.noise),
                together,
                asked.persons == releases::PersonContribution::Form::Mean,
                {}};
  for (const SiloTotals& silo : silos) {
    const releases::Ask& ask = silo.release->ask;
    const bool kept = ask.reports() != nullptr && ask.reports()->randomiser == releases::Randomiser::Gaussian;
    const Eigen::Index expected = kept ? silo.release->answer_size() : ask.answer_size();
    if (static_cast<Eigen::Index>(silo.totals->size()) != expected || silo.records < 1) {
      return Error{ErrorCode::Internal, fmt::format("the {}: {} totals of {} records, {} were asked for", asked.name,
                                                    silo.totals->size(), silo.records, expected)};
    }
    if (ask.reports() != nullptr || ask.selects() || silo.release->is_public()) continue;
    asking.silos.push_back({silo.records, totals_of(silo), noise_of(*silo.release)});
  }
  if (const auto* reports = std::get_if<algorithms::ReportsAsked>(&asked.what))
    return state_reports(*reports, settings, silos);
  if (const auto* mean = std::get_if<algorithms::VectorMeanAsked>(&asked.what))
    return state_vector_mean(*mean, silos, confidence);
  if (const auto* model = std::get_if<algorithms::LinearModelAsked>(&asked.what))
    return state_linear_model(*model, silos);
  // What is asked of a function later has intervals of its own.
  if (std::holds_alternative<algorithms::FunctionAsked>(asked.what)) return StatedQuestion{};
  if (algorithms::selects(asked)) return state_choice(asked, silos, confidence);
  return std::visit(
      Overloaded{
          [&](const algorithms::HistogramAsked& /*what*/) { return state_table(asking); },
          [](const algorithms::ReportsAsked& /*above*/) -> Result<StatedQuestion> { UNDERTONE_CHECK(false); },
          [](const algorithms::FunctionAsked& /*above*/) -> Result<StatedQuestion> { UNDERTONE_CHECK(false); },
          [](const algorithms::SelectedQuantileAsked& /*above*/) -> Result<StatedQuestion> { UNDERTONE_CHECK(false); },
          [](const algorithms::LeastLossAsked& /*above*/) -> Result<StatedQuestion> { UNDERTONE_CHECK(false); },
          [](const algorithms::VectorMeanAsked& /*above*/) -> Result<StatedQuestion> { UNDERTONE_CHECK(false); },
          [](const algorithms::LinearModelAsked& /*above*/) -> Result<StatedQuestion> { UNDERTONE_CHECK(false); },
          [&](const algorithms::TableAsked& /*what*/) { return state_table(asking); },
          [&](const algorithms::SurvivalAsked& what) { return state_exits(asking, what); },
          [&](const auto& what) { return state(asking, what); }},
      asked.what);
}

}  // namespace

Result<StatedQuestion> state_question(const StatisticAsked& asked, const algorithms::StatisticsSettings& settings,
                                      const std::vector<SiloTotals>& silos, bool together) {
  Result<StatedQuestion> stated = state_by_kind(asked, settings, silos, together);
  if (!stated) return stated;
  note_counted(counted_in(*silos.front().release), *stated);
  return stated;
}

}  // namespace undertone::jobs
