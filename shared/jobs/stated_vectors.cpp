#include "shared/jobs/stated_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "shared/queries/wire_lattice.hpp"
#include "shared/statistics/generalised_linear.hpp"
#include "shared/statistics/noise_law.hpp"
#include "shared/statistics/public_means.hpp"

namespace undertone::jobs {
namespace {

using algorithms::LinearModelAsked;
using algorithms::VectorMeanAsked;
using statistics::Stated;

constexpr double kUnit = 0x1p-20;  // of what crosses the wire

/// A silo's estimate of the sum of its records' vectors, each of length 1 at most, and what is known of its error.
struct VectorSum {
  double records = 0.0;
  Eigen::VectorXd sum;                               // [columns]
  double variance = 0.0;                             // of each of its numbers, at most
  double trace = 0.0;                                // of all of them together, at most
  std::optional<statistics::CoordinateNoise> noise;  // the exact law, where it is one
  double largest = 0.0;                              // of a report's error: of reports whose law depends on the record
  double rounding = 0.0;                             // that may come on top
};

const mechanisms::LocalReports* reports_of(const planning::Release& release) {
  return std::get_if<mechanisms::LocalReports>(&release.mechanism);
}

/// What is known of the error before anybody answers.
VectorSum error_of(const planning::Release& release) {
  VectorSum out;
  const auto columns = static_cast<double>(release.ask.dimension);
  out.records = static_cast<double>(release.records_drawn);
  if (release.is_public()) {
    out.rounding = 0.5 * out.records * kUnit;
    return out;
  }
  const mechanisms::LocalReports* reports = reports_of(release);
  if (reports == nullptr) {
    out.noise = noise_of(release);
    out.rounding = 0.5 * out.records * release.lattice().step + kUnit;
    const Result<statistics::NoiseLaw> law = statistics::NoiseLaw::create({{*out.noise, 1.0}});
    out.variance = law ? law->variance() : INFINITY;
    out.trace = columns * out.variance;
    return out;
  }
  if (const auto* direction = std::get_if<mechanisms::PrivUnit>(&reports->randomiser)) {
    out.variance = out.records * direction->variance_max();
    out.trace = out.records * std::min(columns * direction->variance_max(), direction->square_max());
    const double most =
        direction->law() == mechanisms::PrivUnit::Law::Sphere ? 1.0 : mechanisms::PrivUnit::kGaussianMax;
    out.largest = most / direction->scale() + 1.0;
    out.rounding = out.records * kUnit / direction->scale();
    return out;
  }
  const auto& noise = std::get<mechanisms::VectorNoise>(reports->randomiser);
  out.variance = out.records * noise.stddev() * noise.stddev();
  out.trace = columns * out.variance;
  out.noise = statistics::GaussianNoise{noise.stddev() * std::sqrt(out.records), 0.0};
  out.rounding = out.records * (noise.lattice().lattice.step + kUnit);
  return out;
}

Result<VectorSum> sum_of(const VectorMeanAsked& what, const SiloTotals& silo) {
  const auto columns = static_cast<Eigen::Index>(what.columns.size());
  VectorSum out = error_of(*silo.release);
  out.sum = Eigen::VectorXd::Zero(columns);
  const mechanisms::LocalReports* reports = reports_of(*silo.release);
  const bool kept = reports != nullptr && reports->kind() == releases::Randomiser::Gaussian;
  if (silo.totals->size() < static_cast<std::size_t>(columns) ||
      (kept && silo.totals->size() % static_cast<std::size_t>(columns) != 0))
    return Error{ErrorCode::Internal, fmt::format("{} numbers of {} columns", silo.totals->size(), columns)};
  const std::size_t last = kept ? silo.totals->size() : static_cast<std::size_t>(columns);
  for (std::size_t i = 0; i < last; ++i)
    out.sum[static_cast<Eigen::Index>(i) % columns] += static_cast<double>((*silo.totals)[i]);
  // Totals of counts have another unit, vectors never.
  double unit = std::ldexp(1.0, queries::statistic_lattice(silo.release->ask).step_log2);
  if (reports != nullptr) {
    if (const auto* direction = std::get_if<mechanisms::PrivUnit>(&reports->randomiser)) unit /= direction->scale();
  }
  out.sum *= unit;
  return out;
}

/// sum_i w_i (sum of silo i) + offset for one column, with an interval for the noise: exact, or by Bernstein's
/// inequality where reports' laws depend on the records.
Result<Stated> combined(const std::vector<VectorSum>& sums, const std::vector<double>& weights, Eigen::Index column,
                        double offset, statistics::Confidence confidence) {
  Stated out;
  double value = offset;
  double variance = 0.0;
  double largest = 0.0;
  double rounding = 0.0;
  std::vector<statistics::NoiseTerm> terms;
  bool exact = true;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (weights[i] == 0.0) continue;
    value += weights[i] * sums[i].sum[column];
    variance += weights[i] * weights[i] * sums[i].variance;
    largest = std::max(largest, weights[i] * sums[i].largest);
    rounding += weights[i] * sums[i].rounding;
    if (sums[i].noise) {
      terms.push_back({*sums[i].noise, weights[i]});
    } else if (sums[i].variance > 0.0) {
      exact = false;
    }
  }
  double half = 0.0;
  if (!exact) {
    // P[|sum| > w] <= 2 exp(-w^2 / (2 (V + b w / 3))).
    const double log_term = std::log(2.0 / confidence.alpha());
    const double linear = largest * log_term / 3.0;
    half = linear + std::sqrt(linear * linear + 2.0 * variance * log_term);
  } else if (!terms.empty()) {
    UNDERTONE_TRY(const statistics::NoiseLaw law, statistics::NoiseLaw::create(std::move(terms)));
    half = law.half_width(confidence.alpha());
  }
  half += rounding;
  out.value = value;
  out.noise_stddev = std::sqrt(variance);
  out.noise = {std::max(value - half, -1.0), std::min(value + half, 1.0)};
  if (out.noise.low > out.noise.high) out.noise = {-1.0, 1.0};
  return out;
}

Stated in_column(Stated stated, const VectorMeanAsked& what, Eigen::Index column) {
  const algorithms::NumberColumn& own = what.columns[static_cast<std::size_t>(column)];
  const double half = 0.5 * (own.high - own.low);
  return statistics::in_units(std::move(stated), own.low + half, half * what.radius);
}

std::string name_of(const VectorMeanAsked& what, Eigen::Index column, const char* suffix) {
  return fmt::format("mean({}){}", what.columns[static_cast<std::size_t>(column)].name, suffix);
}

/// Of public records their number, sum, and V^2 as they have it; in units of the radius.
struct OpenRecords {
  std::int64_t records = 0;
  Eigen::VectorXd mean;
  double spread_squared = 0.0;
};
Result<OpenRecords> open_records(const VectorMeanAsked& what, const std::vector<SiloTotals>& open) {
  const auto columns = static_cast<Eigen::Index>(what.columns.size());
  OpenRecords out{0, Eigen::VectorXd::Zero(columns), 0.0};
  double squares = 0.0;
  for (const SiloTotals& silo : open) {
    UNDERTONE_TRY(const VectorSum sum, sum_of(what, silo));
    if (static_cast<Eigen::Index>(silo.totals->size()) != columns + 1)
      return Error{ErrorCode::Internal, "public records without their squared length"};
    out.records += silo.release->records_drawn;
    out.mean += sum.sum;
    squares += kUnit * static_cast<double>(silo.totals->back());
  }
  const auto n = static_cast<double>(out.records);
  if (out.records > 0) out.mean /= n;
  if (what.spread) {
    out.spread_squared = std::pow(*what.spread / what.radius, 2);
  } else if (out.records > 1) {
    out.spread_squared = std::max(0.0, (squares / n - out.mean.squaredNorm()) * n / (n - 1.0));
  } else {
    out.spread_squared = 1.0;  // nobody knows: the most that a ball has
  }
  return out;
}

statistics::ProtectedMean protected_mean(const VectorSum& sum) {
  return {static_cast<std::int64_t>(sum.records), sum.trace / (sum.records * sum.records)};
}

}  // namespace

