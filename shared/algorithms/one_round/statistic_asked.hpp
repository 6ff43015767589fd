#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shared/algorithms/one_round/function_asked.hpp"
#include "shared/releases/ask.hpp"
#include "shared/statistics/cut_means.hpp"
#include "shared/statistics/generalised_linear.hpp"
#include "shared/statistics/mechanism_choice.hpp"
#include "shared/statistics/survival/expected_table.hpp"

namespace undertone::algorithms {

/// The records of which an indicator is 1, or with `complement` those of which it is 0.
struct CountAsked {
  bool complement = false;
};
/// The mean of a number that is scaled from [low, high], in the unit of its column, to [-1, 1].
struct MeanAsked {
  double low = 0.0;
  double high = 0.0;  // > low
};
/// Its sum over the records.
struct SumAsked {
  double low = 0.0;
  double high = 0.0;  // > low
};
/// The mean of records, or their sum, beside their number: of persons, of each of whom all records count that may.
/// Source: spec person-unit 6.2, 6.3.
struct CountedSumAsked {
  double low = 0.0;
  double high = 0.0;     // > low
  bool is_mean = false;  // else the sum
};
/// Its mean, variance and standard deviation.
struct VarianceAsked {
  double low = 0.0;
  double high = 0.0;  // > low
};
/// How many records have a number in each cell (e_j, e_(j+1)]; or, where persons contribute as `Number`, how many
/// persons have a number of records in it.
struct HistogramAsked {
  std::vector<double> edges;    // in the unit of the column: its lower bound, .., its upper bound
  std::vector<double> encoded;  // the same as records are encoded
  /// Where it is given, the cells are of the lengths of records' gradients, and not of a column.
  std::optional<statistics::GradientCells> gradients = {};
};
/// The numbers below which shares of the records lie, read off counts of cells.
struct QuantilesAsked {
  HistogramAsked cells;
  std::vector<double> probabilities;  // each in (0, 1)
};
/// One axis of a table: a column of listed values.
struct TableAxis {
  std::string column;
  std::vector<std::string> values;
  statistics::Cells cells;  // one for each value
  bool whole = true;        // every record has one of the values
};
/// How many records have each combination of values, the last axis running fastest.
struct TableAsked {
  std::vector<TableAxis> axes;  // one or more
  bool tested = false;    // of two axes: whether they are independent is tested, and of two by two ratios are stated
  bool modelled = false;  // the last axis is a response of two values: a logistic regression on the others is stated
};
/// Means, covariances and correlations.
struct CovarianceAsked {
  std::vector<NumberColumn> columns;  // two or more
  bool near_normal = false;           // declared: correlations then have intervals for the population
};
/// The coefficients of the least squares of a response on columns and a constant.
struct RegressionAsked {
  std::vector<NumberColumn> columns;  // one or more
  NumberColumn response;
};
/// Means of numbers, or the share of the records that have an indicator, from a report of every record by itself: of
/// several numbers each record reports on one.
struct ReportsAsked {
  std::vector<NumberColumn> columns;  // one or more; of an indicator one, with the bounds 0 and 1
  bool indicator = false;
  bool complement = false;  // of an indicator: the share of those of which it is 0
  releases::Randomiser randomiser = releases::Randomiser::Bit;
};
/// The cell of a silo's records that holds a rank, chosen by the exponential mechanism: of two choices a little further
/// out on either side, whose outer edges make an interval, or of the quantile itself.
struct SelectedQuantileAsked {
  enum class End : std::uint8_t { Middle, Low, High };
  HistogramAsked cells;
  double probability = 0.5;  // of the quantile, in (0, 1)
  End end = End::Middle;
  releases::QuantileCell rank = {};  // that is aimed at: further out than the probability for an end
};
/// The parameters of a linear model among those of a grid, chosen by the exponential mechanism on the empirical risk.
/// Source: McSherry and Talwar 2007; spec public-data 4.
struct LeastLossAsked {
  LossOf of;  // whose order counts for nothing
};
/// The mean of records as vectors of columns, each scaled to [-1, 1] and cut to a ball about the centres.
/// Source: spec public-data 2, 3.4.
struct VectorMeanAsked {
  /// What estimate is made of noised means and of public records.
  enum class Combination : std::uint8_t {
    Weighted,   // by inverse variances: of the law that all records are drawn from
    Empirical,  // of the records that there are
    ThrowAway   // of public records alone: no other is read
  };
  std::vector<NumberColumn> columns;  // one or more
  double radius = 1.0;                // of the ball, in half ranges of a column
  bool of_public = false;             // the exact sum of public records; else of the protected ones
  bool beside_public = false;         // the question before is the same of the public records
  Combination combination = Combination::Weighted;
  std::optional<double> spread =
      {};  // V, the root of the trace of the covariance, in half ranges; none: public records'
  std::optional<releases::Randomiser> reports = {};  // from a report of each record, instead of totals
  releases::UnitAdapter adapter = releases::UnitAdapter::Round;
};
/// The parameters of a linear model that minimise the mean of a loss over a ball, x as above: of f(y <w, x> / radius)
/// for a label y = +-1, or of f((<w, x> - y) / radius) for a number y that is cut together with x.
/// Source: spec noninteractive-ldp 2.6, 4; residuals are (g) of the vector (x, y), at the point (w, -1).
struct LinearModelAsked {
  std::vector<NumberColumn> columns;  // one or more
  NumberColumn response;              // y: a binary label, or a number in half ranges about the middle
  bool of_residual = false;           // y is a number
  double radius = 1.0;                // that x, or (x, y), is cut to, in half ranges
  bool intercept = false;             // x has a last number that is always 1
  statistics::LipschitzLoss loss = statistics::LipschitzLoss::hinge();  // f
  double smoothing = 0.25;                                              // b, in the unit of f's argument
  double parameter_bound = 1.0;                                         // of ||w||
  std::size_t degree = 0;  // D of the polynomial that is the loss's slope; 0: to be chosen
  bool copies = false;     // D (D + 1) + 1 of each record, else one
  bool reports = false;    // from a report of each record, instead of totals