Result<StatedQuestion> state_vector_mean(const VectorMeanAsked& what, const std::vector<SiloTotals>& silos,
                                         statistics::Confidence confidence) {
  std::vector<VectorSum> sums;
  double records = 0.0;
  for (const SiloTotals& silo : silos) {
    UNDERTONE_TRY(sums.emplace_back(), sum_of(what, silo));
    records += sums.back().records;
  }
  const std::vector<double> weights(sums.size(), 1.0 / records);
  StatedQuestion out;
  for (Eigen::Index j = 0; j < static_cast<Eigen::Index>(what.columns.size()); ++j) {
    UNDERTONE_TRY(Stated stated, combined(sums, weights, j, 0.0, confidence));
    if (what.reports == releases::Randomiser::Direction && what.adapter == releases::UnitAdapter::Normalise)
      stated.note = "of the records' directions, each as long as the norm";
    out.estimates.push_back({name_of(what, j, ""), in_column(std::move(stated), what, j)});
  }
  return out;
}

Result<StatedQuestion> state_with_public(const VectorMeanAsked& what, const std::vector<SiloTotals>& own,
                                         const std::vector<SiloTotals>& open, statistics::Confidence confidence) {
  UNDERTONE_TRY(StatedQuestion out, state_vector_mean(what, own, confidence));
  UNDERTONE_TRY(const OpenRecords known, open_records(what, open));
  std::vector<VectorSum> sums;
  std::vector<statistics::ProtectedMean> means;
  for (const SiloTotals& silo : own) {
    UNDERTONE_TRY(sums.emplace_back(), sum_of(what, silo));
    means.push_back(protected_mean(sums.back()));
  }
  CombinedMean how;
  std::vector<double> weights(sums.size(), 0.0);  // of a sum
  double left_out = 0.0;                          // how far the estimate may be off besides
  const auto protected_records =
      std::accumulate(sums.begin(), sums.end(), 0.0, [](double n, const VectorSum& sum) { return n + sum.records; });
  const double all = protected_records + static_cast<double>(known.records);
  if (what.combination == VectorMeanAsked::Combination::Empirical) {
    const statistics::EmpiricalMean taken = statistics::empirical_mean(means, known.records);
    how.by = taken.leaves_out ? "empirical, protected records left out" : "empirical";
    how.weight_of_public = static_cast<double>(known.records) / all;
    how.expected_error = std::sqrt(taken.expected_square) * what.radius;
    if (taken.leaves_out) left_out = protected_records / all;
    if (!taken.leaves_out) std::fill(weights.begin(), weights.end(), 1.0 / all);
  } else {
    const statistics::MeanWeights best = statistics::inverse_variances(means, known.records, known.spread_squared);
    how.by = "weighted";
    how.weight_of_public = best.of_public;
    how.expected_error = std::sqrt(best.expected_square) * what.radius;
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = best.of_silos[i] / sums[i].records;
  }
  how.spread = std::sqrt(known.spread_squared) * what.radius;
  how.public_records = known.records;
  if (known.records > 0)
    how.error_of_public = std::sqrt(known.spread_squared / static_cast<double>(known.records)) * what.radius;
  for (Eigen::Index j = 0; j < static_cast<Eigen::Index>(what.columns.size()); ++j) {
    UNDERTONE_TRY(Stated stated, combined(sums, weights, j, how.weight_of_public * known.mean[j], confidence));
    if (left_out > 0.0)
      stated.noise = {std::max(-1.0, *stated.value - left_out), std::min(1.0, *stated.value + left_out)};
    stated.note = fmt::format(
        "public records weigh {:.3g}, the whole vector is expected to be {:.2g} half ranges off; "
        "the interval is of {} alone",
        how.weight_of_public, how.expected_error, left_out > 0.0 ? "what was left out" : "the noise");
    out.estimates.push_back({name_of(what, j, " with public records"), in_column(std::move(stated), what, j)});
  }
  out.combined = std::move(how);
  return out;
}

ExpectedErrors expected_errors(const VectorMeanAsked& what, const std::vector<const planning::Release*>& own,
                               std::int64_t public_records) {
  const double spread = what.spread ? std::pow(*what.spread / what.radius, 2) : 1.0;
  std::vector<statistics::ProtectedMean> means;
  means.reserve(own.size());
  for (const planning::Release* release : own) means.push_back(protected_mean(error_of(*release)));
  ExpectedErrors out;
  out.of_protected = std::sqrt(statistics::inverse_variances(means, 0, spread).expected_square) * what.radius;
  if (public_records > 0) {
    out.of_public = std::sqrt(spread / static_cast<double>(public_records)) * what.radius;
    out.weighted =
        std::sqrt(statistics::inverse_variances(means, public_records, spread).expected_square) * what.radius;
  }
  return out;
}

namespace {

using Gradient = std::function<Eigen::VectorXd(const Eigen::Ref<const Eigen::VectorXd>&)>;

constexpr int kDescentSteps = 400;

struct LeastPoint {
  Eigen::VectorXd parameters;  // [p]
};

/// Where a loss is asked for: at t = <w', u> over the reach, u a record's vector y x or (x, y) and w' then (w, -1).
class PointOfModel {
 public:
  explicit PointOfModel(const LinearModelAsked& what)
      : parameters_(static_cast<Eigen::Index>(what.columns.size()) + (what.intercept ? 1 : 0)),
        response_(static_cast<Eigen::Index>(what.columns.size())),
        of_residual_(what.of_residual),
        reach_(what.reach()) {}
  /// p
  [[nodiscard]] Eigen::Index parameters() const noexcept { return parameters_; }
  /// Numbers of u.
  [[nodiscard]] Eigen::Index length() const noexcept { return parameters_ + (of_residual_ ? 1 : 0); }
  /// w' / reach
  [[nodiscard]] Eigen::VectorXd at(const Eigen::Ref<const Eigen::VectorXd>& w) const {
    if (!of_residual_) return w / reach_;
    Eigen::VectorXd out(length());
    out << w.head(response_), -1.0, w.tail(parameters_ - response_);
    return out / reach_;
  }
  /// Takes out of a slope times u what belongs to the parameters.
  [[nodiscard]] Eigen::VectorXd along_parameters(const Eigen::Ref<const Eigen::VectorXd>& gradient) const {
    if (!of_residual_) return gradient;
    Eigen::VectorXd out(parameters_);
    out << gradient.head(response_), gradient.tail(parameters_ - response_);
    return out;
  }