  /// No |t| of f(t) is larger: records' vectors are no longer than 1, over the radius.
  [[nodiscard]] double reach() const { return of_residual ? std::hypot(1.0, parameter_bound) : parameter_bound; }
  /// The polynomial that is taken for the loss's slope. @pre the degree is chosen
  [[nodiscard]] statistics::SlopePolynomial slope() const {
    return copies ? statistics::bernstein_slope(loss, smoothing, degree, reach())
                  : statistics::chebyshev_slope(loss, smoothing, degree, reach());
  }
};
/// The mean of a number with heavy tails: in place of a narrow range a bound on a moment about a point is known.
/// Numbers are cut to `about` +- `threshold`, and the interval has room for what the cut takes away. Source: spec
/// heavy-tailed 2.1.
struct CutMeanAsked {
  double low = 0.0;
  double high = 0.0;               // > low
  statistics::MomentBound moment;  // in the unit of the column
  double about = 0.0;              // in [low, high]
  std::string source = {};         // of the bound, in words
  double threshold = 0.0;          // in the unit of the column; 0: to be chosen
  statistics::Influence influence = statistics::Influence::Clip;
  /// Numbers are cut to `about` +- this.
  [[nodiscard]] double radius() const { return statistics::largest_influence(influence) * threshold; }
  /// How far a number of the column is from `about` at most. A clip takes nothing where it is as far away.
  [[nodiscard]] double farthest() const noexcept { return std::max(high - about, about - low); }
  [[nodiscard]] double bias() const {
    if (influence == statistics::Influence::Clip && threshold >= farthest()) return 0.0;
    return statistics::cut_bias(moment, threshold, influence);
  }
};
/// When and how records leave a public grid of time, from which curves, tests and hazard ratios are computed.
/// Source: spec survival 2 to 4.
struct SurvivalAsked {
  statistics::ExitCells cells;
  std::vector<double> edges;                  // of the grid, in the unit of the column
  std::vector<std::string> causes;            // names of what happens, as many as the cells have
  std::vector<TableAxis> by = {};             // groups are the combinations of their values; none: all records are one
  std::vector<std::size_t> at = {};           // numbers of edges, 1 .. J, at which curves are stated; ascending
  std::vector<double> probabilities = {0.5};  // of quantiles of the time, each in (0, 1)
  bool on_grid = false;                       // the edges are all the times that there are
  bool pooled = false;  // everybody declares silos to be alike: their tables are added up, else each counts by itself
  bool gehan = false;   // the test counts intervals by who is at risk
  statistics::SurvivalGuess guess = {};  // what a plan reckons with

  [[nodiscard]] std::size_t groups() const {
    std::size_t out = 1;
    for (const TableAxis& axis : by) out *= axis.values.size();
    return out;
  }
  /// Every record is in a cell.
  [[nodiscard]] bool whole() const {
    return std::all_of(by.begin(), by.end(), [](const TableAxis& axis) { return axis.whole; });
  }
};
/// Means of a number in the groups of a column, compared: a test that they are alike, and their differences.
/// Source: spec survival 7.3.
struct GroupMeansAsked {
  double low = 0.0;
  double high = 0.0;  // > low
  TableAxis by;       // two groups or more
};
/// One statistic of the silos' training records.
struct StatisticAsked {
  std::string name;            // "count of sex=female", "mean of age"
  std::size_t coordinate = 0;  // of an encoded record, where it is of one. @see releases::StatisticMap
  std::variant<CountAsked, MeanAsked, SumAsked, VarianceAsked, HistogramAsked, QuantilesAsked, TableAsked,
               CovarianceAsked, RegressionAsked, ReportsAsked, FunctionAsked, SelectedQuantileAsked, LeastLossAsked,
               VectorMeanAsked, LinearModelAsked, CountedSumAsked, CutMeanAsked, SurvivalAsked, GroupMeansAsked>
      what;             // choices that are kept for a run name an alternative by its index: a new one comes last
  double weight = 1.0;  // > 0: of its noise in a split budget
  std::optional<double> half_width = {};  // wanted of its interval, in its unit
  std::string column = {};                // of data, where it is of one
  /// This says how a person contributes where the unit is a person. `one_record` goes with `Mean`, which is then the
  /// mean over one of her records.
  releases::PersonContribution::Form persons = releases::PersonContribution::Form::Mean;
  bool one_record = false;
};

/// "count", "mean", "sum", "variance", "histogram", "quantiles", "table", "covariance", "regression", "reports",
/// "marginals", "kernels", "loss", "selected_quantile", "least_loss", "vector_mean", "linear_model", "survival",
/// "group_means"
[[nodiscard]] std::string_view kind_of(const StatisticAsked& asked) noexcept;
/// How records report on it each by itself; nothing where they are added up.
[[nodiscard]] std::optional<releases::Randomiser> reports_of(const StatisticAsked& asked) noexcept;
/// Whether each silo answers with the number of a candidate.
[[nodiscard]] bool selects(const StatisticAsked& asked) noexcept;
/// Whether it reads public records alone, and so leaves exactly and costs nothing.
[[nodiscard]] bool reads_public(const StatisticAsked& asked) noexcept;
/// Whether a person contributes one of her records, drawn afresh, where the unit is a person.
[[nodiscard]] bool takes_one_record(const StatisticAsked& asked) noexcept;
/// Whether it is one number, a count's or a mean's.
[[nodiscard]] bool is_single(const StatisticAsked& asked) noexcept;

/// Whether the statistic has a form under a law of noise: covariances, regressions and means of groups have none with
/// Laplace noise,
/// reports of single records none with Gaussian noise.
[[nodiscard]] bool has_form(const StatisticAsked& asked, statistics::NoiseKind noise);
/// What every record contributes to a total under a law of noise. Quantiles are read off a tree of counts where noise
/// is Gaussian and there are 16 cells or more, a power of two; else off the cells. Source: spec statistics 6.
/// @return nothing where that law has no form of it, nor of reports, which are no total
[[nodiscard]] std::optional<statistics::FeatureMap> features_of(const StatisticAsked& asked,
                                                                statistics::NoiseKind noise);
/// What it asks of every silo. Counts and means with Laplace noise are asked for as single numbers in public ranges,
/// and so are reports; of persons they are means over their records, as everything is.
/// @pre there is a form, and persons can be asked for it
[[nodiscard]] releases::Ask ask_of(const StatisticAsked& asked, statistics::NoiseKind noise,
                                   releases::Unit unit = releases::Unit::Record);
/// Whether a person can contribute as is asked: with the mean over her records to what adds up a feature map, but for
/// what is asked of public records; with every cell that she is in, or all of her records, to counts in cells.
[[nodiscard]] bool takes_persons(const StatisticAsked& asked) noexcept;

}  // namespace undertone::algorithms