 private:
  Eigen::Index parameters_;
  Eigen::Index response_;  // its place in u
  bool of_residual_;
  double reach_;
};

/// Finds the least point from totals: the slope of degree 1 is c_0 M_1 + c_1 M_2 w'.
Result<LeastPoint> least_from_totals(const LinearModelAsked& what, const std::vector<SiloTotals>& silos) {
  const PointOfModel model(what);
  const Eigen::Index p = model.length();
  const statistics::SlopePolynomial slope = what.slope();
  Eigen::VectorXd first = Eigen::VectorXd::Zero(p);
  Eigen::MatrixXd second = Eigen::MatrixXd::Zero(p, p);
  double records = 0.0;
  for (const SiloTotals& silo : silos) {
    if (static_cast<Eigen::Index>(silo.totals->size()) != p + p * (p + 1) / 2)
      return Error{ErrorCode::Internal, "a linear model's totals of another length"};
    records += static_cast<double>(silo.records);
    std::size_t place = 0;
    for (Eigen::Index j = 0; j < p; ++j) first[j] += kUnit * static_cast<double>((*silo.totals)[place++]);
    for (Eigen::Index j = 0; j < p; ++j) {
      second(j, j) += std::sqrt(2.0) * kUnit * static_cast<double>((*silo.totals)[place++]);
      for (Eigen::Index k = j + 1; k < p; ++k) {
        second(j, k) += kUnit * static_cast<double>((*silo.totals)[place++]);
        second(k, j) = second(j, k);
      }
    }
  }
  first /= records;
  second /= records;
  const Gradient gradient = [&](const Eigen::Ref<const Eigen::VectorXd>& w) {
    return model.along_parameters(slope.coefficients[0] * first + slope.coefficients[1] * (second * model.at(w)));
  };
  // Noise can make the matrix longer than 1.
  const double curvature = std::abs(slope.coefficients[1]) / what.reach() * std::max(1.0, second.norm()) + 1e-9;
  return LeastPoint{
      statistics::least_in_ball(gradient, model.parameters(), what.parameter_bound, curvature, 4 * kDescentSteps)};
}

Result<LeastPoint> least_from_reports(const LinearModelAsked& what, const std::vector<SiloTotals>& silos) {
  const PointOfModel model(what);
  const Eigen::Index p = model.length();
  const auto copies = static_cast<Eigen::Index>(what.copies ? statistics::copies_of(what.degree) : 1);
  struct Said {
    Eigen::MatrixXd vectors;  // [p, copies x records]
    double variance = 0.0;
  };
  std::vector<Said> said;
  double records = 0.0;
  for (const SiloTotals& silo : silos) {
    const mechanisms::LocalReports* reports = reports_of(*silo.release);
    if (reports == nullptr || static_cast<Eigen::Index>(silo.totals->size()) != p * copies * silo.records)
      return Error{ErrorCode::Internal, "a linear model's reports of another length"};
    Said& own = said.emplace_back();
    own.vectors.resize(p, copies * silo.records);
    for (Eigen::Index i = 0; i < own.vectors.size(); ++i)
      own.vectors.data()[i] = kUnit * static_cast<double>((*silo.totals)[static_cast<std::size_t>(i)]);
    const double stddev = std::get<mechanisms::VectorNoise>(reports->randomiser).stddev();
    own.variance = stddev * stddev;
    records += static_cast<double>(silo.records);
  }
  const statistics::SlopePolynomial slope = what.slope();
  const double curvature = 2.0 * what.loss.curvature(what.smoothing);
  if (!what.copies) {
    const Gradient gradient = [&](const Eigen::Ref<const Eigen::VectorXd>& w) {
      Eigen::VectorXd sum = Eigen::VectorXd::Zero(p);
      for (const Said& own : said)
        sum += static_cast<double>(own.vectors.cols()) / records *
               statistics::hermite_gradient(own.vectors, own.variance, slope, model.at(w));
      return model.along_parameters(sum);
    };
    return LeastPoint{
        statistics::least_in_ball(gradient, model.parameters(), what.parameter_bound, curvature, kDescentSteps)};
  }
  // One record drawn with replacement a step, by a public order.
  RandomSource order(1);
  const auto all = static_cast<std::uint64_t>(records);
  double second = 0.0;  // E ||G||^2 at 0, for the step sizes
  const Eigen::VectorXd start = model.at(Eigen::VectorXd::Zero(model.parameters()));
  for (const Said& own : said)
    for (Eigen::Index i = 0; i < own.vectors.cols(); i += copies)
      second += model.along_parameters(statistics::copies_gradient(own.vectors.middleCols(i, copies), slope, start))
                    .squaredNorm() /
                records;
  const Gradient oracle = [&](const Eigen::Ref<const Eigen::VectorXd>& w) {
    std::uint64_t record = order.below(all);
    for (const Said& own : said) {
      const auto held = static_cast<std::uint64_t>(own.vectors.cols() / copies);
      if (record < held)
        return model.along_parameters(statistics::copies_gradient(
            own.vectors.middleCols(static_cast<Eigen::Index>(record) * copies, copies), slope, model.at(w)));
      record -= held;
    }
    UNDERTONE_CHECK(false);
  };
  return LeastPoint{statistics::intermediate_gradient_descent(
      oracle, model.parameters(), {what.parameter_bound, curvature, std::sqrt(second), all})};
}

/// What is stated of a parameter in [-bound, bound] that nobody knows an interval of.
Stated stated_parameter(double value, double bound) {
  Stated out;
  out.value = value;
  out.noise = {-bound, bound};
  out.note = "no interval is known";
  return out;
}

/// Parameters of numbers scaled to [-1, 1] about their middles, and the constant that comes with them, in the units of
/// the columns. Nothing bounds the constant but the bounds of all of them.
std::vector<NamedEstimate> in_units_of_columns(const LinearModelAsked& what, const Eigen::VectorXd& parameters) {
  std::vector<NamedEstimate> out;
  const double response = 0.5 * (what.response.high - what.response.low);
  double constant = what.response.low + response;
  double bound = std::abs(constant);
  for (std::size_t j = 0; j < what.columns.size(); ++j) {
    const algorithms::NumberColumn& column = what.columns[j];
    const double half = 0.5 * (column.high - column.low);
    const double unit = response / half;
    const double parameter = parameters[static_cast<Eigen::Index>(j)] * unit;
    constant -= parameter * (column.low + half);
    bound += what.parameter_bound * unit * std::abs(column.low + half);
    out.push_back({column.name, stated_parameter(parameter, what.parameter_bound * unit)});
  }
  if (what.intercept) {
    constant += parameters[parameters.size() - 1] * response;
    bound += what.parameter_bound * response;
  }
  out.push_back({"(intercept)", stated_parameter(constant, bound)});
  return out;
}

}  // namespace

Result<StatedQuestion> state_linear_model(const LinearModelAsked& what, const std::vector<SiloTotals>& silos) {
  UNDERTONE_TRY(const LeastPoint least,
                what.reports ? least_from_reports(what, silos) : least_from_totals(what, silos));
  StatedQuestion out;
  if (what.of_residual) {
    out.estimates = in_units_of_columns(what, least.parameters);
    return out;
  }
  for (Eigen::Index j = 0; j < least.parameters.size(); ++j) {
    const auto column = static_cast<std::size_t>(j);
    out.estimates.push_back({column < what.columns.size() ? what.columns[column].name : "(intercept)",
                             stated_parameter(least.parameters[j], what.parameter_bound)});
  }
  return out;
}

}  // namespace undertone::jobs
